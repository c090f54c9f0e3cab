"""What was requested of a flight, and when, from its log; and how the end of its setpoint mode was followed."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.requests import OFFBOARD_MODE
from px4lockstep.flights.outcome import HELD_S
from px4lockstep.log.changes import raised_rows
from px4lockstep.log.log import Log
from px4lockstep.scenario.setpoint_rows import TRAJECTORY

MISSION, RETURN, LAND, SETPOINTS = "mission", "return", "land", "setpoints"
REQUESTS = {MISSION: "the mission", RETURN: "a return", LAND: "a landing", SETPOINTS: "setpoint mode"}
"""Requests with their names in messages; all but setpoint mode have a log column."""
MISS_M, MAX_MISS_M = 5.0, 10.0
"""Allowed distance of a landing from its target, without and with the largest error of the estimate that excuses it."""
LOST = 6
"""Number of the failsafe after a loss of setpoints."""
MEAN_US = 2_000_000
"""Time at the end over which the velocity is averaged, because gusts disturb it."""
REACTION_S = 1.0
BRAKE_M_S2 = 2.0


def stopping_m(log: Log, row: int, axes: slice = slice(2)) -> float:
    """Return the distance within which a vehicle stops from its speed in a row [m]; by default, horizontally."""
    speed_m_s = math.hypot(*log["vel_ned"][row][axes])
    return REACTION_S * speed_m_s + speed_m_s * speed_m_s / (2.0 * BRAKE_M_S2)


def estimate_error_m(log: Log, row: int) -> float:
    """Return the horizontal error of the estimate in a row [m]; 0 if it is unknown."""
    if "est_pos_ned" not in log or not log.rows:
        return 0.0
    error_m = math.dist(log["est_pos_ned"][row][:2].tolist(), log["pos_ned"][row][:2].tolist())
    return error_m if math.isfinite(error_m) else 0.0


def allowed_miss_m(log: Log, row: int) -> float:
    """Return the allowed distance of a vehicle on the ground in a row from its target [m]."""
    return min(MISS_M + estimate_error_m(log, row), MAX_MISS_M)


def entries_of(log: Log) -> npt.NDArray[np.int64]:
    """Return the rows at which setpoint mode began on request, not because lost setpoints arrived again."""
    modes, failsafes = log.get("nav_state"), log.get("failsafe")
    if modes is None or not log.rows:
        return np.zeros(0, np.int64)
    rows = raised_rows(modes == OFFBOARD_MODE)
    if failsafes is not None and len(rows):
        rows = rows[failsafes[np.maximum(rows - 1, 0)] != LOST]
    return rows


def requests_of(log: Log) -> dict[str, npt.NDArray[np.int64]]:
    """Return the rows at which mission, return, landing and setpoint mode were requested."""
    found = {name: raised_rows(log[f"request_{name}"]) for name in REQUESTS if name != SETPOINTS}
    return found | {SETPOINTS: entries_of(log)}


def is_last(name: str, requests: dict[str, npt.NDArray[np.int64]]) -> bool:
    """Return whether a request was made and no other after it."""
    last = {name: int(rows[-1]) for name, rows in requests.items() if len(rows)}
    return name in last and last[name] >= max(last.values())


@dataclass(frozen=True)
class OrderedDown:
    """A return or landing that the scenario requested: its name in messages, its time, and its row of the log."""

    name: str
    time_s: float
    row: int


@dataclass(frozen=True)
class Target:
    """Where the flight should end: north and east [m], its name in messages, and the allowed distance."""

    place: tuple[float, float]
    name: str
    allowed_m: float


def demands_height(setpoint: npt.NDArray[Any], limit_m: float) -> bool:
    """Return whether a `SETPOINT` record demands a position above a limit, or a climb without a position."""
    down_m, others = float(setpoint["pos_ned"][0, 2]), (setpoint["vel_ned"][0, 2], setpoint["acc_ned"][0, 2])
    if int(setpoint["kind"][0]) != TRAJECTORY:
        return False
    return down_m < limit_m if math.isfinite(down_m) else any(other < 0.0 for other in others)


@dataclass(frozen=True)
class LastSetpoints:
    """How the setpoints of the last `HELD_S` of setpoint mode were followed; None for what they do not control."""

    end_s: float  # when the mode ended
    held_s: float  # time that is judged
    wants_takeoff: bool  # of a vehicle that was disarmed in the mode
    is_constant: bool
    distance_m: float | None  # from the path of the position setpoints
    speed_m_s: float | None  # that the last velocity setpoint demands
    speed_error_m_s: float | None


def last_setpoints_of(log: Log, given: npt.NDArray[Any]) -> LastSetpoints | None:
    """Return how the last setpoints were followed; None if setpoint mode was never entered.

    `given` is the `SETPOINT` record at the end of the run. The path connects all position setpoints of this time, so a
    vehicle that lags behind a moving setpoint, or is on its way to the next one, is on it. Velocities count if they are
    constant for `HELD_S`, places also if they are constant since the mode began. A setpoint below a vehicle on the
    ground counts as reached in height.
    """
    modes = log.get("nav_state")
    if modes is None or not (modes == OFFBOARD_MODE).any():
        return None
    is_on = modes == OFFBOARD_MODE
    last = int(np.flatnonzero(is_on)[-1])
    entered = int(np.flatnonzero(~is_on[: last + 1]).max(initial=-1)) + 1
    end_s, place = int(log.time_us[last]) / 1e6, log["pos_ned"][last]
    wants_takeoff = last + 1 < log.rows and demands_height(given, place[2] - MISS_M)
    since = int(np.searchsorted(log.time_us, int(log.time_us[last]) - round(HELD_S * 1e6), side="right")) - 1
    first = max(since, entered)
    held_s = end_s - int(log.time_us[first]) / 1e6
    none = LastSetpoints(end_s, held_s, wants_takeoff, False, None, None, None)
    if "pos_sp_ned" not in log or "vel_sp_ned" not in log:
        return none
    places, speeds = log["pos_sp_ned"][first : last + 1].copy(), log["vel_sp_ned"][first : last + 1].copy()
    both = np.hstack([places, speeds])
    is_constant = bool(((both == both[-1]) | (np.isnan(both) & np.isnan(both[-1]))).all())
    is_landed = "landed" in log and bool(log["landed"][last])
    if is_landed:
        places[:, 2], speeds[:, 2] = np.minimum(places[:, 2], place[2]), np.minimum(speeds[:, 2], 0.0)
    axes = np.isfinite(places).all(axis=0)
    is_given = axes.any() and bool((np.isfinite(places) == axes).all())
    distance_m = distance_to_path(place[axes], places[:, axes]) if is_given else None
    driven = np.isfinite(speeds[-1]) & ~np.isfinite(places[-1])
    if since < entered and not is_constant:
        return none
    if since < entered or not is_constant or not driven.any():
        return replace(none, is_constant=is_constant, distance_m=distance_m)
    wanted, mean_from = speeds[-1][driven], int(np.searchsorted(log.time_us, int(log.time_us[last]) - MEAN_US))
    error = log["vel_ned"][mean_from : last + 1].mean(axis=0)[driven] - wanted
    return LastSetpoints(end_s, held_s, wants_takeoff, True, distance_m, math.hypot(*wanted), math.hypot(*error))


def distance_to_path(place: npt.NDArray[np.float64], path: npt.NDArray[np.float64]) -> float:
    """Return the distance of a place from the line through all points of a path."""
    starts, along = path[:-1], np.diff(path, axis=0)
    lengths = np.maximum((along * along).sum(axis=1), np.finfo(np.float64).tiny)
    part = (((place - starts) * along).sum(axis=1) / lengths).clip(0.0, 1.0)
    nearest = np.vstack([starts + part[:, None] * along, path[-1:]])
    return float(np.linalg.norm(nearest - place, axis=1).min())
