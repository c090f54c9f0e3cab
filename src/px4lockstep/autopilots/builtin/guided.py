"""Modes that are flown by command instead of a mission or by sticks: orbit.

Orbit, clockwise for a positive speed s, around a centre at the distance r from the vehicle, with the radius R:

    v = w s t + k (R − r) u,  w = max(0, 1 − |R − r|/3 m),  a = −w s²/R u,

where u points from the centre to the vehicle and t is tangential. The second term is limited to the larger of |s| and
2 m/s. The vehicle therefore flies to the circle first. The altitude is a position setpoint. Velocities change by at
most MPC_ACC_HOR.
"""

import math
from typing import Any

import numpy as np

from px4lockstep.autopilots.builtin.flight_task import GUIDED_TASK
from px4lockstep.autopilots.builtin.parameters import Params
from px4lockstep.autopilots.builtin.position_control import ask_for_nothing
from px4lockstep.autopilots.builtin.vectors import clamp, heading_of, norm_xy
from px4lockstep.jit import kernel, record
from px4lockstep.math.trigonometry import atan2

APPROACH_M = 3.0
APPROACH_M_S = 2.0
ORBIT_GAIN = 0.5
"""k [1/s]"""
TO_CENTRE, INITIAL, FREE, TANGENT = (np.int64(i) for i in range(4))
"""MAVLink's ORBIT_YAW_BEHAVIOUR: to the centre, as at the start, not controlled, along the circle."""

GUIDED = record(
    [
        ("acc_m_s2", "f8"),
        ("takeoff_alt_m", "f8"),  # MIS_TAKEOFF_ALT
        ("mode", "i8"),  # at the last tick
        ("vel_ned", "f8", 3),
        ("yaw_sp", "f8"),
        ("centre_ne", "f8", 2),
        ("radius_m orbit_m_s orbit_down_m", "f8"),
        ("yaw_behaviour", "i8"),
    ],
    state="mode vel_ned yaw_sp centre_ne radius_m orbit_m_s orbit_down_m yaw_behaviour",
)


@kernel
def begin_guided(g, mode, estimate):
    """Start from the vehicle's current state in a new mode."""
    g.mode = mode
    g.yaw_sp = heading_of(estimate)
    for i in range(3):
        g.vel_ned[i] = estimate.vel_ned[i]


@kernel
def slew_velocity(g, vn, ve, vd, dt_s):
    """Advance the velocity setpoint towards the wanted one."""
    step = g.acc_m_s2 * dt_s
    g.vel_ned[0] += clamp(vn - g.vel_ned[0], -step, step)
    g.vel_ned[1] += clamp(ve - g.vel_ned[1], -step, step)
    g.vel_ned[2] += clamp(vd - g.vel_ned[2], -step, step)


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


def write_guided(g: Any, p: Params) -> None:
    """Write the parameters."""
    g["acc_m_s2"] = p["MPC_ACC_HOR"]
    g["takeoff_alt_m"] = p["MIS_TAKEOFF_ALT"]
