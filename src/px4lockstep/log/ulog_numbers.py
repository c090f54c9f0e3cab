"""The numbers of an exported ULog file, by the names in `ulog_topics`: columns of the log, and derived numbers."""

import functools
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.base import UNKNOWN_MODE
from px4lockstep.log.events import mission_items, mission_times_us
from px4lockstep.log.export_source import About
from px4lockstep.log.geographic import positions_deg
from px4lockstep.log.log import Log
from px4lockstep.log.ulog_topics import POSITION_AND_VELOCITY_VALID
from px4lockstep.math.quaternion import yaw
from px4lockstep.px4.fields import MAV_TYPES, NAN, OTHER_MAV_TYPE
from px4lockstep.px4.uorb import shipped_layouts
from px4lockstep.sensors.gps import UNKNOWN_ACCURACY

Array = npt.NDArray[Any]
Value = Array | float

MOTORS, OUTPUTS = 12, 16
"""Lengths of the arrays of `actuator_motors` and `actuator_outputs`."""
MIN_US, RANGE_US, STOP_US = 1_000.0, 1_000.0, 900.0
"""PWM pulse of a motor command of 0, its range, and the pulse of a motor that is not driven, as PX4's defaults."""
SERVO_CENTER_US, SERVO_RANGE_US = 1_500.0, 500.0
GEOFENCE, MOTOR_FAILURE = 1, 3
"""Failsafes, as numbered in the log."""
_INDEXED = re.compile(r"(\w+)\[(\d+)\](?:\.(\w+))?")


class Numbers:
    """Numbers of some consecutive rows of a log.

    Args:
        log: The log.
        about: What the spec says about the flight.
    """

    def __init__(self, log: Log, about: About) -> None:
        self._log, self._about = log, about
        self._rows = slice(0, 0)
        self._held: dict[str, Array] = {}

    def read(self, rows: slice) -> None:
        """Use these rows from now on."""
        self._rows, self._held = rows, {}

    def value(self, name: str, at: Array, names: Mapping[str, str]) -> Value | None:
        """Return a number at some of the rows, counted from the first of them; None if the log does not have it.

        Args:
            name: Name in `ulog_topics`: `pos_ned`, `pos_ned[0]` or `battery[0].voltage_v`.
            at: The rows.
            names: Columns by name, where they differ.
        """
        match = _INDEXED.fullmatch(name)
        if match is not None:
            base, index, part = match.groups()
            values = self.value(f"{base}_{part}" if part else base, at, names)
            return values[:, int(index)] if isinstance(values, np.ndarray) and values.ndim > 1 else values
        derive = DERIVED.get(name)
        if derive is not None:
            return derive(self, at, names)
        return self.column(names.get(name, name), at)

    def column(self, name: str, at: Array) -> Array | None:
        """Return a column of the log at some of the rows, or None."""
        if name not in self._log:
            return None
        if name not in self._held:
            self._held[name] = self._log.part(name, self._rows)
        found: Array = self._held[name][at]
        return found

    def column_or(self, name: str, at: Array, default: float) -> Array:
        """Return a column of the log at some of the rows, or a constant."""
        found = self.column(name, at)
        return np.full(len(at), default) if found is None else found

    def is_equal(self, name: str, at: Array, number: int) -> Array:
        """Return 1 where a column has a value, otherwise 0."""
        return np.where(self.column_or(name, at, -1.0) == number, 1.0, 0.0)

    @property
    def about(self) -> About:
        """What the spec says about the flight."""
        return self._about

    @property
    def rotors(self) -> int:
        """Number of rotors, or of motor commands if the log has no rotors."""
        for name in ("rotor_speed_rad_s", "motors"):
            if name in self._log:
                return int(self._log.part(name, slice(0, 0)).shape[1])
        return 0

    @property
    def mav_type(self) -> int:
        """Type of the vehicle, MAV_TYPE."""
        return int(MAV_TYPES.get(self.rotors, OTHER_MAV_TYPE))

    # Times of all rows: those of changes in earlier rows count too.

    def part_of(self, values: Array, at: Array) -> Array:
        """Return values of all rows at some of these rows."""
        found: Array = values[self._rows][at]
        return found

    @functools.cached_property
    def armed_since_us(self) -> Array:
        """When it was armed, for each row; 0 while it is not."""
        return self._since(self._log["armed"] != 0)

    @functools.cached_property
    def takeoff_us(self) -> Array:
        """When it took off, for each row; 0 on the ground."""
        return self._since(self._log["landed"] == 0) if "landed" in self._log else np.zeros(self._log.rows, np.uint64)

    @functools.cached_property
    def mode_since_us(self) -> Array:
        """When the mode was entered, for each row."""
        modes = self._log["nav_state"]
        is_new = np.concatenate([[True], np.diff(modes) != 0])[: len(modes)]
        return _last(self._log.time_us, is_new)

    @functools.cached_property
    def mission_reached(self) -> Array:
        """Number of the last mission item that was reached, for each row; -1 before the first."""
        times_us, items = np.array(mission_times_us(self._log), np.uint64), mission_items(self._log)
        reached = np.searchsorted(times_us, self._log.time_us, "right")
        return np.array([-1, *items])[reached]

    def _since(self, is_on: Array) -> Array:
        """Return for each row since when a condition holds; 0 while it does not, or if it always did."""
        is_new = np.concatenate([[False], is_on[1:] & ~is_on[:-1]])[: len(is_on)]
        found: Array = np.where(is_on, _last(self._log.time_us, is_new), np.uint64(0))
        return found


