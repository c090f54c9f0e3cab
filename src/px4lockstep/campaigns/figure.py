"""Figure of a campaign: pass rate, outcomes, most influential inputs, metrics, and the main metric over its inputs.

If there are more metrics or inputs than fit on a page, the most important ones are drawn and a note says how many were
omitted: metrics with a criterion come first, inputs are ordered by their influence on the main metric.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from px4lockstep.campaigns import panels
from px4lockstep.campaigns.panels import bounds_of, draw_distribution, draw_scatter, named
from px4lockstep.campaigns.results_table import MetricColumn, Results
from px4lockstep.campaigns.sensitivity import sensitivities_of
from px4lockstep.campaigns.statistics import CONFIDENCE
from px4lockstep.campaigns.summary import NOTES
from px4lockstep.errors import InputError
from px4lockstep.plots.flight import DPI
from px4lockstep.plots.style import GREY, STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH_IN, ROW_IN = 17.0, 3.7
COLUMNS = 4
MAX_METRICS, MAX_INPUTS, MAX_BARS = 8, 4, 8
OWN_STYLE = {"axes.titlepad": 8.0, "hatch.linewidth": 0.7, "hatch.color": "white"}
WORDS = {
    "latin_hypercube": "Latin hypercube sampling",
    "sobol": "Sobol sampling",
    "random": "random sampling",
    "seeds": "random seeds",
}


def plot_campaign(results: Results, confidence: float = CONFIDENCE) -> "Figure":
    """Return the figure of a campaign; `plots.flight.save_plot` writes it to a file."""
    from matplotlib import style

    from px4lockstep.plots.shown import ShownFigure

    if not results.runs:
        raise InputError(f"campaign {results.name} has no runs to draw; fly some first")
    everything = sensitivities_of(results, confidence)
    # Metrics with a criterion and the most influential inputs first, then in the order of the campaign file.
    metrics = sorted(results.metrics, key=lambda metric: not bounds_of(results, metric.name))[:MAX_METRICS]
    main = main_metric(results)
    matters = [own for own in everything if main is not None and own.metric == main.name]
    inputs = list(dict.fromkeys([*(own.input for own in matters), *results.inputs]))[:MAX_INPUTS] if main else []
    distributions = [(draw_distribution, results, metric) for metric in metrics]
    grid_rows = _rows(distributions, [(draw_scatter, results, key, main) for key in inputs])
    with style.context(["default", STYLE, OWN_STYLE]):
        figure = ShownFigure(figsize=(WIDTH_IN, ROW_IN * (1 + len(grid_rows)) + 0.8), dpi=DPI, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.1, h_pad=0.08, hspace=0.03, wspace=0.02)  # type: ignore[union-attr, call-arg]
        rows = figure.add_gridspec(1 + len(grid_rows), 1)
        top: list[tuple[float, tuple[Any, ...]]] = [(0.75, (panels.draw_statuses, results))]
        if results.criteria:
            top.insert(0, (2.0, (panels.draw_pass_rate, results, confidence)))
        if main is not None and results.inputs:
            top.append((1.5, (panels.draw_sensitivities, matters[:MAX_BARS], main.name, confidence)))
        widths = [width for width, _ in top]
        grid = rows[0].subgridspec(1, len(widths), width_ratios=widths)
        for column, (_, (draw, *arguments)) in enumerate(top):
            draw(figure.add_subplot(grid[column]), *arguments)
        for place, row in enumerate(grid_rows, start=1):
            grid = rows[place].subgridspec(1, max(len(row), 2))
            for column, (draw, *arguments) in enumerate(row):
                axes = figure.add_subplot(grid[column])
                draw(axes, *arguments)
                if column == 0 or draw is not row[column - 1][0]:  # the first of its kind
                    axes.set_ylabel(named(main) if draw is draw_scatter and main is not None else "runs")
        _add_key(figure, results)
        figure.suptitle(_title(results), fontsize=17, fontweight="bold", x=0.012, ha="left")
        figure.supxlabel(_below(results, metrics, inputs), fontsize=10.5, x=0.012, ha="left", color=GREY)
    return figure


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


def _rows(metrics: list[Any], inputs: list[Any]) -> list[list[Any]]:
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
            figure.legend(handles[::-1], labels[::-1], loc="outside upper right", ncols=2, fontsize=13)
            return


def _title(results: Results) -> str:
    runs = f"{results.runs:,} run{'s' if results.runs != 1 else ''}"
    words = [f"{results.name}: {runs}"]
    if results.methods:
        words.append(" and ".join(WORDS.get(method, method) for method in results.methods))
    if results.criteria:
        words.append(f"{int((~results.is_passed).sum()):,} failed")
    return ", ".join(words)


def _below(results: Results, metrics: Sequence[MetricColumn], inputs: Sequence[str]) -> str:
    """Return the notes below the panels: what is not drawn, and how to read the intervals."""
    notes = []
    if len(metrics) < len(results.metrics):
        notes.append(f"{len(metrics)} of {len(results.metrics)} metrics are drawn, those with a criterion first.")
    if len(inputs) < len(results.inputs):
        notes.append(f"{len(inputs)} of {len(results.inputs)} inputs are drawn, the most influential first.")
    notes += [NOTES[method] for method in results.methods if method in NOTES]
    return " ".join(notes)
