"""The charts of one flight, and of two flights over each other."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from px4lockstep.log.events import FlightEvent
from px4lockstep.log.log import Log
from px4lockstep.plots.flight import crash_window
from px4lockstep.plots.overlay import PANELS, SMOOTHED, distance_between, has_one_of
from px4lockstep.plots.panels.errors import distances
from px4lockstep.plots.panels.motion import unwrapped
from px4lockstep.plots.style import AXIS_COLOURS, MOTOR_COLOURS, SETPOINT_COLOURS
from px4lockstep.reports.charts import DASHES, SETPOINT, ChartPanel, Series, Vector, stacked, track
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
    looks = dict(zip(logs, zip(AXIS_COLOURS, DASHES, strict=False), strict=False))
    panels = []
    for _, _, name, unit, needs, values in PANELS:
        lines = [
            Series(label, log.time_s, np.asarray(values(log), np.float64), *looks[label])
            for label, log in logs.items()
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
    looks = zip(logs.items(), cycle(AXIS_COLOURS), cycle(DASHES), strict=False)
    tracks = {name: (log["pos_ned"], colour, dash) for (name, log), colour, dash in looks}
    log = next(iter(logs.values()))
    if len(logs) == 1 and "pos_sp_ned" in log:
        tracks[SETPOINT] = (log["pos_sp_ned"], "#333333", "dash")
    return track(tracks, waypoints)


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
    lines = [Series("flown", log.time_s, -log["pos_ned"][:, 2], AXIS_COLOURS[0], width=2.0)]
    if "pos_sp_ned" in log:
        lines.append(Series("setpoint", log.time_s, -log["pos_sp_ned"][:, 2], SETPOINT_COLOURS[1], "dash"))
    return lines


def _vector(log: Log, name: str, setpoint: str, ends: Sequence[str], scale: Any = np.asarray) -> list[Series]:
    """Return the components of a vector, and of its setpoint as dashed lines."""
    lines: list[Series] = []
    for column, ending, colours, dash in (
        (name, "", AXIS_COLOURS, DASHES[0]),
        (setpoint, " setpoint", SETPOINT_COLOURS, "dash"),
    ):
        values = log.get(column) if column else None
        if values is not None and values.ndim == 2:
            with np.errstate(over="ignore", invalid="ignore"):
                turned = scale(values)
            lines += [
                Series(end + ending, log.time_s, turned[:, i], colours[i], dash, 1.4 if not ending else 1.0)
                for i, end in enumerate(ends)
            ]
    return lines


def _attitude(log: Log) -> list[Series]:
    angles = log.get("euler_bn")
    if angles is None:
        return []
    degrees = np.degrees(angles)
    names = zip(("roll", "pitch", "heading"), AXIS_COLOURS, strict=True)
    return [Series(name, log.time_s, unwrapped(degrees[:, i]), colour) for i, (name, colour) in enumerate(names)]


def _distance(log: Log, other_ned: Vector | None) -> list[Series]:
    if other_ned is None or not np.isfinite(other_ned).any():
        return []
    horizontal_m, vertical_m = distances(log, other_ned)
    lines = (("horizontal", horizontal_m, AXIS_COLOURS[0], "solid"), ("vertical", vertical_m, AXIS_COLOURS[1], "dash"))
    return [Series(name, log.time_s, values, colour, dash) for name, values, colour, dash in lines]


def _counted(log: Log, name: str, what: str, scale: float = 1.0) -> list[Series]:
    """Return one line per motor, rotor or battery."""
    values = log.get(name)
    if values is None or values.ndim != 2:
        return []
    return [
        Series(
            f"{what} {i + 1}",
            log.time_s,
            scale * values[:, i],
            MOTOR_COLOURS[i % len(MOTOR_COLOURS)],
            DASHES[i // len(MOTOR_COLOURS) % len(DASHES)],
            1.2,
        )
        for i in range(values.shape[1])
    ]
