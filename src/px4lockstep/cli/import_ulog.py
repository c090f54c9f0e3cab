"""`px4lockstep import`: make a run folder from a ULog file of PX4."""

from pathlib import Path

from px4lockstep.cli.output import print_json, write_err, write_out
from px4lockstep.cli.progress import working
from px4lockstep.errors import counted
from px4lockstep.flights.figure import drawn_name
from px4lockstep.flights.imported import imported_summary, save_import
from px4lockstep.log.events import mode_name
from px4lockstep.log.ulog_import import ImportedLog, import_ulog

DONE = 0


def import_file(
    file: Path, plots: bool, force: bool, as_json: bool, out: Path | None = None, rate: float | None = None
) -> int:
    """Import a ULog file; return the exit code."""
    with working(f"importing {file}", quiet=as_json):
        log = import_ulog(file, rate_hz=rate)
        folder = save_import(log, out, drawn_name(file), force=force, plots=plots)
    if as_json:
        print_json(imported_summary(log) | {"run_dir": str(folder)})
        return DONE
    _print(log, folder)
    return DONE


def _print(log: ImportedLog, folder: Path) -> None:
    report = log.report
    state = "PX4's estimate" if report.state_is_estimate else "ground truth"
    lines = [
        ("file", f"{report.file} ({report.system})"),
        ("log", f"{counted(log.rows, 'row')}, {log.time_s[-1]:.2f} s, {report.row_times}"),
        ("state", state),
        ("columns", f"{len(log.columns)} of the log, from {counted(len(set(report.sources.values())), 'topic')}"),
    ]
    if "nav_state" in log:
        modes = dict.fromkeys(mode_name(int(mode)) for mode in log["nav_state"])
        lines.append(("modes", ", ".join(modes)))
    if report.missing:
        lines.append(("missing", ", ".join(report.missing)))
    for name, text in lines:
        write_out(f"{name}: {text}\n")
    for note in report.notes:
        write_err(f"note: {note}\n")
    write_out(f"{folder}\n")
