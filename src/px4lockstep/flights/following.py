"""Whether a vehicle followed its setpoints in a log, or had left them and not come back.

A vehicle is off its setpoints if it is more than 2 m horizontally or 1 m vertically from the position setpoint, plus
the estimate's error; or if its velocity, as the mean of two seconds, differs by more than 1 m/s and more than half of
the setpoint's, and it comes no nearer to the position setpoint; or if its heading differs by more than 30 degrees. It
has left them if it was no nearer to the setpoint five seconds later; or if it rose by less than 0.5 m in this time when
it should have risen by more than 1 m. All limits grow by what the setpoint itself changes in these five seconds, so
that a vehicle has this time to follow a step. In setpoint mode, velocities count only on axes without a position. A
setpoint below a vehicle on the ground, or one that sinks, counts as followed in height.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.requests import OFFBOARD_MODE
from px4lockstep.flights.guided import NEAR_M, NEAR_UP_M, estimate_errors_m
from px4lockstep.flights.outcome import SPEED_ERROR, SPEED_ERROR_M_S
from px4lockstep.flights.requested import MEAN_US
from px4lockstep.log.angles import euler_angles
from px4lockstep.log.log import Log

STALLED_US, APPROACH_M = 5_000_000, 0.5
"""A vehicle that comes nearer to a place by less than this distance in this time is not on its way."""
APPROACH_M_S, APPROACH_RAD = 0.5, np.radians(10.0)
"""The same for the errors of velocity and heading."""
MIN_RISE_M, MAX_TURN_RAD = 1.0, np.radians(30.0)

Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Error:
    """The error of one quantity in each row, where it is too large, and where the vehicle has left its setpoint."""

    values: Numbers
    is_off: Flags
    has_left: Flags


class Following:
    """How a vehicle followed its setpoints in a log; while it is not armed, this means nothing."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._time_us: Times = log.time_us.astype(np.int64)
        self._before = rows_before(self._time_us)
        self._is_known = all(name in log for name in ("pos_sp_ned", "vel_sp_ned", "yaw_sp", "q_bn"))
        # An autopilot in Python may write its status without setpoints, which then are 0.
        self._is_known = self._is_known and any(log[name].any() for name in ("pos_sp_ned", "vel_sp_ned"))

    def departure(self, first: int, end: int) -> str:
        """Return since when a vehicle had left its setpoints before a row, and how far; empty if it had not.

        What it did before the row `first` does not count.
        """
        judged = int(np.searchsorted(self._time_us, int(self._time_us[first]) + STALLED_US))
        if judged >= end or not self._is_known:
            return ""
        left, back = int(self._last_left[end - 1]), int(self._last_back[end - 1])
        if left < judged or left < back:
            return ""
        judged = max(judged, back + 1)
        since_s, end_s = (
            int(self._time_us[row]) / 1e6 for row in (judged + self._has_left[judged:end].argmax(), end - 1)
        )
        off_m, off_m_s, off_rad = (float(each.values[end - 1]) for each in self._errors)
        return (
            f"the vehicle had not followed its setpoints since {since_s:.2f} s: at {end_s:.2f} s, it was off by "
            f"{off_m:.1f} m, {off_m_s:.1f} m/s and {np.degrees(off_rad):.0f}°"
        )

    @cached_property
    def _errors(self) -> tuple[_Error, _Error, _Error]:
        return self._place(), self._velocity(), self._heading()

    @cached_property
    def _has_left(self) -> Flags:
        found: Flags = np.logical_or.reduce([each.has_left for each in self._errors])
        return found

    @cached_property
    def _last_left(self) -> Times:
        return last_rows(self._has_left)

    @cached_property
    def _last_back(self) -> Times:
        return last_rows(~(np.logical_or.reduce([each.is_off for each in self._errors]) | self._has_left))

    @property
    def _is_landed(self) -> Flags:
        """Where the vehicle is on the ground, which it can't sink into."""
        landed = self._log.get("landed")
        return np.zeros(self._log.rows, np.bool_) if landed is None else landed != 0

    def _place(self) -> _Error:
        places = self._log["pos_ned"]
        setpoints = _known(self._log["pos_sp_ned"], places)
        setpoints[:, 2] = np.where(self._is_landed, np.minimum(setpoints[:, 2], places[:, 2]), setpoints[:, 2])
        off_m, changes_m = places - setpoints, self._changes(setpoints)
        limits_m = zip((NEAR_M[1], NEAR_UP_M[1]), estimate_errors_m(self._log, slice(None)), strict=True)
        parts_m = np.linalg.norm(off_m[:, :2], axis=1), np.abs(off_m[:, 2])
        far = [part > limit + error + changes_m for part, (limit, error) in zip(parts_m, limits_m, strict=True)]
        distances_m, were_m = (np.linalg.norm(each, axis=1) for each in (off_m, places[self._before] - setpoints))
        is_off: Flags = far[0] | far[1]
        return _Error(distances_m, is_off, is_off & (distances_m > were_m - APPROACH_M))

    @property
    def _comes_nearer(self) -> Flags:
        """Whether the vehicle comes nearer to its position setpoint, at whatever velocity."""
        places, setpoints = self._log["pos_ned"], self._log["pos_sp_ned"]
        before = rows_before(self._time_us, MEAN_US)
        off_m, was_m = (np.linalg.norm(np.nan_to_num(each - setpoints), axis=1) for each in (places, places[before]))
        found: Flags = off_m < was_m - APPROACH_M
        return found

    def _velocity(self) -> _Error:
        wanted, flown, modes = self._log["vel_sp_ned"].copy(), self._log["vel_ned"], self._log.get("nav_state")
        wanted[:, 2] = np.where(self._is_landed, np.minimum(wanted[:, 2], 0.0), wanted[:, 2])
        is_given = np.isfinite(wanted)
        if modes is not None:
            is_given &= ~(np.isfinite(self._log["pos_sp_ned"]) & (modes == OFFBOARD_MODE)[:, None])
        changes_m_s = self._changes(np.where(is_given, wanted, flown))
        wanted, flown = np.where(is_given, wanted, 0.0), np.where(is_given, flown, 0.0)
        means = means_before(wanted, self._time_us, MEAN_US)
        errors_m_s = np.linalg.norm(means_before(flown, self._time_us, MEAN_US) - means, axis=1)
        limits_m_s = np.maximum(SPEED_ERROR_M_S, SPEED_ERROR * np.linalg.norm(means, axis=1)) + changes_m_s
        is_off: Flags = (errors_m_s > limits_m_s) & ~self._comes_nearer
        rises_m = [-STALLED_US / 1e6 * means_before(each[:, 2], self._time_us, STALLED_US) for each in (flown, wanted)]
        is_low = (rises_m[0] < APPROACH_M) & (rises_m[1] > MIN_RISE_M + STALLED_US / 1e6 * changes_m_s)
        is_nearer = errors_m_s < errors_m_s[self._before] - APPROACH_M_S
        return _Error(errors_m_s, is_off, (is_off & ~is_nearer) | is_low)

    def _heading(self) -> _Error:
        headings = euler_angles(self._log["q_bn"])[:, 2]
        wanted = _known(self._log["yaw_sp"], headings)
        errors = means_before(np.abs(_wrap(headings - wanted)), self._time_us, MEAN_US)
        is_off: Flags = errors > MAX_TURN_RAD + self._changes(np.unwrap(wanted)[:, None])
        return _Error(errors, is_off, is_off & (errors > errors[self._before] - APPROACH_RAD))

    def _changes(self, setpoints: Numbers) -> Numbers:
        """Return how far setpoints were apart in the time before each row; a path would add up their noise."""
        least, most, width, rows = setpoints, setpoints, 1, np.arange(len(setpoints))
        count = int((rows - self._before).max(initial=0)) + 1
        while width < count:
            earlier = np.maximum(rows - min(width, count - width), 0)
            least, most = np.minimum(least, least[earlier]), np.maximum(most, most[earlier])
            width *= 2
        changes: Numbers = np.linalg.norm(most - least, axis=1)
        return changes


