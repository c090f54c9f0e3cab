"""Requests that failed: whether the vehicle was on its way, or at its goal, when it was told otherwise.

A request may be replaced before it is done, so only a clear failure counts. A request failed if

* a failsafe took over, or the geofence stopped it in Hold, unless a failsafe only reacted to a lack of setpoints; or
* the vehicle had left its setpoints (see `following`) and not come back; or
* the vehicle never reached the goal of a command, or left it again, and came no nearer in the last five seconds; or
* a return made no progress in ten seconds; or
* the vehicle landed away from the target of a landing, a return or a mission.

A return or a landing that ended at its target did not fail, whatever happened on the way. A vehicle that was fast when
it got its goal has more time to turn back.

A request lasts until the next one, or until the vehicle is disarmed. A vehicle on the ground has ten seconds to begin.
Whether a vehicle follows its setpoints does not show within five seconds, so requests that were replaced sooner are
judged together with those before them, and a command that is repeated is one command. The last request, if it is a
command, setpoint mode or a pilot's mode, must end on its setpoints, too.

A mission that was finished did not fail, nor did one that is requested again and then makes progress; another mission
that was uploaded in between does not count as the same. After a mission that ends in the air, also if it is the last
request, the vehicle must stay there; a failsafe may then take over. An item of a mission is not reached where the
estimate is off by more than 10 m.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.requests import DESCEND_MODE
from px4lockstep.flights.following import (
    APPROACH_M,
    APPROACH_M_S,
    STALLED_US,
    Numbers,
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
from px4lockstep.flights.missions import Missions, Places
from px4lockstep.flights.requested import LAND, LOST, MEAN_US, MISSION, REQUESTS, RETURN, SETPOINTS
from px4lockstep.flights.segments import History, Segment
from px4lockstep.flights.takeover import Takeover
from px4lockstep.log.log import Log
from px4lockstep.scenario.commands import CommandRow, Goal, Hold

STAY_US = 1_000_000
"""Time for which a vehicle must be at its goal; a storm may carry it through."""
SAME_GOAL_M = 0.5
"""Largest distance between the goals of a command and its repetition."""
TURN_S2_M = 1.0
"""Additional time in which a vehicle must come nearer to a goal, per speed at the beginning."""
GEOFENCE = 1
"""Number of the failsafe that stops a vehicle in Hold, without a change of the mode."""
STATUS = ("armed", "landed", "nav_state", "failsafe", "mission_item", "mission_finished")
MOTION = ("pos_ned", "vel_ned", "q_bn", "est_pos_ned", "pos_sp_ned", "vel_sp_ned", "yaw_sp")
"""Columns of the log that are used here."""
PRECEDENCE = (MISSION, RETURN, LAND)
"""Of these requests at one tick, the autopilot obeys the last one."""

Event = tuple[int, str]
"""A row of the log with a request, and its name."""


@dataclass(frozen=True)
class Missed:
    """A request that failed: its name, what was requested and when, why it failed, and whether it landed elsewhere."""

    name: str
    asked: str
    why: str
    is_landed_away: bool = False


def first_missed(
    log: Log,
    missions: Missions,
    commands: Sequence[CommandRow],
    requests: Mapping[str, npt.NDArray[np.int64]],
    takeover_between: Callable[[int, int], Takeover | None],
) -> Missed | None:
    """Return the first request that failed before a later one replaced it, or that did not end on its setpoints.

    Args:
        log: The log of the flight.
        missions: The missions of the flight.
        commands: The commands from outside.
        requests: The rows of the log with requests, by their name.
        takeover_between: Returns the failsafe that took over in one row or later, and before another one.
    """
    events = _events(requests)
    if not events or any(each not in log for each in ("armed", "pos_ned", "vel_ned")):
        return None
    if len(events) == 1 and events[0][1] in PRECEDENCE and not missions.need_judgement(log.rows):
        return None
    log = log.load((*STATUS, *MOTION))
    history = History(log)
    given = {row_of(log, row): row for row in guiding(log, commands)}
    in_charge = {row_of(log, row): row.result.failsafe for row in commands if row.result.failsafe}
    rows = sorted({row for row, _ in events})
    untils, judge = dict(pairwise([*rows, log.rows])), _Judge(log, history, missions, commands, takeover_between)
    for at, name in events:
        part = Segment(history, at, untils[at], name)
        is_last = at == rows[-1]
        taken = None if is_last else takeover_between(part.judged_from, part.until)
        failsafe = in_charge.get(part.until, 0)
        is_hidden = failsafe and log["failsafe"][part.until - 1] != failsafe  # there was no row in between
        if taken is None and (is_hidden or failsafe == GEOFENCE):
            taken = Takeover(failsafe, (), part.until, int(log["mission_item"][part.until - 1]))
        missed = judge.missed(part, taken, given.get(at) if name == GUIDED else None, is_last=is_last)
        if missed is not None:
            return missed
    return None


class _Judge:
    """Judges the requests of a flight, one after the other."""

    def __init__(
        self,
        log: Log,
        history: History,
        missions: Missions,
        commands: Sequence[CommandRow],
        takeover_between: Callable[[int, int], Takeover | None],
    ) -> None:
        self._log, self._history, self._missions, self._commands = log, history, missions, commands
        self._takeover_between = takeover_between
        self._since: int | None = None
        """The row from which on setpoints are judged."""
        self._interrupted: tuple[Segment, Missed] | None = None
        """A mission that a failsafe took over and that is requested again, and its failure."""
        self._repeated: tuple[Segment, CommandRow] | None = None
        """The last command, from the first time that it was given in a row."""

    def missed(self, part: Segment, taken: Takeover | None, command: CommandRow | None, is_last: bool) -> Missed | None:
        """Return the failure of the next request; None if it did not fail."""
        if self._since is None or not self._history.is_armed(self._since, part.start):
            self._since = part.start
        what = f"{REQUESTS[part.name]} was requested" if part.name in REQUESTS else f"{_name(command)} was commanded"
        found = Missed(part.name, f"{what} at {self._time(part.at)}", "")
        if part.name != GUIDED:
            self._repeated = None
        if part.name == MISSION:
            missed, is_settled = self._missed_mission(part, taken, found, is_last)
            if missed is not None or is_settled:
                self._since = self._since if taken is None else None
                return missed
        if is_last:
            why = _departure(part, self._since, command) if part.name in (SETPOINTS, GUIDED) else ""
            return replace(found, why=why) if why else None
        targets = self._targets(part)
        if targets and part.has_landed:  # whatever happened before
            self._since, why = None, part.landed_away(targets)
            return replace(found, why=why, is_landed_away=True) if why else None
        why = _why_missed(part, self._since, taken, command, self._commands)
        why = why or self._why_repeated(part, command) or (part.stall(targets) if part.name == RETURN else "")
        if why:
            return replace(found, why=why)
        if part.is_long or part.end < part.until or (part.name == GUIDED and command is None):
            self._since = None
        return None

    def _targets(self, part: Segment) -> Places:
        """Return where a return or a landing may end; none for other requests."""
        if part.name == RETURN:
            return self._missions.goals_of_return(part.at)
        north_m, east_m, _ = self._log["pos_ned"][part.at].tolist()
        return ((north_m, east_m),) if part.name == LAND else ()

    def _why_repeated(self, part: Segment, command: CommandRow | None) -> str:
        """Return why a command that was given again and again failed; empty if it did not, or was given once."""
        before, self._repeated = self._repeated, None
        if command is None or part.end <= part.start:
            return ""
        whole, first = part, command
        is_repeated = before is not None and _repeats(before[1], command)
        if before is not None and is_repeated and self._history.is_armed(before[0].at, part.at):
            whole, first = Segment(self._history, before[0].at, part.until, part.name), before[1]
        elif name_of(first) == NAMES[Hold] and first.result.goal is None:
            goal = Goal(tuple(self._log["pos_ned"][part.start].tolist()))
            first = replace(first, result=replace(first.result, goal=goal))
        self._repeated = whole, first
        if whole is part or first.result.goal is None or not whole.is_long:
            return ""
        return "" if _is_kept(whole, first, self._commands) else _stall(whole, first, self._commands)

    def _missed_mission(
        self, part: Segment, taken: Takeover | None, found: Missed, is_last: bool
    ) -> tuple[Missed | None, bool]:
        """Return the failure of a mission, if any, and whether it is settled: finished, or requested again."""
        missions = self._missions
        end = missions.end(part.at, part.until if taken is None else taken.row + 1)
        if end is not None:
            may_land = missions.landing_in(part.at) is not None
            may_land = may_land or self._takeover_between(end, max(part.end, end)) is not None
            if why := part.departure_in_air(end, may_land):
                return Missed(SETPOINTS, f"the mission was finished at {self._time(end)}", why), True
        targets = () if end is None or is_last else missions.targets(part.at, part.end)
        if why := part.landed_away(targets):
            return replace(found, why=why, is_landed_away=True), True
        if why := missions.lost(part.at, part.until):
            return replace(found, why=why), True
        if self._interrupted is not None and missions.are_same(self._interrupted[0].at, part.at):
            if end is not None or missions.reaches_item(part.at, part.until):
                self._interrupted = None
            elif not missions.is_requested_again(part.at):
                return self._interrupted[1], True
        if end is not None:
            return None, True
        if not missions.is_requested_again(part.at):
            return None, False
        if taken is not None and self._interrupted is None:
            self._interrupted = part, replace(found, why=_how(part, taken))
        return None, True

    def _time(self, row: int) -> str:
        return f"{int(self._log.time_us[row]) / 1e6:.2f} s"


def _events(requests: Mapping[str, npt.NDArray[np.int64]]) -> list[Event]:
    """Return all requests in order of time, without those that another one at the same tick replaced."""
    last = {int(row): name for name in PRECEDENCE for row in requests[name]}
    others = {(int(row), name) for name, rows in requests.items() if name not in PRECEDENCE for row in rows}
    return sorted({*last.items(), *others})


def _repeats(before: CommandRow, now: CommandRow) -> bool:
    """Return whether a command demands the same as the one before; a vehicle that holds is to stay where it is."""
    if name_of(before) != name_of(now):
        return False
    if name_of(now) == NAMES[Hold]:
        return True
    first, second = before.result.goal, now.result.goal
    if first is None or second is None:
        return False
    is_same = (first.radius_m, first.speed_m_s) == (second.radius_m, second.speed_m_s)
    return is_same and math.dist(first.pos_ned, second.pos_ned) <= SAME_GOAL_M


def _name(command: CommandRow | None) -> str:
    return PILOT if command is None else name_of(command)


def _how(part: Segment, taken: Takeover) -> str:
    when = f"at {taken.time_s:.2f} s with {taken.mode}" if taken.modes else f"before {part.until_s:.2f} s"
    return f"{taken.name} took over {when}"


def _why_missed(
    part: Segment, since: int, taken: Takeover | None, command: CommandRow | None, commands: Sequence[CommandRow]
) -> str:
    """Return why the request of a part failed; empty if it did not. Its setpoints are judged since a row."""
    if taken is not None and not (part.name == SETPOINTS and _is_end_of_stream(taken)):
        return _how(part, taken)
    left = _departure(part, since, command)
    if command is None or command.result.goal is None or not part.is_long or _is_kept(part, command, commands):
        return left
    return _stall(part, command, commands) or left


def _departure(part: Segment, since: int, command: CommandRow | None) -> str:
    """Return how the vehicle left its setpoints since a row; those of a pilot, or of Hold, are where it began."""
    if part.end <= part.start or part.name != GUIDED or (command is not None and name_of(command) != NAMES[Hold]):
        return part.departure(since) if part.end > part.start else ""
    return part.departure(part.start) or (part.stayed_down() if command is None else "")


def _is_end_of_stream(taken: Takeover) -> bool:
    """Return whether a failsafe only reacted to a lack of setpoints; without a position, the vehicle descends."""
    return taken.failsafe == LOST and all(mode != DESCEND_MODE for _, mode in taken.modes)


# -- goals of commands -----------------------------------------------------------------------------------------------


def _is_kept(part: Segment, command: CommandRow, commands: Sequence[CommandRow]) -> bool:
    """Return whether the vehicle was at a place for a second, and not away at last; or on a circle at last."""
    _, is_there, is_slow = _approach(part, command, commands)
    time_us, goal = part.time_us, command.result.goal
    stays = means_before((is_there & ~is_slow).astype(np.float64), time_us, STAY_US) == 1.0
    since_us, lately = int(time_us[0]) + STAY_US, time_us >= int(time_us[-1]) - STALLED_US
    if goal is not None and goal.radius_m:
        since_us = max(since_us, int(time_us[-1]) - STALLED_US)
    return bool(stays[time_us >= since_us].any() and is_there[lately].any())


def _approach(
    part: Segment, command: CommandRow, commands: Sequence[CommandRow]
) -> tuple[Numbers, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return the distances from a command's goal, whether it was reached, and whether its circle was flown slowly."""
    goal = command.result.goal
    assert goal is not None
    off_m, is_there = distances(part.log, command, goal, part.rows)
    speeds_m_s = means_before(np.linalg.norm(part.log["vel_ned"][part.rows, :2], axis=1), part.time_us, MEAN_US)
    return off_m, is_there, speeds_m_s < SLOW * wanted_m_s(command, goal, commands)


