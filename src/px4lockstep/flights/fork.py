"""Branches of a flight of real PX4: its state is inside its library, so the process is forked at a boundary.

The flight is re-flown to the branch time. Each branch is a child of this process, created by `os.fork()`, which
continues with its changes and writes a run folder, including what PX4 printed. The parent waits for each child and
collects its summary. If PX4 crashes in one branch, the others are still flown.
"""

import functools
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from px4lockstep.autopilots.base import INJECTED, Session
from px4lockstep.autopilots.fence import LIMITS as FENCE_LIMITS
from px4lockstep.autopilots.kinds import KINDS
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.snapshot import Snapshot
from px4lockstep.errors import InputError, SimulationError
from px4lockstep.flights.branch import branch_specs, check_flown
from px4lockstep.flights.changes import Change
from px4lockstep.flights.crashed import keep_crashed
from px4lockstep.flights.folder import PX4_LOG, RunFolder, read_summary
from px4lockstep.flights.latest import run_path
from px4lockstep.flights.recorded import SPEC, recorded_spec
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.flights.recording.recording import Recording
from px4lockstep.flights.run import Run, fly
from px4lockstep.processes import ask_child, crash_of
from px4lockstep.px4.console import flush_console, log_of_console, printed_in
from px4lockstep.reprs import ShortRepr
from px4lockstep.spec.build import Flight, build
from px4lockstep.spec.code import refuse_code
from px4lockstep.spec.load import change_spec, load_spec
from px4lockstep.spec.spec import Spec
from px4lockstep.timebase import seconds_to_us


@dataclass(frozen=True, repr=False)
class Forked(ShortRepr):
    """A branch flown by a child: its folder, summary and changes, and the time at which it left the trunk."""

    folder: Path
    summary: dict[str, Any]
    changes: tuple[Change, ...]
    at_us: int


@dataclass(frozen=True)
class LiveTrunk:
    """A flight of real PX4, re-flown to the time from which its branches continue."""

    recording: Recording
    session: Session
    flight: Flight
    start: Snapshot
    moment: Snapshot
    at_us: int

    @classmethod
    def of(cls, recording: Recording, before: Spec, at_s: float, library: Mapping[str, str]) -> "LiveTrunk":
        """Re-fly a recorded flight to a time, and check that it matches the recording.

        `library` has the keys of the spec that locate PX4, which a recording does not contain.
        """
        at_us, end_us = seconds_to_us(at_s, "at_s"), int(recording.log["time_us"][-1])
        if at_us >= end_us:
            raise InputError(f"at_s = {at_s} is not before the end of the flight, {end_us / 1e6} s")
        flight = build(change_spec(before, library), record=True)
        simulation = flight.simulation
        if not simulation.autopilot.capabilities.branches_by_fork:
            raise InputError("only flights of real PX4 are branched with fork; use px4lockstep.branch for others")
        start = simulation.copied()
        try:
            simulation.run(at_us)
            with recording.resumed():
                check_flown(recording, simulation)
        except BaseException:
            simulation.close()
            raise
        return cls(recording, simulation.autopilot, flight, start, simulation.copied(), simulation.time_us)

    def fly_branch(self, before: Spec, spec: Spec, folder: Path, plots: bool, printed: str, force: bool) -> None:
        """Fly a branch in a child of the process that flew the trunk, and write its run folder.

        On SIGUSR1, which the parent sends when it is interrupted, stop and write what was flown.
        """
        asked: list[int] = []
        signal.signal(signal.SIGUSR1, lambda number, _: asked.append(number))

        def watch(simulation: Simulation) -> None:
            target.watch(simulation)
            if asked:
                raise KeyboardInterrupt

        flight = build(spec, record=True, session=self.session)
        flight.simulation.continue_from(self.moment, self.start)
        target = RunFolder.create(folder, flight, holds_log=True, force=force)
        with log_of_console(target.path / PX4_LOG, printed):
            ours, theirs = before.px4_params, spec.px4_params
            changed = {name: value for name, value in theirs.items() if ours.get(name) != value}
            self.session.set_parameters(changed, optional=spec.optional_params)
            try:
                run = fly(flight, watch)
            except KeyboardInterrupt:
                run = Run(flight)
            except SimulationError as error:  # keep its log; the other branches are still flown
                run = Run(flight, error)
        target.keep(run)
        if plots and not asked:
            target.draw(run)
        target.close(run)


def is_of_px4(recording: Recording) -> bool:
    """Return whether a recording was flown by real PX4."""
    kind = KINDS.get(recording.source.autopilot.partition(" ")[0])
    return kind is not None and kind.capabilities.branches_by_fork


