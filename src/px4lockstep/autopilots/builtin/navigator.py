"""The navigator: selects the leg to fly from the mission and the mode.

A mission is a list of items. An item is complete

* takeoff: above its altitude minus NAV_MC_ALT_RAD (or half the altitude if that is lower than NAV_MC_ALT_RAD), and then
  like a waypoint;
* waypoint, loiter for a time: within the item's acceptance radius and NAV_MC_ALT_RAD, with its heading reached to
  within MIS_YAW_ERR (or MIS_YAW_TMT set), and after its hold time;
* delay: after its time, wherever the vehicle is;
* land: when landed. If the vehicle is farther than NAV_ACC_RAD from the landing point, it first flies there at its
  current altitude. The heading of landing and takeoff items is ignored, as in the real library;
* gate: when passed on the way to the next position;
* loiter to altitude: fly there at the current altitude, then climb or descend there;
* speed change, jump, region of interest (`region_of_interest`), commands without an effect: immediately.

The vehicle flies through a waypoint into the next leg if it need not stop there: no hold time, and the next item with
an effect is a position.

Return to launch has the stages of PX4, each flown straight to its target. Home stands for the place that
`rally.choose_goal` selects when the return begins; heights are above its altitude, and a rally point has no heading:

* climb to RTL_RETURN_ALT above home on the spot, with the current heading. A vehicle that is already higher keeps its
  altitude. Near home it climbs less, unless RTL_CONE_ANG is 0: within NAV_ACC_RAD of home, to twice the distance from
  home; within RTL_MIN_DIST, to a cone of that angle, but at least to twice NAV_ACC_RAD;
* fly home, to within NAV_ACC_RAD. Closer than RTL_MIN_DIST, turn to the heading at arming;
* only if RTL_LAND_DELAY is not 0: descend over home to RTL_DESCEND_ALT, wait there (below 0: forever);
* land with the heading at arming.

It begins one navigator tick after the mode changes. Until then there is no leg, and the vehicle brakes.

A takeoff without a mission climbs on the spot to the altitude of the command. Then the commander changes the mode, and
the vehicle holds the point that it climbed to.
"""

import math
from typing import Any

import numpy as np

from px4lockstep.autopilots.builtin.flight_task import LAND, LEG, LOITER, POSITION, TAKEOFF
from px4lockstep.autopilots.builtin.items import (
    DELAY_ITEM,
    GATE_ITEM,
    ITEM,
    JUMP_ITEM,
    LAND_ITEM,
    LOITER_UNLIMITED_ITEM,
    MAX_ITEMS,
    RETURN_ITEM,
    SPEED_ITEM,
    TAKEOFF_ITEM,
    TO_ALT_ITEM,
    has_position,
    hold_of,
    look_ahead,
    next_place,
    takes_time,
)
from px4lockstep.autopilots.builtin.legs import fly_to, loiter_here
from px4lockstep.autopilots.builtin.parameters import Params
from px4lockstep.autopilots.builtin.rally import RALLY, choose_goal
from px4lockstep.autopilots.builtin.region_of_interest import NO_ROI, WAYPOINT_ROI, set_roi, turn_to_roi
from px4lockstep.autopilots.builtin.vectors import heading_of, norm_xy, wrap_pi
from px4lockstep.autopilots.requests import LAND_MODE, LOITER_MODE, MISSION_MODE, RETURN_MODE, TAKEOFF_MODE
from px4lockstep.jit import interpreted, kernel, record
from px4lockstep.math.trigonometry import sincos

# Stage of a mission item, or of return to launch.
WORK_DEFAULT, WORK_TAKEOFF, WORK_MOVE_TO_LAND, WORK_START_RETURN, WORK_CLIMB = (np.int64(i) for i in range(5))
WORK_RETURN, WORK_DESCEND, WORK_WAIT, WORK_HOVER, WORK_LAND, WORK_MOVE_TO_ALT = (np.int64(i) for i in range(5, 11))

MISSION_START_TICKS = 4
"""Navigator ticks from the mission request on the ground to the first leg. The real library needs the same number: to
check the mission, to be requested again, to change its mode, and to start."""

