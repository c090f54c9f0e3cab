"""The stage of a `Scenario`: write its record, check it against the other stages, call its Python functions."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.base import Capabilities, capabilities_of
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
    """Write a scenario into the `SIM` record; each event must be at a boundary, be valid, and have an effect."""
    autopilot, estimator = sources["autopilot"], sources["estimator"]
    has_estimator = isinstance(estimator, Estimator) or getattr(estimator, "applies_estimate_faults", False)
    has_mission = getattr(autopilot, "mission", ...) is not None
    around = builder.made(_surroundings, capabilities_of(autopilot), has_estimator, has_mission, timeline)
    builder.write(core, ("scenario",), _write_scenario, scenario, core["plant"].tobytes(), timeline, around)
    for name, item in scenario.python_objects().items():
        check_object(name, item)


def _surroundings(flown_by: Capabilities, has_estimator: bool, has_mission: bool, timeline: Timeline) -> Surroundings:
    """Return what a scenario is checked against, apart from the plant."""
    return Surroundings(
        has_estimator=has_estimator,
        autopilot=flown_by.name,
        has_autopilot=flown_by.flies,
        has_mission=has_mission,
        takes_sensor_faults=flown_by.takes_sensor_faults,
        estimates_itself=flown_by.estimates_itself,
        start_us=timeline.start_us,
        has_ticks=timeline.autopilot is not None,
        takes_setpoints=flown_by.takes_setpoints,
        no_setpoints=flown_by.no_setpoints,
        sets_params=flown_by.sets_params,
    )


def _write_scenario(
    record: npt.NDArray[Any], scenario: Scenario, plant_bytes: bytes, timeline: Timeline, around: Surroundings
) -> None:
    plant = np.frombuffer(plant_bytes, PLANT)[0]
    scenario.write(record, plant, ends_after_landing=timeline.ends_after_landing)
    around = replace(
        around,
        n_motors=int(plant["traits"]["n_motors"]) if plant["traits"]["is_vehicle"] else 0,
        n_batteries=int(plant["traits"]["n_batteries"]),
        state=tuple(name for name, place in STATE_PARTS.items() if record[place][0] >= 0),
    )
    raise_if_any((*problems(scenario, around), *_between_boundaries(scenario, timeline)))


STATE_PARTS = {"position": "i_pos", "velocity": "i_vel", "attitude": "i_att"}
"""The fields of the `SCENARIO` record with the start of a part of the state; negative if the plant lacks the part."""


def _between_boundaries(scenario: Scenario, timeline: Timeline) -> Found:
    """Yield the events whose times are not boundaries of the timeline."""
    for key, event in scenario.keyed_events:
        time_us = event.time_us
        if time_us is None or not timeline.start_us <= time_us <= timeline.end_us:
            continue
        if not timeline.is_boundary(time_us):
            yield (
                time_key(key),
                f"{dotted(time_key(key))} = {event.at_s}: the event at {time_us} us is not on an event boundary of the "
                "timeline; add it to the scenario axis: Explicit(scenario.times_us())",
            )


SetParam = Callable[[str, float | int], None]
"""`set_param(name, value)`: change a parameter of the autopilot."""


def scenario_handler(
    scenario: Scenario, core: npt.NDArray[Any], inputs: StageInputs, set_param: SetParam
) -> Callable[[], None]:
    """Return the function that the engine calls when an event of the loop needs Python."""
    events = scenario.keyed_events
    outputs: list[Any] = []  # made on first use: few scenarios need them
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
        if event.act is None and event.action == "set_param":
            set_param(*event.param)
            answer[0] = ACTED
            return
        if event.act is None:
            answer[0] = HOLDS
            return
        if not outputs:
            outputs.append(view(core["bus"]["scenario"], writable=True))
        event.act(bus_time_us[0], inputs, outputs[0])
        answer[0] = ACTED

    return call


def params_set(scenario: object, core: npt.NDArray[Any]) -> dict[str, float | int]:
    """Return the parameters that the events of a scenario have changed up to now, by name."""
    if not isinstance(scenario, Scenario) or not any(event.action == "set_param" for event in scenario.events):
        return {}
    fired_as = core["scenario"]["fired_as"][0]
    events = [(int(fired_as[i]), event) for i, (_, event) in enumerate(scenario.keyed_events) if fired_as[i]]
    fired = sorted(events, key=lambda item: item[0])
    return dict(event.param for _, event in fired if event.action == "set_param")


class NotingChanges:
    """Calls a user's scenario, and records whether its outputs changed, bit for bit, since the last call."""

    def __init__(self, handler: Callable[[], None], core: npt.NDArray[Any]) -> None:
        self._handler = handler
        self._raw = core["bus"]["scenario"].view(np.uint8).data
        self._has_changed = core["scenario"]["has_changed"].data
        self.forget()

    def forget(self) -> None:
        """Use the current outputs as those of the last call, after a snapshot was restored."""
        self._last = self._raw.tobytes()

    def __call__(self) -> None:
        """Call the scenario."""
        self._handler()
        now = self._raw.tobytes()
        if now != self._last:
            self._last = now
            self._has_changed[0] = 1
