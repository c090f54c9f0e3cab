"""Land detector, from the state estimate and the thrust setpoint.

The vehicle has landed if, for LNDMC_TRIG_TIME, it does not move and its thrust is low: at most 30 % of the way from
minimum to hover thrust.

    |v_z| < LNDMC_Z_VEL_MAX,   |v_xy| < LNDMC_XY_VEL_MAX,   |ω| < LNDMC_ROT_MAX

On the ground the vehicle can't follow the commanded descent, and the integrator reduces the thrust within a few
seconds. By default the scenario's `landed` is used instead, which is computed from the true state; the real library
gets the same from its host.
"""

import math
from typing import Any

from px4lockstep.autopilots.builtin.parameters import Params
from px4lockstep.autopilots.builtin.vectors import norm_xy
from px4lockstep.jit import kernel, record

LOW_THRUST = 0.3

LAND_DETECTOR = record(
    [
        ("is_on", "i8"),  # 0: the scenario's `landed` is used
        ("speed_z_m_s speed_xy_m_s rate_rad_s", "f8"),
        ("trigger_us", "i8"),
        ("moved_us", "i8"),  # when it last moved or had more than low thrust
        ("landed", "i8"),
    ],
    state="moved_us landed",
)


@kernel
def is_still(detector, estimate):
    """Return whether the vehicle neither moves nor rotates."""
    v, omega = estimate.vel_ned, estimate.omega_body
    turning2 = omega[0] * omega[0] + omega[1] * omega[1] + omega[2] * omega[2]
    return (
        abs(v[2]) < detector.speed_z_m_s
        and norm_xy(v[0], v[1]) < detector.speed_xy_m_s
        and turning2 < detector.rate_rad_s * detector.rate_rad_s
    )


@kernel
def detect_land(detector, t_us, estimate, thrust, least_thrust, hover_thrust):
    """Update `detector.landed`; without a valid position it keeps its value."""
    if estimate.is_valid == 0.0:
        return
    if not is_still(detector, estimate) or thrust > least_thrust + LOW_THRUST * (hover_thrust - least_thrust):
        detector.moved_us = t_us
    detector.landed = int(t_us - detector.moved_us >= detector.trigger_us)


def write_land_detector(detector: Any, p: Params, is_on: bool) -> None:
    """Write the land detector parameters."""
    detector["is_on"] = is_on
    detector["speed_z_m_s"] = p["LNDMC_Z_VEL_MAX"]
    detector["speed_xy_m_s"] = p["LNDMC_XY_VEL_MAX"]
    detector["rate_rad_s"] = math.radians(p["LNDMC_ROT_MAX"])
    detector["trigger_us"] = round(p["LNDMC_TRIG_TIME"] * 1e6)
    detector["moved_us"] = -detector["trigger_us"]  # the flight starts on the ground