NAVIGATOR = record(
    [
        ("count", "i8"),
        ("items", ITEM, MAX_ITEMS),
        ("acceptance_m", "f8"),  # NAV_ACC_RAD
        ("acceptance_z_m yaw_error_rad yaw_timeout_s return_alt_m descend_alt_m land_delay_s", "f8"),
        ("cone_tangent", "f8"),  # 0: no cone
        ("brake_acc brake_jerk", "f8"),
        ("mode", "i8"),  # the mode at the last tick
        ("missions", "i8"),  # number of mission requests at the last tick in mission mode
        ("return_min_m", "f8"),  # RTL_MIN_DIST
        ("start_ticks current work is_mission_begun is_finished is_reached is_yaw_reached reached_us", "i8"),
        ("return_down_m", "f8"),
        ("home_yaw", "f8"),  # heading at arming
        ("rally", RALLY),
        ("leg", LEG),
        ("mount_turns", "i8"),  # MIS_MNT_YAW_CTL: the gimbal turns to a region of interest, not the vehicle
        ("roi", "i8"),  # what the vehicle looks at: see `region_of_interest`
        ("roi_ne", "f8", 2),  # its place
        ("roi_offset", "f8"),  # added to the heading
        ("first", "i8"),  # item with which a mission begins on the ground, if a command chose one
        ("takeoff_down_m", "f8"),  # goal of a takeoff by command
        ("takeoff_yaw", "f8"),
    ],
    state="mode missions start_ticks current work is_mission_begun is_finished is_reached is_yaw_reached "
    "reached_us return_down_m home_yaw leg roi roi_ne roi_offset first takeoff_down_m takeoff_yaw",
    limits={
        "current first": MAX_ITEMS - 1,
        "start_ticks": MISSION_START_TICKS,
        "work": int(WORK_MOVE_TO_ALT),
        "roi": int(WAYPOINT_ROI),
    },
)


# -- mission -----------------------------------------------------------------------------------------------------


@kernel
def skip_commands(nav):
    """Execute items that take no time, starting with the current one."""
    for _ in range(1_000_000):
        if nav.current >= nav.count:
            return
        item = nav.items[nav.current]
        if item.command == SPEED_ITEM:
            nav.leg.cruise_m_s = item.speed_m_s
            nav.current += 1
        elif item.command == JUMP_ITEM:
            if item.jumps_left > 0:
                item.jumps_left -= 1
                nav.current = item.jump_to
            else:
                item.jumps_left = item.jump_repeats
                nav.current += 1
        elif takes_time(item):
            return
        else:
            set_roi(nav, item)
            nav.current += 1


@kernel
def begin_item(nav, t_us, estimate, is_landed):
    """Start the current item."""
    if nav.count == 0:
        return
    skip_commands(nav)
    nav.work = WORK_DEFAULT
    if nav.current >= nav.count:
        nav.current = nav.count - 1
        nav.is_finished = 1
        return
    item = nav.items[nav.current]
    n, e, d = item.pos_ned[0], item.pos_ned[1], item.pos_ned[2]
    if item.command == DELAY_ITEM:
        nav.is_reached = 1
        nav.is_yaw_reached = 1
        nav.reached_us = t_us
    elif item.command == RETURN_ITEM:
        nav.work = WORK_START_RETURN  # the commander changes the mode
    elif is_landed and has_position(item) and item.command != LAND_ITEM:
        nav.work = WORK_TAKEOFF
        fly_to(nav, TAKEOFF, estimate.pos_ned[0], estimate.pos_ned[1], d, math.nan, item.radius_m)
        nav.leg.has_start = 0
        if item.command == TAKEOFF_ITEM:
            nav.leg.target[0], nav.leg.target[1] = n, e
            look_ahead(nav, nav.current)
    elif item.command == LAND_ITEM:
        begin_landing(nav, estimate, n, e, item.radius_m)
    elif item.command == GATE_ITEM:
        begin_gate(nav, estimate)
    elif item.command == TO_ALT_ITEM:
        nav.work = WORK_MOVE_TO_ALT
        fly_to(nav, LOITER, n, e, estimate.pos_ned[2], math.nan, item.radius_m)
    else:
        yaw = math.nan if item.command == TAKEOFF_ITEM else item.yaw
        kind = LOITER if item.command == LOITER_UNLIMITED_ITEM else POSITION
        fly_to(nav, kind, n, e, d, yaw, item.radius_m)
        look_ahead(nav, nav.current)


