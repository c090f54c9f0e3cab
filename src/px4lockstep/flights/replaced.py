"""Requests that a later one replaced: whether the vehicle was on its way, or at its goal, when it was told otherwise.

A request may be replaced before it is done, so only a clear failure counts. A request failed if

* a failsafe took over, unless it only reacted to a lack of setpoints; or
* the vehicle had left its setpoints (see `following`) and not come back; a pilot's mode has none; or
* the vehicle never reached the goal of a command (see `guided`), and came no nearer in the last five seconds.

A request lasts until the next one, or until the vehicle is disarmed. A vehicle on the ground has ten seconds to begin.
Whether a vehicle follows its setpoints does not show within five seconds, so requests that were replaced sooner are
judged together with those before them.

A mission that was finished, or that is requested again, did not fail; another mission that was uploaded in between does
not count as the same. After a mission that ends in the air, also if it is the last request, the vehicle must follow its
setpoints; a failsafe may then take over.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.requests import OFFBOARD_MODE
from px4lockstep.flights.following import (
    APPROACH_M,
    APPROACH_M_S,
    STALLED_US,
    Following,
    Numbers,
    last_rows,
    means_before,
    rows_before,
)
from px4lockstep.flights.guided import (
    GUIDED,
    NAMES,
    PILOT,
    SLOW,
    distances,
    guiding,
    name_of,
    row_of,
    wanted_m_s,
)
from px4lockstep.flights.outcome import TAKEOFF_S
from px4lockstep.flights.requested import LOST, MEAN_US, MISSION, REQUESTS, SETPOINTS
from px4lockstep.flights.takeover import Takeover
from px4lockstep.log.changes import raised_rows
from px4lockstep.log.log import Log
from px4lockstep.scenario.commands import ClearMission, CommandRow, Hold, SetMission

GROUNDED_US = round(TAKEOFF_S * 1e6)
"""Time that a vehicle on the ground has to begin."""
CLEARED_US = 1_000_000
"""Time after a request within which a failsafe that was there before is cleared."""
STAY_US = 1_000_000
"""Time for which a vehicle must be at its goal; a storm may carry it through."""
STATUS = ("armed", "landed", "nav_state", "failsafe", "mission_finished")
MOTION = ("pos_ned", "vel_ned", "q_bn", "est_pos_ned", "pos_sp_ned", "vel_sp_ned", "yaw_sp")
"""Columns of the log that are used here."""


@dataclass(frozen=True)
class Missed:
    """A request that failed: its name, what was requested and when, and why it failed."""

    name: str
    asked: str
    why: str


def first_missed(
    log: Log,
    commands: Sequence[CommandRow],
    requests: Mapping[str, npt.NDArray[np.int64]],
    takeover_between: Callable[[int, int], Takeover | None],
) -> Missed | None:
    """Return the first request that failed before a later one replaced it, or finished mission that was not held.

    Args:
        log: The log of the flight.
        commands: The commands from outside.
        requests: The rows of the log with requests, by their name.
        takeover_between: Returns the failsafe that took over in one row or later, and before another one.
    """
    events = sorted({(int(row), name) for name, rows in requests.items() for row in rows})
    if not events or any(each not in log for each in ("armed", "pos_ned", "vel_ned")):
        return None
    rows = sorted({row for row, _ in events})
    if len(rows) == 1 and not _finishes_in_air(log):
        return None
    log = log.load((*STATUS, *MOTION))
    given = {row_of(log, row): row for row in guiding(log, commands)}
    in_charge = {row_of(log, row): row.result.failsafe for row in commands if row.result.failsafe}
    history, missions = _History(log), _Missions(log, commands, requests[MISSION])
    untils, since = dict(pairwise([*rows, log.rows])), None
    for at, name in events:
        until, is_last = untils[at], at == rows[-1]
        part = _Segment(history, at, until, name)
        since = part.start if since is None or not history.is_armed(since, part.start) else since
        taken = None if is_last else takeover_between(part.judged_from, until)
        if taken is None and until in in_charge:  # there was no row in between
            taken = Takeover(in_charge[until], (), until, 0)
        if name == MISSION:
            end = missions.end(at, until if taken is None else taken.row + 1)
            if end is not None and (why := part.departure_in_air(end)):
                return Missed(SETPOINTS, f"the mission was finished at {int(log.time_us[end]) / 1e6:.2f} s", why)
            if end is not None or missions.is_requested_again(at):
                since = since if taken is None else None
                continue
        if is_last:
            break
        command = given.get(at) if name == GUIDED else None
        if why := _why_missed(part, since, taken, command, commands):
            asked = f"{REQUESTS[name]} was requested" if name in REQUESTS else f"{_name(command)} was commanded"
            return Missed(name, f"{asked} at {int(log.time_us[at]) / 1e6:.2f} s", why)
        if part.is_long or part.end < until or (name == GUIDED and command is None):
            since = None
    return None


def _finishes_in_air(log: Log) -> bool:
    """Return whether a mission was finished in the air."""
    return "mission_finished" in log and any(_is_in_air(log, row) for row in raised_rows(log["mission_finished"]))


def _is_in_air(log: Log, row: int) -> bool:
    return "landed" not in log or not log["landed"][row]


def _name(command: CommandRow | None) -> str:
    return PILOT if command is None else name_of(command)


class _Missions:
    """The missions of a flight: when they were requested, uploaded and finished."""

    def __init__(self, log: Log, commands: Sequence[CommandRow], requests: npt.NDArray[np.int64]) -> None:
        self._requests: list[int] = requests.tolist()
        self._ends = raised_rows(log["mission_finished"]) if "mission_finished" in log else np.zeros(0, np.int64)
        uploads = [row for row in commands if isinstance(row.command, SetMission | ClearMission)]
        uploads = [row for row in uploads if row.result.is_accepted]
        self._rows = [row_of(log, row) for row in uploads]
        self._items = [getattr(row.command, "items", ()) for row in uploads]

    def end(self, at: int, until: int) -> int | None:
        """Return the row in which the mission requested in a row was finished before another one; None if none."""
        ends = self._ends[(self._ends >= at) & (self._ends < until)]
        return int(ends[0]) if len(ends) else None

    def is_requested_again(self, at: int) -> bool:
        """Return whether the mission requested in a row is requested again after it."""
        later = self._requests[bisect_right(self._requests, at) :]
        return any(self._items_in(row) == self._items_in(at) for row in later)

    def _items_in(self, row: int) -> object:
        """Return the items of the mission in a row; None if it is the spec's."""
        uploads = bisect_right(self._rows, row)
        return self._items[uploads - 1] if uploads else None


