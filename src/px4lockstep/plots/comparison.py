"""Figures that compare integrators: errors over time on logarithmic scales, with one panel per quantity.

Each integrator has its own colour, dash pattern and line width, distinguishable in greyscale. If there are more rows
than a line needs, the maximum error of each group of rows is drawn, so no peak is lost.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from px4lockstep.integrators.solver import Integrator
from px4lockstep.plots.looks import AXIS_COLOURS
from px4lockstep.plots.panels.lines import use_log_scale
from px4lockstep.plots.style import (
    GREY,
    PAD_PT,
    TITLE_SIZE_PT,
    WIDTH_IN,
    Spacing,
    add_head,
    figure_style,
    new_figure,
    panel_grid,
)
from px4lockstep.verification.comparison import Comparison
from px4lockstep.verification.local_defect import LocalDefect
from px4lockstep.verification.quantities import Quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Vector = npt.NDArray[np.float64]

HEIGHT_IN = 9.5
POINTS = 360
LINES: tuple[dict[str, Any], ...] = (
    {"color": AXIS_COLOURS[2], "ls": "-", "lw": 2.6},
    {"color": AXIS_COLOURS[0], "ls": "-", "lw": 1.6},
    {"color": AXIS_COLOURS[1], "ls": (0, (5, 1.5)), "lw": 2.0},
    {"color": "0.1", "ls": (0, (1.2, 1.2)), "lw": 2.2},
)
MARKS = ("o", "s", "D", "^")
BOX = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0}


def plot_comparison(comparison: Comparison) -> "Figure":
    """Return a figure of the error of each integrator over the flight, and of its cost."""
    errors = {flown.name: flown.errors for flown in comparison.flown}
    title = f"Integrators: error over the flight, against {_words(comparison.reference)}"
    figure, last = _draw(comparison.quantities, comparison.time_s, errors, title)
    quantity = comparison.quantities[0]
    for i, flown in enumerate(comparison.flown):
        thousands, size = flown.statistics.evaluations / 1e3, flown.largest(quantity.name)
        if size > 0.0:
            last.plot([thousands], [size], ls="", ms=12, marker=MARKS[i % len(MARKS)], color=_line(i)["color"])
            last.annotate(flown.name, (thousands, size), (9, 6), textcoords="offset points", fontsize=11)
    _name(last, f"max {quantity.name} error [{quantity.unit}] and cost")
    use_log_scale(last)
    last.set_xlabel("RHS evaluations, in thousands")
    last.minorticks_off()
    last.margins(x=0.25, y=0.2)
    last.set_xlim(left=0.0)
    return figure


def plot_local_defect(measured: LocalDefect) -> "Figure":
    """Return a figure of the local defects of each integrator, and of their reduction with half the step size."""
    errors = {defect.name: defect.errors for defect in measured.defects}
    title = f"Integrators: error per interval of the log, against {_words(measured.reference)}"
    figure, last = _draw(measured.quantities, measured.time_s, errors, title)
    quantity = measured.quantities[min(1, len(measured.quantities) - 1)]
    for i, defect in enumerate(measured.defects):
        ratio = defect.ratio(quantity.name)
        if defect.ratios is None or ratio is None:
            continue
        look: dict[str, Any] = {"marker": MARKS[i % len(MARKS)], "ms": 2.2, "color": _line(i)["color"]}
        last.plot(measured.time_s, defect.ratios[quantity.name], ls="", **look)
        last.axhline(ratio, color=GREY, lw=0.9)
        where, words = (0.98, 1.25 * ratio), f"{defect.name}: median {ratio:.2f}"
        last.text(*where, words, transform=last.get_yaxis_transform(), ha="right", fontsize=11, bbox=BOX)
    step_ms = measured.step_us / 1e3
    _name(last, f"{quantity.name} at {step_ms:g} ms / at {step_ms / 2:g} ms")
    last.set(yscale="log", ylim=(0.9, 200.0), xlim=(0.0, float(measured.time_s[-1])), xlabel="time [s]")
    ticks = [1, 2, 4, 8, 16, 32, 64, 128]
    last.set_yticks(ticks, labels=[str(tick) for tick in ticks])
    last.minorticks_off()
    return figure


def _draw(
    quantities: Sequence[Quantity], time_s: Vector, errors: Mapping[str, Mapping[str, Vector]], title: str
) -> tuple["Figure", "Axes"]:
    """Draw one panel per quantity; return the figure and an unused panel."""
    with figure_style():
        figure = new_figure(WIDTH_IN, HEIGHT_IN)
        columns = -(-(len(quantities) + 1) // 2)
        spacing = Spacing(bottom=0.65, between_rows=0.95, between_columns=0.75)
        grid = panel_grid(figure, 2, columns, head_in=add_head(figure, title) + 0.35, spacing=spacing)
        panels = [figure.add_subplot(grid[i // columns, i % columns]) for i in range(len(quantities))]
        for axes, quantity in zip(panels, quantities, strict=True):
            for i, (name, series) in enumerate(errors.items()):
                line = _largest_of_groups(time_s, series[quantity.name])
                axes.plot(*line, label=name, drawstyle="steps-post", **_line(i))
            axes.set_title(f"{quantity.name} [{quantity.unit}]")
            use_log_scale(axes)
            axes.minorticks_off()
            axes.set_xlim(0.0, float(time_s[-1]))
            axes.set_xlabel("time [s]")
        key: dict[str, Any] = {"fontsize": 13, "handlelength": 3.2, "loc": "upper right", "ncols": len(errors)}
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, bbox_to_anchor=(0.99, 1.0 - 0.55 / HEIGHT_IN), **key)
        last = figure.add_subplot(grid[1, columns - 1])
    return figure, last


def _name(axes: "Axes", title: str) -> None:
    """Set the title of the last panel, outside the style of the figure."""
    axes.set_title(title, loc="left", y=1.0, pad=PAD_PT, fontsize=TITLE_SIZE_PT, fontweight="bold")


def _line(i: int) -> dict[str, Any]:
    return LINES[i % len(LINES)]


def _largest_of_groups(time_s: Vector, values: Vector) -> tuple[Vector, Vector]:
    """Return the maximum of each of a few hundred groups of rows, at the start of the group; zeros become NaN."""
    size = max(1, len(values) // POINTS)
    starts = np.arange(0, len(values), size)
    largest = np.maximum.reduceat(values, starts)
    return time_s[starts], np.where(largest > 0.0, largest, np.nan)


def _words(reference: Integrator) -> str:
    """Describe the reference integrator."""
    return f"{reference.kind} at {reference.atol_of('pos'):.0e}" if reference.chooses_steps else reference.kind
