"""The pilot's modes, which turn the positions of the sticks into setpoints, as PX4 does.

A stick has a dead zone z = MAN_DEADZONE around its middle and a curve:

    e(x) = 0.4 d + 0.6 d³,   d = (x − z sgn x)/(1 − z),   0 within the dead zone

* Position mode: e of both sticks, within the unit circle and turned by the heading, is s. With A = MPC_ACC_HOR and
  V = MPC_VEL_MANUAL (MPC_VEL_MAN_SIDE, MPC_VEL_MAN_BACK for these directions),

      a = 2 A (s − b m(v)/V),   v ← v + a dt

  so that the speed approaches |s| V. With centred sticks b grows to max(2, √V) with a time constant of 0.8 s, and m(v)
  becomes v/√|v| below 1 m/s, which stops the vehicle; otherwise b is 1 and m(v) = v. MPC_JERK_MAX and the tilt limit a.
  The position is held while v is 0.
* Altitude mode: the acceleration of a tilt up to MPC_MAN_TILT_MAX, linear in the sticks, filtered by MC_MAN_TILT_TAU.
* Both: the climb speed, e times MPC_Z_VEL_MAX_UP or MPC_Z_VEL_MAX_DN, near the ground at most MPC_TKO_SPEED and
  MPC_LAND_SPEED, with bounded jerk and acceleration. The altitude is held while it is 0. The vehicle takes off if the
  stick is 0.3 above its middle.
* Stabilized mode: roll and pitch up to MPC_MAN_TILT_MAX, linear in the sticks, and thrust. The middle is the hover
  thrust that is estimated (MPC_THR_CURVE 0), MPC_THR_HOVER (2), or that between the ends (1).
* Acro mode: body rates up to MC_ACRO_R_MAX, MC_ACRO_P_MAX, MC_ACRO_Y_MAX, and thrust, linear in the stick. With
  E = MC_ACRO_EXPO and S = MC_ACRO_SUPEXPO, or those for yaw, ((1 − E) x + E x³) (1 − S)/(1 − S |x|).
* All but acro: the yaw rate, e times MPC_MAN_Y_MAX, filtered by MPC_MAN_Y_TAU. The heading is held while it is 0.

In automatic modes and offboard, a stick that moves faster than MAN_OVERRIDE_SPD changes to position mode.

If sticks were there when or after the vehicle was armed and none have arrived for COM_RC_LOSS_T, the vehicle reacts by
NAV_RCL_ACT, in all modes but those of COM_RCL_EXCEPT: 1 holds, 2 returns, 3 lands, 5 and 6 stop the motors. Before it
returns or lands, it holds for COM_FAIL_ACT_T (`commander`).
"""

import math
from typing import Any

import numpy as np

from px4lockstep.autopilots.builtin.commander import GEOFENCE_FAILSAFE, NO_FAILSAFE, disarm, fail_safe_later
from px4lockstep.autopilots.builtin.flight_task import GUIDED_TASK, landing_speed
from px4lockstep.autopilots.builtin.parameters import Params
from px4lockstep.autopilots.builtin.position_control import ONE_G, ask_for_nothing
from px4lockstep.autopilots.builtin.vectors import FLOAT32_EPSILON, clamp, heading_of, is_finite, norm_xy, sign
from px4lockstep.autopilots.builtin.velocity_smoothing import AXIS, advance_axis, plan, reset_axis
from px4lockstep.autopilots.requests import (
    ACRO_MODE,
    ALTITUDE_MODE,
    LAND_MODE,
    LOITER_MODE,
    MANUAL_MODE,
    MISSION_MODE,
    OFFBOARD_MODE,
    POSITION_MODE,
    RETURN_MODE,
    STABILIZED_MODE,
)
from px4lockstep.jit import interpreted, kernel, record
from px4lockstep.math.trigonometry import sincos
from px4lockstep.scenario.setpoint_rows import ATTITUDE, RATES

STICKS_FAILSAFE = np.int64(7)
"""Number of the failsafe for lost sticks."""
EXCEPT_MISSION, EXCEPT_AUTO, EXCEPT_OFFBOARD = 1, 2, 4
"""Bits of COM_RCL_EXCEPT."""
EXPO = 0.6
BOOST_S = 0.8
MOTION_S, MOTION_STEPS = 0.05, 3
"""Time constant of the speed of a stick, and changes in the same direction that are no noise."""
TAKEOFF_STICK = 0.3
LOCK_M_S, LOCK_M_S2 = 0.1, 0.2
"""Below these a climb to be stopped has stopped."""
HOVER_ESTIMATED, LINEAR = 0, 1
"""Values of MPC_THR_CURVE."""

