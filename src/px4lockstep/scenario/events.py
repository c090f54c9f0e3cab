"""Events: a trigger, an action and its arguments, with the keys of `[[scenario.events]]` in a spec file.

    Event(at_s=12.345678, action="disable_motor", motor=2)
    Event(at_step=500, action="disarm")
    Event(when=When(signal="altitude_m", above=10.0), action="wind_step", vel_ned=(3.0, 0.0, 0.0))

In Python only, `when` may be a function `condition(time_us, inputs)` and `action` a function `act(time_us, inputs,
outputs)`.
"""

import math
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import numpy.typing as npt
from pydantic import AfterValidator, ValidatorFunctionWrapHandler, WrapValidator

from px4lockstep.part import KEY, Found, Number, Part, Seconds, entry, misfit, show, wrong
from px4lockstep.part.limits import ANY_UNIT, FLOAT32, WIND_LIMITS
from px4lockstep.part.wording import choices
from px4lockstep.plant.layout import MAX_MOTORS
from px4lockstep.scenario.actions import ACTIONS, CALL, GIVE_SETPOINT, SENSOR_BITS, SET_PARAM, Action
from px4lockstep.scenario.setpoints import FIELDS, SetpointVector, content_of, problems, row_of
from px4lockstep.scenario.signals import SIGNALS
from px4lockstep.scenario.stage import AT_STEP, AT_TIME, WHEN_ABOVE, WHEN_BELOW, WHEN_CALLED
from px4lockstep.timebase import MAX_US, seconds_to_us

Condition = Callable[[int, Any], bool]
"""`condition(time_us, inputs)`: return whether the event fires."""
Act = Callable[[int, Any, Any], None]
"""`act(time_us, inputs, outputs)`: write any field of the scenario's part of the bus."""

TRIGGERS = ("at_s", "at_step", "when")
ARGUMENTS = ("motor", "fraction", "duty", "sensor", *FIELDS, "name", "value")
"""The keys of an event that are arguments of actions."""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _one_of(names: Iterable[str]) -> AfterValidator:
    """Return a validator that accepts None and the given names."""
    expected = ", ".join(repr(name) for name in names)

    def check(value: str | None) -> str | None:
        if value is not None and value not in names:
            raise wrong(f"{KEY} = {show(value)} is unknown; {choices(value, expected)}")
        return value

    return AfterValidator(check)


