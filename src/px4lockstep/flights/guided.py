"""Commands from outside that a flight was to obey last, such as a takeoff or a place to fly to, and their goals.

A mission, a return, a landing and setpoint mode are requests, whether they come from a scenario or from a command; what
is left are the commands of this module, and the pilot's modes, by whatever the vehicle entered them, if it then was in
the air or was told to climb. The last one counts until something else is requested. If nothing follows, these count,
too: a refused arming, a request that was refused in flight and after which the vehicle neither landed nor finished its
mission, and a mission, setpoint mode or a place that was accepted on the ground by a vehicle that was never armed after
it.

The goal of a command is in its result. It is reached if the flight ends there: within 2 m horizontally and 1 m
vertically, or within half of the distance that the command demands (but 1 m and 0.5 m), plus the estimate's error. Hold
allows the stopping distance of `stopping_m` in addition. On a circle, the vehicle must fly with at least half of the
speed.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.requests import (
    ACRO_MODE,
    ALTITUDE_MODE,
    FOLLOW_MODE,
    LAND_MODE,
    LOITER_MODE,
    MISSION_MODE,
    OFFBOARD_MODE,
    POSITION_MODE,
    RETURN_MODE,
    STABILIZED_MODE,
    TAKEOFF_MODE,
)
from px4lockstep.engine.given_commands import RECENT
from px4lockstep.engine.simulation import Simulation
from px4lockstep.flights.outcome import TAKEN_OFF_M
from px4lockstep.flights.requested import LAND, MEAN_US, MISSION, RETURN, SETPOINTS, stopping_m
from px4lockstep.log.events import mode_name
from px4lockstep.log.log import Log
from px4lockstep.scenario.commands import (
    Arm,
    ChangeAltitude,
    ChangeSpeed,
    ClearMission,
    CommandRow,
    FlightCommand,
    FollowTarget,
    Goal,
    GoTo,
    Hold,
    Land,
    Orbit,
    Return,
    SetCurrentItem,
    SetHome,
    SetMission,
    SetMode,
    Setpoint,
    StartMission,
    Takeoff,
)
from px4lockstep.scenario.setpoint_rows import SETPOINT
from px4lockstep.scenario.setpoints import FIELDS, SetpointWriter

GUIDED, PILOT = "command", "a pilot's mode"
PILOTED = (POSITION_MODE, ALTITUDE_MODE, STABILIZED_MODE, ACRO_MODE)
REQUESTED_ELSEWHERE = (MISSION_MODE, RETURN_MODE, LAND_MODE, OFFBOARD_MODE, *PILOTED)
"""Modes that count as requests of their own."""
NAMES = {
    Takeoff: "a takeoff",
    GoTo: "a place to fly to",
    Orbit: "an orbit",
    ChangeAltitude: "an altitude",
    Hold: "Hold",
    SetMode: "Hold",
    Arm: "arming",
    FollowTarget: "a target to follow",
}
OTHER_NAMES = {StartMission: "the mission", SetCurrentItem: "a mission item", Return: "a return", Land: "a landing"}
KINDS = (*NAMES, *OTHER_NAMES, ChangeSpeed, ClearMission, SetHome, SetMission)
"""Commands that matter here."""
MODES = {int(MISSION_MODE): MISSION, int(RETURN_MODE): RETURN, int(LAND_MODE): LAND, int(OFFBOARD_MODE): SETPOINTS}
KINDS_OF_REQUESTS = {StartMission: MISSION, SetCurrentItem: MISSION, Return: RETURN, Land: LAND}
"""Requests by the modes and the commands that make them; others are `GUIDED`."""
NEAR_M, NEAR_UP_M = (1.0, 2.0), (0.5, 1.0)
"""Smallest and largest allowed distance from a goal, horizontally and vertically."""
MAX_ERROR_M = 5.0
"""Largest error of the estimate that excuses a miss."""
FOLLOW_MISS_M = 8.0
"""Additional distance by which a vehicle may lag behind a target that moves."""
CLIMB_M_S = 0.5
"""A pilot who demands a faster climb than this wants to fly."""
SLOW = 0.5
"""Fraction of the demanded speed below which a vehicle does not fly its circle."""


@dataclass(frozen=True)
class Guidance:
    """The last command of a flight: its name in messages, its time, and why its goal was not reached, if so."""

    name: str
    time_s: float
    miss: str = ""
    is_heeded: bool = True

    @property
    def is_on_the_way(self) -> bool:
        """Whether a vehicle that moves may still reach the goal."""
        return self.is_heeded and self.name != NAMES[Hold]


def guided_rows(log: Log, commands: Sequence[CommandRow]) -> npt.NDArray[np.int64]:
    """Return the rows of the log at which such commands were given, or a pilot took over."""
    if not commands:
        return np.zeros(0, np.int64)
    given = [row_of(log, row) for row in guiding(log, commands)]
    entries = _pilot_rows(log, commands)
    if (unheeded := _unheeded(log, commands)) is not None:
        given += [row for row in (row_of(log, unheeded[0]),) if not entries or entries[-1] <= row]
    return np.array(sorted({*given, *entries}), np.int64)


def without_replaced(
    log: Log, commands: Sequence[CommandRow], requests: dict[str, npt.NDArray[np.int64]]
) -> dict[str, npt.NDArray[np.int64]]:
    """Return requests without those that a command replaced before the next row of the log."""
    if not commands:
        return requests
    rows = {name: set(each.tolist()) for name, each in requests.items()}
    counts = Counter(row for each in rows.values() for row in each)
    shared = {row for row, count in counts.items() if count > 1}
    last = {}
    for given in commands if shared else ():
        row, name = row_of(log, given), _request_of(given)
        if row in shared and name is not None and row in rows[name]:
            last[row] = name
    if shared and (unheeded := _unheeded(log, commands)) is not None:
        last[row_of(log, unheeded[0])] = GUIDED
    return {
        name: np.array([row for row in each.tolist() if last.get(row, name) == name], np.int64)
        for name, each in requests.items()
    }


def _request_of(row: CommandRow) -> str | None:
    """Return the name of the request that a command makes; None if it makes none."""
    command = row.command
    if not row.result.is_accepted:
        return None
    if isinstance(command, SetMode):
        return MODES.get(command.nav_state, GUIDED)
    return KINDS_OF_REQUESTS.get(type(command), GUIDED if type(command) in NAMES else None)


def row_of(log: Log, row: CommandRow) -> int:
    """Return the row of the log at which a command was given."""
    return min(int(np.searchsorted(log.time_us, np.uint64(row.time_us))), max(log.rows - 1, 0))


def _pilot_rows(log: Log, commands: Sequence[CommandRow]) -> list[int]:
    """Return the rows at which a vehicle entered a pilot's mode and then was in the air."""
    modes, places = log.get("nav_state"), log.get("pos_ned")
    if modes is None or places is None or not log.rows or not commands:
        return []
    down_m = places[:, 2]
    is_piloted = np.isin(modes, PILOTED)
    entries = np.flatnonzero(np.diff(is_piloted.astype(np.int64), prepend=0) > 0)
    climbs = np.zeros(log.rows, np.bool_)
    if "vel_sp_ned" in log and "armed" in log:
        climbs = is_piloted & (log["armed"] != 0) & (log["vel_sp_ned"][:, 2] < -CLIMB_M_S)
    return [at for at in entries.tolist() if down_m[at:].min() < down_m.max() - TAKEN_OFF_M or climbs[at:].any()]


