"""Figure of two flights overlaid, and the distance between them."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError
from px4lockstep.log.log import Log
from px4lockstep.plots.flight import DPI
from px4lockstep.plots.panels.lines import use_log_scale
from px4lockstep.plots.panels.style import AXIS_COLOURS, FAULT, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = npt.NDArray[Any]

SIZE_IN = (17.0, 10.0)
LOOKS: tuple[dict[str, Any], ...] = (
    {"color": AXIS_COLOURS[0], "lw": 3.0, "alpha": 0.75, "ls": "-", "zorder": 2},
    {"color": AXIS_COLOURS[1], "lw": 1.5, "ls": (0, (4, 1.5)), "zorder": 3},
)
"""The first line is wide and dark, the second narrow, bright and dashed on top, so both show where they coincide."""


def distance_between(first: Log, second: Log) -> tuple[Array, Array]:
    """Return the times [s] that two logs share, and the distance [m] at each; empty without positions."""
    if "pos_ned" not in first or "pos_ned" not in second:
        return np.zeros(0), np.zeros(0)
    _, ours, theirs = np.intersect1d(first.time_us, second.time_us, assume_unique=True, return_indices=True)
    apart_m = np.linalg.norm(first["pos_ned"][ours] - second["pos_ned"][theirs], axis=1)
    return first.time_s[ours], apart_m


def plot_overlay(logs: tuple[Log, Log], names: tuple[str, str], parts_at_s: float | None) -> "Figure":
    """Draw two flights, and mark when they diverge; panels whose columns are missing say "not in the log"."""
    from matplotlib import style
    from matplotlib.figure import Figure

    if any("pos_ned" not in log or not log.rows for log in logs):
        raise InputError("can't plot these logs: one has no rows, or no column pos_ned")
    with style.context(["default", STYLE]):
        figure = Figure(figsize=SIZE_IN, dpi=DPI, layout="constrained")
        grid = figure.add_gridspec(3, 3, width_ratios=(1.08, 1.0, 1.0))
        _draw_track(figure.add_subplot(grid[0:2, 0]), logs, names)
        first: Axes | None = None
        for place, title, unit, column, values in (
            (grid[0, 1], "Height", "above origin [m]", "pos_ned", lambda log: -log["pos_ned"][:, 2]),
            (grid[0, 2], "Speed over ground", "[m/s]", "vel_ned", lambda log: np.linalg.norm(log["vel_ned"], axis=1)),
            (grid[1, 1], "Tilt", "[°]", "q_bn", _tilt),
            (grid[1, 2], "Heading", "[°]", "q_bn", _heading),
            (grid[2, 1], "Mean motor command", "[1]", "motors", lambda log: np.nanmean(log["motors"], axis=1)),
            (grid[2, 2], "Charge", "[%]", "soc", lambda log: 100.0 * log["soc"].mean(axis=1)),
        ):
            axes = figure.add_subplot(place, sharex=first)
            first = first or axes
            axes.set(title=title, ylabel=unit)
            for log, look in zip(logs, LOOKS, strict=True):
                if column not in log:
                    axes.text(0.5, 0.5, "not in the log", transform=axes.transAxes, ha="center", color="0.45")
                    break
                axes.plot(log.time_s, values(log), **look)
            _mark(axes, parts_at_s)
        last = figure.add_subplot(grid[2, 0], sharex=first)
        _draw_distance(last, *distance_between(*logs))
        _mark(last, parts_at_s)
        for axes in figure.axes[-3:]:
            axes.set_xlabel("time [s]")
        told = "bit-identical" if parts_at_s is None else f"they diverge at {parts_at_s:.6f} s"
        figure.suptitle(f"{names[0]} and {names[1]}: {told}", fontsize=16, fontweight="bold", x=0.012, ha="left")
    return figure


def _draw_track(axes: "Axes", logs: tuple[Log, Log], names: tuple[str, str]) -> None:
    axes.set_title("Track over ground")
    for log, name, look in zip(logs, names, LOOKS, strict=True):
        pos = log["pos_ned"]
        axes.plot(pos[:, 1], pos[:, 0], label=name, **look)
        axes.plot(pos[-1, 1], pos[-1, 0], "X", ms=10, color=look["color"], mec="white", mew=0.8, zorder=5)
    axes.plot(logs[0]["pos_ned"][0, 1], logs[0]["pos_ned"][0, 0], "^", ms=13, mfc="none", mec="0.1", mew=1.6, zorder=5)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel="east [m]", ylabel="north [m]")
    axes.legend(loc="best")


def _draw_distance(axes: "Axes", time_s: Array, apart_m: Array) -> None:
    axes.set(title="Distance between them", ylabel="[m]")
    is_apart = apart_m > 0.0
    if is_apart.any():
        axes.plot(time_s[is_apart], apart_m[is_apart], color="0.15", lw=1.8)
        use_log_scale(axes)
    else:
        axes.text(0.5, 0.5, "none", transform=axes.transAxes, ha="center", color="0.45")


def _mark(axes: "Axes", parts_at_s: float | None) -> None:
    if parts_at_s is not None:
        axes.axvline(parts_at_s, color=FAULT, lw=1.3, ls=":", zorder=1)


def _tilt(log: Log) -> Array:
    """Return the angle between the body's z axis and down."""
    q = log["q_bn"]
    cosine = 1.0 - 2.0 * (q[:, 1] ** 2 + q[:, 2] ** 2)
    tilt: Array = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
    return tilt


def _heading(log: Log) -> Array:
    w, x, y, z = log["q_bn"].T
    heading: Array = np.degrees(np.unwrap(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y**2 + z**2))))
    return heading