def _last(time_us: Array, is_marked: Array) -> Array:
    """Return for each row the time of the last marked row up to it; 0 before the first."""
    return np.maximum.accumulate(np.where(is_marked, time_us, np.uint64(0)))


Derive = Callable[[Numbers, Array, Mapping[str, str]], Value | None]


def _heading(numbers: Numbers, at: Array, names: Mapping[str, str]) -> Array | None:
    angles = numbers.column("euler_bn", at)
    if angles is not None and "q_bn" not in names:
        return angles[:, 2]  # the log has it already
    attitude = numbers.value("q_bn", at, names)
    if not isinstance(attitude, np.ndarray):
        return None
    return np.fromiter(map(yaw, map(tuple, attitude.tolist())), np.float64, len(attitude))


def _place(part: int) -> Derive:
    def derive(numbers: Numbers, at: Array, names: Mapping[str, str]) -> Array | None:
        position = numbers.value("pos_ned", at, names)
        if not isinstance(position, np.ndarray):
            return None
        home = numbers.about.home
        if part == 2:
            return None if home is None else home.alt_msl_m - position[:, 2]
        return np.full(len(at), NAN) if home is None else positions_deg(position, home)[:, part]

    return derive


def _home(key: str) -> Derive:
    return lambda numbers, _, __: NAN if numbers.about.home is None else float(getattr(numbers.about.home, key))


def _rows_of(values: Callable[[Numbers], Array]) -> Derive:
    return lambda numbers, at, _: numbers.part_of(values(numbers), at)


def _scaled(column: str, factor: float) -> Derive:
    def derive(numbers: Numbers, at: Array, _: Mapping[str, str]) -> Array | None:
        found = numbers.column(column, at)
        return None if found is None else found * factor

    return derive


def _accuracy(column: str) -> Derive:
    def derive(numbers: Numbers, at: Array, _: Mapping[str, str]) -> Array:
        found = numbers.column_or(column, at, float(UNKNOWN_ACCURACY))
        return np.where(found == UNKNOWN_ACCURACY, NAN, 0.01 * found)

    return derive


def _controls(column: str, length: int) -> Derive:
    """Return commands in an array of PX4's length; NaN for outputs that do not exist."""

    def derive(numbers: Numbers, at: Array, _: Mapping[str, str]) -> Array | None:
        found = numbers.column(column, at)
        return None if found is None else _widened(found, length, NAN)

    return derive


def _outputs_us(numbers: Numbers, at: Array, _: Mapping[str, str]) -> Array | None:
    motors, servos = numbers.column("motors", at), numbers.column("servos", at)
    if motors is None:
        return None
    pulses = [np.where(np.isnan(motors), STOP_US, MIN_US + RANGE_US * motors)]
    if servos is not None:
        pulses.append(SERVO_CENTER_US + SERVO_RANGE_US * servos)
    return _widened(np.concatenate(pulses, axis=1), OUTPUTS, 0.0)


def _widened(values: Array, length: int, fill: float) -> Array:
    found = np.full((len(values), length), fill)
    count = min(length, values.shape[1])
    found[:, :count] = values[:, :count]
    return found


def _output_count(numbers: Numbers, at: Array, _: Mapping[str, str]) -> float:
    some = (numbers.column(name, at) for name in ("motors", "servos"))
    return float(min(OUTPUTS, sum(each.shape[1] for each in some if each is not None)))


