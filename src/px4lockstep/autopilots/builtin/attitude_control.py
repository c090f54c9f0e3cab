"""Attitude control: converts the attitude error to body rates, with lower priority for heading than for tilt.

The rotation from attitude q to its setpoint is split into a rotation of the thrust axis, q_tilt, and one about that
axis by an angle ψ. The angle is scaled down (MC_YAW_WEIGHT), and both are combined again; then

    ω_sp = 2 sgn(e_0) (e_1, e_2, e_3) ∘ P + R_nb (0, 0, ψ̇_sp),   e = q⁻¹ ⊗ q_tilt q ⊗ q_yaw(w ψ)

with the yaw gain divided by the weight. For small x = sin(ψ/2), the weighted half angle has the series

    sin(w asin x) = Σ b_k x^(2k+1),   b_0 = w,   b_{k+1} = b_k ((2k + 1)² − w²)/((2k + 2)(2k + 3))
    cos(w asin x) = Σ c_k x^(2k),     c_0 = 1,   c_{k+1} = c_k ((2k)² − w²)/((2k + 1)(2k + 2))

A vehicle that lost control of its heading spins at a rate r, and its tilt no longer follows the rate setpoint. With
body rates ω = p + iq as a complex number, a rate loop of bandwidth k, and inertias I_zz ≈ I_xx + I_yy of a flat
vehicle, in axes that do not spin:

    ω̇ = k (ω_sp − ω) + 2 i r ω,   so that   ω → ω_sp / (1 − 2 i r/k)

The setpoint is therefore multiplied by 1 − i r T, with T = 2/k.

After D. Brescianini, M. Hehn, R. D'Andrea, "Nonlinear Quadrocopter Attitude Control", ETH Zürich, 2013.
"""

import math
from typing import Any

from px4lockstep.autopilots.builtin.parameters import Params
from px4lockstep.autopilots.builtin.vectors import FLOAT32_EPSILON, clamp, cross, dot, norm
from px4lockstep.jit import inlined_kernel, kernel, record
from px4lockstep.math.quaternion import conjugate, multiply
from px4lockstep.math.trigonometry import asin, sincos

ATTITUDE_CONTROL = record(
    [
        ("p", "f8", 3),  # the yaw gain divided by the weight
        ("yaw_weight", "f8"),
        ("yaw_sine", "f8", 5),  # b_k
        ("yaw_cosine", "f8", 5),  # c_k
        ("rate_limit_rad_s", "f8", 3),
        ("yawspeed_sp", "f8"),  # part of the attitude setpoint
    ],
    state="yawspeed_sp",
)

OPPOSITE = 1.0 - 1e-5
"""Above this axis component, the thrust axis and its setpoint are opposite, and the rotation between them undefined."""

SPIN_LEAD_S = 0.1
"""T, for k = 20/s; a typical bandwidth with PX4's gains."""

SMALL_SINE = 1.0 / 32.0
"""Limit of the sine of half the heading error below which the series is exact in double precision."""


def yaw_series(weight: float) -> tuple[list[float], list[float]]:
    """Return the coefficients of sine and cosine of the weighted half angle."""
    sine, cosine = [weight], [1.0]
    for k in range(4):
        odd, even = 2.0 * k + 1.0, 2.0 * k
        sine.append(sine[k] * (odd * odd - weight * weight) / ((odd + 1.0) * (odd + 2.0)))
        cosine.append(cosine[k] * (even * even - weight * weight) / ((even + 1.0) * (even + 2.0)))
    return sine, cosine


@kernel
def weighted_half_angle(control, x):
    """Return sine and cosine of the weighted half angle; x is the sine of the unweighted half angle."""
    if abs(x) < SMALL_SINE:
        b, c = control.yaw_sine, control.yaw_cosine
        u = x * x
        u2 = u * u
        sine = (b[0] + u * b[1]) + u2 * ((b[2] + u * b[3]) + u2 * b[4])
        cosine = (c[0] + u * c[1]) + u2 * ((c[2] + u * c[3]) + u2 * c[4])
        return x * sine, cosine
    return sincos(control.yaw_weight * asin(clamp(x, -1.0, 1.0)))


