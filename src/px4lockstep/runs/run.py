"""One file in, one flight out.

run = simulate("iris", **{"environment.wind": "none"})
run.log["pos_ned"], run.summary, run.digest
run.save("runs/first")
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from px4lockstep.engine.simulation import Simulation
from px4lockstep.errors import InputError
from px4lockstep.logs.log import Log
from px4lockstep.report.summary import Summary, summarize
from px4lockstep.runs.folder import RunFolder
from px4lockstep.spec.build import Flight, build
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.spec import Spec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEP_US = 1_000_000
"""How much is flown between two looks at the flight."""

Watch = Callable[[Simulation], None]


@dataclass(frozen=True)
class Run:
    """A flight that was flown, to its end or as far as it got."""

    flight: Flight

    @property
    def spec(self) -> Spec:
        """The resolved aircraft file."""
        return self.flight.spec

    @property
    def simulation(self) -> Simulation:
        """The simulation, as the run left it."""
        return self.flight.simulation

    @cached_property
    def log(self) -> Log:
        """The log: `run.log["pos_ned"]`."""
        return Log.of(self.simulation)

    @cached_property
    def summary(self) -> Summary:
        """The flight in a few numbers."""
        found = summarize(self.simulation, self.log)
        return replace(found, warnings=tuple(dict.fromkeys((*self.flight.warnings, *found.warnings))))

    @property
    def digest(self) -> str:
        """The digest of the flight."""
        return self.summary.digest

    @property
    def is_flown(self) -> bool:
        """Whether the flight did what was asked for: no crash, to the end, and the mission finished if there is one."""
        summary = self.summary
        asks_for_mission = any(event.action == "start_mission" for event in self.flight.scenario.events)
        return self.simulation.is_done and not summary.crashed and (summary.mission_finished or not asks_for_mission)

    def plot(self) -> "Figure":
        """Return the picture of the flight."""
        from px4lockstep.report.plots import plot_flight
        from px4lockstep.report.waypoints import mission_waypoints

        return plot_flight(self.log, waypoints=mission_waypoints(self.simulation), title=self.spec.aircraft.name)

    def save(self, folder: str | Path, *, plots: bool = True) -> Path:
        """Write the run folder: aircraft file, log, summary, picture.

        Raises:
            InputError: If the folder can't be made or holds another run.
        """
        target = RunFolder.create(folder, self.spec)
        target.finish(self, plots=plots)
        return target.path


def fly(flight: Flight, watch: Watch | None = None) -> Run:
    """Fly to the end; `watch` is called after every simulated second.

    Raises:
        SimulationError: If the run can't go on; the log up to then is intact.
    """
    simulation = flight.simulation
    end_us = simulation.timeline.end_us
    while not simulation.is_done:
        until_us = simulation.time_us + STEP_US
        simulation.run(until_us if until_us < end_us else None)
        if watch is not None:
            watch(simulation)
    return Run(flight)


def simulate(spec: str | Path | Spec, /, *, watch: Watch | None = None, **overrides: Any) -> Run:
    """Fly an aircraft file.

    Args:
        spec: The name of an aircraft that ships with the package (`iris`), the path of a file, or a loaded one.
        watch: Called with the simulation after every simulated second.
        overrides: Values by dotted key, `**{"environment.wind": "none", "aircraft.seed": 7}`.

    Raises:
        InputError: If anything in the file or the overrides is wrong, with all of it in one report.
        SimulationError: If the run can't go on.
    """
    if isinstance(spec, Spec):
        if overrides:
            raise InputError("overrides are for a name or a path; load_spec(path, overrides) gives a changed file")
        return fly(build(spec), watch)
    return fly(build(load_spec(spec, overrides)), watch)
