"""The auto flight task: converts waypoints to position, velocity, acceleration and heading setpoints at every tick.

The navigator provides the leg to fly (`LEG`): its start, its target, and the target after that. The task follows the
leg if the vehicle is on it. Past the target, it flies straight back to it; before the start, to the start; off to the
side, to the closest point of the leg. `position_smoothing` generates the trajectory, and `velocity_smoothing` the
heading:

* that of the leg, if it has one;
* otherwise by MPC_YAW_MODE: 0 towards the target, 1 towards home, 2 away from home, 3 along the trajectory, 4 like 0
  but turn first; within the acceptance radius, the heading is held.

Landing descends at MPC_Z_VEL_MAX_DN above MPC_LAND_ALT1 and at MPC_LAND_SPEED below MPC_LAND_ALT2, holds the heading
that it started with, and sets no target altitude. On the ground the trajectory stays at the vehicle's position with a
descent of 0.7 m/s, so that the motors idle.
"""

import math
from typing import Any

import numpy as np

from px4lockstep.autopilots.builtin.parameters import Params
from px4lockstep.autopilots.builtin.position_control import TRAJECTORY, ask_for_nothing
from px4lockstep.autopilots.builtin.position_smoothing import SMOOTHING, advance_trajectory, wanted_velocity
from px4lockstep.autopilots.builtin.vectors import (
    FLOAT32_EPSILON,
    clamp,
    heading_of,
    is_finite,
    norm_xy,
    wrap_pi,
)
from px4lockstep.autopilots.builtin.velocity_smoothing import AXIS, reset_axis, smooth_heading
from px4lockstep.jit import inlined_kernel, kernel, record
from px4lockstep.math.trigonometry import atan2

POSITION, LOITER, TAKEOFF, LAND = (np.int64(i) for i in (0, 2, 3, 4))

LEG = record(
    [
        ("kind", "i8"),  # POSITION, LOITER, TAKEOFF or LAND
        ("is_valid has_start has_next", "i8"),
        ("start target next", "f8", 3),  # NED
        ("yaw", "f8"),  # NaN: none
        ("cruise_m_s", "f8"),  # NaN: MPC_XY_CRUISE
        ("radius_m", "f8"),
    ],
    limits={"kind": int(LAND), "is_valid has_start has_next": 1},
)
"""A leg, as provided by the navigator."""

FLIGHT_TASK = record(
    [
        ("acc_up acc_down cruise_m_s speed_max_m_s speed_up_m_s speed_down_m_s", "f8"),
        ("takeoff_speed_m_s takeoff_ramp_s land_speed_m_s land_speed_max_m_s land_alt1_m land_alt2_m", "f8"),
        ("yaw_mode", "i8"),
        ("yaw_error_rad", "f8"),
        ("smoothing", SMOOTHING),
        ("heading", AXIS),
        ("leg", LEG),  # the navigator's leg, copied when it changes
        ("start target next", "f8", 3),  # what is actually flown
        ("side", "i8"),  # position of the vehicle relative to the leg
        ("is_active was_landing has_yaw_lock is_yaw_aligned", "i8"),
        ("yaw_sp land_yaw", "f8"),
        ("wants_takeoff", "i8"),
        ("setpoint", TRAJECTORY),
    ],
    state="leg start target next side is_active was_landing has_yaw_lock is_yaw_aligned yaw_sp land_yaw "
    "wants_takeoff setpoint",
    limits={"side": 3},
)

ON_LEG, PAST_TARGET, BEFORE_START, ASIDE = (np.int64(i) for i in range(4))

GUIDED_TASK = np.int64(2)
"""Value of `is_active` while the orbit or sticks write the setpoint; the task starts anew after it."""
GROUND_SPEED_M_S = 0.7
BLIND_DESCENT_M_S2 = 0.3
"""Downward acceleration without a valid position; PX4's value."""
TAKEOFF_SPEED_M_S = 0.3
"""A desired climb speed above this requests a takeoff."""


@kernel
def hold_trajectory(task, estimate, vel_down):
    """Reset the trajectory to the vehicle's position."""
    for i in range(3):
        reset_axis(task.smoothing.axes[i], 0.0, vel_down if i == 2 else 0.0, estimate.pos_ned[i])
    task.heading.vel = heading_of(estimate)
    task.heading.acc = 0.0


