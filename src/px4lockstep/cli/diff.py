"""`px4lockstep diff`: compare two flights."""

from pathlib import Path

from rich.markup import escape
from rich.table import Table

from px4lockstep.cli.console import Console
from px4lockstep.cli.diff_logs import diff_log_files
from px4lockstep.cli.output import print_json
from px4lockstep.cli.progress import working
from px4lockstep.flights.diff import Diff, diff
from px4lockstep.flights.latest import run_path
from px4lockstep.flights.recording.file import NAME as RECORDING
from px4lockstep.flights.tables import diff_metrics, diff_rows, diff_title
from px4lockstep.io import check_new

SAME, DIFFERENT = 0, 1
PICTURE = "diff.png"


def diff_runs(
    first: str | Path,
    second: str | Path,
    plots: bool,
    force: bool,
    as_json: bool,
    out: Path | None = None,
    align: str | None = None,
    offset_s: float | None = None,
) -> int:
    """Compare two run folders or logs; return the exit code, 1 if the flights differ."""
    from px4lockstep.plots.flight import save_plot

    first, second = run_path(first), run_path(second)
    folder = next((path for path in (second, first) if path.is_dir()), Path())
    picture = check_new(out or folder / PICTURE, force=force) if plots else None
    if align is not None or offset_s is not None or not all(map(_has_recording, (first, second))):
        return diff_log_files(first, second, picture, as_json, align, offset_s)
    with working("comparing", quiet=as_json, flies=True):
        found = diff(first, second)
        if picture is not None:
            save_plot(found.plot(), picture)
    if as_json:
        print_json(found.as_dict() | {"picture": None if picture is None else str(picture)})
    else:
        _print(found, picture)
    return SAME if found.is_same else DIFFERENT


def _has_recording(source: Path) -> bool:
    """Return whether a flight can be compared by its recording; an imported, live or killed one has none."""
    return (source / RECORDING).is_file()


def _print(found: Diff, picture: Path | None) -> None:
    console = Console(soft_wrap=True)
    names = ("RUN_A", "RUN_B")
    for name, flown in zip(names, (found.first, found.second), strict=True):  # a table would fold or cut long paths
        console.print(f"{name}: {flown.folder}", markup=False, highlight=False)
    table = Table("", *names, title=diff_title(found), title_justify="left")
    for row in diff_metrics(found):
        table.add_row(*map(escape, row))
    console.print(table)
    for digest in found.metrics["digest"]:
        console.print(f"digest {digest}", highlight=False)
    for name, text in [*diff_rows(found), *([] if picture is None else [("figure", str(picture))])]:
        console.print(f"{name}: {text}", markup=False, highlight=False)
