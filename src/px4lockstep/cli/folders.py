"""`px4lockstep plot` and `export`: plot one flight or several, export the log of a run folder."""

from datetime import UTC, datetime
from pathlib import Path

from px4lockstep.cli.output import write_err, write_out
from px4lockstep.errors import InputError
from px4lockstep.flights.exports import read_source
from px4lockstep.flights.figure import draw_folder, draw_sources, drawn_name
from px4lockstep.flights.folder import LOG_PARQUET, PLOTS, check_folder, is_incomplete, read_log
from px4lockstep.flights.imported import draw_imported
from px4lockstep.io import check_new
from px4lockstep.log.export_source import ExportOptions
from px4lockstep.log.exports import check_options, format_named
from px4lockstep.log.log import Log

OVERLAY = "overlay.png"
FIRST_YEAR, LAST_YEAR = 1970, 2999
"""Years that tools for GPS tracks handle."""


def plot_runs(sources: list[Path], force: bool, out: Path | None = None, labels: str | None = None) -> int:
    """Plot the flight of a run folder, or overlay several flights; return the exit code."""
    from px4lockstep.plots.flight import save_plot

    if len(sources) == 1 and labels is None and sources[0].is_file() and sources[0].suffix.lower() == ".ulg":
        target = check_new(out or Path(PLOTS), force=force)
        save_plot(draw_imported(read_log(sources[0]), drawn_name(sources[0])), target)
        write_out(f"{target}\n")
        return 0
    if len(sources) > 1 or sources[0].is_file():
        target = check_new(out or Path(OVERLAY), force=force)
        names = [] if labels is None else [name.strip() for name in labels.split(",")]
        save_plot(draw_sources(sources, names), target)
        write_out(f"{target}\n")
        return 0
    if labels is not None:
        raise InputError("--labels are for several flights; one flight has no labels")
    folder = sources[0]
    target = check_new(out or check_folder(folder) / PLOTS, force=force)
    log = read_log(folder)
    _warn_of_incomplete(folder, log)
    figure, problem = draw_folder(folder, log)
    if problem is not None:
        write_err(f"warning: the figure has no waypoints: {problem}\n")
    save_plot(figure, target)
    write_out(f"{target}\n")
    return 0


def export_run(
    folder: Path,
    to: str,
    force: bool,
    out: Path | None = None,
    columns: str | None = None,
    rate: float | None = None,
    start: str | None = None,
) -> int:
    """Export the flight of a run folder, or a log file; return the exit code."""
    names = None if columns is None else tuple(name.strip() for name in columns.split(","))
    options = ExportOptions(names, rate, None if start is None else utc_time(start))
    chosen = format_named(to, "--format")
    check_options(chosen, options)
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
    chosen.write(source, target, options)
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
