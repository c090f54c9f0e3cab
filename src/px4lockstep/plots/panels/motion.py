"""Panels of the vehicle's motion: height, velocity, attitude, body rates."""

from typing import TYPE_CHECKING

import numpy as np

from px4lockstep.log.angles import euler_angles
from px4lockstep.log.events import mission_times_us
from px4lockstep.log.log import Log
from px4lockstep.plots.panels import lines
from px4lockstep.plots.panels.lines import Vector, add_key, draw_components, draw_line, draw_setpoint
from px4lockstep.plots.panels.style import AXIS_COLOURS, SETPOINT_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_height(axes: "Axes", log: Log) -> None:
    """Draw the height above the origin, and when waypoints were reached."""
    height_m = -log["pos_ned"][:, 2]
    draw_line(axes, log, height_m, color=AXIS_COLOURS[2], label="flown", lw=2.2)
    if "pos_sp_ned" in log:
        draw_setpoint(axes, lines.thinned(log.time_s, -log["pos_sp_ned"][:, 2]), SETPOINT_COLOURS[2], "setpoint")
    lines.widen(axes, 1.0)
    times_us = mission_times_us(log)
    if times_us:
        rows = np.searchsorted(log.time_us, np.array(times_us, np.uint64))
        axes.plot(
            log.time_s[rows], height_m[rows], "o", ms=5.5, mfc="white", mec="0.15", label="waypoint reached", zorder=5
        )
    add_key(axes)


def draw_velocity(axes: "Axes", log: Log) -> None:
    """Draw the velocity (north, east, down)."""
    draw_components(axes, log, log.get("vel_ned"), log.get("vel_sp_ned"), ("north", "east", "down"))


def draw_tilt(axes: "Axes", log: Log) -> None:
    """Draw roll and pitch."""
    draw_components(axes, log, *_angles(log), ("roll", "pitch"), is_noisy=True)


def draw_heading(axes: "Axes", log: Log) -> None:
    """Draw the heading."""
    actual, wanted = _angles(log)
    if actual is None:
        lines.say_absent(axes)
        return
    draw_line(axes, log, actual[:, 2], color=AXIS_COLOURS[2], label="flown", lw=2.2)
    if wanted is not None:
        draw_setpoint(axes, lines.thinned(log.time_s, wanted[:, 2]), SETPOINT_COLOURS[2], "setpoint")
    lines.widen(axes, 10.0)
    add_key(axes)


def draw_rates(axes: "Axes", log: Log) -> None:
    """Draw the body rates."""
    rates = (log.get(name) for name in ("omega_body", "rate_sp_body"))
    with np.errstate(over="ignore"):  # a log may contain any number
        actual, wanted = (None if rate is None else np.degrees(rate) for rate in rates)
    draw_components(axes, log, actual, wanted, ("x", "y", "z"), is_noisy=True)


def _angles(log: Log) -> tuple[Vector | None, Vector | None]:
    """Return attitude and attitude setpoint as Euler angles [°], NaN without a setpoint."""
    wanted = log.get("q_sp")
    if wanted is not None:
        is_set = np.linalg.norm(wanted, axis=1) > 0.5
        wanted = np.where(is_set[:, np.newaxis], euler_angles(wanted), np.nan)
    return _cut_jumps(log.get("euler_bn")), _cut_jumps(wanted)


def _cut_jumps(angles: Vector | None) -> Vector | None:
    """Return angles in degrees, with a gap where an angle wraps around."""
    if angles is None:
        return None
    cut = np.degrees(angles)
    cut[1:][np.abs(np.diff(cut, axis=0)) > 180.0] = np.nan
    return cut