def _or_function(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    return value if callable(value) else check(value)


def _fits_record(step: int | None) -> int | None:
    if step is not None and step > MAX_US:
        raise wrong(f"{KEY} = {step} is not an autopilot tick; it must be at most {MAX_US}")
    return step


class When(Part, where="scenario.events.when"):
    """A condition on a signal."""

    signal: Annotated[str, _one_of(SIGNALS)] = entry(
        ..., f"Signal to compare: {_listed(SIGNALS)}.", extra={"enum": list(SIGNALS)}
    )
    above: float | None = entry(None, "Threshold that the signal must exceed.", **ANY_UNIT)
    below: float | None = entry(None, "Threshold that the signal must fall below, instead of `above`.", **ANY_UNIT)

    def check(self) -> Found:
        """Check that there is exactly one threshold, above or below."""
        if (self.above is None) == (self.below is None):
            has = "both" if self.above is not None else "neither"
            yield (), f"{KEY} on {self.signal!r} has {has}; give above or below"


class Event(Part, where="scenario.events"):
    """An event: one trigger, one action and its arguments."""

    at_s: Seconds | None = entry(None, "Trigger: time of the event.", "s")
    at_step: Annotated[int | None, AfterValidator(_fits_record)] = entry(
        None, "Trigger: autopilot tick of the event, counted from 0.", ge=0, le=10**12
    )
    when: Annotated[When | None, WrapValidator(_or_function)] = entry(
        None, "Trigger: the first event boundary at which this condition holds."
    )
    action: Annotated[str, _one_of(ACTIONS), WrapValidator(_or_function)] = entry(
        ..., f"Action of the event: {_listed(ACTIONS)}.", extra={"enum": list(ACTIONS)}
    )
    motor: int | None = entry(None, "Motor of a motor fault, counted from 1.", ge=1, le=MAX_MOTORS)
    fraction: float | None = entry(None, "Fraction of thrust that `thrust_loss` removes.", ge=0.0, le=1.0)
    duty: float | None = entry(
        None, "Duty of `stuck_motor`. Default: the duty at the time of the event.", ge=0.0, le=1.0
    )
    sensor: Annotated[str | None, _one_of(SENSOR_BITS)] = entry(
        None, f"Sensor of a sensor fault: {_listed(SENSOR_BITS)}."
    )
    pos_ned: SetpointVector | None = entry(
        None,
        "Position of `setpoint` [m]; position error of `estimate_bias` [m] or `estimate_drift` [m/s].",
        allows_nan=True,
    )
    vel_ned: SetpointVector | None = entry(
        None,
        "Velocity of `setpoint` [m/s]; wind of `wind_step` [m/s]; velocity error of `estimate_bias` [m/s] or "
        "`estimate_drift` [m/s²].",
        **WIND_LIMITS,
        allows_nan=True,
    )
    acc_ned: SetpointVector | None = entry(None, "Acceleration of `setpoint`.", "m/s²", allows_nan=True)
    attitude_rad: SetpointVector | None = entry(
        None, "Roll, pitch and yaw of `setpoint`, with `thrust`.", "rad", allows_nan=True
    )
    yaw_rad: float | None = entry(
        None,
        "Heading of `setpoint` [rad]; yaw error of `estimate_bias` [rad] or `estimate_drift` [rad/s].",
        ge=-1e3,
        le=1e3,
    )
    yaw_rate_rad_s: float | None = entry(None, "Yaw rate of `setpoint`, about the down axis.", "rad/s")
    omega_body: SetpointVector | None = entry(
        None,
        "Body rates of `setpoint` [rad/s], with `thrust`; rate error of `estimate_bias` [rad/s] or `estimate_drift` "
        "[rad/s²].",
        ge=-1e4,
        le=1e4,
        allows_nan=True,
    )
    thrust: float | None = entry(None, "Collective thrust of `setpoint`, normalized as in PX4.", ge=0.0, le=1.0)

    name: str | None = entry(None, "PX4 parameter that `set_param` changes.", min_length=1)
    value: Number | None = entry(None, "New value of the parameter of `set_param`.", **FLOAT32)

    def check(self) -> Found:
        """Check that there is one trigger, and exactly the arguments of the action."""
        given = [name for name in TRIGGERS if getattr(self, name) is not None]
        if len(given) != 1:
            yield (), f"{KEY} has {' and '.join(given) or 'no trigger'}; give one of {', '.join(TRIGGERS)}"
        action = ACTIONS[self.action] if self.act is None else Action(CALL, "Call a Python function.")
        shown = repr(self.action) if self.act is None else "a Python function"
        given = [name for name in ARGUMENTS if getattr(self, name) is not None]
        for name in given:
            if name not in action.arguments:
                takes = ", ".join(action.arguments) or "none"
                yield misfit(name, getattr(self, name), f"is not an argument of {shown} (arguments: {takes})")
        for name in action.arguments:
            if name not in (*action.optional, *given):
                yield (name,), f"{KEY} is missing; {shown} needs it"
        if (
            action.arguments and action.arguments == action.optional and not given
        ):  # all are optional, but one is needed
            yield (), f"{KEY} has no value for {shown}; give at least one of {', '.join(action.arguments)}"
        if action.number == GIVE_SETPOINT:
            for _, name, text in problems(row_of(self.arguments)):
                yield (name,), f"{KEY} {text}"
            return
        for name in given:
            value = getattr(self, name)
            if isinstance(value, tuple) and any(map(math.isnan, value)):
                yield misfit(name, value, "must have finite numbers; nan is for `setpoint`")

    @property
    def time_us(self) -> int | None:
        """Time of the event, if its trigger is a time."""
        return None if self.at_s is None else seconds_to_us(self.at_s, "at_s")

    @property
    def condition(self) -> Condition | None:
        """Python function that triggers the event, if there is one."""
        when: Any = self.when
        return when if callable(when) else None

    @property
    def act(self) -> Act | None:
        """Python function that the event calls, if there is one."""
        action: Any = self.action
        return action if callable(action) else None

    @property
    def arguments(self) -> dict[str, Any]:
        """Given arguments of the action."""
        names = ACTIONS[self.action].arguments if self.act is None else ()
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    @property
    def param(self) -> tuple[str, float | int]:
        """Name and value of the parameter of an event `set_param`."""
        assert self.name is not None
        assert self.value is not None
        return self.name, self.value

    @property
    def setpoint(self) -> npt.NDArray[Any] | None:
        """The setpoint of the event as a `SETPOINT` record in a length-1 array, if it gives one."""
        is_given = self.act is None and self.action == "setpoint"
        return row_of(self.arguments) if is_given else None

    def write(self, rec: Any) -> None:
        """Write an `EVENT` record."""
        if self.at_s is not None:
            rec["trigger"], rec["time_us"] = AT_TIME, self.time_us
        elif self.at_step is not None:
            rec["trigger"], rec["step"] = AT_STEP, self.at_step
        elif self.condition is not None:
            rec["trigger"] = WHEN_CALLED
        elif self.when is not None:
            is_above = self.when.above is not None
            rec["trigger"], rec["signal"] = WHEN_ABOVE if is_above else WHEN_BELOW, SIGNALS[self.when.signal].number
            rec["threshold"] = self.when.above if is_above else self.when.below
        if self.act is not None:
            rec["action"] = CALL
            return
        action = ACTIONS[self.action]
        rec["action"] = action.number
        rec["motor"] = (self.motor or 1) - 1
        rec["sensor_bit"] = SENSOR_BITS[self.sensor] if self.sensor is not None else 0
        start = 0
        if action.number == SET_PARAM:
            rec["content"] = content_of(repr((self.name, self.value)).encode())
        for name in action.arguments if action.number not in (GIVE_SETPOINT, SET_PARAM) else ():
            if name not in ("motor", "sensor"):
                stop = start + (3 if name in ("pos_ned", "vel_ned", "omega_body") else 1)
                rec["values"][start:stop] = self.arguments.get(name, action.left_out)
                start = stop
