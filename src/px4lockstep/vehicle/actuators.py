"""Actuator dynamics of motors (ESC input) and servos, with one model for all motors and one for all servos.

    direct         y = u                                      no state
    first_order    ẏ = (u − y) / τ
    second_order   ÿ = ωn² (u − y) − 2 ζ ωn ẏ                 |ẏ| ≤ rate limit, y within its range

With `discretization = "exact"`, the output of a first-order actuator after a step h is its closed form for the held
command, whatever the integrator:

    y(t + h) = u + (y(t) − u) exp(−h / τ)

At the rate limit, the acceleration further into the limit is 0. Motor outputs are in [0, 1], servo outputs in [-1, 1].
Only channels that a motor or servo is mapped to have states: first the outputs of motors and servos, then their rates.
"""

import math
from collections import Counter
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from px4lockstep.jit import kernel, record
from px4lockstep.math.exponential import exp
from px4lockstep.part import KEY, Found, Part, entry, fill, misfit, name_or_table, spelled
from px4lockstep.plant.layout import MAX_MOTORS, MAX_SERVOS
from px4lockstep.vehicle.regime import MOTOR_RATE_BIT, RANGE_BIT, SERVO_RATE_BIT

DIRECT, FIRST_ORDER, SECOND_ORDER = range(3)
KINDS = {"direct": DIRECT, "first_order": FIRST_ORDER, "second_order": SECOND_ORDER}
SPELLINGS = {"algebraic": "direct", "firstorder": "first_order", "secondorder": "second_order"}
"""Other spellings of the kinds, as in files of PX4Lockstep.jl."""

ACTUATOR = record(
    [
        ("kind is_exact", "i8"),
        ("inverse_tau", "f8"),  # first order
        ("omega_n_squared", "f8"),  # second order
        ("two_zeta_omega_n", "f8"),
        ("rate_limit", "f8"),  # [1/s], infinity without a limit
        ("low high", "f8"),
    ]
)

ACTUATION = record(
    [
        ("motor servo", ACTUATOR),
        ("n_servos", "i8"),
        ("motor_channel", "i8", MAX_MOTORS),  # channel of each rotor, from 0
        ("servo_channel", "i8", MAX_SERVOS),
        ("i_servo i_motor_rate i_servo_rate", "i8"),  # start indices of outputs and rates in the state
    ]
)


@kernel
def clamp(value, low, high):
    """Return the value limited to [low, high]."""
    return min(max(value, low), high)


@kernel
def actuator_rate(actuator, command, y, y_rate):
    """Return ẏ and ÿ; for a first-order actuator ÿ is 0, because ẏ is not a state."""
    if actuator.kind == FIRST_ORDER:
        return (command - y) * actuator.inverse_tau, 0.0
    rate = clamp(y_rate, -actuator.rate_limit, actuator.rate_limit)
    acceleration = actuator.omega_n_squared * (command - y) - actuator.two_zeta_omega_n * rate
    if (rate >= actuator.rate_limit and acceleration > 0.0) or (rate <= -actuator.rate_limit and acceleration < 0.0):
        acceleration = 0.0
    return rate, acceleration


@kernel
def write_channel_rate(actuator, command, state, i_output, i_rate, dstate, limit_bit):
    """Write the derivative of one channel; set a regime bit if it is at its rate limit or out of range."""
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
    """Write the derivatives of all channels with states; `m` is the `MULTIROTOR` record."""
    if a.motor.kind != DIRECT:
        for i in range(m.n_rotors):
            command = inputs.command.motors[a.motor_channel[i]]
            write_channel_rate(a.motor, command, state, m.i_act + i, a.i_motor_rate + i, dstate, MOTOR_RATE_BIT + i)
    if a.servo.kind != DIRECT:
        for i in range(a.n_servos):
            command = inputs.command.servos[a.servo_channel[i]]
            write_channel_rate(a.servo, command, state, a.i_servo + i, a.i_servo_rate + i, dstate, SERVO_RATE_BIT)


