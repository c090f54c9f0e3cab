"""Checks across the tables of a spec. Each check yields keys and error messages."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from px4lockstep.autopilots.kinds import AutopilotOptions
from px4lockstep.autopilots.px4_library.options import Px4Options
from px4lockstep.errors import InputError
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.log.schema import COLUMNS
from px4lockstep.part import KEY, Found, Key, bad, dotted, show
from px4lockstep.part.wording import choices
from px4lockstep.scenario.fit import Surroundings, problems
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.spec.flight_tables import OUTPUTS, RunTable, SensorTable
from px4lockstep.spec.timing import Timing
from px4lockstep.timebase import seconds_to_us
from px4lockstep.vehicle.aircraft import check_motors, check_wiring
from px4lockstep.vehicle.airframe import Airframe
from px4lockstep.vehicle.battery_sensor import sense_delay_ticks
from px4lockstep.vehicle.power import Power

Tables = dict[str, Any]
"""The valid top-level tables, by name."""


def us(seconds: float) -> int:
    """Convert seconds that are known to be a whole number of microseconds."""
    return seconds_to_us(seconds, "time")


def check_estimator(timing: Timing, estimator: Estimator) -> Found:
    """Check that the estimator runs at the autopilot's period and its delay is a whole number of ticks."""
    if estimator.dt_est_s is not None and us(estimator.dt_est_s) != timing.tick_us:
        text = f"must equal timeline.dt_autopilot_s = {timing.dt_autopilot_s}"
        yield bad(("estimator", "dt_est_s"), estimator.dt_est_s, text)
    try:
        estimator.delay_ticks(timing.tick_us)
    except InputError as error:
        yield ("estimator", "delay_s"), str(error)


def check_battery_sensors(timing: Timing, power: Power) -> Found:
    """Check that the delays of the battery sensors are whole ticks and fit into their buffers."""
    period_us = us(timing.dt_autopilot_s)
    for i, battery in enumerate(power.batteries):
        try:
            sense_delay_ticks(battery, i, period_us)
        except InputError as error:
            yield error.key, str(error)


def check_motors_of_events(airframe: Airframe, scenario: Scenario) -> Found:
    """Check that events name existing motors."""
    yield from problems(scenario, Surroundings(n_motors=len(airframe.rotor_pos_body_m)))


def check_events_apply(scenario: Scenario, autopilot: AutopilotOptions) -> Found:
    """Check that the autopilot supports the sensors and signals that events use."""
    capabilities = autopilot.capabilities
    around = Surroundings(
        autopilot=capabilities.name,
        has_autopilot=capabilities.flies,
        takes_sensor_faults=capabilities.takes_sensor_faults,
        estimates_itself=capabilities.estimates_itself,
        takes_setpoints=capabilities.takes_setpoints,
        no_setpoints=capabilities.no_setpoints,
        sets_params=capabilities.sets_params,
        param_error=autopilot.param_error,
    )
    yield from problems(scenario, around)


def check_mission(px4: Px4Options, scenario: Scenario, run: RunTable | None) -> Found:
    """Check that there is a mission if an event starts one."""
    if px4.mission_path is not None:
        return
    starts = [dotted(place) for place, event in scenario.keyed_events if event.action == "start_mission"]
    if starts and (run is None or run.mode != "replay"):
        text = f"px4.mission_path is missing; {starts[0]} starts a mission. Set it, for example to 'simple'"
        yield ("px4", "mission_path"), text


def check_rotor_parameters(airframe: Airframe, autopilot: AutopilotOptions) -> Found:
    """Check that CA_ROTOR parameters name existing rotors."""
    rotors = len(airframe.rotor_pos_body_m)
    params = {("autopilot", "params", name): value for name, value in autopilot.params.items()}
    params |= {("airframe", "px4_params", name): value for name, value in airframe.px4_params.items()}
    for key, value in params.items():
        found = re.match(r"CA_ROTOR(\d+)_", key[-1])
        if found and int(found[1]) >= rotors:
            yield bad(key, value, f"names a rotor that does not exist; rotors are 0 to {rotors - 1}")


def check_px4(px4: Px4Options, timing: Timing) -> Found:
    """Check that the rates of PX4 and the periods of its topics are compatible with the tick."""
    for key, text in px4.check_ticks(timing.dt_autopilot_s):
        yield ("px4", *key), text.replace(KEY, dotted(("px4", *key)))


def check_run(run: RunTable) -> Found:
    """Check that a replay has a recording, outputs are files, and log columns exist."""
    if run.mode == "replay" and run.recording_in is None:
        yield ("run", "mode"), "run.recording_in is missing; run.mode = 'replay' needs a recording"
    if run.mode != "replay" and run.recording_in is not None:
        yield bad(("run", "recording_in"), run.recording_in, f"is for a replay; run.mode is {show(run.mode)}")
    for name in OUTPUTS:
        if not getattr(run, name):
            continue
        path = Path(getattr(run, name))
        if path.name in ("", "..") or (path.is_absolute() and path.is_dir()):
            yield bad(("run", name), str(path), "is a folder; give the path of a file")
    if run.log_columns == "all":
        return
    names = [column.name for column in COLUMNS]
    for i, name in enumerate(run.log_columns):
        if name not in names:
            key: Key = ("run", "log_columns", i)
            yield bad(key, name, f"is unknown; {choices(name, ', '.join(repr(known) for known in names))}")


def check_sensors(sensors: tuple[SensorTable, ...]) -> Found:
    """Check that the names of sensors are unique."""
    ids = Counter(sensor.id for sensor in sensors)
    for i, sensor in enumerate(sensors):
        if ids[sensor.id] > 1:
            yield bad(("sensors", i, "id"), sensor.id, "is used more than once; sensors need unique names")


@dataclass(frozen=True)
class Check:
    """A check of several tables; it is skipped if one that it needs is invalid."""

    find: Callable[..., Found]
    needed: tuple[str, ...]  # the tables that are its arguments
    also: tuple[str, ...] = ()  # further arguments: tables that are None if they are invalid
    reads_files: bool = False

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """All of its arguments."""
        return self.needed + self.also


CHECKS = (
    Check(check_motors, ("airframe", "actuation")),
    Check(check_wiring, ("actuation", "power")),
    Check(check_battery_sensors, ("timeline", "power")),
    Check(check_estimator, ("timeline", "estimator")),
    Check(check_motors_of_events, ("airframe", "scenario")),
    Check(check_events_apply, ("scenario", "autopilot")),
    Check(check_mission, ("px4", "scenario"), also=("run",)),
    Check(check_rotor_parameters, ("airframe", "autopilot")),
    Check(check_px4, ("px4", "timeline")),
    Check(check_sensors, ("sensors",)),
    Check(check_run, ("run",), reads_files=True),
)
"""All checks across tables, in the order of their findings."""
