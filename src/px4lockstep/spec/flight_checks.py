"""Whether the tables of the flight fit together. Each check yields the key and what is wrong with it."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from px4lockstep.autopilots.builtin.autopilot import MAX_RATE_HZ, Builtin
from px4lockstep.autopilots.kinds import KINDS
from px4lockstep.errors import InputError
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.log.schema import COLUMNS
from px4lockstep.part import Found, Key, dotted, show
from px4lockstep.part.wording import choices
from px4lockstep.px4.parameters import known_parameters, resolve
from px4lockstep.scenario.fit import Surroundings, problems
from px4lockstep.spec.defaults import Tables
from px4lockstep.spec.flight_tables import (
    AutopilotTable,
    RunTable,
)
from px4lockstep.spec.px4_tables import Px4Table
from px4lockstep.spec.timing import Timing
from px4lockstep.timebase import seconds_to_us
from px4lockstep.vehicle.aircraft import check_motors, check_wiring
from px4lockstep.vehicle.airframe import Airframe
from px4lockstep.vehicle.battery_sensor import sense_delay_ticks

RATES = {
    "navigator_hz": "navigator_rate_hz",
    "position_hz": "mc_pos_control_rate_hz",
    "attitude_hz": "mc_att_control_rate_hz",
    "rate_hz": "mc_rate_control_rate_hz",
    "allocation_hz": "control_allocator_rate_hz",
}
"""The rates of the built-in autopilot, and what `[px4.lockstep]` calls them."""


def us(seconds: float) -> int:
    """Return seconds that are known to be whole microseconds as those."""
    return seconds_to_us(seconds, "time")


def bad(key: Key, value: Any, text: str) -> tuple[Key, str]:
    """Return what is wrong with a key and its value."""
    return key, f"{dotted(key)} = {show(value)} {text}"


def check_thrust(tables: Tables) -> Found:
    """Motors that can lift it."""
    airframe: Airframe = tables["airframe"]
    try:
        airframe.propulsion.thrust_constant(airframe.calibration_thrust_n)
    except InputError as error:
        yield error.key, str(error)
    except ArithmeticError:
        return  # which writing the record reports


def check_estimator(tables: Tables) -> Found:
    """The autopilot's period, whole ticks of delay."""
    estimator: Estimator = tables["estimator"]
    timing: Timing = tables["timeline"]
    if estimator.dt_est_s is not None and us(estimator.dt_est_s) != timing.tick_us:
        text = f"must equal timeline.dt_autopilot_s = {timing.dt_autopilot_s}"
        yield bad(("estimator", "dt_est_s"), estimator.dt_est_s, text)
    try:
        estimator.delay_ticks(timing.tick_us)
    except InputError as error:
        yield ("estimator", "delay_s"), str(error)


def check_battery_sensors(tables: Tables) -> Found:
    """Delays of whole ticks that the sensors' memory has room for."""
    period_us = us(tables["timeline"].dt_autopilot_s)
    for i, battery in enumerate(tables["power"].batteries):
        try:
            sense_delay_ticks(battery, i, period_us)
        except InputError as error:
            yield error.key, str(error)


def check_motors_of_events(tables: Tables) -> Found:
    """Motors that are there."""
    yield from problems(tables["scenario"], Surroundings(n_motors=len(tables["airframe"].rotor_pos_body_m)))


def check_events_apply(tables: Tables) -> Found:
    """Sensors and signals that some model has."""
    capabilities = KINDS[tables["autopilot"].kind].capabilities
    around = Surroundings(
        autopilot=capabilities.name,
        has_autopilot=capabilities.flies,
        takes_sensor_faults=capabilities.takes_sensor_faults,
        estimates_itself=capabilities.estimates_itself,
    )
    yield from problems(tables["scenario"], around)


def check_mission(tables: Tables) -> Found:
    """A mission, if one is started."""
    if tables["px4"].mission_path is not None:
        return
    starts = [dotted(place) for place, event in tables["scenario"].keyed_events if event.action == "start_mission"]
    if starts and ("run" not in tables or tables["run"].mode != "replay"):
        text = f"px4.mission_path is missing; {starts[0]} starts the mission. Give one, such as 'simple'"
        yield ("px4", "mission_path"), text


def check_parameters(tables: Tables) -> Found:
    """Parameters that PX4 has, in their limits, and that the autopilot has a use for."""
    own: AutopilotTable = tables["autopilot"]
    for name, value in own.params.items():
        key: Key = ("autopilot", "params", name)
        try:
            if own.kind in ("px4", "px4-sitl"):  # which says itself whether it has a use for it
                resolve({name: value} if name in known_parameters() else {})
                continue
            Builtin(
                params={name: value},
                land_detector=own.land_detector,
                hover_thrust_estimate=own.hover_thrust_estimate,
            )
        except InputError as error:
            yield key, f"{dotted(key)}: {error}"
    names = Counter(param.name for param in tables["px4"].params)
    for i, param in enumerate(tables["px4"].params):
        if names[param.name] > 1:
            yield bad(("px4", "params", i, "name"), param.name, "is there twice; each has one value")
        elif param.name in known_parameters():  # others may be of modules that are not listed here
            try:
                resolve({param.name: param.value})
            except InputError as error:
                yield ("px4", "params", i, "value"), f"px4.params[{i}].value: {error}"


