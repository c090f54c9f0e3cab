"""Panels of the vehicle's motion: height, velocity, attitude, body rates."""

from typing import TYPE_CHECKING, Any

import numpy as np

from px4lockstep.log.events import mission_times_us
from px4lockstep.log.log import Log
from px4lockstep.plots.looks import AXIS_COLOURS
from px4lockstep.plots.panels import lines
from px4lockstep.plots.panels.lines import Vector, draw_components, draw_line, draw_setpoint
from px4lockstep.plots.style import SMALL_PT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEADINGS = {"euler_bn": 2, "yaw_sp": 0}
"""Columns with a heading [rad], and its component."""

CEILING_DASHES = (0, (7.0, 1.6, 1.4, 1.6, 1.4, 1.6))
"""A dash and two dots, unlike setpoints."""
CEILING_ROOM = 0.14
"""Space for the text of the ceiling, of the height of the panel."""


def draw_height(axes: "Axes", log: Log) -> None:
    """Draw the height above the origin, and when waypoints were reached."""
    height_m = -log["pos_ned"][:, 2]
    draw_line(axes, log, height_m, color=AXIS_COLOURS[2], label="flown", lw=2.4)
    if "pos_sp_ned" in log:
        draw_setpoint(axes, lines.thinned(log.time_s, -log["pos_sp_ned"][:, 2]), 2, 1, "setpoint")
    lines.widen(axes, 1.0)
    times_us = mission_times_us(log)
    if times_us:
        rows = np.searchsorted(log.time_us, np.array(times_us, np.uint64))
        axes.plot(
            log.time_s[rows], height_m[rows], "o", ms=5.5, mfc="white", mec="0.15", label="waypoint reached", zorder=5
        )


def draw_ceiling(axes: "Axes", height_m: float) -> None:
    """Draw the largest height of the fence, GF_MAX_VER_DIST; if it is far above the flight, as text only."""
    low, high = axes.get_ylim()
    is_near = height_m <= 2.0 * high - low
    high = max(high, height_m) if is_near else high
    high += CEILING_ROOM * (high - low)  # for the text, which is above the line
    axes.set_ylim(low, high)
    place: dict[str, Any] = {
        "ha": "right",
        "va": "bottom",
        "fontsize": SMALL_PT,
        "transform": axes.get_yaxis_transform(),
    }
    if is_near:
        axes.axhline(height_m, color="0.2", lw=1.6, ls=CEILING_DASHES, zorder=1.5)
        axes.text(0.99, height_m + 0.02 * (high - low), f"stay below {height_m:g} m", **place)
    else:
        axes.text(0.99, high - 0.8 * CEILING_ROOM * (high - low), f"stay below {height_m:g} m \u2191", **place)


def draw_velocity(axes: "Axes", log: Log) -> None:
    """Draw the velocity (north, east, down)."""
    draw_components(axes, log, log.get("vel_ned"), log.get("vel_sp_ned"), ("north", "east", "down"))


def draw_tilt(axes: "Axes", log: Log) -> None:
    """Draw roll and pitch."""
    actual, wanted = map(_cut_jumps, _angles(log))
    draw_components(axes, log, actual, wanted, ("roll", "pitch"), is_noisy=True)


def draw_heading(axes: "Axes", log: Log) -> None:
    """Draw the heading."""
    actual, wanted = _angles(log)
    if actual is None:
        lines.say_absent(axes)
        return
    flown_deg = unwrapped(actual[:, 2])
    draw_line(axes, log, flown_deg, color=AXIS_COLOURS[2], label="flown", lw=2.4)
    if wanted is not None:
        wanted_deg = near(unwrapped(wanted[:, 2]), flown_deg)
        draw_setpoint(axes, lines.thinned(log.time_s, wanted_deg), 2, 1, "setpoint")
    lines.widen(axes, 10.0)


def draw_rates(axes: "Axes", log: Log) -> None:
    """Draw the body rates."""
    rates = (log.get(name) for name in ("omega_body", "rate_sp_body"))
    with np.errstate(over="ignore"):  # a log may contain any number
        actual, wanted = (None if rate is None else np.degrees(rate) for rate in rates)
    draw_components(axes, log, actual, wanted, ("x", "y", "z"), is_noisy=True)


def unwrapped(angles: Vector, turn: float = 360.0) -> Vector:
    """Return angles without jumps by full turns; rows without an angle are NaN, and angles continue after them."""
    result = np.full(len(angles), np.nan)
    is_there = np.isfinite(angles)
    result[is_there] = np.unwrap(angles[is_there], period=turn)
    return result


def without_jumps(name: str, table: Vector) -> Vector:
    """Return the components of a column, (rows, components), with its heading unwrapped, if it has one."""
    if name in HEADINGS:
        part = HEADINGS[name]
        table = table.copy()
        table[:, part] = unwrapped(table[:, part], 2.0 * np.pi)
    return table


def near(angles_deg: Vector, others_deg: Vector) -> Vector:
    """Return angles shifted by the full turns that bring most of them to the others."""
    apart = angles_deg - others_deg
    is_there = np.isfinite(apart)
    return angles_deg - 360.0 * round(float(np.median(apart[is_there])) / 360.0) if is_there.any() else angles_deg


def _angles(log: Log) -> tuple[Vector | None, Vector | None]:
    """Return attitude and attitude setpoint as Euler angles [°], NaN without a setpoint."""
    actual, wanted = log.get("euler_bn"), log.get("q_sp")
    if wanted is not None:
        is_set = np.linalg.norm(wanted, axis=1) > 0.5
        wanted = np.where(is_set[:, np.newaxis], np.degrees(_euler_angles(wanted)), np.nan)
    return None if actual is None else np.degrees(actual), wanted


def _euler_angles(q: Vector) -> Vector:
    """Return roll, pitch and yaw; unlike those of the log, which are bit-identical on every machine, fast."""
    w, x, y, z = q.T
    roll = np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    pitch = np.arcsin(np.clip(2.0 * (w * y - z * x), -1.0, 1.0))
    return np.stack([roll, pitch, np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))], axis=1)


def _cut_jumps(angles_deg: Vector | None) -> Vector | None:
    """Return angles with a gap where they wrap around, as in a tumble."""
    if angles_deg is not None:
        angles_deg[1:][np.abs(np.diff(angles_deg, axis=0)) > 180.0] = np.nan
    return angles_deg
