"""One picture of a flight: track over ground, height, velocity, attitude, rates, motors, rotors, battery.

What was flown is solid; setpoints are dashed, thinner and darker. The three axes have the same colours in every panel,
which differ in brightness, so that they can be told apart in grey. Events have numbers on top of the time axes, faults
a heavier line; the list is below. Where there are more rows than the picture can show, the least and the greatest value
of each group of rows are drawn: no peak is lost. Of what noise would fill, several motors or setpoints of the inner
loops, all of it is drawn faint, and its running mean on top.
"""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError
from px4lockstep.files import written_whole
from px4lockstep.logs.log import Log
from px4lockstep.math.quaternion import to_euler
from px4lockstep.report.events import Event, events_of, mission_times_us

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Vector = npt.NDArray[Any]

AXIS_COLOURS = ("#17407f", "#e2571e", "#7fb53c")
"""North, x, roll; east, y, pitch; down, z, yaw. Their brightness is 27, 55 and 68 of 100."""
SETPOINT_COLOURS = ("#06142b", "#6d2104", "#2f4a0c")
MOTOR_COLOURS = ("#17407f", "#e2571e", "#7fb53c", "#8a5fbf", "#1e9aa8", "#c9a227")
MOTOR_STYLES = ("-", "--", "-.", (0, (1, 1.2)))
GREY = "0.45"
FAULT = "#b3001b"
EVENT = "0.55"

STYLE = {
    "font.size": 11.0,
    "axes.titlesize": 12.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 15.0,
    "axes.labelsize": 11.0,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.edgecolor": "0.35",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "legend.frameon": True,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
    "legend.fontsize": 10.0,
    "legend.handlelength": 1.8,
    "legend.columnspacing": 1.1,
    "legend.borderaxespad": 0.2,
    "legend.borderpad": 0.25,
    "legend.labelspacing": 0.25,
    "lines.linewidth": 1.7,
    "lines.solid_capstyle": "round",
    "path.simplify": True,
    "svg.hashsalt": "px4lockstep",
}
SIZE_IN = (17.0, 12.0)
DPI = 110
POINTS = 3_000
"""Rows that a line has at most, before the least and greatest of groups of rows are drawn."""
FORMATS: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".pdf": {"Creator": None, "Producer": None, "CreationDate": None},
    ".svg": {"Creator": None, "Date": None},
}
"""The formats, and the metadata to leave out so that the same flight gives the same bytes."""


def plot_flight(
    log: Log,
    *,
    waypoints: Sequence[Sequence[float]] | Vector | None = None,
    events: Iterable[Event] = (),
    title: str = "",
) -> "Figure":
    """Return the picture of a flight.

    Args:
        log: The log, with at least position and velocity; panels whose columns it does not have say so.
        waypoints: Positions NED [m], or only north and east: see `waypoints.mission_waypoints`.
        events: What to mark besides the events and faults that the log shows.
        title: Above all.

    Raises:
        InputError: If the log has no position, or no rows.
    """
    from matplotlib import style
    from matplotlib.figure import Figure

    if "pos_ned" not in log or not log.rows:
        raise InputError("this log can't be drawn as a flight: it has no rows, or no column pos_ned")
    places = _check_waypoints(waypoints)
    marks = _numbered(log, [*events_of(log), *events])
    with style.context(["default", STYLE]):
        figure = Figure(figsize=SIZE_IN, dpi=DPI, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.12, h_pad=0.09, hspace=0.02, wspace=0.02)  # type: ignore[union-attr, call-arg]
        grid = figure.add_gridspec(4, 3, width_ratios=(1.08, 1.0, 1.0))
        _draw_track(figure.add_subplot(grid[0:2, 0]), log, places)
        panels = (
            (grid[0, 1], _draw_height),
            (grid[1, 1], _draw_velocity),
            (grid[2, 1], _draw_tilt),
            (grid[2, 0], _draw_heading),
            (grid[0, 2], _draw_rates),
            (grid[1, 2], _draw_motors),
            (grid[2, 2], _draw_rotors),
            (grid[3, 0], _draw_volts),
            (grid[3, 1], _draw_amps),
            (grid[3, 2], _draw_charge),
        )
        first: Axes | None = None
        for place, draw in panels:
            axes = figure.add_subplot(place, sharex=first)
            first = first or axes
            draw(axes, log)
            _draw_marks(axes, marks)
            axes.set_xlim(float(log.time_s[0]), max(float(log.time_s[-1]), float(log.time_s[0]) + 1e-6))
            if place.rowspan.stop == 4:
                axes.set_xlabel("time [s]")
            else:
                axes.tick_params(labelbottom=False)
        if title:
            figure.suptitle(title, fontsize=17, fontweight="bold", x=0.012, ha="left")
        figure.supxlabel(_list_of(marks), fontsize=11, x=0.012, ha="left", linespacing=1.45)
    return figure


