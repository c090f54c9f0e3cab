"""Figure of a flight: track over ground, height, velocity, attitude, rates, motors, rotors, battery.

Actual values are solid; setpoints are dashed, thinner and darker. The three axes have the same colours in every panel,
with different brightness, so that they can be distinguished in greyscale. Events are numbered at the top of the time
axes and listed below; faults have a heavier line. If there are more rows than the figure can show, the minimum and
maximum of each group of rows are drawn, so no peak is lost. Noisy signals, such as several motors or the setpoints of
the inner loops, are drawn faint with their running mean on top.
"""

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from px4lockstep.autopilots.area import Area
from px4lockstep.errors import InputError
from px4lockstep.io import atomic_write
from px4lockstep.log.events import FlightEvent, events_of
from px4lockstep.log.log import Log
from px4lockstep.plots.panels import motion, power
from px4lockstep.plots.panels.marks import draw_marks, draw_modes, list_of, numbered
from px4lockstep.plots.panels.style import STYLE
from px4lockstep.plots.panels.track import check_waypoints, draw_track

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE_IN = (17.0, 12.0)
DPI = 110
FORMATS: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
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
        area: Fence and rally points: `Simulation.autopilot.area`.
        bands: Whether to draw modes as coloured bands.
        from_s: First time to draw; by default the start of the log.
        to_s: Last time to draw; by default the end of the log.

    Raises:
        InputError: If the log has no position, or no rows in this time.
    """
    from matplotlib import style

    from px4lockstep.plots.shown import ShownFigure

    if "pos_ned" not in log or not log.rows:
        raise InputError("can't plot this log: it has no rows, or no column pos_ned")
    places = check_waypoints(waypoints)
    happened = [*events_of(log, area), *events]  # of the whole log: a part of it begins without an event
    log = log.between(from_s, to_s)
    marks = numbered(log.time_us, happened)
    with style.context(["default", STYLE]):
        figure = ShownFigure(figsize=SIZE_IN, dpi=DPI, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.09, hspace=0.02, wspace=0.02)  # type: ignore[union-attr, call-arg]
        grid = figure.add_gridspec(4, 3, width_ratios=(1.08, 1.0, 1.0))
        draw_track(figure.add_subplot(grid[0:2, 0]), log, places, area or Area())
        panels = (
            (grid[0, 1], motion.draw_height, "Height", "above origin [m]"),
            (grid[1, 1], motion.draw_velocity, "Velocity over ground", "[m/s]"),
            (grid[2, 1], motion.draw_tilt, "Roll and pitch", "[°]"),
            (grid[2, 0], motion.draw_heading, "Heading", "[°]"),
            (grid[0, 2], motion.draw_rates, "Body rates", "[°/s]"),
            (grid[1, 2], power.draw_motors, "Motor commands", "[0 to 1]"),
            (grid[2, 2], power.draw_rotors, "Rotor speeds", "[rad/s]"),
            (grid[3, 0], power.draw_volts, "Battery voltage", "[V]"),
            (grid[3, 1], power.draw_amps, "Battery current", "[A]"),
            (grid[3, 2], power.draw_charge, "State of charge", "[%]"),
        )
        first: Axes | None = None
        for place, draw, name, unit in panels:
            axes = figure.add_subplot(place, sharex=first)
            axes.set(title=name, ylabel=unit)
            first = first or axes
            draw(axes, log)
            if bands:
                draw_modes(axes, log, named=draw is motion.draw_height)
            draw_marks(axes, marks)
            axes.set_xlim(float(log.time_s[0]), max(float(log.time_s[-1]), float(log.time_s[0]) + 1e-6))
            if place.rowspan.stop == 4:
                axes.set_xlabel("time [s]")
            else:
                axes.tick_params(labelbottom=False)
        if title:
            figure.suptitle(title, fontsize=17, fontweight="bold", x=0.012, ha="left")
        figure.supxlabel(list_of(marks), fontsize=11, x=0.012, ha="left", linespacing=1.45)
    return figure


def save_plot(figure: "Figure", path: str | Path) -> None:
    """Write a figure to a .png, .pdf or .svg file. The same figure gives identical bytes.

    Raises:
        InputError: If the file name has another extension, or the file can't be written. No partial file is left.
    """
    from matplotlib import style

    kind = Path(path).suffix.lower()
    if kind not in FORMATS:
        raise InputError(f"can't write {path}: the file name must end in {', '.join(FORMATS)}")
    picture = io.BytesIO()
    with style.context(["default", STYLE]):
        figure.savefig(picture, format=kind[1:], metadata=FORMATS[kind])
    with atomic_write(path) as file:
        file.write(picture.getvalue())
