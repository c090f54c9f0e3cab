"""Modes that are flown by command instead of a mission: orbit, and the pilot's modes.

Orbit, clockwise for a positive speed s, around a centre at the distance r from the vehicle, with the radius R:

    v = w s t + k (R − r) u,  w = max(0, 1 − |R − r|/3 m),  a = −w s²/R u,

where u points from the centre to the vehicle and t is tangential. The second term is limited to the larger of |s| and
2 m/s. The vehicle therefore flies to the circle first. The altitude is a position setpoint.

The sticks (PX4's manual modes) give

* position mode: a velocity relative to the heading, up to MPC_VEL_MANUAL, and the position is held once it is zero;
* altitude mode: an acceleration relative to the heading, that of a tilt up to MPC_MAN_TILT_MAX;
* both: the climb speed, up to MPC_Z_VEL_MAX_UP and MPC_Z_VEL_MAX_DN, and the altitude is held once it is zero;
* stabilized mode: roll and pitch up to MPC_MAN_TILT_MAX, and thrust, with MPC_THR_HOVER in the middle;
* acro mode: body rates up to MC_ACRO_R_MAX, MC_ACRO_P_MAX, MC_ACRO_Y_MAX, and thrust;
* all but acro: the yaw rate, up to MPC_MAN_Y_MAX, and the heading is held once it is zero.

Velocities change by at most MPC_ACC_HOR. The middle 10 % of a stick are zero. If no position of the sticks has arrived
for COM_RC_LOSS_T, the vehicle reacts by NAV_RCL_ACT: 1 holds, 2 returns, 3 lands, 5 and 6 stop the motors.
"""

import math
from typing import Any

import numpy as np

from px4lockstep.autopilots.builtin.commander import disarm
from px4lockstep.autopilots.builtin.parameters import Params
from px4lockstep.autopilots.builtin.position_control import ONE_G, ask_for_nothing
from px4lockstep.autopilots.builtin.vectors import clamp, heading_of, norm_xy, wrap_pi
from px4lockstep.autopilots.requests import (
    ACRO_MODE,
    ALTITUDE_MODE,
    LAND_MODE,
    LOITER_MODE,
    MANUAL_MODE,
    OFFBOARD_MODE,
    POSITION_MODE,
    RETURN_MODE,
    STABILIZED_MODE,
)
from px4lockstep.jit import interpreted, kernel, record
from px4lockstep.math.trigonometry import atan2, sincos
from px4lockstep.scenario.setpoint_rows import ATTITUDE, RATES

STICKS_FAILSAFE = np.int64(7)
"""Number of the failsafe for lost sticks. It changes the mode only in the pilot's modes, so it overrides no other."""
GUIDED_TASK = np.int64(2)
"""Value of `flight_task.is_active` while a mode of this module flies; the flight task starts anew after it."""
DEADZONE = 0.1
HOLD_M_S = 0.8
HOLD_Z_M_S = 0.6
APPROACH_M = 3.0
APPROACH_M_S = 2.0
ORBIT_GAIN = 0.5
"""k [1/s]"""
TO_CENTRE, INITIAL, FREE, TANGENT = (np.int64(i) for i in range(4))
"""MAVLink's ORBIT_YAW_BEHAVIOUR: to the centre, as at the start, not controlled, along the circle."""

GUIDED = record(
    [
        ("speed_m_s speed_up_m_s speed_down_m_s acc_m_s2 yaw_rate_rad_s tilt_rad tilt_acc_m_s2", "f8"),
        ("thrust_min thrust_hover thrust_max", "f8"),
        ("takeoff_alt_m", "f8"),  # MIS_TAKEOFF_ALT
        ("acro_rad_s", "f8", 3),
        ("loss_us", "i8"),
        ("loss_mode", "i8"),  # MANUAL_MODE: stop the motors
        ("sticks", "f8", 4),  # roll, pitch, yaw, throttle
        ("sticks_us", "i8"),  # time of their arrival
        ("mode", "i8"),  # at the last tick
        ("has_hold_xy has_hold_z", "i8"),
        ("hold_ned vel_ned", "f8", 3),
        ("yaw_sp", "f8"),
        ("centre_ne", "f8", 2),
        ("radius_m orbit_m_s orbit_down_m", "f8"),
        ("yaw_behaviour", "i8"),
    ],
    state="sticks sticks_us mode has_hold_xy has_hold_z hold_ned vel_ned yaw_sp centre_ne radius_m orbit_m_s "
    "orbit_down_m yaw_behaviour",
)