def save_plot(figure: "Figure", path: str | Path) -> None:
    """Write a picture, as the ending of its name says: .png, .pdf or .svg. The same picture gives the same bytes.

    Raises:
        InputError: If the ending is none of these, or the file can't be written; nothing is left of it then.
    """
    from matplotlib import style

    kind = Path(path).suffix.lower()
    if kind not in FORMATS:
        raise InputError(f"{path} can't be written: pictures end in {', '.join(FORMATS)}")
    picture = io.BytesIO()
    with style.context(["default", STYLE]):
        figure.savefig(picture, format=kind[1:], metadata=FORMATS[kind])
    with written_whole(path) as file:
        file.write(picture.getvalue())


# -- panels ------------------------------------------------------------------------------------------------------


def _draw_track(axes: "Axes", log: Log, places: Vector) -> None:
    pos = log["pos_ned"]
    axes.set_title("Track over ground")
    if "pos_sp_ned" in log:
        wanted = log["pos_sp_ned"]
        axes.plot(wanted[:, 1], wanted[:, 0], "--", color="0.25", lw=1.1, label="setpoint", zorder=3)
    axes.plot(pos[:, 1], pos[:, 0], color=AXIS_COLOURS[0], lw=2.4, alpha=0.85, label="flown", zorder=2)
    if len(places):
        axes.plot(places[:, 1], places[:, 0], "o", ms=15, mfc="white", mec="0.2", mew=1.3, label="waypoint", zorder=4)
        _number_places(axes, places)
    axes.plot(pos[0, 1], pos[0, 0], "^", ms=15, mfc="none", mec="0.1", mew=1.8, ls="none", label="start", zorder=5)
    axes.plot(pos[-1, 1], pos[-1, 0], "X", ms=10, color=FAULT, ls="none", label="end", mec="white", mew=0.8, zorder=5)
    axes.set_xlabel("east [m]")
    axes.set_ylabel("north [m]")
    _make_room(axes, np.concatenate([pos[:, :2], places[:, :2]]))
    _draw_wind(axes, log)
    axes.legend(loc="upper center", ncols=5, handlelength=1.3, handletextpad=0.5, columnspacing=1.0, markerscale=0.7)


def _number_places(axes: "Axes", places: Vector) -> None:
    """Write the numbers of waypoints into them; those at one place share a mark, and the numbers go beside it."""
    groups: list[tuple[Vector, list[str]]] = []
    for number, place in enumerate(places[:, :2]):
        for where, numbers in groups:
            if np.linalg.norm(where - place) < 0.5:
                numbers.append(str(number))
                break
        else:
            groups.append((place, [str(number)]))
    for where, numbers in groups:
        text = ", ".join(numbers)
        beside = len(numbers) > 1
        axes.annotate(
            text,
            (where[1], where[0]),
            (13, 6) if beside else (0, 0),
            textcoords="offset points",
            ha="left" if beside else "center",
            va="bottom" if beside else "center_baseline",
            fontsize=9.5,
            zorder=6,
        )


def _make_room(axes: "Axes", points: Vector) -> None:
    """Show all points on a square with the same scale for both axes, at least 2 m wide, and room for the key."""
    low, high = points.min(axis=0), points.max(axis=0)
    middle = 0.5 * (low + high)
    half = max(1.0, 0.68 * float((high - low).max()))
    axes.set_aspect("equal", adjustable="box")
    axes.set_xlim(middle[1] - half, middle[1] + half)
    axes.set_ylim(middle[0] - half, middle[0] + half)