@kernel
def begin_landing(nav, estimate, n, e, radius_m):
    """Start to land at a point; if it is too far away, fly there first."""
    if norm_xy(estimate.pos_ned[0] - n, estimate.pos_ned[1] - e) > nav.acceptance_m:
        nav.work = WORK_MOVE_TO_LAND
        fly_to(nav, POSITION, n, e, estimate.pos_ned[2], math.nan, nav.acceptance_m)
    else:
        nav.work = WORK_LAND
        fly_to(nav, LAND, n, e, 0.0, math.nan, radius_m)


@kernel
def begin_gate(nav, estimate):
    """Start to fly through a gate, to the next position; without one, the gate counts as passed."""
    following = next_place(nav, nav.current)
    nav.is_reached = int(following < 0)
    if following >= 0:
        item = nav.items[following]
        d = estimate.pos_ned[2] if item.command == LAND_ITEM else item.pos_ned[2]
        yaw = math.nan if item.command == LAND_ITEM else item.yaw
        fly_to(nav, POSITION, item.pos_ned[0], item.pos_ned[1], d, yaw, item.radius_m)
        look_ahead(nav, following)


@kernel
def go_on_through_gate(nav, t_us, estimate, is_landed):
    """Continue with the next item once the gate is passed: the plane through it, across the line to the next place."""
    leg, gate = nav.leg, nav.items[nav.current]
    n, e = estimate.pos_ned[0] - gate.pos_ned[0], estimate.pos_ned[1] - gate.pos_ned[1]
    ahead = n * (leg.target[0] - gate.pos_ned[0]) + e * (leg.target[1] - gate.pos_ned[1])
    if nav.is_reached == 0 and ahead < 0.0:
        return
    has_start = leg.has_start
    sn, se, sd = leg.start[0], leg.start[1], leg.start[2]
    tn, te, td = leg.target[0], leg.target[1], leg.target[2]
    nav.current += 1
    begin_item(nav, t_us, estimate, is_landed)
    if leg.target[0] == tn and leg.target[1] == te and leg.target[2] == td:
        leg.has_start = has_start  # it is still the same leg
        leg.start[0], leg.start[1], leg.start[2] = sn, se, sd


@kernel
def note_arrival(nav, t_us, estimate, is_landed):
    """Update whether the leg's target and heading are reached."""
    leg = nav.leg
    if nav.is_reached == 0 and not is_landed:
        d = estimate.pos_ned[2]
        if leg.kind == TAKEOFF:
            height = -leg.target[2]
            near = 0.5 * height if 0.0 < height < nav.acceptance_z_m else nav.acceptance_z_m
            is_there = d < leg.target[2] + near
        else:
            away = norm_xy(estimate.pos_ned[0] - leg.target[0], estimate.pos_ned[1] - leg.target[1])
            is_near = away <= leg.radius_m or nav.work == WORK_CLIMB or nav.work == WORK_DESCEND
            is_there = is_near and abs(d - leg.target[2]) <= nav.acceptance_z_m
        if is_there:
            nav.is_reached = 1
            nav.reached_us = t_us
    if nav.is_reached != 0 and nav.is_yaw_reached == 0:
        error = wrap_pi(leg.yaw - heading_of(estimate))
        # a NaN heading counts as reached
        nav.is_yaw_reached = int(not abs(error) >= nav.yaw_error_rad or nav.yaw_timeout_s > 0.0 or leg.kind == TAKEOFF)


@kernel
def has_waited(nav, t_us, wait_s):
    """Return whether the leg's target was reached and the wait there is over."""
    if nav.is_reached == 0 or nav.is_yaw_reached == 0:
        return False
    return float(t_us - nav.reached_us) >= wait_s * 1e6


