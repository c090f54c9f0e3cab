"""Complete the run folder of a process that a signal ended, as far as its log allows; done by the parent."""

import shutil
from pathlib import Path
from typing import Any

from px4lockstep.autopilots.area import Area
from px4lockstep.errors import InputError
from px4lockstep.flights.about import about_of
from px4lockstep.flights.folder import LOG_PARQUET, LOG_ROWS, SUMMARY, UORB, read_log, read_summary
from px4lockstep.flights.outcome import failed
from px4lockstep.flights.summary import summarize_log
from px4lockstep.io import atomic_write, to_json
from px4lockstep.log.log import Log
from px4lockstep.log.messages import read_messages, write_messages
from px4lockstep.log.parquet import write_parquet
from px4lockstep.processes import crash_of
from px4lockstep.spec.spec import Spec


def keep_crashed(folder: Path | None, spec: Spec, number: int) -> dict[str, Any]:
    """Write log and summary of a run that a signal ended, if it had a folder; it stays marked as incomplete.

    Return the summary for `--json`: the outcome is `failed`, with the reason, and values that only the run itself knew
    are None.
    """
    if folder is not None and (folder / SUMMARY).exists():  # the flight was over and its summary is complete
        summary = read_summary(folder)
        outcome = failed(f"{crash_of(number)}, after the flight was over")
        return summary | {"outcome": outcome.word, "reason": outcome.reason}
    log = None if folder is None else _log_in(folder)
    if folder is None:
        when = "before the flight began"
    elif log is None or not log.rows:
        when = "before the first row of the log"
    else:
        when = f"after t = {log.time_s[-1]:.6f} s, the last row of the log"
    capacities_ah = [battery.capacity_ah for battery in spec.power.batteries]
    summary = summarize_log(log, f"{crash_of(number)}, {when}", capacities_ah, _area_in(spec))
    summary["run_dir"] = None if folder is None else str(folder)
    if folder is not None:
        if log is not None and not (folder / LOG_PARQUET).exists():
            columns = spec.run.log_columns
            write_parquet(log, folder / LOG_PARQUET, None if columns == "all" else list(columns))
            write_messages(read_messages(folder / LOG_ROWS), folder / UORB)
        if (folder / LOG_PARQUET).exists():  # otherwise the unreadable rows are the only copy
            shutil.rmtree(folder / LOG_ROWS, ignore_errors=True)
        with atomic_write(folder / SUMMARY) as file:
            file.write(f"{to_json(summary, indent=2)}\n".encode())
    return summary


def _area_in(spec: Spec) -> Area | None:
    try:
        return about_of(spec, spec.mission).area
    except InputError:  # the mission file was moved or removed
        return None


def _log_in(folder: Path) -> Log | None:
    try:
        return read_log(folder)
    except InputError:  # there is no log yet
        return None
