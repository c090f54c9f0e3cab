"""Charts of Plotly as data: stacked panels over time, tracks, bars and scatter plots.

Long series are thinned to the minimum and maximum of each group of rows, so no peak is lost. Texts are escaped, because
Plotly reads a few HTML tags in labels. Lines differ in their dashes as well as in their colours.
"""

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.log.events import FlightEvent
from px4lockstep.plots.looks import ENDS, MOTOR_COLOURS, WIDTH, plotly_look
from px4lockstep.plots.panels.lines import thinned
from px4lockstep.plots.panels.track import free_sides, places_by_number
from px4lockstep.plots.style import FAULT
from px4lockstep.reports.page import Chart

Vector = npt.NDArray[Any]

POINTS = 2_400
PANEL_PX, GAP_PX, MARGIN_PX = 150, 46, 60
BAR_PX = 44
"""Margin to the right, for the tool bar of Plotly, which would lie over the legends above the panels."""
FONT = {"family": "system-ui, 'DejaVu Sans', sans-serif", "size": 12, "color": "#1b1f24"}
GRID = {"gridcolor": "#e4e7eb", "zeroline": False, "linecolor": "#6b7280", "ticks": "outside", "tickcolor": "#6b7280"}


@dataclass(frozen=True)
class Series:
    """A line: its name, its values over time, and its look; lines with the same number have the same dashes."""

    name: str
    time_s: Vector
    values: Vector
    colour: str = MOTOR_COLOURS[0]
    number: int = 0
    width: float = WIDTH
    is_faint: bool = False  # noise behind the line of its mean


@dataclass(frozen=True)
class ChartPanel:
    """A panel over time."""

    title: str
    unit: str
    series: Sequence[Series] = field(default_factory=list)


def stacked(
    panels: Sequence[ChartPanel],
    events: Sequence[FlightEvent],
    words: str,
    focus_s: tuple[float, float] | None = None,
) -> Chart:
    """Return panels above each other that share their time axis; a zoom in one is a zoom in all.

    `focus_s` are the times around a crash, to which a button zooms.
    """
    used = [panel for panel in panels if panel.series]
    count = len(used)
    inner_px = count * PANEL_PX + (count - 1) * GAP_PX
    data: list[dict[str, Any]] = []
    layout = _layout(inner_px + 2 * MARGIN_PX)
    notes: list[dict[str, Any]] = []
    for i, panel in enumerate(used):
        top = 1.0 - i * (PANEL_PX + GAP_PX) / inner_px
        end = "" if i == 0 else str(i + 1)
        layout[f"yaxis{end}"] = GRID | {
            "domain": [max(0.0, top - PANEL_PX / inner_px), top],
            "title": {"text": escape(panel.unit)},
            "anchor": "x",
        }
        layout[f"legend{end}"] = {"x": 1.0, "xanchor": "right", "y": top, "yanchor": "bottom", "orientation": "h"}
        notes.append(_note(f"<b>{escape(panel.title)}</b>", 0.0, top, "left"))
        for line in panel.series:
            x, y = thinned(line.time_s, line.values, POINTS)
            own = {"x": packed(x), "y": packed(y), "name": escape(line.name), "yaxis": f"y{end}"}
            look = plotly_look(line.number, line.colour, line.width)
            look |= {"opacity": 0.3, "showlegend": False, "hoverinfo": "skip"} if line.is_faint else {}
            data.append({"type": "scatter", "legend": f"legend{end}", **own, **look})
    last = "" if count <= 1 else str(count)
    layout["xaxis"] = GRID | {"title": {"text": "time [s]"}, "anchor": f"y{last}", "hoverformat": ".3f"}
    layout |= {"hovermode": "x unified", "hoversubplots": "axis", "annotations": notes, "shapes": _lines(events)}
    return Chart(words, data, layout, controls=True, focus=focus_s)


def _lines(events: Sequence[FlightEvent]) -> list[dict[str, Any]]:
    """Return vertical lines at events: dotted and grey, or solid and red for faults."""
    lines = []
    for event in events:
        look = {"color": FAULT, "width": 1.6, "dash": "solid"} if event.is_fault else {"color": "#7d848c", "width": 1}
        time_s = event.time_us / 1e6
        place = {"x0": time_s, "x1": time_s, "y0": 0, "y1": 1, "xref": "x", "yref": "paper"}
        lines.append({"type": "line", "layer": "below", "line": {"dash": "dot", **look}, **place})
    return lines


def track(
    tracks: Mapping[str, tuple[Vector, str]],
    setpoint_ned: Vector | None,
    waypoints: Mapping[int, tuple[float, float]],
) -> Chart:
    """Return the tracks over ground, positions and colour by name, with the setpoint of a single one."""
    data: list[dict[str, Any]] = []
    for i, (name, (pos_ned, colour)) in enumerate(tracks.items()):
        data.append(_track(name, pos_ned) | plotly_look(i, colour, 3.0 if i == 0 else WIDTH))
    if setpoint_ned is not None:
        data.append(_track("setpoint", setpoint_ned) | plotly_look(1, "#222222", 1.3))
    for i, (name, (pos_ned, colour)) in enumerate(tracks.items()):
        label = "end" if len(tracks) == 1 else f"end of {escape(name)}"
        symbol = ENDS[i % len(ENDS)][1]
        data.append(_markers(label, [float(pos_ned[-1, 1])], [float(pos_ned[-1, 0])], symbol, colour))
    if waypoints:
        numbered = places_by_number(waypoints)
        own = _markers("waypoint", [at[1] for at, _ in numbered], [at[0] for at, _ in numbered], "circle-open", "#333")
        first = next(iter(tracks.values()))[0]
        sides = [side for side, _ in free_sides(first, [at for at, _ in numbered])]
        data.append(own | {"mode": "markers+text", "text": [text for _, text in numbered], "textposition": sides})
    layout = _layout(460)
    layout["xaxis"] = GRID | {"title": {"text": "east [m]"}, "scaleanchor": "y", "scaleratio": 1}
    layout["yaxis"] = GRID | {"title": {"text": "north [m]"}}
    return Chart("Track over ground", data, layout)