def _stall(part: Segment, command: CommandRow, commands: Sequence[CommandRow]) -> str:
    """Return how a vehicle stopped on the way to a goal; empty if it did not."""
    off_m, is_there, is_slow = _approach(part, command, commands)
    if off_m[-1] < off_m[rows_before(part.time_us)[-1]] - APPROACH_M:
        return ""  # on its way
    lasted_s = float(part.time_us[-1] - part.time_us[0]) / 1e6
    if lasted_s < STALLED_US / 1e6 + TURN_S2_M * math.hypot(*part.log["vel_ned"][part.start].tolist()):
        lately_m, earlier_m = (off_m[rows_before(part.time_us, us)[-1]] for us in (MEAN_US, 2 * MEAN_US))
        change_m, change_before_m = off_m[-1] - lately_m, lately_m - earlier_m
        if change_m < -APPROACH_M or change_m < change_before_m - APPROACH_M_S * MEAN_US / 1e6:
            return ""  # it was fast at the beginning, brakes and turns back
    end_s = int(part.time_us[-1]) / 1e6
    if is_there[-1] and not is_slow[-1]:
        return ""  # it arrives
    if is_there[-1]:
        speeds_m_s = np.linalg.norm(part.log["vel_ned"][part.rows, :2], axis=1)
        if speeds_m_s[-1] > speeds_m_s[rows_before(part.time_us, MEAN_US)[-1]] + APPROACH_M_S:
            return ""  # it gains speed
        return f"the vehicle had not flown its circle at {end_s:.2f} s"
    return f"the vehicle was {off_m[-1]:.1f} m from its goal at {end_s:.2f} s, and came no nearer"
