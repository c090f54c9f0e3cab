"""Plots of log columns next to the scene, with marks of events and a cursor at the current time.

The cursor and the marks are thin lines in an element of their own that lies over the plot: they move without drawing
the plot again. The geometry of the plot is fixed by the constants below.
"""

import html
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.log.schema import BY_NAME
from px4lockstep.plots.looks import colour_of, dashes_px, number_of, repeat_of, sign_of
from px4lockstep.view.flown import ViewedFlight
from px4lockstep.view.inbox import Inbox
from px4lockstep.view.scene import marks_of
from px4lockstep.view.series import columns_of, lines_of, values_at

NONE = "(no plot)"
FIRST = ("pos_ned", "vel_ned", "euler_bn", "motors")
"""Columns that are plotted first."""
PLOTS = 4
HEIGHT_PX, LEFT_PX, RIGHT_PX, BELOW_PX, ABOVE_PX = 132, 52, 14, 28, 8
"""Of a plot: its height, and the margins of its axes."""
INSET_PX = (10, 8, 10)
"""Left, right and upper margin of a plot in viser's page."""
TICKS = {"width": 1, "size": 4, "stroke": "#9aa4b2"}
WINDOWS = {"whole flight": None, "60 s": 60_000_000, "10 s": 10_000_000, "1 s": 1_000_000}
"""Widths of the time axis [us], by their labels."""
WIDER = ("", " wide", " wider", " widest")
"""Words for the widths of lines with the same dashes."""
REFRESH_PART = 0.25
"""A window that follows the cursor is drawn again when the cursor has moved by this part of it."""


class PlotPanel:
    """Plots in a panel of viser.

    Args:
        gui: The `gui` of viser.
        inbox: For what the user chooses.
        flights: The flights.
        span_us: First and last time.
    """

    def __init__(self, gui: Any, inbox: Inbox, flights: Sequence[ViewedFlight], span_us: tuple[int, int]) -> None:
        self._flights, self._span_us, self._time_us = flights, span_us, span_us[0]
        self._window_us: int | None = None
        self._shown_us = span_us
        self._names = names = columns_of(flights)
        first = [name for name in FIRST if name in names] + [name for name in names if name not in FIRST]
        window = gui.add_dropdown("Time axis", tuple(WINDOWS), initial_value="whole flight")
        inbox.on(window, lambda label: self.set_window(WINDOWS[label]))
        self._plots: list[_Plot] = []
        self._choices: list[Any] = []
        for i in range(min(PLOTS, len(names))):
            self._choices.append(gui.add_dropdown(f"Plot {i + 1}", (NONE, first[i]), initial_value=first[i]))
            self._plots.append(_Plot(gui, flights, first[i]))
            inbox.on(self._choices[i], partial(self.choose, i))
        self._draw()

    def list_columns(self) -> None:
        """List all columns in the choices. Browsers build the lists at once, so it is done after the page is drawn."""
        for choice in self._choices:
            choice.options = (NONE, *self._names)

    def choose(self, number: int, name: str) -> None:
        """Plot another column, or none."""
        self._plots[number].name = "" if name == NONE else name
        self._draw()
        self.show(self._time_us)

    def set_window(self, width_us: int | None) -> None:
        """Show the whole flight, or some time around the cursor."""
        self._window_us = width_us
        self._shown_us = self._span_us if width_us is None else self._around(width_us)
        self._draw()
        self.show(self._time_us)

    def show(self, time_us: int) -> None:
        """Move the cursor, and with it a window that follows it."""
        self._time_us = time_us
        if self._window_us is not None:
            middle_us = (self._shown_us[0] + self._shown_us[1]) // 2
            if abs(time_us - middle_us) > REFRESH_PART * self._window_us:
                self._shown_us = self._around(self._window_us)
                self._draw()
        for plot in self._plots:
            plot.show(time_us, self._shown_us)

    def _around(self, width_us: int) -> tuple[int, int]:
        return self._time_us - width_us // 2, self._time_us + width_us // 2

    def _draw(self) -> None:
        for plot in self._plots:
            plot.draw(self._shown_us)


