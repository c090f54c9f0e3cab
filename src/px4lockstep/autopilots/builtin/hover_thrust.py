"""The hover thrust h, estimated in flight: a Kalman filter of one state.

The thrust setpoint T (upwards) accelerates the vehicle by g (T/h − 1) upwards. With a_z measured downwards, the
innovation, and the slope of what is predicted with h, are

    ν = a_z − g (1 − T/h),   H = g T/h²

and h itself wanders by HTE_HT_NOISE per √s. Innovations beyond HTE_ACC_GATE standard deviations are not used, and h
stays within HTE_THR_RANGE of MPC_THR_HOVER and between 0.05 and 0.9. Off by default, since the real library does not
run it.
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
"""Of the measured acceleration [(m/s²)²]; PX4's start value."""
HOVER_MIN, HOVER_MAX = 0.05, 0.9
"""PX4's HOVER_THRUST_MIN and HOVER_THRUST_MAX of position control, which divides by it."""


@kernel
def reset_hover_thrust(h):
    """Go back to what is known before the flight."""
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
    """Give position control another hover thrust; its integrator takes up the difference, so that thrust stays."""
    before = control.hover_thrust
    acc = control.acc_sp[2]
    control.integral[2] += (acc - ONE_G) * before / value + ONE_G - acc
    control.hover_thrust = value


def write_hover_thrust(hover: Any, p: Params, is_on: bool) -> None:
    """Write the parameters of the estimate of the hover thrust."""
    hover["is_on"] = is_on
    hover["initial"] = max(min(max(p["MPC_THR_HOVER"], p["MPC_THR_MIN"]), p["MPC_THR_MAX"]), HOVER_MIN)
    hover["initial_deviation"] = p["HTE_HT_ERR_INIT"]
    hover["noise"] = p["HTE_HT_NOISE"]
    hover["gate"] = p["HTE_ACC_GATE"]
    hover["range"] = p["HTE_THR_RANGE"]
