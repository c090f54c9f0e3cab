"""Figure of step responses: one panel per loop, with the setpoint, the settling band and the numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from px4lockstep.flights.headline import facts_of
from px4lockstep.plots.looks import AXIS_COLOURS
from px4lockstep.plots.style import GREY, Spacing, add_head, figure_style, new_figure, panel_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from px4lockstep.experiments.step import StepResponse

BAND_COLOUR = "0.92"
MAX_COLUMNS = 5


def plot_steps(steps: Sequence["StepResponse"]) -> "Figure":
    """Return a figure with the responses of one or several loops."""
    columns = min(len(steps), MAX_COLUMNS)
    rows = -(-len(steps) // columns)
    width_in, height_in = (9.5, 5.6) if len(steps) == 1 else (3.5 * columns, 3.3 * rows + 1.1)
    with figure_style():
        figure = new_figure(width_in, height_in)
        names = ", ".join(dict.fromkeys(response.run.spec.aircraft.name for response in steps))
        facts = dict.fromkeys(facts_of(response.run.spec, None) for response in steps)
        head_in = add_head(figure, f"{names}: step response", next(iter(facts)) if len(facts) == 1 else "")
        _add_key(figure, steps[0].band_percent)
        spacing = Spacing(bottom=0.62, between_rows=0.95, between_columns=0.7)
        grid = panel_grid(figure, rows, columns, head_in=head_in + 0.22, spacing=spacing)
        for i, response in enumerate(steps):
            _draw(figure.add_subplot(grid[i // columns, i % columns]), response)
    return figure


def _add_key(figure: "Figure", band_percent: float) -> None:
    """Add one legend for all panels, below the title."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = {
        "response": Line2D([], [], color=AXIS_COLOURS[0]),
        "setpoint": Line2D([], [], color=AXIS_COLOURS[1], lw=1.1, ls="--"),
        f"±{band_percent:g} %": Patch(color=BAND_COLOUR, lw=0),
        "settled": Line2D([], [], color=GREY, lw=1.0, ls=":"),
    }
    place = (0.2 / figure.get_figwidth(), 1.0 - 0.78 / figure.get_figheight())
    figure.legend(handles.values(), handles.keys(), loc="upper left", bbox_to_anchor=place, ncols=4)


def _draw(axes: "Axes", response: "StepResponse") -> None:
    loop, size, band = response.loop, response.size, abs(response.size) * response.band_percent / 100.0
    last_s = float(response.time_s[-1])
    axes.axhspan(size - band, size + band, color=BAND_COLOUR, lw=0)
    setpoint = np.where(np.arange(len(response.time_s)) >= response.first_row, size, 0.0)
    axes.plot(response.time_s, setpoint, color=AXIS_COLOURS[1], lw=1.1, ls="--", drawstyle="steps-post")
    if np.isfinite(response.settling_s):
        axes.axvline(response.settling_s, color=GREY, lw=1.0, ls=":")
    axes.plot(response.time_s, response.response, color=AXIS_COLOURS[0])
    axes.set_title(loop.title)
    axes.set(xlabel="time since the step [s]", ylabel=f"[{loop.unit}]", xlim=(-0.1 * last_s, last_s))
    top = max(1.3, 1.1 * float((response.response / size).max()))
    axes.set_ylim(min(-0.1 * size, top * size), max(-0.1 * size, top * size))
    lines = [
        f"rise {_seconds(response.rise_s)}",
        f"overshoot {response.overshoot_percent:.1f} %",
        f"settling {_seconds(response.settling_s)}",
    ]
    at, side = (0.06, "bottom") if size > 0.0 else (0.94, "top")
    axes.text(0.97, at, "\n".join(lines), transform=axes.transAxes, ha="right", va=side)


def _seconds(value: float) -> str:
    return f"{value:.3f} s" if np.isfinite(value) else "not reached"
