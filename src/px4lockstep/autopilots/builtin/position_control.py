"""Position and velocity control: setpoints to a thrust vector.

    v_sp ← v_sp + P_x (x_sp − x)                            limited; the position correction has priority
    a_sp ← a_sp + P_v (v_sp − v) + ∫ − D v̇,   ∫ ← ∫ + I (v_sp − v) dt

The acceleration is converted to thrust with the hover thrust h, which balances gravity. The direction follows from the
horizontal acceleration and 1 g down (minus a_z if MPC_ACC_DECOUPLE is 0), limited in tilt; the magnitude makes the
vertical component (a_z/g − 1) h. If the thrust exceeds the maximum, altitude has priority, except for a margin reserved
for horizontal control (MPC_THR_XY_MARG).

Anti-windup: the vertical integrator stops at the thrust limits; the unachieved horizontal acceleration drives the
horizontal integrators back with gain 2/P_v (tracking, after L. Rundqwist, "Anti-Reset Windup for PID Controllers",
1990).

NaN setpoints are not controlled. v̇ is the low-pass filtered derivative of the velocity (MPC_VELD_LP); as in PX4, the
filter coefficient assumes a period of 10 ms, whatever the tick.
"""

import math
from typing import Any

from px4lockstep.autopilots.builtin.parameters import Params
from px4lockstep.autopilots.builtin.thrust_attitude import limit_tilt, thrust_to_attitude
from px4lockstep.autopilots.builtin.vectors import (
    add_if_number,
    clamp,
    heading_of,
    is_finite,
    norm,
    norm_xy,
    scale,
    sign,
)
from px4lockstep.constants import STANDARD_GRAVITY_M_S2
from px4lockstep.jit import inlined_kernel, interpreted, kernel, record
from px4lockstep.math.exponential import exp

ONE_G = STANDARD_GRAVITY_M_S2  # PX4's name

TRAJECTORY = record([("pos_ned vel_ned acc_ned", "f8", 3), ("yaw yawspeed", "f8")])
"""Setpoint of position control; NaN components are not controlled."""

POSITION_CONTROL = record(
    [
        ("pos_p vel_p vel_i vel_d", "f8", 3),
        ("vel_weight", "f8"),  # weight of a new sample in the velocity low-pass; 1: no filter
        ("acc_weight speed_max_m_s thrust_max thrust_margin_xy", "f8"),
        ("is_decoupled", "i8"),
        ("hover_thrust", "f8"),
        ("speed_up_m_s speed_down_m_s tilt_max_rad thrust_min", "f8"),  # current limits
        ("vel", "f8", 3),  # filtered
        ("acc integral acc_sp thrust_sp", "f8", 3),
        ("input", TRAJECTORY),
    ],
    state="hover_thrust speed_up_m_s speed_down_m_s tilt_max_rad thrust_min vel acc integral acc_sp thrust_sp input",
)


@kernel
def filter_velocity(control, estimate, dt_s):
    """Update the filtered velocity and its derivative."""
    per_dt = 1.0 / dt_s
    for i in range(3):
        before = control.vel[i]
        control.vel[i] += control.vel_weight * (estimate.vel_ned[i] - before)
        control.acc[i] += control.acc_weight * ((control.vel[i] - before) * per_dt - control.acc[i])


@kernel
def reset_integral(control):
    """Reset the velocity integrators."""
    for i in range(3):
        control.integral[i] = 0.0


@kernel
def ask_for_nothing(trajectory):
    """Set all components of a setpoint to NaN, which means uncontrolled."""
    for i in range(3):
        trajectory.pos_ned[i] = math.nan
        trajectory.vel_ned[i] = math.nan
        trajectory.acc_ned[i] = math.nan
    trajectory.yaw = math.nan
    trajectory.yawspeed = math.nan


@kernel
def limit_sum_xy(first, second, limit):
    """Return the sum of two horizontal vectors, limited in length; the first has priority."""
    x, y = first[0] + second[0], first[1] + second[1]
    if norm_xy(x, y) <= limit:
        return x, y
    length = norm_xy(first[0], first[1])
    if length >= limit or norm_xy(second[0] - first[0], second[1] - first[1]) < 0.001:
        if length == 0.0:
            return 0.0, 0.0
        return first[0] / length * limit, first[1] / length * limit
    other = norm_xy(second[0], second[1])
    ux, uy = second[0] / other, second[1] / other
    if length < 0.001:
        return ux * limit, uy * limit
    along = ux * first[0] + uy * first[1]
    reach = -along + math.sqrt(along * along - length * length + limit * limit)
    return first[0] + ux * reach, first[1] + uy * reach


@inlined_kernel
def velocity_setpoint(control, estimate):
    """Return the velocity setpoint: feedforward plus position correction, limited."""
    sp = control.input
    correction = (
        (sp.pos_ned[0] - estimate.pos_ned[0]) * control.pos_p[0],
        (sp.pos_ned[1] - estimate.pos_ned[1]) * control.pos_p[1],
        (sp.pos_ned[2] - estimate.pos_ned[2]) * control.pos_p[2],
    )
    vn = add_if_number(sp.vel_ned[0], correction[0])
    ve = add_if_number(sp.vel_ned[1], correction[1])
    vd = add_if_number(sp.vel_ned[2], correction[2])
    cn = correction[0] if is_finite(correction[0]) else 0.0
    ce = correction[1] if is_finite(correction[1]) else 0.0
    vn, ve = limit_sum_xy((cn, ce), (vn - cn, ve - ce), control.speed_max_m_s)
    if is_finite(vd):
        vd = clamp(vd, -control.speed_up_m_s, control.speed_down_m_s)
    return vn, ve, vd


