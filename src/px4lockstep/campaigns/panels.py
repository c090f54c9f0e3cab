"""The panels of the figure of a campaign.

Passed runs are light; failed runs are dark, hatched or crossed, to be distinguishable in greyscale. Outliers are drawn
at the edge of a panel with their count, so that one crash does not squeeze a thousand flights into a line.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from px4lockstep.campaigns.results_table import MetricColumn, Results, Vector, is_numeric, numbers_of
from px4lockstep.campaigns.sensitivity import Sensitivity
from px4lockstep.campaigns.statistics import finite_of, wilson_bounds
from px4lockstep.flights.outcome import is_success
from px4lockstep.plots.panels.lines import say
from px4lockstep.plots.style import BAD, DARK, GOOD, GREY, SMALL_PT, add_key

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BOX = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5}
MAX_NAME, MAX_TITLE = 34, 26
MAX_BARS = 12
"""Values of an input of a grid that have a bar."""
MAX_VALUES = 8
"""Distinct values of a string input that are shown separately."""


def draw_pass_rate(axes: "Axes", results: Results, confidence: float) -> None:
    """Draw the pass rate of the first n runs over n, with its confidence interval."""
    passed, count = np.cumsum(results.is_passed), np.arange(1, results.runs + 1)
    low, high = (100.0 * end for end in wilson_bounds(passed, count, confidence))
    rate = 100.0 * passed / count
    axes.set_title(f"Pass rate {rate[-1]:.1f} %, {100 * confidence:g} % interval {low[-1]:.1f} to {high[-1]:.1f} %")
    axes.fill_between(count, low, high, color=GOOD, alpha=0.55, lw=0)
    axes.plot(count, rate, color=DARK, lw=2.2)
    axes.plot([count[-1]] * 2, [low[-1], high[-1]], color=DARK, lw=1.2)
    axes.plot(count[-1], rate[-1], "o", ms=6, color=DARK)
    failed = count[~results.is_passed]
    if 0 < len(failed) <= 400:
        ticks: dict[str, Any] = {"ms": 9, "mew": 1.2, "color": BAD, "label": "failed run", "clip_on": False}
        axes.plot(failed, np.full(len(failed), 0.02), "|", transform=axes.get_xaxis_transform(), **ticks)
    # The wide intervals of the first few runs would dominate the scale.
    start = min(results.runs - 1, max(10, results.runs // 20))
    bottom, top = float(low[start:].min()), float(high[start:].max())
    room = max(0.12 * (top - bottom), 0.5)
    axes.set(ylim=(max(bottom - room, -2.0), min(top + room, 102.0)), xlim=(1, max(results.runs, 2)))
    axes.set(xlabel="of the first n runs", ylabel="passed [%]")
    add_key(axes)


def draw_statuses(axes: "Axes", results: Results) -> None:
    """Draw the number of runs by status."""
    names, counts = np.unique([str(status) for status in results.columns["status"]], return_counts=True)
    order = np.lexsort((names, counts))
    names, counts = names[order], counts[order]
    axes.set_title("Runs by status")
    for place, (name, count) in enumerate(zip(names, counts, strict=True)):
        look = {"color": GOOD} if is_success(name) else {"color": BAD, "hatch": "////", "edgecolor": "white", "lw": 0.4}
        axes.barh(place, count, height=0.62, **look)
    for place, count in enumerate(counts):
        axes.text(count, place, f" {count}", va="center")
    axes.set_yticks(range(len(names)), labels=[shortened(str(name), 22) for name in names])
    axes.set(xlim=(0, 1.22 * counts.max()), ylim=_ends(len(names)))
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.locator_params(axis="x", nbins=4, integer=True)


def draw_passed_by(axes: "Axes", results: Results, key: str) -> None:
    """Draw the share of runs that passed, by the value of an input."""
    column = results.columns[key]
    texts = [f"{value:.4g}" if isinstance(value, float) else str(value) for value in column]
    names = list(dict.fromkeys(texts))
    if is_numeric(column):
        numbers = dict(zip(texts, numbers_of(column), strict=True))
        names.sort(key=lambda name: numbers[name])
    axes.set_title(f"Passed, by {shortened(results.label(key), MAX_TITLE)}")
    shown = names[:MAX_BARS]
    for place, name in enumerate(shown):
        own = results.is_passed[[text == name for text in texts]]
        axes.bar(place, 100.0, width=0.7, color=BAD, hatch="////", edgecolor="white", lw=0.4)
        axes.bar(place, 100.0 * own.mean(), width=0.7, color=GOOD, edgecolor="white", lw=0.4)
        axes.text(place, 103.0, f"{own.sum()}/{len(own)}", ha="center", fontsize=SMALL_PT)
    axes.set_xticks(range(len(shown)), labels=[shortened(name, 60 // max(len(shown), 4)) for name in shown])
    axes.set(xlabel=shortened(results.label(key)), ylabel="[%]", ylim=(0.0, 112.0), xlim=_ends(len(shown)))
    axes.set_yticks([0, 50, 100])
    axes.grid(visible=False)
    if len(names) > MAX_BARS:
        _note(axes, 0.98, 0.9, "right", f"{MAX_BARS} of {len(names)} values", color=GREY)


def draw_sensitivities(axes: "Axes", own: Sequence[Sensitivity], results: Results, metric: str) -> None:
    """Draw the rank correlation of each input with a metric, and the square root of the share that it explains."""
    axes.set_title(f"Influence on {shortened(results.label(metric), MAX_TITLE)}")
    if not own:
        say(axes, "not available: the metric or the inputs are constant")
        return
    places = range(len(own))
    roots = [float(np.sqrt(one.explained or 0.0)) for one in reversed(own)]
    widths, lefts = [2.0 * root for root in roots], [-root for root in roots]
    axes.barh(places, widths, left=lefts, height=0.8, color="0.86")
    if any(one.explained is None for one in own):
        _note(axes, 0.02, 0.06, "left", "explained share: too few runs", color=GREY)
    for place, one in enumerate(reversed(own)):
        r = one.correlation
        if r is not None:
            axes.barh(place, r.estimate, height=0.46, color=GOOD if r.estimate >= 0.0 else DARK, zorder=3)
            axes.plot([r.low, r.high], [place, place], color="0.1", lw=1.6, solid_capstyle="butt", zorder=4)
    axes.axvline(0.0, color="0.35", lw=1.0)
    axes.set_yticks(places, labels=[shortened(results.label(one.input)) for one in reversed(own)])
    axes.set(xlim=(-1.05, 1.05), ylim=_ends(len(own)))
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    grey = "; grey: ± √(explained share)" if any(one.explained is not None for one in own) else ""
    axes.set_xlabel(f"rank correlation{grey}", loc="right")


def draw_distribution(axes: "Axes", results: Results, metric: MetricColumn) -> None:
    """Draw the distribution of a metric, with failed runs highlighted and the bounds of its criteria."""
    values = results.metric_values(metric.name)
    is_there = ~np.isnan(values)
    failed = ~results.is_passed if results.criteria else np.zeros(results.runs, bool)
    axes.set_title(named(results, metric))
    if not is_there.any():
        say(axes, "no run has a value")
        return
    if metric.is_bool:
        edges = np.array([-0.5, 0.5, 1.5])
        axes.set_xticks([0, 1], labels=["no", "yes"])
        axes.set_xlim(-0.6, 1.6)
        axes.grid(visible=False, axis="x")
    else:
        bounds = bounds_of(results, metric.name)
        low, high = window(values, bounds)
        edges = _edges(low, high, bounds, min(40, max(8, round(np.sqrt(is_there.sum())))))
        _say_beyond(axes, values, low, high)
        axes.set_xlim(edges[0], edges[-1])
        for bound in bounds:
            axes.axvline(bound, color="0.1", lw=1.8, ls=(0, (4, 2)), zorder=4)
    inside = np.clip(values, edges[0], edges[-1])
    good, bad = (np.histogram(inside[is_there & own], edges)[0] for own in (~failed, failed))
    gap = 0.86 if metric.is_bool else 1.0
    place, width = 0.5 * (edges[1:] + edges[:-1]), gap * np.diff(edges)
    options: dict[str, Any] = {"width": width, "edgecolor": "white", "lw": 0.4}
    axes.bar(place, bad, label="failed", color=BAD, hatch="////", **options)
    axes.bar(place, good, bottom=bad, label="passed" if results.criteria else "runs", color=GOOD, **options)
    axes.set_ylim(0.0, 1.12 * float((good + bad).max()))
    axes.locator_params(axis="y", nbins=5, integer=True)
    if not is_there.all():
        _note(axes, 0.98, 0.88, "right", f"{(~is_there).sum()} without a value", color=GREY)


def draw_scatter(axes: "Axes", results: Results, key: str, metric: MetricColumn) -> None:
    """Draw a metric over an input, with one marker per run."""
    values = results.metric_values(metric.name)
    failed = ~results.is_passed if results.criteria else np.zeros(results.runs, bool)
    axes.set_xlabel(shortened(results.label(key)))
    if not np.isfinite(values).any():
        say(axes, "no run has a value")
        return
    places, labels = _places(results, key)
    bounds = [] if metric.is_bool else bounds_of(results, metric.name)
    low, high = (-0.2, 1.2) if metric.is_bool else window(values, bounds)
    for bound in bounds:
        axes.axhline(bound, color="0.1", lw=1.8, ls=(0, (4, 2)), zorder=4)
    if metric.is_bool:
        values = values + 0.12 * _spread(results.runs)
        axes.set_yticks([0, 1], labels=["no", "yes"])
    inside = np.clip(values, low, high)
    size = float(np.clip(220.0 / np.sqrt(results.runs), 3.0, 8.0))
    good: dict[str, Any] = {"marker": "o", "ms": size, "mfc": GOOD, "mec": DARK, "mew": 0.35, "alpha": 0.8}
    bad: dict[str, Any] = {"marker": "X", "ms": 1.35 * size + 1.0, "mfc": BAD, "mec": "white", "mew": 0.5}
    axes.plot(places[~failed], inside[~failed], ls="none", label="passed", **good)
    axes.plot(places[failed], inside[failed], ls="none", zorder=3, label="failed", **bad)
    if not metric.is_bool:
        _say_beyond(axes, values, low, high)
    room = 0.04 * (high - low)
    axes.set_ylim(low - room, high + room)
    if labels:
        axes.set_xticks(range(len(labels)), labels=labels)
        axes.set_xlim(-0.6, len(labels) - 0.4)
    else:
        axes.locator_params(axis="x", nbins=5)


def window(values: Vector, bounds: Sequence[float] = ()) -> tuple[float, float]:
    """Return the range to show: all values except outliers, and the bounds that are close to them."""
    own = finite_of(values)
    least, low, first, third, high, most = (float(end) for end in np.quantile(own, [0.0, 0.05, 0.25, 0.75, 0.95, 1.0]))
    reach = 3.0 * (third - first)
    if reach > 0.0:
        least, most = max(least, low - reach), min(most, high + reach)
    size = max(abs(least), abs(most), 1e-300)
    if most - least <= 1e-9 * size:  # practically one value
        return least - 0.5 * min(size, 1.0), most + 0.5 * min(size, 1.0)
    near = [bound for bound in bounds if least - (most - least) <= bound <= most + (most - least)]
    room = 0.03 * (most - least)
    return min([least, *(bound - room for bound in near)]), max([most, *(bound + room for bound in near)])


def bounds_of(results: Results, name: str) -> list[float]:
    """Return the bounds of the criteria on a metric."""
    own = [criterion for criterion in results.criteria if criterion.metric == name]
    limits = [limit for criterion in own for limit in (criterion.at_least, criterion.at_most, criterion.equals)]
    return [float(limit) for limit in limits if limit is not None]


def named(results: Results, metric: MetricColumn) -> str:
    """Return the label of a metric, or its name and unit."""
    if metric.name in results.labels:
        return shortened(results.labels[metric.name])
    return shortened(metric.name) + (f" [{metric.unit}]" if metric.unit not in ("", "1") else "")


def shortened(name: str, length: int = MAX_NAME) -> str:
    """Return a name that fits; a long one keeps its end, which is the most specific part."""
    return name if len(name) <= length else "…" + name[1 - length :]


def _ends(bars: int) -> tuple[float, float]:
    """Return the axis limits of horizontal bars, so that a few bars do not fill the panel."""
    room = max(0.0, 0.5 * (3 - bars))
    return -0.7 - room, bars - 0.3 + room


def _edges(low: float, high: float, bounds: Sequence[float], bins: int) -> Vector:
    """Return bin edges, one of them at the first bound, so that no bin has values on both sides of it."""
    inside = [bound for bound in bounds if low < bound < high]
    if not inside:
        return np.linspace(low, high, bins + 1)
    width = (high - low) / bins
    below, above = np.ceil((inside[0] - low) / width), np.ceil((high - inside[0]) / width)
    return inside[0] + width * np.arange(-below, above + 1.0)


def _say_beyond(axes: "Axes", values: Vector, low: float, high: float) -> None:
    """Note how many outliers are drawn at the edges."""
    below, above = int((values < low).sum()), int((values > high).sum())
    for count, x, side, where in ((below, 0.02, "left", "below"), (above, 0.98, "right", "above")):
        if count:
            _note(axes, x, 0.99, side, f"{count} {where}")


def _note(axes: "Axes", x: float, y: float, side: str, words: str, **options: Any) -> None:
    axes.text(
        x, y, words, transform=axes.transAxes, ha=side, va="top", fontsize=SMALL_PT, bbox=BOX, zorder=5, **options
    )


def _places(results: Results, key: str) -> tuple[Vector, list[str]]:
    """Return the coordinates of the runs along an input, and labels for the values of a non-numeric input."""
    column = results.columns[key]
    if is_numeric(column):
        return numbers_of(column), []
    texts = np.array([str(value) for value in column])
    names, place, counts = np.unique(texts, return_inverse=True, return_counts=True)
    shown = np.argsort(-counts, kind="stable")[:MAX_VALUES]
    labels = [shortened(str(name), 60 // max(len(names[:MAX_VALUES]), 3)) for name in names]
    order = np.full(len(names), len(shown))
    order[shown] = np.arange(len(shown))
    places = order[place] + 0.28 * _spread(results.runs)
    others = ["others"] if len(names) > MAX_VALUES else []
    return places, [labels[i] for i in shown] + others


def _spread(count: int) -> Vector:
    """Return a deterministic jitter from -1 to 1 that keeps markers from covering each other."""
    return 2.0 * np.mod(0.6180339887498949 * np.arange(count, dtype=np.float64), 1.0) - 1.0