STICKS = record(
    [
        ("deadzone speed_m_s side back boost_max acc_m_s2 jerk_m_s3", "f8"),
        ("speed_up_m_s speed_down_m_s takeoff_m_s acc_up_m_s2 acc_down_m_s2", "f8"),
        ("yaw_rate_rad_s yaw_tau_s tilt_rad tilt_acc_m_s2 tilt_tau_s", "f8"),
        ("thrust_curve", "i8"),
        ("thrust_min thrust_hover thrust_max", "f8"),
        ("acro_rad_s acro_expo acro_superexpo", "f8", 3),
        ("loss_us", "i8"),
        ("loss_mode", "i8"),  # MANUAL_MODE: stop the motors
        ("exceptions", "i8"),  # COM_RCL_EXCEPT
        ("override_per_s", "f8"),  # MAN_OVERRIDE_SPD; below 0: never
        ("positions", "f8", 4),  # roll, pitch, yaw, throttle
        ("motion", "f8", 4),  # filtered speed of each [1/s]
        ("steps", "i8", 4),  # changes in the same direction in succession; negative downwards
        ("received_us", "i8"),  # time of their arrival; 0: never
        ("since_us", "i8"),  # time from which they arrived without being lost
        ("has_acted", "i8"),  # on this loss
        ("is_locked_xy is_locked_z", "i8"),
        ("hold_ned", "f8", 3),
        ("vel_ne acc_ne tilt_ne", "f8", 2),
        ("boost", "f8"),
        ("climb", AXIS),
        ("yaw_rate yaw_sp", "f8"),  # filtered; NaN: the heading is not held
    ],
    state="positions motion steps received_us since_us has_acted is_locked_xy is_locked_z hold_ned vel_ne acc_ne "
    "tilt_ne boost yaw_rate yaw_sp",
)


@kernel
def is_piloted(mode):
    """Return whether a mode needs sticks."""
    return mode in (POSITION_MODE, ALTITUDE_MODE, STABILIZED_MODE, ACRO_MODE)


@kernel
def begin_sticks(s, estimate):
    """Start from the vehicle's current state."""
    s.is_locked_xy = 0
    s.is_locked_z = 0
    s.boost = 1.0
    s.yaw_rate = 0.0
    s.yaw_sp = heading_of(estimate)
    for i in range(2):
        s.vel_ne[i] = estimate.vel_ned[i]
        s.acc_ne[i] = 0.0
        s.tilt_ne[i] = 0.0
    reset_axis(s.climb, 0.0, estimate.vel_ned[2], estimate.pos_ned[2])
    plan(s.climb, estimate.vel_ned[2])


# -- loss ----------------------------------------------------------------------------------------------------------


@kernel
def is_excepted(s, mode):
    """Return whether the loss of the sticks does not matter in a mode."""
    bit = EXCEPT_AUTO
    if mode == MISSION_MODE:
        bit = EXCEPT_MISSION
    elif mode == OFFBOARD_MODE:
        bit = EXCEPT_OFFBOARD
    return s.exceptions & bit != 0


@kernel
def watch_sticks(c, s, t_us, can_hold):
    """React to a loss of the sticks; note whether the mode needs no position."""
    if c.mode in (STABILIZED_MODE, ACRO_MODE):
        c.needs_no_position = 1
    elif c.mode != OFFBOARD_MODE:
        c.needs_no_position = 0
    if c.is_armed == 0 or t_us - s.received_us < s.loss_us:
        s.has_acted = 0
        return
    needs = is_piloted(c.mode)
    were_there = s.received_us != 0 and s.received_us + s.loss_us > c.armed_us
    if s.has_acted != 0 or not (needs or (were_there and not is_excepted(s, c.mode))):
        return
    s.has_acted = 1
    if s.loss_mode == MANUAL_MODE:
        disarm(c)
    elif c.acted == NO_FAILSAFE or needs:
        fail_safe_later(c, t_us, STICKS_FAILSAFE, s.loss_mode, can_hold)
        c.acted = GEOFENCE_FAILSAFE  # as severe


