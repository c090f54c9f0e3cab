"""Check a scenario against the rest of the simulation: a fault that no model applies is an error, never ignored.

`problems` has all rules. It checks a spec file table by table, as far as the tables are valid, and a simulation before
its first boundary. Facts that are not known are None; rules that depend on them are skipped.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from px4lockstep.errors import InputError
from px4lockstep.part import Found, Key, bad, dotted
from px4lockstep.scenario.actions import ACTIONS, BATTERIES, ESTIMATOR, MISSION, MOTORS, PARAMS, SENSOR_BITS, SETPOINTS
from px4lockstep.scenario.events import Event
from px4lockstep.scenario.scenario import Scenario, time_key
from px4lockstep.scenario.signals import SIGNALS

OWN_MODEL = "For a custom model, use a Python function: .do(...)"


@dataclass(frozen=True)
class Surroundings:
    """Facts about the rest of the simulation. Facts that are not known are None."""

    n_motors: int | None = None  # motors that support faults; 0 if the plant is not a multirotor
    n_batteries: int | None = None
    state: Collection[str] | None = None  # which of position, velocity and attitude the plant has
    has_estimator: bool | None = None  # an estimator that applies faults
    autopilot: str = "the autopilot"  # name in messages
    has_autopilot: bool | None = None
    has_mission: bool | None = None
    takes_sensor_faults: bool | None = None  # the autopilot uses sensors that apply faults
    estimates_itself: bool | None = (
        None  # the autopilot has its own estimator, which faults of the estimate don't reach
    )
    start_us: int | None = None
    has_ticks: bool | None = None  # the timeline has an autopilot axis
    takes_setpoints: bool | None = None  # the autopilot has a setpoint mode
    no_setpoints: str = "the autopilot takes no setpoints"  # in messages, with the reason
    sets_params: bool | None = None  # parameters of the autopilot can change in flight
    param_error: Callable[[str, float | int], str | None] | None = None  # error of a parameter, if there is one


def problems(scenario: Scenario, around: Surroundings) -> Found:
    """Yield the key and the error of each event that can't fire or would have no effect."""
    yield from _lost_arming(scenario)
    if scenario.setpoints is not None and around.takes_setpoints is False:
        yield ("scenario", "setpoints"), f"scenario.setpoints has no effect: {_without_setpoints(around)}"
    for key, event in scenario.keyed_events:
        time_us = event.time_us
        if time_us is not None and around.start_us is not None and time_us < around.start_us:
            yield bad(time_key(key), event.at_s, f"is before the start of the run, {around.start_us / 1e6}")
        if event.at_step is not None and around.has_ticks is False:
            yield bad((*key, "at_step"), event.at_step, "never fires: the timeline has no autopilot axis")
        if event.when is not None and event.condition is None:
            yield from _signal_problems((*key, "when", "signal"), event.when.signal, around)
        if event.act is None:
            yield from _action_problems(key, event, around)


def _lost_arming(scenario: Scenario) -> Found:
    """Yield the requests to arm that replace a request to disarm before the autopilot sees it."""
    disarming: dict[tuple[int | None, int | None], Key] = {}
    for key, event in scenario.keyed_events:
        if event.when is not None:
            continue
        trigger = (event.time_us, event.at_step)
        if event.action == "disarm":
            disarming[trigger] = key
        elif event.action == "arm" and trigger in disarming:
            first = dotted(disarming[trigger])
            yield (
                (*key, "action"),
                f"{dotted(key)} arms when {first} disarms, so neither has an effect; arm a tick later",
            )


def _signal_problems(key: Key, signal: str, around: Surroundings) -> Found:
    needs = SIGNALS[signal].needs
    if needs and around.state is not None and needs not in around.state:
        yield bad(key, signal, f"can't be read: the plant has no {needs}")
    if signal.startswith("battery_"):
        if around.n_batteries == 0:
            yield bad(key, signal, "can't be read: the plant has no batteries")
        elif around.has_ticks is False:
            yield bad(key, signal, "is never measured: the timeline has no autopilot axis")
    if signal == "mission_item" and around.has_autopilot is False:
        yield bad(key, signal, "can't be read: there is no autopilot")


def _action_problems(key: Key, event: Event, around: Surroundings) -> Found:
    name, needs = event.action, ACTIONS[event.action].needs
    own: Key = (*key, "action")
    if needs == MOTORS and around.n_motors == 0:
        yield bad(own, name, f"has no effect: the plant is not a multirotor. {OWN_MODEL}")
    elif needs == MOTORS and around.n_motors is not None and event.motor is not None and event.motor > around.n_motors:
        text = f"does not exist: the aircraft has {around.n_motors} motors; use 1 to {around.n_motors}"
        yield bad((*key, "motor"), event.motor, text)
    elif needs == BATTERIES and around.n_batteries == 0:
        yield bad(own, name, f"has no effect: the plant has no power network. {OWN_MODEL}")
    elif needs == MISSION and around.has_mission is False:
        yield key, f"{dotted(key)} starts the mission, but {around.autopilot} has no mission; give it one"
    elif needs == SETPOINTS and around.takes_setpoints is False:
        yield bad(own, name, f"has no effect: {_without_setpoints(around)}")
    elif needs == PARAMS:
        yield from _param_problems(key, event, around)
    elif event.sensor is not None:
        yield from _sensor_problems((*key, "sensor"), event.sensor, around)
    elif needs == ESTIMATOR and around.estimates_itself and name.startswith("estimate_"):
        yield bad(own, name, f"has no effect: {around.autopilot} has its own estimator; use sensor_fault")
    if (needs == ESTIMATOR or event.sensor == "estimate") and around.has_estimator is False:
        yield bad(
            own,
            name,
            "has no effect: there is no estimator that applies it; give the simulation an Estimator, or a custom one "
            "that reads `bus.scenario` and sets `applies_estimate_faults = True`",
        )


def _without_setpoints(around: Surroundings) -> str:
    """Return why setpoints have no effect."""
    return f"{around.no_setpoints}; the built-in autopilot and stock PX4 do"


def _param_problems(key: Key, event: Event, around: Surroundings) -> Found:
    """Check that the autopilot has the parameter, and that it can change in flight."""
    if around.sets_params is False:
        text = f"has no effect: parameters of {around.autopilot} can't change in flight"
        yield bad((*key, "action"), event.action, text)
    elif around.param_error is not None and event.name is not None and event.value is not None:
        error = around.param_error(event.name, event.value)
        if error is not None:
            yield (*key, "name"), f"{dotted((*key, 'name'))}: {error}"


def _sensor_problems(key: Key, sensor: str, around: Surroundings) -> Found:
    """Check the sensor of a sensor fault: without modelled sensors, only the estimate can fail."""
    if sensor != "estimate" and around.takes_sensor_faults is False:
        yield bad(
            key,
            sensor,
            "has no effect: no model applies it; use 'estimate', or an autopilot that reads sensors and declares "
            "`Capabilities(takes_sensor_faults=True)`",
        )
    if sensor == "estimate" and around.estimates_itself:
        others = ", ".join(name for name in SENSOR_BITS if name != "estimate")
        yield bad(key, sensor, f"has no effect: no model applies it; allowed: {others}")


def raise_if_any(found: Iterable[tuple[Key, str]]) -> None:
    """Raise all errors of a scenario, if any, as one `InputError` with the key of the first."""
    if listed := list(found):
        lines = [text for _, text in listed]
        header = f"the scenario has {len(lines)} errors:"
        raise InputError(lines[0] if len(lines) == 1 else "\n  ".join([header, *lines]), key=listed[0][0])
