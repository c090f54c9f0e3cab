"""Figure of step responses: one panel per loop, with the setpoint, the settling band and the numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from px4lockstep.plots.flight import DPI
from px4lockstep.plots.style import AXIS_COLOURS, GREY, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from px4lockstep.experiments.step import StepResponse

BAND_COLOUR = "0.92"
MAX_COLUMNS = 5


def plot_steps(steps: Sequence["StepResponse"]) -> "Figure":
    """Return a figure with the responses of one or several loops."""
    from matplotlib import style

    from px4lockstep.plots.shown import ShownFigure

    columns = min(len(steps), MAX_COLUMNS)
    rows = -(-len(steps) // columns)
    size_in = (9.0, 5.2) if len(steps) == 1 else (3.6 * columns, 3.2 * rows + 0.6)
    with style.context(["default", STYLE, {"axes.titlepad": 8.0}]):
        figure = ShownFigure(figsize=size_in, dpi=DPI, layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, response in zip(panels, steps, strict=False):
            _draw(axes, response)
        for axes in panels[len(steps) :]:
            axes.set_visible(False)
        names = ", ".join(dict.fromkeys(response.run.spec.aircraft.name for response in steps))
        figure.suptitle(f"{names}: step response", fontsize=14, fontweight="bold", x=0.012, ha="left")
    return figure


def _draw(axes: "Axes", response: "StepResponse") -> None:
    loop, size, band = response.loop, response.size, abs(response.size) * response.band_percent / 100.0
    last_s = float(response.time_s[-1])
    axes.axhspan(size - band, size + band, color=BAND_COLOUR, lw=0, label=f"±{response.band_percent:g} %")
    setpoint = np.where(np.arange(len(response.time_s)) >= response.first_row, size, 0.0)
    axes.plot(response.time_s, setpoint, color=AXIS_COLOURS[1], lw=1.1, drawstyle="steps-post", label="setpoint")
    if np.isfinite(response.settling_s):
        axes.axvline(response.settling_s, color=GREY, lw=1.0, ls=":", label="settled")
    axes.plot(response.time_s, response.response, color=AXIS_COLOURS[0], label="response")
    axes.set_title(loop.title, loc="left", fontsize=12.5, fontweight="bold")
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
