"""Time series shared by the panels: vectors, motors, setpoints, and their legends."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from px4lockstep.log.log import Log
from px4lockstep.plots.panels.style import AXIS_COLOURS, GREY, MOTOR_COLOURS, MOTOR_STYLES, SETPOINT_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Vector = npt.NDArray[Any]

POINTS = 3_000
"""Maximum number of rows of a line before the minimum and maximum of groups of rows are drawn instead."""


def draw_components(
    axes: "Axes",
    log: Log,
    actual: Vector | None,
    wanted: Vector | None,
    names: tuple[str, ...],
    is_noisy: bool = False,
) -> None:
    """Draw components with their setpoints; noisy setpoints are drawn faint, with their running mean."""
    if actual is None:
        say_absent(axes)
        return
    for i, name in enumerate(names):
        if wanted is not None and is_noisy:
            draw_line(axes, log, wanted[:, i], color=AXIS_COLOURS[i], lw=0.8, alpha=0.22, zorder=1.5)
        draw_line(axes, log, actual[:, i], color=AXIS_COLOURS[i], label=name)
    for i in range(len(names) if wanted is not None else 0):
        assert wanted is not None
        line = running_mean(log, wanted[:, i]) if is_noisy else thinned(log.time_s, wanted[:, i])
        draw_setpoint(axes, line, SETPOINT_COLOURS[i], "setpoints" if i == 0 else "_")
    add_key(axes)


def draw_many(axes: "Axes", log: Log, values: Vector | None, name: str) -> None:
    """Draw one line per motor, rotor or battery; several are drawn faint, with their running means on top."""
    if values is None:
        say_absent(axes)
        return
    count = values.shape[1]
    if count == 1:
        draw_line(axes, log, values[:, 0], color=AXIS_COLOURS[0], lw=1.3)
        return
    for i in range(count):
        colour, style = MOTOR_COLOURS[i % len(MOTOR_COLOURS)], MOTOR_STYLES[i % len(MOTOR_STYLES)]
        draw_line(axes, log, values[:, i], color=colour, lw=0.8, alpha=0.25)
        axes.plot(*running_mean(log, values[:, i]), color=colour, ls=style, lw=1.9, label=f"{i + 1}", zorder=3)
    add_key(axes, title=name, columns=count if count <= 8 else 6)


def draw_line(axes: "Axes", log: Log, values: Vector, **options: Any) -> None:
    """Draw a quantity over time."""
    axes.plot(*thinned(log.time_s, values), **options)


def draw_setpoint(axes: "Axes", line: tuple[Vector, Vector], colour: str, label: str) -> None:
    """Draw the setpoint of a quantity."""
    axes.plot(*line, color=colour, ls=(0, (3.5, 2.0)), lw=1.15, label=label, zorder=4)


def thinned(time_s: Vector, values: Vector) -> tuple[Vector, Vector]:
    """Return a line with at most a few thousand points that keeps all extrema."""
    rows = len(values)
    if rows <= POINTS:
        return time_s, values
    size = -(-2 * rows // POINTS)
    whole = rows // size * size
    groups = values[:whole].reshape(-1, size)
    # NaN still interrupts the line: argmin and argmax return the first NaN.
    ends = np.sort(np.stack([groups.argmin(axis=1), groups.argmax(axis=1)], axis=1), axis=1)
    index = (ends + size * np.arange(len(groups))[:, None]).ravel()
    index = np.concatenate([[0], index, np.arange(whole, rows), [rows - 1]])
    return time_s[index], values[index]


def running_mean(log: Log, values: Vector) -> tuple[Vector, Vector]:
    """Return the means of a few hundred groups of rows."""
    size = max(1, log.rows // 300)
    whole = log.rows // size * size
    return log.time_s[:whole].reshape(-1, size).mean(axis=1), values[:whole].reshape(-1, size).mean(axis=1)


def widen(axes: "Axes", span: float) -> None:
    """Widen the y axis to a minimum span, so that a nearly constant line looks constant."""
    low, high = axes.get_ylim()
    if high - low < span:
        middle = 0.5 * (low + high)
        axes.set_ylim(middle - 0.5 * span, middle + 0.5 * span)


def use_log_scale(axes: "Axes") -> None:
    """Use a logarithmic y axis with plain labels such as 1e-6: figures do not parse formulas."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"1e{round(math.log10(value))}" if value > 0.0 else "")
    axes.yaxis.set_minor_formatter("")


def add_key(axes: "Axes", title: str = "", columns: int = 4) -> None:
    """Add the legend, with space for it above the lines."""
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.2 * (high - low))
    handles, labels = axes.get_legend_handles_labels()
    if title:
        labels = [f"{title} {label}" if i == 0 else label for i, label in enumerate(labels)]
    length = 1.8 if columns <= 6 else 1.2
    axes.legend(handles, labels, loc="upper right", ncols=columns, handlelength=length)


def say_absent(axes: "Axes") -> None:
    """Write into the panel that the log lacks this quantity."""
    axes.text(0.5, 0.5, "not in this log", transform=axes.transAxes, ha="center", va="center", color=GREY)
