"""`px4lockstep branch`: continue a recorded flight from a given time, with changes."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from rich.markup import escape
from rich.table import Table

from px4lockstep.cli.console import Console
from px4lockstep.cli.crash import last_lines
from px4lockstep.cli.events import parse_events
from px4lockstep.cli.interrupts import interrupts
from px4lockstep.cli.output import print_json, write_err
from px4lockstep.cli.run import finish, fly_into
from px4lockstep.cli.watched import in_child, remedy
from px4lockstep.errors import LockstepError, OutputError
from px4lockstep.flights.branch import Trunk, branch_specs
from px4lockstep.flights.changes import Change
from px4lockstep.flights.folder import RunFolder, check_outputs, fresh_folder, summary_of
from px4lockstep.flights.fork import fork, is_of_px4
from px4lockstep.flights.latest import run_path
from px4lockstep.flights.outcome import is_success
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.flights.recording.recording import Recording
from px4lockstep.processes import crash_of
from px4lockstep.px4.console import console_into, printed_in


def branch_run(
    recorded: str | Path,
    at_s: float,
    count: int,
    plots: bool,
    force: bool,
    trust: bool,
    as_json: bool,
    settings: Sequence[str] = (),
    events: Sequence[str] = (),
    out: Path | None = None,
) -> int:
    """Fly branches and write a run folder for each; return the exit code, 1 if a branch failed."""
    wanted, recorded = parse_events(events), run_path(recorded)
    recording = read_recording(recorded)
    if is_of_px4(recording):
        root = out or fresh_folder(f"{recorded.name}-branch")
        asked = {"settings": settings, "events": wanted, "count": count, "plots": plots, "force": force, "trust": trust}
        return _fork(recorded, recording, at_s, root, asked, as_json)
    trunk = Trunk.of(recorded, at_s, trust=trust)
    flown: list[tuple[dict[str, Any], tuple[Change, ...]]] = []
    unwritten: OutputError | None = None
    for number, (spec, changes) in enumerate(branch_specs(trunk.spec, {}, settings, wanted, trunk.at_us, count), 1):
        flight = trunk.branch(spec)
        with interrupts.deferred():
            interrupts.check()
            check_outputs(spec, out, force)  # before the folder is created
            out = out or fresh_folder(f"{recorded.name}-branch")
            place = out / f"branch-{number}" if count > 1 else out
            folder = RunFolder.create(place, flight, holds_log=True, force=force)
            run = fly_into(folder, flight, quiet=as_json)
            unwritten = finish(folder, run, plots=plots, quiet=as_json)
            flown.append((summary_of(run, folder.path), changes))
        if interrupts.is_noted or unwritten is not None:
            break
    code = _show(trunk.at_us / 1e6, trunk.flown_us / 1e6, recording.digest, flown, as_json)
    if unwritten is not None:
        raise unwritten
    if interrupts.is_noted:
        write_err(f"interrupted: {out} has {len(flown)} of {count} branches; the last one ends at the interrupt\n")
        return interrupts.code
    return code


def _fork(run: Path, recording: Recording, at_s: float, root: Path, asked: dict[str, Any], as_json: bool) -> int:
    """Branch a flight of real PX4: re-fly it up to the branch time, then fork the process."""
    with TemporaryFile() as console:

        def fly() -> int:
            try:
                with console_into(console.fileno()):
                    forked = fork(run, at_s, root, **asked, console=console)
            except LockstepError:
                write_err(printed_in(console))
                raise
            left_s = forked[0].at_us / 1e6
            return _show(left_s, left_s, recording.digest, [(one.summary, one.changes) for one in forked], as_json)

        def tell(number: int) -> None:
            lines = [f"error: {crash_of(number)} before the branch time", *last_lines(printed_in(console))]
            write_err("\n".join([*lines, remedy(number)]))

        return in_child(fly, tell)


def _show(
    at_s: float,
    again_s: float,
    trunk_digest: str,
    flown: list[tuple[dict[str, Any], tuple[Change, ...]]],
    as_json: bool,
) -> int:
    """Print the outcomes of the branches; return the exit code."""
    if as_json:
        branches = [summary | {"changes": [change.as_dict() for change in changes]} for summary, changes in flown]
        said = {"at_s": at_s, "flown_again_s": again_s, "trunk_digest": trunk_digest, "branches": branches}
        print_json(said)
    else:
        console = Console(soft_wrap=True)
        title = f"branched at {at_s:.6f} s; re-flown from {at_s - again_s:.3f} s, identical to the recording"
        table = Table("branch", "outcome", r"end \[s]", "why", title=title, title_justify="left")
        for number, (summary, _) in enumerate(flown, 1):
            end = "?" if summary["duration_s"] is None else f"{summary['duration_s']:.3f}"
            cells = (summary["outcome"], end, summary.get("reason") or "")
            table.add_row(str(number), *(escape(cell) for cell in cells))
        console.print(table)
        for number, (summary, _) in enumerate(flown, 1):  # below the table, which would fold or cut long paths
            console.print(f"branch {number}: {summary['run_dir']}", markup=False, highlight=False)
        every = [change for _, changes in flown for change in changes if change.key != "aircraft.seed"]
        for text in dict.fromkeys(str(change) for change in every):
            console.print(f"changed: {text}", markup=False, highlight=False)
    return 0 if all(is_success(summary["outcome"]) for summary, _ in flown) else 1
