"""The events of a flight, found in its log: changes of status, modes and faults, with times and labels."""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.area import Area
from px4lockstep.autopilots.base import UNKNOWN_MODE
from px4lockstep.log.changes import changed_rows, raised_rows
from px4lockstep.log.log import Log
from px4lockstep.plant.faults import FLAG, FRACTIONS, KINDS, SENSOR_MASK, SENSORS, Fault

MODES = {0: "manual", 3: "mission", 4: "hold", 5: "return", 12: "descend", 13: "termination", 18: "land"}
MODES |= {1: "altitude", 2: "position", 6: "position slow", 7: "guided course", 8: "altitude cruise", 10: "acro"}
MODES |= {14: "offboard", 15: "stabilized", 17: "takeoff", 19: "follow target", 20: "precision land", 21: "orbit"}
MODES |= {22: "VTOL takeoff"} | {23 + i: f"external {1 + i}" for i in range(8)}
"""Names of PX4's modes, by `nav_state`."""
FAILSAFES = {0: "cleared", 1: "geofence", 2: "battery", 3: "motor failure", 4: "position lost", 5: "activated"}
FAILSAFES |= {6: "setpoints lost", 7: "manual control lost", 8: "ground station lost"}
WARNINGS = {0: "normal", 1: "low", 2: "critical", 3: "emergency"}
SENSOR_LABELS = dict(SENSORS.values())


OWN = ("motor_cut_off_mask",)
"""Faults that the plant itself sets."""
CRASH = "crashed"
"""Label of the event of a crash."""
BOUNCE_US = 1_000_000
"""A vehicle that is in the air again for at most this long after a landing has bounced."""


@dataclass(frozen=True)
class FlightEvent:
    """An event at a row of the log; the beginning of a fault has `is_fault`, its end does not."""

    time_us: int
    label: str
    is_fault: bool = False


def mode_name(number: int) -> str:
    """Return the name of a mode."""
    if number >= UNKNOWN_MODE:
        return f"unknown ({number >> 8 & 0xFF}, {number & 0xFF})"
    return MODES.get(number, str(number))


def events_of(log: Log, area: Area | None = None) -> tuple[FlightEvent, ...]:
    """Return the events in order of time; at the same time, causes come before their effects.

    Args:
        log: The log.
        area: The area of the flight, `Simulation.autopilot.area`, to report when the vehicle truly left its fence.
    """
    return _sorted(
        *_imposed(log),
        *_of_batteries(log),
        *_errors_of_estimate(log),
        *_wind_steps(log),
        *_breaches(log, area),
        *_failsafes(log),
        *_changes(log, "armed", _on_or_off("armed", "disarmed")),
        *_modes(log),
        *_changes(log, "mission_finished", _on_or_off("mission finished", "mission restarted")),
        *_landings(log),
        *_crashes(log),
    )


def faults_of(log: Log, area: Area | None = None, *, has_imposed: bool = True) -> tuple[FlightEvent, ...]:
    """Return the events that are the beginning of a fault.

    Without `has_imposed`, faults that only a scenario or a command can set are known not to occur.
    """
    found = (
        *_imposed(log, None if has_imposed else OWN),
        *_of_batteries(log),
        *(_errors_of_estimate(log) if has_imposed else ()),
        *_breaches(log, area),
        *_failsafes(log),
        *_modes(log),
        *_crashes(log),
    )
    return _sorted(*(event for event in found if event.is_fault))


def _sorted(*events: FlightEvent) -> tuple[FlightEvent, ...]:
    return tuple(sorted((event for event in events if event.label), key=lambda event: event.time_us))


def mission_times_us(log: Log) -> tuple[int, ...]:
    """Return when each mission item was reached, in the order flown; empty for a log without a mission."""
    return tuple(int(time_us) for time_us in log.time_us[1:][_is_reached(log)]) if "mission_item" in log else ()


def mission_items(log: Log) -> tuple[int, ...]:
    """Return the number of the item, from 0, for each of `mission_times_us`."""
    return tuple(int(item) for item in log["mission_item"][:-1][_is_reached(log)]) if "mission_item" in log else ()


def _is_reached(log: Log) -> npt.NDArray[np.bool_]:
    """Return for each row after the first whether the item of the row before was reached."""
    item, finished = log["mission_item"], log["mission_finished"]
    is_next = (np.diff(item) != 0) & (finished[:-1] == 0)
    if "landed" in log:
        is_next &= (np.diff(item) > 0) | (log["landed"][1:] == 0)  # on the ground, the mission starts over
    is_reached: npt.NDArray[np.bool_] = is_next | (np.diff(finished) > 0)
    return is_reached


def _modes(log: Log) -> Iterator[FlightEvent]:
    """Yield the changes of mode; one that a failsafe caused is marked as a fault, but not one after disarming."""
    if "nav_state" not in log:
        return
    mode, failsafe, armed = log["nav_state"], log.get("failsafe"), log.get("armed")
    for row in changed_rows(mode):
        is_acting = failsafe is not None and bool(failsafe[row] != 0)  # a request clears it
        is_fault = is_acting and (armed is None or bool(armed[row]))
        yield FlightEvent(int(log.time_us[row]), f"mode {mode_name(int(mode[row]))}", is_fault)


