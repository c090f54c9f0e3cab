"""In-flight estimator of the hover thrust h, a Kalman filter with one state.

The thrust setpoint T (upwards) accelerates the vehicle by g (T/h − 1) upwards. With a_z measured downwards, the
innovation and the derivative of the predicted a_z with respect to h are

    ν = a_z − g (1 − T/h),   H = g T/h²

and h is modelled as a random walk with HTE_HT_NOISE per √s. Innovations beyond HTE_ACC_GATE standard deviations are
rejected, and h is limited to HTE_THR_RANGE around MPC_THR_HOVER and to 0.05 to 0.9. Off by default, because the real
library does not run it.
"""

import math
from typing import Any

from px4lockstep.autopilots.builtin.parameters import Params
from px4lockstep.autopilots.builtin.position_control import ONE_G
from px4lockstep.autopilots.builtin.vectors import clamp
from px4lockstep.jit import kernel, record

HOVER_THRUST = record(
    [
        ("is_on", "i8"),
        ("initial initial_deviation", "f8"),
        ("noise", "f8"),  # per √s
        ("gate", "f8"),  # standard deviations
        ("range value variance", "f8"),
    ],
    state="value variance",
)

ACC_VARIANCE = 5.0
"""Variance of the measured acceleration [(m/s²)²]; PX4's initial value."""
HOVER_MIN, HOVER_MAX = 0.05, 0.9
"""PX4's HOVER_THRUST_MIN and HOVER_THRUST_MAX; position control divides by the hover thrust."""


@kernel
def reset_hover_thrust(h):
    """Reset the estimate to its initial value."""
    h.value = h.initial
    h.variance = h.initial_deviation * h.initial_deviation


@kernel
def estimate_hover_thrust(h, acc_down, thrust_up, dt_s):
    """Update the estimate from a measured acceleration."""
    h.variance += h.noise * h.noise * dt_s
    if thrust_up <= 0.0:
        return
    slope = ONE_G * thrust_up / (h.value * h.value)
    innovation = acc_down - ONE_G * (1.0 - thrust_up / h.value)
    variance = slope * slope * h.variance + ACC_VARIANCE
    if abs(innovation) > h.gate * math.sqrt(variance):
        return
    gain = h.variance * slope / variance
    h.value = clamp(
        h.value + gain * innovation, max(h.initial - h.range, HOVER_MIN), min(h.initial + h.range, HOVER_MAX)
    )
    h.variance = max((1.0 - gain * slope) * h.variance, 1e-10)


@kernel
def change_hover_thrust(control, value):
    """Change position control's hover thrust, and adjust its integrator so that the thrust stays the same."""
    before = control.hover_thrust
    acc = control.acc_sp[2]
    control.integral[2] += (acc - ONE_G) * before / value + ONE_G - acc
    control.hover_thrust = value


def write_hover_thrust(hover: Any, p: Params, is_on: bool) -> None:
    """Write the parameters of the hover thrust estimator."""
    hover["is_on"] = is_on
    hover["initial"] = max(min(max(p["MPC_THR_HOVER"], p["MPC_THR_MIN"]), p["MPC_THR_MAX"]), HOVER_MIN)
    hover["initial_deviation"] = p["HTE_HT_ERR_INIT"]
    hover["noise"] = p["HTE_HT_NOISE"]
    hover["gate"] = p["HTE_ACC_GATE"]
    hover["range"] = p["HTE_THR_RANGE"]
