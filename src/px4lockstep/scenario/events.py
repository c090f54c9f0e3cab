"""Events as a user gives them: a trigger and an action, each checked, with errors that name the field and its value."""

import difflib
import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from px4lockstep.checks import check_number, check_vector
from px4lockstep.errors import InputError
from px4lockstep.plant.layout import MAX_MOTORS
from px4lockstep.scenario.actions import CALL, NUMBERS, SENSOR_BITS
from px4lockstep.scenario.signals import SIGNALS
from px4lockstep.scenario.stage import AT_STEP, AT_TIME, WHEN_ABOVE, WHEN_BELOW, WHEN_CALLED

Condition = Callable[[int, Any], bool]
"""`condition(time_us, inputs)`: whether the event happens now."""
Act = Callable[[int, Any, Any], None]
"""`act(time_us, inputs, outputs)`: writes what it likes of the scenario's part of the bus."""


@dataclass(frozen=True)
class AtTime:
    """At a boundary, to the microsecond."""

    time_us: int


@dataclass(frozen=True)
class AtStep:
    """At a tick of the autopilot, counted from 0."""

    step: int


@dataclass(frozen=True)
class When:
    """At the first boundary at which a signal is above, or below, a threshold."""

    signal: str
    threshold: float
    is_above: bool


@dataclass(frozen=True)
class WhenCalled:
    """At the first boundary at which a Python function returns True."""

    condition: Condition


Trigger = AtTime | AtStep | When | WhenCalled


@dataclass(frozen=True)
class Event:
    """A trigger, and what happens then: a named action with its arguments, or a Python function."""

    trigger: Trigger
    action: str | Act
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """The Python functions of the event, by what they are for."""
        found: dict[str, Callable[..., Any]] = {}
        if isinstance(self.trigger, WhenCalled):
            found["condition"] = self.trigger.condition
        if not isinstance(self.action, str):
            found["action"] = self.action
        return found


# -- triggers ------------------------------------------------------------------------------------------------------


def check_step(where: str, value: Any) -> AtStep:
    """Return the trigger for a tick of the autopilot."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not 0 <= int(value) < 2**53:
        raise InputError(f"{where} = {value!r} is not a tick of the autopilot; it must be an integer of 0 or more")
    return AtStep(int(value))


def check_condition(where: str, signal: Any, above: Any, below: Any) -> When:
    """Return the trigger for a condition on a signal."""
    if not isinstance(signal, str) or signal not in SIGNALS:
        raise InputError(f"{where}.signal = {signal!r} is unknown; {suggest(signal, SIGNALS)}")
    if (above is None) == (below is None):
        raise InputError(f"{where} on {signal!r} has {'both' if above is not None else 'neither'}; give above or below")
    is_above = above is not None
    threshold = check_number(f"{where}.{'above' if is_above else 'below'}", above if is_above else below)
    return When(signal, threshold, is_above)


# -- arguments of actions ------------------------------------------------------------------------------------------


def check_motor(where: str, value: Any) -> int:
    """Return the number of a motor, from 1."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not 1 <= int(value) <= MAX_MOTORS:
        raise InputError(f"{where} = {value!r} is not a motor; motors are the integers 1 to {MAX_MOTORS}")
    return int(value)


def check_fraction(where: str, value: Any) -> float:
    """Return a number from 0 to 1."""
    return check_number(where, value, 0.0, 1.0, "a number from 0 to 1")


def check_sensor(where: str, value: Any) -> str:
    """Return the name of a sensor."""
    if not isinstance(value, str) or value not in SENSOR_BITS:
        raise InputError(f"{where} = {value!r} is unknown; {suggest(value, SENSOR_BITS)}")
    return value


Check = Callable[[str, Any], Any]

MOTOR: dict[str, Check] = {"motor": check_motor}
SENSOR: dict[str, Check] = {"sensor": check_sensor}
ESTIMATE: dict[str, Check] = {
    "pos_ned": check_vector,
    "vel_ned": check_vector,
    "yaw_rad": check_number,
    "omega_body": check_vector,
}

