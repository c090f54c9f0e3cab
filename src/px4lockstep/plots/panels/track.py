"""Panel of the track over ground, with waypoints, fence, rally points and wind."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from px4lockstep.autopilots.area import Area, zones_of
from px4lockstep.errors import InputError
from px4lockstep.log.log import Log
from px4lockstep.plots.looks import AXIS_COLOURS
from px4lockstep.plots.panels.lines import Vector
from px4lockstep.plots.style import GREY, SMALL_PT, add_key, panel_size_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIND_ROOM = 0.12
"""Space for the arrow of the wind below the track, of the height of the track."""
TEXT_PART = 0.07
"""Distance of a text from its place, as a fraction of the width of the track."""
SIDES = {
    "top right": (0.7, 0.7),
    "top left": (0.7, -0.7),
    "bottom right": (-0.7, 0.7),
    "bottom left": (-0.7, -0.7),
    "middle right": (0.0, 1.0),
    "middle left": (0.0, -1.0),
    "top center": (1.0, 0.0),
    "bottom center": (-1.0, 0.0),
}
"""Sides of a place on a map, by their names in Plotly: north and east."""
HORIZONTAL = {"right": "left", "left": "right", "center": "center"}
"""How a text on a side is aligned."""
Places = Mapping[int, tuple[float, float]]
"""North and east [m] by the number of the mission item."""


def check_waypoints(waypoints: Mapping[int, Sequence[float]] | None) -> Places:
    """Check waypoints, and return their north and east."""
    places = {}
    for number, place in (waypoints or {}).items():
        point = np.asarray(place, np.float64)
        if point.shape not in ((2,), (3,)) or not np.isfinite(point).all():
            raise InputError(
                f"waypoint {number} = {place!r} is invalid; it must be north and east, or north, east and down, in "
                "finite metres"
            )
        places[int(number)] = (float(point[0]), float(point[1]))
    return places


def draw_track(axes: "Axes", log: Log, places: Places, area: Area) -> None:
    """Draw the flown track, its setpoint, the waypoints, the fence and the rally points."""
    pos = log["pos_ned"]
    axes.set_title("Track over ground")
    axes.grid(visible=True)
    if "pos_sp_ned" in log:
        wanted = log["pos_sp_ned"]
        axes.plot(wanted[:, 1], wanted[:, 0], "--", color="0.25", lw=1.1, label="setpoint", zorder=3)
    axes.plot(pos[:, 1], pos[:, 0], color=AXIS_COLOURS[0], lw=2.4, alpha=0.85, zorder=2)
    corners = np.array(list(places.values())).reshape(-1, 2)
    if places:
        axes.plot(corners[:, 1], corners[:, 0], "o", ms=15, mfc="white", mec="0.2", mew=1.3, label="waypoint", zorder=4)
        _number_places(axes, pos, places)
    axes.plot(pos[0, 1], pos[0, 0], "^", ms=15, mfc="none", mec="0.1", mew=1.8, ls="none", label="start", zorder=5)
    axes.plot(pos[-1, 1], pos[-1, 0], "s", ms=9, color="0.1", ls="none", label="end", mec="white", mew=1.2, zorder=5)
    axes.set_xlabel("east [m]")
    axes.set_ylabel("north [m]")
    rally = np.array(area.rally_points).reshape(-1, 2)
    if len(rally):
        axes.plot(rally[:, 1], rally[:, 0], "s", ms=12, mfc="white", mec="0.2", label="rally point", zorder=4)
    for north_m, east_m in area.rally_points:
        axes.annotate("R", (east_m, north_m), ha="center", va="center_baseline", fontsize=SMALL_PT, zorder=6)
    _draw_fence(axes, area)
    _make_room(axes, np.concatenate([pos[:, :2], corners, rally]), _edges(area))
    _draw_wind(axes, log)
    add_key(axes)


def places_by_number(places: Places) -> list[tuple[tuple[float, float], str]]:
    """Return the places of waypoints with their numbers; those at the same place share one."""
    groups: list[tuple[tuple[float, float], list[str]]] = []
    for number, place in places.items():
        for where, numbers in groups:
            if np.hypot(where[0] - place[0], where[1] - place[1]) < 0.5:
                numbers.append(str(number))
                break
        else:
            groups.append((place, [str(number)]))
    return [(where, ", ".join(numbers)) for where, numbers in groups]


def free_sides(pos_ned: Vector, places: Sequence[tuple[float, float]]) -> list[tuple[str, tuple[float, float]]]:
    """Return the side of each place on which a text is farthest from the track and from other places.

    A side is a name, such as `top right`, and a direction: north and east.
    """
    every = np.concatenate([pos_ned[:: max(1, len(pos_ned) // 2_000), :2], np.array(places).reshape(-1, 2)])
    every = every[np.isfinite(every).all(axis=1)]
    reach = TEXT_PART * float(max(np.ptp(every, axis=0).max(), 1.0))
    ways = list(SIDES.items())
    found = []
    for place in places:
        here = np.array(place)
        others = every[np.linalg.norm(every - here, axis=1) > 1e-3 * reach] - here
        texts = [np.outer(reach * np.array((0.5, 1.0, 1.5)), way) for _, way in ways]
        room = [np.linalg.norm(others[:, np.newaxis] - text, axis=2).min(initial=np.inf) for text in texts]
        found.append(ways[int(np.argmax(room))])
    return found


def _number_places(axes: "Axes", pos_ned: Vector, places: Places) -> None:
    """Number the waypoints; several numbers of one place are next to its marker, on the side without the track."""
    numbered = places_by_number(places)
    sides = free_sides(pos_ned, [where for where, _ in numbered])
    for (where, numbers), (name, (north, east)) in zip(numbered, sides, strict=True):
        if "," not in numbers:
            offset, how = (0.0, 0.0), ("center", "center_baseline")
        else:
            offset = 13.0 * east, 12.0 * north
            how = HORIZONTAL[name.split()[1]], "center"
        style: dict[str, Any] = {"ha": how[0], "va": how[1], "fontsize": SMALL_PT, "zorder": 6}
        axes.annotate(numbers, (where[1], where[0]), offset, textcoords="offset points", **style)


def _draw_fence(axes: "Axes", area: Area) -> None:
    """Draw the zones: solid edges around those to stay inside, dashed and hatched ones to stay outside."""
    from matplotlib.patches import Circle, Patch, Polygon

    labelled = set()
    for zone in zones_of(area):
        look: dict[str, Any] = {"fill": False, "ec": "0.2", "lw": 1.6, "zorder": 1.5}
        look |= {"label": "stay inside"} if zone.is_inclusion else {"label": "stay outside", "ls": "--", "hatch": "///"}
        if look["label"] in labelled:
            del look["label"]
        labelled.add(look.get("label"))
        points = [(east_m, north_m) for north_m, east_m in zone.points]
        patch: Patch = Circle(points[0], zone.radius_m, **look) if zone.radius_m > 0.0 else Polygon(points, **look)
        axes.add_patch(patch)


def _edges(area: Area) -> Vector:
    """Return points on the outermost edges of the zones."""
    found = [
        (north_m + zone.radius_m * sign, east_m + zone.radius_m * sign)
        for zone in zones_of(area)
        for north_m, east_m in zone.points
        for sign in (-1.0, 1.0)
    ]
    return np.array(found).reshape(-1, 2)


def _make_room(axes: "Axes", points: Vector, edges: Vector) -> None:
    """Show all points with equal scales, at least 2 m wide, in the shape of the panel.

    Edges of the fence are shown if they are not far away: they make the square at most twice as wide.
    """
    middle, half = _square(points)
    if len(edges):
        middle, half = _square(np.concatenate([points, np.clip(edges, middle - 1.5 * half, middle + 1.5 * half)]))
    width_in, height_in = panel_size_in(axes)
    height = 2.0 * half + WIND_ROOM * 2.0 * half
    half_width = max(half, 0.5 * height * width_in / height_in)
    axes.set_aspect("equal", adjustable="box")
    axes.locator_params(nbins=5)
    axes.set_xlim(middle[1] - half_width, middle[1] + half_width)
    axes.set_ylim(middle[0] + half - height, middle[0] + half)


def _square(points: Vector) -> tuple[Vector, float]:
    """Return the middle of points, and half the width of a square around them."""
    low, high = points.min(axis=0), points.max(axis=0)
    return 0.5 * (low + high), max(1.0, 0.58 * float((high - low).max()))


def _draw_wind(axes: "Axes", log: Log) -> None:
    """Draw an arrow of the mean wind in a corner; it points where the wind blows to."""
    if "wind_ned" not in log:
        return
    north, east, _ = log["wind_ned"].mean(axis=0)
    speed = float(np.hypot(north, east))
    if speed < 0.05:
        axes.text(0.02, 0.02, "no mean wind", transform=axes.transAxes, color=GREY, va="bottom")
        return
    unit_n, unit_e = 0.045 * north / speed, 0.045 * east / speed
    ends = (0.06 + unit_e, 0.06 + unit_n), (0.06 - unit_e, 0.06 - unit_n)
    arrow = {
        "arrowstyle": "-|>,head_width=0.35,head_length=0.7",
        "lw": 2.4,
        "color": "0.25",
        "shrinkA": 0,
        "shrinkB": 0,
    }
    axes.annotate("", *ends, xycoords="axes fraction", arrowprops=arrow)
    axes.text(0.13, 0.055, f"mean wind {speed:.1f} m/s", transform=axes.transAxes, va="center", color="0.25")
