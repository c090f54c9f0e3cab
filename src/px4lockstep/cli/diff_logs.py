"""`px4lockstep diff` of flights without recordings: compare their logs at common times."""

from pathlib import Path

from rich.markup import escape
from rich.table import Table

from px4lockstep.cli.console import Console
from px4lockstep.cli.output import print_json
from px4lockstep.cli.progress import working
from px4lockstep.flights.log_diff import LogDiff, diff_logs
from px4lockstep.flights.tables import LOG_DIFF_HEADS, log_diff_columns, log_diff_rows, log_diff_title

SAME, DIFFERENT = 0, 1


def diff_log_files(
    first: Path, second: Path, picture: Path | None, as_json: bool, align: str | None, offset_s: float | None
) -> int:
    """Compare two logs; return the exit code, 1 if they differ by more than rounding."""
    from px4lockstep.plots.flight import save_plot

    with working("comparing", quiet=as_json):
        found = diff_logs(first, second, way=align, offset_s=offset_s)
        if picture is not None:
            save_plot(found.plot(), picture)
    if as_json:
        print_json(found.as_dict() | {"picture": None if picture is None else str(picture)})
    else:
        _print(found, (first, second), picture)
    return SAME if found.is_same else DIFFERENT


def _print(found: LogDiff, sources: tuple[Path, Path], picture: Path | None) -> None:
    console = Console(soft_wrap=True)
    for name, source in zip(("RUN_A", "RUN_B"), sources, strict=True):
        console.print(f"{name}: {source}", markup=False, highlight=False)
    title = log_diff_title(found)
    table = Table(*map(escape, LOG_DIFF_HEADS), title=title, title_justify="left")
    for row in log_diff_columns(found):
        table.add_row(*map(escape, row))
    if table.rows:
        console.print(table)
    else:
        console.print(title, highlight=False)
    for name, text in [*log_diff_rows(found), *([] if picture is None else [("figure", str(picture))])]:
        console.print(f"{name}: {text}", markup=False, highlight=False)
