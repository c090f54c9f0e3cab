"""`px4lockstep plot` and `export`: plot one flight or several, export the log of a run folder."""

import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from px4lockstep.cli.output import write_err, write_out
from px4lockstep.cli.progress import working
from px4lockstep.errors import InputError
from px4lockstep.flights.exports import read_source
from px4lockstep.flights.figure import draw_folder, draw_sources, drawn_name
from px4lockstep.flights.folder import LOG_PARQUET, PLOTS, check_folder, is_incomplete, read_log
from px4lockstep.flights.imported import draw_imported
from px4lockstep.flights.latest import run_path
from px4lockstep.io import check_new
from px4lockstep.log.constants import constants_in
from px4lockstep.log.export_source import ExportOptions
from px4lockstep.log.exports import check_options, format_named
from px4lockstep.log.log import Log
from px4lockstep.plots.view import WHOLE, View

OVERLAY, PART = "overlay.png", "part.png"
MAX_LISTED = 120
"""Characters of the names of columns that are left out."""
FIRST_YEAR, LAST_YEAR = 1970, 2999
"""Years that tools for GPS tracks handle."""


def plot_runs(
    sources: Sequence[str | Path],
    force: bool,
    out: Path | None = None,
    labels: Sequence[str] = (),
    from_s: float | None = None,
    to_s: float | None = None,
    columns: Sequence[str] = (),
) -> int:
    """Plot the flight of a run folder, or overlay several flights; return the exit code."""
    from px4lockstep.plots.flight import save_plot

    paths, view = [run_path(source) for source in sources], View(from_s, to_s, _names(columns))
    name = PLOTS if view == WHOLE else PART  # a part must not replace the figure of the whole flight
    if len(paths) == 1 and not labels and paths[0].is_file() and paths[0].suffix.lower() == ".ulg":
        target = check_new(out or Path(name), force=force)
        with working("drawing the figure"):
            save_plot(draw_imported(read_log(paths[0]), drawn_name(paths[0]), view=view), target)
    elif len(paths) > 1 or paths[0].is_file():
        target = check_new(out or Path(OVERLAY), force=force)
        with working("drawing the figure"):
            save_plot(draw_sources(paths, _names(labels) or (), view), target)
    else:
        if labels:
            raise InputError("--labels are for several flights; one flight has no labels")
        folder = paths[0]
        target = check_new(out or check_folder(folder) / name, force=force)
        with working("drawing the figure"):
            log = read_log(folder)
            figure, problem = draw_folder(folder, log, view)
            save_plot(figure, target)
        _warn_of_incomplete(folder, log)
        if problem is not None:
            write_err(f"warning: the figure has no waypoints: {problem}\n")
    write_out(f"{target}\n")
    return 0


def _names(lists: Sequence[str]) -> tuple[str, ...] | None:
    """Return the names in comma-separated lists, or None if there are no lists."""
    return tuple(name.strip() for names in lists for name in names.split(",")) or None


def export_run(
    folder: str | Path,
    to: str,
    force: bool,
    all_columns: bool = False,
    out: Path | None = None,
    columns: Sequence[str] = (),
    rate: float | None = None,
    start: str | None = None,
) -> int:
    """Export the flight of a run folder, or a log file; return the exit code."""
    folder = run_path(folder)
    options = ExportOptions(_names(columns), rate, None if start is None else utc_time(start), all_columns)
    chosen = format_named(to, "--format")
    check_options(chosen, options)
    with working("reading the flight"):
        source, problem = read_source(folder)
    target = out or (folder if folder.is_dir() else folder.parent) / chosen.file_name
    own = folder / LOG_PARQUET if folder.is_dir() else folder
    if target.exists() and target.resolve() == own.resolve():
        raise InputError(f"{target} is the run's own log; use another name for --out")
    for file in chosen.files(target):
        check_new(file, force=force)
    if problem is not None and chosen.needs_spec:
        write_err(f"warning: exported without home, parameters and mission: {problem}\n")
    _warn_of_incomplete(folder, source.log)
    with working(f"writing {target}"):
        chosen.write(source, target, options)
    left_out = constants_in(source.log, options) if chosen.takes_columns else ()
    if left_out:
        told = textwrap.shorten(", ".join(left_out), MAX_LISTED, placeholder=" ...")
        write_err(
            f"note: {len(left_out)} columns that are constant in this flight are left out ({told}); their values are "
            f"in {chosen.constants_in.format(target)}. --all-columns keeps them\n"
        )
    write_out(f"{target}\n")
    return 0


def utc_time(text: str) -> datetime:
    """Return a time in UTC; without an offset, it is taken as UTC."""
    try:
        time = datetime.fromisoformat(text)
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InputError(f"--start {text!r} is not a time; it must be like 2026-05-01T12:00:00Z") from error
    if not FIRST_YEAR <= time.year <= LAST_YEAR:
        raise InputError(f"--start {text!r} is out of range; its year must be {FIRST_YEAR} to {LAST_YEAR}")
    return time


def _warn_of_incomplete(folder: Path, log: Log) -> None:
    if is_incomplete(folder):
        until = f"{log.time_s[-1] - log.time_s[0]:.2f} s of the flight" if log.rows else "no rows"
        write_err(f"warning: the run in {folder} is incomplete; its log has {until}\n")
