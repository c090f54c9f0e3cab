"""Figure of a campaign: outcomes, pass rate, most influential inputs, metrics, and metrics over inputs.

If there are more metrics or inputs than fit on a page, the most important ones are drawn and a note says how many were
omitted: metrics with a criterion come first, inputs are ordered by their influence on the main metric. The runs of a
grid or a list are not random samples: instead of confidence intervals, correlations and distributions, each metric is
drawn over each input.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from px4lockstep.campaigns import panels
from px4lockstep.campaigns.panels import MAX_NAME, bounds_of, draw_distribution, draw_scatter, named, shortened
from px4lockstep.campaigns.results_table import MetricColumn, Results
from px4lockstep.campaigns.sensitivity import Sensitivity, sensitivities_of
from px4lockstep.campaigns.statistics import CONFIDENCE
from px4lockstep.campaigns.summary import NOTES
from px4lockstep.errors import InputError
from px4lockstep.plots.style import (
    EDGE_IN,
    SMALL_PT,
    WIDTH_IN,
    add_head,
    add_notes,
    figure_style,
    new_figure,
    panel_row,
    text_width_in,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW_IN = 3.5
COLUMNS = 4
MAX_METRICS, MAX_INPUTS, MAX_BARS = 8, 4, 8
MAX_ROWS = 4
"""Metrics of a grid that are drawn, one in each row."""
LEFT_IN = 0.95
WORDS = {
    "latin_hypercube": "Latin hypercube sampling",
    "sobol": "Sobol sampling",
    "random": "random sampling",
    "seeds": "random seeds",
}


class PlacedPanel(NamedTuple):
    """A panel: what draws it, its relative width, and the space for the labels to its left."""

    draw: Callable[["Axes"], None]
    width: float = 1.0
    left_in: float = LEFT_IN
    ylabel: str = ""


def plot_campaign(results: Results, confidence: float = CONFIDENCE) -> "Figure":
    """Return the figure of a campaign; `plots.flight.save_plot` writes it to a file."""
    if not results.runs:
        raise InputError(f"campaign {results.name} has no runs to draw; fly some first")
    # Metrics with a criterion and the most influential inputs first, then in the order of the campaign file.
    metrics = sorted(results.metrics, key=lambda metric: not bounds_of(results, metric.name))
    main = main_metric(results)
    if results.is_sampled:
        metrics = metrics[:MAX_METRICS]
        matters = [own for own in sensitivities_of(results, confidence) if main is not None and own.metric == main.name]
        inputs = list(dict.fromkeys([*(own.input for own in matters), *results.inputs]))[:MAX_INPUTS] if main else []
        rows = [_top(results, main, matters, confidence), *_sampled_rows(results, metrics, inputs, main)]
    else:
        metrics, inputs = _varying(results, metrics)[:MAX_ROWS], list(results.inputs)[:MAX_INPUTS]
        rows = [_grid_top(results, inputs), *([_over(results, key, own) for key in inputs] for own in metrics)]
    with figure_style(hatch_color="white"):
        notes = _below(results, metrics, inputs)
        figure = new_figure(WIDTH_IN, 0.55 + ROW_IN * len(rows) + (0.3 if notes else 0.0))
        top_in = add_head(figure, _title(results))
        add_notes(figure, notes)
        for row in rows:
            # A row with few panels keeps their size.
            space = max(0.0, 2.0 - sum(panel.width for panel in row))
            columns = [(panel.width, panel.left_in) for panel in row] + ([(space, 0.0)] if space else [])
            axes = panel_row(figure, top_in, ROW_IN, columns)
            for place, panel in zip(axes, row, strict=False):
                panel.draw(place)
                place.set_ylabel(panel.ylabel or place.get_ylabel())
            for unused in axes[len(row) :]:
                unused.remove()
            top_in += ROW_IN
        _add_key(figure, results)
    return figure


def _top(
    results: Results, main: MetricColumn | None, matters: Sequence[Sensitivity], confidence: float
) -> list[PlacedPanel]:
    """Return the first row of a sampled campaign: pass rate, outcomes, influence of the inputs."""
    top = [_statuses(results)]
    if results.criteria:
        top.insert(0, PlacedPanel(lambda axes: panels.draw_pass_rate(axes, results, confidence), 2.0))
    if main is not None and results.inputs:
        shown = matters[:MAX_BARS]
        left_in = _room(results.label(own.input) for own in shown)
        draw = panels.draw_sensitivities
        top.append(PlacedPanel(lambda axes: draw(axes, shown, results, main.name), 1.5, left_in))
    return top


def _grid_top(results: Results, inputs: Sequence[str]) -> list[PlacedPanel]:
    """Return the first row of a grid: outcomes, and with criteria the share that passed by each input."""
    top = [_statuses(results)]
    if results.criteria:
        top += [PlacedPanel(lambda axes, key=key: panels.draw_passed_by(axes, results, key)) for key in inputs]  # type: ignore[misc]
    return top


def _statuses(results: Results) -> PlacedPanel:
    return PlacedPanel(
        lambda axes: panels.draw_statuses(axes, results), 0.75, _room(map(str, results.columns["status"]), 22)
    )


def _room(names: Any, length: int = MAX_NAME) -> float:
    """Return the space for the names of bars."""
    widths = [text_width_in(shortened(name, length), SMALL_PT + 1.0) for name in dict.fromkeys(names)]
    return EDGE_IN + 0.15 + max(widths, default=0.5)


def _sampled_rows(
    results: Results, metrics: Sequence[MetricColumn], inputs: Sequence[str], main: MetricColumn | None
) -> list[list[PlacedPanel]]:
    """Return the distributions of the metrics, and the main metric over the inputs."""
    distributions = [
        PlacedPanel(lambda axes, own=metric: draw_distribution(axes, results, own), ylabel="runs")  # type: ignore[misc]
        for metric in metrics
    ]
    scatters = [] if main is None else [panel for key in inputs for panel in (_over(results, key, main),)]
    return _rows(distributions, scatters)


def _over(results: Results, key: str, metric: MetricColumn) -> PlacedPanel:
    return PlacedPanel(lambda axes: draw_scatter(axes, results, key, metric), ylabel=named(results, metric))


def _varying(results: Results, metrics: Sequence[MetricColumn]) -> list[MetricColumn]:
    """Return the metrics of a grid that are not constant; all, if none varies."""
    values = {metric.name: results.metric_values(metric.name) for metric in metrics}
    return [own for own in metrics if len(np.unique(values[own.name][~np.isnan(values[own.name])])) > 1] or list(
        metrics
    )


def main_metric(results: Results) -> MetricColumn | None:
    """Return the metric to plot over the inputs: the one with a bound that most runs violate, or the first.

    A boolean or constant metric is chosen only if there is no other.
    """
    best, most = None, (-1, -1, -1)
    for metric in results.metrics:
        values = results.metric_values(metric.name)
        own = values[~np.isnan(values)]
        varies = len(own) > 0 and bool((own != own[0]).any())
        bounds = [criterion for criterion in results.criteria if criterion.metric == metric.name]
        low = [-np.inf if bound.at_least is None else bound.at_least for bound in bounds]
        high = [np.inf if bound.at_most is None else bound.at_most for bound in bounds]
        broken = int((own < np.array(low)[:, None]).sum() + (own > np.array(high)[:, None]).sum())
        rank = (int(varies) + int(varies and not metric.is_bool), int(bool(bounds)), broken)
        if rank > most:
            best, most = metric, rank
    return best


def _rows(metrics: list[PlacedPanel], inputs: list[PlacedPanel]) -> list[list[PlacedPanel]]:
    """Arrange panels in rows of up to four: metrics and inputs in one row if they fit, otherwise in separate rows."""
    if len(metrics) + len(inputs) <= COLUMNS:
        return [metrics + inputs] if metrics or inputs else []
    columns = -(-len(metrics) // -(-len(metrics) // COLUMNS)) if metrics else 1
    rows = [metrics[start : start + columns] for start in range(0, len(metrics), columns)]
    return [*rows, inputs] if inputs else rows


def _add_key(figure: "Figure", results: Results) -> None:
    """Add one legend of passed and failed for all panels."""
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        if "passed" in labels and results.criteria:
            place = (1.0 - EDGE_IN / WIDTH_IN, 1.0 - 0.16 / figure.get_figheight())
            figure.legend(handles[::-1], labels[::-1], loc="upper right", bbox_to_anchor=place, ncols=2, fontsize=13)
            return


def _title(results: Results) -> str:
    runs = f"{results.runs:,} run{'s' if results.runs != 1 else ''}"
    words = [f"{results.name}: {runs}"]
    if results.methods:
        words.append(" and ".join(WORDS.get(method, method) for method in results.methods))
    if results.criteria:
        words.append(f"{int(results.is_passed.sum()):,} passed, {int((~results.is_passed).sum()):,} failed")
    return ", ".join(words)


def _below(results: Results, metrics: Sequence[MetricColumn], inputs: Sequence[str]) -> str:
    """Return the notes below the panels: what is not drawn, and how to read the intervals."""
    notes = []
    if results.is_sampled and len(metrics) < len(results.metrics):
        notes.append(f"{len(metrics)} of {len(results.metrics)} metrics are drawn, those with a criterion first.")
    if not results.is_sampled and len(metrics) < len(results.metrics):
        notes.append(
            f"{len(metrics)} of {len(results.metrics)} metrics are drawn: those that vary, with a criterion first."
        )
    if results.is_sampled and len(inputs) < len(results.inputs):
        notes.append(f"{len(inputs)} of {len(results.inputs)} inputs are drawn, the most influential first.")
    notes += [NOTES[method] for method in results.methods if method in NOTES]
    return " ".join(notes)
