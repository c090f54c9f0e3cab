"""A `Scenario` in the loop: written into its record, checked against the rest, and its Python functions called."""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.base import capabilities_of
from px4lockstep.engine.builder import Builder
from px4lockstep.engine.protocols import StageInputs
from px4lockstep.engine.snapshot import check_object
from px4lockstep.engine.timeline import Timeline
from px4lockstep.errors import InputError
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.jit import view
from px4lockstep.part import Found, dotted
from px4lockstep.scenario.fit import Surroundings, problems, raise_if_any
from px4lockstep.scenario.scenario import Scenario, time_key
from px4lockstep.scenario.stage import ACTED, DECLINED, HOLDS
from px4lockstep.vehicle.dispatch import PLANT


def set_scenario(
    scenario: Scenario, core: npt.NDArray[Any], timeline: Timeline, sources: dict[str, Any], builder: Builder
) -> None:
    """Write a scenario into the `SIM` record; each event must be at a boundary, be possible, and have an effect."""
    autopilot, estimator = sources["autopilot"], sources["estimator"]
    flown_by = capabilities_of(autopilot)
    around = Surroundings(
        has_estimator=isinstance(estimator, Estimator) or getattr(estimator, "applies_estimate_faults", False),
        autopilot=flown_by.name,
        has_autopilot=flown_by.flies,
        has_mission=getattr(autopilot, "mission", ...) is not None,
        takes_sensor_faults=flown_by.takes_sensor_faults,
        estimates_itself=flown_by.estimates_itself,
        start_us=timeline.start_us,
        has_ticks=timeline.autopilot is not None,
    )
    builder.write(core, ("scenario",), _write_scenario, scenario, core["plant"].tobytes(), timeline, around)
    for name, item in scenario.python_objects().items():
        check_object(name, item)


def _write_scenario(
    record: npt.NDArray[Any], scenario: Scenario, plant_bytes: bytes, timeline: Timeline, around: Surroundings
) -> None:
    plant = np.frombuffer(plant_bytes, PLANT)[0]
    scenario.write(record, plant)
    around = replace(
        around,
        n_motors=int(plant["traits"]["n_motors"]) if plant["traits"]["is_vehicle"] else 0,
        n_batteries=int(plant["traits"]["n_batteries"]),
        state=tuple(name for name, place in STATE_PARTS.items() if record[place][0] >= 0),
    )
    raise_if_any((*problems(scenario, around), *_between_boundaries(scenario, timeline)))


STATE_PARTS = {"position": "i_pos", "velocity": "i_vel", "attitude": "i_att"}
"""Where the `SCENARIO` record says that a part of the state starts; below 0 the plant does not have it."""


def _between_boundaries(scenario: Scenario, timeline: Timeline) -> Found:
    """Yield the events at times at which the timeline has no boundary."""
    for key, event in scenario.keyed_events:
        time_us = event.time_us
        if time_us is None or not timeline.start_us <= time_us <= timeline.end_us:
            continue
        if not timeline.is_boundary(time_us):
            yield (
                time_key(key),
                f"{dotted(time_key(key))} = {event.at_s} makes an event at {time_us} us, which is no boundary; add it "
                "to the scenario axis: Explicit(scenario.times_us())",
            )


def scenario_handler(scenario: Scenario, core: npt.NDArray[Any], inputs: StageInputs) -> Callable[[], None]:
    """Return what the engine calls when the loop asks for an event that needs Python."""
    events = scenario.keyed_events
    outputs = functools.cache(lambda: view(core["bus"]["scenario"], writable=True))  # few scenarios need it
    bus_time_us = core["bus"]["time_us"].data
    asked, answer = core["scenario"]["asked"].data, core["scenario"]["answer"].data

    def call() -> None:
        key, event = events[asked[0]]
        if event.condition is not None:
            holds = event.condition(bus_time_us[0], inputs)
            if not isinstance(holds, bool | np.bool_):
                raise InputError(f"the condition of {dotted(key)} returned {holds!r}; it must return True or False")
            if not holds:
                answer[0] = DECLINED
                return
        if event.act is None:
            answer[0] = HOLDS
            return
        event.act(bus_time_us[0], inputs, outputs())
        answer[0] = ACTED

    return call


class NotingChanges:
    """Calls a user's scenario, and notes whether its outputs are others than after the last call, to the bit."""

    def __init__(self, handler: Callable[[], None], core: npt.NDArray[Any]) -> None:
        self._handler = handler
        self._raw = core["bus"]["scenario"].view(np.uint8).data
        self._has_changed = core["scenario"]["has_changed"].data
        self.forget()

    def forget(self) -> None:
        """Take the outputs as they are for those of the last call: a snapshot was restored."""
        self._last = self._raw.tobytes()

    def __call__(self) -> None:
        """Call it."""
        self._handler()
        now = self._raw.tobytes()
        if now != self._last:
            self._last = now
            self._has_changed[0] = 1
