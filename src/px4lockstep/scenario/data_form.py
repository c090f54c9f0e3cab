"""Events as plain data, with the keys of `[[scenario.events]]` in an aircraft file.

{ at_s = 12.345678, action = "disable_motor", motor = 2 }
{ at_step = 500, action = "disarm" }
{ when = { signal = "altitude_m", above = 10.0 }, action = "wind_step", vel_ned = [3.0, 0.0, 0.0] }
"""

from collections.abc import Mapping
from typing import Any

from px4lockstep.errors import InputError
from px4lockstep.scenario.events import (
    ARGUMENTS,
    AtStep,
    AtTime,
    Event,
    Trigger,
    When,
    check_action,
    check_arguments,
    check_condition,
    check_step,
    suggest,
)
from px4lockstep.scenario.report import raise_all
from px4lockstep.timebase import seconds_to_us

TRIGGERS = ("at_s", "at_step", "when")
CONDITION_KEYS = ("signal", "above", "below")


def events_from_data(data: Any) -> tuple[Event, ...]:
    """Return the events of a list of tables.

    Raises:
        InputError: If anything is wrong, with all of it in one report.
    """
    if not isinstance(data, list | tuple):
        raise InputError(f"scenario.events = {data!r} is not a list of tables")
    events: list[Event] = []
    problems: list[str] = []
    for i, table in enumerate(data):
        _read_event(f"scenario.events[{i}]", table, events, problems)
    raise_all(problems)
    return tuple(events)


def event_to_data(index: int, event: Event) -> dict[str, Any]:
    """Return an event as a table."""
    data: dict[str, Any]
    match event.trigger:
        case AtTime(time_us):
            data = {"at_s": time_us / 1e6}
        case AtStep(step):
            data = {"at_step": step}
        case When(signal, threshold, is_above):
            data = {"when": {"signal": signal, "above" if is_above else "below": threshold}}
    if event.functions:
        raise InputError(f"scenario.events[{index}] has a Python function, which can't be written as data")
    arguments = {name: list(value) if isinstance(value, tuple) else value for name, value in event.arguments.items()}
    return data | {"action": event.action} | arguments


def _read_event(where: str, table: Any, events: list[Event], problems: list[str]) -> None:
    """Append the event of a table, or what is wrong with it."""
    if not isinstance(table, Mapping):
        problems.append(f"{where} = {table!r} is not a table")
        return
    trigger = _read_trigger(where, table, problems)
    if "action" not in table:
        problems.append(f"{where}.action is missing; {suggest(None, ARGUMENTS)}")
        return
    try:
        action = check_action(f"{where}.action", table["action"])
    except InputError as error:
        problems.append(str(error))
        return
    given = {name: value for name, value in table.items() if name not in (*TRIGGERS, "action")}
    arguments, wrong = check_arguments(where, action, given)
    problems += wrong
    if trigger is not None and not wrong:
        events.append(Event(trigger, action, arguments))


def _read_trigger(where: str, table: Mapping[str, Any], problems: list[str]) -> Trigger | None:
    given = [name for name in TRIGGERS if name in table]
    if len(given) != 1:
        has = " and ".join(given) or "no trigger"
        problems.append(f"{where} has {has}; give one of {', '.join(TRIGGERS)}")
        return None
    try:
        if given == ["at_s"]:
            return AtTime(seconds_to_us(table["at_s"], f"{where}.at_s"))
        if given == ["at_step"]:
            return check_step(f"{where}.at_step", table["at_step"])
        return _read_condition(f"{where}.when", table["when"])
    except InputError as error:
        problems.append(str(error))
        return None


def _read_condition(where: str, table: Any) -> Trigger:
    if not isinstance(table, Mapping):
        raise InputError(f"{where} = {table!r} is not a table; give signal, and above or below")
    for name, value in table.items():
        if name not in CONDITION_KEYS:
            raise InputError(f"{where}.{name} = {value!r} is unknown; {suggest(name, CONDITION_KEYS)}")
    return check_condition(where, table.get("signal"), table.get("above"), table.get("below"))
