"""Actuators between command and effect: motors (ESC input) and servos, each kind with one model.

    direct         y = u                                      no state
    first_order    ẏ = (u − y) / τ
    second_order   ÿ = ωn² (u − y) − 2 ζ ωn ẏ                 |ẏ| ≤ rate limit, y within its range

At the rate limit the acceleration into the limit is 0. The output of motors lies in [0, 1], of servos in [-1, 1]. Only
channels that a motor or servo is mapped to have a state: first the outputs of motors and servos, then their rates.
"""

import math
from collections import Counter
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from px4lockstep.jit import kernel, record
from px4lockstep.part import KEY, Found, Part, entry, fill, name_or_table
from px4lockstep.plant.layout import MAX_MOTORS, MAX_SERVOS
from px4lockstep.vehicle.regime import MOTOR_RATE_BIT, RANGE_BIT, SERVO_RATE_BIT

DIRECT, FIRST_ORDER, SECOND_ORDER = range(3)
KINDS = {"direct": DIRECT, "first_order": FIRST_ORDER, "second_order": SECOND_ORDER}

ACTUATOR = record(
    [
        ("kind", "i8"),
        ("inverse_tau", "f8"),  # first order
        ("omega_n_squared", "f8"),  # second order
        ("two_zeta_omega_n", "f8"),
        ("rate_limit", "f8"),  # [1/s], infinity for none
        ("low high", "f8"),
    ]
)

ACTUATION = record(
    [
        ("motor servo", ACTUATOR),
        ("n_servos", "i8"),
        ("motor_channel", "i8", MAX_MOTORS),  # of each rotor, from 0
        ("servo_channel", "i8", MAX_SERVOS),
        ("i_servo i_motor_rate i_servo_rate", "i8"),  # where outputs and rates start in the state
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


class ActuatorDynamics(Part):
    """The dynamics of all motors' commands, or of all servos."""

    aliases: ClassVar[dict[str, str]] = {"τ": "tau_s", "ωn": "omega_n", "ζ": "zeta"}
    name_key: ClassVar[str | None] = "kind"

    kind: Literal["direct", "first_order", "second_order"] = entry("direct", "The model.")
    tau_s: float = entry(0.05, "Time constant of `first_order`; also `τ`.", "s", gt=0.0)
    omega_n: float = entry(50.0, "Natural frequency of `second_order`; also `ωn`.", "rad/s", gt=0.0)
    zeta: float = entry(0.7, "Damping ratio of `second_order`; also `ζ`.", ge=0.0)
    rate_limit: Annotated[float, Field(allow_inf_nan=True)] = entry(
        math.inf, "Fastest change of the output of `second_order`; `inf` for none.", "1/s", gt=0.0, le=math.inf
    )

    def time_constant_s(self) -> float:
        """Return the shortest time constant, infinity for direct."""
        return {"direct": math.inf, "first_order": self.tau_s, "second_order": 1.0 / self.omega_n}[self.kind]

    def write(self, rec: Any, low: float, high: float) -> None:
        """Write into an `ACTUATOR` record, with the range of its output."""
        fill(rec, self, kind=KINDS[self.kind], inverse_tau=1.0 / self.tau_s, low=low, high=high)
        rec["omega_n_squared"] = self.omega_n * self.omega_n
        rec["two_zeta_omega_n"] = 2.0 * self.zeta * self.omega_n


class MotorChannel(Part, where="actuation.motors"):
    """A motor, in the order of the rotors."""

    id: str = entry(..., "Its name, which buses use.", min_length=1)
    channel: int = entry(..., "The motor command that drives it, from 1.", ge=1, le=MAX_MOTORS)


class ServoChannel(Part, where="actuation.servos"):
    """A servo."""

    id: str = entry(..., "Its name, which buses use.", min_length=1)
    channel: int = entry(..., "The servo command that drives it, from 1.", ge=1, le=MAX_SERVOS)


DynamicsOrName = Annotated[
    ActuatorDynamics, BeforeValidator(name_or_table, json_schema_input_type=str | ActuatorDynamics)
]


class Actuation(Part, where="actuation"):
    """Which command drives what."""

    motors: tuple[MotorChannel, ...] | None = entry(
        None, "One for each rotor, in their order. Left out: `motor1` and so on.", max_length=MAX_MOTORS
    )
    servos: tuple[ServoChannel, ...] = entry((), "Servos.", max_length=MAX_SERVOS)
    motor_actuators: DynamicsOrName = entry(ActuatorDynamics(), "Dynamics of the motors' commands; a name or a table.")
    servo_actuators: DynamicsOrName = entry(ActuatorDynamics(), "Dynamics of the servos; a name or a table.")

    def check(self) -> Found:
        """Yield names and channels that are there twice."""
        motors, servos = self.motors or (), self.servos
        ids = Counter([*(motor.id for motor in motors), *(servo.id for servo in servos)])
        both: tuple[tuple[str, tuple[MotorChannel | ServoChannel, ...]], ...] = (("motors", motors), ("servos", servos))
        for kind, items in both:
            channels = Counter(item.channel for item in items)
            for i, item in enumerate(items):
                if ids[item.id] > 1:
                    text = f"{KEY} = {item.id!r} is there twice; motors and servos need different names"
                    yield (kind, i, "id"), text
                if channels[item.channel] > 1:
                    yield (kind, i, "channel"), f"{KEY} = {item.channel} is there twice; each has its own channel"

    def completed(self, rotors: int) -> "Actuation":
        """Return it with a motor for each rotor, if they were left out."""
        if self.motors is not None:
            return self
        motors = tuple(MotorChannel(id=f"motor{i + 1}", channel=i + 1) for i in range(rotors))
        return self.model_copy(update={"motors": motors})

    @property
    def group_sizes(self) -> tuple[int, int]:
        """The number of states of outputs, and of their rates."""
        motors, servos = len(self.motors or ()), len(self.servos)
        counts = ((self.motor_actuators.kind, motors), (self.servo_actuators.kind, servos))
        outputs = sum(count for kind, count in counts if kind != "direct")
        return outputs, sum(count for kind, count in counts if kind == "second_order")

    def write(self, rec: Any, i_output: int, i_rate: int) -> None:
        """Write into an `ACTUATION` record; the outputs and their rates start there in the state."""
        motors, kind = self.motors or (), self.motor_actuators.kind
        self.motor_actuators.write(rec["motor"], 0.0, 1.0)
        self.servo_actuators.write(rec["servo"], -1.0, 1.0)
        rec["n_servos"] = len(self.servos)
        rec["motor_channel"][: len(motors)] = [motor.channel - 1 for motor in motors]
        rec["servo_channel"][: len(self.servos)] = [servo.channel - 1 for servo in self.servos]
        rec["i_servo"] = i_output + (len(motors) if kind != "direct" else 0)
        rec["i_motor_rate"] = i_rate
        rec["i_servo_rate"] = i_rate + (len(motors) if kind == "second_order" else 0)