def fork(
    source: str | Path | Recording,
    at_s: float,
    out: str | Path,
    *,
    overrides: Mapping[str, Any] | None = None,
    settings: Sequence[str] = (),
    events: Sequence[Mapping[str, Any]] = (),
    count: int = 1,
    plots: bool = False,
    force: bool = False,
    console: BinaryIO | None = None,
    trust: bool = False,
) -> list[Forked]:
    """Continue a recorded flight of real PX4 from a given time, each branch in a child process.

    Args:
        source: A recording, its file, a run folder, or `latest` for the newest one in `runs/`.
        at_s: When to leave the recorded flight; rounded up to the next event boundary.
        out: Folder for the run folders of the branches, `branch-1` and so on.
        overrides: Values to change from then on, by dotted key.
        settings: The same as strings.
        events: Additional events of the scenario.
        count: Number of branches; each after the first has the next seed.
        plots: Whether to write figures.
        force: Whether `run.log_csv` and `run.recording_out` may overwrite files outside the run folder.
        console: File to which the PX4 console is redirected, if it is; `px4.log` of each branch begins with it.
        trust: Whether to load the library that the run folder names: see docs/howto/untrusted_files.md.

    Raises:
        InputError: If the recording can't be read or flown, a change can't be made in flight, or the run folder is not
            trusted.
        SimulationError: If the flight can't be reproduced, or a branch could not be flown.
    """
    if not hasattr(os, "fork"):
        raise InputError("this system has no os.fork; fly each branch from its start instead")
    recording = source if isinstance(source, Recording) else read_recording(source)
    if INJECTED in recording.source.autopilot:
        topics = recording.source.autopilot.partition(INJECTED)[2]
        raise InputError(
            f"the flight can't be repeated up to the branch time: Python functions published {topics} to PX4, and a "
            "recording does not contain them. Fly a new run with these injectors instead"
        )
    # Check the changes before anything is flown, so that the parent reports the error.
    before = recorded_spec(recording)
    asked = (before, overrides or {}, settings, events)
    spec, changes = next(branch_specs(*asked, seconds_to_us(at_s, "at_s"), count))
    _refuse_of_the_host(before, spec, changes)
    library = _library_of(source, trust or spec.px4.libpath is not None) | _library_in(spec)
    trunk = LiveTrunk.of(recording, before, at_s, library)
    try:
        flush_console()
        printed = "" if console is None else printed_in(console)
        forked = []
        for number, (spec, changes) in enumerate(branch_specs(*asked, trunk.at_us, count), 1):
            folder = Path(out) / f"branch-{number}"
            fly_branch = functools.partial(trunk.fly_branch, before, spec, folder, plots, printed, force)
            summary = _fly_child(fly_branch, spec, folder)
            forked.append(Forked(folder, summary, changes, trunk.at_us))
        return forked
    finally:
        trunk.flight.simulation.close()


def _fly_child(fly_branch: Callable[[], None], spec: Spec, folder: Path) -> dict[str, Any]:
    """Fly a branch in a child process and return its summary."""

    def work() -> str:
        fly_branch()
        return ""

    code, problem = ask_child(work)
    if code < 0 and folder.exists():
        return keep_crashed(folder, spec, -code)
    if code != 0:
        raise SimulationError(f"the branch in {folder} failed: {crash_of(-code) if code < 0 else problem}")
    return read_summary(folder)


def _refuse_of_the_host(before: Spec, after: Spec, changes: tuple[Change, ...]) -> None:
    """Refuse changes of settings that PX4 reads only at its start."""
    for change in changes:
        if change.stage.is_started_with:
            raise InputError(f"{change}: PX4 reads this only at its start. Fly a new run instead")
    for name in FENCE_LIMITS:
        if before.px4_params.get(name) != after.px4_params.get(name):
            raise InputError(f"{name} can't change in flight: the fence is set up at the start. Fly a new run instead")
    for name in before.px4.params_by_name:
        if name not in after.px4.params_by_name:
            raise InputError(f"px4.params: {name} can't be removed in flight; set it to the value that it should have")


def _library_of(source: str | Path | Recording, trust: bool) -> dict[str, str]:
    """Return the PX4 library that the spec of a run folder names, if any; loading it needs trust."""
    path = None if isinstance(source, Recording) else run_path(source) / SPEC
    if path is None or not path.exists():
        return {}
    spec = load_spec(path, trust=trust)
    refuse_code(spec, is_strict=True)
    return _library_in(spec)


def _library_in(spec: Spec) -> dict[str, str]:
    places = {"px4.libpath": spec.px4.libpath, "px4.msg_dir": spec.px4.msg_dir}
    return {key: place for key, place in places.items() if place is not None}