@kernel
def is_piloted(mode):
    """Return whether a mode needs sticks."""
    return mode in (POSITION_MODE, ALTITUDE_MODE, STABILIZED_MODE, ACRO_MODE)


@kernel
def begin_guided(g, mode, estimate):
    """Start from the vehicle's current state in a new mode."""
    g.mode = mode
    g.has_hold_xy = 0
    g.has_hold_z = 0
    g.yaw_sp = heading_of(estimate)
    for i in range(3):
        g.vel_ned[i] = estimate.vel_ned[i]


@kernel
def watch_sticks(c, g, t_us):
    """React to a loss of the sticks in a mode that needs them; note whether the mode needs no position."""
    if c.mode in (STABILIZED_MODE, ACRO_MODE):
        c.needs_no_position = 1
    elif c.mode != OFFBOARD_MODE:
        c.needs_no_position = 0
    if c.is_armed != 0 and is_piloted(c.mode) and t_us - g.sticks_us >= g.loss_us:
        c.mode = g.loss_mode
        c.failsafe = STICKS_FAILSAFE
        if g.loss_mode == MANUAL_MODE:
            disarm(c)


@kernel
def deflection(stick):
    """Return the deflection of a stick outside of its dead zone, from -1 to 1."""
    if abs(stick) <= DEADZONE:
        return 0.0
    beyond = stick - DEADZONE if stick > 0.0 else stick + DEADZONE
    return clamp(beyond / (1.0 - DEADZONE), -1.0, 1.0)


@kernel
def turn_by_stick(g, dt_s):
    """Advance the heading; return the yaw rate."""
    rate = deflection(g.sticks[2]) * g.yaw_rate_rad_s
    g.yaw_sp = wrap_pi(g.yaw_sp + rate * dt_s)
    return rate


@kernel
def slew_velocity(g, vn, ve, vd, dt_s):
    """Advance the velocity setpoint towards the wanted one."""
    step = g.acc_m_s2 * dt_s
    g.vel_ned[0] += clamp(vn - g.vel_ned[0], -step, step)
    g.vel_ned[1] += clamp(ve - g.vel_ned[1], -step, step)
    g.vel_ned[2] += clamp(vd - g.vel_ned[2], -step, step)


@kernel
def fly_sticks(g, task, estimate, dt_s):
    """Write the setpoint of position or altitude mode."""
    setpoint = task.setpoint
    ask_for_nothing(setpoint)
    setpoint.yawspeed = turn_by_stick(g, dt_s)
    setpoint.yaw = g.yaw_sp
    sine, cosine = sincos(g.yaw_sp)
    forward, right, up = deflection(g.sticks[1]), deflection(g.sticks[0]), deflection(g.sticks[3])
    n, e = forward * cosine - right * sine, forward * sine + right * cosine
    length = max(norm_xy(n, e), 1.0)
    n, e = n / length, e / length
    vd = -up * (g.speed_up_m_s if up > 0.0 else g.speed_down_m_s)
    slew_velocity(g, n * g.speed_m_s, e * g.speed_m_s, vd, dt_s)
    if g.mode == POSITION_MODE:
        has_stopped = n == 0.0 and e == 0.0 and g.vel_ned[0] == 0.0 and g.vel_ned[1] == 0.0
        holds = has_stopped and (g.has_hold_xy != 0 or norm_xy(estimate.vel_ned[0], estimate.vel_ned[1]) < HOLD_M_S)
        for i in range(2):
            if g.has_hold_xy == 0:
                g.hold_ned[i] = estimate.pos_ned[i]
            setpoint.vel_ned[i] = g.vel_ned[i]
            setpoint.pos_ned[i] = g.hold_ned[i] if holds else math.nan
        g.has_hold_xy = int(holds)
    else:
        setpoint.acc_ned[0], setpoint.acc_ned[1] = n * g.tilt_acc_m_s2, e * g.tilt_acc_m_s2
    is_level = vd == 0.0 and g.vel_ned[2] == 0.0
    holds_z = is_level and (g.has_hold_z != 0 or abs(estimate.vel_ned[2]) < HOLD_Z_M_S)
    if g.has_hold_z == 0:
        g.hold_ned[2] = estimate.pos_ned[2]
    g.has_hold_z = int(holds_z)
    setpoint.vel_ned[2] = g.vel_ned[2]
    setpoint.pos_ned[2] = g.hold_ned[2] if holds_z else math.nan
    task.wants_takeoff = int(vd < -0.3)
    task.is_active = GUIDED_TASK


