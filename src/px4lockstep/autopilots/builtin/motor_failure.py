"""Motor failure detection: a motor that is driven but draws no current is removed from the control allocation.

The ESCs report motor currents. A current below 0.1 A, a sixth of the smallest current of a spinning motor, at a command
of at least 0.2 for 0.1 s is a failure (PX4: FD_ACT_MOT_THR, FD_ACT_MOT_TOUT). The first failure is latched until the
vehicle disarms. The other motors take over (PX4: CA_FAILURE_MODE 1) if they can still control all axes: seven of eight
can; three of four can't, and then the allocation stays unchanged. In either case the vehicle lands on the spot, because
it may no longer be able to climb. PX4 disables all of this by default.
"""

from typing import Any

from px4lockstep.jit import kernel, record
from px4lockstep.plant.layout import MAX_MOTORS

DRIVEN = 0.2
DEAD_A = 0.1
TIMEOUT_US = 100_000
NONE = -1

MOTOR_FAILURE = record(
    [
        ("is_on", "i8"),
        ("failed", "i8"),  # -1: none
        ("dead_since_us", "i8", MAX_MOTORS),  # -1: not dead
        ("can_remove", "i8", MAX_MOTORS),
        ("mix_all", "f8", (MAX_MOTORS, 6)),  # mix with all motors
        ("mix_without", "f8", (MAX_MOTORS, MAX_MOTORS, 6)),  # mix without each of the motors
    ],
    state="failed dead_since_us",
    limits={"failed": (-1, MAX_MOTORS - 1)},
)


@kernel
def reset_motor_failure(failure, allocation):
    """Clear failures, while disarmed."""
    if failure.failed != NONE:
        for i in range(allocation.n_rotors):
            for axis in range(6):
                allocation.mix[i, axis] = failure.mix_all[i, axis]
    failure.failed = NONE
    for i in range(MAX_MOTORS):
        failure.dead_since_us[i] = -1


@kernel
def find_dead_motor(failure, t_us, n_rotors, commands, outputs):
    """Return a motor that has been dead for long enough, or `NONE`; `commands` are the last ones, by rotor.

    If no motor draws current, the power supply has failed instead.
    """
    total_a = 0.0
    for i in range(n_rotors):
        total_a += outputs.motor_current_a[i]
    for i in range(n_rotors):
        if commands.sp[i] < DRIVEN or outputs.motor_current_a[i] >= DEAD_A or total_a < DEAD_A:
            failure.dead_since_us[i] = -1
        elif failure.dead_since_us[i] < 0:
            failure.dead_since_us[i] = t_us
        elif t_us - failure.dead_since_us[i] >= TIMEOUT_US:
            return i
    return NONE


@kernel
def watch_motors(failure, t_us, allocation, outputs):
    """Detect the first failed motor, and remove it from the allocation; return whether one has just failed."""
    if failure.is_on == 0 or failure.failed != NONE:
        return False
    motor = find_dead_motor(failure, t_us, allocation.n_rotors, allocation, outputs)
    if motor != NONE:
        failure.failed = motor
        if failure.can_remove[motor] != 0:
            for i in range(allocation.n_rotors):
                for axis in range(6):
                    allocation.mix[i, axis] = failure.mix_without[motor, i, axis]
    return motor != NONE


def write_motor_failure(failure: Any, is_on: bool) -> None:
    """Initialize the record without a failure, and switch the detection on or off."""
    failure["is_on"] = is_on
    failure["failed"] = NONE
    failure["dead_since_us"] = -1
