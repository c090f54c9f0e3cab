"""A `Scenario` in the loop: written into its record, checked against the rest, and its Python functions called."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.base import capabilities_of
from px4lockstep.engine.prepared import Prepared
from px4lockstep.engine.protocols import StageInputs
from px4lockstep.engine.snapshot import check_object
from px4lockstep.engine.timeline import Timeline
from px4lockstep.errors import InputError
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.jit import view
from px4lockstep.scenario.events import WhenCalled
from px4lockstep.scenario.fit import check_fit
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.scenario.stage import ACTED, DECLINED, HOLDS
from px4lockstep.vehicle.dispatch import PLANT


def set_scenario(
    scenario: Scenario, core: npt.NDArray[Any], timeline: Timeline, sources: dict[str, Any], prepared: Prepared
) -> None:
    """Write a scenario into the `SIM` record, with all checks.

    Raises:
        InputError: If an event is not at a boundary, can't happen, or does what nothing would apply.
    """
    autopilot, estimator = sources["autopilot"], sources["estimator"]
    beside = Beside(
        has_estimator=isinstance(estimator, Estimator) or getattr(estimator, "applies_estimate_faults", False),
        has_autopilot=autopilot is not None,
        has_mission=getattr(autopilot, "mission", ...) is not None,
        has_sensors=capabilities_of(autopilot).takes_sensor_faults,
        autopilot=capabilities_of(autopilot).name,
    )
    prepared.write(core, ("scenario",), _write_scenario, scenario, core["plant"].tobytes(), timeline, beside)
    for name, item in scenario.python_objects().items():
        check_object(name, item)


@dataclass(frozen=True)
class Beside:
    """What a scenario has to do with."""

    has_estimator: bool
    has_autopilot: bool
    has_mission: bool
    has_sensors: bool
    autopilot: str


def _write_scenario(
    record: npt.NDArray[Any], scenario: Scenario, plant_bytes: bytes, timeline: Timeline, beside: Beside
) -> None:
    plant = np.frombuffer(plant_bytes, PLANT)[0]
    for time_us in scenario.times_us():
        is_inside = timeline.start_us <= time_us <= timeline.end_us
        if is_inside and timeline.time_us[timeline.index_at(time_us)] != time_us:
            raise InputError(
                f"the scenario has an event at {time_us} us, which is no boundary; add it to the scenario axis: "
                "Explicit(scenario.times_us())"
            )
    if not beside.has_mission and any(event.action == "start_mission" for event in scenario.events):
        raise InputError(f"the scenario starts the mission, and {beside.autopilot} has none; give it one")
    scenario.write(record, plant)
    check_fit(
        scenario,
        record[0],
        plant,
        start_us=timeline.start_us,
        has_estimator=beside.has_estimator,
        has_autopilot=beside.has_autopilot,
        has_sensors=beside.has_sensors,
        has_ticks=timeline.autopilot is not None,
    )


def scenario_handler(scenario: Scenario, core: npt.NDArray[Any], inputs: StageInputs) -> Callable[[], None]:
    """Return what the engine calls when the loop asks for an event that needs Python."""
    outputs = view(core["bus"]["scenario"], writable=True)
    bus_time_us = core["bus"]["time_us"].data
    asked, answer = core["scenario"]["asked"].data, core["scenario"]["answer"].data

    def call() -> None:
        index = asked[0]
        event = scenario.events[index]
        if isinstance(event.trigger, WhenCalled):
            holds = event.trigger.condition(bus_time_us[0], inputs)
            if not isinstance(holds, bool | np.bool_):
                raise InputError(
                    f"the condition of scenario.events[{index}] returned {holds!r}; it must return True or False"
                )
            if not holds:
                answer[0] = DECLINED
                return
        if isinstance(event.action, str):
            answer[0] = HOLDS
            return
        event.action(bus_time_us[0], inputs, outputs)
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
