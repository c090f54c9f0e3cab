"""Takeoff: motors spool up, then the climb speed limit ramps up until the vehicle flies.

    v_up(s) = v_0 + s (v_wanted − v_0),   v_0 = −g/P_vz,   s from 0 to 1 in MPC_TKO_RAMP_T

At s = 0 the velocity controller, limited to v_0, commands zero thrust.
"""

from typing import Any

import numpy as np

from px4lockstep.autopilots.builtin.parameters import Params
from px4lockstep.autopilots.builtin.position_control import ONE_G
from px4lockstep.jit import kernel, record

DISARMED, SPOOLUP, READY, RAMPUP, FLIGHT = (np.int64(i) for i in range(5))

TAKEOFF = record(
    [
        ("spoolup_us", "i8"),
        ("ramp_time_s", "f8"),
        ("ramp_start_m_s", "f8"),  # v_0, upwards positive
        ("state", "i8"),
        ("progress", "f8"),
    ],
    state="state progress",
    limits={"state": int(FLIGHT)},
)


@kernel
def update_takeoff(takeoff, armed_for_us, is_landed, wants_takeoff):
    """Advance the takeoff state of an armed vehicle."""
    if takeoff.state == DISARMED:
        takeoff.state = SPOOLUP
    if takeoff.state == SPOOLUP and armed_for_us >= takeoff.spoolup_us:
        takeoff.state = READY
    if takeoff.state == READY and wants_takeoff:
        takeoff.state = RAMPUP
        takeoff.progress = 0.0
    if takeoff.state == RAMPUP and takeoff.progress >= 1.0:
        takeoff.state = FLIGHT
    if takeoff.state == FLIGHT and is_landed:
        takeoff.state = READY


@kernel
def speed_up_limit(takeoff, dt_s, wanted_m_s):
    """Advance the ramp by a step; return the climb speed limit."""
    if takeoff.state < RAMPUP:
        return takeoff.ramp_start_m_s
    if takeoff.state == RAMPUP:
        takeoff.progress += dt_s / max(takeoff.ramp_time_s, dt_s)
        if takeoff.progress < 1.0:
            return takeoff.ramp_start_m_s + takeoff.progress * (wanted_m_s - takeoff.ramp_start_m_s)
    return wanted_m_s


def write_takeoff(takeoff: Any, p: Params) -> None:
    """Write the takeoff parameters."""
    takeoff["spoolup_us"] = round(p["COM_SPOOLUP_TIME"] * 1e6)
    takeoff["ramp_time_s"] = p["MPC_TKO_RAMP_T"]
    takeoff["ramp_start_m_s"] = -ONE_G / max(p["MPC_Z_VEL_P_ACC"], 0.01)