def _draw_wind(axes: "Axes", log: Log) -> None:
    """Draw where the mean wind blows to, in a corner."""
    if "wind_ned" not in log:
        return
    north, east, _ = log["wind_ned"].mean(axis=0)
    speed = float(np.hypot(north, east))
    if speed < 0.05:
        axes.text(0.02, 0.02, "no mean wind", transform=axes.transAxes, color=GREY, va="bottom")
        return
    unit_n, unit_e = 0.055 * north / speed, 0.055 * east / speed
    axes.annotate(
        "",
        (0.07 + unit_e, 0.07 + unit_n),
        (0.07 - unit_e, 0.07 - unit_n),
        xycoords="axes fraction",
        arrowprops={
            "arrowstyle": "-|>,head_width=0.35,head_length=0.7",
            "lw": 2.4,
            "color": "0.25",
            "shrinkA": 0,
            "shrinkB": 0,
        },
    )
    axes.text(0.15, 0.06, f"mean wind {speed:.1f} m/s", transform=axes.transAxes, va="center", color="0.25")


def _draw_height(axes: "Axes", log: Log) -> None:
    axes.set_title("Height")
    axes.set_ylabel("above origin [m]")
    height_m = -log["pos_ned"][:, 2]
    _line(axes, log, height_m, color=AXIS_COLOURS[2], label="flown", lw=2.2)
    if "pos_sp_ned" in log:
        _setpoint(axes, _thinned(log.time_s, -log["pos_sp_ned"][:, 2]), SETPOINT_COLOURS[2], "setpoint")
    times_us = mission_times_us(log)
    if times_us:
        rows = np.searchsorted(log.time_us, np.array(times_us, np.uint64))
        axes.plot(log.time_s[rows], height_m[rows], "o", ms=5.5, mfc="white", mec="0.15", label="item done", zorder=5)
    _key(axes)


def _draw_velocity(axes: "Axes", log: Log) -> None:
    axes.set_title("Velocity over ground")
    axes.set_ylabel("[m/s]")
    _three(axes, log, log.get("vel_ned"), log.get("vel_sp_ned"), ("north", "east", "down"))


def _draw_tilt(axes: "Axes", log: Log) -> None:
    axes.set_title("Roll and pitch")
    axes.set_ylabel("[°]")
    actual, wanted = _angles(log)
    _three(axes, log, actual, wanted, ("roll", "pitch"), is_noisy=True)


def _draw_heading(axes: "Axes", log: Log) -> None:
    axes.set_title("Heading")
    axes.set_ylabel("[°]")
    actual, wanted = _angles(log)
    if actual is None:
        _say_absent(axes)
        return
    _line(axes, log, _cut_jumps(actual[:, 2]), color=AXIS_COLOURS[2], label="flown", lw=2.2)
    if wanted is not None:
        _setpoint(axes, _thinned(log.time_s, _cut_jumps(wanted[:, 2])), SETPOINT_COLOURS[2], "setpoint")
    _widen(axes, 10.0)
    _key(axes)


def _draw_rates(axes: "Axes", log: Log) -> None:
    axes.set_title("Body rates")
    axes.set_ylabel("[°/s]")
    actual, wanted = log.get("omega_body"), log.get("rate_sp_body")
    actual = None if actual is None else np.degrees(actual)
    wanted = None if wanted is None else np.degrees(wanted)
    _three(axes, log, actual, wanted, ("x", "y", "z"), is_noisy=True)


def _draw_motors(axes: "Axes", log: Log) -> None:
    axes.set_title("Motor commands")
    axes.set_ylabel("[0 to 1]")
    axes.set_ylim(0.0, 1.0)
    _many(axes, log, log.get("motors"), "motor")
    axes.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0])


def _draw_rotors(axes: "Axes", log: Log) -> None:
    axes.set_title("Rotor speeds")
    axes.set_ylabel("[rad/s]")
    _many(axes, log, log.get("rotor_speed_rad_s"), "rotor")