@kernel
def stay_on_ground(task, estimate):
    """Keep the trajectory at the place where the vehicle stands, while it goes on upwards."""
    for i in range(3):
        axis = task.smoothing.axes[i]
        reset_axis(axis, axis.acc if i == 2 else 0.0, axis.vel if i == 2 else 0.0, estimate.pos_ned[i])


@kernel
def activate_task(task, estimate):
    """Start the task from the vehicle's current state."""
    hold_trajectory(task, estimate, 0.0)
    for i in range(3):
        task.smoothing.axes[i].vel = estimate.vel_ned[i]
        task.smoothing.axes[i].start_vel = estimate.vel_ned[i]
        task.smoothing.wanted_vel[i] = 0.0
    task.leg.is_valid = 0
    task.side = ON_LEG
    task.is_active = 1
    task.was_landing = 0
    task.has_yaw_lock = 0
    task.is_yaw_aligned = 1


@kernel
def side_of_leg(task, estimate):
    """Return the position of the vehicle relative to the leg, and the closest point of the leg.

    With the leg as a vector d and the vehicle at r from its start, the closest point is at d (r·d)/|d|². Lengths are
    compared by their squares.
    """
    leg = task.leg
    dn, de = leg.target[0] - leg.start[0], leg.target[1] - leg.start[1]
    length2 = dn * dn + de * de
    n, e = estimate.pos_ned[0], estimate.pos_ned[1]
    if length2 <= FLOAT32_EPSILON * FLOAT32_EPSILON:
        return ON_LEG, leg.start[0], leg.start[1]
    from_n, from_e = n - leg.start[0], e - leg.start[1]
    passed = (from_n * dn + from_e * de) / length2
    closest_n, closest_e = leg.start[0] + dn * passed, leg.start[1] + de * passed
    aside_n, aside_e = n - closest_n, e - closest_e
    radius2 = task.smoothing.acceptance_xy_m * task.smoothing.acceptance_xy_m
    side = ON_LEG
    if dn * (leg.target[0] - n) + de * (leg.target[1] - e) < 0.0:
        side = PAST_TARGET
    elif passed < 0.0 and from_n * from_n + from_e * from_e > radius2:
        side = BEFORE_START
    elif aside_n * aside_n + aside_e * aside_e > radius2:
        side = ASIDE
    return side, closest_n, closest_e


@kernel
def leg_changed(task, leg):
    """Return whether the navigator's leg differs from the copied one."""
    own = task.leg
    is_same = own.is_valid != 0 and own.has_start == leg.has_start and own.has_next == leg.has_next
    for i in range(3):
        is_same = is_same and abs(own.target[i] - leg.target[i]) < 0.001
    return not is_same


@inlined_kernel
def take_leg(task, leg, estimate):
    """Copy the navigator's leg if it has changed, and decide what to fly."""
    own = task.leg
    has_changed = leg_changed(task, leg)
    if has_changed:
        task.leg = leg
        task.smoothing.acceptance_xy_m = leg.radius_m
        for i in range(3):
            if leg.has_start == 0:
                own.start[i] = estimate.pos_ned[i]
            if leg.has_next == 0 or leg.kind == LOITER:
                own.next[i] = leg.target[i]
    own.kind = leg.kind
    own.yaw = leg.yaw
    own.cruise_m_s = leg.cruise_m_s
    cruise = leg.cruise_m_s if is_finite(leg.cruise_m_s) and leg.cruise_m_s > FLOAT32_EPSILON else task.cruise_m_s
    task.smoothing.cruise_m_s = min(cruise, task.speed_max_m_s)

    side, closest_n, closest_e = side_of_leg(task, estimate)
    if not has_changed and side == task.side and side != ASIDE:
        return
    task.side = side
    task.has_yaw_lock = 0
    for i in range(3):
        task.start[i] = own.start[i] if side == ON_LEG else estimate.pos_ned[i]
        task.target[i] = own.start[i] if side == BEFORE_START else own.target[i]
        task.next[i] = own.target[i] if side >= BEFORE_START else own.next[i]
    if side == ASIDE:
        task.target[0], task.target[1] = closest_n, closest_e


@kernel
def wait_for_leg(task, estimate):
    """Hold the vehicle's position, because the navigator provides no leg."""
    for i in range(3):
        task.start[i] = estimate.pos_ned[i]
        task.target[i] = estimate.pos_ned[i]
        task.next[i] = estimate.pos_ned[i]
    task.leg.kind = LOITER
    task.leg.is_valid = 0
    task.leg.yaw = heading_of(estimate)


