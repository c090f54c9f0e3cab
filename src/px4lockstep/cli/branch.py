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
from px4lockstep.runs.branch import Branch, Trunk, fly_branches
from px4lockstep.runs.folder import fresh_folder, summary_of
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
    trunk = Trunk.of(run, at_s)
    root = out or fresh_folder(f"{run.name}-branch")
    flown: list[tuple[Branch, Path]] = []
    for number, one in enumerate(fly_branches(trunk, {}, settings, wanted, count), 1):
        folder = root / f"branch-{number}" if count > 1 else root
        flown.append((one, one.run.save(folder, plots=plots)))
    if as_json:
        sys.stdout.write(json.dumps(_as_dict(trunk, flown)) + "\n")
    else:
        _print(trunk, flown)
    return FLOWN if all(one.run.is_flown for one, _ in flown) else FAILED


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
    console = Console(soft_wrap=True)
    again = f"{trunk.flown_us / 1e6:.3f} s were flown again" if trunk.flown_us else "nothing was flown again"
    table = Table(
        "branch",
        "outcome",
        r"end \[s]",
        "folder",
        title=f"from {trunk.at_us / 1e6:.6f} s; {again}",
        title_justify="left",
    )
    for number, (one, folder) in enumerate(flown, 1):
        table.add_row(str(number), one.run.summary.outcome, f"{one.run.summary.duration_s:.3f}", str(folder))
    console.print(table)
    for change in dict.fromkeys(change for one, _ in flown for change in one.changes if change.key != "aircraft.seed"):
        console.print(f"changed: {change}", markup=False, highlight=False)