@kernel
def write_exact_output(actuator, command, decay, state, i_output, end):
    """Write the output of a first-order actuator at the end of a step; `decay` is exp(−h / τ)."""
    limited = clamp(command, actuator.low, actuator.high)
    end.x[i_output] = limited + (state.x[i_output] - limited) * decay


@kernel
def write_exact_outputs(a, m, h_s, state, inputs, end):
    """Write the outputs of actuators with exact discretization from `state` to `end`, the state a step later."""
    if a.motor.is_exact != 0:
        decay = exp(-h_s * a.motor.inverse_tau)
        for i in range(m.n_rotors):
            command = inputs.command.motors[a.motor_channel[i]]
            write_exact_output(a.motor, command, decay, state, m.i_act + i, end)
    if a.servo.is_exact != 0:
        decay = exp(-h_s * a.servo.inverse_tau)
        for i in range(a.n_servos):
            command = inputs.command.servos[a.servo_channel[i]]
            write_exact_output(a.servo, command, decay, state, a.i_servo + i, end)


@kernel
def project_channel(actuator, state, i_output, i_rate):
    """Limit an output and its rate to their ranges; return the number of states that changed."""
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
    """Limit all channels with states to their ranges; return the number of states that changed."""
    moved = 0
    if a.motor.kind != DIRECT:
        for i in range(m.n_rotors):
            moved += project_channel(a.motor, state, m.i_act + i, a.i_motor_rate + i)
    if a.servo.kind != DIRECT:
        for i in range(a.n_servos):
            moved += project_channel(a.servo, state, a.i_servo + i, a.i_servo_rate + i)
    return moved


class ActuatorDynamics(Part):
    """Actuator dynamics, common to all motors or to all servos."""

    aliases: ClassVar[dict[str, str]] = {"τ": "tau_s", "ωn": "omega_n", "ζ": "zeta"}
    name_key: ClassVar[str | None] = "kind"

    kind: Annotated[Literal["direct", "first_order", "second_order"], spelled(KINDS, SPELLINGS)] = entry(
        "direct", "Model of the actuator dynamics."
    )
    tau_s: float = entry(0.05, "Time constant of `first_order`. Alias: `τ`.", "s", gt=0.0)
    discretization: Literal["integrated", "exact"] = entry(
        "integrated",
        "How `first_order` is advanced: by the plant's integrator, or exactly, by its closed form after each step.",
    )
    omega_n: float = entry(50.0, "Natural frequency of `second_order`. Alias: `ωn`.", "rad/s", gt=0.0)
    zeta: float = entry(0.7, "Damping ratio of `second_order`. Alias: `ζ`.", ge=0.0)
    rate_limit: Annotated[float, Field(allow_inf_nan=True)] = entry(
        math.inf, "Maximum rate of the output of `second_order`; `inf` for no limit.", "1/s", gt=0.0, le=math.inf
    )

    def check(self) -> Found:
        """Check that only a first-order actuator is exact."""
        if self.is_exact and self.kind != "first_order":
            text = f"is for kind = 'first_order', not {self.kind!r}; change the kind or omit this key"
            yield misfit("discretization", self.discretization, text)

    @property
    def is_exact(self) -> bool:
        """Whether outputs are advanced by their closed form."""
        return self.discretization == "exact"

    def time_constant_s(self) -> float:
        """Return the shortest time constant that a step should resolve; infinity for `direct` and exact ones."""
        if self.kind == "direct" or self.is_exact:
            return math.inf
        return self.tau_s if self.kind == "first_order" else 1.0 / self.omega_n

    def write(self, rec: Any, low: float, high: float) -> None:
        """Write an `ACTUATOR` record with the range of its output."""
        fill(rec, self, kind=KINDS[self.kind], inverse_tau=1.0 / self.tau_s, low=low, high=high)
        rec["is_exact"] = self.is_exact
        rec["omega_n_squared"] = self.omega_n * self.omega_n
        rec["two_zeta_omega_n"] = 2.0 * self.zeta * self.omega_n


