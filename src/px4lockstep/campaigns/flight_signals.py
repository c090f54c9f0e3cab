"""Signals: numbers over the rows of a log, by name.

Every number of the log's columns is one, by the name that it has in a file (`vel_ned_d`, `motors_1`, `armed`); others
are derived (`tilt_deg`). All are float64, the same bits on every machine: products, sums of a fixed order, square roots
and the package's own functions.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from px4lockstep.campaigns.tilt import tilts_deg
from px4lockstep.errors import InputError, did_you_mean
from px4lockstep.log.log import Log
from px4lockstep.log.schema import BY_NAME, COLUMNS, COUNTED, Column, components
from px4lockstep.scenario.signals import SIGNALS

Floats = npt.NDArray[np.float64]


class Signals:
    """The signals of a log; each is made when it is first asked for.

    Args:
        log: The log, with all columns.
    """

    def __init__(self, log: Log) -> None:
        self.log = log
        self.time_us: npt.NDArray[np.int64] = log.time_us.astype(np.int64)
        self._made: dict[str, Floats] = {}

    def __getitem__(self, name: str) -> Floats:
        """Return a signal, a number for each row.

        Raises:
            InputError: If there is no such signal, or this log does not have it.
        """
        if name not in self._made:
            made = DERIVED[name].make(self) if name in DERIVED else self._number(name)
            made.flags.writeable = False
            self._made[name] = made
        return self._made[name]

    def _number(self, name: str) -> Floats:
        column, index = _place(name)
        array = self.log[column.name]
        if column.shape == "":
            return array.astype(np.float64)
        if index >= array.shape[1]:
            has = ", ".join(components(column, array.shape[1]))
            raise InputError(f"this log has no signal {name!r}; of {column.name} it has {has}")
        return array[:, index].astype(np.float64)


@dataclass(frozen=True)
class Derived:
    """A signal that is computed from others."""

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
"""The numbers that a row has whatever the aircraft: their column, and which of it they are."""


def _place(name: str) -> tuple[Column, int]:
    """Return the column of the schema that a number belongs to, and which of its numbers it is."""
    if name in _NUMBERS:
        return _NUMBERS[name]
    counted = re.fullmatch(r"(\w+)_([1-9]\d{0,3})", name)
    if counted and counted[1] in BY_NAME and BY_NAME[counted[1]].shape in COUNTED:
        return BY_NAME[counted[1]], int(counted[2]) - 1
    if name in BY_NAME:
        parts = ", ".join(components(BY_NAME[name], 1))
        raise InputError(f"{name!r} is several numbers in each row, and a signal is one of them, as {parts}")
    numbers = [flat for column in COLUMNS for flat in components(column, 1)]
    hint = did_you_mean(name, [*DERIVED, *numbers])
    known = f"{'Signals' if hint else 'signals'} are {', '.join(DERIVED)}, and of the log {', '.join(numbers)}"
    raise InputError(f"there is no signal {name!r}; {hint}{known}")


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


def _of_state(name: str, make: Callable[[Signals], Floats]) -> Derived:
    """Return a signal that conditions of a scenario watch too."""
    return Derived(SIGNALS[name].unit, SIGNALS[name].doc, make)


DERIVED = {
    "altitude_m": _of_state("altitude_m", lambda s: 0.0 - s["pos_ned_d"]),
    "speed_m_s": _of_state("speed_m_s", lambda s: _length(*(s[f"vel_ned_{axis}"] for axis in "ned"))),
    "ground_speed_m_s": Derived("m/s", "horizontal speed", lambda s: _length(s["vel_ned_n"], s["vel_ned_e"])),
    "distance_home_m": _of_state("distance_home_m", lambda s: _length(s["pos_ned_n"], s["pos_ned_e"])),
    "tilt_deg": _of_state("tilt_deg", lambda s: tilts_deg(s["q_bn_x"], s["q_bn_y"])),
    "tracking_error_m": Derived(
        "m", "distance from the position setpoint; NaN unless armed and all three of it are given", _tracking_error
    ),
    "power_w": Derived("W", "power that all batteries give, true voltage times true current", _power),
}