@kernel
def turn_about_z(q, sine, cosine):
    """Return q ⊗ (cosine, 0, 0, sine)."""
    w, x, y, z = q
    return w * cosine - z * sine, x * cosine + y * sine, y * cosine - x * sine, z * cosine + w * sine


@kernel
def down_in_body(q_bn):
    """Return the NED z axis in body axes."""
    w, x, y, z = q_bn
    return 2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)


@kernel
def thrust_axis(q_bn):
    """Return the body z axis in NED."""
    w, x, y, z = q_bn
    return 2.0 * (w * y + x * z), 2.0 * (y * z - w * x), w * w - x * x - y * y + z * z


@inlined_kernel
def shortest_rotation(a, b):
    """Return the quaternion of the shortest rotation from one unit vector to another."""
    axis = cross(a, b)
    cosine = dot(a, b)
    if cosine < 0.0 and norm(axis) < 1e-5:
        # any perpendicular axis will do
        if abs(a[0]) < abs(a[1]) and abs(a[0]) < abs(a[2]):
            axis = cross(a, (1.0, 0.0, 0.0))
        elif abs(a[1]) < abs(a[2]):
            axis = cross(a, (0.0, 1.0, 0.0))
        else:
            axis = cross(a, (0.0, 0.0, 1.0))
        w = 0.0
    else:
        w = 1.0 + cosine
    length = math.sqrt(w * w + dot(axis, axis))
    if length <= FLOAT32_EPSILON:
        return 1.0, 0.0, 0.0, 0.0
    inverse = 1.0 / length
    return w * inverse, axis[0] * inverse, axis[1] * inverse, axis[2] * inverse


@inlined_kernel
def attitude_error(control, q_bn, q_sp):
    """Return twice the vector part of the rotation to the setpoint, with its heading scaled down."""
    q_tilt = shortest_rotation(thrust_axis(q_bn), thrust_axis(q_sp))
    if abs(q_tilt[1]) > OPPOSITE or abs(q_tilt[2]) > OPPOSITE:
        reduced = q_sp
    else:
        reduced = multiply(q_tilt, q_bn)
    heading = multiply(conjugate(reduced), q_sp)
    side = -1.0 if heading[0] < 0.0 else 1.0
    sine, cosine = weighted_half_angle(control, side * heading[3])
    error = multiply(conjugate(q_bn), turn_about_z(reduced, sine, cosine))
    twice = -2.0 if error[0] < 0.0 else 2.0
    return twice * error[1], twice * error[2], twice * error[3]


@inlined_kernel
def control_attitude(control, estimate, is_spinning, out):
    """Write the body rate setpoint from the attitude setpoint; `is_spinning` compensates it for a spin."""
    q = estimate.q_bn
    q_bn = (q[0], q[1], q[2], q[3])
    error = attitude_error(control, q_bn, (out.q_sp[0], out.q_sp[1], out.q_sp[2], out.q_sp[3]))
    down = down_in_body(q_bn)
    for i in range(3):
        limit = control.rate_limit_rad_s[i]
        out.rate_sp_body[i] = clamp(error[i] * control.p[i] + control.yawspeed_sp * down[i], -limit, limit)
    if is_spinning:
        angle = SPIN_LEAD_S * estimate.omega_body[2]
        roll, pitch = out.rate_sp_body[0], out.rate_sp_body[1]
        out.rate_sp_body[0] = roll + angle * pitch
        out.rate_sp_body[1] = pitch - angle * roll


def write_attitude_control(control: Any, p: Params) -> None:
    """Write the attitude control parameters."""
    weight = min(max(p["MC_YAW_WEIGHT"], 0.0), 1.0)
    control["p"] = (p["MC_ROLL_P"], p["MC_PITCH_P"], p["MC_YAW_P"] / weight if weight > 1e-4 else p["MC_YAW_P"])
    control["yaw_weight"] = weight
    control["yaw_sine"], control["yaw_cosine"] = yaw_series(weight)
    control["rate_limit_rad_s"] = [math.radians(p[f"MC_{axis}RATE_MAX"]) for axis in ("ROLL", "PITCH", "YAW")]
