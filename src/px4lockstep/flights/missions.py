"""The missions of a flight: when they were requested, uploaded and finished, and where they land."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.base import Landing, Session, landing_of
from px4lockstep.autopilots.requests import MISSION_MODE, RETURN_MODE
from px4lockstep.flights.guided import row_of
from px4lockstep.flights.requested import MAX_MISS_M
from px4lockstep.log.changes import changed_rows, raised_rows
from px4lockstep.log.log import Log
from px4lockstep.px4.uploaded import uploaded_mission
from px4lockstep.scenario.commands import Arm, ClearMission, CommandRow, Item, Return, SetHome, SetMission, SetMode

PROGRESS = ("armed", "nav_state", "mission_item", "mission_finished")
"""Columns of the log that show the progress of a mission."""
PLACES = ("est_pos_ned", "pos_ned")
"""Columns of the log that show where the vehicle was by its estimate, and where it was."""

Place = tuple[float, float]
Places = tuple[Place, ...]
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
        self._armed = _armed_rows(log, commands)
        returns = [row for row in commands if _is_return(row) and row.result.goal is not None]
        self._returns = {row_of(log, row): row.result.goal.pos_ned[:2] for row in returns if row.result.goal}
        uploads = [row for row in commands if isinstance(row.command, SetMission | ClearMission)]
        uploads = [row for row in uploads if row.result.is_accepted]
        self._rows = [row_of(log, row) for row in uploads]
        self._items = [getattr(row.command, "items", ()) for row in uploads]

    @cached_property
    def ends(self) -> npt.NDArray[np.int64]:
        """The rows at which a mission was finished."""
        return raised_rows(self._log["mission_finished"]) if "mission_finished" in self._log else np.zeros(0, np.int64)

    @property
    def last_end(self) -> int:
        """The row at which the mission was finished that was requested last; -1 if it was not."""
        ends, first = self.ends, self._requests[-1] if self._requests else 0
        return int(ends[-1]) if len(ends) and ends[-1] >= first else -1

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
        items = self._items_in(first), self._items_in(second)
        return items[0] is items[1] or repr(items[0]) == repr(items[1])  # numbers may be NaN

    def reaches_item(self, at: int, until: int) -> bool:
        """Return whether an item was reached between two rows."""
        return bool(((self._reached > at) & (self._reached < until)).any())

    def is_requested_again(self, at: int) -> bool:
        """Return whether the mission requested in a row is requested again after it."""
        later = self._requests[bisect_right(self._requests, at) :]
        return any(self.are_same(row, at) for row in later)

    @cached_property
    def landing(self) -> Landing | None:
        """How the mission lands that was requested last; None if it ends in the air, or is unknown."""
        return self.landing_in(self._log.rows)

    def landing_in(self, row: int) -> Landing | None:
        """Return how the mission lands that was requested last before or in a row."""
        requests = bisect_right(self._requests, row)
        return self._landing(self._requests[requests - 1] if requests else 0)

    def targets(self, at: int, until: int) -> Places:
        """Return where the mission in a row may land, or had landed at the end; none if it does not, or is unknown."""
        landing = self._landing(at)
        if landing is None or not landing.is_return:
            return () if landing is None else (landing.place,)
        return self.goals_of_return(until - 1)

    def _landing(self, at: int) -> Landing | None:
        items, home = self._items_in(at), self._session.home
        if home is None or not self._rows:
            return self._session.landing
        if items is None:
            return self._session.first_landing
        return landing_of(uploaded_mission(items), *home) if items else None

    def goals_of_return(self, row: int) -> Places:
        """Return where a return may end that begins in a row; none if that is unknown.

        Commands have their goal. Otherwise a vehicle that was armed elsewhere has its home there, and the log does not
        show where a command moved home.
        """
        if row in self._returns:
            return (self._returns[row],)
        if self._moves_home:
            return ()
        home = self._log["pos_ned"][max(at for at in self._armed if at <= row), :2].tolist()
        return (self._goal_by_area(row), *self._session.area.rally_points, (home[0], home[1]))

    def _goal_by_area(self, row: int) -> Place:
        """Return where a return leads that begins in a row, if home is the origin."""
        known_ned = self._log["est_pos_ned" if "est_pos_ned" in self._log else "pos_ned"]
        north_m, east_m, _ = known_ned[row].tolist()
        return self._session.area.goal_of_return((north_m, east_m))

    def last_goal_of_return(self, core: npt.NDArray[Any]) -> Place:
        """Return where the last return leads, from the autopilot's record or its command if there is one."""
        session, modes = self._session, self._log.get("nav_state")
        place = session.goal_of_return(core[session.record]) if session.record else None
        if place is not None or modes is None:
            return place or (0.0, 0.0)
        rows = raised_rows(modes == RETURN_MODE)
        if not len(rows):
            return 0.0, 0.0
        began = int(rows[-1])
        return self._returns.get(began) or self._returns.get(began - 1) or self._goal_by_area(began)

    def lost(self, at: int, until: int) -> str:
        """Return which item was reached by an estimate that was wrong; empty if there is none."""
        if any(name not in self._log for name in (*PROGRESS, *PLACES)):
            return ""
        rows = self._reached
        rows = rows[(rows > at) & (rows < until)]
        rows = rows[(self._log["nav_state"][rows - 1] == MISSION_MODE) & (self._log["armed"][rows] != 0)]
        known_ned, pos_ned = (self._log[name] for name in PLACES)
        # A fault may begin when an item is reached, and then is in this row only.
        errors_m = np.minimum(*(np.hypot(*(known_ned[each] - pos_ned[each])[:, :2].T) for each in (rows - 1, rows)))
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


def _is_return(row: CommandRow) -> bool:
    command = row.command
    return isinstance(command, Return) or (isinstance(command, SetMode) and command.nav_state == RETURN_MODE)


def _armed_rows(log: Log, commands: Sequence[CommandRow]) -> list[int]:
    """Return the rows at which the vehicle was armed; the log may have no row between two flights."""
    armed, landed = log.get("armed"), log.get("landed")
    if armed is None:
        return [0]
    found = [0, *raised_rows(armed).tolist()]
    for row in commands:
        at = row_of(log, row)
        if isinstance(row.command, Arm) and row.result.is_accepted and landed is not None and landed[max(at - 1, 0)]:
            found.append(at)
    return found
