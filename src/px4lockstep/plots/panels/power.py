"""Panels of the powertrain: motors, rotors, batteries."""

from typing import TYPE_CHECKING

import numpy as np

from px4lockstep.log.log import Log
from px4lockstep.plots.panels.lines import Vector, draw_many, widen

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FULL_PERCENT = 100.5
"""Upper limit of the axis: full charge, plus half a percent to keep the line off the edge."""


def draw_motors(axes: "Axes", log: Log) -> None:
    """Draw the motor commands."""
    axes.set_ylim(0.0, 1.0)
    draw_many(axes, log, log.get("motors"), "motor")
    axes.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0])


def draw_rotors(axes: "Axes", log: Log) -> None:
    """Draw the rotor speeds."""
    draw_many(axes, log, log.get("rotor_speed_rad_s"), "rotor")


def draw_volts(axes: "Axes", log: Log) -> None:
    """Draw the battery voltages."""
    draw_many(axes, log, _first_of(log, "battery_voltage_v", "battery_true_voltage_v"), "battery")
    widen(axes, 1.0)


def draw_amps(axes: "Axes", log: Log) -> None:
    """Draw the battery currents."""
    draw_many(axes, log, _first_of(log, "battery_current_a", "battery_true_current_a"), "battery")


def draw_charge(axes: "Axes", log: Log) -> None:
    """Draw the state of charge of the batteries, or what was measured of it."""
    soc = _first_of(log, "soc", "battery_remaining")
    draw_many(axes, log, None if soc is None else 100.0 * soc, "battery")
    widen(axes, 10.0)
    low, high = axes.get_ylim()
    if soc is not None and soc.shape[1] == 1 and high > FULL_PERCENT:
        axes.set_ylim(low - (high - FULL_PERCENT), FULL_PERCENT)


def _first_of(log: Log, *names: str) -> Vector | None:
    """Return the first of the named columns that exists and is not all NaN."""
    columns = (log.get(name) for name in names)
    return next((values for values in columns if values is not None and not np.isnan(values).all()), None)
