"""Motor failure: a motor that draws no current though it is driven is taken out of the allocation.

An ESC tells the current of its motor. One below 0.1 A, a sixth of the least that a turning motor takes, at a command of
0.2 or more, for 0.1 s, is a failure (PX4: FD_ACT_MOT_THR, FD_ACT_MOT_TOUT). The first one is remembered until the
vehicle is disarmed, and the others take its share (PX4: CA_FAILURE_MODE 1), if they can still turn the vehicle about
all axes: seven of eight can, three of four can't, and then nothing is changed. In any case the vehicle lands where it
is: with a motor less it may not be able to climb. PX4 leaves all of this off by default.
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
        ("dead_since_us", "i8", MAX_MOTORS),  # -1: not
        ("can_remove", "i8", MAX_MOTORS),
        ("mix_all", "f8", (MAX_MOTORS, 6)),  # the allocation's
        ("mix_without", "f8", (MAX_MOTORS, MAX_MOTORS, 6)),  # likewise, for each motor that may fail
    ],
    state="failed dead_since_us",
    limits={"failed": (-1, MAX_MOTORS - 1)},
)


@kernel
def reset_motor_failure(failure, allocation):
    """Forget failures: while disarmed."""
    if failure.failed != NONE:
        for i in range(allocation.n_rotors):
            for axis in range(6):
                allocation.mix[i, axis] = failure.mix_all[i, axis]
    failure.failed = NONE
    for i in range(MAX_MOTORS):
        failure.dead_since_us[i] = -1


@kernel
def find_dead_motor(failure, t_us, n_rotors, commands, outputs):
    """Return a motor that has been dead for long enough, or `NONE`; `commands` are by rotor, as last given.

    If none of them draws current, it is the supply.
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
    """Look for the first motor that fails, and take it out; return whether there is one now."""
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
    """Write that no motor has failed so far, and whether that is watched."""
    failure["is_on"] = is_on
    failure["failed"] = NONE
    failure["dead_since_us"] = -1
