"""Fly a spec: one file in, one flight out.

run = simulate("x500", overrides={"environment.wind": "none"}, seed=7)
run.log["pos_ned"], run.summary, run.digest
run.save("runs/first")
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from px4lockstep.engine.protocols import PythonAutopilot, PythonEstimator, PythonScenario, PythonWind
from px4lockstep.engine.setpoint_stage import SetpointFunction
from px4lockstep.engine.simulation import Simulation
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError, LockstepError
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.flights.facts import Facts
from px4lockstep.flights.folder import RunFolder
from px4lockstep.flights.outcome import FLOWN, Outcome, judge
from px4lockstep.flights.recorded import source_of
from px4lockstep.flights.recording.recording import Recording
from px4lockstep.flights.summary import Summary, summarize
from px4lockstep.flights.tables import run_rows
from px4lockstep.log.geographic import with_home
from px4lockstep.log.log import Log
from px4lockstep.log.messages import columns_of
from px4lockstep.log.sink import LogSink
from px4lockstep.plots.html import HtmlTable, ShownInNotebook
from px4lockstep.plots.view import View
from px4lockstep.reading import read_text
from px4lockstep.scenario.commands import MAX_COMMANDS_BYTES, CommandRow, rows_of
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.scenario.setpoints import SetpointTable
from px4lockstep.spec.build import Flight, build
from px4lockstep.spec.load import change_spec, load_spec
from px4lockstep.spec.spec import Spec, with_commands

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEP_US = 1_000_000
"""Simulated time between two calls of `watch`."""
SEED = "aircraft.seed"
LATE_S = 1.0
"""Wall time that a paced flight may take longer without a warning."""

Watch = Callable[[Simulation], bool | None]
"""Called with the running simulation; if it returns True, the flight ends at the next boundary."""


@dataclass(frozen=True, repr=False)
class Run(ShownInNotebook):
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
        found = replace(found, own_parts={stage: part.identity for stage, part in self.flight.own_parts.items()})
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

    def _tables(self) -> Iterable[HtmlTable]:
        title = f"{self.spec.aircraft.name}: {self.summary.outcome}"
        return (HtmlTable([*run_rows(self), ("digest", self.digest)], title=title),)

    def _figure(self) -> "Figure | None":
        return self.plot() if self.log.rows > 1 else None

    def plot(
        self, *, from_s: float | None = None, to_s: float | None = None, columns: Sequence[str] | None = None
    ) -> "Figure":
        """Return a Matplotlib figure of the flight, which a notebook shows.

        Args:
            from_s: First time to draw; by default the start of the flight.
            to_s: Last time to draw; by default the end of the flight.
            columns: Columns of the log to draw, such as `["pos_ned", "vel_ned"]`, instead of the usual panels.

        Raises:
            InputError: If there is no such column, or no row in this time.
        """
        from px4lockstep.flights.figure import draw_flight

        view, summary = View(from_s, to_s, None if columns is None else tuple(columns)), self.summary
        told = {"outcome": summary.outcome, "reason": summary.reason, "digest": summary.digest}
        return draw_flight(self.log, self.spec, self.flight.mission, told, view)

    def save(
        self, folder: str | Path | None = None, *, plots: bool = True, force: bool = False, exports: Sequence[str] = ()
    ) -> Path:
        """Write the run folder: spec, recording, log, summary and figure.

        Args:
            folder: New or empty folder; by default `runs/NAME-TIME`.
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


