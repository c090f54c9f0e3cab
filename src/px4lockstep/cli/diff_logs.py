"""`px4lockstep diff` of flights without recordings: compare their logs at common times."""

from pathlib import Path

from rich.table import Table

from px4lockstep.cli.console import Console
from px4lockstep.cli.output import print_json
from px4lockstep.flights.log_diff import LogDiff, diff_logs

SAME, DIFFERENT = 0, 1


def diff_log_files(
    first: Path, second: Path, picture: Path | None, as_json: bool, align: str | None, offset_s: float | None
) -> int:
    """Compare two logs; return the exit code, 1 if they differ by more than rounding."""
    from px4lockstep.plots.flight import save_plot

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
    title = "the logs are equal up to the rounding of float32" if found.is_same else "the logs differ"
    table = Table("column", "unit", "RMS", "max", "at [s]", title=title, title_justify="left")
    for each in found.differences:
        if not each.is_rounding:
            table.add_row(each.name, each.unit, f"{each.rms:.4g}", f"{each.largest:.4g}", f"{each.at_s:.3f}")
    if table.rows:
        console.print(table)
    else:
        console.print(title, highlight=False)
    equal = [each.name for each in found.differences if each.is_rounding]
    lines = [("offset of RUN_B", str(found.alignment))]
    lines.append(
        ("compared", f"{found.first.rows:,} rows, {found.first.time_s[0]:.3f} to {found.first.time_s[-1]:.3f} s")
    )
    lines += [("equal up to rounding", ", ".join(equal))] if equal and not found.is_same else []
    for name, only in zip(("RUN_A", "RUN_B"), found.only_in, strict=True):
        lines += [(f"only in {name}", ", ".join(only))] if only else []
    if picture is not None:
        lines.append(("figure", str(picture)))
    for name, text in lines:
        console.print(f"{name}: {text}", markup=False, highlight=False)
