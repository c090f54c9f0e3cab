"""Motors, servos, rotor speeds, batteries and GPS of a ULog file, whose topics differ between versions of PX4."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.log.resampling import held, interpolated
from px4lockstep.log.ulog_sources import BATTERY, GPS, GPS_ACCURACIES, GPS_TOPICS, MOTOR_TOPICS
from px4lockstep.plant.layout import MAX_MOTORS
from px4lockstep.px4.ulog_reader import Columns, ULogFile
from px4lockstep.sensors.gps import TURN_CDEG, UNKNOWN_ACCURACY

Array = npt.NDArray[Any]

FAILSAFE_ACTIVE = 5
"""The column `failsafe` if PX4 reports one but not which: see `log.events.FAILSAFES`."""
PWM_MIN_US, PWM_MAX_US = 1_000.0, 2_000.0
PWM_FROM_US, PWM_UP_TO_US = 800.0, 2_500.0
PWM_RANGES = (("PWM_MAIN_MIN1", "PWM_MAIN_MAX1"), ("PWM_MAIN_MIN", "PWM_MAIN_MAX"), ("PWM_MIN", "PWM_MAX"))
"""Parameters of the pulse widths of no and of full thrust, of all versions, the newest first."""
RAD_S_PER_RPM = 2.0 * math.pi / 60.0
PLACEHOLDER_RPM, PLACEHOLDER_IDLE_A, PLACEHOLDER_A = 6_000.0, 1.0, 15.0
PLACEHOLDER_TOLERANCE_A = 0.01
"""Without speeds from a MAVLink simulator, PX4 logs speed and current of ESCs in proportion to the motor commands. The
tolerance is for speeds that are whole numbers."""


@dataclass(frozen=True)
class Found:
    """Columns with their topics; columns that are missing; what else to know."""

    columns: dict[str, tuple[Array, str]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _times(columns: Columns) -> Array:
    return columns["timestamp"].astype(np.int64)


def _array(columns: Columns, name: str, count: int) -> Array:
    """Return the leading elements of an array field, as many as exist, as columns."""
    names = [f"{name}[{i}]" for i in range(count) if f"{name}[{i}]" in columns]
    if not names:
        return np.zeros((len(columns["timestamp"]), 0))
    return np.stack([columns[each] for each in names], axis=1).astype(np.float64)


def motors(file: ULogFile, rows_us: Array) -> Found:
    """Return the motor commands, normalized to 0 to 1."""
    for topic in MOTOR_TOPICS:
        for columns in file.instances(topic):
            if topic == "actuator_motors":
                values, note = _driven(_array(columns, "control", MAX_MOTORS)), ""
            else:
                values = _outputs(columns)
                if _is_other_unit(values):
                    return Found(missing=[f"motors ({topic} has no pulse widths: DShot or UAVCAN)"])
                values, note = _normalized(file, values, topic)
            if values.shape[1]:
                found = held(_times(columns), values, rows_us)
                return Found({"motors": (found, topic)}, notes=[note] if note else [])
    return Found(missing=[f"motors ({', '.join(MOTOR_TOPICS)})"])


def _driven(control: Array) -> Array:
    """Return the motors up to the last one that is ever driven; the others are NaN in all messages."""
    is_driven = ~np.isnan(control).all(axis=0)
    return control[:, : int(np.flatnonzero(is_driven)[-1]) + 1] if is_driven.any() else control[:, :0]


def _count(columns: Columns, name: str) -> int:
    """Return the largest count in a field, up to the maximum number of motors; this maximum if there is none."""
    counts = columns.get(name, np.zeros(0))
    counts = counts[np.isfinite(counts)]
    return int(np.clip(counts.max(), 0, MAX_MOTORS)) if len(counts) else MAX_MOTORS


def _outputs(columns: Columns) -> Array:
    """Return the outputs in use; unused ones are always 0 or NaN."""
    output = _array(columns, "output", MAX_MOTORS)[:, : _count(columns, "noutputs")]
    used = np.flatnonzero((np.nan_to_num(output) != 0.0).any(axis=0))
    return output[:, : int(used[-1]) + 1 if len(used) else 0]


def _is_other_unit(output: Array) -> bool:
    """Return whether outputs are neither normalized nor pulse widths.

    DShot's are 1 to 1999, and below 800 while motors idle; those of UAVCAN are up to 8191.
    """
    driven = output[np.nan_to_num(output) != 0.0]
    if not len(driven) or driven.max() <= 1.0:
        return False
    return bool(driven.min() < PWM_FROM_US or driven.max() > PWM_UP_TO_US)


def _normalized(file: ULogFile, output: Array, topic: str) -> tuple[Array, str]:
    """Return outputs, normalized to 0 to 1, and a note on how."""
    if not output.shape[1]:
        return output, ""
    high = float(np.nanmax(output))
    if high <= 1.0:
        low = float(np.nanmin(output))
        if low >= 0.0:
            return output, ""
        return np.clip(0.5 + 0.5 * output, 0.0, 1.0), f"motors are {topic}, from -1 to 1"
    low_us, high_us = _pwm_range(file)
    scaled = np.clip((output - low_us) / (high_us - low_us), 0.0, 1.0)
    note = f"motors are {topic}, from {low_us:.0f} to {high_us:.0f} us; some may be other devices"
    return scaled, note


def _pwm_range(file: ULogFile) -> tuple[float, float]:
    """Return the pulse widths of no and of full thrust."""
    for low_name, high_name in PWM_RANGES:
        low, high = file.parameters.get(low_name), file.parameters.get(high_name)
        if low is not None and high is not None and PWM_FROM_US <= low < high <= PWM_UP_TO_US:
            return float(low), float(high)
    return PWM_MIN_US, PWM_MAX_US


def servos(file: ULogFile, rows_us: Array) -> Found:
    """Return the servo commands, if there are servos."""
    for columns in file.instances("actuator_servos"):
        values = _driven(_array(columns, "control", 8))
        if values.shape[1]:
            return Found({"servos": (held(_times(columns), values, rows_us), "actuator_servos")})
    return Found()


def rotor_speeds(file: ULogFile, rows_us: Array) -> Found:
    """Return the rotor speeds that the ESCs report."""
    for columns in file.instances("esc_status"):
        names = [f"esc[{i}].esc_rpm" for i in range(MAX_MOTORS) if f"esc[{i}].esc_rpm" in columns]
        count = _count(columns, "esc_count")
        if names[:count]:
            rpm = np.stack([columns[name] for name in names[:count]], axis=1).astype(np.float64)
            if _is_placeholder(columns, rpm):
                return Found(missing=["rotor_speed_rad_s (esc_status has placeholders: PX4 had a MAVLink simulator)"])
            if rpm.any():
                found = interpolated(_times(columns), rpm * RAD_S_PER_RPM, rows_us)
                return Found({"rotor_speed_rad_s": (found, "esc_status")})
    return Found(missing=["rotor_speed_rad_s (esc_status)"])


def _is_placeholder(columns: Columns, rpm: Array) -> bool:
    """Return whether speeds and currents of ESCs are those that PX4 computes from motor commands for a simulator."""
    names = [f"esc[{i}].esc_current" for i in range(rpm.shape[1])]
    if not all(name in columns for name in names):
        return False
    current = np.stack([columns[name] for name in names], axis=1)
    running = (rpm != 0.0) & (current != 0.0)
    computed = PLACEHOLDER_IDLE_A + np.abs(rpm) * PLACEHOLDER_A / PLACEHOLDER_RPM
    return bool(running.any() and np.abs(current - computed)[running].max() < PLACEHOLDER_TOLERANCE_A)


def batteries(file: ULogFile, rows_us: Array) -> Found:
    """Return the measurements of all batteries; unknown ones are NaN."""
    logged = [each for each in file.instances("battery_status") if _is_connected(each)]
    found = Found()
    for name, field_name in BATTERY.items():
        has = [each for each in logged if field_name in each]
        if not has:
            found.missing.append(f"{name} (battery_status)")
            continue
        measured = [_measured(each, field_name, rows_us) for each in has]
        found.columns[name] = (np.stack(measured, axis=1), "battery_status")
    return found


def _is_connected(columns: Columns) -> bool:
    return "connected" not in columns or bool(columns["connected"].any())


def _measured(columns: Columns, name: str, rows_us: Array) -> Array:
    values, times = columns[name].astype(np.float64), _times(columns)
    if name == "warning":
        return held(times, values, rows_us)
    values = np.where(values < 0.0, np.nan, values)  # -1: unknown
    return interpolated(times, values, rows_us)


def gps(file: ULogFile, rows_us: Array) -> Found:
    """Return the last message of the GPS at each row."""
    for topic in GPS_TOPICS:
        for columns in file.instances(topic)[:1]:
            times, found = _times(columns), Found()
            for name, fields in GPS.items():
                values = _scaled(columns, fields)
                if values is not None:
                    if name in GPS_ACCURACIES:
                        values = np.where(np.isfinite(values), values, UNKNOWN_ACCURACY)
                    found.columns[f"sensor_{name}"] = (held(times, values, rows_us), topic)
            course = columns.get("cog_rad", np.zeros(0))
            is_known = np.isfinite(course)
            if is_known.any():  # the last known one is held
                course = np.round(np.degrees(course[is_known].astype(np.float64)) * 100.0) % TURN_CDEG
                found.columns["sensor_gps_cog_cdeg"] = (held(times[is_known], course, rows_us), topic)
            else:
                found.missing.append(f"sensor_gps_cog_cdeg ({topic})")
            return found
    return Found(missing=[f"sensor_gps_* ({', '.join(GPS_TOPICS)})"])


def _scaled(columns: Columns, fields: Sequence[tuple[str, float]]) -> Array | None:
    """Return the first field that exists, scaled."""
    for name, scale in fields:
        if name in columns:
            return columns[name].astype(np.float64) * scale
    return None