def _draw_volts(axes: "Axes", log: Log) -> None:
    axes.set_title("Battery voltage")
    axes.set_ylabel("[V]")
    _many(axes, log, _first_of(log, "battery_voltage_v", "battery_true_voltage_v"), "battery")
    _widen(axes, 1.0)


def _draw_amps(axes: "Axes", log: Log) -> None:
    axes.set_title("Battery current")
    axes.set_ylabel("[A]")
    _many(axes, log, _first_of(log, "battery_current_a", "battery_true_current_a"), "battery")


def _draw_charge(axes: "Axes", log: Log) -> None:
    axes.set_title("State of charge")
    axes.set_ylabel("[%]")
    soc = log.get("soc")
    _many(axes, log, None if soc is None else 100.0 * soc, "battery")
    _widen(axes, 10.0)


# -- lines -------------------------------------------------------------------------------------------------------


def _three(
    axes: "Axes",
    log: Log,
    actual: Vector | None,
    wanted: Vector | None,
    names: tuple[str, ...],
    is_noisy: bool = False,
) -> None:
    """Draw components, with setpoints; noisy setpoints faint, and their running mean."""
    if actual is None:
        _say_absent(axes)
        return
    for i, name in enumerate(names):
        if wanted is not None and is_noisy:
            _line(axes, log, wanted[:, i], color=AXIS_COLOURS[i], lw=0.8, alpha=0.22, zorder=1.5)
        _line(axes, log, actual[:, i], color=AXIS_COLOURS[i], label=name)
    for i in range(len(names) if wanted is not None else 0):
        assert wanted is not None
        line = _running_mean(log, wanted[:, i]) if is_noisy else _thinned(log.time_s, wanted[:, i])
        _setpoint(axes, line, SETPOINT_COLOURS[i], "setpoints" if i == 0 else "_")
    _key(axes)


def _many(axes: "Axes", log: Log, values: Vector | None, name: str) -> None:
    """Draw one line for each motor, rotor or battery; of several, the running mean over what was, faint."""
    if values is None:
        _say_absent(axes)
        return
    count = values.shape[1]
    if count == 1:
        _line(axes, log, values[:, 0], color=AXIS_COLOURS[0], lw=1.3)
        return
    for i in range(count):
        colour, style = MOTOR_COLOURS[i % len(MOTOR_COLOURS)], MOTOR_STYLES[i % len(MOTOR_STYLES)]
        _line(axes, log, values[:, i], color=colour, lw=0.8, alpha=0.25)
        axes.plot(*_running_mean(log, values[:, i]), color=colour, ls=style, lw=1.9, label=f"{i + 1}", zorder=3)
    _key(axes, title=name, columns=count if count <= 8 else 6)


def _line(axes: "Axes", log: Log, values: Vector, **options: Any) -> None:
    axes.plot(*_thinned(log.time_s, values), **options)


def _setpoint(axes: "Axes", line: tuple[Vector, Vector], colour: str, label: str) -> None:
    axes.plot(*line, color=colour, ls=(0, (3.5, 2.0)), lw=1.15, label=label, zorder=4)


