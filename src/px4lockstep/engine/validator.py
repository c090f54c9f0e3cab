"""The validator: invariants of a valid run, checked inside the loop.

    cheap      after each interval, the state is finite and | |q| − 1 | < 1e-10; the interval between autopilot ticks is
               constant; faults, wherever they may have changed, refer to existing motors and sensors and are in range;
               wherever outputs are computed, thrusts, torques, currents and voltages are finite, and voltages are not
               negative
    paranoid   also, at each boundary: wind, estimate, other outputs and commands are finite and in range, and the
               right-hand side is pure: two evaluations are bit-identical and change neither state nor inputs

Commands come from outside and are checked at each autopilot tick at every level: NaN means "not driven" and becomes 0;
a command out of range is clamped and counted, or is an error in a strict run.
"""

import math

import numpy as np

from px4lockstep.jit import kernel, record
from px4lockstep.jit.records import COUNT
from px4lockstep.plant.faults import fault_changed, wrong_fault
from px4lockstep.plant.layout import ATT, MAX_BUSES, MAX_MOTORS, MAX_SERVOS, MAX_STATES
from px4lockstep.plant.user import MAX_PARAMETERS

LEVELS = {"off": 0, "cheap": 1, "paranoid": 2}
CHEAP, PARANOID = LEVELS["cheap"], LEVELS["paranoid"]

MAX_NORM_ERROR = 1e-10

# Failure codes. Codes 1 and 2 are those of the integrator. They are typed because a kernel is compiled again for each
# value of a plain integer argument.
SOUND, TOO_MANY_SUBSTEPS, STEP_NOT_FINITE, STATE_NOT_FINITE, QUATERNION_NOT_UNIT = map(np.int64, range(5))
TIME_NOT_RISING, AUTOPILOT_INTERVAL, MOTOR_COMMAND, SERVO_COMMAND, WIND_NOT_FINITE = map(np.int64, range(5, 10))
ESTIMATE_NOT_FINITE, OUTPUT_NOT_FINITE, RHS_NOT_PURE, USER_FUNCTION_RAISED, BUS_VOLTAGE = map(np.int64, range(10, 15))
AUTOPILOT_FAILED, ROTOR_THRUST, ROTOR_TORQUE, MOTOR_CURRENT, BUS_CURRENT = map(np.int64, range(15, 20))
FAULT = np.int64(20)  # plus the number of the kind in `faults.KINDS`; the index is the number of motors

NO_INDEX = np.int64(-1)

VALIDATOR = record(
    [
        ("level", "i8"),
        ("last_time_us", "i8"),  # -1 before the first boundary
        ("last_autopilot_us autopilot_interval_us clamped_commands", "i8"),
        ("code time_us index", "i8"),  # of the failure
        ("value", "f8"),
    ],
    transient="level",
    state="last_time_us last_autopilot_us autopilot_interval_us clamped_commands code time_us index value",
    limits={"code": 0, "clamped_commands": COUNT},  # a failed run has no checkpoints
)


@kernel
def report(validator, code, t_us, index, value):
    """Store a failure code, its time, index and value; return the code."""
    validator.code = code
    validator.time_us = t_us
    validator.index = index
    validator.value = value
    return code


@kernel
def check_time(validator, t_us):
    """Check that time is strictly increasing."""
    if t_us <= validator.last_time_us:
        return report(validator, TIME_NOT_RISING, t_us, NO_INDEX, float(validator.last_time_us))
    validator.last_time_us = t_us
    return SOUND


@kernel
def check_state(validator, t_us, state, plant):
    """Check that the state is finite and the quaternion has unit length."""
    x = state.x
    n = min(plant.n_x, MAX_STATES)
    # A number times 0 is 0, or NaN if it is not finite. Two sums, so that an addition need not wait for the previous.
    even, odd = 0.0, 0.0
    for i in range(1, n, 2):
        even += x[i - 1] * 0.0
        odd += x[i] * 0.0
    if n > 0:
        even += x[n - 1] * 0.0
    if even + odd != 0.0:
        for i in range(plant.n_x):
            if not math.isfinite(x[i]):
                return report(validator, STATE_NOT_FINITE, t_us, i, x[i])
    i = plant.group_start[ATT]
    if plant.group_stop[ATT] > i:
        squared = x[i] * x[i] + x[i + 1] * x[i + 1] + x[i + 2] * x[i + 2] + x[i + 3] * x[i + 3]
        # |q|² − 1 = (|q| − 1)(|q| + 1): the square root is needed only near the limit
        if not abs(squared - 1.0) < MAX_NORM_ERROR:
            norm = math.sqrt(squared)
            if not abs(norm - 1.0) < MAX_NORM_ERROR:
                return report(validator, QUATERNION_NOT_UNIT, t_us, i, norm)
    return SOUND


