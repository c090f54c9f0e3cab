"""The scenario of a flight: a list of events, built by calls or from data.

    scenario = Scenario().at(1.0).arm().at(2.0).start_mission().when("altitude_m", above=10.0).disable_motor(2)

Each call returns a new scenario. Events that happen at the same boundary happen in the order of the list.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import FunctionType, MethodType
from typing import Any

from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted, view
from px4lockstep.plant.layout import ATT, POS, VEL
from px4lockstep.scenario.data_form import event_to_data, events_from_data
from px4lockstep.scenario.events import (
    Act,
    AtTime,
    Condition,
    Event,
    Trigger,
    WhenCalled,
    check_arguments,
    check_condition,
    check_step,
    write_event,
)
from px4lockstep.scenario.report import raise_all
from px4lockstep.scenario.stage import MAX_EVENTS, NOT_ASKED, look_ahead
from px4lockstep.timebase import check_us, seconds_to_us


@dataclass(frozen=True)
class Scenario:
    """What happens to a flight, and when.

    Args:
        events: At most 64, in the order in which they happen if they happen at once.
        ends_at_crash: Whether a crash ends the run; else the vehicle is left to the contact model.

    Raises:
        InputError: If there are too many.
    """

    events: tuple[Event, ...] = ()
    ends_at_crash: bool = True

    def __post_init__(self) -> None:
        """Check the number of events."""
        object.__setattr__(self, "events", tuple(self.events))
        if len(self.events) > MAX_EVENTS:
            raise InputError(f"scenario.events has {len(self.events)} events; at most {MAX_EVENTS} are allowed")

    # -- triggers --------------------------------------------------------------------------------------------------

    def at(self, seconds: float) -> "Then":
        """Let the next action happen at a time, which must be whole microseconds and a boundary of the timeline."""
        return Then(self, AtTime(seconds_to_us(seconds, f"{self._next}.at_s")))

    def at_us(self, time_us: int) -> "Then":
        """Let the next action happen at a time in microseconds."""
        return Then(self, AtTime(check_us(f"{self._next}.at_us", time_us)))

    def at_step(self, step: int) -> "Then":
        """Let the next action happen at a tick of the autopilot, counted from 0."""
        return Then(self, check_step(f"{self._next}.at_step", step))

    def when(self, signal: str | Condition, *, above: float | None = None, below: float | None = None) -> "Then":
        """Let the next action happen at the first boundary at which a condition holds.

        Args:
            signal: The name of a signal, with `above` or `below`; or a function `condition(time_us, inputs)`.
            above: The signal must be greater than this.
            below: The signal must be less than this.
        """
        if callable(signal):
            if above is not None or below is not None:
                raise InputError(f"{self._next}.when is a function; above and below are for signals")
            return Then(self, WhenCalled(signal))
        return Then(self, check_condition(f"{self._next}.when", signal, above, below))

    def arm(self, at_s: float) -> "Scenario":
        """Request arming at a time: short for `at(at_s).arm()`."""
        return self.at(at_s).arm()

    def start_mission(self, at_s: float) -> "Scenario":
        """Request the mission at a time: short for `at(at_s).start_mission()`."""
        return self.at(at_s).start_mission()

    @property
    def _next(self) -> str:
        return f"scenario.events[{len(self.events)}]"

    # -- data ------------------------------------------------------------------------------------------------------

    @classmethod
    def from_data(cls, events: Sequence[Any]) -> "Scenario":
        """Make a scenario from a list of tables, as `[[scenario.events]]` of an aircraft file has them.

        Raises:
            InputError: If anything is wrong, with all of it in one report.
        """
        return cls(events_from_data(events))

    def to_data(self) -> list[dict[str, Any]]:
        """Return the events as tables that `from_data` takes.

        Raises:
            InputError: If an event has a Python function, which no table can hold.
        """
        return [event_to_data(i, event) for i, event in enumerate(self.events)]

    def times_us(self, end_us: int | None = None) -> tuple[int, ...]:
        """Return the times of events, in order and each once; up to the end of a run, if it is given.

        They must be boundaries: `Timeline(..., scenario=Explicit(scenario.times_us()))`.
        """
        times = {event.trigger.time_us for event in self.events if isinstance(event.trigger, AtTime)}
        return tuple(time_us for time_us in sorted(times) if end_us is None or time_us <= end_us)

    # -- running ---------------------------------------------------------------------------------------------------

    def python_objects(self) -> dict[str, Any]:
        """Return the objects behind Python functions, whose attributes a snapshot must copy, by event."""
        found = {}
        for i, event in enumerate(self.events):
            for name, function in event.functions.items():
                owner = _owner(function)
                if owner is not None:
                    found[f"scenario.events[{i}].{name}"] = owner
        return found

    def write(self, rec: Any, plant: Any) -> None:
        """Write the scenario into a `SCENARIO` record, before its first boundary.

        Args:
            rec: An array of one record.
            plant: The `PLANT` record of the plant that flies.
        """
        rec[...] = 0
        rec["count"] = len(self.events)
        for name, group, size in (("i_pos", POS, 3), ("i_vel", VEL, 3), ("i_att", ATT, 4)):
            start, stop = int(plant["group_start"][group]), int(plant["group_stop"][group])
            rec[name] = start if stop - start == size else -1
        traits = plant["traits"]
        rec["n_batteries"] = traits["n_batteries"]
        rec["ends_at_crash"] = self.ends_at_crash and traits["has_ground"] != 0
        rec["rest_m"] = traits["rest_m"]
        rec["answer"] = NOT_ASKED
        for i, event in enumerate(self.events):
            write_event(event, rec["events"][0, i])
        interpreted(look_ahead)(view(rec, writable=True))


@dataclass(frozen=True)
class Then:
    """A trigger that waits for its action; each method returns the scenario with the event added."""

    scenario: Scenario
    trigger: Trigger

    def _add(self, action: str, **arguments: Any) -> Scenario:
        where = f"scenario.events[{len(self.scenario.events)}]"
        given = {name: value for name, value in arguments.items() if value is not None}
        good, problems = check_arguments(where, action, given)
        raise_all(problems)
        return replace(self.scenario, events=(*self.scenario.events, Event(self.trigger, action, good)))

    def arm(self) -> Scenario:
        """Request arming."""
        return self._add("arm")

    def disarm(self) -> Scenario:
        """Request disarming."""
        return self._add("disarm")

    def start_mission(self) -> Scenario:
        """Request the mission, instead of return or landing."""
        return self._add("start_mission")

    def return_home(self) -> Scenario:
        """Request the return, instead of mission or landing; in data its name is `return`."""
        return self._add("return")

    def land(self) -> Scenario:
        """Request a landing, instead of mission or return."""
        return self._add("land")

    def wind_step(self, vel_ned: Sequence[float]) -> Scenario:
        """Set the wind that is added to the wind source's [m/s]."""
        return self._add("wind_step", vel_ned=vel_ned)

    def disable_motor(self, motor: int) -> Scenario:
        """Take a motor's duty away; it coasts. Motors are counted from 1."""
        return self._add("disable_motor", motor=motor)

    def restore_motor(self, motor: int) -> Scenario:
        """Mend a motor: no longer disabled, stuck or weak."""
        return self._add("restore_motor", motor=motor)

    def thrust_loss(self, motor: int, fraction: float) -> Scenario:
        """Take a fraction of a rotor's thrust away; its torque stays."""
        return self._add("thrust_loss", motor=motor, fraction=fraction)

    def stuck_motor(self, motor: int, duty: float | None = None) -> Scenario:
        """Let an ESC apply a duty whatever it is told: by default the one it applies at that moment."""
        return self._add("stuck_motor", motor=motor, duty=duty)

    def disconnect_battery(self) -> Scenario:
        """Take all batteries off their buses."""
        return self._add("disconnect_battery")

    def reconnect_battery(self) -> Scenario:
        """Put all batteries back on their buses."""
        return self._add("reconnect_battery")

    def sensor_fault(self, sensor: str) -> Scenario:
        """Set the fault of a sensor; of `estimate`, the estimate is held as it is."""
        return self._add("sensor_fault", sensor=sensor)

    def clear_sensor_fault(self, sensor: str) -> Scenario:
        """Clear the fault of a sensor."""
        return self._add("clear_sensor_fault", sensor=sensor)

    def estimate_bias(
        self,
        *,
        pos_ned: Sequence[float] | None = None,
        vel_ned: Sequence[float] | None = None,
        yaw_rad: float | None = None,
        omega_body: Sequence[float] | None = None,
    ) -> Scenario:
        """Set an error that is added to the estimate; what is not given is 0."""
        return self._add("estimate_bias", pos_ned=pos_ned, vel_ned=vel_ned, yaw_rad=yaw_rad, omega_body=omega_body)

    def estimate_drift(
        self,
        *,
        pos_ned: Sequence[float] | None = None,
        vel_ned: Sequence[float] | None = None,
        yaw_rad: float | None = None,
        omega_body: Sequence[float] | None = None,
    ) -> Scenario:
        """Set an error that grows by so much per second; what is not given is 0."""
        return self._add("estimate_drift", pos_ned=pos_ned, vel_ned=vel_ned, yaw_rad=yaw_rad, omega_body=omega_body)

    def estimate_dropout(self) -> Scenario:
        """Take position and velocity away from the estimate."""
        return self._add("estimate_dropout")

    def clear_estimate_faults(self) -> Scenario:
        """Take back bias, drift and dropout; not the hold, which is `clear_sensor_fault("estimate")`."""
        return self._add("clear_estimate_faults")

    def do(self, act: Act) -> Scenario:
        """Call a function `act(time_us, inputs, outputs)`; outputs are the scenario's part of the bus."""
        if not callable(act):
            raise InputError(f"scenario.events[{len(self.scenario.events)}] does {act!r}; it must be a function")
        return replace(self.scenario, events=(*self.scenario.events, Event(self.trigger, act)))


def _owner(function: Callable[..., Any]) -> Any:
    """Return the object whose attributes a function may keep its state in: a method's, or itself if it is one."""
    if isinstance(function, functools.partial):
        return _owner(function.func)
    if isinstance(function, MethodType):
        return None if isinstance(function.__self__, type) else function.__self__
    is_own = not isinstance(function, type | FunctionType) and isinstance(type(function).__call__, FunctionType)
    return function if is_own else None
