"""`px4lockstep diff`: compare two flights."""

from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from px4lockstep.cli.console import Console
from px4lockstep.cli.diff_logs import diff_log_files
from px4lockstep.cli.output import print_json
from px4lockstep.flights.diff import Diff, diff
from px4lockstep.flights.imported import import_report
from px4lockstep.io import check_new

SAME, DIFFERENT = 0, 1
PICTURE = "diff.png"


def diff_runs(
    first: Path,
    second: Path,
    plots: bool,
    force: bool,
    as_json: bool,
    out: Path | None = None,
    align: str | None = None,
    offset_s: float | None = None,
) -> int:
    """Compare two run folders or logs; return the exit code, 1 if the flights differ."""
    from px4lockstep.plots.flight import save_plot

    folder = next((path for path in (second, first) if path.is_dir()), Path())
    picture = check_new(out or folder / PICTURE, force=force) if plots else None
    if align is not None or offset_s is not None or not all(map(_has_recording, (first, second))):
        return diff_log_files(first, second, picture, as_json, align, offset_s)
    found = diff(first, second)
    if picture is not None:
        save_plot(found.plot(), picture)
    if as_json:
        print_json(found.as_dict() | {"picture": None if picture is None else str(picture)})
    else:
        _print(found, picture)
    return SAME if found.is_same else DIFFERENT


def _has_recording(source: Path) -> bool:
    """Return whether a flight is to be compared by its recording: a run folder that is not an imported flight."""
    return not source.is_file() and (not source.is_dir() or import_report(source) is None)


def _print(found: Diff, picture: Path | None) -> None:
    console = Console(soft_wrap=True)
    title = "the flights are bit-identical" if found.is_same else "the flights differ"
    names = ("RUN_A", "RUN_B")
    for name, flown in zip(names, (found.first, found.second), strict=True):  # a table would fold or cut long paths
        console.print(f"{name}: {flown.folder}", markup=False, highlight=False)
    table = Table("", *names, title=title, title_justify="left")
    for name, pair in found.metrics.items():
        if name != "digest":
            table.add_row(name, *(escape(_show(value)) for value in pair))
    console.print(table)
    for digest in found.metrics["digest"]:
        console.print(f"digest {digest}", highlight=False)
    lines = [("changed", str(change)) for change in found.changes] or [("changed", "nothing in specs and missions")]
    if found.first_difference is not None:
        lines.append(("first difference", str(found.first_difference)))
    if found.first_live_difference is not None:
        lines.append(("first difference of estimate or setpoints", str(found.first_live_difference)))
    if found.largest_distance_m:
        lines.append(("max position difference", f"{found.largest_distance_m:.3g} m"))
    if picture is not None:
        lines.append(("figure", str(picture)))
    for name, text in lines:
        console.print(f"{name}: {text}", markup=False, highlight=False)


def _show(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(_show(item) for item in value)
    return str(value)