def _fault(log: Log, fault: Fault) -> Iterator[FlightEvent]:
    """Yield the beginnings and ends of one kind of fault."""
    if not fault.begins or fault.name not in log or not log.rows:
        return
    values = log[fault.name]
    if fault.form == FLAG:
        yield from _changes(log, fault.name, _on_or_off(fault.begins, fault.ends), is_fault=True)
        return
    is_mask = fault.form != FRACTIONS
    masks = values if is_mask else (values != 0.0).astype(np.int64) @ (1 << np.arange(values.shape[1]))
    of_sensor = fault.form == SENSOR_MASK
    for time_us, bit, is_set in _bits(log, masks):
        what = SENSOR_LABELS.get(1 << bit, f"sensor {bit}") if of_sensor else str(bit + 1)
        yield FlightEvent(time_us, (fault.begins if is_set else fault.ends).format(what), is_fault=is_set)


def _imposed(log: Log, names: Container[str] | None = None) -> Iterator[FlightEvent]:
    """Yield faults of the plant and its sensors, and dropouts of the estimate; with names, only these faults."""
    for fault in sorted(KINDS, key=lambda fault: fault.form == FLAG):
        if names is None or fault.name in names:
            yield from _fault(log, fault)
    if names is None:
        dropout = _on_or_off("position dropout", "position dropout over")
        yield from _changes(log, "est_fault_dropout", dropout, is_fault=True)


def _of_batteries(log: Log) -> Iterator[FlightEvent]:
    """Yield when batteries are empty, and their warnings."""
    if "soc" in log and log.rows:
        for battery, soc in enumerate(log["soc"].T):
            for row in raised_rows(soc <= 0.0):
                yield FlightEvent(int(log.time_us[row]), f"battery {battery + 1} empty", is_fault=True)
    if "battery_warning" in log:
        worst = np.maximum.reduce(list(log["battery_warning"].T))
        yield from _changes_of(log, worst, lambda now: f"battery {WARNINGS.get(now, now)}", is_fault=True)


def _errors_of_estimate(log: Log) -> Iterator[FlightEvent]:
    for name, label in (("est_bias", "estimate error"), ("est_drift", "estimate drift")):
        names = [f"{name}_{part}" for part in ("pos_ned", "vel_ned", "yaw", "omega_body")]
        if all(part in log for part in names):
            is_set = np.zeros(log.rows, np.int64)
            for part in names:
                for values in np.atleast_2d(log[part].T):  # one component at a time is ten times faster
                    if values.any():
                        is_set |= values != 0.0
            yield from _changes_of(log, is_set, _on_or_off(label, f"{label} over"), is_fault=True)


def _wind_steps(log: Log) -> Iterator[FlightEvent]:
    if "scenario_wind_ned" in log:
        wind = log["scenario_wind_ned"]
        has_changed = np.zeros(max(log.rows - 1, 0), np.bool_)
        for values in wind.T:
            if values.any():
                has_changed |= np.diff(values) != 0.0
        for row in np.flatnonzero(has_changed) + 1:
            yield FlightEvent(int(log.time_us[row]), f"wind step to {np.linalg.norm(wind[row]):.3g} m/s")


def _failsafes(log: Log) -> Iterator[FlightEvent]:
    return _changes(log, "failsafe", lambda now: f"failsafe: {FAILSAFES.get(now, now)}", is_fault=True)


def _landings(log: Log) -> Iterator[FlightEvent]:
    """Yield the landings, without bounces; leaving the ground is not an event."""
    if "landed" not in log:
        return
    left_us: int | None = None  # when the vehicle left the ground after a landing
    has_landed = False
    for row in changed_rows(log["landed"]):
        time_us = int(log.time_us[row])
        if not log["landed"][row]:
            left_us = time_us if has_landed else None
        elif left_us is None or time_us - left_us > BOUNCE_US:
            yield FlightEvent(time_us, "landed")
            has_landed = True


def _crashes(log: Log) -> Iterator[FlightEvent]:
    return _changes(log, "crashed", lambda now: CRASH if now else "", is_fault=True)


def _breaches(log: Log, area: Area | None) -> Iterator[FlightEvent]:
    """Yield when the vehicle leaves the fence, and when it is back."""
    if area is not None and area.has_fence and "pos_ned" in log:
        is_outside = area.is_outside(log["pos_ned"]).astype(np.int64)
        if is_outside[:1].any():
            yield FlightEvent(int(log.time_us[0]), "geofence breached", is_fault=True)
        yield from _changes_of(log, is_outside, _on_or_off("geofence breached", "geofence breach over"), is_fault=True)


def _on_or_off(begins: str, ends: str) -> Any:
    return lambda now: begins if now else ends


def _changes(log: Log, name: str, describe: Any, *, is_fault: bool = False) -> Iterator[FlightEvent]:
    if name in log:
        yield from _changes_of(log, log[name], describe, is_fault=is_fault)


def _changes_of(log: Log, values: npt.NDArray[Any], describe: Any, *, is_fault: bool = False) -> Iterator[FlightEvent]:
    for row in changed_rows(values):
        now = int(values[row])
        yield FlightEvent(int(log.time_us[row]), describe(now), is_fault and now != 0)


def _bits(log: Log, masks: npt.NDArray[Any]) -> Iterator[tuple[int, int, bool]]:
    """Yield time, number and new value of each bit that changes; a bit set in the first row counts as a change."""
    masks = np.concatenate([[0], masks])
    for row in changed_rows(masks) - 1:
        before, after = int(masks[row]), int(masks[row + 1])
        for bit in range((before ^ after).bit_length()):
            if (before ^ after) >> bit & 1:
                yield int(log.time_us[row]), bit, bool(after >> bit & 1)
