"""The mission of the built-in autopilot: whether it belongs to this place, and its items in the navigator's record."""

import math
from collections.abc import Sequence
from typing import Any

from px4lockstep.environment.projection import MapProjection
from px4lockstep.errors import InputError
from px4lockstep.px4.missions import MissionItem

DEFAULT_RADIUS_M = 1.0
"""Of an item without an acceptance radius, as the real library's loader has it."""


def check_distance(items: Sequence[MissionItem], home: MapProjection, limit_m: float) -> None:
    """Refuse a mission that begins far from home, as PX4 does: it was made for another place."""
    first = next((item for item in items if item.command.has_position), None)
    if first is None:
        return
    north_m, east_m = home.to_local(first.lat_deg, first.lon_deg)
    away_m = math.sqrt(north_m * north_m + east_m * east_m)
    if 0.0 < limit_m < away_m:
        raise InputError(
            f"the mission begins {away_m:.0f} m from home; MIS_DIST_1WP allows {limit_m:.0f} m. Is home "
            f"({home.lat_deg}, {home.lon_deg}) the mission's?"
        )


def write_mission(navigator: Any, items: Sequence[MissionItem], home: MapProjection, home_alt_msl_m: float) -> None:
    """Write the items into a `NAVIGATOR` record, in the local frame."""
    navigator["count"] = len(items)
    navigator["leg"]["cruise_m_s"] = math.nan
    for record, item in zip(navigator["items"], items, strict=False):
        record["command"] = item.command
        if item.command.has_position:
            height_m = item.alt_m if item.is_relative_alt else item.alt_m - home_alt_msl_m
            record["pos_ned"] = (*home.to_local(item.lat_deg, item.lon_deg), -height_m)
        for name in ("hold_s", "speed_m_s", "jump_to", "jump_repeats"):
            record[name] = getattr(item, name)
        record["radius_m"] = item.acceptance_radius_m if item.acceptance_radius_m > 0.0 else DEFAULT_RADIUS_M
        record["yaw"] = math.radians(item.yaw_deg)
