"""Signals: scalar time series of a log, by name.

Every scalar in the columns of the log is a signal, with its name in log files (`vel_ned_d`, `motors_1`, `armed`).
Others are derived (`tilt_deg`). All are float64 and bit-identical on every machine: they use only products, sums of a
fixed order, square roots and the package's own functions.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from px4lockstep.campaigns.tilt import IsBeyond, are_beyond, tilts_deg
from px4lockstep.errors import InputError, did_you_mean
from px4lockstep.log.log import Log
from px4lockstep.log.schema import BY_NAME, COLUMNS, COUNTED, Column, components
from px4lockstep.scenario.signals import SIGNALS

Floats = npt.NDArray[np.float64]
TILT = "tilt_deg"


class Signals:
    """The signals of a log, each computed on first use.

    Args:
        log: The log, with all columns.
    """

    def __init__(self, log: Log) -> None:
        self.log = log
        self.time_us: npt.NDArray[np.int64] = log.time_us.astype(np.int64)
        self._made: dict[str, Floats] = {}

    def __getitem__(self, name: str) -> Floats:
        """Return a signal, with one value per row.

        Raises:
            InputError: If the signal is unknown, or not in this log.
        """
        if name not in self._made:
            made = DERIVED[name].make(self) if name in DERIVED else self._number(name)
            made.flags.writeable = False
            self._made[name] = made
        return self._made[name]

    @cached_property
    def lengths_us(self) -> npt.NDArray[np.int64]:
        """The time from each row to the next."""
        return np.diff(self.time_us)

    def are_beyond(self, name: str, is_beyond: IsBeyond, limit: float) -> npt.NDArray[np.bool_]:
        """Return for each row whether a signal is beyond a limit."""
        if name == TILT and name not in self._made and 0.0 < limit < 180.0:
            return are_beyond(self["q_bn_x"], self["q_bn_y"], is_beyond, limit)
        return is_beyond(self[name], limit)

    def _number(self, name: str) -> Floats:
        column, index = _place(name)
        array = self.log[column.name]
        if column.shape == "":
            return array.astype(np.float64, copy=False)
        if index >= array.shape[1]:
            has = ", ".join(components(column, array.shape[1]))
            raise InputError(f"this log has no signal {name!r}; its signals of {column.name} are {has}")
        return array[:, index].astype(np.float64, copy=False)


@dataclass(frozen=True)
class Derived:
    """A signal computed from others."""

    unit: str
    description: str
    make: Callable[[Signals], Floats]


def unit_of(name: str) -> str:
    """Return the unit of a signal."""
    return DERIVED[name].unit if name in DERIVED else _place(name)[0].unit


_NUMBERS = {
    name: (column, index)
    for column in COLUMNS
    if column.shape not in COUNTED
    for index, name in enumerate(components(column, 0))
}
"""Signals that exist for every aircraft: column and index within the column."""


def _place(name: str) -> tuple[Column, int]:
    """Return the column of a signal, and its index within the column."""
    if name in _NUMBERS:
        return _NUMBERS[name]
    counted = re.fullmatch(r"(\w+)_([1-9]\d{0,3})", name)
    if counted and counted[1] in BY_NAME and BY_NAME[counted[1]].shape in COUNTED:
        return BY_NAME[counted[1]], int(counted[2]) - 1
    if name in BY_NAME:
        parts = ", ".join(components(BY_NAME[name], 1))
        raise InputError(f"{name!r} has several numbers per row; name one of its signals, such as {parts}")
    numbers = [flat for column in COLUMNS for flat in components(column, 1)]
    hint = did_you_mean(name, [*DERIVED, *numbers])
    of_log = "numbers of the columns of the log, such as pos_ned_d or motors_1 (docs/reference/logs.md)"
    known = f"{'Allowed' if hint else 'allowed'}: {', '.join(DERIVED)}, and {of_log}"
    raise InputError(f"unknown signal {name!r}; {hint}{known}")


def _length(*parts: Floats) -> Floats:
    total = parts[0] * parts[0]
    for part in parts[1:]:
        total = total + part * part
    root: Floats = np.sqrt(total)
    return root


def _tracking_error(signals: Signals) -> Floats:
    error = _length(*(signals[f"pos_ned_{axis}"] - signals[f"pos_sp_ned_{axis}"] for axis in "ned"))
    error[signals["armed"] == 0.0] = np.nan
    return error


def _power(signals: Signals) -> Floats:
    voltage, current = signals.log["battery_true_voltage_v"], signals.log["battery_true_current_a"]
    total = np.zeros(signals.log.rows)
    for battery in range(voltage.shape[1]):
        total = total + voltage[:, battery] * current[:, battery]
    return total


def _motor_spread(signals: Signals) -> Floats:
    motors = signals.log["motors"]
    columns = [motors[:, i].astype(np.float64) for i in range(motors.shape[1])]
    count, total, squares = (np.zeros(signals.log.rows) for _ in range(3))
    for column in columns:
        is_driven = ~np.isnan(column)
        count, total = count + is_driven, total + np.where(is_driven, column, 0.0)
    with np.errstate(invalid="ignore"):
        mean = total / count  # NaN without a driven motor
    for column in columns:
        off = np.where(np.isnan(column), 0.0, column - mean)
        squares = squares + off * off
    with np.errstate(invalid="ignore"):
        spread: Floats = np.sqrt(squares / count)
    spread[signals["armed"] == 0.0] = np.nan
    return spread


def _of_state(name: str, make: Callable[[Signals], Floats]) -> Derived:
    """Return a signal that scenario conditions can use, too."""
    return Derived(SIGNALS[name].unit, SIGNALS[name].doc, make)


DERIVED = {
    "altitude_m": _of_state("altitude_m", lambda s: 0.0 - s["pos_ned_d"]),
    "speed_m_s": _of_state("speed_m_s", lambda s: _length(*(s[f"vel_ned_{axis}"] for axis in "ned"))),
    "ground_speed_m_s": Derived("m/s", "horizontal speed", lambda s: _length(s["vel_ned_n"], s["vel_ned_e"])),
    "distance_home_m": _of_state("distance_home_m", lambda s: _length(s["pos_ned_n"], s["pos_ned_e"])),
    TILT: _of_state(TILT, lambda s: tilts_deg(s["q_bn_x"], s["q_bn_y"])),
    "tracking_error_m": Derived(
        "m", "distance from the position setpoint; NaN while disarmed or without a complete setpoint", _tracking_error
    ),
    "motor_spread": Derived(
        "1",
        "standard deviation of the commands of all driven motors, a measure of control effort; NaN while disarmed",
        _motor_spread,
    ),
    "power_w": Derived("W", "total battery power, from true voltages and currents", _power),
}
