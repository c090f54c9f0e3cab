"""The scenario of a flight: a list of events, built by method calls, from events or from the tables of a spec file.

    scenario = Scenario().at(1.0).arm().at(2.0).start_mission().when("altitude_m", above=10.0).disable_motor(2)
    scenario = Scenario(arm_time_s=1.0, events=[Event(at_s=2.0, action="start_mission")])

Each call returns a new scenario. Events at the same boundary fire in the order of the list, after those of `arm_time_s`
and `mission_time_s`.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator

from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted, view
from px4lockstep.part import KEY, Key, Part, Seconds, entry, wrong
from px4lockstep.plant.layout import ATT, POS, VEL
from px4lockstep.scenario.actions import ACTIONS
from px4lockstep.scenario.events import Act, Condition, Event
from px4lockstep.scenario.landing import CRASH_ENDS, CRASH_LIES
from px4lockstep.scenario.setpoint_rows import SETPOINT_ROW
from px4lockstep.scenario.setpoints import SetpointTable, content_of
from px4lockstep.scenario.stage import MAX_EVENTS, NOT_ASKED, look_ahead
from px4lockstep.timebase import check_us

MAX_LISTED = MAX_EVENTS - 2
"""Maximum number of events; two are reserved for `arm_time_s` and `mission_time_s`."""


def _not_too_many(events: Any) -> Any:
    if isinstance(events, tuple) and len(events) > MAX_LISTED:
        raise wrong(f"{KEY} has {len(events)} events; at most {MAX_LISTED} are allowed")
    return events


@functools.lru_cache(maxsize=64)
def _request(action: str, at_s: float) -> Event:
    """Return the event of `arm_time_s` or `mission_time_s`."""
    return Event(at_s=at_s, action=action)


def time_key(key: Key) -> Key:
    """Return the key of the time of an event; `arm_time_s` and `mission_time_s` are times themselves."""
    return (*key, "at_s") if "events" in key else key


class Scenario(Part, where="scenario", stage="scenario"):
    """Requests to the autopilot, wind steps and faults during the flight."""

    arm_time_s: Seconds | None = entry(
        None, "Time to arm. Default: 1.0 if there is a mission and no event arms, otherwise never.", "s"
    )
    mission_time_s: Seconds | None = entry(
        None, "Time to start the mission. Default: 2.0 if there is one and no event starts it, otherwise never.", "s"
    )
    ends_at_crash: bool = entry(
        True, "Whether a crash ends the run. If not, the run continues; its outcome is still `crashed`."
    )
    events: Annotated[tuple[Event, ...], BeforeValidator(_not_too_many)] = entry(
        (), f"Events, at most {MAX_LISTED}. Events at the same time fire in this order."
    )

    setpoints: SetpointTable | None = entry(
        None,
        "Table of setpoints for the autopilot. Its first row requests setpoint mode (PX4's offboard).",
    )

    setpoints_from_python: bool = entry(
        False, "Whether a Python function gives the setpoints. `simulate(..., setpoints=function)` sets it."
    )

    # -- triggers --------------------------------------------------------------------------------------------------

    def at(self, seconds: float) -> "Then":
        """Trigger the next action at a time, which must be a whole number of microseconds and a boundary."""
        return Then(self, {"at_s": seconds})

    def at_us(self, time_us: int) -> "Then":
        """Trigger the next action at a time in microseconds."""
        return Then(self, {"at_s": check_us(f"scenario.events[{len(self.events)}].at_us", time_us) / 1e6})

    def at_step(self, step: int) -> "Then":
        """Trigger the next action at an autopilot tick, counted from 0."""
        return Then(self, {"at_step": step})

    def when(self, signal: str | Condition, *, above: float | None = None, below: float | None = None) -> "Then":
        """Trigger the next action at the first boundary at which a condition holds.

        Args:
            signal: Name of a signal, with `above` or `below`; or a function `condition(time_us, inputs)`.
            above: Threshold that the signal must exceed.
            below: Threshold that the signal must fall below.
        """
        if callable(signal):
            if above is not None or below is not None:
                where = f"scenario.events[{len(self.events)}].when"
                raise InputError(f"{where} is a function; above and below are for signals")
            return Then(self, {"when": signal})
        return Then(self, {"when": {"signal": signal, "above": above, "below": below}})

    def arm(self, at_s: float) -> "Scenario":
        """Request arming at a time: short for `at(at_s).arm()`."""
        return self.at(at_s).arm()

    def start_mission(self, at_s: float) -> "Scenario":
        """Request the mission at a time: short for `at(at_s).start_mission()`."""
        return self.at(at_s).start_mission()

    # -- events ----------------------------------------------------------------------------------------------------

    @property
    def keyed_events(self) -> tuple[tuple[Key, Event], ...]:
        """All events in order, each with its key in the spec file."""
        requests = (("arm_time_s", "arm", self.arm_time_s), ("mission_time_s", "start_mission", self.mission_time_s))
        first = [(("scenario", name), _request(action, at_s)) for name, action, at_s in requests if at_s is not None]
        return (*first, *((("scenario", "events", i), event) for i, event in enumerate(self.events)))

    def to_data(self) -> list[dict[str, Any]]:
        """Return the events as tables, which `Scenario(events=...)` accepts.

        Raises:
            InputError: If an event has a Python function, which can't be written as data.
        """
        for i, event in enumerate(self.events):
            if event.condition is not None or event.act is not None:
                raise InputError(f"scenario.events[{i}] has a Python function, which can't be written as data")
        return [event.model_dump(mode="json", exclude_none=True) for event in self.events]

    def times_us(self, end_us: int | None = None) -> tuple[int, ...]:
        """Return the sorted times of events without duplicates, up to the end of the run if it is given.

        They must be boundaries: `Timeline(..., scenario=Explicit(scenario.times_us()))`.
        """
        times = {time_us for _, event in self.keyed_events if (time_us := event.time_us) is not None}
        return tuple(time_us for time_us in sorted(times) if end_us is None or time_us <= end_us)

    # -- setpoints -------------------------------------------------------------------------------------------------

    @property
    def gives_setpoints(self) -> bool:
        """Whether there are setpoints: in its table or events, or from a Python function."""
        is_given = self.setpoints is not None or self.setpoints_from_python
        return is_given or any(event.action == "setpoint" for event in self.events)

    def setpoint_rows(self) -> npt.NDArray[Any]:
        """Return all setpoints as `SETPOINT_ROW` records: the table, then the events in order."""
        table = np.zeros(0, SETPOINT_ROW) if self.setpoints is None else self.setpoints.rows()
        given = [event.setpoint for _, event in self.keyed_events if event.setpoint is not None]
        events = np.zeros(len(given), SETPOINT_ROW)
        for row, setpoint in zip(events, given, strict=True):
            row["setpoint"] = setpoint[0]
        return np.concatenate([table, events])

    # -- running ---------------------------------------------------------------------------------------------------

    @property
    def is_native(self) -> bool:
        """Whether no action is a Python function, which could set any fault."""
        return all(event.act is None for event in self.events)

    def python_objects(self) -> dict[str, Any]:
        """Return the objects behind Python functions by event; a snapshot must copy their attributes."""
        found = {}
        for i, event in enumerate(self.events):
            for name, function in (("condition", event.condition), ("action", event.act)):
                owner = owner_of(function) if function is not None else None
                if owner is not None:
                    found[f"scenario.events[{i}].{name}"] = owner
        return found

    def write(self, rec: Any, plant: Any, *, ends_after_landing: bool = False) -> None:
        """Write an array of one `SCENARIO` record, before the first boundary."""
        rec[...] = 0
        rec["count"] = len(self.keyed_events)
        for name, group, size in (("i_pos", POS, 3), ("i_vel", VEL, 3), ("i_att", ATT, 4)):
            start, stop = int(plant["group_start"][group]), int(plant["group_stop"][group])
            rec[name] = start if stop - start == size else -1
        traits = plant["traits"]
        rec["n_batteries"] = traits["n_batteries"]
        rec["on_crash"] = (CRASH_ENDS if self.ends_at_crash else CRASH_LIES) if traits["has_ground"] else 0
        rec["ends_after_landing"] = ends_after_landing
        rec["rest_m"] = traits["rest_m"]
        rec["answer"] = NOT_ASKED
        row = 0
        if self.setpoints is not None:
            row = len(self.setpoints.time_s)
            rec["setpoints"]["table_rows"] = row
            rec["setpoints"]["is_linear"] = self.setpoints.interpolate == "linear"
            rec["setpoints"]["end_us"] = self.setpoints.end_us
        for i, (_, event) in enumerate(self.keyed_events):
            event.write(rec["events"][0, i])
            if event.setpoint is not None:
                rec["events"][0, i]["row"] = row
                rec["events"][0, i]["content"] = content_of(event.setpoint.tobytes())
                row += 1
        interpreted(look_ahead)(view(rec, writable=True))


def _plain(name: str) -> "Callable[[Then], Scenario]":
    """Return a method that adds an action without arguments."""

    def add(then: "Then") -> Scenario:
        return then._add(name)

    add.__doc__ = ACTIONS[name].doc
    return add


@dataclass(frozen=True)
class Then:
    """A trigger without an action; each method returns the scenario with the completed event added."""

    scenario: Scenario
    trigger: dict[str, Any]

    def _add(self, action: str | Act, **arguments: Any) -> Scenario:
        given = {name: value for name, value in arguments.items() if value is not None}
        own = {name: getattr(self.scenario, name) for name in Scenario.model_fields if name != "events"}
        event: Any = {**self.trigger, "action": action, **given}
        return Scenario(**own, events=(*self.scenario.events, event))

    arm = _plain("arm")
    disarm = _plain("disarm")
    start_mission = _plain("start_mission")
    return_home = _plain("return")
    land = _plain("land")
    disconnect_battery = _plain("disconnect_battery")
    reconnect_battery = _plain("reconnect_battery")
    estimate_dropout = _plain("estimate_dropout")
    clear_estimate_faults = _plain("clear_estimate_faults")  # `clear_sensor_fault("estimate")` ends a freeze

    def wind_step(self, vel_ned: Sequence[float]) -> Scenario:
        """Set a wind [m/s] that is added to the wind model's."""
        return self._add("wind_step", vel_ned=vel_ned)

    def disable_motor(self, motor: int) -> Scenario:
        """Set the duty of a motor to 0; the rotor coasts. Motors are counted from 1."""
        return self._add("disable_motor", motor=motor)

    def restore_motor(self, motor: int) -> Scenario:
        """Clear all faults of a motor: disabled, stuck and thrust loss."""
        return self._add("restore_motor", motor=motor)

    def thrust_loss(self, motor: int, fraction: float) -> Scenario:
        """Remove a fraction of a rotor's thrust; its torque stays."""
        return self._add("thrust_loss", motor=motor, fraction=fraction)

    def stuck_motor(self, motor: int, duty: float | None = None) -> Scenario:
        """Fix the duty of an ESC, regardless of the command; by default at its value at the time of the event."""
        return self._add("stuck_motor", motor=motor, duty=duty)

    def setpoint(self, **given: Any) -> Scenario:
        """Give a setpoint, held until the next, and request setpoint mode: `setpoint(pos_ned=(0, 0, -10))`."""
        return self._add("setpoint", **given)

    def set_param(self, name: str, value: float) -> Scenario:
        """Change a PX4 parameter of the autopilot."""
        return self._add("set_param", name=name, value=value)

    stop_setpoints = _plain("stop_setpoints")
    offboard = _plain("offboard")

    def sensor_fault(self, sensor: str) -> Scenario:
        """Set the fault of a sensor; the fault of `estimate` freezes the estimate."""
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
        """Set an error that is added to the estimate; omitted components are 0."""
        return self._add("estimate_bias", pos_ned=pos_ned, vel_ned=vel_ned, yaw_rad=yaw_rad, omega_body=omega_body)

    def estimate_drift(
        self,
        *,
        pos_ned: Sequence[float] | None = None,
        vel_ned: Sequence[float] | None = None,
        yaw_rad: float | None = None,
        omega_body: Sequence[float] | None = None,
    ) -> Scenario:
        """Set the rate per second at which an error of the estimate grows; omitted components are 0."""
        return self._add("estimate_drift", pos_ned=pos_ned, vel_ned=vel_ned, yaw_rad=yaw_rad, omega_body=omega_body)

    def do(self, act: Act) -> Scenario:
        """Call a function `act(time_us, inputs, outputs)`; outputs are the scenario's part of the bus."""
        if not callable(act):
            raise InputError(f"scenario.events[{len(self.scenario.events)}].do({act!r}): it must be a function")
        return self._add(act)


def owner_of(function: Callable[..., Any]) -> Any:
    """Return the object whose attributes may hold the state of a function: that of a method, or a callable object."""
    if isinstance(function, functools.partial):
        return owner_of(function.func)
    if isinstance(function, MethodType):
        return None if isinstance(function.__self__, type) else function.__self__
    is_own = not isinstance(function, type | FunctionType) and isinstance(type(function).__call__, FunctionType)
    return function if is_own else None
