"""Replay a recording: integrate the plant again with the recorded inputs.

replayed = replay("runs/first")
replayed.matches, replayed.first_difference
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from px4lockstep.engine.fingerprints import fingerprint_of
from px4lockstep.engine.protocols import PythonAutopilot
from px4lockstep.engine.simulation import Simulation
from px4lockstep.errors import InputError, counted
from px4lockstep.flights.changes import Change, changes_between
from px4lockstep.flights.facts import Facts
from px4lockstep.flights.outcome import Outcome, judge
from px4lockstep.flights.own_code import Parts, given_parts, with_code
from px4lockstep.flights.recorded import RECORDED_SPEC, made_with, recorded_spec
from px4lockstep.flights.recording.differences import Difference, FlightRows, first_difference
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.flights.recording.recording import Recording
from px4lockstep.flights.tables import replay_rows, replay_title
from px4lockstep.log.log import Log
from px4lockstep.log.schema import COLUMNS
from px4lockstep.plots.html import HtmlTable, ShownInNotebook
from px4lockstep.plots.overlay import distance_between
from px4lockstep.reprs import short
from px4lockstep.spec.build import build
from px4lockstep.spec.load import change_spec
from px4lockstep.spec.spec import Spec
from px4lockstep.spec.stages import STAGES

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Departure:
    """How far a replay departs from the recorded flight, at the rows that both logs have.

    Args:
        max_m: Largest distance between the two positions [m].
        max_at_s: When that is [s].
        final_m: Distance at the last common row [m].
        end_s: When that is [s].
    """

    max_m: float
    max_at_s: float
    final_m: float
    end_s: float


@dataclass(frozen=True, repr=False)
class Replay(ShownInNotebook):
    """A replayed flight.

    Args:
        recording: The recording that was replayed.
        simulation: The replay, flown to its end.
        changes: Changes of the spec.
        again: Builds the same replay again, ready to run.
    """

    recording: Recording
    simulation: Simulation
    changes: tuple[Change, ...]
    again: Callable[[], Simulation]

    def __repr__(self) -> str:
        told = "bit-identical" if self.matches else f"first difference at {self.first_difference}"
        return f"<Replay of {self.recording.name}: {short(told)}, {counted(len(self.changes), 'change')}>"

    def _tables(self) -> Iterable[HtmlTable]:
        return (HtmlTable([*replay_rows(self), ("digest", self.digest)], title=replay_title(self)),)

    def _figure(self) -> "Figure | None":
        return self.plot()

    def plot(self) -> "Figure":
        """Return a Matplotlib figure of the recorded flight and the replay, which a notebook shows.

        Raises:
            InputError: If the plant has no position.
        """
        from px4lockstep.plots.overlay import plot_overlay

        recorded = Log.of_rows(self.simulation.core, self.recording.log, self.recording.log_state)
        return plot_overlay({"recorded": recorded, "replayed": Log.of(self.simulation)}, title=replay_title(self))

    @cached_property
    def digest(self) -> str:
        """The digest of the replay."""
        return self.simulation.digest()

    @property
    def duration_s(self) -> float:
        """Simulated time."""
        return (self.simulation.time_us - self.simulation.timeline.start_us) / 1e6

    @cached_property
    def outcome(self) -> Outcome:
        """The outcome of the replay. If it matches, the progress of the mission is the recorded autopilot's."""
        log, told = Log.of(self.simulation), self.recording.log["bus"]["autopilot"]
        if self.matches and (told["mission_count"].any() or told["armed"].any()):
            status = [column for column in COLUMNS if column.needs == "autopilot"]
            arrays = {column.name: told[column.source.removeprefix("bus.autopilot.")] for column in status}
            log = Log({name: log[name] for name in log.names} | arrays)
        return judge(Facts(self.simulation, log))

    @property
    def matches(self) -> bool:
        """Whether the replay is bit-identical to the recorded flight."""
        return self.digest == self.recording.digest

    @cached_property
    def first_difference(self) -> Difference | None:
        """The first time and field at which the replay differs from the recorded flight; None if it does not.

        Between two rows of the log, it is known which states differ (`omega[0], rotor[2]`) but not by how much.
        """
        flown = FlightRows.of(self.simulation)
        found = first_difference(FlightRows.of(self.recording), flown, self.simulation.plant.names)
        return None if found is None else _between_rows(self.recording, self.again(), found)

    @cached_property
    def departure(self) -> Departure | None:
        """How far the replay departs from the recorded flight; None for a plant without a position."""
        recorded = Log.of_rows(self.simulation.core, self.recording.log, self.recording.log_state)
        times_s, apart_m = distance_between(recorded, Log.of(self.simulation))
        if not len(apart_m):
            return None
        row = int(np.argmax(apart_m))
        return Departure(float(apart_m[row]), float(times_s[row]), float(apart_m[-1]), float(times_s[-1]))