@inlined_kernel
def choose_heading(task, estimate):
    """Write the desired heading; NaN if it follows the trajectory."""
    if is_finite(task.leg.yaw):
        task.yaw_sp = task.leg.yaw
        return
    n, e = task.target[0] - estimate.pos_ned[0], task.target[1] - estimate.pos_ned[1]
    if task.yaw_mode == 1:
        n, e = -estimate.pos_ned[0], -estimate.pos_ned[1]
    elif task.yaw_mode == 2:
        n, e = estimate.pos_ned[0], estimate.pos_ned[1]
    elif task.yaw_mode == 3:
        task.has_yaw_lock = 0
        task.yaw_sp = math.nan
        return
    length = norm_xy(n, e)
    if length > task.smoothing.acceptance_xy_m and length > 1e-3:
        task.yaw_sp = atan2(e, n)
        task.has_yaw_lock = 1
    if task.has_yaw_lock == 0:
        task.yaw_sp = heading_of(estimate)
        task.has_yaw_lock = 1


@kernel
def landing_speed(task, height_m):
    """Return the descent speed for a height above home."""
    span = task.land_alt1_m - task.land_alt2_m
    part = clamp((height_m - task.land_alt2_m) / max(span, FLOAT32_EPSILON), 0.0, 1.0)
    return task.land_speed_m_s + part * (task.land_speed_max_m_s - task.land_speed_m_s)


@kernel
def limit_vertical(task, estimate, height_m):
    """Set the limits of the vertical axis, which differ for climb, descent, and takeoff below MPC_LAND_ALT1."""
    axis = task.smoothing.axes[2]
    if task.smoothing.wanted_vel[2] < 0.0:
        speed, acc = task.speed_up_m_s, task.acc_up
        if task.leg.kind == TAKEOFF and height_m < task.land_alt1_m:
            speed = task.takeoff_speed_m_s
            acc = min(acc, task.takeoff_speed_m_s / task.takeoff_ramp_s) if task.takeoff_ramp_s > 0.0 else acc
            # The setpoint follows the vehicle's altitude, because the takeoff ramp decides when it leaves the ground.
            axis.pos = estimate.pos_ned[2]
            axis.start_pos = estimate.pos_ned[2]
    else:
        speed, acc = task.speed_down_m_s, task.acc_down
    axis.max_vel = speed
    axis.max_acc = acc


@inlined_kernel
def turn(task, vn, ve, estimate, dt_s):
    """Advance the heading."""
    wanted = task.yaw_sp
    if not is_finite(wanted):
        away = norm_xy(task.target[0] - estimate.pos_ned[0], task.target[1] - estimate.pos_ned[1])
        wanted = atan2(ve, vn) if norm_xy(vn, ve) > 0.1 and away > 2.0 else task.heading.vel
    smooth_heading(task.heading, wanted, dt_s)
    task.is_yaw_aligned = int(abs(wrap_pi(wanted - task.heading.vel)) < task.yaw_error_rad)


@kernel
def fly_leg(task, leg, estimate, dt_s, rises_first):
    """Write the setpoint for this tick.

    With `rises_first`, the vehicle stands on the ground and is to fly to a place: it rises before it flies there.
    Otherwise the trajectory would run ahead sideways, and wait there for a vehicle that its legs hold.
    """
    if leg.is_valid != 0:
        take_leg(task, leg, estimate)
    else:
        wait_for_leg(task, estimate)
    choose_heading(task, estimate)

    height_m = -estimate.pos_ned[2]
    is_landing = task.leg.kind == LAND
    vel_down = math.nan
    target_down = task.target[2]
    if is_landing:
        if task.was_landing == 0:
            task.land_yaw = task.yaw_sp if is_finite(task.yaw_sp) else heading_of(estimate)
        task.yaw_sp = task.land_yaw
        vel_down = landing_speed(task, height_m)
        target_down = math.nan
    task.was_landing = int(is_landing)

    limit_vertical(task, estimate, height_m)
    start = (task.start[0], task.start[1], task.start[2])
    target = (task.target[0], task.target[1], target_down)
    after = (task.next[0], task.next[1], task.next[2])
    s = task.smoothing
    if rises_first:
        stay_on_ground(task, estimate)
        target = (s.axes[0].pos, s.axes[1].pos, target_down)
        start = target
        after = target
    wanted = (0.0, 0.0, 0.0)
    if not (task.yaw_mode == 4 and task.is_yaw_aligned == 0):
        wanted = wanted_velocity(s, start, target, after, vel_down)
    s.wanted_vel[0], s.wanted_vel[1], s.wanted_vel[2] = wanted
    advance_trajectory(s, estimate, wanted, dt_s)
    turn(task, s.axes[0].vel, s.axes[1].vel, estimate, dt_s)

    for i in range(3):
        task.setpoint.pos_ned[i] = s.axes[i].pos
        task.setpoint.vel_ned[i] = s.axes[i].vel
        task.setpoint.acc_ned[i] = s.axes[i].acc
    task.setpoint.yaw = task.heading.vel
    task.setpoint.yawspeed = task.heading.acc
    task.wants_takeoff = int(wanted[2] < -TAKEOFF_SPEED_M_S)


