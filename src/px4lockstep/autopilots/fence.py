"""Geofence: detect that the vehicle leaves the area in which it may fly.

The vehicle must be inside all inclusion zones of the plan and outside all its exclusion zones, at most GF_MAX_HOR_DIST
from home and GF_MAX_VER_DIST above it (0: no limit). As in PX4's navigator, the position is checked every 200 ms, and
not while it is unknown. A breach acts once, when it is detected; GF_ACTION selects how. With GF_ACTION 0 there is no
fence.

A polygon contains a point if an odd number of its edges is north of it (W. R. Franklin's PNPOLY, as in PX4).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from px4lockstep.autopilots.area import Area
from px4lockstep.autopilots.builtin.vectors import has_position, norm_xy
from px4lockstep.autopilots.requests import LAND_MODE, LOITER_MODE, MANUAL_MODE, RETURN_MODE
from px4lockstep.jit import kernel, record
from px4lockstep.px4.fence import MAX_FENCE_POINTS

PERIOD_US = 200_000
"""Interval of the checks (PX4's `GEOFENCE_CHECK_INTERVAL_US`)."""
WARN, HOLD, RETURN, TERMINATE, LAND = (np.int64(i) for i in (1, 2, 3, 4, 5))
"""Values of GF_ACTION. A warning is no failsafe; the event `geofence breached` reports it."""

LIMITS = ("GF_ACTION", "GF_MAX_HOR_DIST", "GF_MAX_VER_DIST")
"""The parameters of a fence besides its zones."""

ZONE = record(
    [
        ("is_inclusion", "i8"),
        ("first count", "i8"),  # its vertices, or the center of a circle
        ("radius_m", "f8"),  # 0: polygon
    ],
    limits={"first": MAX_FENCE_POINTS - 1, "count": MAX_FENCE_POINTS},
)

FENCE = record(
    [
        ("is_on action", "i8"),
        ("radius_m height_m", "f8"),  # 0: none
        ("n_zones", "i8"),
        ("zones", ZONE, MAX_FENCE_POINTS),
        ("north_m east_m", "f8", MAX_FENCE_POINTS),
        ("checked_us is_outside", "i8"),
        ("home_ned", "f8", 3),  # the origin, unless a command moved it
    ],
    state="checked_us is_outside home_ned",
    limits={"n_zones": MAX_FENCE_POINTS},
)


@kernel
def is_in_zone(fence, zone, n, e):
    """Return whether a position is inside a zone's polygon or circle."""
    if zone.radius_m > 0.0:
        return norm_xy(n - fence.north_m[zone.first], e - fence.east_m[zone.first]) < zone.radius_m
    is_inside = False
    last = zone.first + zone.count - 1
    for i in range(zone.first, zone.first + zone.count):
        e0, e1 = fence.east_m[i], fence.east_m[last]
        if (e0 >= e) != (e1 >= e):
            n0 = fence.north_m[i]
            if n <= n0 + (e - e0) * (fence.north_m[last] - n0) / (e1 - e0):
                is_inside = not is_inside
        last = i
    return is_inside


@kernel
def is_beyond(fence, n, e, height):
    """Return whether a position violates the fence."""
    home = fence.home_ned
    if fence.radius_m > 0.0 and norm_xy(n - home[0], e - home[1]) > fence.radius_m:
        return True
    if fence.height_m > 0.0 and height + home[2] > fence.height_m:
        return True
    for i in range(fence.n_zones):
        zone = fence.zones[i]
        if is_in_zone(fence, zone, n, e) != (zone.is_inclusion != 0):
            return True
    return False


@kernel
def leaves(fence, t_us, estimate):
    """Check the fence if a check is due; return whether the vehicle has left it since the last check."""
    if t_us - fence.checked_us < PERIOD_US or not has_position(estimate):
        return False
    fence.checked_us = t_us
    was_outside = fence.is_outside != 0
    is_outside = is_beyond(fence, estimate.pos_ned[0], estimate.pos_ned[1], -estimate.pos_ned[2])
    fence.is_outside = int(is_outside)
    return is_outside and not was_outside


@kernel
def mode_of_action(action):
    """Return the mode to which GF_ACTION changes; `MANUAL_MODE` if to none."""
    if action == HOLD:
        return LOITER_MODE
    if action == RETURN:
        return RETURN_MODE
    return LAND_MODE if action == LAND else MANUAL_MODE


def write_fence(fence: Any, area: Area, p: Mapping[str, float | int]) -> None:
    """Write a `FENCE` record from the area of the flight and PX4's parameters."""
    fence["action"] = p["GF_ACTION"]
    fence["radius_m"] = p["GF_MAX_HOR_DIST"]
    fence["height_m"] = p["GF_MAX_VER_DIST"]
    fence["is_on"] = p["GF_ACTION"] != 0 and bool(area.zones or fence["radius_m"] > 0.0 or fence["height_m"] > 0.0)
    fence["n_zones"] = len(area.zones)
    first = 0
    for zone, out in zip(area.zones, fence["zones"], strict=False):
        out["is_inclusion"], out["radius_m"] = zone.is_inclusion, zone.radius_m
        out["first"], out["count"] = first, len(zone.points)
        for north_m, east_m in zone.points:
            fence["north_m"][first], fence["east_m"][first] = north_m, east_m
            first += 1
