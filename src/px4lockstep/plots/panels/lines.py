"""Time series shared by the panels: vectors, motors, setpoints, and their legends."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from px4lockstep.log.log import Log
from px4lockstep.plots.looks import (
    AXIS_COLOURS,
    SETPOINT_COLOURS,
    SETPOINT_WIDTH,
    WIDTH,
    colour_of,
    matplotlib_look,
)
from px4lockstep.plots.style import GREY, add_still

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Vector = npt.NDArray[Any]

POINTS = 1_200
"""Maximum number of rows of a line before the minimum and maximum of groups of rows are drawn instead: a panel has 500
pixels."""
GROUPS = 300
"""Groups of rows of which noise is drawn as a mean or a range."""
LANE = 0.86
"""Height of a line in its lane, of the height of the lane."""


def draw_components(
    axes: "Axes",
    log: Log,
    actual: Vector | None,
    wanted: Vector | None,
    names: tuple[str, ...],
    is_noisy: bool = False,
) -> None:
    """Draw components with their setpoints; noisy setpoints are drawn as a faint band, with their running mean."""
    if actual is None:
        say_absent(axes)
        return
    for i, name in enumerate(names):
        if wanted is not None and is_noisy:
            draw_band(axes, log, wanted[:, i], AXIS_COLOURS[i])
        draw_line(axes, log, actual[:, i], color=AXIS_COLOURS[i], lw=WIDTH, label=name, **matplotlib_look(i))
    for i in range(len(names) if wanted is not None else 0):
        assert wanted is not None
        line = running_mean(log, wanted[:, i]) if is_noisy else thinned(log.time_s, wanted[:, i])
        draw_setpoint(axes, line, i, i, "setpoints" if i == 0 else "_")


def draw_many(axes: "Axes", log: Log, values: Vector | None, name: str) -> None:
    """Draw one line per battery."""
    if values is None:
        say_absent(axes)
        return
    for i in range(values.shape[1]):
        label = f"{name} {i + 1}" if values.shape[1] > 1 else "_"
        draw_line(axes, log, values[:, i], color=colour_of(i), lw=1.3, label=label, **matplotlib_look(i))


def draw_lanes(axes: "Axes", log: Log, values: Vector | None, top: float) -> None:
    """Draw one line per motor or rotor, each in its own lane from 0 to a common maximum; none covers another."""
    if values is None or not values.shape[1]:
        say_absent(axes)
        return
    count = values.shape[1]
    for i in range(count):
        base = float(count - 1 - i)
        draw_line(axes, log, base + LANE / top * np.clip(values[:, i], 0.0, top), color=colour_of(i), lw=1.0)
    x, y = np.tile([0.0, 1.0, np.nan], count), np.repeat(np.arange(float(count)), 3)
    add_still(axes, x, y, color="0.6", lw=0.8, zorder=1, transform=axes.get_yaxis_transform(), label="_lanes")
    axes.set_yticks([count - 1 - i + 0.5 * LANE for i in range(count)], labels=[str(i + 1) for i in range(count)])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.04 * count, count)


def draw_line(axes: "Axes", log: Log, values: Vector, **options: Any) -> None:
    """Draw a quantity over time."""
    axes.plot(*thinned(log.time_s, values), **options)


def draw_setpoint(axes: "Axes", line: tuple[Vector, Vector], component: int, number: int, label: str) -> None:
    """Draw the setpoint of a quantity: thin, in the dark colour of its component, with the dashes of a number."""
    look = matplotlib_look(number)
    axes.plot(*line, color=SETPOINT_COLOURS[component], lw=SETPOINT_WIDTH, label=label, zorder=4, **look)


def draw_band(axes: "Axes", log: Log, values: Vector, colour: str) -> None:
    """Draw a noisy quantity as the area between the smallest and the largest value of groups of rows."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    size = max(1, log.rows // GROUPS)
    whole = log.rows // size * size
    groups, time_s = values[:whole].reshape(-1, size), log.time_s[:whole:size]
    low, high = groups.min(axis=1), groups.max(axis=1)  # NaN, if one of them is
    outlines = []
    for part in np.split(np.arange(len(low)), np.flatnonzero(np.diff(np.isfinite(low))) + 1):
        if len(part) > 1 and np.isfinite(low[part[0]]):
            edge = np.concatenate((part, part[::-1]))
            heights = np.concatenate((low[part], high[part[::-1]]))
            outlines.append(Path(np.column_stack((time_s[edge], heights)), closed=True))
    if outlines:
        axes.update_datalim(np.concatenate([np.asarray(outline.vertices) for outline in outlines]))
        path = Path.make_compound_path(*outlines)
        axes.add_artist(PathPatch(path, fc=colour, lw=0.0, alpha=0.16, zorder=1.5))


def thinned(time_s: Vector, values: Vector, points: int | None = None) -> tuple[Vector, Vector]:
    """Return a line with at most a number of points, by default `POINTS`, that keeps all extrema."""
    rows, points = len(values), POINTS if points is None else points
    if rows <= points:
        return time_s, values
    size = -(-2 * rows // points)
    whole = rows // size * size
    groups = values[:whole].reshape(-1, size)
    # NaN still interrupts the line: argmin and argmax return the first NaN.
    ends = np.sort(np.stack([groups.argmin(axis=1), groups.argmax(axis=1)], axis=1), axis=1)
    index = (ends + size * np.arange(len(groups))[:, None]).ravel()
    index = np.concatenate([[0], index, np.arange(whole, rows), [rows - 1]])
    return time_s[index], values[index]


def running_mean(log: Log, values: Vector) -> tuple[Vector, Vector]:
    """Return the means of a few hundred groups of rows."""
    size = max(1, log.rows // GROUPS)
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


def say_absent(axes: "Axes") -> None:
    """Write into the panel that the log lacks this quantity."""
    say(axes, "not in this log")


def say(axes: "Axes", words: str) -> None:
    """Write into an empty panel why there is nothing to draw."""
    axes.text(0.5, 0.5, words, transform=axes.transAxes, ha="center", va="center", color=GREY)
    axes.set_yticks([])
