"""Motor failure detection: motors that are driven but draw no current are removed from the control allocation.

The ESCs report motor currents. A current below 0.1 A, less than the no-load current of common motors, at a command of
at least 0.2 for 0.1 s is a failure (PX4: FD_ACT_MOT_THR, FD_ACT_MOT_TOUT). A motor that slows down draws no current
either, because ESCs don't brake: a command that is below 90 % of its recent values, which are forgotten with a time
constant of 0.25 s, does not count. Failures are latched until the vehicle disarms, any number of them.

The other motors take over (PX4: CA_FAILURE_MODE 1) if they can still control roll and pitch at half the hover thrust
without pushing downwards: five of a hexarotor's six can, three of a quadrotor's four can't, and then the allocation
stays unchanged. If they can't control yaw in both directions, the heading is no longer controlled. In any case the
vehicle lands on the spot, because it may no longer be able to climb. PX4 disables all of this by default.
"""

from typing import Any

import numpy as np

from px4lockstep.autopilots.builtin.allocation import PRIORITY, THRUST_Z, YAW, distribute
from px4lockstep.jit import kernel, record
from px4lockstep.plant.layout import MAX_MOTORS

DRIVEN = 0.2
DEAD_A = 0.1
TIMEOUT_US = 100_000
SLOWING = 0.9
"""A command below this part of its recent values may slow the motor down."""
SPIN_DOWN_S = 0.25
MARGIN = 0.1
"""Torque about an axis, in both directions, that counts as control of it."""
TOLERANCE = 0.2
"""Part of a margin or of the thrust that may be missing."""
CHECK_PRIORITY = 0.03
"""Priority of yaw when the control of yaw is checked: that of thrust."""
CHECK_SWEEPS = np.int64(200)

MOTOR_FAILURE = record(
    [
        ("is_on", "i8"),
        ("hover_thrust", "f8"),
        ("forgets", "f8"),  # part of the recent commands that is forgotten per tick
        ("failed_mask", "i8"),
        ("heading_is_lost", "i8"),
        ("dead_since_us", "i8", MAX_MOTORS),  # -1: not dead
        ("recent", "f8", MAX_MOTORS),  # highest recent commands
    ],
    state="failed_mask heading_is_lost dead_since_us recent",
    limits={"failed_mask": 2**MAX_MOTORS - 1},
)


@kernel
def reset_motor_failure(failure, allocation):
    """Clear failures, while disarmed."""
    allocation.removed_mask = 0
    failure.failed_mask = 0
    failure.heading_is_lost = 0
    for i in range(MAX_MOTORS):
        failure.dead_since_us[i] = -1
        failure.recent[i] = 0.0


@kernel
def find_dead_motors(failure, t_us, n_rotors, commands, outputs):
    """Return the mask of motors that have been dead for long enough; `commands` are the last ones, by rotor.

    If no motor draws current, the power supply has failed instead.
    """
    total_a = 0.0
    for i in range(n_rotors):
        total_a += outputs.motor_current_a[i]
    dead_mask = 0
    for i in range(n_rotors):
        command, recent = commands.sp[i], failure.recent[i]
        recent = max(command, recent + failure.forgets * (command - recent))
        failure.recent[i] = recent
        is_driven = command >= DRIVEN and command >= SLOWING * recent
        if not is_driven or outputs.motor_current_a[i] >= DEAD_A or total_a < DEAD_A:
            failure.dead_since_us[i] = -1
        elif failure.dead_since_us[i] < 0:
            failure.dead_since_us[i] = t_us
        elif t_us - failure.dead_since_us[i] >= TIMEOUT_US:
            dead_mask |= 1 << i
    return dead_mask


@kernel
def remove_failed(failure, allocation):
    """Remove the failed motors from the allocation, if the others can control roll and pitch.

    They must apply the margin about an axis in both directions, together with the thrust. The commands are overwritten.
    """
    before_mask = allocation.removed_mask
    allocation.removed_mask = failure.failed_mask
    for case in range(6):
        axis = case // 2
        thrust = failure.hover_thrust if axis == YAW else 0.5 * failure.hover_thrust
        for k in range(6):
            allocation.wanted[k] = 0.0
        allocation.wanted[axis] = MARGIN if case % 2 == 0 else -MARGIN
        allocation.wanted[THRUST_Z] = -thrust
        distribute(allocation, CHECK_PRIORITY if axis == YAW else PRIORITY[YAW], CHECK_SWEEPS)
        is_missing = abs(allocation.missing[THRUST_Z]) > TOLERANCE * thrust
        for k in range(3 if axis == YAW else 2):
            is_missing = is_missing or abs(allocation.missing[k]) > TOLERANCE * MARGIN
        if is_missing and axis == YAW:
            failure.heading_is_lost = 1
        elif is_missing:
            allocation.removed_mask = before_mask
            return


@kernel
def watch_motors(failure, t_us, allocation, outputs):
    """Detect failed motors, and remove them from the allocation; return whether one has just failed."""
    if failure.is_on == 0:
        return False
    new_mask = find_dead_motors(failure, t_us, allocation.n_rotors, allocation, outputs) & ~failure.failed_mask
    if new_mask != 0:
        failure.failed_mask |= new_mask
        remove_failed(failure, allocation)
    return new_mask != 0


def write_motor_failure(failure: Any, is_on: bool, hover_thrust: float, period_s: float) -> None:
    """Initialize the record without a failure; `period_s` is the time between two checks."""
    failure["is_on"] = is_on
    failure["hover_thrust"] = hover_thrust
    failure["forgets"] = min(period_s / SPIN_DOWN_S, 1.0)
    failure["dead_since_us"] = -1
