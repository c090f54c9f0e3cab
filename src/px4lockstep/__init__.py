"""Deterministic, fast flight simulation for PX4, in lockstep.

    import px4lockstep

    run = px4lockstep.simulate("iris")
    run.log["pos_ned"], run.summary, run.digest

`simulate` does it all. In steps: `load_spec` reads a spec file, `build` makes a flight of it, `fly` flies it and
`read_run` opens what it left. Below that, `Simulation` runs any plant with your own autopilot, wind, estimator or
scenario.

This is the public front: everything that the documentation uses is imported from here, or from `px4lockstep.px4`. What
is in the packages below may move between versions.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from px4lockstep.autopilots.builtin.autopilot import Builtin
    from px4lockstep.campaigns.criteria import CriterionTable, passes
    from px4lockstep.campaigns.flight_signals import Signals
    from px4lockstep.campaigns.load import load_campaign
    from px4lockstep.campaigns.metrics import MetricTable, measure, metrics_of
    from px4lockstep.campaigns.run import run_campaign
    from px4lockstep.engine.simulation import Simulation
    from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
    from px4lockstep.environment.gust import Gust, gust_edges_us
    from px4lockstep.environment.wind import Wind
    from px4lockstep.errors import InputError, LockstepError, SimulationError, StateError
    from px4lockstep.estimation.estimator import Estimator
    from px4lockstep.flights.branch import Branch, branch
    from px4lockstep.flights.compare import Compared, compare
    from px4lockstep.flights.determinism import determinism
    from px4lockstep.flights.diff import Diff, diff
    from px4lockstep.flights.fork import Forked, fork
    from px4lockstep.flights.recording.file import read_recording
    from px4lockstep.flights.recording.recording import Recording
    from px4lockstep.flights.replay import Replay, replay
    from px4lockstep.flights.run import Run, fly, simulate
    from px4lockstep.flights.saved import SavedRun, read_run
    from px4lockstep.flights.summary import summarize
    from px4lockstep.integrators.solver import Integrator
    from px4lockstep.log.csv import read_csv, write_csv
    from px4lockstep.log.events import events_of
    from px4lockstep.log.log import Log
    from px4lockstep.log.parquet import read_parquet, write_parquet
    from px4lockstep.math.philox import normal4, stream_key
    from px4lockstep.math.trigonometry import sincos
    from px4lockstep.plant.models import Oscillator, UserPlant
    from px4lockstep.plots.flight import plot_flight, save_plot
    from px4lockstep.plots.waypoints import mission_waypoints
    from px4lockstep.scenario.events import Event, When
    from px4lockstep.scenario.scenario import Scenario
    from px4lockstep.sensors.gps import Gps
    from px4lockstep.sensors.imu import Gyro, Imu
    from px4lockstep.sensors.suite import SensorConfig, SensorSuite
    from px4lockstep.spec.build import Flight, build
    from px4lockstep.spec.load import load_aircraft, load_spec
    from px4lockstep.spec.spec import Spec
    from px4lockstep.spec.toml_text import to_toml
    from px4lockstep.vehicle.actuators import Actuation, ActuatorDynamics
    from px4lockstep.vehicle.aircraft import Aircraft
    from px4lockstep.vehicle.airframe import Airframe
    from px4lockstep.vehicle.battery import Battery
    from px4lockstep.vehicle.contact import Contact
    from px4lockstep.vehicle.power import Bus, Power
    from px4lockstep.vehicle.propulsion import Propulsion

__all__ = [
    "Actuation",
    "ActuatorDynamics",
    "Aircraft",
    "Airframe",
    "Battery",
    "Branch",
    "Builtin",
    "Bus",
    "Compared",
    "Contact",
    "CriterionTable",
    "Diff",
    "Estimator",
    "Event",
    "Explicit",
    "Flight",
    "Forked",
    "Gps",
    "Gust",
    "Gyro",
    "Imu",
    "InputError",
    "Integrator",
    "LockstepError",
    "Log",
    "MetricTable",
    "Oscillator",
    "Periodic",
    "Power",
    "Propulsion",
    "Recording",
    "Replay",
    "Run",
    "SavedRun",
    "Scenario",
    "SensorConfig",
    "SensorSuite",
    "Signals",
    "Simulation",
    "SimulationError",
    "Spec",
    "StateError",
    "Timeline",
    "UserPlant",
    "When",
    "Wind",
    "__version__",
    "branch",
    "build",
    "compare",
    "determinism",
    "diff",
    "events_of",
    "fly",
    "fork",
    "gust_edges_us",
    "load_aircraft",
    "load_campaign",
    "load_spec",
    "measure",
    "metrics_of",
    "mission_waypoints",
    "normal4",
    "passes",
    "plot_flight",
    "read_csv",
    "read_parquet",
    "read_recording",
    "read_run",
    "replay",
    "run_campaign",
    "save_plot",
    "simulate",
    "sincos",
    "stream_key",
    "summarize",
    "to_toml",
    "write_csv",
    "write_parquet",
]

_HOMES = {
    "Builtin": "px4lockstep.autopilots.builtin.autopilot",
    "CriterionTable": "px4lockstep.campaigns.criteria",
    "passes": "px4lockstep.campaigns.criteria",
    "Signals": "px4lockstep.campaigns.flight_signals",
    "load_campaign": "px4lockstep.campaigns.load",
    "MetricTable": "px4lockstep.campaigns.metrics",
    "measure": "px4lockstep.campaigns.metrics",
    "metrics_of": "px4lockstep.campaigns.metrics",
    "run_campaign": "px4lockstep.campaigns.run",
    "Simulation": "px4lockstep.engine.simulation",
    "Explicit": "px4lockstep.engine.timeline",
    "Periodic": "px4lockstep.engine.timeline",
    "Timeline": "px4lockstep.engine.timeline",
    "Gust": "px4lockstep.environment.gust",
    "gust_edges_us": "px4lockstep.environment.gust",
    "Wind": "px4lockstep.environment.wind",
    "InputError": "px4lockstep.errors",
    "LockstepError": "px4lockstep.errors",
    "SimulationError": "px4lockstep.errors",
    "StateError": "px4lockstep.errors",
    "Estimator": "px4lockstep.estimation.estimator",
    "Branch": "px4lockstep.flights.branch",
    "branch": "px4lockstep.flights.branch",
    "Compared": "px4lockstep.flights.compare",
    "compare": "px4lockstep.flights.compare",
    "determinism": "px4lockstep.flights.determinism",
    "Diff": "px4lockstep.flights.diff",
    "diff": "px4lockstep.flights.diff",
    "Forked": "px4lockstep.flights.fork",
    "fork": "px4lockstep.flights.fork",
    "read_recording": "px4lockstep.flights.recording.file",
    "Recording": "px4lockstep.flights.recording.recording",
    "Replay": "px4lockstep.flights.replay",
    "replay": "px4lockstep.flights.replay",
    "Run": "px4lockstep.flights.run",
    "fly": "px4lockstep.flights.run",
    "simulate": "px4lockstep.flights.run",
    "SavedRun": "px4lockstep.flights.saved",
    "read_run": "px4lockstep.flights.saved",
    "summarize": "px4lockstep.flights.summary",
    "Integrator": "px4lockstep.integrators.solver",
    "read_csv": "px4lockstep.log.csv",
    "write_csv": "px4lockstep.log.csv",
    "events_of": "px4lockstep.log.events",
    "Log": "px4lockstep.log.log",
    "read_parquet": "px4lockstep.log.parquet",
    "write_parquet": "px4lockstep.log.parquet",
    "normal4": "px4lockstep.math.philox",
    "stream_key": "px4lockstep.math.philox",
    "sincos": "px4lockstep.math.trigonometry",
    "Oscillator": "px4lockstep.plant.models",
    "UserPlant": "px4lockstep.plant.models",
    "plot_flight": "px4lockstep.plots.flight",
    "save_plot": "px4lockstep.plots.flight",
    "mission_waypoints": "px4lockstep.plots.waypoints",
    "Event": "px4lockstep.scenario.events",
    "When": "px4lockstep.scenario.events",
    "Scenario": "px4lockstep.scenario.scenario",
    "Gps": "px4lockstep.sensors.gps",
    "Gyro": "px4lockstep.sensors.imu",
    "Imu": "px4lockstep.sensors.imu",
    "SensorConfig": "px4lockstep.sensors.suite",
    "SensorSuite": "px4lockstep.sensors.suite",
    "Flight": "px4lockstep.spec.build",
    "build": "px4lockstep.spec.build",
    "load_aircraft": "px4lockstep.spec.load",
    "load_spec": "px4lockstep.spec.load",
    "Spec": "px4lockstep.spec.spec",
    "to_toml": "px4lockstep.spec.toml_text",
    "Actuation": "px4lockstep.vehicle.actuators",
    "ActuatorDynamics": "px4lockstep.vehicle.actuators",
    "Aircraft": "px4lockstep.vehicle.aircraft",
    "Airframe": "px4lockstep.vehicle.airframe",
    "Battery": "px4lockstep.vehicle.battery",
    "Contact": "px4lockstep.vehicle.contact",
    "Bus": "px4lockstep.vehicle.power",
    "Power": "px4lockstep.vehicle.power",
    "Propulsion": "px4lockstep.vehicle.propulsion",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, so that `import px4lockstep` takes no time."""
    if name not in _HOMES:
        raise AttributeError(f"module 'px4lockstep' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return what `dir` shows, including names that are not imported yet."""
    return sorted({*globals(), *__all__})
