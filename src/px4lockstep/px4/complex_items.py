"""Items that QGroundControl generates for complex items whose plan contains only settings.

A structure scan flies around a polygon at a distance, once per layer, with the vehicle turned by 90 degrees to the
right of its path. The path is the polygon with each edge moved outwards by that distance: with unit vectors d along two
edges that meet at p, and n to the left of each, the new vertex solves

    (x - p - r n_1) · n_1 = 0,    (x - p - r n_2) · n_2 = 0

A landing pattern is a marker, an optional speed, an approach and a landing.
"""

import math
from collections.abc import Sequence
from typing import Any

from px4lockstep.px4.commands import Command
from px4lockstep.px4.mission_report import MissionReport
from px4lockstep.reading import json_number

Items = list[dict[str, Any]]
Place = tuple[float, float]
RELATIVE, MSL, NO_POSITION = 3, 0, 2
EARTH_RADIUS_M = 6_371_000.0
MAX_LAYERS = 1_000
MAX_VERTICES = 1_000
MAX_SCANNED = 65_535
"""Layers times vertices of a structure scan; PX4 has no more items."""
STRUCTURE = ("EntranceAltitude", "ScanBottomAlt", "StructureHeight", "Layers", "GimbalPitch")
CAMERA = ("DistanceToSurface", "AdjustedFootprintFrontal", "AdjustedFootprintSide")
VTOL_LAND = 85


def simple_item(command: int, frame: int, *params: float) -> dict[str, Any]:
    """Return a simple item as in a plan."""
    values = [None if math.isnan(value) else value for value in params]
    return {"type": "SimpleItem", "autoContinue": True, "command": int(command), "frame": frame, "params": values}


# -- structure scan ----------------------------------------------------------------------------------------------


def structure_items(item: dict[str, Any], where: str, report: MissionReport) -> Items:
    """Return the items of a structure scan; none if there are errors."""
    camera = item.get("CameraCalc")
    values = _numbers(item, STRUCTURE, where, report)
    calc = _numbers(camera if isinstance(camera, dict) else {}, CAMERA, f"{where} CameraCalc", report)
    polygon = _polygon(item.get("polygon"), where, report)
    if values is None or calc is None or polygon is None:
        return []
    entrance_m, bottom_m, top_m, layers, pitch_deg = values
    distance_m, layer_m, trigger_m = calc
    if not (1.0 <= layers <= MAX_LAYERS and layers % 1.0 == 0.0):
        report.error(where, f"Layers = {layers:g} must be a whole number from 1 to {MAX_LAYERS:,}")
        return []
    if layers * len(polygon) > MAX_SCANNED:
        report.error(where, f"{layers:g} layers of {len(polygon):,} vertices are more items than PX4's {MAX_SCANNED:,}")
        return []
    path = moved_outwards(polygon, distance_m)
    if path is None:
        report.error(where, "polygon has edges that are parallel or of length 0; its path is undefined")
        return []

    def waypoint(place: Place, height_m: float) -> dict[str, Any]:
        return simple_item(Command.WAYPOINT, RELATIVE, 0.0, 0.0, 0.0, math.nan, *place, height_m)

    items = [
        waypoint(path[0], entrance_m),
        simple_item(Command.DO_SET_ROI_WPNEXT_OFFSET, NO_POSITION, 0.0, 0.0, 0.0, 0.0, pitch_deg, 0.0, 90.0),
    ]
    step_m = -layer_m if item.get("StartFromTop") is True else layer_m
    height_m = (top_m if step_m < 0.0 else bottom_m) + 0.5 * step_m
    start, stop = ((trigger_m, 0.0, 1.0), (0.0, 0.0, 0.0))
    for _ in range(int(layers)):
        around = [waypoint(place, height_m) for place in (*path, path[0])]
        items += [around[0], simple_item(Command.DO_SET_CAM_TRIGG_DIST, NO_POSITION, *start, 0.0, 0.0, 0.0, 0.0)]
        items += [*around[1:], simple_item(Command.DO_SET_CAM_TRIGG_DIST, NO_POSITION, *stop, 0.0, 0.0, 0.0, 0.0)]
        height_m += step_m
    items.append(simple_item(Command.DO_SET_ROI_NONE, NO_POSITION, *(0.0,) * 7))
    return [*items, waypoint(path[0], entrance_m)]


def moved_outwards(polygon: Sequence[Place], distance_m: float) -> list[Place] | None:
    """Return a polygon with its edges moved to the left by a distance; None if two of its edges do not intersect.

    QGroundControl stores polygons clockwise, so that the left is the outside.
    """
    lat0, lon0 = polygon[0]
    east_m = math.cos(math.radians(lat0)) * EARTH_RADIUS_M
    flat = [(math.radians(lat - lat0) * EARTH_RADIUS_M, math.radians(lon - lon0) * east_m) for lat, lon in polygon]
    moved: list[Place] = []
    for before, here, after in zip((flat[-1], *flat), flat, (*flat[1:], flat[0]), strict=False):
        first, second = _left_of(before, here), _left_of(here, after)
        cross = first[0] * second[1] - first[1] * second[0]
        if abs(cross) < 1e-9:
            return None
        a = first[0] * here[0] + first[1] * here[1] + distance_m
        b = second[0] * here[0] + second[1] * here[1] + distance_m
        north, east = (a * second[1] - b * first[1]) / cross, (b * first[0] - a * second[0]) / cross
        moved.append((lat0 + math.degrees(north / EARTH_RADIUS_M), lon0 + math.degrees(east / east_m)))
    return moved


