"""`px4lockstep plot` and `export`: plot one flight or several, export the log of a run folder."""

from pathlib import Path

from px4lockstep.cli.output import write_err, write_out
from px4lockstep.errors import InputError
from px4lockstep.flights.figure import draw_folder, draw_sources
from px4lockstep.flights.folder import LOG_PARQUET, PLOTS, SUMMARY, check_folder, is_incomplete, read_log, read_summary
from px4lockstep.io import check_new
from px4lockstep.log.csv import side_file, write_csv
from px4lockstep.log.log import Log
from px4lockstep.log.parquet import write_parquet

FORMATS = ("csv", "parquet")
OVERLAY = "overlay.png"


def plot_runs(sources: list[Path], force: bool, out: Path | None = None, labels: str | None = None) -> int:
    """Plot the flight of a run folder, or overlay several flights; return the exit code."""
    from px4lockstep.plots.flight import save_plot

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


def export_run(folder: Path, to: str, force: bool, out: Path | None = None, columns: str | None = None) -> int:
    """Export the log of a run folder; return the exit code."""
    if to not in FORMATS:
        raise InputError(f"unknown --format {to}; allowed: {', '.join(FORMATS)}")
    log = read_log(folder)
    target = out or folder / f"export.{to}"
    if target.exists() and target.resolve() == (folder / LOG_PARQUET).resolve():
        raise InputError(f"{target} is the run's own log; use another name for --out")
    for file in (target, side_file(target)) if to == "csv" else (target,):
        check_new(file, force=force)
    _warn_of_incomplete(folder, log)
    names = None if columns is None else [name.strip() for name in columns.split(",")]
    if to == "csv":
        digest = read_summary(folder).get("digest") if (folder / SUMMARY).exists() else None
        write_csv(log, target, names, digest=None if digest is None else str(digest))
    else:
        write_parquet(log, target, names)
    write_out(f"{target}\n")
    return 0


def _warn_of_incomplete(folder: Path, log: Log) -> None:
    if is_incomplete(folder):
        until = f"{log.time_s[-1] - log.time_s[0]:.2f} s of the flight" if log.rows else "no rows"
        write_err(f"warning: the run in {folder} is incomplete; its log has {until}\n")