ARGUMENTS: dict[str, dict[str, Check]] = {name: {} for name in NUMBERS} | {
    "wind_step": {"vel_ned": check_vector},
    "disable_motor": MOTOR,
    "restore_motor": MOTOR,
    "thrust_loss": MOTOR | {"fraction": check_fraction},
    "stuck_motor": MOTOR | {"duty": check_fraction},
    "sensor_fault": SENSOR,
    "clear_sensor_fault": SENSOR,
    "estimate_bias": ESTIMATE,
    "estimate_drift": ESTIMATE,
}
"""The arguments of each action, and how they are checked."""

OPTIONAL = ("duty", *ESTIMATE)
"""Of an error of the estimate at least one part is needed."""


def check_action(where: str, value: Any) -> str:
    """Return the name of an action."""
    if not isinstance(value, str) or value not in ARGUMENTS:
        raise InputError(f"{where} = {value!r} is unknown; {suggest(value, ARGUMENTS)}")
    return value


def check_arguments(where: str, action: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments of an action, checked, and what is wrong with them."""
    checks = ARGUMENTS[action]
    good: dict[str, Any] = {}
    problems: list[str] = []
    for name, value in given.items():
        if name not in checks:
            known = suggest(name, checks) if checks else "it takes none"
            problems.append(f"{where}.{name} = {value!r} is no argument of {action!r}; {known}")
            continue
        try:
            good[name] = checks[name](f"{where}.{name}", value)
        except InputError as error:
            problems.append(str(error))
    if checks is ESTIMATE:
        if not given:
            problems.append(f"{where} has no error for {action!r}; give at least one of {', '.join(checks)}")
    else:
        required = [name for name in checks if name not in OPTIONAL or name == "vel_ned"]
        problems += [f"{where}.{name} is missing; {action!r} needs it" for name in required if name not in given]
    return good, problems


def suggest(name: Any, known: Iterable[str]) -> str:
    """Say which names are allowed, the closest one first."""
    names = list(known)
    closest = difflib.get_close_matches(name, names, 1) if isinstance(name, str) else []
    meant = f"did you mean {closest[0]!r}? " if closest else ""
    return f"{meant}allowed are {', '.join(names)}" if len(names) > 1 else f"{meant}allowed is {names[0]}"


# -- writing -------------------------------------------------------------------------------------------------------


def write_event(event: Event, rec: Any) -> None:
    """Write an event into an `EVENT` record."""
    match event.trigger:
        case AtTime(time_us):
            rec["trigger"], rec["time_us"] = AT_TIME, time_us
        case AtStep(step):
            rec["trigger"], rec["step"] = AT_STEP, step
        case When(signal, threshold, is_above):
            rec["trigger"] = WHEN_ABOVE if is_above else WHEN_BELOW
            rec["signal"], rec["threshold"] = SIGNALS[signal], threshold
        case WhenCalled():
            rec["trigger"] = WHEN_CALLED
    if not isinstance(event.action, str):
        rec["action"] = CALL
        return
    arguments = event.arguments
    rec["action"] = NUMBERS[event.action]
    rec["motor"] = arguments.get("motor", 1) - 1
    rec["sensor_bit"] = SENSOR_BITS[arguments["sensor"]] if "sensor" in arguments else 0
    values = rec["values"]
    if event.action == "wind_step":
        values[0:3] = arguments["vel_ned"]
    elif event.action == "thrust_loss":
        values[0] = arguments["fraction"]
    elif event.action == "stuck_motor":
        values[0] = arguments.get("duty", math.nan)
    elif ARGUMENTS[event.action] is ESTIMATE:
        for name, first, last in (("pos_ned", 0, 3), ("vel_ned", 3, 6), ("yaw_rad", 6, 7), ("omega_body", 7, 10)):
            values[first:last] = arguments.get(name, 0.0)
