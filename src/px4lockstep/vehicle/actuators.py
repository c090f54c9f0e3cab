"""Actuators between command and effect: motors (ESC input) and servos, each kind with one model.

    direct         y = u                                      no state
    first_order    ẏ = (u − y) / τ
    second_order   ÿ = ωn² (u − y) − 2 ζ ωn ẏ                 |ẏ| ≤ rate limit, y within its range

At the rate limit the acceleration into the limit is 0. The output of motors lies in [0, 1], of servos in [-1, 1]. Only
channels that a motor or servo is mapped to have a state: first the outputs of motors and servos, then their rates.
"""

from px4lockstep.jit import kernel, record
from px4lockstep.plant.layout import MAX_MOTORS, MAX_SERVOS
from px4lockstep.vehicle.regime import MOTOR_RATE_BIT, RANGE_BIT, SERVO_RATE_BIT

DIRECT = 0
FIRST_ORDER = 1
SECOND_ORDER = 2
KINDS = {"direct": DIRECT, "first_order": FIRST_ORDER, "second_order": SECOND_ORDER}

ACTUATOR = record(
    [
        ("kind", "i8"),
        ("inverse_tau", "f8"),  # first order
        ("omega_n_squared", "f8"),  # second order
        ("two_zeta_omega_n", "f8"),
        ("rate_limit", "f8"),  # [1/s], infinity for none
        ("low", "f8"),
        ("high", "f8"),
    ]
)

ACTUATION = record(
    [
        ("motor", ACTUATOR),
        ("servo", ACTUATOR),
        ("n_servos", "i8"),
        ("motor_channel", "i8", MAX_MOTORS),  # of each rotor, from 0
        ("servo_channel", "i8", MAX_SERVOS),
        ("i_servo", "i8"),  # where the outputs of servos start in the state
        ("i_motor_rate", "i8"),
        ("i_servo_rate", "i8"),
    ]
)


@kernel
def clamp(value, low, high):
    """Return the value, or the bound that it is beyond."""
    return min(max(value, low), high)


@kernel
def actuator_rate(actuator, command, y, y_rate):
    """Return ẏ and ÿ; ÿ is 0 for a first-order actuator, and ẏ is its own slope."""
    if actuator.kind == FIRST_ORDER:
        return (command - y) * actuator.inverse_tau, 0.0
    rate = clamp(y_rate, -actuator.rate_limit, actuator.rate_limit)
    acceleration = actuator.omega_n_squared * (command - y) - actuator.two_zeta_omega_n * rate
    if (rate >= actuator.rate_limit and acceleration > 0.0) or (rate <= -actuator.rate_limit and acceleration < 0.0):
        acceleration = 0.0
    return rate, acceleration


@kernel
def write_channel_rate(actuator, command, state, i_output, i_rate, dstate, limit_bit):
    """Write the derivative of one channel; note if it is at its rate limit, or beyond its range."""
    y_rate = state.x[i_rate] if actuator.kind == SECOND_ORDER else 0.0
    limited = clamp(command, actuator.low, actuator.high)
    rate, acceleration = actuator_rate(actuator, limited, state.x[i_output], y_rate)
    dstate.x[i_output] = rate
    if actuator.kind == SECOND_ORDER:
        dstate.x[i_rate] = acceleration
        if abs(y_rate) >= actuator.rate_limit:
            dstate.regime |= 1 << limit_bit
        if not actuator.low <= state.x[i_output] <= actuator.high:
            dstate.regime |= 1 << RANGE_BIT


@kernel
def write_actuator_rates(a, m, state, inputs, dstate):
    """Write the derivatives of all channels that have a state; `m` is the `MULTIROTOR` record."""
    if a.motor.kind != DIRECT:
        for i in range(m.n_rotors):
            command = inputs.command.motors[a.motor_channel[i]]
            write_channel_rate(a.motor, command, state, m.i_act + i, a.i_motor_rate + i, dstate, MOTOR_RATE_BIT + i)
    if a.servo.kind != DIRECT:
        for i in range(a.n_servos):
            command = inputs.command.servos[a.servo_channel[i]]
            write_channel_rate(a.servo, command, state, a.i_servo + i, a.i_servo_rate + i, dstate, SERVO_RATE_BIT)


@kernel
def project_channel(actuator, state, i_output, i_rate):
    """Put an output and its rate back into their ranges; return how many were out of them."""
    x = state.x
    moved = 0
    y = x[i_output]
    if not actuator.low <= y <= actuator.high:
        x[i_output] = clamp(y, actuator.low, actuator.high)
        moved += 1
        if actuator.kind == SECOND_ORDER:
            x[i_rate] = 0.0
    if actuator.kind == SECOND_ORDER and not -actuator.rate_limit <= x[i_rate] <= actuator.rate_limit:
        x[i_rate] = clamp(x[i_rate], -actuator.rate_limit, actuator.rate_limit)
        moved += 1
    return moved


@kernel
def project_actuators(a, m, state):
    """Put all channels that have a state back into their ranges; return how many states were out of them."""
    moved = 0
    if a.motor.kind != DIRECT:
        for i in range(m.n_rotors):
            moved += project_channel(a.motor, state, m.i_act + i, a.i_motor_rate + i)
    if a.servo.kind != DIRECT:
        for i in range(a.n_servos):
            moved += project_channel(a.servo, state, a.i_servo + i, a.i_servo_rate + i)
    return moved
