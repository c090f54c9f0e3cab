"""Rate control: body rates to normalized torques.

    τ = P e + ∫ − D ω̇ + FF ω_sp,   e = ω_sp − ω
    ∫ ← clamp(∫ + max(0, 1 − (e/400°/s)²) I e dt, ±limit)

The integrator stops on the ground, and in the saturated direction of an axis. Large errors are integrated less, because
they come from setpoint steps, which would cause overshoot. The yaw torque passes a first-order low-pass
(MC_YAW_TQ_CUTOFF), because propellers can't follow faster changes.

The angular acceleration `ω̇` is the derivative of the body rates through a first-order low-pass (IMU_DGYRO_CUTOFF), or
zero if it is not provided, as in the recorded flights of the real library.
"""

import math
from typing import Any

from px4lockstep.autopilots.builtin.parameters import Params
from px4lockstep.autopilots.builtin.vectors import PI, clamp
from px4lockstep.jit import inlined_kernel, kernel, record

RATE_CONTROL = record(
    [
        ("p i d ff integral_limit", "f8", 3),  # gains; p, i and d include K
        ("yaw_torque_tau_s", "f8"),  # 0: no filter
        ("has_derivative", "i8"),
        ("derivative_tau_s", "f8"),
        ("integral", "f8", 3),
        ("yaw_torque", "f8"),
        ("last_omega omega_dot", "f8", 3),
        ("saturation", "i8", 3),  # 1: the allocator can't achieve a larger torque; -1: a smaller one
    ],
    state="integral yaw_torque last_omega omega_dot saturation",
    limits={"saturation": (-1, 1)},
)

PER_INTEGRAL_FADE = 180.0 / (400.0 * PI)


@kernel
def reset_rate_control(control, estimate):
    """Reset the state, while disarmed."""
    for i in range(3):
        control.integral[i] = 0.0
        control.last_omega[i] = estimate.omega_body[i]
        control.omega_dot[i] = 0.0
        control.saturation[i] = 0
    control.yaw_torque = 0.0


@kernel
def differentiate_rates(control, estimate, dt_s):
    """Update the filtered derivative of the body rates."""
    weight = dt_s / (dt_s + control.derivative_tau_s)
    per_dt = 1.0 / dt_s
    for i in range(3):
        omega = estimate.omega_body[i]
        control.omega_dot[i] += weight * ((omega - control.last_omega[i]) * per_dt - control.omega_dot[i])
        control.last_omega[i] = omega


@kernel
def grow_integral(control, i, error, dt_s):
    """Integrate the error of one axis."""
    if control.saturation[i] > 0:
        error = min(error, 0.0)
    elif control.saturation[i] < 0:
        error = max(error, 0.0)
    relative = error * PER_INTEGRAL_FADE
    weight = max(0.0, 1.0 - relative * relative)
    limit = control.integral_limit[i]
    control.integral[i] = clamp(control.integral[i] + weight * control.i[i] * error * dt_s, -limit, limit)


@kernel
def rate_torque(control, i, rate_sp, omega):
    """Return the torque of one axis before filtering."""
    return (
        control.p[i] * (rate_sp - omega)
        + control.integral[i]
        - control.d[i] * control.omega_dot[i]
        + control.ff[i] * rate_sp
    )


@inlined_kernel
def control_rates(control, estimate, dt_s, is_landed, out):
    """Write the normalized torque setpoint from the rate setpoint."""
    if control.has_derivative != 0:
        differentiate_rates(control, estimate, dt_s)
    torque = out.torque_sp_body
    for i in range(3):
        rate_sp, omega = out.rate_sp_body[i], estimate.omega_body[i]
        torque[i] = rate_torque(control, i, rate_sp, omega)
        if not is_landed:
            grow_integral(control, i, rate_sp - omega, dt_s)
    if control.yaw_torque_tau_s > 0.0:
        control.yaw_torque += dt_s / (dt_s + control.yaw_torque_tau_s) * (torque[2] - control.yaw_torque)
        torque[2] = control.yaw_torque


def time_constant_s(cutoff_hz: float) -> float:
    """Return the time constant of a low-pass; 0 if it is off."""
    return 1.0 / (2.0 * math.pi * cutoff_hz) if cutoff_hz > 0.0 else 0.0


def write_rate_control(control: Any, p: Params, has_derivative: bool) -> None:
    """Write the rate control parameters."""
    for i, axis in enumerate(("ROLL", "PITCH", "YAW")):
        for name in ("p", "i", "d"):
            control[name][i] = p[f"MC_{axis}RATE_K"] * p[f"MC_{axis}RATE_{name.upper()}"]
        control["ff"][i] = p[f"MC_{axis}RATE_FF"]
        control["integral_limit"][i] = p[f"MC_{axis[0]}R_INT_LIM"]
    control["yaw_torque_tau_s"] = time_constant_s(p["MC_YAW_TQ_CUTOFF"])
    control["has_derivative"] = has_derivative
    control["derivative_tau_s"] = time_constant_s(p["IMU_DGYRO_CUTOFF"])
