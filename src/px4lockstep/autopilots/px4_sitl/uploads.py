"""What PX4 receives by MAVLink's mission protocol: the geofence, the rally points and the mission.

They are sent in this order, because PX4 checks the mission against the geofence. Polygons come before circles: PX4
reads a polygon that follows a circle as another circle.

Reference: https://mavlink.io/en/services/mission.html
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from px4lockstep.px4.commands import Command as ItemCommand
from px4lockstep.px4.fence import Fence, FenceZone, RallyPoint
from px4lockstep.px4.mission_items import MissionItem

MISSION, FENCE, RALLY = range(3)
"""MAV_MISSION_TYPE."""
GLOBAL, RELATIVE, NO_POSITION = 5, 6, 2
"""Frames with integer coordinates, and the frame of items without a position."""
POLYGON_COMMANDS = {True: 5001, False: 5002}
CIRCLE_COMMANDS = {True: 5003, False: 5004}
"""MAV_CMD_NAV_FENCE_…, by whether the zone is an inclusion."""
RALLY_COMMAND = 5100
MAX_INT = 2**31 - 1
RESULTS = {
    1: "error",
    2: "frame not supported",
    3: "command not supported",
    4: "no space",
    5: "invalid value",
    13: "item out of order",
    14: "denied",
    15: "cancelled",
}
"""MAV_MISSION_RESULT; 6 to 12 are about parameters 1 to 7."""
FIRST_PARAMETER = 6
COORDINATES = (4, 5)
"""Places of x and y among the parameters, which are scaled by 1e7 in some frames."""

Fields = tuple[Any, ...]
"""Fields of MISSION_ITEM_INT from `seq` to `z`."""


@dataclass(frozen=True)
class Upload:
    """A list of items for PX4: its MAV_MISSION_TYPE, its name in errors, the fields and the places of its items."""

    kind: int
    name: str
    items: tuple[Fields, ...]
    places: tuple[str, ...] = ()


def uploads_of(items: Sequence[MissionItem], fence: Fence, rally_points: Sequence[RallyPoint]) -> list[Upload]:
    """Return what to send, in order; nothing that is empty."""
    zones = sorted(fence.zones, key=lambda zone: not zone.vertices)
    points = [point for zone in zones for point in _zone_points(zone)]
    places = tuple(item.place(i) for i, item in enumerate(items))
    uploads = [
        Upload(FENCE, "the geofence", tuple(_point(i, *point) for i, point in enumerate(points))),
        Upload(RALLY, "the rally points", tuple(_rally(i, point) for i, point in enumerate(rally_points))),
        Upload(MISSION, "the mission", tuple(item_fields(item, i) for i, item in enumerate(items)), places),
    ]
    return [upload for upload in uploads if upload.items]


def rejection(upload: Upload, result: int, number: int | None) -> str:
    """Return what PX4 rejected and why; `number` is that of the last item sent, None if it requested none."""
    meaning, where, params = RESULTS.get(result, "unknown"), "", ()
    if number is not None:
        command, params = upload.items[number][2], upload.items[number][5:]
        name = ItemCommand(command).name if upload.kind == MISSION else "command"
        where = f" at {upload.places[number] if upload.places else f'item {number}'}, {name} ({command}),"
    if FIRST_PARAMETER <= result < FIRST_PARAMETER + 7:
        place = result - FIRST_PARAMETER
        value = f" = {params[place]:g}" if number is not None and place not in COORDINATES else ""
        meaning = f"parameter {place + 1}{value} is not allowed by this version of PX4"
    return f"PX4 rejected {upload.name}{where} with MAV_MISSION_RESULT {result}: {meaning}"


def item_fields(item: MissionItem, number: int) -> Fields:
    """Return the fields of a mission item."""
    has_place = item.command.has_place and not math.isnan(item.lat_deg)
    frame = NO_POSITION if not has_place else RELATIVE if item.is_relative_alt else GLOBAL
    start = (number, frame, int(item.command), int(number == 0), 1)
    place: Fields = (*_place(item.lat_deg, item.lon_deg), item.alt_m) if has_place else (0, 0, 0.0)
    if item.params:
        return (*start, *item.params[:4], *(place if has_place else _raw(item.params[4:])))
    first, second, third = item.hold_s, item.acceptance_radius_m, 0.0
    if item.command is ItemCommand.DO_JUMP:
        first, second = float(item.jump_to), float(item.jump_repeats)
    elif item.command is ItemCommand.DO_CHANGE_SPEED:
        first, second, third = 1.0, -1.0 if math.isnan(item.speed_m_s) else item.speed_m_s, -1.0
    has_yaw = item.command.has_position and item.command is not ItemCommand.LOITER_TO_ALT
    return (*start, first, second, third, item.yaw_deg if has_yaw else 0.0, *place)


def _raw(values: Sequence[float]) -> Fields:
    """Return x, y and z of an item without a position; x and y are whole numbers in the protocol."""
    x, y = (0 if math.isnan(value) else round(min(max(value, -MAX_INT), MAX_INT)) for value in values[:2])
    return x, y, values[2]


def _zone_points(zone: FenceZone) -> list[tuple[int, float, float, float]]:
    """Return command, first parameter, latitude and longitude of a circle, or of each vertex of a polygon."""
    if not zone.vertices:
        return [(CIRCLE_COMMANDS[zone.is_inclusion], zone.radius_m, *zone.center)]
    return [(POLYGON_COMMANDS[zone.is_inclusion], float(len(zone.vertices)), *vertex) for vertex in zone.vertices]


def _point(number: int, command: int, first: float, lat_deg: float, lon_deg: float) -> Fields:
    return (number, GLOBAL, command, 0, 1, first, 0.0, 0.0, 0.0, *_place(lat_deg, lon_deg), 0.0)


def _rally(number: int, point: RallyPoint) -> Fields:
    frame = RELATIVE if point.is_relative_alt else GLOBAL
    return (number, frame, RALLY_COMMAND, 0, 1, 0.0, 0.0, 0.0, 0.0, *_place(point.lat_deg, point.lon_deg), point.alt_m)


def _place(lat_deg: float, lon_deg: float) -> tuple[int, int]:
    return round(1e7 * lat_deg), round(1e7 * lon_deg)
