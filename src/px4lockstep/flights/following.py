"""Whether a vehicle followed its setpoints in some rows of the log, or had left them and not come back.

A vehicle is off its setpoints if it is more than 2 m horizontally or 1 m vertically from the position setpoint, plus
the estimate's error; or if its velocity, as the mean of two seconds, differs by more than 1 m/s and more than half of
the setpoint's; or if its heading differs by more than 30 degrees. It has left them if it was no nearer to the setpoint
five seconds later; or if it rose by less than 0.5 m in this time when it should have risen by more than 1 m. All limits
grow by what the setpoint itself changes in these five seconds, so that a vehicle has this time to follow a step.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.flights.guided import MISS_M, MISS_UP_M, estimate_errors_m
from px4lockstep.flights.outcome import SPEED_ERROR, SPEED_ERROR_M_S
from px4lockstep.flights.requested import MEAN_US
from px4lockstep.log.angles import euler_angles
from px4lockstep.log.log import Log

STALLED_US, APPROACH_M = 5_000_000, 0.5
"""A vehicle that comes nearer to a place by less than this distance in this time is not on its way."""
APPROACH_M_S, APPROACH_RAD = 0.5, np.radians(10.0)
"""The same for the errors of velocity and heading."""
MIN_RISE_M, MAX_TURN_RAD = 1.0, np.radians(30.0)
ANOTHER_AXIS = 1e9
"""Change of a setpoint that begins or ceases to control an axis: it may be anything."""

Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Error:
    """The error of one quantity in each row, where it is too large, and where the vehicle has left its setpoint."""

    values: Numbers
    is_off: Flags
    has_left: Flags


def departure(log: Log, rows: slice, *, is_streamed: bool) -> str:
    """Return since when a vehicle had left its setpoints, and how far; empty if it had not, or came back.

    Args:
        log: The log of the flight.
        rows: The rows.
        is_streamed: Whether the setpoints are those of a client, whose velocities count only on axes without position.
    """
    if any(name not in log for name in ("pos_sp_ned", "vel_sp_ned", "yaw_sp", "q_bn")):
        return ""
    time_us: Times = log.time_us[rows].astype(np.int64)
    errors = _place(log, rows, time_us), _velocity(log, rows, time_us, is_streamed), _heading(log, rows, time_us)
    has_left = np.logical_or.reduce([each.has_left for each in errors]) & (time_us - time_us[0] >= STALLED_US)
    is_off = np.logical_or.reduce([each.is_off for each in errors]) | has_left
    back = int(np.flatnonzero(~is_off).max(initial=-1))
    left = np.flatnonzero(has_left[back + 1 :])
    if not len(left):
        return ""
    since_s, end_s = int(time_us[back + 1 + left[0]]) / 1e6, int(time_us[-1]) / 1e6
    off_m, off_m_s, off_rad = (float(each.values[-1]) for each in errors)
    return (
        f"the vehicle had not followed its setpoints since {since_s:.2f} s: at {end_s:.2f} s, it was off by "
        f"{off_m:.1f} m, {off_m_s:.1f} m/s and {np.degrees(off_rad):.0f}°"
    )


def _place(log: Log, rows: slice, time_us: Times) -> _Error:
    places, setpoints, before = log["pos_ned"][rows], log["pos_sp_ned"][rows], rows_before(time_us)
    off_m, changes_m = np.nan_to_num(places - setpoints), _changes(_steps(setpoints), time_us)
    limits_m = zip((MISS_M[1], MISS_UP_M[1]), estimate_errors_m(log, rows), strict=True)
    parts_m = np.linalg.norm(off_m[:, :2], axis=1), np.abs(off_m[:, 2])
    far = [part > limit + error + changes_m for part, (limit, error) in zip(parts_m, limits_m, strict=True)]
    distances_m, were_m = (np.linalg.norm(each, axis=1) for each in (off_m, np.nan_to_num(places[before] - setpoints)))
    is_off: Flags = far[0] | far[1]
    return _Error(distances_m, is_off, is_off & (distances_m > were_m - APPROACH_M))


def _velocity(log: Log, rows: slice, time_us: Times, is_streamed: bool) -> _Error:
    wanted, flown = log["vel_sp_ned"][rows], log["vel_ned"][rows]
    is_given = np.isfinite(wanted)
    if is_streamed:
        is_given &= ~np.isfinite(log["pos_sp_ned"][rows])
    wanted, flown = np.where(is_given, wanted, np.nan), np.where(is_given, flown, 0.0)
    changes_m_s, wanted = _changes(_steps(wanted), time_us), np.nan_to_num(wanted)
    means = means_before(wanted, time_us, MEAN_US)
    errors_m_s = np.linalg.norm(means_before(flown, time_us, MEAN_US) - means, axis=1)
    limits_m_s = np.maximum(SPEED_ERROR_M_S, SPEED_ERROR * np.linalg.norm(means, axis=1)) + changes_m_s
    is_off: Flags = errors_m_s > limits_m_s
    rises_m = [-STALLED_US / 1e6 * means_before(each[:, 2], time_us, STALLED_US) for each in (flown, wanted)]
    is_low = (rises_m[0] < APPROACH_M) & (rises_m[1] > MIN_RISE_M + STALLED_US / 1e6 * changes_m_s)
    is_nearer = errors_m_s < errors_m_s[rows_before(time_us)] - APPROACH_M_S
    return _Error(errors_m_s, is_off, (is_off & ~is_nearer) | is_low)


def _heading(log: Log, rows: slice, time_us: Times) -> _Error:
    wanted = log["yaw_sp"][rows]
    errors = means_before(
        np.nan_to_num(np.abs(_wrap(euler_angles(log["q_bn"][rows])[:, 2] - wanted))), time_us, MEAN_US
    )
    steps = _steps(wanted[:, None])
    is_off: Flags = errors > MAX_TURN_RAD + _changes(
        np.where(steps < ANOTHER_AXIS, np.abs(_wrap(steps)), steps), time_us
    )
    return _Error(errors, is_off, is_off & (errors > errors[rows_before(time_us)] - APPROACH_RAD))


def _wrap(angles: Numbers) -> Numbers:
    wrapped: Numbers = (angles + np.pi) % (2.0 * np.pi) - np.pi
    return wrapped


def _steps(setpoints: Numbers) -> Numbers:
    """Return by how much each component of the setpoints changes from row to row."""
    is_given = np.isfinite(setpoints)
    steps = np.where(is_given[1:] == is_given[:-1], np.nan_to_num(np.abs(np.diff(setpoints, axis=0))), ANOTHER_AXIS)
    return np.concatenate([np.zeros_like(setpoints[:1]), steps])


def _changes(steps: Numbers, time_us: Times) -> Numbers:
    """Return how far a setpoint moves in the time before each row, along its path."""
    sums = np.cumsum(np.linalg.norm(steps, axis=1))
    changes: Numbers = sums - sums[rows_before(time_us)]
    return changes


def rows_before(time_us: Times) -> Times:
    """Return the row `STALLED_US` before each one; the first one if there is none."""
    return np.maximum(np.searchsorted(time_us, time_us - STALLED_US, side="right") - 1, 0)


def means_before(values: Numbers, time_us: Times, during_us: int) -> Any:
    """Return the means over a time before each row, as far as there are rows."""
    sums = np.concatenate([np.zeros_like(values[:1]), np.cumsum(values, axis=0)])
    first, last = np.searchsorted(time_us, time_us - during_us), np.arange(1, len(time_us) + 1)
    counts = last - first
    return (sums[last] - sums[first]) / (counts[:, None] if values.ndim > 1 else counts)