@kernel
def note_motion(s, t_us, roll, pitch, yaw, throttle):
    """Note how new positions differ from the last; return whether a stick moves fast enough to take over."""
    dt_us, moves = t_us - s.received_us, False
    sticks = (roll, pitch, yaw, throttle)
    for i in range(4):
        if s.received_us == 0 or dt_us >= s.loss_us:
            s.motion[i] = 0.0
            s.steps[i] = 0
        elif dt_us > 0:
            dt_s = float(dt_us) * 1e-6
            speed = (sticks[i] - s.positions[i]) / dt_s
            s.motion[i] += filter_weight(MOTION_S, dt_s) * (speed - s.motion[i])
            if speed > 0.0:
                s.steps[i] = max(s.steps[i], 0) + 1
            elif speed < 0.0:
                s.steps[i] = min(s.steps[i], 0) - 1
        moves = moves or (abs(s.motion[i]) > s.override_per_s >= 0.0 and abs(s.steps[i]) >= MOTION_STEPS)
    return moves


# -- curves --------------------------------------------------------------------------------------------------------


@kernel
def shaped(stick, deadzone):
    """Return e(x), from -1 to 1."""
    x = clamp(stick, -1.0, 1.0)
    if abs(x) <= deadzone:
        return 0.0
    d = (x - sign(x) * deadzone) / (1.0 - deadzone)
    return (1.0 - EXPO) * d + EXPO * d * d * d


@kernel
def shaped_rate(stick, expo, superexpo):
    """Return the fraction of the largest rate in acro mode."""
    x = clamp(stick, -1.0, 1.0)
    return ((1.0 - expo) * x + expo * x * x * x) * (1.0 - superexpo) / (1.0 - abs(x) * superexpo)


@kernel
def filter_weight(tau_s, dt_s):
    """Return the weight of a new sample in a low-pass filter."""
    return dt_s / (tau_s + dt_s)


@kernel
def thrust_of_stick(s, hover_thrust):
    """Return the thrust of stabilized mode."""
    throttle = clamp(s.positions[3], -1.0, 1.0)
    middle = hover_thrust if s.thrust_curve == HOVER_ESTIMATED else s.thrust_hover
    if s.thrust_curve == LINEAR:
        middle = 0.5 * (s.thrust_min + s.thrust_max)
    if throttle < 0.0:
        return s.thrust_min + (throttle + 1.0) * (middle - s.thrust_min)
    return middle + throttle * (s.thrust_max - middle)


# -- position and altitude mode ------------------------------------------------------------------------------------


@kernel
def turn_by_stick(s, estimate, dt_s):
    """Advance the yaw rate, and hold the heading while it is 0; return the heading to fly relative to."""
    wanted = shaped(s.positions[2], s.deadzone) * s.yaw_rate_rad_s
    s.yaw_rate += filter_weight(s.yaw_tau_s, dt_s) * (wanted - s.yaw_rate)
    if abs(s.yaw_rate) > FLOAT32_EPSILON:
        s.yaw_sp = math.nan
    elif not is_finite(s.yaw_sp):
        s.yaw_sp = heading_of(estimate)
    return s.yaw_sp if is_finite(s.yaw_sp) else heading_of(estimate)


@kernel
def turned(forward, right, yaw):
    """Return the north and east components of stick positions, within the unit circle."""
    sine, cosine = sincos(yaw)
    return forward * cosine - right * sine, forward * sine + right * cosine


@kernel
def move_by_sticks(s, n, e, tilt_rad, dt_s):
    """Advance velocity and acceleration of position mode."""
    is_free = n == 0.0 and e == 0.0
    full = 2.0 * s.acc_m_s2
    s.boost += filter_weight(BOOST_S, dt_s) * ((s.boost_max if is_free else 1.0) - s.boost)
    speed = norm_xy(s.vel_ne[0], s.vel_ne[1])
    drag = full / s.speed_m_s * s.boost
    if 0.0 < speed < 1.0:
        part = clamp(s.boost - 1.0, 0.0, 1.0)
        drag *= part / math.sqrt(speed) + 1.0 - part
    if is_free and drag * dt_s > 1.0:  # it would reverse the velocity
        s.vel_ne[0], s.vel_ne[1], drag = 0.0, 0.0, 0.0
    an, ae = full * n - drag * s.vel_ne[0], full * e - drag * s.vel_ne[1]
    dn, de = an - s.acc_ne[0], ae - s.acc_ne[1]
    change, step = norm_xy(dn, de), s.jerk_m_s3 * dt_s
    if change > step:
        an, ae = s.acc_ne[0] + dn / change * step, s.acc_ne[1] + de / change * step
    sine, cosine = sincos(tilt_rad)
    length, most = norm_xy(an, ae), ONE_G * sine / cosine
    if length > most:
        an, ae = an / length * most, ae / length * most
    s.acc_ne[0], s.acc_ne[1] = an, ae
    s.vel_ne[0] += an * dt_s
    s.vel_ne[1] += ae * dt_s