def check_rotor_parameters(tables: Tables) -> Found:
    """Parameters of rotors that are there."""
    rotors = len(tables["airframe"].rotor_pos_body_m)
    for name, value in tables["autopilot"].params.items():
        found = re.match(r"CA_ROTOR(\d+)_", name)
        if found and int(found[1]) >= rotors:
            yield bad(("autopilot", "params", name), value, f"is of no rotor; they are 0 to {rotors - 1}")


def check_rates(tables: Tables) -> Found:
    """Rates that microseconds can express and, if they are to be kept, that ticks can."""
    px4: Px4Table = tables["px4"]
    tick_s = tables["timeline"].dt_autopilot_s
    for name in RATES.values():
        key, rate_hz = ("px4", "lockstep", name), getattr(px4.lockstep, name)
        if rate_hz > MAX_RATE_HZ:
            yield bad(key, rate_hz, f"is out of range; it must be at most {MAX_RATE_HZ}, and 0 is every tick")
        elif px4.strict_lockstep_rates and rate_hz > 0 and 1_000_000 // rate_hz < us(tick_s):
            most = 1_000_000 // us(tick_s)
            text = f"can't be kept: a tick, timeline.dt_autopilot_s = {tick_s}, is longer than its period; use at most"
            yield bad(key, rate_hz, f"{text} {most}, or px4.strict_lockstep_rates = false")


def check_uorb(tables: Tables) -> Found:
    """Periods and phases of topics in whole ticks."""
    tick_s = tables["timeline"].dt_autopilot_s
    tick_us = us(tick_s)
    for i, pub in enumerate(tables["px4"].uorb.pubs):
        for name, time_us, least_us in (("period_s", pub.period_us, tick_us), ("phase_s", pub.phase_us, 0)):
            key: Key = ("px4", "uorb", "pubs", i, name)
            if time_us % tick_us:
                near_us = time_us // tick_us * tick_us
                nearest = dict.fromkeys((max(near_us, least_us), near_us + tick_us))
                text = f"is not a whole number of ticks of timeline.dt_autopilot_s = {tick_s}; use "
                yield bad(key, getattr(pub, name), text + " or ".join(f"{near / 1e6:g}" for near in nearest))
            elif name == "phase_s" and time_us >= max(pub.period_us, tick_us):
                text = f"is not before the end of a period of {max(pub.period_us, tick_us) / 1e6:g}; use less"
                yield bad(key, pub.phase_s, text)


def check_run(tables: Tables) -> Found:
    """A recording for a replay, columns that logs have."""
    run: RunTable = tables["run"]
    if run.mode == "replay" and run.recording_in is None:
        yield ("run", "mode"), "run.recording_in is missing; run.mode = 'replay' needs the recording"
    if run.mode != "replay" and run.recording_in is not None:
        yield bad(("run", "recording_in"), run.recording_in, f"is for a replay; run.mode is {show(run.mode)}")
    for name in ("log_csv", "recording_out"):
        path = getattr(run, name)
        if path is not None and Path(path).is_dir():
            yield bad(("run", name), path, "is a folder; give the path of a file")
    names = [column.name for column in COLUMNS]
    for i, name in enumerate(run.log_columns if run.log_columns != "all" else ()):
        if name not in names:
            key: Key = ("run", "log_columns", i)
            yield bad(key, name, f"is unknown; {choices(name, ', '.join(repr(known) for known in names))}")


def check_sensors(tables: Tables) -> Found:
    """Names that are there once."""
    ids = Counter(sensor.id for sensor in tables["sensors"])
    for i, sensor in enumerate(tables["sensors"]):
        if ids[sensor.id] > 1:
            yield bad(("sensors", i, "id"), sensor.id, "is there twice; sensors need different names")


Check = Callable[[Tables], Found]

CHECKS: tuple[tuple[Check, tuple[str, ...]], ...] = (
    (lambda tables: check_motors(tables["airframe"], tables["actuation"]), ("airframe", "actuation")),
    (lambda tables: check_wiring(tables["actuation"], tables["power"]), ("actuation", "power")),
    (check_battery_sensors, ("timeline", "power")),
    (check_estimator, ("timeline", "estimator")),
    (check_motors_of_events, ("airframe", "scenario")),
    (check_events_apply, ("scenario", "autopilot")),
    (check_mission, ("px4", "scenario")),
    (check_parameters, ("px4", "autopilot")),
    (check_rotor_parameters, ("airframe", "autopilot")),
    (check_rates, ("px4", "timeline")),
    (check_uorb, ("px4", "timeline")),
    (check_sensors, ("sensors",)),
    (check_run, ("run",)),
)
"""All checks, each with the tables that it needs; it is left out if one of them is wrong already."""

COMPUTED_CHECKS: tuple[tuple[Check, tuple[str, ...]], ...] = ((check_thrust, ("airframe",)),)
"""Checks of what is computed from tables; each is left out if anything at all is wrong with one of them."""
