"""Regions of interest: places that the vehicle looks at during a mission.

From a ROI command on, until DO_SET_ROI_NONE or the end of the mission, the navigator sets the heading of every leg
except takeoffs and landings, at each of its ticks:

    yaw = atan2(e, n) + offset,    (n, e) = the place minus the position of the vehicle

The place is a location, or the target of the leg for DO_SET_ROI_WPNEXT_OFFSET. Within NAV_ACC_RAD of it, the last
heading stays. A waypoint counts as reached only with that heading, as with a heading of its own. The heading does not
depend on MPC_YAW_MODE. If MIS_MNT_YAW_CTL is 1, the gimbal turns instead of the vehicle.

Reference: PX4, `MissionBase::heading_sp_update`.
"""

import numpy as np

from px4lockstep.autopilots.builtin.flight_task import LAND, TAKEOFF
from px4lockstep.autopilots.builtin.vectors import norm_xy, wrap_pi
from px4lockstep.jit import kernel
from px4lockstep.math.trigonometry import atan2
from px4lockstep.px4.commands import Command

NO_ROI, LOCATION_ROI, WAYPOINT_ROI = (np.int64(i) for i in range(3))
LOCATION_ITEM = np.int64(Command.DO_SET_ROI_LOCATION)
OFFSET_ITEM = np.int64(Command.DO_SET_ROI_WPNEXT_OFFSET)
NONE_ITEM = np.int64(Command.DO_SET_ROI_NONE)


@kernel
def set_roi(nav, item):
    """Execute an item if it is a ROI command."""
    if item.command == NONE_ITEM:
        nav.roi = NO_ROI
    elif item.command == LOCATION_ITEM:
        nav.roi = LOCATION_ROI
        nav.roi_ne[0], nav.roi_ne[1] = item.pos_ned[0], item.pos_ned[1]
        nav.roi_offset = 0.0
    elif item.command == OFFSET_ITEM:
        nav.roi = WAYPOINT_ROI
        nav.roi_offset = item.yaw


@kernel
def turn_to_roi(nav, estimate):
    """Set the heading of the leg."""
    leg = nav.leg
    if leg.is_valid == 0 or leg.kind == TAKEOFF or leg.kind == LAND:
        return
    n, e = leg.target[0], leg.target[1]
    if nav.roi == LOCATION_ROI:
        n, e = nav.roi_ne[0], nav.roi_ne[1]
    n -= estimate.pos_ned[0]
    e -= estimate.pos_ned[1]
    if norm_xy(n, e) > nav.acceptance_m:
        leg.yaw = wrap_pi(atan2(e, n) + nav.roi_offset)