def _track(name: str, pos_ned: Vector) -> dict[str, Any]:
    step = max(1, len(pos_ned) // POINTS)
    places = {"x": packed(pos_ned[::step, 1]), "y": packed(pos_ned[::step, 0])}
    return {"type": "scatter", "name": escape(name), **places}


def _markers(name: str, x: Sequence[float], y: Sequence[float], symbol: str, colour: str) -> dict[str, Any]:
    marker = {"symbol": symbol, "size": 10, "color": colour}
    return {"type": "scatter", "mode": "markers", "name": name, "x": x, "y": y, "marker": marker}


def bars(title: str, counts: Mapping[str, int], is_good: Sequence[bool]) -> Chart:
    """Return horizontal bars with their numbers; those of failures are hatched."""
    look = {
        "color": ["#93b7de" if good else FAULT for good in is_good],
        "pattern": {"shape": ["" if good else "/" for good in is_good]},
    }
    names, values = [escape(name) for name in counts], list(counts.values())
    own = {"y": names, "x": values, "text": [str(value) for value in values], "textposition": "outside"}
    layout = _layout(320, title)
    layout["yaxis"] = {"automargin": True, "autorange": "reversed"}
    layout["xaxis"] = GRID | {"title": {"text": "runs"}}
    words = f"{title}: " + ", ".join(f"{name} {count}" for name, count in counts.items())
    return Chart(words, [{"type": "bar", "orientation": "h", "marker": look, "cliponaxis": False, **own}], layout)


@dataclass(frozen=True)
class Cloud:
    """The runs of a campaign as points: numbers or texts along x, numbers along y, and the text of each."""

    x: Sequence[Any]
    y: Vector
    texts: Sequence[str]
    is_passed: npt.NDArray[np.bool_]
    has_criteria: bool
    bounds: Sequence[float] = ()


def _shown(value: Any) -> Any:
    return escape(value) if isinstance(value, str) else value


def scatter(x_name: str, y_name: str, cloud: Cloud) -> Chart:
    """Return a metric over an input, one marker per run: circles passed, crosses failed."""
    groups = [("passed", cloud.is_passed, False), ("failed", ~cloud.is_passed, True)]
    if not cloud.has_criteria:
        groups = [("runs", np.ones(len(cloud.y), bool), False)]
    data = []
    for name, is_in, bad in groups:
        rows = np.flatnonzero(is_in & np.isfinite(cloud.y)).tolist()
        marker: dict[str, Any] = {"symbol": "x" if bad else "circle", "size": 8, "color": FAULT if bad else "#93b7de"}
        marker["line"] = {"width": 0.6, "color": "#17407f"}
        own = {"x": [_shown(cloud.x[row]) for row in rows], "y": [float(cloud.y[row]) for row in rows]}
        texts = [escape(cloud.texts[row]) for row in rows]
        data.append({"type": "scatter", "mode": "markers", "name": name, "marker": marker, "text": texts, **own})
    layout = _layout(360)
    layout["xaxis"] = GRID | {"title": {"text": escape(x_name)}}
    layout["yaxis"] = GRID | {"title": {"text": escape(y_name)}}
    layout["shapes"] = [
        {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": bound, "y1": bound, "line": {"dash": "dash"}}
        for bound in cloud.bounds
        if math.isfinite(bound)
    ]
    return Chart(f"{y_name} over {x_name}, one marker per run", data, layout)


def packed(values: Vector) -> dict[str, str]:
    """Return numbers as Plotly reads them from base64: shorter than text, and NaN is a gap."""
    with np.errstate(over="ignore"):
        data = np.asarray(values, np.float64).astype("<f4")
    return {"dtype": "f4", "bdata": base64.b64encode(np.where(np.isfinite(data), data, np.nan).tobytes()).decode()}


def _note(text: str, x: float, y: float, side: str) -> dict[str, Any]:
    place = {"x": x, "y": y, "xref": "paper", "yref": "paper", "xanchor": side, "yanchor": "bottom"}
    return {"text": text, "showarrow": False, "font": {"size": 13}, **place}


def _layout(height_px: int, title: str = "") -> dict[str, Any]:
    layout: dict[str, Any] = {
        "height": height_px,
        "font": FONT,
        "margin": {"l": 64, "r": BAR_PX, "t": 40, "b": 50},
        "modebar": {"orientation": "v", "bgcolor": "rgba(0,0,0,0)"},
        "paper_bgcolor": "#fff",
        "plot_bgcolor": "#fff",
        "legend": {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.0, "yanchor": "bottom"},
    }
    return layout | ({"title": {"text": escape(title), "font": {"size": 14}}} if title else {})