class MotorChannel(Part, where="actuation.motors"):
    """A motor. Motors are listed in the order of the rotors."""

    id: str = entry(..., "Name of the motor, referenced by buses.", min_length=1)
    channel: int = entry(..., "Motor command that drives the motor, from 1.", ge=1, le=MAX_MOTORS)


class ServoChannel(Part, where="actuation.servos"):
    """A servo."""

    id: str = entry(..., "Name of the servo, referenced by buses.", min_length=1)
    channel: int = entry(..., "Servo command that drives the servo, from 1.", ge=1, le=MAX_SERVOS)


DynamicsOrName = Annotated[
    ActuatorDynamics, BeforeValidator(name_or_table, json_schema_input_type=str | ActuatorDynamics)
]


class Actuation(Part, where="actuation"):
    """Mapping of commands to motors and servos, and actuator dynamics."""

    motors: tuple[MotorChannel, ...] | None = entry(
        None, "One motor per rotor, in the order of the rotors. Default: `motor1`, `motor2` …", max_length=MAX_MOTORS
    )
    servos: tuple[ServoChannel, ...] = entry((), "Servos and their channels.", max_length=MAX_SERVOS)
    motor_actuators: DynamicsOrName = entry(
        ActuatorDynamics(), "Dynamics from motor command to ESC input, as a name or a table."
    )
    servo_actuators: DynamicsOrName = entry(ActuatorDynamics(), "Dynamics of the servos, as a name or a table.")

    def check(self) -> Found:
        """Yield names and channels that are used more than once."""
        motors, servos = self.motors or (), self.servos
        ids = Counter([*(motor.id for motor in motors), *(servo.id for servo in servos)])
        both: tuple[tuple[str, tuple[MotorChannel | ServoChannel, ...]], ...] = (("motors", motors), ("servos", servos))
        for kind, items in both:
            channels = Counter(item.channel for item in items)
            for i, item in enumerate(items):
                if ids[item.id] > 1:
                    text = f"{KEY} = {item.id!r} is used more than once; motors and servos need unique names"
                    yield (kind, i, "id"), text
                if channels[item.channel] > 1:
                    yield (
                        (kind, i, "channel"),
                        f"{KEY} = {item.channel} is used more than once; channels must be unique",
                    )

    def completed(self, rotors: int) -> "Actuation":
        """Return a copy with a motor for each rotor, if none are given."""
        if self.motors is not None:
            return self
        motors = tuple(MotorChannel(id=f"motor{i + 1}", channel=i + 1) for i in range(rotors))
        return self.model_copy(update={"motors": motors})

    @property
    def group_sizes(self) -> tuple[int, int]:
        """The number of output states and of rate states."""
        motors, servos = len(self.motors or ()), len(self.servos)
        counts = ((self.motor_actuators.kind, motors), (self.servo_actuators.kind, servos))
        outputs = sum(count for kind, count in counts if kind != "direct")
        return outputs, sum(count for kind, count in counts if kind == "second_order")

    def write(self, rec: Any, i_output: int, i_rate: int) -> None:
        """Write an `ACTUATION` record; outputs and rates start at these indices of the state."""
        motors, kind = self.motors or (), self.motor_actuators.kind
        self.motor_actuators.write(rec["motor"], 0.0, 1.0)
        self.servo_actuators.write(rec["servo"], -1.0, 1.0)
        rec["n_servos"] = len(self.servos)
        rec["motor_channel"][: len(motors)] = [motor.channel - 1 for motor in motors]
        rec["servo_channel"][: len(self.servos)] = [servo.channel - 1 for servo in self.servos]
        rec["i_servo"] = i_output + (len(motors) if kind != "direct" else 0)
        rec["i_motor_rate"] = i_rate
        rec["i_servo_rate"] = i_rate + (len(motors) if kind == "second_order" else 0)