def _thinned(time_s: Vector, values: Vector) -> tuple[Vector, Vector]:
    """Return a line with at most a few thousand points, which touches all extremes."""
    rows = len(values)
    if rows <= POINTS:
        return time_s, values
    size = -(-2 * rows // POINTS)
    whole = rows // size * size
    groups = values[:whole].reshape(-1, size)
    # NaN ends a line here too: argmin and argmax find it first.
    ends = np.sort(np.stack([groups.argmin(axis=1), groups.argmax(axis=1)], axis=1), axis=1)
    index = (ends + size * np.arange(len(groups))[:, None]).ravel()
    index = np.concatenate([[0], index, np.arange(whole, rows), [rows - 1]])
    return time_s[index], values[index]


def _running_mean(log: Log, values: Vector) -> tuple[Vector, Vector]:
    """Return the means of a few hundred groups of rows."""
    size = max(1, log.rows // 300)
    whole = log.rows // size * size
    return log.time_s[:whole].reshape(-1, size).mean(axis=1), values[:whole].reshape(-1, size).mean(axis=1)


def _angles(log: Log) -> tuple[Vector | None, Vector | None]:
    """Return attitude and its setpoint as Euler angles [°]; NaN where there is no setpoint."""
    actual = log.get("euler_bn")
    wanted = log.get("q_sp")
    if wanted is not None:
        angles = np.array([to_euler(q) for q in map(tuple, wanted.tolist())]).reshape(-1, 3)
        angles[~(np.linalg.norm(wanted, axis=1) > 0.5)] = np.nan
        wanted = np.degrees(angles)
    return None if actual is None else np.degrees(actual), wanted


def _cut_jumps(angle_deg: Vector) -> Vector:
    """Return an angle with a gap where it jumps by a turn."""
    cut = np.array(angle_deg, np.float64)
    cut[1:][np.abs(np.diff(angle_deg)) > 180.0] = np.nan
    return cut


def _first_of(log: Log, *names: str) -> Vector | None:
    """Return the first of some columns that is there and was measured."""
    for name in names:
        values = log.get(name)
        if values is not None and not np.isnan(values).all():
            return values
    return None


def _widen(axes: "Axes", span: float) -> None:
    """Show at least a span of values, so that a line that hardly changes looks like one."""
    low, high = axes.get_ylim()
    if high - low < span:
        middle = 0.5 * (low + high)
        axes.set_ylim(middle - 0.5 * span, middle + 0.5 * span)


def _key(axes: "Axes", title: str = "", columns: int = 4) -> None:
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.2 * (high - low))  # room for it above the lines
    handles, labels = axes.get_legend_handles_labels()
    if title:
        labels = [f"{title} {label}" if i == 0 else label for i, label in enumerate(labels)]
    length = 1.8 if columns <= 6 else 1.2
    axes.legend(handles, labels, loc="upper right", ncols=columns, handlelength=length)


def _say_absent(axes: "Axes") -> None:
    axes.text(0.5, 0.5, "not in this log", transform=axes.transAxes, ha="center", va="center", color=GREY)


# -- marks -------------------------------------------------------------------------------------------------------


def _numbered(log: Log, events: Iterable[Event]) -> list[tuple[str, list[Event]]]:
    """Return events by time, those close together as one mark, with the mark's number."""
    first_us, last_us = int(log.time_us[0]), int(log.time_us[-1])
    inside = sorted(
        (event for event in events if first_us <= event.time_us <= last_us), key=lambda event: event.time_us
    )
    groups: list[list[Event]] = []
    for event in inside:
        if groups and event.time_us - groups[-1][0].time_us <= (last_us - first_us) // 35:
            groups[-1].append(event)
        else:
            groups.append([event])
    return [(str(i + 1), group) for i, group in enumerate(groups)]


def _draw_marks(axes: "Axes", marks: list[tuple[str, list[Event]]]) -> None:
    for number, group in marks:
        is_fault = any(event.is_fault for event in group)
        colour = FAULT if is_fault else EVENT
        for event in group:
            axes.axvline(
                event.time_us / 1e6, color=colour, lw=1.6 if event.is_fault else 0.9, ls=(0, (1, 1.5)), zorder=1
            )
        axes.annotate(
            number,
            (group[0].time_us / 1e6, 1.0),
            (0, 1),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=9.0,
            color=colour if is_fault else "0.3",
            fontweight="bold" if is_fault else "normal",
            annotation_clip=False,
        )


def _list_of(marks: list[tuple[str, list[Event]]]) -> str:
    """Return the list of marks, in lines that fit."""
    items = []
    for number, group in marks:
        text = ", ".join(f"{event.label} {event.time_us / 1e6:.2f} s" for event in group)
        items.append(f"{number}  {text}")
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + len(item) < 190:
            lines[-1] += "     " + item
        else:
            lines.append(item)
    return "\n".join(lines)


def _check_waypoints(waypoints: Sequence[Sequence[float]] | Vector | None) -> Vector:
    if waypoints is None or len(waypoints) == 0:
        return np.zeros((0, 2))
    places = np.asarray(waypoints, np.float64)
    if places.ndim != 2 or places.shape[1] not in (2, 3) or not np.isfinite(places).all():
        raise InputError("waypoints must be rows of north and east, or north, east and down, in finite metres")
    return places
