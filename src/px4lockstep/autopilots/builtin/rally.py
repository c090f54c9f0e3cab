"""Rally points: where a return lands.

When a return begins, RTL_TYPE selects its goal from home and the rally points, as PX4 does for a multicopter:

* 0: home, or the closest rally point if it is at least 2 m closer. Rally points within 10 m of home do not count;
* 5: the closest rally point; without any, the current position.

The altitude of a rally point is that of the ground there, so that the heights of the return are above it.

Reference: `RTL::findRtlDestination` in PX4's navigator.
"""

import math
from collections.abc import Sequence
from typing import Any

from px4lockstep.autopilots.builtin.parameters import RETURN_RALLY
from px4lockstep.autopilots.builtin.vectors import norm_xy
from px4lockstep.environment.projection import MapProjection
from px4lockstep.jit import kernel, record
from px4lockstep.px4.fence import MAX_RALLY_POINTS, RallyPoint

CLOSER_M = 2.0
AWAY_FROM_HOME_M = 10.0
FARTHEST_M = 3.4e38  # FLT_MAX

RALLY_POINT = record([("rally_ned", "f8", 3)])

RALLY = record(
    [
        ("is_rally_only count", "i8"),
        ("points", RALLY_POINT, MAX_RALLY_POINTS),
        ("goal_ned", "f8", 3),
        ("goal_yaw", "f8"),  # NaN: any
        ("home_ned", "f8", 3),  # the origin, unless a command moved it
    ],
    state="goal_ned goal_yaw home_ned",
    limits={"count": MAX_RALLY_POINTS},
)


@kernel
def choose_goal(rally, home_yaw, estimate):
    """Select where a return lands."""
    goal, at, home = rally.goal_ned, estimate.pos_ned, rally.home_ned
    goal[0], goal[1], goal[2] = home[0], home[1], home[2]
    rally.goal_yaw = home_yaw
    nearest_m = norm_xy(at[0] - home[0], at[1] - home[1])
    if rally.is_rally_only != 0:
        goal[0], goal[1], goal[2] = at[0], at[1], at[2]
        rally.goal_yaw = math.nan
        nearest_m = FARTHEST_M
    for i in range(rally.count):
        point = rally.points[i].rally_ned
        away_m = norm_xy(at[0] - point[0], at[1] - point[1])
        from_home_m = norm_xy(point[0] - home[0], point[1] - home[1])
        is_allowed = rally.is_rally_only != 0 or from_home_m > AWAY_FROM_HOME_M
        if is_allowed and away_m + CLOSER_M < nearest_m:
            nearest_m = away_m
            goal[0], goal[1], goal[2] = point[0], point[1], point[2]
            rally.goal_yaw = math.nan


def write_rally(
    rally: Any, points: Sequence[RallyPoint], home: MapProjection, home_alt_msl_m: float, rtl_type: float
) -> None:
    """Write a `RALLY` record, in the local frame."""
    rally["is_rally_only"] = rtl_type == RETURN_RALLY
    rally["count"] = len(points)
    for point, out in zip(points, rally["points"], strict=False):
        height_m = point.alt_m if point.is_relative_alt else point.alt_m - home_alt_msl_m
        out["rally_ned"] = (*home.to_local(point.lat_deg, point.lon_deg), -height_m)