@kernel
def check_faults(validator, t_us, faults, plant):
    """Check that the scenario's faults are valid for the plant."""
    n_motors = plant.traits.n_motors if plant.traits.is_vehicle != 0 else MAX_MOTORS
    kind = wrong_fault(faults, n_motors)
    return SOUND if kind < 0 else report(validator, FAULT + kind, t_us, n_motors, 0.0)


@kernel
def check_autopilot_interval(validator, t_us):
    """Check that the interval between autopilot ticks is constant."""
    last_us = validator.last_autopilot_us
    validator.last_autopilot_us = t_us
    if last_us >= 0:
        interval_us = t_us - last_us
        if validator.autopilot_interval_us == 0:
            validator.autopilot_interval_us = interval_us
        elif interval_us != validator.autopilot_interval_us:
            return report(validator, AUTOPILOT_INTERVAL, t_us, NO_INDEX, float(interval_us))
    return SOUND


@kernel
def is_in_range(command):
    """Return whether all commands are in range; without branches, since they nearly always are."""
    good = 0
    for i in range(MAX_MOTORS):
        good += (command.motors[i] >= 0.0) & (command.motors[i] <= 1.0)
    for i in range(MAX_SERVOS):
        good += (command.servos[i] >= -1.0) & (command.servos[i] <= 1.0)
    return good == MAX_MOTORS + MAX_SERVOS


@kernel
def fit_command(validator, value, low, is_strict):
    """Return a sanitized command: NaN becomes 0; out of range it is clamped and counted, or unchanged if strict."""
    if math.isnan(value):
        return 0.0
    if low <= value <= 1.0 or is_strict != 0:
        return value
    validator.clamped_commands += 1
    return min(max(value, low), 1.0)


@kernel
def sanitize_command(validator, t_us, command, is_strict):
    """Sanitize a command: NaN becomes 0; values out of range are clamped and counted, or reported if strict."""
    if is_in_range(command):
        return SOUND
    for i in range(MAX_MOTORS):
        command.motors[i] = fit_command(validator, command.motors[i], 0.0, is_strict)
        if not 0.0 <= command.motors[i] <= 1.0:
            return report(validator, MOTOR_COMMAND, t_us, i, command.motors[i])
    for i in range(MAX_SERVOS):
        command.servos[i] = fit_command(validator, command.servos[i], -1.0, is_strict)
        if not -1.0 <= command.servos[i] <= 1.0:
            return report(validator, SERVO_COMMAND, t_us, i, command.servos[i])
    return SOUND


@kernel
def check_outputs(validator, t_us, outputs, plant):
    """Check that forces, torques, currents and voltages are finite, and that no voltage is negative."""
    n_motors, n_buses = MAX_MOTORS, MAX_BUSES
    if plant.traits.is_vehicle != 0:
        n_motors, n_buses = min(plant.traits.n_motors, MAX_MOTORS), min(plant.traits.n_buses, MAX_BUSES)
    # A sum is finite only if all of its terms are. Several sums, so that an addition need not wait for the previous.
    thrust, torque, current, lowest = 0.0, 0.0, 0.0, 0.0
    for i in range(n_motors):
        thrust += outputs.rotor_thrust_n[i]
        torque += outputs.rotor_torque_nm[i]
        current += outputs.motor_current_a[i]
    for i in range(n_buses):
        current += outputs.bus_current_a[i]
        thrust += outputs.bus_voltage_v[i]
        lowest = min(lowest, outputs.bus_voltage_v[i])
    if math.isfinite(thrust + torque + current) and lowest >= 0.0:
        return SOUND
    for i in range(n_motors):
        if not math.isfinite(outputs.rotor_thrust_n[i]):
            return report(validator, ROTOR_THRUST, t_us, i, outputs.rotor_thrust_n[i])
        if not math.isfinite(outputs.rotor_torque_nm[i]):
            return report(validator, ROTOR_TORQUE, t_us, i, outputs.rotor_torque_nm[i])
        if not math.isfinite(outputs.motor_current_a[i]):
            return report(validator, MOTOR_CURRENT, t_us, i, outputs.motor_current_a[i])
    for i in range(n_buses):
        if not math.isfinite(outputs.bus_current_a[i]):
            return report(validator, BUS_CURRENT, t_us, i, outputs.bus_current_a[i])
        if not 0.0 <= outputs.bus_voltage_v[i] < math.inf:
            return report(validator, BUS_VOLTAGE, t_us, i, outputs.bus_voltage_v[i])
    return SOUND


