"""Fly a spec: one file in, one flight out.

run = simulate("x500", **{"environment.wind": "none"})
run.log["pos_ned"], run.summary, run.digest
run.save("runs/first")
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy.typing as npt

from px4lockstep.engine.simulation import Simulation
from px4lockstep.errors import InputError, LockstepError
from px4lockstep.flights.facts import Facts
from px4lockstep.flights.figure import draw_flight
from px4lockstep.flights.folder import RunFolder
from px4lockstep.flights.outcome import FLOWN, Outcome, judge
from px4lockstep.flights.recorded import source_of
from px4lockstep.flights.recording.recording import Recording
from px4lockstep.flights.summary import Summary, summarize
from px4lockstep.log.geographic import with_home
from px4lockstep.log.log import Log
from px4lockstep.log.messages import columns_of
from px4lockstep.log.sink import LogSink
from px4lockstep.spec.build import Flight, build
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.spec import Spec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEP_US = 1_000_000
"""Simulated time between two calls of `watch`."""
LATE_S = 1.0
"""Wall time that a paced flight may take longer without a warning."""

Watch = Callable[[Simulation], bool | None]
"""Called with the running simulation; if it returns True, the flight ends at the next boundary."""


@dataclass(frozen=True, repr=False)
class Run:
    """A flight that was flown, to its end or until it stopped.

    Args:
        flight: The flight.
        error: The error that ended it, if any.
    """

    flight: Flight
    error: LockstepError | None = None

    def __repr__(self) -> str:
        summary = self.summary
        return (
            f"<Run {self.spec.aircraft.name}: {summary.outcome}, {summary.duration_s:.3f} s, "
            f"digest {summary.digest[:12]}>"
        )

    @property
    def spec(self) -> Spec:
        """The resolved spec."""
        return self.flight.spec

    @property
    def simulation(self) -> Simulation:
        """The simulation in its final state."""
        return self.flight.simulation

    @cached_property
    def log(self) -> Log:
        """The log: `run.log["pos_ned"]`; it also has `lat_deg`, `lon_deg` and `alt_msl_m` if asked for by name."""
        return with_home(Log.of(self.simulation), self.spec.home.position)

    @cached_property
    def uorb(self) -> dict[str, dict[str, npt.NDArray[Any]]]:
        """The logged uORB messages: columns by topic and instance, `run.uorb["battery_status_0"]["voltage_v"]`."""
        received = self.simulation.autopilot.message_log.received()
        return {name: columns_of(rows) for name, rows in received.items()}

    @cached_property
    def summary(self) -> Summary:
        """The summary: outcome, times, extremes, events, warnings."""
        found = summarize(self.simulation, self.log, self.error, self.digest, self.facts)
        pace, warnings = self.flight.pace, (*self.flight.warnings, *found.warnings)
        if pace is None:
            return replace(found, warnings=tuple(dict.fromkeys(warnings)))
        if pace.lost_s > LATE_S:
            slow = f"the flight took {pace.lost_s:.1f} s longer"
            warnings += (f"run.realtime_factor = {pace.factor:g} was not reached: {slow}",)
        return replace(found, warnings=tuple(dict.fromkeys(warnings)), paced_s=pace.slept_s)

    @cached_property
    def digest(self) -> str:
        """The digest of the flight."""
        return self.simulation.digest()

    @cached_property
    def facts(self) -> Facts:
        """The facts that decide the outcome."""
        return Facts(self.simulation, self.log, self.error)

    @cached_property
    def outcome(self) -> Outcome:
        """The outcome: a word, and the reason if it is not `flown`; see `flights.outcome`."""
        return judge(self.facts)

    @property
    def is_flown(self) -> bool:
        """Whether the flight did everything that was requested; False if nothing was requested."""
        return self.outcome.word == FLOWN

    @property
    def recording(self) -> Recording | None:
        """The recording, by reference; None if the flight was not recorded or did not reach its end."""
        simulation = self.simulation
        if not simulation.is_done or not simulation.is_recording:
            return None
        return Recording.of(simulation, source_of(self.flight))

    def plot(self) -> "Figure":
        """Return a Matplotlib figure of the flight."""
        home = self.spec.home
        return draw_flight(self.log, self.spec.aircraft.name, self.flight.mission, (home.lat_deg, home.lon_deg))

    def save(self, folder: str | Path, *, plots: bool = True, force: bool = False, exports: Sequence[str] = ()) -> Path:
        """Write the run folder: spec, recording, log, summary and figure.

        Args:
            folder: New or empty folder.
            plots: Whether to write the figure.
            force: Whether `run.log_csv` and `run.recording_out` may overwrite files outside the folder.
            exports: Formats to export to, such as `["ulog"]`, in addition to `run.exports` of the spec.

        Returns:
            The folder.

        Raises:
            InputError: If the folder can't be created or is not empty, an output file outside it exists, or a format
                is unknown.
            OutputError: If a file can't be written, for example because the disk is full.
        """
        target = RunFolder.create(folder, self.flight, force=force, exports=exports)
        target.keep(self)
        if plots:
            target.draw(self)
        target.close(self)
        return target.path


def fly(flight: Flight, watch: Watch | None = None, idle: Callable[[], object] | None = None) -> Run:
    """Fly to the end; call `watch`, if given, after every simulated second.

    The flight ends with the timeline, or earlier if `watch` returns True or `flight.simulation.request_end()` is
    called. With `flight.pace`, it is flown at that pace, and `idle` is called several times per second.

    Raises:
        SimulationError: If the run can't continue; the log up to then is intact.
    """
    simulation = flight.simulation
    end_us = simulation.timeline.end_us
    try:
        while watch is not None and not simulation.is_done:
            until_us = simulation.time_us + STEP_US
            _run(flight, until_us if until_us < end_us else end_us, idle)
            if watch(simulation):
                simulation.request_end()
        _run(flight, end_us, idle)
    finally:
        simulation.close()
    return Run(flight)


def _run(flight: Flight, until_us: int, idle: Callable[[], object] | None) -> None:
    """Run up to a time, or to the end if it is that of the timeline, at the pace of the flight."""
    simulation, pace = flight.simulation, flight.pace
    while not simulation.is_done:
        stop_us, before_us = until_us, simulation.time_us
        if pace is not None:
            stop_us = min(until_us, before_us + pace.slice_us)
        simulation.run(stop_us if stop_us < simulation.timeline.end_us else None)
        if pace is not None:
            pace.wait(simulation.time_us - before_us, idle)
        if simulation.time_us >= until_us:
            break


@overload
def simulate(
    spec: str | Path | Spec,
    /,
    *,
    watch: Watch | None,
    trust: bool = False,
    sinks: Sequence[LogSink] = (),
    **overrides: Any,
) -> Run: ...


@overload
def simulate(spec: str | Path | Spec, /, **overrides: Any) -> Run: ...  # to a type checker, **{"a.b": 7} may be `watch`


def simulate(
    spec: str | Path | Spec,
    /,
    *,
    watch: Watch | None = None,
    trust: bool = False,
    sinks: Sequence[LogSink] = (),
    **overrides: Any,
) -> Run:
    """Fly a spec to its end.

        run = simulate("x500", **{"environment.wind": "none", "aircraft.seed": 7})
        run.is_flown, run.summary.reason     # whether it succeeded, and why not
        run.log["pos_ned"], run.log.columns  # all rows, as arrays
        run.save("runs/calm")                # the run folder that the command line writes

    A crash or an unfinished mission does not raise an exception: see `run.summary`.

    Args:
        spec: Built-in aircraft (`x500`), path of a spec file, or loaded spec.
        watch: Called with the simulation after every simulated second; if it returns True, the flight ends.
        trust: Whether to run code that the file names, wherever the file is: see docs/howto/untrusted_files.md.
        sinks: Log sinks, which get the rows of the log during the flight: `[CsvSink("x500.csv")]`.
        overrides: Values by dotted key that replace the file's: `**{"power.batteries[0].soc0": 0.5}`.

    Returns:
        The flight, with its log, summary, digest and figure.

    Raises:
        InputError: If the file or the overrides are invalid; one report lists all errors.
        SimulationError: If the run can't continue, or a log sink fails.
    """
    given = loaded(spec, overrides, trust)
    if watch is None:
        given.timeline.check_has_end("without watch", "pass a watch function that ends the flight by returning True")
    return fly(build(given, sinks=sinks), watch)


def loaded(spec: str | Path | Spec, overrides: Mapping[str, Any], trust: bool = False) -> Spec:
    """Return the spec of a name or path, with overrides, or the given spec unchanged."""
    if not isinstance(spec, Spec):
        return load_spec(spec, overrides, trust=trust)
    if overrides or trust:
        raise InputError("overrides and trust apply to a name or a path; for a loaded spec, pass them to load_spec")
    return spec
