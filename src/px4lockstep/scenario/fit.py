"""Whether a scenario fits what it is to run with: a fault that nothing applies is an error, never ignored."""

from typing import Any

from px4lockstep.scenario.events import ARGUMENTS, AtStep, AtTime, Event, When
from px4lockstep.scenario.report import raise_all
from px4lockstep.scenario.scenario import Scenario

APPLIED_SENSORS = ("estimate",)
"""Those that have a consumer even if the autopilot has no sensors of its own."""

NEEDS = {
    "altitude_m": ("i_pos", "position"),
    "distance_home_m": ("i_pos", "position"),
    "speed_m_s": ("i_vel", "velocity"),
    "tilt_deg": ("i_att", "attitude"),
}
"""The part of the state that a signal comes from, and where the `SCENARIO` record says that it starts."""


def check_fit(
    scenario: Scenario,
    rec: Any,
    plant: Any,
    *,
    start_us: int,
    has_estimator: bool,
    has_autopilot: bool,
    has_sensors: bool,
    has_ticks: bool,
) -> None:
    """Check the events of a scenario against what it runs with.

    Args:
        scenario: The scenario.
        rec: Its `SCENARIO` record, as written for the plant.
        plant: The `PLANT` record.
        start_us: The first boundary.
        has_estimator: Whether there is an estimator that applies faults.
        has_autopilot: Whether there is an autopilot.
        has_sensors: Whether it flies by sensors that apply faults.
        has_ticks: Whether the timeline has an autopilot axis.

    Raises:
        InputError: If an event can't happen or nothing would apply it, with all of them in one report.
    """
    problems: list[str] = []
    for i, event in enumerate(scenario.events):
        where = f"scenario.events[{i}]"
        if isinstance(event.trigger, AtTime) and event.trigger.time_us < start_us:
            problems.append(f"{where}.at_s = {event.trigger.time_us / 1e6} is before the run starts, {start_us / 1e6}")
        if isinstance(event.trigger, AtStep) and not has_ticks:
            problems.append(f"{where}.at_step = {event.trigger.step} never comes: the timeline has no autopilot axis")
        if isinstance(event.trigger, When):
            problems += _check_signal(f"{where}.when.signal", event.trigger.signal, rec, has_autopilot, has_ticks)
        if isinstance(event.action, str):
            problems += _check_action(where, event, plant, has_estimator, has_sensors)
    raise_all(problems)


def _check_signal(where: str, signal: str, rec: Any, has_autopilot: bool, has_ticks: bool) -> list[str]:
    if signal in NEEDS and int(rec[NEEDS[signal][0]]) < 0:
        return [f"{where} = {signal!r} can't be read: the plant has no {NEEDS[signal][1]}"]
    if signal.startswith("battery_"):
        if int(rec["n_batteries"]) == 0:
            return [f"{where} = {signal!r} can't be read: the plant has no batteries"]
        if not has_ticks:
            return [f"{where} = {signal!r} is never measured: that needs an autopilot axis in the timeline"]
    if signal == "mission_item" and not has_autopilot:
        return [f"{where} = {signal!r} can't be read: there is no autopilot"]
    return []


def _check_action(where: str, event: Event, plant: Any, has_estimator: bool, has_sensors: bool) -> list[str]:
    action, arguments = str(event.action), event.arguments
    traits = plant["traits"]
    if "motor" in ARGUMENTS[action]:
        motor, rotors = arguments["motor"], int(traits["n_motors"])
        if not traits["is_vehicle"]:
            return [f"{where}.action = {action!r} has no effect: the plant is not a multirotor. {OWN_MODEL}"]
        if motor > rotors:
            return [f"{where}.motor = {motor} is not there: the aircraft has {rotors} motors; use 1 to {rotors}"]
    if action.endswith("_battery") and int(traits["n_batteries"]) == 0:
        return [f"{where}.action = {action!r} has no effect: the plant has no power network. {OWN_MODEL}"]
    if "sensor" in arguments and arguments["sensor"] not in APPLIED_SENSORS and not has_sensors:
        return [
            f"{where}.sensor = {arguments['sensor']!r}: no model applies it; allowed is {', '.join(APPLIED_SENSORS)}, "
            "unless the autopilot reads sensors and declares it: `Capabilities(takes_sensor_faults=True)`"
        ]
    if (arguments.get("sensor") == "estimate" or "estimate" in action) and not has_estimator:
        return [
            f"{where}.action = {action!r} has no effect: there is no estimator that applies it; give the simulation an "
            "Estimator, or one of your own that reads `bus.scenario` and says so, `applies_estimate_faults = True`"
        ]
    return []


OWN_MODEL = "A model of your own can be told by a Python function: .do(...)"
