"""Panels of errors and of the wind: distance from the setpoint, error of the estimate, wind at the vehicle."""

from typing import TYPE_CHECKING

import numpy as np

from px4lockstep.log.log import Log
from px4lockstep.plots.looks import AXIS_COLOURS, matplotlib_look
from px4lockstep.plots.panels import lines
from px4lockstep.plots.panels.lines import Vector, draw_band, draw_components

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_tracking(axes: "Axes", log: Log) -> None:
    """Draw the distance from the position setpoint."""
    _draw_distance(axes, log, log.get("pos_sp_ned"))


def draw_estimate(axes: "Axes", log: Log) -> None:
    """Draw the error of the estimated position."""
    _draw_distance(axes, log, log.get("est_pos_ned"))


def draw_wind(axes: "Axes", log: Log) -> None:
    """Draw the wind at the vehicle."""
    draw_components(axes, log, log.get("wind_ned"), None, ("north", "east", "down"))
    lines.widen(axes, 1.0)


def distances(log: Log, other_ned: Vector) -> tuple[Vector, Vector]:
    """Return horizontal and vertical distance [m] of the vehicle from other positions; NaN where there is none."""
    with np.errstate(over="ignore", invalid="ignore"):  # a log may contain any number
        apart = log["pos_ned"] - other_ned
        return np.hypot(apart[:, 0], apart[:, 1]), np.abs(apart[:, 2])


def _draw_distance(axes: "Axes", log: Log, other_ned: Vector | None) -> None:
    if other_ned is None or not np.isfinite(other_ned).any():
        lines.say_absent(axes)
        return
    for i, (values, name) in enumerate(zip(distances(log, other_ned), ("horizontal", "vertical"), strict=True)):
        draw_band(axes, log, values, AXIS_COLOURS[i])
        axes.plot(*lines.running_mean(log, values), color=AXIS_COLOURS[i], lw=1.5, label=name, **matplotlib_look(i))
    lines.widen(axes, 0.1)
    axes.set_ylim(bottom=0.0)