def _known(setpoints: Numbers, flown: Numbers) -> Numbers:
    """Return setpoints with what the vehicle does where there is none: it is not off, and a new one is a step."""
    return np.where(np.isfinite(setpoints), setpoints, flown)


def _wrap(angles: Numbers) -> Numbers:
    wrapped: Numbers = (angles + np.pi) % (2.0 * np.pi) - np.pi
    return wrapped


def last_rows(holds: Flags) -> Times:
    """Return for each row the last one until then in which something holds; -1 if there is none."""
    found: Times = np.maximum.accumulate(np.where(holds, np.arange(len(holds)), -1))
    return found


def rows_before(time_us: Times, during_us: int = STALLED_US) -> Times:
    """Return the row some time before each one; the first one if there is none."""
    return np.maximum(np.searchsorted(time_us, time_us - during_us, side="right") - 1, 0)


def means_before(values: Numbers, time_us: Times, during_us: int) -> Any:
    """Return the means over a time before each row, as far as there are rows."""
    sums = np.concatenate([np.zeros_like(values[:1]), np.cumsum(values, axis=0)])
    first, last = np.searchsorted(time_us, time_us - during_us), np.arange(1, len(time_us) + 1)
    counts = last - first
    return (sums[last] - sums[first]) / (counts[:, None] if values.ndim > 1 else counts)
