"""The validator: invariants that hold at every moment of a sound run, checked inside the loop.

    cheap      after each interval the state is finite and | |q| − 1 | < 1e-10; at autopilot ticks the interval is
               constant
    paranoid   also, at each boundary: wind, estimate, outputs and commands are finite and in range, and the
               right-hand side is pure: evaluated twice it gives the same bits and leaves state and inputs as they were

Commands are checked at each autopilot tick whatever the level, since they come from outside: NaN means "not driven"
and becomes 0; one out of range is clamped and counted, or in a strict run an error.
"""

import math

import numpy as np

from px4lockstep.jit import kernel, record
from px4lockstep.plants.layout import ATT, MAX_MOTORS, MAX_SERVOS
from px4lockstep.plants.plant import rhs

LEVELS = {"off": 0, "cheap": 1, "paranoid": 2}
CHEAP = LEVELS["cheap"]
PARANOID = LEVELS["paranoid"]

MAX_NORM_ERROR = 1e-10

# What was broken. The first two are the integrator's, in its own numbering.
SOUND = 0
TOO_MANY_SUBSTEPS = 1
STEP_NOT_FINITE = 2
STATE_NOT_FINITE = 3
QUATERNION_NOT_UNIT = 4
TIME_NOT_RISING = 5
AUTOPILOT_INTERVAL = 6
MOTOR_COMMAND = 7
SERVO_COMMAND = 8
WIND_NOT_FINITE = 9
ESTIMATE_NOT_FINITE = 10
OUTPUT_NOT_FINITE = 11
RHS_NOT_PURE = 12

VALIDATOR = record(
    [
        ("level", "i8"),
        ("last_time_us", "i8"),  # -1 before the first boundary
        ("last_autopilot_us", "i8"),
        ("autopilot_interval_us", "i8"),
        ("clamped_commands", "i8"),
        # of the failure
        ("code", "i8"),
        ("time_us", "i8"),
        ("index", "i8"),
        ("value", "f8"),
    ]
)


@kernel
def report(validator, code, t_us, index, value):
    """Note what was broken, when, at which index, with which value; return the code."""
    validator.code = code
    validator.time_us = t_us
    validator.index = index
    validator.value = value
    return code


@kernel
def check_time(validator, t_us):
    """Check that time rises strictly."""
    if t_us <= validator.last_time_us:
        return report(validator, TIME_NOT_RISING, t_us, 0, float(validator.last_time_us))
    validator.last_time_us = t_us
    return SOUND


@kernel
def check_state(validator, t_us, state, plant):
    """Check that the state is finite and the quaternion has unit length."""
    x = state.x
    total = 0.0
    for i in range(plant.n_x):
        total += x[i] * 0.0  # 0, or NaN for an infinity or a NaN
    if total != 0.0:
        for i in range(plant.n_x):
            if not math.isfinite(x[i]):
                return report(validator, STATE_NOT_FINITE, t_us, i, x[i])
    i = plant.group_start[ATT]
    if plant.group_stop[ATT] > i:
        norm = math.sqrt(x[i] * x[i] + x[i + 1] * x[i + 1] + x[i + 2] * x[i + 2] + x[i + 3] * x[i + 3])
        if not abs(norm - 1.0) < MAX_NORM_ERROR:
            return report(validator, QUATERNION_NOT_UNIT, t_us, i, norm)
    return SOUND


@kernel
def check_autopilot_interval(validator, t_us):
    """Check that autopilot ticks are equally far apart."""
    last_us = validator.last_autopilot_us
    validator.last_autopilot_us = t_us
    if last_us >= 0:
        interval_us = t_us - last_us
        if validator.autopilot_interval_us == 0:
            validator.autopilot_interval_us = interval_us
        elif interval_us != validator.autopilot_interval_us:
            return report(validator, AUTOPILOT_INTERVAL, t_us, 0, float(interval_us))
    return SOUND


@kernel
def sanitize_command(validator, t_us, command, is_strict):
    """Make a command fit to be held: NaN becomes 0, out of range is clamped and counted, or reported if strict."""
    for i in range(MAX_MOTORS):
        value = command.motors[i]
        if not 0.0 <= value <= 1.0:
            if math.isnan(value):
                command.motors[i] = 0.0
            elif is_strict != 0:
                return report(validator, MOTOR_COMMAND, t_us, i, value)
            else:
                command.motors[i] = min(max(value, 0.0), 1.0)
                validator.clamped_commands += 1
    for i in range(MAX_SERVOS):
        value = command.servos[i]
        if not -1.0 <= value <= 1.0:
            if math.isnan(value):
                command.servos[i] = 0.0
            elif is_strict != 0:
                return report(validator, SERVO_COMMAND, t_us, i, value)
            else:
                command.servos[i] = min(max(value, -1.0), 1.0)
                validator.clamped_commands += 1
    return SOUND


@kernel
def first_not_finite(values, count):
    """Return the index of the first number that is not finite, or -1."""
    for i in range(count):
        if not math.isfinite(values[i]):
            return i
    return -1


@kernel
def check_boundary(validator, t_us, bus, inputs):
    """Check the values on the bus and those held for the plant."""
    i = first_not_finite(inputs.wind_ned, 3)
    if i >= 0:
        return report(validator, WIND_NOT_FINITE, t_us, i, inputs.wind_ned[i])
    i = first_not_finite(bus.outputs.values, len(bus.outputs.values))
    if i >= 0:
        return report(validator, OUTPUT_NOT_FINITE, t_us, i, bus.outputs.values[i])
    estimate = bus.estimate
    if (
        first_not_finite(estimate.pos_ned, 3) >= 0
        or first_not_finite(estimate.vel_ned, 3) >= 0
        or first_not_finite(estimate.q_bn, 4) >= 0
        or first_not_finite(estimate.omega_body, 3) >= 0
    ):
        return report(validator, ESTIMATE_NOT_FINITE, t_us, 0, math.nan)
    for i in range(MAX_MOTORS):
        if not 0.0 <= inputs.command.motors[i] <= 1.0:
            return report(validator, MOTOR_COMMAND, t_us, i, inputs.command.motors[i])
    for i in range(MAX_SERVOS):
        if not -1.0 <= inputs.command.servos[i] <= 1.0:
            return report(validator, SERVO_COMMAND, t_us, i, inputs.command.servos[i])
    return SOUND


@kernel
def check_purity(validator, t_us, state, inputs, plant, work):
    """Evaluate the right-hand side twice: equal bits, and neither the state nor a command has changed."""
    t_s = float(t_us) * 1e-6
    for i in range(plant.n_x):
        work.trial.x[i] = state.x[i]
    command_sum = 0.0
    for i in range(MAX_MOTORS):
        command_sum += inputs.command.motors[i]
    rhs(t_s, state, inputs, plant, work.k[0])
    rhs(t_s, state, inputs, plant, work.k[1])
    for i in range(plant.n_x):
        is_same_slope = np.float64(work.k[0].x[i]).view(np.int64) == np.float64(work.k[1].x[i]).view(np.int64)
        if not is_same_slope or work.trial.x[i] != state.x[i]:
            return report(validator, RHS_NOT_PURE, t_us, i, work.k[1].x[i] - work.k[0].x[i])
    for i in range(MAX_MOTORS):
        command_sum -= inputs.command.motors[i]
    if abs(command_sum) > 1e-9:
        return report(validator, RHS_NOT_PURE, t_us, -1, command_sum)
    return SOUND
