"""Figure of a sweep: a line of each metric over one input, or a map of each metric over two.

A point with a failed flight is marked with a cross. Its value, if it has one, is the mean of the flights that did not
fail, and is drawn hollow, not as part of the line.
"""

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from px4lockstep.campaigns.metrics import Metric
from px4lockstep.campaigns.panels import shortened
from px4lockstep.errors import InputError
from px4lockstep.experiments.sweep_results import Sweep, SweepPoint
from px4lockstep.plots.panels.lines import say
from px4lockstep.plots.style import (
    BAD,
    DARK,
    GOOD,
    Spacing,
    add_head,
    add_key,
    add_notes,
    figure_style,
    new_figure,
    panel_grid,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN, LINE_IN, MAP_IN = 9.0, 3.6, 6.0
MAX_COLUMNS, MAX_PANELS, MAX_WRITTEN, MAX_TICKS = 2, 8, 100, 12
MAX_CELL = 14
"""Characters in a line of a cell of a map."""
MAP_RIGHT_IN = 1.4
"""Space to the right of a map, for its colours."""
BELOW = 0.045
"""Height of the crosses of failed points above the bottom of a panel, as a share of its height."""


def plot_sweep(found: Sweep) -> "Figure":
    """Return the figure of a sweep; `plots.flight.save_plot` writes it to a file."""
    if not found.points:
        raise InputError(f"{found.folder.path} has no flights to draw; resume the sweep first")
    metrics = found.metrics[:MAX_PANELS]
    is_map = len(found.keys) == 2
    columns = min(len(metrics), MAX_COLUMNS) if is_map else 1
    rows = -(-len(metrics) // columns)
    width_in, row_in = WIDTH_IN * (1.0 if columns == 1 else 1.7), MAP_IN if is_map else LINE_IN
    with figure_style(axes_grid=not is_map):
        figure = new_figure(width_in, row_in * rows + 0.9)
        head_in, foot_in = add_head(figure, _title(found)), add_notes(figure, _below(found))
        spacing = Spacing(left=1.0, right=MAP_RIGHT_IN if is_map else 0.25, between_columns=2.3, between_rows=0.85)
        grid = panel_grid(figure, rows, columns, head_in=head_in, foot_in=foot_in, spacing=spacing)
        for place, metric in enumerate(metrics):
            axes = figure.add_subplot(grid[place // columns, place % columns])
            if is_map:
                _draw_map(figure, axes, found, metric)
            else:
                _draw_line(axes, found, metric)
                axes.set_xlabel(found.labels[0] if place + 1 == len(metrics) else "")
    return figure


def _title(found: Sweep) -> str:
    flights = sum(len(point.runs) for point in found.points)
    failed = f", {found.failed} failed" if found.failed else ""
    return f"{found.folder.campaign.name}: {flights} flight{'s' if flights != 1 else ''}{failed}"


def _below(found: Sweep) -> str:
    notes = []
    if found.seeds > 1:
        notes.append(f"Mean of {found.seeds} seeds; bars and numbers after ±: standard deviation.")
    if found.failed:
        notes.append("Crosses: flights failed there; the metric is that of the others.")
    if len(found.metrics) > MAX_PANELS:
        notes.append(f"{MAX_PANELS} of {len(found.metrics)} metrics are drawn.")
    return " ".join(notes)


def _named(metric: Metric) -> str:
    return metric.name + (f" [{metric.unit}]" if metric.unit not in ("", "1") else "")


def _places(values: Sequence[Any]) -> npt.NDArray[np.float64] | None:
    """Return numeric values as coordinates; None for others, which are drawn at equal distances."""
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        return None
    return np.array(values, np.float64)


def is_logarithmic(values: Sequence[Any]) -> bool:
    """Return whether at least three positive values are evenly spaced by ratio rather than by difference."""
    places = _places(values)
    if places is None or len(places) < 3 or places.min() <= 0.0:
        return False
    logs = np.diff(np.log(places))
    return bool(
        np.allclose(logs, logs[0], rtol=1e-3) and not np.allclose(np.diff(places), places[1] - places[0], rtol=1e-3)
    )


def _draw_line(axes: "Axes", found: Sweep, metric: Metric) -> None:
    """Draw a metric over one input."""
    values = found.values[found.keys[0]]
    numbers = _places(values)
    place_of = dict(zip(map(repr, values), range(len(values)) if numbers is None else numbers, strict=True))
    x = np.array([place_of[repr(point.inputs[found.keys[0]])] for point in found.points], np.float64)
    own = [point.values[metric.name] for point in found.points]
    mean, std = np.array([value.mean for value in own]), np.array([value.std for value in own])
    is_failed = np.array([point.is_failed for point in found.points])
    axes.set_title(_named(metric))
    order = np.argsort(x, kind="stable")
    good = order[~is_failed[order]]
    axes.plot(x[order], np.where(is_failed, np.nan, mean)[order], color=DARK, lw=1.8, zorder=3)
    axes.plot(x[good], mean[good], "o", ms=6, mfc=GOOD, mec=DARK, zorder=4, label="all flights flown")
    if found.seeds > 1:
        axes.errorbar(x[order], mean[order], std[order], fmt="none", ecolor=DARK, elinewidth=1.1, capsize=3, zorder=3)
    some = is_failed & ~np.isnan(mean)
    axes.plot(x[some], mean[some], "o", ms=6, mfc="white", mec=BAD, ls="none", zorder=4)
    if is_failed.any():
        bottom = np.full(int(is_failed.sum()), BELOW)
        for place in x[is_failed]:
            axes.axvline(place, color=BAD, lw=5.0, alpha=0.15, zorder=1)  # the cross is a mark, not a value
        marks: dict[str, Any] = {"ms": 9, "mfc": BAD, "mec": "white", "mew": 0.6, "ls": "none", "clip_on": False}
        axes.plot(x[is_failed], bottom, "X", transform=axes.get_xaxis_transform(), zorder=5, label="failed", **marks)
        add_key(axes)
    if np.isnan(mean).all():
        say(axes, "no value")
    if numbers is None:
        axes.set_xticks(range(len(values)), labels=[shortened(str(value), 16) for value in values])
    elif is_logarithmic(values):
        axes.set_xscale("log")
        places, labels = _ticks(values)
        axes.set_xticks([values[i] for i in places], labels=labels)
        axes.set_xticks([], minor=True)
    axes.margins(x=0.04, y=0.12)


def _draw_map(figure: "Figure", axes: "Axes", found: Sweep, metric: Metric) -> None:
    """Draw a metric over two inputs: the first to the right, the second upwards."""
    xs, ys = (found.values[key] for key in found.keys)
    at = {tuple(repr(point.inputs[key]) for key in found.keys): point for point in found.points}
    cells = [[at.get((repr(x), repr(y))) for x in xs] for y in ys]
    mean = np.array([[math.nan if cell is None else cell.values[metric.name].mean for cell in row] for row in cells])
    axes.set_title(_named(metric))
    axes.set(xlabel=found.labels[0], ylabel=found.labels[1])
    if np.isnan(mean).all() and not any(cell is not None and cell.is_failed for row in cells for cell in row):
        say(axes, "no value")
        return
    drawn = axes.imshow(mean, origin="lower", aspect="auto", cmap="viridis")
    axes.set_facecolor("0.88")
    if not np.isnan(mean).all():
        box, width_in = axes.get_position(), figure.get_figwidth()
        bar = figure.add_axes((box.x1 + 0.2 / width_in, box.y0, 0.2 / width_in, box.height))
        figure.colorbar(drawn, cax=bar, label=_named(metric))
    is_written = mean.size <= MAX_WRITTEN
    for i, row in enumerate(cells):
        for k, cell in enumerate(row):
            if cell is not None:
                _draw_cell(axes, k, i, cell, mean, metric.name if is_written else None, found.seeds)
    axes.set_xticks(*_ticks(xs))
    axes.set_yticks(*_ticks(ys))


def digits_of(values: npt.NDArray[np.float64]) -> int:
    """Return how many digits values need to be told apart: three, and up to six if they differ little."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if not high > low:
        return 3
    return int(np.clip(math.ceil(math.log10(max(abs(low), abs(high)) / (high - low))) + 2, 3, 6))


def _draw_cell(
    axes: "Axes", x: int, y: int, cell: SweepPoint, mean: npt.NDArray[np.float64], metric: str | None, seeds: int
) -> None:
    """Write the value of a cell, and mark failures."""
    if cell.is_failed:
        axes.plot(x, y + (0.22 if metric else 0.0), "X", ms=9, mfc=BAD, mec="white", mew=0.6)
    if metric is None:
        return
    value = cell.values[metric]
    low, high = np.nanmin(mean) if value.count else 0.0, np.nanmax(mean) if value.count else 1.0
    is_dark = value.count > 0 and value.mean < low + 0.6 * (high - low)
    text = f"{value.mean:.{digits_of(mean)}g}" if value.count else ""
    if seeds > 1 and value.count > 1:
        text += f"\n± {value.std:.2g}"
    if cell.is_failed:
        words = f"{cell.failed} of {len(cell.runs)} failed" if len(cell.runs) > 1 else cell.flights
        text += "\n" + textwrap.fill(words, MAX_CELL)
    colour = "white" if is_dark else "0.1"
    axes.text(x, y - (0.06 if cell.is_failed else 0.0), text, ha="center", va="center", fontsize=8.5, color=colour)


def _ticks(values: Sequence[Any]) -> tuple[list[int], list[str]]:
    """Return the places and labels of the values of an axis, at most `MAX_TICKS` of them."""
    step = -(-len(values) // MAX_TICKS)
    places = list(range(0, len(values), step))
    return places, [
        f"{values[i]:.4g}" if isinstance(values[i], float) else shortened(str(values[i]), 16) for i in places
    ]
