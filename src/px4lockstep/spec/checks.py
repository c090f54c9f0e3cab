"""Checks across the tables of a spec. Each check yields keys and error messages."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from px4lockstep.errors import InputError
from px4lockstep.log.schema import COLUMNS
from px4lockstep.part import KEY, Found, Key, bad, dotted, show
from px4lockstep.part.wording import choices
from px4lockstep.scenario.fit import Surroundings, problems
from px4lockstep.spec.flight_tables import OUTPUTS
from px4lockstep.timebase import seconds_to_us
from px4lockstep.vehicle.aircraft import check_motors, check_wiring
from px4lockstep.vehicle.battery_sensor import sense_delay_ticks

Tables = dict[str, Any]
"""The valid top-level tables, by name."""


def us(seconds: float) -> int:
    """Convert seconds that are known to be a whole number of microseconds."""
    return seconds_to_us(seconds, "time")


def check_estimator(tables: Tables) -> Found:
    """Check that the estimator runs at the autopilot's period and its delay is a whole number of ticks."""
    estimator, timing = tables["estimator"], tables["timeline"]
    if estimator.dt_est_s is not None and us(estimator.dt_est_s) != timing.tick_us:
        text = f"must equal timeline.dt_autopilot_s = {timing.dt_autopilot_s}"
        yield bad(("estimator", "dt_est_s"), estimator.dt_est_s, text)
    try:
        estimator.delay_ticks(timing.tick_us)
    except InputError as error:
        yield ("estimator", "delay_s"), str(error)


def check_battery_sensors(tables: Tables) -> Found:
    """Check that the delays of the battery sensors are whole ticks and fit into their buffers."""
    period_us = us(tables["timeline"].dt_autopilot_s)
    for i, battery in enumerate(tables["power"].batteries):
        try:
            sense_delay_ticks(battery, i, period_us)
        except InputError as error:
            yield error.key, str(error)


def check_motors_of_events(tables: Tables) -> Found:
    """Check that events name existing motors."""
    yield from problems(tables["scenario"], Surroundings(n_motors=len(tables["airframe"].rotor_pos_body_m)))


def check_events_apply(tables: Tables) -> Found:
    """Check that the autopilot supports the sensors and signals that events use."""
    capabilities = tables["autopilot"].capabilities
    around = Surroundings(
        autopilot=capabilities.name,
        has_autopilot=capabilities.flies,
        takes_sensor_faults=capabilities.takes_sensor_faults,
        estimates_itself=capabilities.estimates_itself,
        takes_setpoints=capabilities.takes_setpoints,
        no_setpoints=capabilities.no_setpoints,
        sets_params=capabilities.sets_params,
        param_error=tables["autopilot"].param_error,
    )
    yield from problems(tables["scenario"], around)


def check_mission(tables: Tables) -> Found:
    """Check that there is a mission if an event starts one."""
    if tables["px4"].mission_path is not None:
        return
    starts = [dotted(place) for place, event in tables["scenario"].keyed_events if event.action == "start_mission"]
    if starts and ("run" not in tables or tables["run"].mode != "replay"):
        text = f"px4.mission_path is missing; {starts[0]} starts a mission. Set it, for example to 'simple'"
        yield ("px4", "mission_path"), text


def check_rotor_parameters(tables: Tables) -> Found:
    """Check that CA_ROTOR parameters name existing rotors."""
    airframe, rotors = tables["airframe"], len(tables["airframe"].rotor_pos_body_m)
    params = {("autopilot", "params", name): value for name, value in tables["autopilot"].params.items()}
    params |= {("airframe", "px4_params", name): value for name, value in airframe.px4_params.items()}
    for key, value in params.items():
        found = re.match(r"CA_ROTOR(\d+)_", key[-1])
        if found and int(found[1]) >= rotors:
            yield bad(key, value, f"names a rotor that does not exist; rotors are 0 to {rotors - 1}")


def check_px4(tables: Tables) -> Found:
    """Check that the rates of PX4 and the periods of its topics are compatible with the tick."""
    for key, text in tables["px4"].check_ticks(tables["timeline"].dt_autopilot_s):
        yield ("px4", *key), text.replace(KEY, dotted(("px4", *key)))


def check_run(tables: Tables) -> Found:
    """Check that a replay has a recording, outputs are files, and log columns exist."""
    run = tables["run"]
    if run.mode == "replay" and run.recording_in is None:
        yield ("run", "mode"), "run.recording_in is missing; run.mode = 'replay' needs a recording"
    if run.mode != "replay" and run.recording_in is not None:
        yield bad(("run", "recording_in"), run.recording_in, f"is for a replay; run.mode is {show(run.mode)}")
    for name in OUTPUTS:
        path = Path(getattr(run, name) or "x")
        if path.name in ("", "..") or (path.is_absolute() and path.is_dir()):
            yield bad(("run", name), str(path), "is a folder; give the path of a file")
    names = [column.name for column in COLUMNS]
    for i, name in enumerate(run.log_columns if run.log_columns != "all" else ()):
        if name not in names:
            key: Key = ("run", "log_columns", i)
            yield bad(key, name, f"is unknown; {choices(name, ', '.join(repr(known) for known in names))}")


def check_sensors(tables: Tables) -> Found:
    """Check that the names of sensors are unique."""
    ids = Counter(sensor.id for sensor in tables["sensors"])
    for i, sensor in enumerate(tables["sensors"]):
        if ids[sensor.id] > 1:
            yield bad(("sensors", i, "id"), sensor.id, "is used more than once; sensors need unique names")


CHECKS: tuple[tuple[Callable[[Tables], Found], tuple[str, ...]], ...] = (
    (lambda tables: check_motors(tables["airframe"], tables["actuation"]), ("airframe", "actuation")),
    (lambda tables: check_wiring(tables["actuation"], tables["power"]), ("actuation", "power")),
    (check_battery_sensors, ("timeline", "power")),
    (check_estimator, ("timeline", "estimator")),
    (check_motors_of_events, ("airframe", "scenario")),
    (check_events_apply, ("scenario", "autopilot")),
    (check_mission, ("px4", "scenario")),
    (check_rotor_parameters, ("airframe", "autopilot")),
    (check_px4, ("px4", "timeline")),
    (check_sensors, ("sensors",)),
    (check_run, ("run",)),
)
"""All checks, each with the tables it needs. A check is skipped if one of its tables is invalid."""
