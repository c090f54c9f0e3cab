"""Figure of a flight: track over ground, motion, errors, wind, motors, batteries.

Actual values are wide lines; setpoints are thin and darker. The three axes have the same dashes and colours in every
panel, so no meaning is in a colour alone (`plots/looks.py`). Motors and rotors have a lane each. Events are lines,
numbered at the top of each column and listed below; faults have a heavier line. After a crash, a last row shows the
seconds around it. If there are more rows than the figure can show, the minimum and maximum of each group of rows are
drawn, so no peak is lost. The noisy setpoints of the inner loops are drawn as a faint band with their running mean on
top.
"""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from px4lockstep.autopilots.area import Area
from px4lockstep.errors import InputError
from px4lockstep.io import atomic_write
from px4lockstep.log.events import CRASH, FlightEvent, events_of
from px4lockstep.log.log import Log
from px4lockstep.plots.panels import errors, motion, power
from px4lockstep.plots.panels.marks import draw_marks, draw_modes, list_of, numbered
from px4lockstep.plots.panels.track import check_waypoints, draw_track
from px4lockstep.plots.style import (
    NUMBERED_PAD_PT,
    PAD_PT,
    WIDTH_IN,
    add_head,
    add_key,
    add_notes,
    draw_scale,
    draw_times,
    figure_style,
    hold_labels,
    inset,
    new_figure,
    panel_grid,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT_IN, ZOOM_IN = 13.2, 2.7
"""Height of the figure, and of the row around a crash."""
BEFORE_S, AFTER_S, FAULT_S = 3.0, 1.0, 12.0
"""Seconds around a crash that are drawn, and in which a fault before it is included."""
Draw = Callable[["Axes", Log], None]
PANELS: tuple[tuple[int, int, Draw, str, str], ...] = (
    (0, 1, motion.draw_height, "Height", "above origin [m]"),
    (1, 1, motion.draw_velocity, "Velocity", "over ground [m/s]"),
    (2, 1, motion.draw_tilt, "Roll and pitch", "[°]"),
    (3, 1, motion.draw_heading, "Heading", "[°]"),
    (2, 0, errors.draw_tracking, "Tracking error", "[m]"),
    (3, 0, errors.draw_estimate, "Estimate error", "[m]"),
    (4, 0, errors.draw_wind, "Wind", "[m/s]"),
    (0, 2, motion.draw_rates, "Body rates", "[°/s]"),
    (1, 2, power.draw_motors, "Motor commands", "[0 to 1]"),
    (2, 2, power.draw_rotors, "Rotor speeds [rad/s]", "[rad/s]"),
    (4, 1, power.draw_volts, "Battery voltage", "[V]"),
    (3, 2, power.draw_amps, "Battery current", "[A]"),
    (4, 2, power.draw_charge, "State of charge", "[%]"),
)
"""Row, column, function, title and unit of each panel over time."""
ZOOMED: tuple[tuple[Draw, str, str], ...] = (
    (motion.draw_height, "Height", "[m]"),
    (motion.draw_tilt, "Attitude", "[°]"),
    (power.draw_motors, "Motor commands", "[0 to 1]"),
)
LAST_ROW = 4
TRACK_IN = 0.32
"""Space for the labels below the track, which the panels over time do not have."""
TOPS = ((0, 1), (0, 2), (2, 0))
"""The panels that have the numbers of the events: the first of each column."""
FORMATS: dict[str, dict[str, Any]] = {
    ".png": {},
    ".pdf": {"Creator": None, "Producer": None, "CreationDate": None},
    ".svg": {"Creator": None, "Date": None},
}
"""File formats, and the metadata to omit so that the same flight gives identical bytes."""


def plot_flight(
    log: Log,
    *,
    waypoints: Mapping[int, Sequence[float]] | None = None,
    events: Iterable[FlightEvent] = (),
    title: str = "",
    facts: str = "",
    area: Area | None = None,
    bands: bool = False,
    from_s: float | None = None,
    to_s: float | None = None,
) -> "Figure":
    """Return the figure of a flight.

    Args:
        log: The log, with at least the position; panels whose columns are missing say "not in this log".
        waypoints: North and east [m] by the number of the mission item: see `waypoints.mission_waypoints`.
        events: Events to mark in addition to the events and faults in the log.
        title: Title of the figure.
        facts: Facts of the flight, drawn below the title.
        area: Fence and rally points: `Simulation.autopilot.area`.
        bands: Whether to draw modes as coloured bands.
        from_s: First time to draw; by default the start of the log.
        to_s: Last time to draw; by default the end of the log.

    Raises:
        InputError: If the log has no position, or no rows in this time.
    """
    from matplotlib.ticker import MaxNLocator

    if "pos_ned" not in log or not log.rows:
        raise InputError("can't plot this log: it has no rows, or no column pos_ned")
    places = check_waypoints(waypoints)
    happened = [*events_of(log, area), *events]  # of the whole log: a part of it begins without an event
    is_whole = from_s is None and to_s is None
    log = log.between(from_s, to_s)
    marks = numbered(log.time_us, happened)
    zoom_s = crash_window(log, happened) if is_whole else None
    rows = LAST_ROW + (1 if zoom_s is None else 2)
    with figure_style(axes_grid=False):
        figure = new_figure(WIDTH_IN, HEIGHT_IN + (0.0 if zoom_s is None else ZOOM_IN))
        head_in, foot_in = add_head(figure, title, facts), add_notes(figure, list_of(marks))
        grid = panel_grid(figure, rows, 3, head_in=head_in, foot_in=foot_in, widths=(1.08, 1.0, 1.0))
        draw_track(inset(figure.add_subplot(grid[0:2, 0]), below_in=TRACK_IN), log, places, area or Area())
        limits_s = float(log.time_s[0]), max(float(log.time_s[-1]), float(log.time_s[0]) + 1e-6)
        ticks_s = MaxNLocator(5, steps=(1, 2, 5, 10)).tick_values(*limits_s)
        for row, column, draw, name, unit in PANELS:
            axes = figure.add_subplot(grid[row, column], xlim=limits_s, autoscalex_on=False)
            is_top = (row, column) in TOPS
            pad_pt = NUMBERED_PAD_PT if is_top and marks else PAD_PT
            _draw_panel(axes, _with_ceiling(draw, area), log, name, unit, pad_pt)
            if bands:
                draw_modes(axes, log, named=draw is motion.draw_height)
            draw_marks(axes, marks, is_numbered=is_top)
            draw_times(axes, ticks_s, is_labelled=row == LAST_ROW)
            if row == LAST_ROW:
                axes.set_xlabel("time [s]")
            if axes.get_ylabel() == unit:
                draw_scale(axes)
        if zoom_s is not None:
            _draw_zoom(figure, grid, log.between(*zoom_s), happened)
    return figure


def crash_window(log: Log, events: Iterable[FlightEvent]) -> tuple[float, float] | None:
    """Return the first and last time [s] to draw around a crash, with a fault shortly before it; None without one."""
    happened = list(events)
    crash_us = min((event.time_us for event in happened if event.label == CRASH), default=None)
    if crash_us is None:
        return None
    from_us = crash_us - round(1e6 * BEFORE_S)
    faults_us = [event.time_us for event in happened if event.is_fault and event.time_us < crash_us]
    recent_us = [fault_us for fault_us in faults_us if fault_us > crash_us - round(1e6 * FAULT_S)]
    from_us = min([from_us, *(fault_us - 500_000 for fault_us in recent_us)])
    to_us = min(crash_us + round(1e6 * AFTER_S), int(log.time_us[-1]))
    return max(from_us, int(log.time_us[0])) / 1e6, to_us / 1e6


def _with_ceiling(draw: Draw, area: Area | None) -> Draw:
    """Return the function of a panel; that of the height also draws the largest height of the fence."""
    if draw is not motion.draw_height or area is None or area.height_m <= 0.0:
        return draw

    def draw_both(axes: "Axes", log: Log) -> None:
        motion.draw_height(axes, log)
        motion.draw_ceiling(axes, area.height_m)

    return draw_both


def _draw_panel(axes: "Axes", draw: Draw, log: Log, name: str, unit: str, pad_pt: float) -> None:
    axes.set_ylabel(unit)
    axes.set_title(name, pad=pad_pt)
    draw(axes, log)
    hold_labels(axes)
    add_key(axes, above_pt=pad_pt)


def _draw_zoom(figure: "Figure", grid: Any, log: Log, events: Iterable[FlightEvent]) -> None:
    """Draw a row of panels with the seconds around a crash."""
    marks = numbered(log.time_us, events)
    for column, (draw, name, unit) in enumerate(ZOOMED):
        axes = inset(figure.add_subplot(grid[LAST_ROW + 1, column]), above_in=TRACK_IN)
        _draw_panel(axes, draw, log, f"Crash: {name.lower()}", unit, PAD_PT)
        draw_marks(axes, marks, is_numbered=False)
        axes.grid(visible=True, axis="x")
        if axes.get_ylabel() == unit:
            draw_scale(axes)
        axes.set_facecolor("#fbf6f6")
        axes.set_xlim(float(log.time_s[0]), max(float(log.time_s[-1]), float(log.time_s[0]) + 1e-6))
        axes.set_xlabel("time [s]")


def save_plot(figure: "Figure", path: str | Path) -> None:
    """Write a figure to a .png, .pdf or .svg file. The same figure gives identical bytes.

    Raises:
        InputError: If the file name has another extension, or the file can't be written. No partial file is left.
    """
    kind = Path(path).suffix.lower()
    if kind not in FORMATS:
        raise InputError(f"can't write {path}: the file name must end in {', '.join(FORMATS)}")
    if kind == ".png":
        from px4lockstep.plots.shown import png_of

        data = png_of(figure, figure.get_dpi())
    else:
        picture = io.BytesIO()
        with figure_style():
            figure.savefig(picture, format=kind[1:], metadata=FORMATS[kind])
        data = picture.getvalue()
    with atomic_write(path) as file:
        file.write(data)
