"""`px4lockstep branch`: fly on from a recorded moment, with changes."""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from px4lockstep.errors import InputError
from px4lockstep.px4.console import console_into
from px4lockstep.recording.file import read_recording
from px4lockstep.recording.recording import Recording
from px4lockstep.report.outcome import FLOWN as FLOWN_WORD
from px4lockstep.runs.branch import Branch, Trunk, fly_branches
from px4lockstep.runs.changes import Change
from px4lockstep.runs.folder import fresh_folder, summary_of
from px4lockstep.runs.fork import fork, is_of_px4
from px4lockstep.spec.overrides import parse_override

FLOWN, FAILED = 0, 1
COMMA = re.compile(r",(?![^\[\]\"]*[\]\"])")
"""Between the keys of an event, not inside an array or a text."""


def branch_run(
    run: Path,
    at_s: float,
    settings: Sequence[str],
    events: Sequence[str],
    count: int,
    out: Path | None,
    plots: bool,
    as_json: bool,
) -> int:
    """Fly branches and leave a run folder for each; return the exit code: 1 if one of them failed."""
    wanted = [parse_event(text) for text in events]
    root = out or fresh_folder(f"{run.name}-branch")
    recording = read_recording(run)
    if is_of_px4(recording):
        return _fork(recording, at_s, settings, wanted, count, root, plots, as_json)
    trunk = Trunk.of(recording, at_s)
    flown: list[tuple[Branch, Path]] = []
    for number, one in enumerate(fly_branches(trunk, {}, settings, wanted, count), 1):
        folder = root / f"branch-{number}" if count > 1 else root
        flown.append((one, one.run.save(folder, plots=plots)))
    if as_json:
        sys.stdout.write(json.dumps(_as_dict(trunk, flown)) + "\n")
    else:
        _print(trunk, flown)
    return FLOWN if all(one.run.is_flown for one, _ in flown) else FAILED


def _fork(
    recording: Recording,
    at_s: float,
    settings: Sequence[str],
    events: Sequence[dict[str, Any]],
    count: int,
    root: Path,
    plots: bool,
    as_json: bool,
) -> int:
    """Branch a flight of real PX4, which is flown again up to there."""
    with console_into(sys.stderr.fileno()):
        forked = fork(recording, at_s, root, settings=settings, events=events, count=count, plots=plots)
    if as_json:
        said = {
            "at_s": forked[0].at_us / 1e6,
            "flown_again_s": forked[0].at_us / 1e6,
            "trunk_digest": recording.digest,
            "branches": [one.summary | {"changes": [change.as_dict() for change in one.changes]} for one in forked],
        }
        sys.stdout.write(json.dumps(said) + "\n")
    else:
        _print_table(
            f"from {forked[0].at_us / 1e6:.6f} s, flown again by PX4 up to there",
            [(one.summary["outcome"], one.summary["duration_s"], one.folder) for one in forked],
            [change for one in forked for change in one.changes],
        )
    return FLOWN if all(one.summary["outcome"] == FLOWN_WORD for one in forked) else FAILED


def parse_event(text: str) -> dict[str, Any]:
    """Read an event as the command line has it: `at_s=40,action=disable_motor,motor=1`.

    Raises:
        InputError: If it is not one.
    """
    try:
        return dict(parse_override(part) for part in COMMA.split(text))
    except InputError as error:
        raise InputError(f"--event {text}: {error}. An event is like at_s=40,action=return") from error


def _as_dict(trunk: Trunk, flown: list[tuple[Branch, Path]]) -> dict[str, Any]:
    return {
        "at_s": trunk.at_us / 1e6,
        "flown_again_s": trunk.flown_us / 1e6,
        "trunk_digest": trunk.recording.digest,
        "branches": [
            summary_of(one.run, folder) | {"changes": [change.as_dict() for change in one.changes]}
            for one, folder in flown
        ],
    }


def _print(trunk: Trunk, flown: list[tuple[Branch, Path]]) -> None:
    again = f"{trunk.flown_us / 1e6:.3f} s were flown again" if trunk.flown_us else "nothing was flown again"
    _print_table(
        f"from {trunk.at_us / 1e6:.6f} s; {again}",
        [(one.run.summary.outcome, one.run.summary.duration_s, folder) for one, folder in flown],
        [change for one, _ in flown for change in one.changes],
    )


def _print_table(title: str, rows: list[tuple[str, float, Path]], changes: list[Change]) -> None:
    console = Console(soft_wrap=True)
    table = Table("branch", "outcome", r"end \[s]", "folder", title=title, title_justify="left")
    for number, (outcome, end_s, folder) in enumerate(rows, 1):
        table.add_row(str(number), outcome, f"{end_s:.3f}", str(folder))
    console.print(table)
    for text in dict.fromkeys(str(change) for change in changes if change.key != "aircraft.seed"):
        console.print(f"changed: {text}", markup=False, highlight=False)