@kernel
def first_not_finite(values):
    """Return the index of the first number that is not finite, or -1."""
    for i in range(len(values)):
        if not math.isfinite(values[i]):
            return i
    return -1


@kernel
def check_boundary(validator, t_us, bus, inputs):
    """Check the values on the bus and the held inputs of the plant."""
    i = first_not_finite(inputs.wind_ned)
    if i >= 0:
        return report(validator, WIND_NOT_FINITE, t_us, i, inputs.wind_ned[i])
    i = first_not_finite(bus.outputs.values)
    if i >= 0:
        return report(validator, OUTPUT_NOT_FINITE, t_us, i, bus.outputs.values[i])
    estimate = bus.estimate
    if (
        first_not_finite(estimate.pos_ned) >= 0
        or first_not_finite(estimate.vel_ned) >= 0
        or first_not_finite(estimate.q_bn) >= 0
        or first_not_finite(estimate.omega_body) >= 0
    ):
        return report(validator, ESTIMATE_NOT_FINITE, t_us, NO_INDEX, math.nan)
    for i in range(MAX_MOTORS):
        if not 0.0 <= inputs.command.motors[i] <= 1.0:
            return report(validator, MOTOR_COMMAND, t_us, i, inputs.command.motors[i])
    for i in range(MAX_SERVOS):
        if not -1.0 <= inputs.command.servos[i] <= 1.0:
            return report(validator, SERVO_COMMAND, t_us, i, inputs.command.servos[i])
    return SOUND


@kernel
def differs(a, b):
    """Return whether two numbers have different bits."""
    return np.float64(a).view(np.int64) != np.float64(b).view(np.int64)


@kernel
def input_changed(inputs, before):
    """Return whether any input differs from a copy."""
    for i in range(MAX_MOTORS):
        if differs(inputs.command.motors[i], before.command.motors[i]):
            return True
    for i in range(MAX_SERVOS):
        if differs(inputs.command.servos[i], before.command.servos[i]):
            return True
    for i in range(3):
        if differs(inputs.wind_ned[i], before.wind_ned[i]):
            return True
    return fault_changed(inputs.faults, before.faults)


@kernel
def keep_what_rhs_reads(sim):
    """Copy what two RHS evaluations must not change: inputs and parameters."""
    sim.work.inputs = sim.inputs
    for i in range(MAX_PARAMETERS):
        sim.work.error.x[i] = sim.plant.user.values[i]


@kernel
def check_purity(validator, t_us, sim):
    """Check that two RHS evaluations, `work.k[0:2]`, are bit-identical and changed no state, input or parameter.

    The loop evaluates them: compiled here too, the right-hand side would take two more seconds.
    """
    state, inputs, plant, work = sim.state, sim.inputs, sim.plant, sim.work
    for i in range(plant.n_x):
        # the slope is evaluated at a copy of the state, `work.trial`
        if differs(work.k[0].x[i], work.k[1].x[i]) or differs(work.trial.x[i], state.x[i]):
            return report(validator, RHS_NOT_PURE, t_us, i, work.k[1].x[i] - work.k[0].x[i])
    for i in range(MAX_PARAMETERS):
        if differs(work.error.x[i], plant.user.values[i]):
            return report(validator, RHS_NOT_PURE, t_us, i, plant.user.values[i])
    if input_changed(inputs, work.inputs):
        return report(validator, RHS_NOT_PURE, t_us, NO_INDEX, 0.0)
    return SOUND