def _left_of(start: Place, end: Place) -> Place:
    """Return the unit vector to the left of an edge, north and east; zero if the edge has no length."""
    north, east = end[0] - start[0], end[1] - start[1]
    length = math.hypot(north, east)
    return (east / length, -north / length) if length > 0.0 else (0.0, 0.0)


# -- landing patterns --------------------------------------------------------------------------------------------


def landing_items(item: dict[str, Any], where: str, report: MissionReport) -> Items:
    """Return the items of a landing pattern of a fixed wing or a VTOL; none if there are errors."""
    approach = _place(item, ("landingApproachCoordinate", "loiterCoordinate"), where, report)
    touchdown = _place(item, ("landCoordinate",), where, report)
    numbers = _numbers({"finalApproachSpeed": 0.0, **item}, ("loiterRadius", "finalApproachSpeed"), where, report)
    if approach is None or touchdown is None or numbers is None:
        return []
    is_relative = item.get("altitudesAreRelative", item.get("landAltitudeRelative", True)) is True
    frame = RELATIVE if is_relative else MSL
    items = [simple_item(Command.DO_LAND_START, NO_POSITION, *(0.0,) * 7)]
    if item.get("useDoChangeSpeed") is True:
        items.append(simple_item(Command.DO_CHANGE_SPEED, NO_POSITION, 0.0, int(numbers[1]), -1.0, *(0.0,) * 4))
    if item.get("stopTakingPhotos") is True:
        items.append(simple_item(Command.DO_SET_CAM_TRIGG_DIST, NO_POSITION, *(0.0,) * 7))
        items.append(simple_item(Command.IMAGE_STOP_CAPTURE, NO_POSITION, 0.0, *(math.nan,) * 6))
    if item.get("stopVideoPhotos") is True:
        items.append(simple_item(Command.VIDEO_STOP_CAPTURE, NO_POSITION, 0.0, *(math.nan,) * 6))
    if item.get("useLoiterToAlt", True) is True:
        radius_m = numbers[0] if item.get("loiterClockwise") is True else -numbers[0]
        items.append(simple_item(Command.LOITER_TO_ALT, frame, 1.0, radius_m, 0.0, 1.0, *approach))
    else:
        items.append(simple_item(Command.WAYPOINT, frame, 0.0, 0.0, 0.0, math.nan, *approach))
    if item.get("complexItemType") == "vtolLandingPattern":
        return [*items, simple_item(VTOL_LAND, frame, 0.0, 0.0, 0.0, math.nan, *touchdown)]
    return [*items, simple_item(Command.LAND, frame, 0.0, 0.0, 0.0, 0.0, *touchdown)]


# -- values ------------------------------------------------------------------------------------------------------


def _numbers(
    table: dict[str, Any], names: Sequence[str], where: str, report: MissionReport
) -> tuple[float, ...] | None:
    """Return finite numbers of a table by their names; report others, and return None if there are any."""
    values = {name: json_number(table.get(name)) for name in names}
    bad = [name for name, value in values.items() if value is None or not math.isfinite(value)]
    for name in bad:
        report.error(where, f"{name} = {table.get(name)!r:.80} must be a number")
    return None if bad else tuple(value for value in values.values() if value is not None)


def _polygon(value: Any, where: str, report: MissionReport) -> list[Place] | None:
    """Return the vertices of a polygon, latitude and longitude."""
    vertices = value if isinstance(value, list) else []
    places = [_coordinate(vertex, 2) for vertex in vertices[: MAX_VERTICES + 1]]
    if not 3 <= len(vertices) <= MAX_VERTICES or any(place is None for place in places):
        report.error(
            where, f"polygon = {value!r:.80} must be a list of 3 to {MAX_VERTICES:,} vertices: [latitude, longitude]"
        )
        return None
    return [(place[0], place[1]) for place in places if place is not None]


def _place(item: dict[str, Any], names: Sequence[str], where: str, report: MissionReport) -> tuple[float, ...] | None:
    """Return latitude, longitude and altitude under the first of some names that exists."""
    name = next((name for name in names if name in item), names[0])
    found = _coordinate(item.get(name), 3)
    if found is None:
        report.error(where, f"{name} = {item.get(name)!r:.80} must be latitude, longitude (degrees) and altitude (m)")
    return found


def _coordinate(value: Any, count: int) -> tuple[float, ...] | None:
    """Return the first numbers of a coordinate, or None if it is invalid."""
    parts = value if isinstance(value, list) and count <= len(value) <= 3 else []
    numbers = [number for number in map(json_number, parts[:count]) if number is not None and math.isfinite(number)]
    if len(numbers) < count or abs(numbers[0]) > 90.0 or abs(numbers[1]) > 180.0:
        return None
    return tuple(numbers)
