"""The missions of a flight: when they were requested, uploaded and finished, and where they land."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.base import Landing, Session, landing_of
from px4lockstep.autopilots.requests import MISSION_MODE
from px4lockstep.flights.guided import row_of
from px4lockstep.flights.requested import MAX_MISS_M
from px4lockstep.log.changes import changed_rows, raised_rows
from px4lockstep.log.log import Log
from px4lockstep.px4.uploaded import uploaded_mission
from px4lockstep.scenario.commands import Arm, ClearMission, CommandRow, Item, SetHome, SetMission

STATUS = ("armed", "nav_state", "mission_item", "mission_finished")
PLACES = ("est_pos_ned", "pos_ned")
"""Columns of the log that show the progress of a mission."""

Places = tuple[tuple[float, float], ...]
"""Places north and east of the origin [m]."""


class Missions:
    """The missions of a flight.

    Args:
        log: The log of the flight.
        session: The session of the autopilot.
        commands: The commands from outside.
        requests: The rows of the log at which a mission was requested.
    """

    def __init__(
        self, log: Log, session: Session, commands: Sequence[CommandRow], requests: npt.NDArray[np.int64]
    ) -> None:
        self._log, self._session = log, session
        self._requests: list[int] = requests.tolist()
        self._moves_home = any(isinstance(row.command, SetHome) and row.result.is_accepted for row in commands)
        arms = [row for row in commands if isinstance(row.command, Arm) and row.result.is_accepted]
        self._armed = [row_of(log, row) for row in arms]  # the log may have no row between two flights
        uploads = [row for row in commands if isinstance(row.command, SetMission | ClearMission)]
        uploads = [row for row in uploads if row.result.is_accepted]
        self._rows = [row_of(log, row) for row in uploads]
        self._items = [getattr(row.command, "items", ()) for row in uploads]

    @cached_property
    def ends(self) -> npt.NDArray[np.int64]:
        """The rows at which a mission was finished."""
        return raised_rows(self._log["mission_finished"]) if "mission_finished" in self._log else np.zeros(0, np.int64)

    def end(self, at: int, until: int) -> int | None:
        """Return the row in which the mission requested in a row was finished before another one; None if none."""
        ends = self.ends
        ends = ends[(ends >= at) & (ends < until)]
        return int(ends[0]) if len(ends) else None

    def need_judgement(self, rows: int) -> bool:
        """Return whether one was finished in the air, or has an item that was reached by a wrong estimate."""
        landed = self._log.get("landed")
        is_in_air = len(self.ends) > 0 and (landed is None or not landed[self.ends].all())
        return is_in_air or any(self.lost(at, rows) for at in self._requests[:1])

    def are_same(self, first: int, second: int) -> bool:
        """Return whether the missions in two rows are the same."""
        return self._items_in(first) == self._items_in(second)

    def continues(self, before: int, item: int, at: int, until: int) -> bool:
        """Return whether a mission that was interrupted at an item made progress after it was requested again."""
        if not self.are_same(before, at):
            return False
        return self.end(at, until) is not None or int(self._log["mission_item"][at:until].max(initial=-1)) > item

    def is_requested_again(self, at: int) -> bool:
        """Return whether the mission requested in a row is requested again after it."""
        later = self._requests[bisect_right(self._requests, at) :]
        return any(self.are_same(row, at) for row in later)

    @property
    def landing(self) -> Landing | None:
        """How the mission lands that was requested last; None if it ends in the air, or is unknown."""
        return self._landing(self._requests[-1] if self._requests else 0)

    def targets(self, at: int, until: int) -> Places:
        """Return where the mission in a row may land, or had landed at the end; none if it does not, or is unknown."""
        landing = self._landing(at)
        if landing is None or not landing.is_return:
            return () if landing is None else (landing.place,)
        return self.goals_of_return(until - 1)

    def _landing(self, at: int) -> Landing | None:
        items = self._items_in(at)
        if self._session.home is None or not self._rows:
            return self._session.landing
        return landing_of(uploaded_mission(items), *self._session.home) if items else None  # the spec's was replaced

    def goals_of_return(self, row: int) -> Places:
        """Return where a return may end that begins in a row: a vehicle that is armed elsewhere has its home there.

        None if a command moved home, because the log does not show where it is.
        """
        if self._moves_home:
            return ()
        area, places = self._session.area, self._log["pos_ned"]
        known_ned = self._log["est_pos_ned" if "est_pos_ned" in self._log else "pos_ned"]
        north_m, east_m, _ = known_ned[row].tolist()
        armed = [0, *raised_rows(self._log["armed"]).tolist(), *self._armed]
        home = places[max(at for at in armed if at <= row), :2].tolist()
        return (area.goal_of_return((north_m, east_m)), *area.rally_points, (home[0], home[1]))

    def lost(self, at: int, until: int) -> str:
        """Return which item was reached by an estimate that was wrong; empty if there is none."""
        if any(name not in self._log for name in (*STATUS, *PLACES)):
            return ""
        rows = self._reached
        rows = rows[(rows > at) & (rows < until)]
        rows = rows[(self._log["nav_state"][rows - 1] == MISSION_MODE) & (self._log["armed"][rows] != 0)]
        known_ned, pos_ned = (self._log[name][rows] for name in PLACES)
        errors_m = np.hypot(*(known_ned - pos_ned)[:, :2].T)
        wrong = np.flatnonzero(errors_m > MAX_MISS_M)
        if not len(wrong):
            return ""
        row, error_m = int(rows[wrong[0]]), float(errors_m[wrong[0]])
        item, time_s = int(self._log["mission_item"][row - 1]), int(self._log.time_us[row]) / 1e6
        return f"item {item} was reached at {time_s:.2f} s where the estimate was off by {error_m:.1f} m"

    @cached_property
    def _reached(self) -> npt.NDArray[np.int64]:
        """The rows in which an item was reached."""
        items = self._log["mission_item"].astype(np.int64)
        rows = changed_rows(items)
        return np.union1d(rows[items[rows] > items[rows - 1]], self.ends)

    def _items_in(self, row: int) -> tuple[Item, ...] | None:
        """Return the items of the mission in a row; None if it is the spec's."""
        uploads = bisect_right(self._rows, row)
        return self._items[uploads - 1] if uploads else None