@kernel
def descend_blindly(task, estimate, has_height):
    """Write a setpoint without a position: zero horizontal acceleration, and the landing speed if height is known.

    Otherwise the vehicle accelerates slightly downwards.
    """
    ask_for_nothing(task.setpoint)
    task.setpoint.acc_ned[0] = 0.0
    task.setpoint.acc_ned[1] = 0.0
    if has_height:
        task.setpoint.vel_ned[2] = task.land_speed_m_s
    else:
        task.setpoint.acc_ned[2] = BLIND_DESCENT_M_S2
    task.setpoint.yaw = heading_of(estimate)
    task.wants_takeoff = 0
    task.is_active = 0


def _inverse(value: float) -> float:
    """Return 1/value; 0 for 0, which disables planning."""
    return 1.0 / value if value > 0.0 else 0.0


def write_flight_task(task: Any, p: Params) -> None:
    """Write the parameters of the flight task and its smoothing."""
    task["acc_up"] = p["MPC_ACC_UP_MAX"]
    task["acc_down"] = p["MPC_ACC_DOWN_MAX"]
    task["speed_max_m_s"] = p["MPC_XY_VEL_MAX"]
    task["takeoff_ramp_s"] = p["MPC_TKO_RAMP_T"]
    task["land_speed_max_m_s"] = p["MPC_Z_VEL_MAX_DN"]
    task["land_alt2_m"] = p["MPC_LAND_ALT2"]
    task["yaw_mode"] = p["MPC_YAW_MODE"]
    task["cruise_m_s"] = min(p["MPC_XY_CRUISE"], p["MPC_XY_VEL_MAX"])
    task["speed_up_m_s"] = min(p["MPC_Z_V_AUTO_UP"], p["MPC_Z_VEL_MAX_UP"])
    task["speed_down_m_s"] = min(p["MPC_Z_V_AUTO_DN"], p["MPC_Z_VEL_MAX_DN"])
    task["takeoff_speed_m_s"] = min(p["MPC_TKO_SPEED"], p["MPC_Z_VEL_MAX_UP"])
    task["land_speed_m_s"] = min(p["MPC_LAND_SPEED"], p["MPC_Z_VEL_MAX_DN"])
    task["land_alt1_m"] = max(p["MPC_LAND_ALT1"], p["MPC_LAND_ALT2"])
    task["yaw_error_rad"] = math.radians(p["MIS_YAW_ERR"])
    smoothing = task["smoothing"]
    smoothing["max_error_xy_m"] = p["MPC_XY_ERR_MAX"]
    smoothing["acceptance_z_m"] = p["NAV_MC_ALT_RAD"]
    smoothing["turn_acc_gain"] = p["MPC_XY_TRAJ_P"]
    smoothing["axes"]["max_jerk"] = p["MPC_JERK_AUTO"]
    smoothing["axes"]["max_acc"] = p["MPC_ACC_HOR"]
    smoothing["axes"]["max_vel"] = p["MPC_XY_VEL_MAX"]
    smoothing["axes"]["inverse_jerk"] = _inverse(p["MPC_JERK_AUTO"])
    heading = task["heading"]
    heading["max_vel"] = 2.0 * math.pi  # the "velocity" of this axis is the heading
    heading["max_acc"] = math.radians(p["MPC_YAWRAUTO_MAX"])
    heading["max_jerk"] = math.radians(p["MPC_YAWRAUTO_ACC"])
    heading["inverse_jerk"] = _inverse(math.radians(p["MPC_YAWRAUTO_ACC"]))
