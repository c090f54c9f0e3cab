"""The mission of the built-in autopilot: check that it starts near home, and write its items to the navigator."""

import math
from collections.abc import Sequence
from typing import Any

from px4lockstep.environment.projection import MapProjection
from px4lockstep.errors import InputError
from px4lockstep.px4.commands import Command
from px4lockstep.px4.missions import Mission, MissionItem

LOADER_RADIUS_M = 1.0
"""Acceptance radius of an item of a text file that has none, as in the real library's loader."""


ROI_MODES = {
    0.0: Command.DO_SET_ROI_NONE,
    1.0: Command.DO_SET_ROI_WPNEXT_OFFSET,
    3.0: Command.DO_SET_ROI_LOCATION,
}
"""The command that each mode of DO_SET_ROI stands for."""


def check_distance(items: Sequence[MissionItem], home: MapProjection, limit_m: float) -> None:
    """Reject a mission that starts far from home, as PX4 does: it was probably planned for a different place."""
    first = next((item for item in items if item.command.has_position), None)
    if first is None:
        return
    north_m, east_m = home.to_local(first.lat_deg, first.lon_deg)
    away_m = math.sqrt(north_m * north_m + east_m * east_m)
    if 0.0 < limit_m < away_m:
        raise InputError(
            f"the mission starts {away_m:.0f} m from home, but MIS_DIST_1WP allows only {limit_m:.0f} m. Is home "
            f"({home.lat_deg}, {home.lon_deg}) correct for this mission?"
        )


def write_mission(
    navigator: Any, mission: Mission | None, home: MapProjection, home_alt_msl_m: float, loiter_radius_m: float
) -> None:
    """Write the items into a `NAVIGATOR` record, in the local frame; the loiter radius is the default of PX4.

    Items of a plan without an acceptance radius have NAV_ACC_RAD, as in PX4.
    """
    items = mission.items if mission is not None else ()
    default_m = navigator["acceptance_m"] if mission is not None and mission.is_plan else LOADER_RADIUS_M
    navigator["count"] = len(items)
    navigator["leg"]["cruise_m_s"] = math.nan
    for record, item in zip(navigator["items"], items, strict=False):
        record["command"] = ROI_MODES[item.params[0]] if item.command is Command.DO_SET_ROI else item.command
        if item.command.has_place and not math.isnan(item.lat_deg):
            height_m = item.alt_m if item.is_relative_alt else item.alt_m - home_alt_msl_m
            record["pos_ned"] = (*home.to_local(item.lat_deg, item.lon_deg), -height_m)
        for name in ("hold_s", "speed_m_s", "jump_to", "jump_repeats"):
            record[name] = getattr(item, name)
        record["radius_m"] = item.acceptance_radius_m if item.acceptance_radius_m > 0.0 else default_m
        record["yaw"] = math.radians(item.yaw_deg)
        if record["command"] == Command.DO_SET_ROI_WPNEXT_OFFSET and math.isnan(item.yaw_deg):
            record["yaw"] = 0.0
        if item.command is Command.LOITER_TO_ALT:
            record["radius_m"] = navigator["acceptance_m"] + abs(item.acceptance_radius_m or loiter_radius_m)