def _unheeded(log: Log, commands: Sequence[CommandRow]) -> tuple[CommandRow, str] | None:
    """Return the last request and why nothing came of it: it was refused, or the vehicle was never armed after it."""
    armed = log.get("armed")
    if armed is None or not log.rows:
        return None
    last = next((row for row in reversed(commands) if _is_request(log, row, armed)), None)
    if last is None:
        return None
    at, command = row_of(log, last), last.command
    is_armed_later = bool(armed[at:].any())
    if last.result.is_accepted:
        is_left = _needs_arming(command) and not is_armed_later
        return (last, "the vehicle was never armed after it") if is_left else None
    is_left = not is_armed_later if isinstance(command, Arm) else _stays_in_air(log, at, armed)
    text = f": {last.result.text}" if last.result.text else ""
    return (last, f"it was refused{text}") if is_left else None


def _needs_arming(command: FlightCommand) -> bool:
    """Return whether a vehicle accepts a command on the ground, but can obey it only once it is armed."""
    is_setpoint_mode = isinstance(command, SetMode) and command.nav_state == OFFBOARD_MODE
    return is_setpoint_mode or isinstance(command, StartMission) or (isinstance(command, GoTo) and not command.stops)


def _is_request(log: Log, row: CommandRow, armed: npt.NDArray[np.uint8]) -> bool:
    """Return whether a command asks for something; most modes that are selected while disarmed do not."""
    command = row.command
    if isinstance(command, Arm):
        return not row.result.is_accepted
    if isinstance(command, SetMode | Hold) and not armed[row_of(log, row)]:
        return _needs_arming(command)
    return isinstance(command, (*NAMES, *OTHER_NAMES)) and not isinstance(command, FollowTarget)


