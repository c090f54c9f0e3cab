"""Imported flights: the run folder of a ULog file, which has a log and a summary but neither spec nor recording.

The summary has `outcome` = `imported`: px4lockstep did not fly it, does not know what was requested, and gives no
verdict. `imported` in the summary is the report of the import.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from px4lockstep.errors import InputError
from px4lockstep.flights.folder import (
    LOG_PARQUET,
    MARK,
    PLOTS,
    SUMMARY,
    fresh_folder,
    read_summary,
    write_text,
)
from px4lockstep.flights.headline import SEPARATOR
from px4lockstep.flights.outcome import IMPORTED
from px4lockstep.flights.recorded import SPEC
from px4lockstep.flights.summary import summary_of_log
from px4lockstep.io import to_json
from px4lockstep.log.parquet import write_parquet
from px4lockstep.log.ulog_import import ImportedLog
from px4lockstep.plots.flight import save_plot
from px4lockstep.plots.view import WHOLE, View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from px4lockstep.log.log import Log

KEY = "imported"
"""The key of the report in `summary.json`."""
FILES = (MARK, LOG_PARQUET, SUMMARY, PLOTS)
"""The files of an import; `force` overwrites these, and no others."""


def imported_summary(log: ImportedLog) -> dict[str, Any]:
    """Return the summary of an imported flight; values that are not known are None."""
    return summary_of_log(log, IMPORTED, None) | {KEY: log.report.as_dict(), "warnings": list(log.report.notes)}


def save_import(
    log: ImportedLog, folder: str | Path | None, name: str, *, force: bool = False, plots: bool = True
) -> Path:
    """Write the run folder of an imported flight, by default in `runs/`; return its path.

    Raises:
        InputError: If the folder can't be created or is not empty. With `force`, it may contain an imported flight,
            but no other files.
        OutputError: If a file can't be written.
    """
    target = fresh_folder(name) if folder is None else _checked(Path(folder), force)
    write_text(target / MARK, "This import is incomplete: it is still being written, or it was stopped.\n")
    (target / PLOTS).unlink(missing_ok=True)  # of the flight that is overwritten
    write_parquet(log, target / LOG_PARQUET)
    write_text(target / SUMMARY, to_json(imported_summary(log) | {"run_dir": str(target)}, indent=2) + "\n")
    if plots and log.rows > 1 and "pos_ned" in log:
        save_plot(draw_imported(log, name), target / PLOTS)
    (target / MARK).unlink()
    return target


def _checked(folder: Path, force: bool) -> Path:
    """Return a new or empty folder; with `force`, also one with an import."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise InputError(f"the run folder {folder} can't be created: {error.strerror}") from error
    has_import = bool(others) and import_report(folder) is not None
    foreign = [name for name in others if name not in FILES]
    if not others or (force and has_import and not foreign):
        return folder
    if has_import and foreign:
        raise InputError(
            f"{folder} contains other files than an import: {', '.join(foreign)}; move them, or use another folder"
        )
    if has_import:
        raise InputError(f"{folder} contains an imported flight; use --force to overwrite it")
    raise InputError(f"{folder} is not empty; an import needs a new or empty folder")


def import_report(folder: str | Path) -> dict[str, Any] | None:
    """Return the report in the folder of an imported flight; None if it has none."""
    path = Path(folder)
    if (path / SPEC).exists() or not (path / SUMMARY).exists():
        return None
    report = read_summary(path).get(KEY)
    return report if isinstance(report, dict) else None


def draw_imported(log: "Log", name: str, *, is_estimate: bool | None = None, view: View = WHOLE) -> "Figure":
    """Return the figure of an imported flight."""
    if is_estimate is None:
        is_estimate = isinstance(log, ImportedLog) and log.report.state_is_estimate
    state = "the state is PX4's estimate" if is_estimate else "the state is the ground truth in the log"
    return view.draw(log, f"{name}: imported", facts=f"no verdict{SEPARATOR}{state}", bands=True)
