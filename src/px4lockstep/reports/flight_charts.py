"""The charts of one flight, and of two flights over each other."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from px4lockstep.log.events import FlightEvent
from px4lockstep.log.log import Log
from px4lockstep.plots.flight import crash_window
from px4lockstep.plots.looks import AXIS_COLOURS, SETPOINT_COLOURS, SETPOINT_WIDTH, WIDTH, colour_of
from px4lockstep.plots.overlay import PANELS, SMOOTHED, distance_between, has_one_of
from px4lockstep.plots.panels.errors import distances
from px4lockstep.plots.panels.lines import running_mean
from px4lockstep.plots.panels.motion import unwrapped
from px4lockstep.reports.charts import ChartPanel, Series, Vector, stacked, track
from px4lockstep.reports.page import Chart

NED, BODY = ("north", "east", "down"), ("x", "y", "z")


def flight_chart(log: Log, events: Sequence[FlightEvent]) -> Chart:
    """Return the quantities of a flight over time."""
    panels = [
        ChartPanel("Height above origin", "[m]", _height(log)),
        ChartPanel("Velocity over ground", "[m/s]", _vector(log, "vel_ned", "vel_sp_ned", NED)),
        ChartPanel("Tracking error", "[m]", _distance(log, log.get("pos_sp_ned"))),
        ChartPanel("Estimate error", "[m]", _distance(log, log.get("est_pos_ned"))),
        ChartPanel("Roll, pitch and heading", "[°]", _attitude(log)),
        ChartPanel("Body rates", "[°/s]", _vector(log, "omega_body", "rate_sp_body", BODY, np.degrees)),
        ChartPanel("Wind", "[m/s]", _vector(log, "wind_ned", "", NED)),
        ChartPanel("Motor commands", "[0 to 1]", _counted(log, "motors", "motor")),
        ChartPanel("Rotor speeds", "[rad/s]", _counted(log, "rotor_speed_rad_s", "rotor")),
        ChartPanel("Battery voltage", "[V]", _counted(log, "battery_voltage_v", "battery")),
        ChartPanel("Battery current", "[A]", _counted(log, "battery_current_a", "battery")),
        ChartPanel("State of charge", "[%]", _counted(log, "soc", "battery", 100.0)),
    ]
    return stacked(panels, events, _words(panels), crash_window(log, events))


def overlay_chart(logs: Mapping[str, Log], parts_at_s: float | None) -> Chart:
    """Return the quantities of two flights over time, and their distance."""
    panels = []
    for _, _, name, unit, needs, values in PANELS:
        lines = [
            Series(label, log.time_s, np.asarray(values(log), np.float64), colour_of(i), i)
            for i, (label, log) in enumerate(logs.items())
            if has_one_of(log, needs)
        ]
        panels.append(ChartPanel(name.removesuffix(SMOOTHED), unit, lines))
    first, second = logs.values()
    time_s, apart_m = distance_between(first, second)
    if len(time_s):
        panels.append(ChartPanel("Distance between them", "[m]", [Series("distance", time_s, apart_m, "#1b1f24")]))
    marks = [] if parts_at_s is None else [FlightEvent(round(1e6 * parts_at_s), "first difference", is_fault=True)]
    return stacked(panels, marks, _words(panels))


def track_chart(logs: Mapping[str, Log], waypoints: Mapping[int, tuple[float, float]]) -> Chart:
    """Return the tracks of flights over ground; of a single one, its setpoint too."""
    tracks = {name: (log["pos_ned"], colour_of(i)) for i, (name, log) in enumerate(logs.items())}
    return track(tracks, next(iter(logs.values())).get("pos_sp_ned") if len(logs) == 1 else None, waypoints)


def _words(panels: Sequence[ChartPanel]) -> str:
    """Describe a chart by its panels, with the largest and smallest value of each."""
    told = []
    for panel in panels:
        own = [line.values[np.isfinite(line.values)] for line in panel.series]
        own = [values for values in own if len(values)]
        if own:
            low, high = min(values.min() for values in own), max(values.max() for values in own)
            told.append(f"{panel.title} {low:.3g} to {high:.3g} {panel.unit}")
    return "Over time: " + "; ".join(told)


def _height(log: Log) -> list[Series]:
    lines = [Series("flown", log.time_s, -log["pos_ned"][:, 2], AXIS_COLOURS[2], width=2.6)]
    if "pos_sp_ned" in log:
        height_m = -log["pos_sp_ned"][:, 2]
        lines.append(Series("setpoint", log.time_s, height_m, SETPOINT_COLOURS[2], 1, SETPOINT_WIDTH))
    return lines


def _vector(log: Log, name: str, setpoint: str, ends: Sequence[str], scale: Any = np.asarray) -> list[Series]:
    """Return the components of a vector, and of its setpoint as thin lines."""
    lines: list[Series] = []
    for column, ending, colours, width in (
        (name, "", AXIS_COLOURS, WIDTH),
        (setpoint, " setpoint", SETPOINT_COLOURS, SETPOINT_WIDTH),
    ):
        values = log.get(column) if column else None
        if values is not None and values.ndim == 2:
            with np.errstate(over="ignore", invalid="ignore"):
                turned = scale(values)
            for i, end in enumerate(ends):
                own = _smooth if column == "rate_sp_body" else _exact
                lines += own(log, end + ending, turned[:, i], colours[i], i, width)
    return lines


def _exact(log: Log, name: str, values: Vector, colour: str, number: int, width: float) -> list[Series]:
    return [Series(name, log.time_s, values, colour, number, width)]


def _smooth(log: Log, name: str, values: Vector, colour: str, number: int, width: float = WIDTH) -> list[Series]:
    """Return the running mean of a noisy quantity, and the noise as a faint line behind it."""
    return [
        Series(name, log.time_s, values, colour, number, 0.6, is_faint=True),
        Series(name, *running_mean(log, values), colour, number, width),
    ]


def _attitude(log: Log) -> list[Series]:
    angles = log.get("euler_bn")
    if angles is None:
        return []
    degrees = np.degrees(angles)
    names = ("roll", "pitch", "heading")
    return [Series(name, log.time_s, unwrapped(degrees[:, i]), AXIS_COLOURS[i], i) for i, name in enumerate(names)]


def _distance(log: Log, other_ned: Vector | None) -> list[Series]:
    if other_ned is None or not np.isfinite(other_ned).any():
        return []
    lines = zip(("horizontal", "vertical"), distances(log, other_ned), strict=True)
    return [own for i, (name, values) in enumerate(lines) for own in _smooth(log, name, values, AXIS_COLOURS[i], i)]


def _counted(log: Log, name: str, what: str, scale: float = 1.0) -> list[Series]:
    """Return one line per motor, rotor or battery."""
    values = log.get(name)
    if values is None or values.ndim != 2:
        return []
    return [
        Series(f"{what} {i + 1}", log.time_s, scale * values[:, i], colour_of(i), i, 1.4)
        for i in range(values.shape[1])
    ]
