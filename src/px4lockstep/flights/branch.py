"""Branches of a flight: continue a recorded flight from a given time, with changes.

runs = branch("runs/first", at_s=30.0, overrides={"environment.wind_mean_ned": [8.0, 0.0, 0.0]})
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from px4lockstep.engine.checkpoints import recorded_otherwise
from px4lockstep.engine.log_layout import input_beyond
from px4lockstep.engine.protocols import PythonAutopilot, PythonEstimator, PythonScenario, PythonWind
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.snapshot import Snapshot
from px4lockstep.errors import InputError, SimulationError
from px4lockstep.flights.changes import Change, changes_between
from px4lockstep.flights.own_code import Parts, check_scenario, explained, given_parts, with_code
from px4lockstep.flights.recorded import recorded_spec
from px4lockstep.flights.recording.differences import FlightRows, LiveRows, first_difference
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.flights.recording.recording import Recording
from px4lockstep.flights.run import Run, fly
from px4lockstep.reprs import ShortRepr
from px4lockstep.spec.build import Flight, build
from px4lockstep.spec.flight_tables import OUTPUTS
from px4lockstep.spec.load import change_spec
from px4lockstep.spec.spec import Spec, with_commands
from px4lockstep.timebase import seconds_to_us

MAX_BRANCHES = 10_000


@dataclass(frozen=True)
class Trunk:
    """A recorded flight at the time from which its branches continue."""

    recording: Recording
    spec: Spec
    start: Snapshot
    moment: Snapshot
    at_us: int
    flown_us: int
    """How much was re-flown from the checkpoint before the branch time."""
    parts: Parts = field(default_factory=dict)
    """Objects of the user, by stage, of which each flight gets a copy."""

    @classmethod
    def of(
        cls, source: str | Path | Recording, at_s: float, *, parts: Parts | None = None, trust: bool = False
    ) -> "Trunk":
        """Re-fly a recording from the last checkpoint before a time to that time, and check that it matches.

        A flight with parts of the user is re-flown from its start, because a checkpoint does not contain their state.
        """
        recording = source if isinstance(source, Recording) else read_recording(source)
        parts = parts or {}
        at_us, end_us = seconds_to_us(at_s, "at_s"), int(recording.log["time_us"][-1])
        if at_us >= end_us:
            raise InputError(f"at_s = {at_s} is not before the end of the flight, {end_us / 1e6} s")
        check_scenario(recording, parts)
        spec = with_code(recorded_spec(recording), source, trust=trust)
        autopilot = spec.autopilot.capabilities
        if autopilot.branches_by_fork:
            raise InputError(
                f"{autopilot.name} can't resume from a checkpoint; branch its flights with px4lockstep.fork"
            )
        if not autopilot.is_copyable:
            raise InputError(
                f"{autopilot.name} can't resume from a checkpoint or be copied in flight; fly a new run instead"
            )
        flight = build(spec, record=True, **given_parts(parts))
        if flight.own_parts:
            return cls._from_start(recording, flight, at_us, parts)
        # From before the branch time, so that a part is re-flown and can be checked.
        kept = recording.snapshot_before(max(at_us - 1, min(at_us, recording.starts_us)))
        simulation = flight.simulation
        start = simulation.snapshot()
        with recording.resumed():
            simulation.restore(kept)
            kept_us = simulation.time_us
            _fly_again(recording, simulation, at_us)
            moment, moment_us = simulation.snapshot(), simulation.time_us
            _check_onwards(recording, simulation)
        return cls(recording, spec, start, moment, moment_us, moment_us - kept_us)

    @classmethod
    def _from_start(cls, recording: Recording, flight: Flight, at_us: int, parts: Parts) -> "Trunk":
        """Re-fly a flight with parts of the user."""
        if recording.starts_us > int(recording.streams.time_us[0]):
            raise InputError(
                f"{recording.name} is a branch of a flight with parts in Python, which can be re-flown from its start "
                "only; branch its trunk instead"
            )
        simulation = flight.simulation
        start = simulation.snapshot()
        with recording.resumed(), explained(recording, flight):
            _fly_again(recording, simulation, at_us)
        return cls(recording, flight.spec, start, simulation.snapshot(), simulation.time_us, simulation.time_us, parts)

    def branch(self, spec: Spec, *, commands: bool = True) -> Flight:
        """Return a flight that continues from here with a changed spec, and with the later commands of its trunk."""
        if not commands:
            spec = with_commands(spec, [row for row in spec.commands if row.time_us < self.at_us])
        flight = build(spec, record=True, **given_parts(self.parts))
        flight.simulation.continue_from(self.moment, self.start)
        return flight


def branch_specs(
    before: Spec,
    overrides: Mapping[str, Any],
    settings: Sequence[str],
    events: Sequence[Mapping[str, Any]],
    at_us: int,
    count: int,
) -> Iterator[tuple[Spec, tuple[Change, ...]]]:
    """Yield the spec of each branch and its changes from the trunk. Each branch after the first has the next seed."""
    if not 1 <= count <= MAX_BRANCHES:
        raise InputError(f"count = {count} is not allowed; it must be 1 to {MAX_BRANCHES}")
    for event in events:
        if "at_s" in event and seconds_to_us(event["at_s"], "at_s of an event") < at_us:
            raise InputError(f"an event at {event['at_s']} s is before the branch time, {at_us / 1e6} s")
    listed = [event.model_dump(exclude_none=True) for event in before.scenario.events]
    wanted = dict(overrides) | ({"scenario.events": [*listed, *events]} if events else {})
    first = change_spec(before, wanted, settings)
    first.timeline.check_has_end("for a branch", "set its end, such as --set timeline.t_end_s=60")
    for key in OUTPUTS:
        value = getattr(first.run, key)
        if count > 1 and value is not None and Path(value).is_absolute():
            raise InputError(f"run.{key} = {value!r} names one file for {count} branches; fly them one at a time")
    for number in range(count):
        spec = change_spec(first, {"aircraft.seed": first.aircraft.seed + number}) if number else first
        changes = changes_between(before, spec)
        for change in changes:
            if change.stage.is_fixed:
                raise InputError(f"{change}: this can't change in flight. Fly a new run instead")
        yield spec, changes


@dataclass(frozen=True, repr=False)
class Branch(ShortRepr):
    """One branch: its run, its changes, and the time at which it left the trunk."""

    run: Run
    changes: tuple[Change, ...]
    at_us: int


def branch(
    source: str | Path | Recording,
    at_s: float,
    *,
    overrides: Mapping[str, Any] | None = None,
    settings: Sequence[str] = (),
    events: Sequence[Mapping[str, Any]] = (),
    count: int = 1,
    autopilot: PythonAutopilot | None = None,
    wind: PythonWind | None = None,
    estimator: PythonEstimator | None = None,
    scenario: PythonScenario | None = None,
    trust: bool = False,
    commands: bool = True,
) -> list[Branch]:
    """Continue a recorded flight from a given time, with changes.

    Args:
        source: A recording, its file, a run folder, or `latest` for the newest one in `runs/`.
        at_s: When to leave the recorded flight; rounded up to the next event boundary.
        overrides: Values to change from then on, by dotted key.
        settings: The same as strings: `["environment.wind=ou"]`.
        events: Additional events of the scenario, as in a spec file: `{"at_s": 40.0, "action": "return"}`.
        count: Number of branches. The first has the recorded seed, each further one the next, and so its own noise.
        autopilot: Your own autopilot, if an object flew: a new one like it. Each flight gets a copy.
        wind: Your own wind, in the same way.
        estimator: Your own estimator, in the same way.
        scenario: Your own scenario, in the same way.
        trust: Whether to run the classes that the spec names: see docs/howto/untrusted_files.md.
        commands: Whether a served flight gets its later commands, too: see docs/howto/serve.md.

    Raises:
        InputError: If the recording can't be read, a change can't be made in flight, or a part is missing.
        SimulationError: If the recorded flight can't be reproduced. A branch that fails has the error in `run.error`.
    """
    parts = {"autopilot": autopilot, "wind": wind, "estimator": estimator, "scenario": scenario}
    trunk = Trunk.of(source, at_s, parts=parts, trust=trust)
    return list(fly_branches(trunk, overrides or {}, settings, events, count, commands=commands))


def fly_branches(
    trunk: Trunk,
    overrides: Mapping[str, Any],
    settings: Sequence[str] = (),
    events: Sequence[Mapping[str, Any]] = (),
    count: int = 1,
    watch: Callable[[Simulation], None] | None = None,
    *,
    commands: bool = True,
) -> Iterator[Branch]:
    """Fly branches of a trunk one after another; see `branch`."""
    for spec, changes in branch_specs(trunk.spec, overrides, settings, events, trunk.at_us, count):
        flight = trunk.branch(spec, commands=commands)
        try:
            run = fly(flight, watch)
        except SimulationError as error:
            run = Run(flight, error)
        yield Branch(run, changes, trunk.at_us)


def check_flown(recording: Recording, simulation: Simulation) -> None:
    """Check that a flight up to now is bit-identical to the recorded one."""
    recorded = FlightRows.of(recording, len(simulation.log))
    difference = first_difference(recorded, FlightRows.of(simulation), simulation.plant.names)
    difference = difference or first_difference(LiveRows.of(recording, len(simulation.log)), LiveRows.of(simulation))
    if difference is not None:
        raise SimulationError(f"the flight first differs from the recording at {difference}")
    beyond = input_beyond(simulation.records, simulation.row_widths)
    if beyond is not None:
        raise SimulationError(f"the flight differs from the recording: {beyond} has more values than the aircraft")


def _fly_again(recording: Recording, simulation: Simulation, until_us: int) -> None:
    """Fly up to a time within the recorded flight, and check that it matches the recording."""
    simulation.run(until_us)
    if simulation.is_done:
        raise SimulationError(f"the flight ends before {until_us} us, the recording does not")
    check_flown(recording, simulation)


def _check_onwards(recording: Recording, simulation: Simulation) -> None:
    """Check that a flight reaches the next checkpoint or the end: a corrupt checkpoint may show only then."""
    kept, at = recording.checkpoints, recording.checkpoints["cursor"]["k"]
    after = np.flatnonzero(at >= simulation.boundary)
    until_us = recording.streams.time_us[at[after[0]]] if len(after) else recording.log["time_us"][-1]
    _fly_again(recording, simulation, int(until_us))
    other = recorded_otherwise(simulation.checkpoint(), kept[after[:1]]) if len(after) else None
    if other is not None:
        raise SimulationError(f"the flight does not match its checkpoint at {simulation.time_us} us: {other} differs")