class _History:
    """When a vehicle was armed and in the air, and how it followed its setpoints."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.following = Following(log)
        self._disarmed = last_rows(log["armed"] == 0)
        self._airborne = last_rows(log["landed"] == 0) if "landed" in log else None

    def is_armed(self, first: int, last: int) -> bool:
        """Return whether the vehicle was armed in all rows from one to another."""
        return bool(self._disarmed[last] < first)

    def last_airborne(self, first: int, end: int) -> int:
        """Return the last row in the air before `end`; the last row if there is none or it is unknown."""
        last = end - 1 if self._airborne is None else int(self._airborne[end - 1])
        return last if last >= first else end - 1


class _Segment:
    """The part of a flight from a request until the next one, in rows of the log in which the vehicle was armed."""

    def __init__(self, history: _History, at: int, until: int, name: str) -> None:
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
    def end_s(self) -> float:
        """The time of the next request [s]."""
        return int(self.log.time_us[self.until]) / 1e6

    @property
    def rows(self) -> slice:
        return slice(self.start, self.end)

    @property
    def time_us(self) -> npt.NDArray[np.int64]:
        return self.log.time_us[self.rows].astype(np.int64)

    @property
    def is_long(self) -> bool:
        """Whether it lasted long enough to be judged on its own."""
        return self.end > self.start and self.is_long_since(self.start, self.end - 1)

    def is_long_since(self, first: int, last: int) -> bool:
        """Return whether the time from a row to another is long enough to judge."""
        least_us = STALLED_US if _is_in_air(self.log, first) else GROUNDED_US
        return int(self.log.time_us[last]) - int(self.log.time_us[first]) >= least_us

    def departure(self, since: int) -> str:
        """Return how the vehicle left its setpoints after a row; empty if it followed them until it was down."""
        last = self.history.last_airborne(since, self.end)
        return self.history.following.departure(since, last + 1) if self.is_long_since(since, last) else ""

    def departure_in_air(self, since: int) -> str:
        """Return how the vehicle left its setpoints after a row in which it was in the air; empty if it did not."""
        return self.departure(since) if _is_in_air(self.log, since) else ""


def _why_missed(
    part: _Segment, since: int, taken: Takeover | None, command: CommandRow | None, commands: Sequence[CommandRow]
) -> str:
    """Return why the request of a part failed; empty if it did not. Its setpoints are judged since a row."""
    has_goal = command is not None and command.result.goal is not None
    if taken is not None and not (part.name == SETPOINTS and taken.failsafe == LOST):
        when = f"at {taken.time_s:.2f} s with {taken.mode}" if taken.modes else f"before {part.end_s:.2f} s"
        return f"{taken.name} took over {when}"
    if part.end <= part.start or (part.name == GUIDED and command is None):
        return ""  # a pilot flew
    if command is not None and name_of(command) == NAMES[Hold]:
        return part.departure(part.start)  # its goal is where it was given, so it was there
    left = part.departure(since)
    if command is None or not has_goal or not part.is_long or _is_reached(part, command, commands):
        return left
    return _stall(part, command, commands) or left


# -- goals of commands -----------------------------------------------------------------------------------------------


def _is_reached(part: _Segment, command: CommandRow, commands: Sequence[CommandRow]) -> bool:
    """Return whether the vehicle was at a place, or at last on a circle, for a second."""
    _, is_there, is_slow = _approach(part, command, commands)
    time_us, goal = part.time_us, command.result.goal
    stays = means_before((is_there & ~is_slow).astype(np.float64), time_us, STAY_US) == 1.0
    since_us = int(time_us[0]) + STAY_US
    if goal is not None and goal.radius_m:
        since_us = max(since_us, int(time_us[-1]) - STALLED_US)
    return bool(stays[time_us >= since_us].any())


def _approach(
    part: _Segment, command: CommandRow, commands: Sequence[CommandRow]
) -> tuple[Numbers, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return the distances from a command's goal, whether it was reached, and whether its circle was flown slowly."""
    goal = command.result.goal
    assert goal is not None
    off_m, is_there = distances(part.log, command, goal, part.rows)
    speeds_m_s = means_before(np.linalg.norm(part.log["vel_ned"][part.rows, :2], axis=1), part.time_us, MEAN_US)
    return off_m, is_there, speeds_m_s < SLOW * wanted_m_s(command, goal, commands)


def _stall(part: _Segment, command: CommandRow, commands: Sequence[CommandRow]) -> str:
    """Return how a vehicle stopped on the way to a goal; empty if it did not."""
    off_m, is_there, _ = _approach(part, command, commands)
    if off_m[-1] < off_m[rows_before(part.time_us)[-1]] - APPROACH_M:
        return ""  # on its way
    end_s = int(part.time_us[-1]) / 1e6
    if is_there[-1]:
        speeds_m_s = np.linalg.norm(part.log["vel_ned"][part.rows, :2], axis=1)
        if speeds_m_s[-1] > speeds_m_s[rows_before(part.time_us, MEAN_US)[-1]] + APPROACH_M_S:
            return ""  # it gains speed
        return f"the vehicle had not flown its circle at {end_s:.2f} s"
    return f"the vehicle was {off_m[-1]:.1f} m from its goal at {end_s:.2f} s, and came no nearer"
