"""Bode plot of a loop: closed and open loop, coherence, margins and the linear model."""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from px4lockstep.experiments.frequency import MINUS_3_DB, Margins
from px4lockstep.flights.headline import facts_of
from px4lockstep.plots.looks import AXIS_COLOURS
from px4lockstep.plots.style import (
    GREY,
    Spacing,
    add_head,
    add_key,
    figure_style,
    hold_labels,
    new_figure,
    panel_grid,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from px4lockstep.experiments.chirp import FrequencyResponse

SIZE_IN, NARROW_IN = (12.0, 8.0), (7.2, 8.0)
"""Size of a figure with and without an open loop."""
CLOSED, OPEN = AXIS_COLOURS[0], AXIS_COLOURS[1]
MODEL: dict[str, Any] = {"color": "0.1", "ls": (0, (1.2, 1.2)), "lw": 1.8}

Complex = npt.NDArray[np.complex128]


def plot_bode(found: "FrequencyResponse") -> "Figure":
    """Return the Bode plot: gain, phase and coherence of the closed loop on the left, an open loop on the right."""
    from matplotlib.ticker import LogLocator

    is_wide = found.open_loop is not None
    with figure_style():
        figure = new_figure(*(SIZE_IN if is_wide else NARROW_IN))
        title = f"{found.run.spec.aircraft.name}: frequency response of {found.loop.title}"
        head_in = add_head(figure, title, facts_of(found.run.spec, None))
        spacing = Spacing(between_rows=0.4, between_columns=0.85)
        grid = panel_grid(figure, 3, 1 + is_wide, head_in=head_in, spacing=spacing, heights=(3.0, 3.0, 1.4))
        panels = grid.subplots(sharex=True, squeeze=False)
        loops = ((found.closed_loop, CLOSED, "closed_loop"), (found.open_loop, OPEN, "open_loop"))
        for column, (response, colour, name) in enumerate(loops):
            if response is not None:
                model = None if found.model is None else getattr(found.model, name)
                _draw(panels[0, column], panels[1, column], found.frequency_hz, response, model, colour)
        panels[0, 0].set_title(f"Closed loop: {found.loop.title} setpoint to {found.loop.title}")
        panels[0, 0].set_ylabel("gain [dB]")
        panels[1, 0].set_ylabel("phase [°]")
        _mark_bandwidth(panels[0, 0], found.bandwidth_hz)
        coherence = panels[2, 0]
        coherence.plot(found.frequency_hz, found.coherence, color=CLOSED)
        coherence.set(ylim=(0.0, 1.05), ylabel="coherence", xlabel="frequency [Hz]")
        words = "\n".join(_words(found))
        if is_wide:
            _finish_open_loop(found, panels[:, 1], words)
        else:
            panels[0, 0].text(0.03, 0.06, words, transform=panels[0, 0].transAxes)
        for axes in panels.ravel():
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_formatter("")
            hold_labels(axes)
        panels[0, 0].set_xlim(float(found.frequency_hz[0]), float(found.frequency_hz[-1]))
    return figure


def _finish_open_loop(found: "FrequencyResponse", panels: Any, words: str) -> None:
    """Add margins, titles and the numbers to the panels of the open loop."""
    gain, phase, last = panels
    gain.set_title("Open loop")
    _mark_margins(gain, phase, found.margins)
    if found.model is not None:
        add_key(gain)
    last.set_axis_off()
    last.text(0.0, 0.72, words, transform=last.transAxes, va="top")
    phase.set_xlabel("frequency [Hz]")
    phase.tick_params(labelbottom=True)


def _draw(
    gain: "Axes", phase: "Axes", hz: npt.NDArray[np.float64], response: Complex, model: Complex | None, colour: str
) -> None:
    for own, options in (
        (response, {"color": colour, "label": "measured"}),
        (model, {**MODEL, "label": "linear model"}),
    ):
        if own is not None:
            gain.plot(hz, 20.0 * np.log10(np.abs(own)), **options)
            phase.plot(hz, np.degrees(np.unwrap(np.angle(own))), **options)


def _mark_bandwidth(axes: "Axes", bandwidth_hz: float) -> None:
    level = 20.0 * np.log10(MINUS_3_DB)
    axes.axhline(level, color=GREY, lw=0.9, ls=":")
    if np.isfinite(bandwidth_hz):
        axes.plot([bandwidth_hz], [level], ls="", marker="o", ms=7, color=CLOSED)


def _mark_margins(gain: "Axes", phase: "Axes", margins: Margins) -> None:
    """Draw the margins as lines from the critical values 0 dB and −180° to the curves."""
    gain.axhline(0.0, color=GREY, lw=0.9, ls=":")
    line = phase.get_lines()[0]
    hz, degrees = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    if np.isfinite(margins.phase_hz):
        at = float(np.interp(margins.phase_hz, hz, degrees))
        phase.plot([margins.phase_hz] * 2, [at - margins.phase_deg, at], color=OPEN, lw=3.0, alpha=0.5)
        phase.axhline(at - margins.phase_deg, color=GREY, lw=0.9, ls=":")
    if np.isfinite(margins.gain_hz):
        gain.plot([margins.gain_hz] * 2, [-margins.gain_db, 0.0], color=OPEN, lw=3.0, alpha=0.5)


def _words(found: "FrequencyResponse") -> list[str]:
    """Return the numbers in words, with those of the linear model in brackets."""
    margins, model = found.margins, found.model
    rows = [
        ("bandwidth", found.bandwidth_hz, "Hz", None, model and model.bandwidth_hz),
        ("phase margin", margins.phase_deg, "°", margins.phase_hz, model and model.margins.phase_deg),
        ("gain margin", margins.gain_db, "dB", margins.gain_hz, model and model.margins.gain_db),
    ]
    lines = []
    for name, value, unit, hz, predicted in rows if found.open_loop is not None else rows[:1]:
        space = "" if unit == "°" else " "
        words = f"{name} {value:.1f}{space}{unit}" if np.isfinite(value) else f"{name}: not in the band"
        words += f" at {hz:.1f} Hz" if hz is not None and np.isfinite(value) else ""
        lines.append(words + (f"   (linear model {predicted:.1f}{space}{unit})" if predicted else ""))
    return lines
