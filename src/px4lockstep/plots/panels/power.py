"""Panels of the powertrain: motors, rotors, batteries."""

from typing import TYPE_CHECKING

import numpy as np

from px4lockstep.log.log import Log
from px4lockstep.plots.panels.lines import Vector, draw_lanes, draw_many, widen

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FULL_PERCENT = 100.5
"""Upper limit of the axis: full charge, plus half a percent to keep the line off the edge."""


def draw_motors(axes: "Axes", log: Log) -> None:
    """Draw the motor commands, each in its own lane."""
    motors, top = log.get("motors"), 1.0
    if motors is not None and np.isfinite(motors).any():
        top = float(np.clip(np.ceil(10.0 * np.nanmax(motors)) / 10.0, 0.1, 1.0))
    draw_lanes(axes, log, motors, top)
    axes.set_ylabel(f"motor, each 0 to {top:g}")


def draw_rotors(axes: "Axes", log: Log) -> None:
    """Draw the rotor speeds, each in its own lane."""
    speeds, top = log.get("rotor_speed_rad_s"), 100.0
    if speeds is not None and np.isfinite(speeds).any():
        top = float(max(100.0, 100.0 * np.ceil(speeds[np.isfinite(speeds)].max() / 100.0)))
    draw_lanes(axes, log, speeds, top)
    axes.set_ylabel(f"rotor, each 0 to {top:g}")


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
