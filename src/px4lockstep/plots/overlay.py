"""Figure of several flights overlaid, and their distances from the first."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError
from px4lockstep.log.log import Log
from px4lockstep.log.resampling import interpolated
from px4lockstep.plots.looks import AXIS_COLOURS, DISTINCT, ENDS, MOTOR_COLOURS, matplotlib_look
from px4lockstep.plots.panels.errors import distances
from px4lockstep.plots.panels.lines import running_mean, say, say_absent, thinned, use_log_scale
from px4lockstep.plots.panels.motion import unwrapped
from px4lockstep.plots.style import (
    EDGE_IN,
    FAULT,
    WIDTH_IN,
    add_head,
    figure_style,
    hold_labels,
    inset,
    new_figure,
    panel_grid,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = npt.NDArray[Any]

HEIGHT_IN = 11.8
MAX_LISTED = DISTINCT
"""Flights that the key lists; of more, it lists the first and the last, between which the colours change gradually."""
MIN_SHARED = 0.1
"""Fraction of the rows, in the time that two logs cover, below which a log is interpolated."""
TWO_LOOKS: tuple[dict[str, Any], ...] = (
    {"color": AXIS_COLOURS[0], "lw": 3.0, "alpha": 0.75, "ls": "-", "zorder": 2},
    {"color": AXIS_COLOURS[1], "lw": 1.5, "ls": (0, (4, 1.5)), "zorder": 3},
)
"""The first line is wide and dark, the second narrow, bright and dashed on top, so both show where they coincide."""


def distance_between(first: Log, second: Log) -> tuple[Array, Array]:
    """Return the times [s] that two logs share, and the distance [m] at each; empty without positions.

    If they share few rows, because their clocks differ, the second is interpolated at the rows of the first.
    """
    if "pos_ned" not in first or "pos_ned" not in second:
        return np.zeros(0), np.zeros(0)
    _, ours, theirs = np.intersect1d(first.time_us, second.time_us, assume_unique=True, return_indices=True)
    is_both = (first.time_us >= second.time_us[0]) & (first.time_us <= second.time_us[-1])
    if len(ours) < MIN_SHARED * np.count_nonzero(is_both):
        rows_us, other_us = (log.time_us.astype(np.int64) for log in (first, second))
        other = interpolated(other_us, second["pos_ned"], rows_us[is_both])
        return first.time_s[is_both], np.linalg.norm(first["pos_ned"][is_both] - other, axis=1)
    apart_m = np.linalg.norm(first["pos_ned"][ours] - second["pos_ned"][theirs], axis=1)
    return first.time_s[ours], apart_m


def plot_overlay(
    logs: Mapping[str, Log], *, title: str = "", facts: str = "", parts_at_s: float | None = None
) -> "Figure":
    """Return a figure with several flights overlaid.

    Args:
        logs: The logs by label, with at least the position. A flight without the column of a panel is not in it.
        title: Title of the figure; the labels by default.
        facts: Facts of the flights, drawn below the title.
        parts_at_s: Time at which to draw a line, for example where two flights diverge.

    Raises:
        InputError: If there is no log, or one has no position or no rows.
    """
    if not logs:
        raise InputError("there is nothing to plot; give at least one log")
    for label, log in logs.items():
        if "pos_ned" not in log or not log.rows:
            raise InputError(f"can't plot the log of {label!r}: it has no rows, or no column pos_ned")
    looks = dict(zip(logs, _looks(len(logs)), strict=True))
    with figure_style():
        listed = list(logs) if len(logs) <= MAX_LISTED else [next(iter(logs)), list(logs)[-1]]
        columns = max(1, int((WIDTH_IN - 2 * EDGE_IN) / (0.65 + 0.085 * max(map(len, listed)))))
        key_in = 0.1 + 0.2 * -(-len(listed) // columns)
        figure = new_figure(WIDTH_IN, HEIGHT_IN + key_in)
        head_in = add_head(figure, title or _names(logs), facts)
        grid = panel_grid(figure, 4, 3, head_in=head_in + key_in, widths=(1.08, 1.0, 1.0))
        _draw_track(inset(figure.add_subplot(grid[0:2, 0]), below_in=0.32), logs, looks)
        first: Axes | None = None
        for row, column, name, unit, needs, values in PANELS:
            axes = figure.add_subplot(grid[row, column], sharex=first)
            first = first or axes
            axes.set_ylabel(unit)
            smooth = name.endswith(SMOOTHED) and len(logs) > 1
            axes.set_title(name if smooth else name.removesuffix(SMOOTHED))
            for label, log in logs.items():
                if has_one_of(log, needs):
                    line = running_mean(log, values(log)) if smooth else thinned(log.time_s, values(log))
                    axes.plot(*line, **looks[label])
            if not axes.lines:
                say_absent(axes)
        last = figure.add_subplot(grid[3, 2], sharex=first)
        _draw_distances(last, logs, looks)
        last.set_xlim(min(log.time_s[0] for log in logs.values()), _last_s(logs))
        for axes in figure.axes[1:]:
            hold_labels(axes)
            if parts_at_s is not None:
                axes.axvline(parts_at_s, color=FAULT, lw=1.3, ls=":", zorder=1)
        for axes in figure.axes[1:-3]:
            axes.tick_params(labelbottom=False)
        for axes in (figure.axes[-3], figure.axes[-2], last):
            axes.set_xlabel("time [s]")
            axes.tick_params(labelbottom=True)
        _add_key(figure, listed, head_in, columns)
    return figure


def _last_s(logs: Mapping[str, Log]) -> float:
    first_s, last_s = min(log.time_s[0] for log in logs.values()), max(log.time_s[-1] for log in logs.values())
    return float(max(last_s, first_s + 1e-6))


def _names(logs: Mapping[str, Log]) -> str:
    """Return the labels of a few flights, or the number of many."""
    return ", ".join(logs) if len(logs) <= len(MOTOR_COLOURS) else f"{len(logs)} flights"


def _add_key(figure: "Figure", listed: Sequence[str], head_in: float, columns: int) -> None:
    """Add one legend for all panels, below the title."""
    lines = {str(line.get_label()): line for line in figure.axes[0].lines}
    place = (EDGE_IN / WIDTH_IN, 1.0 - (head_in - 0.05) / figure.get_figheight())
    figure.legend(
        [lines[label] for label in listed], listed, loc="upper left", bbox_to_anchor=place, ncols=columns, fontsize=11
    )


def _looks(count: int) -> Sequence[dict[str, Any]]:
    """Return the looks of the lines: two that show where they coincide, few distinct ones, or a scale of colours."""
    if count <= len(TWO_LOOKS):
        return TWO_LOOKS[:count]
    if count <= len(MOTOR_COLOURS):
        return [{"color": MOTOR_COLOURS[i], **matplotlib_look(i)} for i in range(count)]
    from matplotlib import colormaps

    shades = [{"color": colormaps["viridis"](0.92 * i / (count - 1)), "lw": 1.2} for i in range(count)]
    if count > MAX_LISTED:
        return [shade | {"alpha": 0.5} for shade in shades]
    return [shade | matplotlib_look(i) for i, shade in enumerate(shades)]


def _draw_track(axes: "Axes", logs: Mapping[str, Log], looks: Mapping[str, dict[str, Any]]) -> None:
    axes.set_title("Track over ground")
    for i, (label, log) in enumerate(logs.items()):
        pos = log["pos_ned"]
        axes.plot(pos[:, 1], pos[:, 0], label=label, **looks[label])
        if len(logs) <= len(ENDS):
            look = {"marker": ENDS[i][0], "color": looks[label]["color"], "mec": "white"}
            axes.plot(pos[-1, 1], pos[-1, 0], ms=9, mew=1.0, ls="none", zorder=5, **look)
    start = next(iter(logs.values()))["pos_ned"][0]
    axes.plot(start[1], start[0], "^", ms=13, mfc="none", mec="0.1", mew=1.6, zorder=5)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel="east [m]", ylabel="north [m]")
    axes.margins(0.08)


def _draw_distances(axes: "Axes", logs: Mapping[str, Log], looks: Mapping[str, dict[str, Any]]) -> None:
    first, *others = logs
    axes.set(title="Distance between them" if len(others) == 1 else f"Distance from {first}", ylabel="[m]")
    for label in others:
        time_s, apart_m = distance_between(logs[first], logs[label])
        is_apart = apart_m > 0.0
        if is_apart.any():
            look = {"color": "0.15", "lw": 1.8} if len(others) == 1 else looks[label]
            axes.plot(*thinned(time_s[is_apart], apart_m[is_apart]), **look)
    if axes.lines:
        use_log_scale(axes)
    else:
        say(axes, "none")


def _tilt(log: Log) -> Array:
    """Return the angle between the body's z axis and down."""
    q = log["q_bn"]
    cosine = 1.0 - 2.0 * (q[:, 1] ** 2 + q[:, 2] ** 2)
    tilt: Array = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
    return tilt


