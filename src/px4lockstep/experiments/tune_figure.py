"""Figure of a search of parameters: cost over evaluations, and costs before and after on the held-out seeds."""

from typing import TYPE_CHECKING, Any

import numpy as np

from px4lockstep.experiments.tuned import Tuned
from px4lockstep.plots.style import (
    BAD,
    DARK,
    GOOD,
    GREY,
    add_head,
    add_key,
    add_notes,
    figure_style,
    hold_labels,
    new_figure,
    panel_grid,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE_IN = (13.0, 5.2)
WINDOW = 4.0
"""Costs above this multiple of the cost at the start are drawn at the top edge."""


def plot_tuned(found: Tuned) -> "Figure":
    """Return the figure of a search; `plots.flight.save_plot` writes it to a file."""
    with figure_style():
        figure = new_figure(*SIZE_IN)
        head_in = add_head(figure, f"{found.folder.campaign.name}: {found.cost}")
        foot_in = add_notes(figure, found.held_out.verdict)
        grid = panel_grid(figure, 1, 2, head_in=head_in, foot_in=foot_in, widths=(1.5, 1.0))
        for place, draw in enumerate((_draw_search, _draw_held_out)):
            axes = figure.add_subplot(grid[0, place])
            draw(axes, found)
            hold_labels(axes)
            add_key(axes)
    return figure


def _crosses(axes: "Axes", x: Any) -> None:
    """Mark failed flights at the top edge."""
    if len(x):
        marks: dict[str, Any] = {"ms": 8, "mfc": BAD, "mec": "white", "mew": 0.6, "ls": "none", "clip_on": False}
        axes.plot(x, np.full(len(x), 0.97), "X", transform=axes.get_xaxis_transform(), label="failed", **marks)


def _draw_search(axes: "Axes", found: Tuned) -> None:
    costs = np.array([own.cost for own in found.history])
    number = np.arange(len(costs))
    is_flown = np.isfinite(costs)
    axes.set(title="Search", xlabel="parameter set", ylabel="cost, mean over the training seeds")
    if is_flown.any():
        best = np.minimum.accumulate(costs)
        top = min(costs[is_flown].max(), WINDOW * (costs[0] if is_flown[0] else float(np.median(costs[is_flown]))))
        axes.plot(
            number[is_flown],
            np.minimum(costs[is_flown], top),
            "o",
            ms=5,
            mfc=GOOD,
            mec=DARK,
            mew=0.5,
            label="parameter set",
        )
        axes.plot(
            number[np.isfinite(best)], best[np.isfinite(best)], color=DARK, lw=1.8, drawstyle="steps-post", label="best"
        )
    if is_flown[0]:
        axes.axhline(costs[0], color="0.3", lw=1.2, ls=(0, (4, 2)), label="start")
    _crosses(axes, number[~is_flown])
    axes.margins(y=0.12)


def _draw_held_out(axes: "Axes", found: Tuned) -> None:
    check = found.held_out
    before, after = np.array(check.start.costs), np.array(check.found.costs)
    number = np.arange(1, len(before) + 1)
    axes.set(title=f"{len(before)} held-out seeds", xlabel="seed", ylabel="cost")
    for place, old, new in zip(number, before, after, strict=True):
        axes.plot([place, place], [old, new], color=GREY, lw=1.0, zorder=2)
    axes.plot(number, before, "o", ms=6, mfc="white", mec="0.3", ls="none", label="before", zorder=3)
    axes.plot(number, after, "o", ms=6, mfc=GOOD, mec=DARK, ls="none", label="after", zorder=4)
    _crosses(axes, number[np.isnan(after)])
    axes.set_xticks(
        number[:: max(1, len(number) // 10)], labels=[str(seed) for seed in check.seeds[:: max(1, len(number) // 10)]]
    )
    axes.margins(y=0.12)