@kernel
def go_on_mission(nav, t_us, estimate, is_landed):
    """Continue the mission with the current item, or with the next one if it is complete."""
    item = nav.items[nav.current]
    if nav.leg.kind == LAND and item.command == LAND_ITEM:
        nav.is_finished = int(is_landed)
        return
    if item.command == GATE_ITEM:
        go_on_through_gate(nav, t_us, estimate, is_landed)
        return
    note_arrival(nav, t_us, estimate, is_landed)
    if nav.work == WORK_MOVE_TO_ALT and nav.is_reached != 0:
        nav.work = WORK_DEFAULT
        fly_to(nav, LOITER, item.pos_ned[0], item.pos_ned[1], item.pos_ned[2], math.nan, item.radius_m)
    elif nav.work == WORK_TAKEOFF and nav.is_reached != 0:
        # repeat the same item as a waypoint, because nothing counts as reached on the ground
        begin_item(nav, t_us, estimate, is_landed)
    elif nav.work == WORK_MOVE_TO_LAND and has_waited(nav, t_us, 0.0):
        nav.work = WORK_LAND
        fly_to(nav, LAND, item.pos_ned[0], item.pos_ned[1], 0.0, math.nan, item.radius_m)
    elif nav.work == WORK_DEFAULT and item.command != LOITER_UNLIMITED_ITEM and has_waited(nav, t_us, hold_of(item)):
        nav.current += 1
        begin_item(nav, t_us, estimate, is_landed)


# -- return ------------------------------------------------------------------------------------------------------


@kernel
def return_height(nav, estimate):
    """Return the return altitude above the goal."""
    goal = nav.rally.goal_ned
    away = norm_xy(estimate.pos_ned[0] - goal[0], estimate.pos_ned[1] - goal[1])
    own = -(estimate.pos_ned[2] - goal[2])
    height = nav.return_alt_m
    if nav.cone_tangent > 0.0:
        if away <= nav.acceptance_m:
            height = 2.0 * away
        else:
            if away <= nav.return_min_m:
                height = min(height, away / nav.cone_tangent)
            height = max(height, 2.0 * nav.acceptance_m)
    return own if height < own else min(height, nav.return_alt_m)


@kernel
def begin_stage(nav, work, kind, n, e, d, yaw):
    """Start a stage of the return: a leg of length 0, so that the vehicle need not follow a line to the target."""
    nav.work = work
    nav.leg.is_valid = 1
    nav.leg.target[0], nav.leg.target[1], nav.leg.target[2] = n, e, d
    fly_to(nav, kind, n, e, d, yaw, nav.acceptance_m)


@kernel
def fly_home(nav, estimate):
    """Start the flight to the goal at the return altitude."""
    n, e = nav.rally.goal_ned[0], nav.rally.goal_ned[1]
    is_close = norm_xy(estimate.pos_ned[0] - n, estimate.pos_ned[1] - e) < nav.return_min_m
    yaw = nav.rally.goal_yaw if is_close else math.nan
    begin_stage(nav, WORK_RETURN, POSITION, n, e, nav.return_down_m, yaw)


@kernel
def go_on_returning(nav, t_us, estimate, is_landed):
    """Continue return to launch; return whether the vehicle has landed."""
    if nav.work == WORK_LAND:
        return is_landed
    n, e, d = estimate.pos_ned[0], estimate.pos_ned[1], estimate.pos_ned[2]
    if nav.work == WORK_START_RETURN:
        if d > nav.return_down_m:
            begin_stage(nav, WORK_CLIMB, LOITER, n, e, d, heading_of(estimate))
        else:
            fly_home(nav, estimate)
        return False
    note_arrival(nav, t_us, estimate, is_landed)
    goal, yaw = nav.rally.goal_ned, nav.rally.goal_yaw
    low_m = max(nav.return_down_m, -(nav.descend_alt_m - goal[2]))
    goal_m = nav.return_down_m if nav.work <= WORK_RETURN else low_m
    if nav.is_reached != 0 and nav.leg.target[2] != goal_m:
        # climb and descent first hold the current altitude for a navigator tick, as in PX4
        nav.leg.start[2] = goal_m
        nav.leg.target[2] = goal_m
        nav.is_reached = 0
        nav.is_yaw_reached = 0
        return False
    wait_s = nav.land_delay_s if nav.work == WORK_WAIT else 0.0
    if wait_s < 0.0 or not has_waited(nav, t_us, wait_s):
        return False
    if nav.work == WORK_CLIMB:
        fly_home(nav, estimate)
    elif nav.work == WORK_RETURN and nav.land_delay_s != 0.0:
        begin_stage(nav, WORK_DESCEND, LOITER, goal[0], goal[1], d, yaw)
    elif nav.work == WORK_DESCEND:
        begin_stage(nav, WORK_WAIT, LOITER, goal[0], goal[1], low_m, math.nan)
    elif nav.work == WORK_WAIT:
        begin_stage(nav, WORK_HOVER, POSITION, goal[0], goal[1], low_m, yaw)
    else:
        begin_stage(nav, WORK_LAND, LAND, goal[0], goal[1], 0.0, yaw)
    return False