@kernel
def acceleration_to_thrust(control, acc):
    """Return the thrust vector for an acceleration, with tilt and minimum thrust limited."""
    gravity = ONE_G if control.is_decoupled != 0 else ONE_G - acc[2]
    body_z = (-acc[0], -acc[1], gravity)
    body_z = limit_tilt(scale(body_z, 1.0 / norm(body_z)), control.tilt_max_rad)
    vertical = acc[2] * (control.hover_thrust / ONE_G) - control.hover_thrust
    return scale(body_z, min(vertical / body_z[2], -control.thrust_min))


@kernel
def limit_thrust(control, thrust):
    """Return the thrust limited to the maximum, with priority for altitude."""
    length_xy = norm_xy(thrust[0], thrust[1])
    kept = min(length_xy, control.thrust_margin_xy)
    squared_max = control.thrust_max * control.thrust_max
    down = max(thrust[2], -math.sqrt(max(squared_max - kept * kept, 0.0)))
    max_xy = math.sqrt(max(squared_max - down * down, 0.0))
    if length_xy > max_xy:
        return thrust[0] / length_xy * max_xy, thrust[1] / length_xy * max_xy, down
    return thrust[0], thrust[1], down


@kernel
def integrate_velocity_error(control, error, acc, asked_down, thrust, dt_s):
    """Integrate the velocity error, with anti-windup at the thrust limits."""
    en, ee, ed = error
    if (asked_down >= -control.thrust_min and ed >= 0.0) or (asked_down <= -control.thrust_max and ed <= 0.0):
        ed = 0.0
    per_thrust = ONE_G / control.hover_thrust
    given_n, given_e = thrust[0] * per_thrust, thrust[1] * per_thrust
    if acc[0] * acc[0] + acc[1] * acc[1] > given_n * given_n + given_e * given_e:
        gain = 2.0 / control.vel_p[0]
        en -= gain * (acc[0] - given_n)
        ee -= gain * (acc[1] - given_e)
    if is_finite(en):
        control.integral[0] += en * control.vel_i[0] * dt_s
    if is_finite(ee):
        control.integral[1] += ee * control.vel_i[1] * dt_s
    if is_finite(ed):
        down = control.integral[2] + ed * control.vel_i[2] * dt_s
        control.integral[2] = min(abs(down), ONE_G) * sign(down)


@inlined_kernel
def control_position(control, estimate, dt_s):
    """Compute the thrust setpoint from `control.input`."""
    vel_sp = velocity_setpoint(control, estimate)
    error = (vel_sp[0] - control.vel[0], vel_sp[1] - control.vel[1], vel_sp[2] - control.vel[2])
    sp = control.input
    for i in range(3):
        feedback = error[i] * control.vel_p[i] + control.integral[i] - control.acc[i] * control.vel_d[i]
        control.acc_sp[i] = add_if_number(sp.acc_ned[i], feedback)
    acc = (control.acc_sp[0], control.acc_sp[1], control.acc_sp[2])
    asked = acceleration_to_thrust(control, acc)
    thrust = limit_thrust(control, asked)
    integrate_velocity_error(control, error, acc, asked[2], thrust, dt_s)
    control.thrust_sp[0], control.thrust_sp[1], control.thrust_sp[2] = thrust


@kernel
def write_attitude_setpoint(control, estimate, attitude_control, out):
    """Write the attitude and yaw rate setpoints for the thrust vector and heading; return the thrust's magnitude."""
    sp = control.input
    thrust = (control.thrust_sp[0], control.thrust_sp[1], control.thrust_sp[2])
    yaw = sp.yaw if is_finite(sp.yaw) else heading_of(estimate)
    q = thrust_to_attitude(thrust, yaw)
    out.q_sp[0], out.q_sp[1], out.q_sp[2], out.q_sp[3] = q
    attitude_control.yawspeed_sp = sp.yawspeed if is_finite(sp.yawspeed) else 0.0
    return norm(thrust)


FILTER_PERIOD_S = 0.01
"""Sample period for which PX4 computes the coefficients of the velocity filters, whatever the tick."""


def low_pass_weight(cutoff_hz: float, sample_s: float) -> float:
    """Return the weight of a new sample in an exactly discretized first-order low-pass; 1 if it is off."""
    return 1.0 - float(interpreted(exp)(-2.0 * math.pi * cutoff_hz * sample_s)) if cutoff_hz > 0.0 else 1.0


def write_position_control(control: Any, p: Params) -> None:
    """Write the position control parameters."""
    for name, end in (("pos_p", "P"), ("vel_p", "VEL_P_ACC"), ("vel_i", "VEL_I_ACC"), ("vel_d", "VEL_D_ACC")):
        control[name] = [p[f"MPC_{axis}_{end}"] for axis in ("XY", "XY", "Z")]
    control["vel_weight"] = low_pass_weight(p["MPC_VEL_LP"], FILTER_PERIOD_S)
    control["acc_weight"] = low_pass_weight(p["MPC_VELD_LP"], FILTER_PERIOD_S)
    control["speed_max_m_s"] = p["MPC_XY_VEL_MAX"]
    control["thrust_max"] = p["MPC_THR_MAX"]
    control["thrust_margin_xy"] = p["MPC_THR_XY_MARG"]
    control["is_decoupled"] = p["MPC_ACC_DECOUPLE"]
    control["hover_thrust"] = p["MPC_THR_HOVER"]