def _mode(numbers: Numbers, at: Array, _: Mapping[str, str]) -> Array:
    modes = numbers.column_or("nav_state", at, 0.0)
    unknown = shipped_layouts()["vehicle_status"].constants["NAVIGATION_STATE_MAX"]
    return np.where(modes >= UNKNOWN_MODE, unknown, modes)


def _worst_warning(numbers: Numbers, at: Array, _: Mapping[str, str]) -> Value:
    warnings = numbers.column("battery_warning", at)
    return 0.0 if warnings is None else warnings.max(axis=1)


def _ground_speed(numbers: Numbers, at: Array, names: Mapping[str, str]) -> Array | None:
    velocity = numbers.value("vel_ned", at, names)
    return np.sqrt(velocity[:, 0] ** 2 + velocity[:, 1] ** 2) if isinstance(velocity, np.ndarray) else None


def _valid(numbers: Numbers, at: Array, names: Mapping[str, str]) -> Array:
    return numbers.column_or(names.get("is_valid", ""), at, 1.0)  # the true state is always valid


DERIVED: dict[str, Derive] = {
    "stamp_us": lambda numbers, at, _: numbers.column("time_us", at),
    "heading": _heading,
    "is_valid": _valid,
    "lat_deg": _place(0),
    "lon_deg": _place(1),
    "alt_m": _place(2),
    "ground_speed_m_s": _ground_speed,
    "home_lat_deg": _home("lat_deg"),
    "home_lon_deg": _home("lon_deg"),
    "home_alt_m": _home("alt_msl_m"),
    "has_home": lambda numbers, _, __: float(numbers.about.home is not None),
    "mav_type": lambda numbers, _, __: float(numbers.mav_type),
    "autopilot_period_us": lambda numbers, _, __: float(numbers.about.autopilot_period_us),
    # Status.
    "arming_state": lambda numbers, at, _: numbers.column_or("armed", at, 0.0) + 1.0,
    "in_air": lambda numbers, at, _: 1.0 - numbers.column_or("landed", at, 1.0),
    "nav_state": _mode,
    "has_failsafe": lambda numbers, at, _: 1.0 - numbers.is_equal("failsafe", at, 0),
    "is_geofence": lambda numbers, at, _: numbers.is_equal("failsafe", at, GEOFENCE),
    "is_motor_failure": lambda numbers, at, _: numbers.is_equal("failsafe", at, MOTOR_FAILURE),
    "is_lost": lambda numbers, at, names: 1.0 - _valid(numbers, at, names),
    "has_mission": lambda numbers, at, _: 1.0 - numbers.is_equal("mission_count", at, 0),
    "has_no_mission": lambda numbers, at, _: numbers.is_equal("mission_count", at, 0),
    "worst_battery_warning": _worst_warning,
    "solution_flags": lambda numbers, at, names: POSITION_AND_VELOCITY_VALID * _valid(numbers, at, names),
    "armed_since_us": _rows_of(lambda numbers: numbers.armed_since_us),
    "mode_since_us": _rows_of(lambda numbers: numbers.mode_since_us),
    "takeoff_us": _rows_of(lambda numbers: numbers.takeoff_us),
    "mission_reached": _rows_of(lambda numbers: numbers.mission_reached),
    # Outputs.
    "motor_controls": _controls("motors", MOTORS),
    "servo_controls": _controls("servos", 8),
    "outputs_us": _outputs_us,
    "output_count": _output_count,
    "battery_connected": lambda numbers, at, _: 1.0 - numbers.column_or("battery_disconnected", at, 0.0).astype(bool),
    # Sensors.
    "baro_pressure_pa": _scaled("sensor_abs_pressure_hpa", 100.0),
    "gps_lat_deg": _scaled("sensor_gps_lat_1e7", 1e-7),
    "gps_lon_deg": _scaled("sensor_gps_lon_1e7", 1e-7),
    "gps_alt_m": _scaled("sensor_gps_alt_mm", 1e-3),
    "gps_eph_m": _accuracy("sensor_gps_eph_cm"),
    "gps_epv_m": _accuracy("sensor_gps_epv_cm"),
    "gps_speed_m_s": _scaled("sensor_gps_vel_cm_s", 0.01),
    **{f"gps_v{axis}_m_s": _scaled(f"sensor_gps_v{axis}_cm_s", 0.01) for axis in "ned"},
    "gps_cog_rad": _scaled("sensor_gps_cog_cdeg", 0.01 * math.pi / 180.0),
    "gps_has_fix": lambda numbers, at, _: (numbers.column_or("sensor_gps_fix_type", at, 0.0) >= 3).astype(np.float64),
}
"""Numbers that are not columns of the log."""