def _heading(log: Log) -> Array:
    w, x, y, z = log["q_bn"].T
    return unwrapped(np.degrees(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y**2 + z**2))))


def _mean(column: str) -> Callable[[Log], Array]:
    """Return a function that averages a column over motors, rotors or batteries; 0 where none is driven."""

    def mean(log: Log) -> Array:
        values = log[column]
        count = np.maximum(1, np.count_nonzero(~np.isnan(values), axis=1))
        return np.asarray(np.nansum(values, axis=1) / count)

    return mean


def has_one_of(log: Log, names: str) -> str:
    """Return the first of some columns, separated by spaces, that a log has; an empty string if it has none."""
    return next((name for name in names.split() if name in log), "")


SMOOTHED = ", smoothed"
"""Ending of the titles of panels with noise, of which several flights are drawn as running means."""
CURRENT, CHARGE = "battery_true_current_a battery_current_a", "soc battery_remaining"
PANELS: tuple[tuple[int, int, str, str, str, Callable[[Log], Array]], ...] = (
    (0, 1, "Height", "above origin [m]", "pos_ned", lambda log: -log["pos_ned"][:, 2]),
    (0, 2, "Speed over ground", "[m/s]", "vel_ned", lambda log: np.linalg.norm(log["vel_ned"], axis=1)),
    (1, 1, "Tilt", "[°]", "q_bn", _tilt),
    (1, 2, "Heading", "[°]", "q_bn", _heading),
    (2, 0, "Tracking error", "[m]", "pos_sp_ned", lambda log: np.hypot(*distances(log, log["pos_sp_ned"]))),
    (2, 1, "Mean motor command" + SMOOTHED, "[1]", "motors", _mean("motors")),
    (2, 2, "Mean rotor speed" + SMOOTHED, "[rad/s]", "rotor_speed_rad_s", _mean("rotor_speed_rad_s")),
    (3, 0, "Battery current" + SMOOTHED, "[A]", CURRENT, lambda log: log[has_one_of(log, CURRENT)].sum(axis=1)),
    (3, 1, "Charge", "[%]", CHARGE, lambda log: 100.0 * log[has_one_of(log, CHARGE)].mean(axis=1)),
)
"""Row, column, title, unit, column of the log (or the second, if there is no first) and values of each panel."""