def replay(
    source: str | Path | Recording,
    *,
    integrator: str | None = None,
    autopilot: bool | PythonAutopilot = False,
    overrides: Mapping[str, Any] | None = None,
    settings: Sequence[str] = (),
    spec: Spec | None = None,
    trust: bool = False,
) -> Replay:
    """Replay a recording.

    Args:
        source: A recording, its file, a run folder, or `latest` for the newest one in `runs/`.
        integrator: Kind of integrator to use instead of the recorded one.
        autopilot: Whether the autopilot flies again, with the recorded estimate, wind and scenario, instead of its
            recorded commands. Its keys may be changed. Needs a recording with the estimate (`run.record_estimate`).
            An object is your own autopilot, of which the replay gets a copy.
        overrides: Model values to change, by dotted key.
        settings: The same as strings: `["airframe.mass_kg=1.6"]`.
        spec: Spec to replay with, instead of the recorded one with changes.
        trust: Whether to run the class of an autopilot that the recorded spec names: see
            docs/howto/untrusted_files.md.

    Raises:
        InputError: If the recording can't be read, or a change affects a recorded input.
        SimulationError: If the run can't continue.
    """
    recording = source if isinstance(source, Recording) else read_recording(source)
    wanted = dict(overrides or {})
    if integrator is not None:
        wanted["plant.integrator.kind"] = integrator
    if spec is not None and (wanted or settings):
        raise InputError("give a spec or changes, not both; load_spec(path, overrides) returns a changed spec")

    flies, parts = autopilot is not False, {} if isinstance(autopilot, bool) else {"autopilot": autopilot}
    before = recorded_spec(recording)
    before = with_code(before, source, trust=trust) if flies else before
    after = spec or (change_spec(before, wanted, settings) if wanted or settings else before)
    changes = changes_between(before, after)
    _refuse_recorded(changes, flies=flies)
    if flies:
        _check_estimates(recording, after)

    def prepare() -> Simulation:
        return _prepared(recording, before, after, is_changed=bool(changes), flies=flies, parts=parts)

    simulation = prepare()
    try:
        with nullcontext() if changes else recording.resumed():
            simulation.run()
    finally:
        simulation.close()
    return Replay(recording, simulation, changes, prepare)


def replay_of(recording: Recording) -> Simulation:
    """Return an unchanged replay of a recording, ready to run."""
    spec = recorded_spec(recording)
    return _prepared(recording, spec, spec, is_changed=False)


def _prepared(
    recording: Recording,
    before: Spec,
    after: Spec,
    *,
    is_changed: bool,
    flies: bool = False,
    parts: Parts | None = None,
) -> Simulation:
    """Return a replay that is ready to run."""
    simulation = build(after, replay=recording.streams, flies=flies, **given_parts(parts or {})).simulation
    if len(simulation.initial_state) != len(recording.initial_state):
        states = f"{len(simulation.initial_state)} states, the recorded one {len(recording.initial_state)}"
        raise InputError(
            f"the spec file describes another aircraft: it has {states}. Replay with the aircraft that was flown"
        )
    _check_source(recording, before, None if is_changed else simulation)
    if recording.starts_us > simulation.timeline.start_us:  # a branch, whose past belongs to its trunk
        with recording.resumed():
            simulation.continue_from(recording.snapshot_before(recording.starts_us), made_with(before))
    return simulation


def _between_rows(recording: Recording, replayed: Simulation, found: Difference) -> Difference:
    """Step a replay from the last row that matches, boundary by boundary, and compare the state fingerprints."""
    rows_us, times_us = recording.log["time_us"], recording.streams.time_us
    before_us = rows_us[rows_us < found.time_us]
    first = int(np.searchsorted(times_us, before_us[-1])) + 1 if len(before_us) else 1
    for k in range(first, min(int(np.searchsorted(times_us, found.time_us)), len(recording.fingerprints))):
        replayed.run(int(times_us[k]))
        parted = np.flatnonzero(fingerprint_of(replayed.core) != recording.fingerprints[k])
        if len(parted):
            names = [recording.state_names[i] for i in parted]
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            return Difference(int(times_us[k]), ", ".join(names[:3]) + more, None, None)
    return found


def _check_source(recording: Recording, spec: Spec, unchanged: Simulation | None) -> None:
    """Check before a replay, as far as possible, that the spec in a recording is the one that was flown."""
    for name, said, found in (
        ("aircraft.seed", recording.source.seed, spec.aircraft.seed),
        ("plant.integrator.kind", recording.integrator, spec.plant.integrator.kind),
    ):
        if said != found:
            raise InputError(f"{RECORDED_SPEC} has {name} = {found!r}, but the flight was flown with {said!r}")
    if unchanged is not None and unchanged.initial_state.tobytes() != recording.initial_state.tobytes():
        raise InputError(f"{RECORDED_SPEC} describes another aircraft: its initial state differs from the recorded one")


def _check_estimates(recording: Recording, spec: Spec) -> None:
    """Check that the autopilot can fly with the recorded estimate."""
    name = spec.autopilot.capabilities.name
    if not len(recording.streams.estimates):
        raise InputError(
            f"{recording.name} has no estimate for the autopilot; fly it again with run.record_estimate = true"
        )
    if spec.autopilot.capabilities.estimates_itself:
        raise InputError(f"{name} has its own estimator, so it can't be replayed with the recorded estimate")
    if any(event.action == "set_param" for event in spec.scenario.events):
        raise InputError(f"{recording.name} has events set_param; they are not replayed for the autopilot")
    if recording.starts_us > int(recording.streams.time_us[0]):
        raise InputError(f"{recording.name} is a branch; only a whole flight can be replayed with its autopilot")


def _refuse_recorded(changes: tuple[Change, ...], *, flies: bool) -> None:
    flown = (STAGES["autopilot"], STAGES["autopilot_start"]) if flies else ()
    for change in changes:
        if change.stage.is_recorded and change.stage not in flown:
            raise InputError(
                f"{change}: a replay takes commands, wind, scenario and their times from the recording, so this would "
                "have no effect. Use a branch, or fly a new run"
            )