@kernel
def stick_setpoint(g, setpoint, dt_s):
    """Write the setpoint of stabilized or acro mode, a `SETPOINT`."""
    throttle = clamp(g.sticks[3], -1.0, 1.0)
    low, high = (g.thrust_min, g.thrust_hover) if throttle < 0.0 else (g.thrust_hover, g.thrust_max)
    setpoint.thrust = low + (throttle + 1.0 if throttle < 0.0 else throttle) * (high - low)
    if g.mode == ACRO_MODE:
        setpoint.kind = RATES
        setpoint.omega_body[0] = deflection(g.sticks[0]) * g.acro_rad_s[0]
        setpoint.omega_body[1] = -deflection(g.sticks[1]) * g.acro_rad_s[1]
        setpoint.omega_body[2] = deflection(g.sticks[2]) * g.acro_rad_s[2]
        return
    setpoint.kind = ATTITUDE
    setpoint.yaw_rate_rad_s = turn_by_stick(g, dt_s)
    setpoint.attitude_rad[0] = deflection(g.sticks[0]) * g.tilt_rad
    setpoint.attitude_rad[1] = -deflection(g.sticks[1]) * g.tilt_rad
    setpoint.attitude_rad[2] = g.yaw_sp


@kernel
def fly_orbit(g, task, estimate, dt_s):
    """Write the setpoint of the orbit."""
    setpoint = task.setpoint
    ask_for_nothing(setpoint)
    n, e = estimate.pos_ned[0] - g.centre_ne[0], estimate.pos_ned[1] - g.centre_ne[1]
    away_m = norm_xy(n, e)
    un, ue = (n / away_m, e / away_m) if away_m > 0.01 else (1.0, 0.0)
    off_m = g.radius_m - away_m
    part = max(0.0, 1.0 - abs(off_m) / APPROACH_M)
    limit = max(abs(g.orbit_m_s), APPROACH_M_S)
    out = clamp(ORBIT_GAIN * off_m, -limit, limit)
    along = part * g.orbit_m_s
    slew_velocity(g, out * un - along * ue, out * ue + along * un, 0.0, dt_s)
    inward = part * g.orbit_m_s * g.orbit_m_s / g.radius_m
    setpoint.vel_ned[0], setpoint.vel_ned[1] = g.vel_ned[0], g.vel_ned[1]
    setpoint.acc_ned[0], setpoint.acc_ned[1] = -inward * un, -inward * ue
    setpoint.pos_ned[2] = g.orbit_down_m
    setpoint.yawspeed = along / g.radius_m
    if g.yaw_behaviour == TO_CENTRE:
        setpoint.yaw = atan2(-ue, -un)
    elif g.yaw_behaviour == TANGENT:
        turn = 1.0 if g.orbit_m_s >= 0.0 else -1.0
        setpoint.yaw = atan2(turn * un, -turn * ue)
    else:
        setpoint.yaw = g.yaw_sp if g.yaw_behaviour == INITIAL else math.nan
        setpoint.yawspeed = 0.0
    task.wants_takeoff = 0
    task.is_active = GUIDED_TASK


LOSS_MODES = {1: LOITER_MODE, 2: RETURN_MODE, 3: LAND_MODE, 5: MANUAL_MODE, 6: MANUAL_MODE}
"""Mode for each value of NAV_RCL_ACT."""


def write_guided(g: Any, p: Params) -> None:
    """Write the parameters."""
    tilt_rad = math.radians(p["MPC_MAN_TILT_MAX"])
    sine, cosine = interpreted(sincos)(tilt_rad)
    g["speed_m_s"] = min(p["MPC_VEL_MANUAL"], p["MPC_XY_VEL_MAX"])
    g["speed_up_m_s"], g["speed_down_m_s"] = p["MPC_Z_VEL_MAX_UP"], p["MPC_Z_VEL_MAX_DN"]
    g["acc_m_s2"] = p["MPC_ACC_HOR"]
    g["yaw_rate_rad_s"] = math.radians(p["MPC_MAN_Y_MAX"])
    g["tilt_rad"], g["tilt_acc_m_s2"] = tilt_rad, ONE_G * sine / cosine
    g["thrust_min"], g["thrust_hover"], g["thrust_max"] = p["MPC_MANTHR_MIN"], p["MPC_THR_HOVER"], p["MPC_THR_MAX"]
    g["takeoff_alt_m"] = p["MIS_TAKEOFF_ALT"]
    g["acro_rad_s"] = [math.radians(p[f"MC_ACRO_{axis}_MAX"]) for axis in "RPY"]
    g["loss_us"] = round(p["COM_RC_LOSS_T"] * 1e6)
    g["loss_mode"] = LOSS_MODES.get(int(p["NAV_RCL_ACT"]), RETURN_MODE)