def _stays_in_air(log: Log, at: int, armed: npt.NDArray[np.uint8]) -> bool:
    """Return whether a vehicle was in the air in a row and is at the end, without finishing a mission in between."""
    landed, finished = log.get("landed"), log.get("mission_finished")
    is_in_air = landed is None or not (landed[at] or landed[-1])
    is_finished = finished is not None and bool((np.diff(finished[at:].astype(np.int64)) > 0).any())
    return is_in_air and not is_finished and bool(armed[at] and armed[-1])


def guiding(log: Log, commands: Iterable[CommandRow]) -> list[CommandRow]:
    """Return the commands that the flight was to obey."""
    armed = log.get("armed")
    if armed is None or not log.rows:
        return []
    return [row for row in commands if type(row.command) in NAMES and _counts(log, row, armed)]


def _counts(log: Log, row: CommandRow, armed: npt.NDArray[np.uint8]) -> bool:
    """Return whether a command is one that the flight was to obey; a mode selected while disarmed is none."""
    at, is_accepted = row_of(log, row), row.result.is_accepted
    if isinstance(row.command, Arm):
        return not is_accepted and not armed[at:].any()
    is_elsewhere = isinstance(row.command, SetMode) and row.command.nav_state in REQUESTED_ELSEWHERE
    if is_elsewhere or isinstance(row.command, FollowTarget):
        return False
    return is_accepted and (_is_takeoff(row) or bool(armed[at]))


def _is_takeoff(row: CommandRow) -> bool:
    return isinstance(row.command, Takeoff) or getattr(row.command, "nav_state", None) == TAKEOFF_MODE


def last_guidance(log: Log, commands: Sequence[CommandRow]) -> Guidance | None:
    """Return the last of these commands, and whether the flight ended at its goal."""
    rows, entries = guiding(log, commands), _pilot_rows(log, commands)
    if (unheeded := _unheeded(log, commands)) is not None:
        row, why = unheeded
        if not entries or entries[-1] <= row_of(log, row):
            return Guidance(name_of(row), row.time_us / 1e6, why, is_heeded=False)
    if entries and (not rows or entries[-1] >= row_of(log, rows[-1])):
        return Guidance(PILOT, int(log.time_us[entries[-1]]) / 1e6)
    if not rows:
        return None
    last = rows[-1]
    goal = _goal(last, commands)
    miss = "" if goal is None or "pos_ned" not in log else _miss(log, last, goal, commands)
    if _is_follow(last) and goal is None:
        miss = "there was no target"
    return Guidance(name_of(last), last.time_us / 1e6, miss)


def _goal(row: CommandRow, commands: Iterable[CommandRow]) -> Goal | None:
    """Return the goal of a command; in follow mode, that of the last position of the target."""
    if not _is_follow(row):
        return row.result.goal
    goals = [each.result.goal for each in commands if isinstance(each.command, FollowTarget)]
    return next((goal for goal in reversed(goals) if goal is not None), None)


def _is_follow(row: CommandRow) -> bool:
    return isinstance(row.command, SetMode) and row.command.nav_state == FOLLOW_MODE


def name_of(row: CommandRow) -> str:
    """Return the name of a command in messages."""
    if _is_takeoff(row) or _is_follow(row):
        return NAMES[Takeoff if _is_takeoff(row) else FollowTarget]
    if isinstance(row.command, SetMode) and row.command.nav_state != LOITER_MODE:
        return f"mode {mode_name(row.command.nav_state)}"
    kind = Hold if isinstance(row.command, GoTo) and row.command.stops else type(row.command)
    return NAMES.get(kind) or OTHER_NAMES[kind]