# -- entry point -------------------------------------------------------------------------------------------------


@kernel
def change_mode(nav, mode, estimate, is_landed):
    """Start navigating in a new mode."""
    has_taken_off = nav.mode == TAKEOFF_MODE and nav.is_reached != 0
    nav.mode = mode
    nav.leg.cruise_m_s = math.nan
    if mode == MISSION_MODE:
        nav.is_finished = 0
        nav.roi = NO_ROI
        nav.start_ticks = MISSION_START_TICKS if is_landed else 1
        nav.leg.is_valid = 0
        if is_landed or nav.is_mission_begun == 0:
            nav.current = nav.first
            nav.first = 0
            for i in range(nav.count):
                nav.items[i].jumps_left = nav.items[i].jump_repeats
    elif mode == LOITER_MODE:
        if has_taken_off:
            nav.leg.kind = LOITER
        else:
            loiter_here(nav, estimate)
    elif mode == TAKEOFF_MODE:
        nav.work = WORK_DEFAULT
        n, e = estimate.pos_ned[0], estimate.pos_ned[1]
        fly_to(nav, TAKEOFF, n, e, nav.takeoff_down_m, nav.takeoff_yaw, nav.acceptance_m)
        nav.leg.has_start = 0
    elif mode == RETURN_MODE:
        nav.work = WORK_LAND if is_landed else WORK_START_RETURN  # on the ground there is nothing to fly
        choose_goal(nav.rally, nav.home_yaw, estimate)
        nav.return_down_m = -(return_height(nav, estimate) - nav.rally.goal_ned[2])
        nav.leg.is_valid = 0
    elif mode == LAND_MODE:
        nav.work = WORK_LAND
        fly_to(nav, LAND, estimate.pos_ned[0], estimate.pos_ned[1], 0.0, math.nan, nav.acceptance_m)
        nav.leg.has_start = 0
    else:
        nav.leg.is_valid = 0


@kernel
def navigate(nav, t_us, mode, missions, estimate, is_landed):
    """Update the leg, once per navigator tick; `missions` is the number of mission requests."""
    is_new = mode != nav.mode or (mode == MISSION_MODE and missions != nav.missions)
    if is_new:
        change_mode(nav, mode, estimate, is_landed)
    if mode == MISSION_MODE:
        nav.missions = missions
        if nav.start_ticks > 0:
            nav.start_ticks -= 1
            if nav.start_ticks == 0:
                nav.is_mission_begun = 1
                begin_item(nav, t_us, estimate, is_landed)
        elif nav.is_finished == 0:
            go_on_mission(nav, t_us, estimate, is_landed)
        if nav.roi != NO_ROI and nav.mount_turns == 0:
            turn_to_roi(nav, estimate)
    elif mode == RETURN_MODE and not is_new:
        is_over = go_on_returning(nav, t_us, estimate, is_landed)
        if is_over and nav.items[nav.current].command == RETURN_ITEM:
            nav.is_finished = 1
    elif mode == TAKEOFF_MODE:
        note_arrival(nav, t_us, estimate, is_landed)


def write_navigator(nav: Any, p: Params) -> None:
    """Write the navigator parameters."""
    nav["mount_turns"] = p["MIS_MNT_YAW_CTL"]
    nav["acceptance_m"] = p["NAV_ACC_RAD"]
    nav["acceptance_z_m"] = p["NAV_MC_ALT_RAD"]
    nav["yaw_timeout_s"] = p["MIS_YAW_TMT"]
    nav["return_alt_m"] = p["RTL_RETURN_ALT"]
    nav["descend_alt_m"] = p["RTL_DESCEND_ALT"]
    nav["land_delay_s"] = p["RTL_LAND_DELAY"]
    nav["return_min_m"] = p["RTL_MIN_DIST"]
    nav["brake_acc"] = p["MPC_ACC_HOR"]
    nav["brake_jerk"] = p["MPC_JERK_AUTO"]
    nav["yaw_error_rad"] = math.radians(p["MIS_YAW_ERR"])
    angle = p["RTL_CONE_ANG"]
    sine, cosine = interpreted(sincos)(math.radians(min(max(angle, 1), 89)))
    nav["cone_tangent"] = sine / cosine if angle > 0 else 0.0