@kernel
def set_position_by_sticks(s, setpoint, estimate, yaw, tilt_rad, dt_s):
    """Write the horizontal setpoint of position mode."""
    forward, right = shaped(s.positions[1], s.deadzone), shaped(s.positions[0], s.deadzone)
    length = max(norm_xy(forward, right), 1.0)
    forward = forward / length * (s.back if forward < 0.0 else 1.0)
    n, e = turned(forward, right / length * s.side, yaw)
    move_by_sticks(s, n, e, tilt_rad, dt_s)
    moves = s.vel_ne[0] * s.vel_ne[0] + s.vel_ne[1] * s.vel_ne[1] > FLOAT32_EPSILON
    for i in range(2):
        if s.is_locked_xy == 0:
            s.hold_ned[i] = estimate.pos_ned[i]
        setpoint.pos_ned[i] = math.nan if moves else s.hold_ned[i]
        setpoint.vel_ned[i] = s.vel_ne[i]
        setpoint.acc_ned[i] = s.acc_ne[i]
    s.is_locked_xy = int(not moves)


@kernel
def set_tilt_by_sticks(s, setpoint, yaw, dt_s):
    """Write the horizontal setpoint of altitude mode."""
    forward, right = clamp(s.positions[1], -1.0, 1.0), clamp(s.positions[0], -1.0, 1.0)
    length, weight = max(norm_xy(forward, right), 1.0), filter_weight(s.tilt_tau_s, dt_s)
    s.tilt_ne[0] += weight * (forward / length - s.tilt_ne[0])
    s.tilt_ne[1] += weight * (right / length - s.tilt_ne[1])
    n, e = turned(s.tilt_ne[0], s.tilt_ne[1], yaw)
    setpoint.acc_ned[0], setpoint.acc_ned[1] = n * s.tilt_acc_m_s2, e * s.tilt_acc_m_s2


@kernel
def climb_by_stick(s, task, estimate, dt_s):
    """Write the vertical setpoint."""
    up = shaped(s.positions[3], s.deadzone)
    height_m, setpoint, axis = -estimate.pos_ned[2], task.setpoint, s.climb
    part = clamp((height_m - task.land_alt2_m) / max(task.land_alt1_m - task.land_alt2_m, FLOAT32_EPSILON), 0.0, 1.0)
    limit_up = s.takeoff_m_s + part * (s.speed_up_m_s - s.takeoff_m_s)
    wanted = -up * (s.speed_up_m_s if up > 0.0 else s.speed_down_m_s)
    wanted = clamp(wanted, -limit_up, landing_speed(task, height_m))
    advance_axis(axis, dt_s)
    axis.max_acc, axis.max_vel = s.acc_down_m_s2, s.speed_down_m_s
    if wanted < 0.0:
        axis.max_acc, axis.max_vel = s.acc_up_m_s2, s.speed_up_m_s
    is_locked = abs(axis.vel) < LOCK_M_S and abs(axis.acc) < LOCK_M_S2 and wanted == 0.0
    if not is_locked:
        axis.pos = estimate.pos_ned[2]
    plan(axis, wanted)
    s.is_locked_z = int(is_locked)
    setpoint.pos_ned[2] = axis.pos if is_locked else math.nan
    setpoint.vel_ned[2] = axis.vel
    setpoint.acc_ned[2] = axis.acc


@kernel
def fly_sticks(s, mode, task, estimate, tilt_rad, is_flying, dt_s):
    """Write the setpoint of position or altitude mode."""
    setpoint = task.setpoint
    ask_for_nothing(setpoint)
    yaw = turn_by_stick(s, estimate, dt_s)
    setpoint.yaw, setpoint.yawspeed = s.yaw_sp, s.yaw_rate
    if mode == POSITION_MODE:
        set_position_by_sticks(s, setpoint, estimate, yaw, tilt_rad, dt_s)
    else:
        set_tilt_by_sticks(s, setpoint, yaw, dt_s)
    climb_by_stick(s, task, estimate, dt_s)
    if not is_flying:
        begin_sticks(s, estimate)
    task.wants_takeoff = int(s.positions[3] > TAKEOFF_STICK)
    task.is_active = GUIDED_TASK


# -- stabilized and acro mode --------------------------------------------------------------------------------------


