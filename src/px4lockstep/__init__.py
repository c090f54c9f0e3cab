"""Deterministic, fast flight simulation for PX4, in lockstep.

    import px4lockstep

    run = px4lockstep.simulate("x500")
    run.log["pos_ned"], run.summary, run.digest

`simulate` does everything in one call. Step by step, `load_spec` reads a spec file, `build` turns it into a flight,
`fly` flies it, and `read_run` and `read_log` open the run folder. At a lower level, `Simulation` runs any plant with
your own autopilot, wind, estimator or scenario.

This is the public API: everything that the documentation uses is imported from here, from `px4lockstep.px4` or from
`px4lockstep.view`. Names in other subpackages may move between versions.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0.dev0"

if TYPE_CHECKING:
    from px4lockstep.autopilots.builtin.autopilot import Builtin
    from px4lockstep.autopilots.px4_library.autopilot import Px4Library
    from px4lockstep.autopilots.px4_library.injectors import Injector
    from px4lockstep.campaigns.criteria import CriterionTable, passes
    from px4lockstep.campaigns.flight_signals import Signals
    from px4lockstep.campaigns.load import load_campaign
    from px4lockstep.campaigns.metrics import MetricTable, measure, metrics_of
    from px4lockstep.campaigns.run import run_campaign
    from px4lockstep.engine.simulation import Simulation
    from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
    from px4lockstep.environment.gust import Gust, gust_edges_us
    from px4lockstep.environment.wind import Wind
    from px4lockstep.errors import InputError, LockstepError, OutputError, SimulationError, StateError
    from px4lockstep.estimation.estimator import Estimator
    from px4lockstep.experiments.chirp import FrequencyResponse, chirp
    from px4lockstep.experiments.step import StepResponse, step
    from px4lockstep.experiments.sweep import sweep
    from px4lockstep.experiments.sweep_results import Sweep
    from px4lockstep.experiments.tune import tune
    from px4lockstep.experiments.tuned import Tuned
    from px4lockstep.flights.branch import Branch, branch
    from px4lockstep.flights.compare import Compared, compare
    from px4lockstep.flights.determinism import determinism
    from px4lockstep.flights.diff import Diff, diff
    from px4lockstep.flights.folder import read_log
    from px4lockstep.flights.fork import Forked, fork
    from px4lockstep.flights.log_diff import LogDiff, diff_logs
    from px4lockstep.flights.recording.file import read_recording
    from px4lockstep.flights.recording.recording import Recording
    from px4lockstep.flights.replay import Replay, replay
    from px4lockstep.flights.run import Run, fly, simulate
    from px4lockstep.flights.saved import SavedRun, read_run
    from px4lockstep.flights.summary import summarize
    from px4lockstep.integrators.butcher import ButcherTableau
    from px4lockstep.integrators.solver import Integrator
    from px4lockstep.log.csv import CsvSink, read_csv, write_csv
    from px4lockstep.log.events import events_of
    from px4lockstep.log.log import Log
    from px4lockstep.log.parquet import ParquetSink, read_parquet, write_parquet
    from px4lockstep.log.sink import LogSink
    from px4lockstep.log.ulog_import import ImportedLog, ImportReport, import_ulog
    from px4lockstep.math.philox import normal4, stream_key
    from px4lockstep.math.trigonometry import sincos
    from px4lockstep.plant.models import Oscillator, UserPlant
    from px4lockstep.plots.flight import plot_flight, save_plot
    from px4lockstep.plots.overlay import plot_overlay
    from px4lockstep.plots.waypoints import mission_waypoints
    from px4lockstep.reports.report import report
    from px4lockstep.scenario.events import Event, When
    from px4lockstep.scenario.scenario import Scenario
    from px4lockstep.scenario.setpoints import SetpointTable
    from px4lockstep.sensors.gps import Gps
    from px4lockstep.sensors.imu import Gyro, Imu
    from px4lockstep.sensors.suite import SensorConfig, SensorSuite
    from px4lockstep.service.front import ServedVehicle, serve
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

__all__ = ["__version__"]
# Flights: fly, open, replay, branch and compare them.
__all__ += ["Branch", "Compared", "Diff", "Flight", "Forked", "LogDiff", "Recording", "Replay", "Run", "SavedRun"]
__all__ += ["Simulation", "Spec", "branch", "build", "compare", "determinism", "diff", "diff_logs", "fly", "fork"]
__all__ += ["load_aircraft", "load_spec", "read_recording", "read_run", "replay", "simulate", "summarize", "to_toml"]
__all__ += ["ServedVehicle", "serve"]
# Campaigns of many flights, and their metrics.
__all__ += ["CriterionTable", "MetricTable", "Signals", "load_campaign", "measure", "metrics_of", "passes"]
__all__ += ["run_campaign"]
# Experiments.
__all__ += ["FrequencyResponse", "StepResponse", "Sweep", "Tuned", "chirp", "step", "sweep", "tune"]
# Parts of a simulation.
__all__ += ["Actuation", "ActuatorDynamics", "Aircraft", "Airframe", "Battery", "Builtin", "Bus", "ButcherTableau"]
__all__ += ["Contact"]
__all__ += ["Estimator", "Event", "Explicit", "Gps", "Gust", "Gyro", "Imu", "Injector", "Integrator", "Oscillator"]
__all__ += ["Periodic", "Power", "Propulsion", "Px4Library", "Scenario", "SensorConfig", "SensorSuite", "Timeline"]
__all__ += ["SetpointTable"]
__all__ += ["UserPlant", "When", "Wind", "gust_edges_us", "normal4", "sincos", "stream_key"]
# Logs and plots.
__all__ += ["CsvSink", "ImportReport", "ImportedLog", "Log", "LogSink", "ParquetSink", "events_of", "import_ulog"]
__all__ += ["mission_waypoints", "plot_flight", "plot_overlay", "read_csv", "read_log", "read_parquet"]
__all__ += ["report", "save_plot", "write_csv", "write_parquet"]
# Errors.
__all__ += ["InputError", "LockstepError", "OutputError", "SimulationError", "StateError"]

_HOMES = {
    "autopilots.builtin.autopilot": "Builtin",
    "autopilots.px4_library.autopilot": "Px4Library",
    "autopilots.px4_library.injectors": "Injector",
    "campaigns.criteria": "CriterionTable passes",
    "campaigns.flight_signals": "Signals",
    "campaigns.load": "load_campaign",
    "campaigns.metrics": "MetricTable measure metrics_of",
    "campaigns.run": "run_campaign",
    "engine.simulation": "Simulation",
    "engine.timeline": "Explicit Periodic Timeline",
    "environment.gust": "Gust gust_edges_us",
    "environment.wind": "Wind",
    "errors": "InputError LockstepError OutputError SimulationError StateError",
    "estimation.estimator": "Estimator",
    "experiments.chirp": "FrequencyResponse chirp",
    "experiments.step": "StepResponse step",
    "experiments.sweep": "sweep",
    "experiments.sweep_results": "Sweep",
    "experiments.tune": "tune",
    "experiments.tuned": "Tuned",
    "flights.branch": "Branch branch",
    "flights.compare": "Compared compare",
    "flights.determinism": "determinism",
    "flights.diff": "Diff diff",
    "flights.folder": "read_log",
    "flights.log_diff": "LogDiff diff_logs",
    "flights.fork": "Forked fork",
    "flights.recording.file": "read_recording",
    "flights.recording.recording": "Recording",
    "flights.replay": "Replay replay",
    "flights.run": "Run fly simulate",
    "flights.saved": "SavedRun read_run",
    "flights.summary": "summarize",
    "integrators.butcher": "ButcherTableau",
    "integrators.solver": "Integrator",
    "log.csv": "CsvSink read_csv write_csv",
    "log.events": "events_of",
    "log.log": "Log",
    "log.parquet": "ParquetSink read_parquet write_parquet",
    "log.sink": "LogSink",
    "log.ulog_import": "ImportReport ImportedLog import_ulog",
    "math.philox": "normal4 stream_key",
    "math.trigonometry": "sincos",
    "plant.models": "Oscillator UserPlant",
    "plots.flight": "plot_flight save_plot",
    "plots.overlay": "plot_overlay",
    "plots.waypoints": "mission_waypoints",
    "reports.report": "report",
    "scenario.events": "Event When",
    "scenario.scenario": "Scenario",
    "scenario.setpoints": "SetpointTable",
    "sensors.gps": "Gps",
    "sensors.imu": "Gyro Imu",
    "sensors.suite": "SensorConfig SensorSuite",
    "service.front": "ServedVehicle serve",
    "spec.build": "Flight build",
    "spec.load": "load_aircraft load_spec",
    "spec.spec": "Spec",
    "spec.toml_text": "to_toml",
    "vehicle.actuators": "Actuation ActuatorDynamics",
    "vehicle.aircraft": "Aircraft",
    "vehicle.airframe": "Airframe",
    "vehicle.battery": "Battery",
    "vehicle.contact": "Contact",
    "vehicle.power": "Bus Power",
    "vehicle.propulsion": "Propulsion",
}
"""The names of each module, imported on first use, so that `import px4lockstep` is fast."""


def __getattr__(name: str) -> Any:
    """Import a public name on first use.

    Imports create many objects and no garbage. So they run without garbage collection, and what they created becomes
    part of the oldest generation at once; collections would take a fifth of their time.
    """
    import gc
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names.split():
            was_enabled = gc.isenabled()
            gc.disable()
            try:
                return getattr(import_module(f"px4lockstep.{home}"), name)
            except ModuleNotFoundError as error:
                if not (error.name or "").startswith("px4lockstep."):
                    raise
                raise ImportError(
                    f"px4lockstep.{name} is not part of the distribution px4lockstep-px4, which has px4lockstep.px4 "
                    "only; replace it: pip uninstall px4lockstep-px4, then pip install px4lockstep"
                ) from None
            finally:
                if gc.get_freeze_count() == 0:
                    gc.freeze()
                    gc.unfreeze()
                if was_enabled:
                    gc.enable()
    raise AttributeError(f"module 'px4lockstep' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return all names, including those not imported yet."""
    return sorted({*globals(), *__all__})