class _Plot:
    """One plot: the element over it, and the plot."""

    def __init__(self, gui: Any, flights: Sequence[ViewedFlight], name: str) -> None:
        self._flights, self.name = flights, name
        self._over = gui.add_html("")
        self._cursor = gui.add_html("")
        times = np.array((0.0, 1.0))
        self._chart = gui.add_uplot(
            (times, times),
            ({}, {"label": ""}),
            height=HEIGHT_PX,
            padding=(ABOVE_PX, RIGHT_PX, 0, 0),
            axes=tuple({"size": size, "font": "11px sans-serif", "ticks": TICKS} for size in (BELOW_PX, LEFT_PX)),
            scales={"x": {"time": False, "auto": True}},
            cursor={"drag": {"x": False, "y": False, "setScale": False}},
            legend={"show": True, "live": False},
        )

    def draw(self, shown_us: tuple[int, int]) -> None:
        """Draw the lines and the marks of a part of the flight."""
        lines = lines_of(self._flights, self.name, *shown_us) if self.name else None
        is_shown = lines is not None and len(lines.values) > 0
        for handle in (self._over, self._cursor, self._chart):
            if handle.visible != is_shown:
                handle.visible = is_shown
        if lines is None or not is_shown:
            return
        unit = BY_NAME[self.name].unit
        series: list[dict[str, Any]] = [{"label": "time [s]"}]
        several = len(set(lines.flights)) > 1
        parts = [lines.flights[:k].count(flight) for k, flight in enumerate(lines.flights)]
        numbers = [
            number_of(run, part, lines.flights.count(run)) for run, part in zip(lines.flights, parts, strict=True)
        ]
        most = max(map(repeat_of, numbers))
        for label, flight, part, number in zip(lines.names, lines.flights, parts, numbers, strict=True):
            wider = most - repeat_of(number)  # lines that are drawn later lie on top, so they are thinner
            width_px = 1.6 + 1.4 * wider
            shown = f"{html.escape(label)} {sign_of(number)}{WIDER[min(wider, len(WIDER) - 1)]}"
            shown += "" if unit == "1" else f" [{unit}]"
            look = {"label": shown, "stroke": colour_of(flight if several else part), "width": width_px}
            series.append(look | {"dash": dashes_px(number, width_px), "points": {"show": False}})
        scale = {
            "x": {"time": False, "range": (shown_us[0] / 1e6, shown_us[1] / 1e6)},
            "y": {"range": value_range(lines.values)},
        }
        self._chart.data = (lines.time_s, *lines.values)
        self._chart.series, self._chart.scales = tuple(series), scale
        self._over.content = _overlay(self._marks(shown_us))

    def _marks(self, shown_us: tuple[int, int]) -> str:
        parts = []
        for flight in self._flights[:1]:
            for number, group in marks_of(flight):
                is_fault = any(event.is_fault for event in group)
                where = slider_place(group[0].time_us, shown_us)
                if where is not None:
                    line = "2px solid #b3001b" if is_fault else "1px dashed #8a94a3"
                    text = html.escape(f"!{number}" if is_fault else number)
                    label = f'<span style="{NUMBER}">{text}</span>'
                    parts.append(f'<div style="{MARK};left:{where};border-left:{line}">{label}</div>')
        return "".join(parts)

    def show(self, time_us: int, shown_us: tuple[int, int]) -> None:
        """Move the cursor, with the values there."""
        if not self.name:
            return
        where = slider_place(time_us, shown_us)
        line = "" if where is None else f'<div class="px4lockstep-cursor" style="{CURSOR};left:{where}"></div>'
        text = html.escape(values_at(self._flights, self.name, time_us))
        self._cursor.content = _overlay(f'{line}<div style="{VALUES}">{text}</div>')


CURSOR = "position:absolute;top:0;bottom:0;border-left:2px solid #111;margin-left:-1px"
MARK = "position:absolute;top:0;bottom:0;opacity:0.75"
NUMBER = "position:absolute;top:-3px;left:2px;font-size:9px;color:#444"
VALUES = "position:absolute;right:0;top:-14px;max-width:100%;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;"
VALUES += "font:10px ui-monospace,monospace;background:rgba(255,255,255,.8)"


def _overlay(inside: str) -> str:
    """Return an element without height of its own, whose content covers the area of the plot below it."""
    box = (
        f"position:absolute;z-index:4;pointer-events:none;left:{INSET_PX[0] + LEFT_PX}px;"
        f"right:{INSET_PX[1] + RIGHT_PX}px;top:{INSET_PX[2] + ABOVE_PX}px;height:{HEIGHT_PX - BELOW_PX - ABOVE_PX}px"
    )
    return f'<div style="position:relative;height:0"><div style="{box}">{inside}</div></div>'


def value_range(lines: Sequence[npt.NDArray[Any]]) -> tuple[float, float]:
    """Return the ends of the vertical axis. A plot with NaN, as before the start of a flight, finds none itself."""
    values = np.concatenate(lines)
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    room = 0.06 * (high - low) if high > low else 0.1 * max(abs(high), 1.0)
    return low - room, high + room


def slider_place(time_us: int, shown_us: tuple[int, int]) -> str | None:
    """Return the place of a time as a fraction of the plot; None if it is outside."""
    part = (time_us - shown_us[0]) / max(1, shown_us[1] - shown_us[0])
    return f"{100.0 * part:.3f}%" if 0.0 <= part <= 1.0 else None
