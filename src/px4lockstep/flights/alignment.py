"""Bring the logs of two flights to common times, for flights that did not start at the same time.

The second log is shifted so that both arm at the same time; if a log does not show it, because it starts armed or has
no status, so that both take off at the same time. It is then evaluated at the rows of the first: see `log.resampling`.
Of the ULog that stock PX4 wrote in the run folder of the other flight, the exact times are known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError
from px4lockstep.flights.folder import PX4_ULOG, SUMMARY, read_summary
from px4lockstep.flights.outcome import TAKEN_OFF_M
from px4lockstep.log import resampling
from px4lockstep.log.angles import euler_angles
from px4lockstep.log.log import Log
from px4lockstep.log.schema import BY_NAME
from px4lockstep.log.ulog_import import ImportedLog

ARMING, TAKEOFF, START, GIVEN, CLOCK = "arming", "takeoff", "start", "given", "clock"
WAYS = (ARMING, TAKEOFF, START)
WORDS = {ARMING: "so that both arm at the same time", TAKEOFF: "so that both take off at the same time"}
WORDS |= {START: "so that both logs start at the same time", GIVEN: "as given", CLOCK: "by PX4's clock"}
MAX_OFFSET_S = 1e9


@dataclass(frozen=True)
class Alignment:
    """The shift of the second log: its time t is the time t + `offset_us` of the first."""

    offset_us: int
    way: str

    def __str__(self) -> str:
        return f"{self.offset_us / 1e6:+.6f} s, {WORDS[self.way]}"


def armed_at_us(log: Log) -> int | None:
    """Return when the vehicle armed: the first row in which it is armed; None if the log starts armed.

    By default, PX4 starts its log when the vehicle arms: the first row is later than arming by an unknown time.
    """
    armed = log.get("armed")
    if armed is None or not armed.any() or armed[0]:
        return None
    return int(log.time_us[int(np.argmax(armed != 0))])


def took_off_at_us(log: Log) -> int | None:
    """Return when the vehicle took off: the first row half a metre above the lowest one before it."""
    if "pos_ned" not in log or not log.rows:
        return None
    height_m = -log["pos_ned"][:, 2]
    risen = height_m - np.minimum.accumulate(height_m) > TAKEN_OFF_M
    return int(log.time_us[int(np.argmax(risen))]) if risen.any() else None


def started_at_us(log: Log) -> int | None:
    """Return when the log starts."""
    return int(log.time_us[0]) if log.rows else None


_FIND = {ARMING: armed_at_us, TAKEOFF: took_off_at_us, START: started_at_us}


def alignment_of(first: Log, second: Log, way: str | None = None, offset_s: float | None = None) -> Alignment:
    """Return the shift of the second log: given, by one of `WAYS`, or by the first of them that both logs contain.

    Raises:
        InputError: If the offset or the way is invalid, a log is empty, or one does not contain it.
    """
    if not first.rows or not second.rows:
        raise InputError("the flights can't be aligned: a log has no rows")
    if offset_s is not None:
        if not abs(offset_s) <= MAX_OFFSET_S:
            raise InputError(f"the offset must be a number of seconds up to {MAX_OFFSET_S:.0f}, not {offset_s}")
        return Alignment(round(offset_s * 1e6), GIVEN)
    if way is not None and way not in WAYS:
        raise InputError(f"unknown alignment {way!r}; allowed: {', '.join(WAYS)}")
    for each in WAYS if way is None else (way,):
        ours_us, theirs_us = _FIND[each](first), _FIND[each](second)
        if ours_us is not None and theirs_us is not None:
            return Alignment(ours_us - theirs_us, each)
    lacks = "starts armed, or never arms" if way == ARMING else "has no take-off"
    raise InputError(
        f"the flights can't be aligned by {way}: one of the logs {lacks}; use another --align, or --offset"
    )


def alignment_by_clock(folders: Sequence[Path], logs: Sequence[Log]) -> Alignment | None:
    """Return the shift of the second log if one is `px4.ulg` in the run folder of the other; None otherwise."""
    for i, sign in ((1, 1), (0, -1)):
        log, run, file = logs[i], folders[1 - i], folders[i]
        if isinstance(log, ImportedLog) and file.name == PX4_ULOG and file.resolve().parent == run.resolve():
            clock_us = read_summary(run).get("px4_clock_us") if (run / SUMMARY).exists() else None
            if isinstance(clock_us, int):
                return Alignment(sign * (log.report.start_us - clock_us), CLOCK)
    return None


def shifted(log: Log, alignment: Alignment) -> Log:
    """Return a log with shifted times, for a figure; they may be negative."""
    time_us = log.time_us.astype(np.int64) + alignment.offset_us
    arrays: dict[str, Any] = {name: log[name] for name in log.names if name != "euler_bn"}
    return Log(arrays | {"time_us": time_us, "time_s": time_us / 1e6})


def common_rows(first: Log, second: Log, alignment: Alignment) -> tuple[Log, Log]:
    """Return both logs at the rows of the first that both cover, with the columns that both have.

    Raises:
        InputError: If there are no such rows.
    """
    ours_us = first.time_us.astype(np.int64)
    theirs_us = second.time_us.astype(np.int64) + alignment.offset_us
    is_common = (ours_us >= theirs_us[0]) & (ours_us <= theirs_us[-1])
    if not is_common.any():
        raise InputError(f"the flights have no time in common with an offset of {alignment}; use --offset")
    at_us = ours_us[is_common]
    ours: dict[str, Any] = {"time_us": at_us.astype(np.uint64)}
    theirs: dict[str, Any] = {"time_us": at_us.astype(np.uint64)}
    for name in second.names:
        if name in ("time_us", "time_s", "euler_bn") or name not in first:
            continue
        column = first[name][is_common]
        other = _at(second[name], name, theirs_us, at_us)
        width = min(column.shape[1:] or (1,))
        if other.shape[1:] != column.shape[1:]:  # a different number of motors or batteries
            width = min(width, other.shape[1])
            column, other = column[:, :width], other[:, :width]
        ours[name], theirs[name] = column, other
    for each in (ours, theirs):
        if "q_bn" in each:
            each["euler_bn"] = lambda q=each["q_bn"]: euler_angles(q)
    return Log(ours), Log(theirs)


def _at(values: npt.NDArray[Any], name: str, time_us: npt.NDArray[Any], at_us: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a column at other times; commands, setpoints and whole numbers are held."""
    column = BY_NAME[name]
    is_held = values.dtype.kind != "f" or column.needs == "autopilot" or column.source.startswith("inputs.")
    if is_held:
        return resampling.held(time_us, values, at_us)
    if column.shape == "quaternion":
        return resampling.interpolated_attitude(time_us, values, at_us)
    return resampling.interpolated(time_us, values, at_us)
