"""Setpoint mode, PX4's offboard: the vehicle follows setpoints from outside.

The commander enters the mode on request if setpoints arrive. They are lost if none has arrived for COM_OF_LOSS_T, or if
they need a position that the estimate lacks. Then it reacts by COM_OBL_RC_ACT: 3 returns, 4 lands, 5 holds, 6 and 7
stop the motors; 0 to 2 are manual modes, and PX4 returns instead if there is no remote control, as here. If setpoints
arrive again, the vehicle follows them again, unless another mode was requested or a failsafe acted since.

A trajectory setpoint (position, velocity, acceleration) replaces that of the flight task. The vehicle takes off with
PX4's ramp if the setpoint is above it, or demands a velocity or an acceleration upwards. An attitude or body rate
setpoint bypasses position control, without a ramp.
"""

from typing import Any

import numpy as np

from px4lockstep.autopilots.builtin.commander import NO_FAILSAFE, ask, disarm
from px4lockstep.autopilots.builtin.parameters import Params
from px4lockstep.autopilots.builtin.vectors import has_position, is_finite
from px4lockstep.autopilots.requests import LAND_MODE, LOITER_MODE, MANUAL_MODE, OFFBOARD_MODE, RETURN_MODE
from px4lockstep.jit import kernel, record
from px4lockstep.math.quaternion import from_euler
from px4lockstep.scenario.setpoint_rows import ATTITUDE, NONE, SETPOINT

SETPOINT_FAILSAFE = np.int64(6)
"""Number of the failsafe. It changes the mode only in setpoint mode, so it overrides no other."""
RECENT_US = 1_000_000
"""Age of a trajectory setpoint up to which it can start a takeoff; PX4's value."""

OFFBOARD = record(
    [
        ("loss_us", "i8"),
        ("loss_mode", "i8"),  # MANUAL_MODE: stop the motors
        ("requests", "i8"),  # at the last tick
        ("received_us", "i8"),  # time of the last setpoint
        ("setpoint", SETPOINT),  # the last one
    ],
    state="requests received_us setpoint",
)


@kernel
def needs_position(setpoint):
    """Return whether a setpoint controls position or velocity."""
    needs = False
    for i in range(3):
        needs = needs or is_finite(setpoint.pos_ned[i]) or is_finite(setpoint.vel_ned[i])
    return needs


@kernel
def follow_requests(c, o, t_us, given, estimate):
    """Store the setpoint of this tick, enter setpoint mode on request, and react to a loss of setpoints."""
    if given.setpoint.kind != NONE:
        o.setpoint = given.setpoint
        o.received_us = t_us
    needs = needs_position(o.setpoint)
    is_old = o.setpoint.kind == NONE or t_us - o.received_us >= o.loss_us
    is_lost = is_old or (needs and not has_position(estimate))
    if given.requests > o.requests and not is_lost:
        ask(c, OFFBOARD_MODE)
    o.requests = given.requests
    c.needs_no_position = int(c.mode == OFFBOARD_MODE and not needs)
    if c.is_armed == 0:
        return
    if c.mode == OFFBOARD_MODE and is_lost:
        c.mode = o.loss_mode
        c.failsafe = SETPOINT_FAILSAFE
        if o.loss_mode == MANUAL_MODE:
            disarm(c)
    elif c.failsafe == SETPOINT_FAILSAFE and c.mode == o.loss_mode and not is_lost:
        c.mode = OFFBOARD_MODE
        c.failsafe = NO_FAILSAFE


@kernel
def take_setpoint(o, t_us, task, estimate):
    """Write the trajectory setpoint; the flight task starts anew after setpoint mode."""
    task.is_active = 0
    for i in range(3):
        task.setpoint.pos_ned[i] = o.setpoint.pos_ned[i]
        task.setpoint.vel_ned[i] = o.setpoint.vel_ned[i]
        task.setpoint.acc_ned[i] = o.setpoint.acc_ned[i]
    task.setpoint.yaw = o.setpoint.yaw_rad
    task.setpoint.yawspeed = o.setpoint.yaw_rate_rad_s
    is_up = o.setpoint.pos_ned[2] < estimate.pos_ned[2] or o.setpoint.vel_ned[2] < 0.0 or o.setpoint.acc_ned[2] < 0.0
    task.wants_takeoff = int(is_up and t_us - o.received_us < RECENT_US)


@kernel
def set_attitude_or_rates(setpoint, estimate, attitude_control, out):
    """Write an attitude or body rate setpoint; with body rates, the logged attitude setpoint is the estimate."""
    if setpoint.kind == ATTITUDE:
        q = from_euler(setpoint.attitude_rad[0], setpoint.attitude_rad[1], setpoint.attitude_rad[2])
        out.q_sp[0], out.q_sp[1], out.q_sp[2], out.q_sp[3] = q
        yaw_rate = setpoint.yaw_rate_rad_s
        attitude_control.yawspeed_sp = yaw_rate if is_finite(yaw_rate) else 0.0
        return
    for i in range(4):
        out.q_sp[i] = estimate.q_bn[i]
    for i in range(3):
        rate = setpoint.omega_body[i]
        out.rate_sp_body[i] = rate if is_finite(rate) else estimate.omega_body[i]
    attitude_control.yawspeed_sp = 0.0


LOSS_MODES = {3: RETURN_MODE, 4: LAND_MODE, 5: LOITER_MODE, 6: MANUAL_MODE, 7: MANUAL_MODE}
"""Mode for each value of COM_OBL_RC_ACT; all others return, because there is no remote control."""


def write_offboard(o: Any, p: Params) -> None:
    """Write the parameters of setpoint mode."""
    o["loss_us"] = round(p["COM_OF_LOSS_T"] * 1e6)
    o["loss_mode"] = LOSS_MODES.get(int(p["COM_OBL_RC_ACT"]), RETURN_MODE)