def _miss(log: Log, row: CommandRow, goal: Goal, commands: Iterable[CommandRow]) -> str:
    """Return how far the flight ended from a goal; empty if it was reached."""
    at = row_of(log, row)
    off_m, is_there = distances(log, row, goal, slice(at, None))
    if not is_there[-1]:
        return f"the flight ended {off_m[-1]:.1f} m from its goal"
    least_m_s = wanted_m_s(row, goal, commands)
    since = max(at, int(np.searchsorted(log.time_us, int(log.time_us[-1]) - MEAN_US)))
    speed_m_s = float(np.linalg.norm(log["vel_ned"][since:, :2], axis=1).mean()) if "vel_ned" in log else least_m_s
    if speed_m_s >= SLOW * least_m_s:
        return ""
    return f"the vehicle flew at {speed_m_s:.1f} m/s on its circle at the end, not at {least_m_s:.1f} m/s"


def is_replaced(commands: Sequence[CommandRow]) -> bool:
    """Return whether a mission was uploaded, deleted or set back, after which it is no longer reported as finished."""
    return any(isinstance(row.command, SetMission | ClearMission | SetCurrentItem) for row in commands)


def given_setpoint(simulation: Simulation) -> npt.NDArray[Any]:
    """Return the last setpoint, a `SETPOINT` record in a length-1 array: the client's, if there is one."""
    given = simulation.given_commands
    rows = [row for row in given.since(max(0, len(given) - RECENT)) if _is_setpoint(row)] or [
        row for row in given.of((Setpoint,)) if _is_setpoint(row)
    ]
    last = rows[-1].command if rows else None
    if last is None:
        found: npt.NDArray[Any] = simulation.setpoint_given["setpoint"]
        return found
    record = np.zeros(1, SETPOINT)
    SetpointWriter(record, "the client")({name: getattr(last, name) for name in FIELDS})
    return record


def _is_setpoint(row: CommandRow) -> bool:
    return isinstance(row.command, Setpoint) and row.result.is_accepted


def distances(
    log: Log, row: CommandRow, goal: Goal, part: slice
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the distances from a goal [m] in rows of the log, and whether it was reached in each."""
    places, at = log["pos_ned"][part], part.start
    away_m = np.abs(np.linalg.norm(places[:, :2] - goal.pos_ned[:2], axis=1) - goal.radius_m)
    up_m = np.abs(places[:, 2] - goal.pos_ned[2])
    errors_m, errors_up_m = estimate_errors_m(log, part)
    stop_m = stop_up_m = 0.0
    if _is_follow(row):
        stop_m = FOLLOW_MISS_M
    elif "vel_ned" in log and name_of(row) == NAMES[Hold]:
        stop_m, stop_up_m = stopping_m(log, at), stopping_m(log, at, slice(2, 3))
    is_there = away_m <= _allowed_m(float(away_m[0]), NEAR_M) + stop_m + errors_m
    is_there &= up_m <= _allowed_m(float(up_m[0]), NEAR_UP_M) + stop_up_m + errors_up_m
    return np.hypot(away_m, up_m), is_there


def _allowed_m(demanded_m: float, limits_m: tuple[float, float]) -> float:
    return max(limits_m[0], min(limits_m[1], 0.5 * demanded_m))


def wanted_m_s(row: CommandRow, goal: Goal, commands: Iterable[CommandRow]) -> float:
    """Return the speed on a circle, which later commands may change; 0 if the goal is a place."""
    if not goal.radius_m:
        return 0.0
    speeds_m_s = [
        each.command.speed_m_s
        for each in commands
        if isinstance(each.command, ChangeSpeed) and each.time_us >= row.time_us and each.command.speed_m_s > 0.0
    ]
    return min((goal.speed_m_s, *speeds_m_s))


def estimate_errors_m(log: Log, part: slice) -> tuple[Any, Any]:
    """Return the horizontal and the vertical errors of the estimate in rows of the log [m]; 0 where unknown."""
    if "est_pos_ned" not in log:
        return 0.0, 0.0
    errors = log["est_pos_ned"][part] - log["pos_ned"][part]
    found = (np.linalg.norm(errors[:, :2], axis=1), np.abs(errors[:, 2]))
    away_m, up_m = (np.where(np.isfinite(each), np.minimum(each, MAX_ERROR_M), 0.0) for each in found)
    return away_m, up_m