@kernel
def stick_setpoint(s, mode, setpoint, estimate, hover_thrust, dt_s):
    """Write the setpoint of stabilized or acro mode, a `SETPOINT`."""
    roll, pitch = clamp(s.positions[0], -1.0, 1.0), -clamp(s.positions[1], -1.0, 1.0)
    if mode == ACRO_MODE:
        setpoint.kind = RATES
        setpoint.thrust = 0.5 * (clamp(s.positions[3], -1.0, 1.0) + 1.0)
        for i in range(3):
            stick = roll if i == 0 else pitch if i == 1 else s.positions[2]
            setpoint.omega_body[i] = shaped_rate(stick, s.acro_expo[i], s.acro_superexpo[i]) * s.acro_rad_s[i]
        return
    length, weight = max(norm_xy(roll, pitch), 1.0), filter_weight(s.tilt_tau_s, dt_s)
    s.tilt_ne[0] += weight * (roll / length - s.tilt_ne[0])
    s.tilt_ne[1] += weight * (pitch / length - s.tilt_ne[1])
    setpoint.kind = ATTITUDE
    setpoint.thrust = thrust_of_stick(s, hover_thrust)
    setpoint.attitude_rad[0], setpoint.attitude_rad[1] = s.tilt_ne[0] * s.tilt_rad, s.tilt_ne[1] * s.tilt_rad
    setpoint.attitude_rad[2] = turn_by_stick(s, estimate, dt_s)
    setpoint.yaw_rate_rad_s = s.yaw_rate


LOSS_MODES = {1: LOITER_MODE, 2: RETURN_MODE, 3: LAND_MODE, 5: MANUAL_MODE, 6: MANUAL_MODE}
"""Mode for each value of NAV_RCL_ACT."""


def write_sticks(s: Any, p: Params) -> None:
    """Write the parameters."""
    tilt_rad = math.radians(p["MPC_MAN_TILT_MAX"])
    sine, cosine = interpreted(sincos)(tilt_rad)
    speed_m_s = min(p["MPC_VEL_MANUAL"], p["MPC_XY_VEL_MAX"])
    s["deadzone"] = min(p["MAN_DEADZONE"], 0.99)
    s["speed_m_s"], s["boost_max"] = max(speed_m_s, 0.01), max(2.0, math.sqrt(max(speed_m_s, 0.0)))
    for name, end in (("side", "SIDE"), ("back", "BACK")):
        own_m_s = p[f"MPC_VEL_MAN_{end}"]
        s[name] = own_m_s / p["MPC_VEL_MANUAL"] if own_m_s >= 0.0 else 1.0
    s["acc_m_s2"], s["jerk_m_s3"] = p["MPC_ACC_HOR"], p["MPC_JERK_MAX"]
    s["climb"]["max_jerk"] = p["MPC_JERK_MAX"]
    s["climb"]["inverse_jerk"] = 1.0 / p["MPC_JERK_MAX"]
    s["speed_up_m_s"], s["speed_down_m_s"] = p["MPC_Z_VEL_MAX_UP"], p["MPC_Z_VEL_MAX_DN"]
    s["takeoff_m_s"] = p["MPC_TKO_SPEED"]
    s["acc_up_m_s2"], s["acc_down_m_s2"] = p["MPC_ACC_UP_MAX"], p["MPC_ACC_DOWN_MAX"]
    s["yaw_rate_rad_s"], s["yaw_tau_s"] = math.radians(p["MPC_MAN_Y_MAX"]), p["MPC_MAN_Y_TAU"]
    s["tilt_rad"], s["tilt_acc_m_s2"], s["tilt_tau_s"] = tilt_rad, ONE_G * sine / cosine, p["MC_MAN_TILT_TAU"]
    s["thrust_curve"] = p["MPC_THR_CURVE"]
    s["thrust_min"], s["thrust_hover"], s["thrust_max"] = p["MPC_MANTHR_MIN"], p["MPC_THR_HOVER"], p["MPC_THR_MAX"]
    s["acro_rad_s"] = [math.radians(p[f"MC_ACRO_{axis}_MAX"]) for axis in "RPY"]
    s["acro_expo"] = [p["MC_ACRO_EXPO"], p["MC_ACRO_EXPO"], p["MC_ACRO_EXPO_Y"]]
    s["acro_superexpo"] = [min(p[f"MC_ACRO_SUPEXPO{axis}"], 0.99) for axis in ("", "", "Y")]
    s["loss_us"] = round(p["COM_RC_LOSS_T"] * 1e6)
    s["loss_mode"] = LOSS_MODES.get(int(p["NAV_RCL_ACT"]), RETURN_MODE)
    s["exceptions"] = p["COM_RCL_EXCEPT"]
    s["override_per_s"] = p["MAN_OVERRIDE_SPD"]
