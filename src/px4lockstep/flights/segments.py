"""The parts of a flight from one request to the next."""

import math

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.requests import OFFBOARD_MODE
from px4lockstep.flights.following import APPROACH_M, STALLED_US, Following, last_rows, rows_before
from px4lockstep.flights.guided import CLIMB_M_S
from px4lockstep.flights.missions import Places
from px4lockstep.flights.outcome import TAKEN_OFF_M, TAKEOFF_S
from px4lockstep.flights.requested import LAND, MISSION, RETURN, SETPOINTS, allowed_miss_m, stopping_m
from px4lockstep.log.log import Log

GROUNDED_US = round(TAKEOFF_S * 1e6)
"""Time that an armed vehicle on the ground has to begin."""
CLEARED_US = 1_000_000
"""Time after a request within which a failsafe that was there before is cleared."""
RETURN_US = 10_000_000
"""A return that makes no progress in this time is stuck."""
LANDS = (LAND, RETURN, MISSION)
"""Requests that may end on the ground."""


class History:
    """When a vehicle was armed and in the air, and how it followed its setpoints."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.following = Following(log)
        self._disarmed = last_rows(log["armed"] == 0)
        self._airborne = last_rows(log["landed"] == 0) if "landed" in log else None

    def is_armed(self, first: int, last: int) -> bool:
        """Return whether the vehicle was armed in all rows from one to another."""
        return bool(self._disarmed[last] < first)

    def is_in_air(self, row: int) -> bool:
        """Return whether the vehicle was in the air in a row, as far as that is known."""
        return self._airborne is None or bool(self._airborne[row] == row)

    def last_airborne(self, first: int, end: int) -> int:
        """Return the last row in the air before `end`; the last row if there is none or it is unknown."""
        last = end - 1 if self._airborne is None else int(self._airborne[end - 1])
        return last if last >= first else end - 1


class Segment:
    """The part of a flight from a request until the next one, in rows of the log in which the vehicle was armed."""

    def __init__(self, history: History, at: int, until: int, name: str) -> None:
        log = history.log
        armed = log["armed"]
        self.history, self.log, self.at, self.until, self.name = history, log, at, until, name
        self.start = at + int(armed[at:until].argmax())
        self.end = self.start + int(np.append(armed[self.start : until], 0).argmin())
        if name == SETPOINTS and "nav_state" in log:
            is_on = log["nav_state"][self.start : self.end] == OFFBOARD_MODE
            self.end = self.start + int(np.append(is_on, False).argmin())

    @property
    def judged_from(self) -> int:
        """The row from which on a change of the mode is not the request's own; stock PX4 clears a failsafe late."""
        failsafes, time_us = self.log.get("failsafe"), self.log.time_us
        if failsafes is None or not failsafes[self.at]:
            return self.at
        return int(np.searchsorted(time_us, int(time_us[self.at]) + CLEARED_US))

    @property
    def until_s(self) -> float:
        """The time of the next request, or the end of the flight [s]."""
        return int(self.log.time_us[min(self.until, self.log.rows - 1)]) / 1e6

    @property
    def start_s(self) -> float:
        """The time of the first row [s]."""
        return int(self.log.time_us[self.start]) / 1e6

    @property
    def end_s(self) -> float:
        """The time of the last row [s]."""
        return int(self.log.time_us[self.end - 1]) / 1e6

    @property
    def rows(self) -> slice:
        """Its rows."""
        return slice(self.start, self.end)

    @property
    def time_us(self) -> npt.NDArray[np.int64]:
        """The times of its rows."""
        return self.log.time_us[self.rows].astype(np.int64)

    @property
    def is_disarmed(self) -> bool:
        """Whether it ends because the vehicle was disarmed."""
        return self.start < self.end < self.until and not self.log["armed"][self.end]

    @property
    def is_long(self) -> bool:
        """Whether it lasted long enough to be judged on its own."""
        return self.end > self.start and self.is_long_since(self.start, self.end - 1)

    def is_long_since(self, first: int, last: int) -> bool:
        """Return whether the time from a row to another is long enough to judge."""
        is_soon = self.history.is_in_air(first) or self.is_disarmed
        least_us = STALLED_US if is_soon else GROUNDED_US
        return int(self.log.time_us[last]) - int(self.log.time_us[first]) >= least_us

    def departure(self, since: int) -> str:
        """Return how the vehicle left its setpoints after a row; empty if it followed them until it was down."""
        last = self.history.last_airborne(since, self.end) if self.name in LANDS else self.end - 1
        return self.history.following.departure(since, last + 1) if self.is_long_since(since, last) else ""

    def departure_in_air(self, since: int, may_land: bool) -> str:
        """Return how a vehicle that was in the air in a row did not stay there; empty if it did."""
        if self.end <= since or not self.history.is_in_air(since):
            return ""
        sank_m = float(self.log["pos_ned"][self.end - 1, 2] - self.log["pos_ned"][since, 2])
        if not may_land and sank_m > TAKEN_OFF_M and not self.history.is_in_air(self.end - 1):
            return f"the vehicle was on the ground at {self.end_s:.2f} s, {sank_m:.1f} m lower"
        return self.departure(since)

    def stayed_down(self) -> str:
        """Return that the vehicle never left the ground although it was told to climb; empty if it did, or was not."""
        if "vel_sp_ned" not in self.log or "landed" not in self.log or not self.is_long:
            return ""
        is_told = bool((self.log["vel_sp_ned"][self.rows, 2] < -CLIMB_M_S).any())
        is_down = bool(self.log["landed"][self.rows].all())
        return f"the vehicle had not left the ground at {self.end_s:.2f} s" if is_told and is_down else ""

    @property
    def has_landed(self) -> bool:
        """Whether the vehicle was on the ground at the end, after it was in the air, or after it had time to rise."""
        last = self.end - 1
        if last < self.start or self.history.is_in_air(last):
            return False
        return self.is_long or self.history.last_airborne(self.start, self.end) < last

    def landed_away(self, places: Places) -> str:
        """Return how far from all places the vehicle had come down at the end; empty if it had not, or was near one."""
        if not places or not self.has_landed:
            return ""
        last = self.end - 1
        allowed_m = allowed_miss_m(self.log, last)
        if self.name == LAND:
            allowed_m += stopping_m(self.log, self.at)
        distance_m = self._distance_m(places, last)
        away = f"the vehicle landed {distance_m:.1f} m from its target; {allowed_m:.1f} m is allowed"
        return away if distance_m > allowed_m else ""

    def stall(self, places: Places) -> str:
        """Return how far from all places the vehicle stood still at the end; empty if it did not, or was near one."""
        last = self.end - 1
        if (
            not places
            or last < self.start
            or not self.history.is_in_air(last)
            or self.end_s - self.start_s < RETURN_US / 1e6
        ):
            return ""
        before = self.start + int(rows_before(self.time_us, RETURN_US)[-1])
        distance_m, was_m = self._distance_m(places, last), self._distance_m(places, before)
        downs_m = self.log["pos_ned"][[before, last], 2].tolist()
        is_near = distance_m <= allowed_miss_m(self.log, last)
        if is_near or distance_m < was_m - APPROACH_M or abs(downs_m[1] - downs_m[0]) >= APPROACH_M:
            return ""
        return f"the vehicle was {distance_m:.1f} m from its goal at {self.end_s:.2f} s, and came no nearer"

    def _distance_m(self, places: Places, row: int) -> float:
        """Return the distance from the nearest of some places in a row [m]."""
        own = self.log["pos_ned"][row, :2].tolist()
        return min(math.dist(own, place) for place in places)