def simulate(
    spec: str | Path | Spec,
    /,
    *,
    autopilot: PythonAutopilot | None = None,
    wind: PythonWind | Wind | None = None,
    estimator: PythonEstimator | Estimator | None = None,
    scenario: PythonScenario | Scenario | None = None,
    overrides: Mapping[str, Any] | None = None,
    seed: int | None = None,
    watch: Watch | None = None,
    trust: bool = False,
    sinks: Sequence[LogSink] = (),
    setpoints: SetpointFunction | SetpointTable | Mapping[str, Any] | None = None,
    commands: str | Path | Sequence[CommandRow] = (),
) -> Run:
    """Fly a spec to its end.

        run = simulate("x500", overrides={"environment.wind": "none"}, seed=7)
        run.is_flown, run.summary.reason     # whether it succeeded, and why not
        run.log["pos_ned"], run.log.columns  # all rows, as arrays
        run.save("runs/calm")                # the run folder that the command line writes

    A crash or an unfinished mission does not raise an exception: see `run.summary`.

    Args:
        spec: Built-in aircraft (`x500`), path of a spec file, or loaded spec.
        autopilot: Your own autopilot, an object with a method `step`: see docs/howto/own_controller.md.
        wind: Your own wind, or a `Wind`.
        estimator: Your own estimator, or an `Estimator`.
        scenario: Your own scenario, or a `Scenario`: `Scenario().arm(at_s=1.0).at(20.0).land()`.
        overrides: Values by dotted key that replace the file's: `{"power.batteries[0].soc0": 0.5}`.
        seed: Random seed, short for the override of `aircraft.seed`.
        watch: Called with the simulation after every simulated second; if it returns True, the flight ends.
        trust: Whether to run code that the file names, wherever the file is: see docs/howto/untrusted_files.md.
        sinks: Log sinks, which get the rows of the log during the flight: `[CsvSink("x500.csv")]`.
        setpoints: Setpoints for the autopilot: the columns of a table, as in `scenario.setpoints`, or a function
            `function(time_us, inputs)`, called at each of its ticks, that returns the keys of one setpoint, or None.
        commands: Commands that a served vehicle was given, to fly it again: its file `commands.jsonl`, or its rows.

    Returns:
        The flight, with its log, summary, digest and figure.

    Raises:
        InputError: If the file or the overrides are invalid; one report lists all errors.
        SimulationError: If the run can't continue, or a log sink fails.
    """
    given = loaded(spec, with_setpoints(overrides, setpoints), seed, trust=trust)
    rows = read_commands(commands) if isinstance(commands, str | Path) else commands
    given = with_commands(given, rows) if rows else given
    if watch is None:
        given.timeline.check_has_end("without watch", "pass a watch function that ends the flight by returning True")
    parts: dict[str, Any] = {"autopilot": autopilot, "wind": wind, "estimator": estimator, "scenario": scenario}
    return fly(build(given, **parts, sinks=sinks, setpoints=setpoints if callable(setpoints) else None), watch)


def read_commands(path: str | Path) -> tuple[CommandRow, ...]:
    """Return the commands in a file `commands.jsonl`."""
    return rows_of(read_text(path, MAX_COMMANDS_BYTES, "the commands of a served flight"), str(path))


def with_setpoints(overrides: Mapping[str, Any] | None, setpoints: Any) -> dict[str, Any]:
    """Return overrides that also set the source of setpoints, if there is one: a table, or Python."""
    changes = dict(overrides or {})
    if callable(setpoints):
        changes["scenario.setpoints_from_python"] = True
    elif setpoints is not None:
        is_part = isinstance(setpoints, SetpointTable)
        if not is_part and not isinstance(setpoints, Mapping):
            text = "a function(time_us, inputs), or the columns of a table by name, with time_s"
            raise InputError(f"setpoints = {setpoints!r:.80} is not allowed; it must be {text}")
        changes["scenario.setpoints"] = setpoints.model_dump(exclude_none=True) if is_part else dict(setpoints)
    return changes


def loaded(
    spec: str | Path | Spec, overrides: Mapping[str, Any] | None, seed: int | None = None, *, trust: bool = False
) -> Spec:
    """Return the spec of a name or path, or a loaded one, with overrides and a seed."""
    changes = dict(overrides or {})
    if seed is not None:
        if SEED in changes:
            raise InputError(f"seed = {seed} and the override {SEED} = {changes[SEED]} both set the seed; omit one")
        changes[SEED] = seed
    if not isinstance(spec, Spec):
        return load_spec(spec, changes, trust=trust)
    if trust:
        raise InputError("trust applies to a name or a path; for a loaded spec, pass it to load_spec")
    return change_spec(spec, changes) if changes else spec
