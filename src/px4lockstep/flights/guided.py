"""Commands from outside that a flight was to obey last, such as a takeoff or a place to fly to, and their goals.

A mission, a return, a landing and setpoint mode are requests, whether they come from a scenario or from a command; what
is left are the commands of this module. The last one counts until something else is requested.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.requests import LAND_MODE, MISSION_MODE, OFFBOARD_MODE, RETURN_MODE
from px4lockstep.environment.projection import MapProjection
from px4lockstep.errors import InputError
from px4lockstep.log.log import Log
from px4lockstep.scenario.commands import CommandRow, GoTo, Hold, Orbit, SetMode, Takeoff

GUIDED = "command"
REQUESTED_ELSEWHERE = (MISSION_MODE, RETURN_MODE, LAND_MODE, OFFBOARD_MODE)
"""Modes that count as requests of their own."""
NAMES = {Takeoff: "a takeoff", GoTo: "a place to fly to", Orbit: "an orbit", Hold: "Hold", SetMode: "a mode"}


@dataclass(frozen=True)
class Guidance:
    """The last command of a flight: its name in messages, its time, and how far from its goal the flight ended."""

    name: str
    time_s: float
    distance_m: float | None  # None: it has no goal, or the goal is not known


def guided_rows(log: Log, commands: Iterable[CommandRow]) -> npt.NDArray[np.int64]:
    """Return the rows of the log at which such commands were given."""
    times_us = [row.time_us for row in commands if _counts(log, row)]
    return np.minimum(np.searchsorted(log.time_us, np.array(times_us, np.uint64)), max(log.rows - 1, 0)).astype(
        np.int64
    )


def _counts(log: Log, row: CommandRow) -> bool:
    """Return whether a command is one that the flight was to obey; a mode selected while disarmed is none."""
    if not row.result.is_accepted or type(row.command) not in NAMES or not log.rows:
        return False
    if isinstance(row.command, Takeoff):
        return True
    if isinstance(row.command, SetMode) and row.command.nav_state in REQUESTED_ELSEWHERE:
        return False
    armed, at = log.get("armed"), min(int(np.searchsorted(log.time_us, np.uint64(row.time_us))), log.rows - 1)
    return armed is not None and bool(armed[at])


def last_guidance(log: Log, commands: Iterable[CommandRow]) -> Guidance | None:
    """Return the last of these commands, and how far from its goal the flight ended."""
    rows = [row for row in commands if _counts(log, row)]
    if not rows:
        return None
    return Guidance(NAMES[type(rows[-1].command)], rows[-1].time_us / 1e6, _distance_m(log, rows[-1].command))


def _distance_m(log: Log, command: object) -> float | None:
    """Return the distance of the end of a flight from the goal of a command [m]."""
    if not isinstance(command, GoTo | Orbit | Takeoff) or "pos_ned" not in log:
        return None
    try:
        lat_deg, lon_deg, alt_m = (float(log[name][-1]) for name in ("lat_deg", "lon_deg", "alt_msl_m"))
    except InputError:  # a log without a home
        return None
    up_m = alt_m - command.alt_amsl_m if math.isfinite(command.alt_amsl_m) else 0.0
    if isinstance(command, Takeoff) or not math.isfinite(command.lat_deg + command.lon_deg):
        return abs(up_m) if math.isfinite(command.alt_amsl_m) else None
    away_m = math.hypot(*MapProjection(lat_deg, lon_deg).to_local(command.lat_deg, command.lon_deg))
    if isinstance(command, Orbit):
        if not math.isfinite(command.radius_m):
            return None
        away_m -= abs(command.radius_m)
    return math.hypot(away_m, up_m)
