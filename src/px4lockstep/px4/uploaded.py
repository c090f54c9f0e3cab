"""Missions, geofences and rally points as a ground station uploads them: the items of MAVLink's mission protocol."""

import math
from collections.abc import Sequence
from typing import Protocol

from px4lockstep.errors import ErrorLines, InputError
from px4lockstep.px4.fence import MAX_FENCE_POINTS, MAX_RALLY_POINTS, MIN_VERTICES, Fence, FenceZone, RallyPoint
from px4lockstep.px4.mission_items import MSL_FRAMES
from px4lockstep.px4.mission_report import MissionReport
from px4lockstep.px4.missions import Mission, mission_of_rows
from px4lockstep.px4.plans import ItemRow

MISSION, FENCE, RALLY = "the uploaded mission", "the uploaded geofence", "the uploaded rally points"
POLYGON_IN, POLYGON_OUT, CIRCLE_IN, CIRCLE_OUT, RALLY_POINT = 5001, 5002, 5003, 5004, 5100
"""MAV_CMD_NAV_FENCE_POLYGON_VERTEX_INCLUSION and so on."""


class UploadedItem(Protocol):
    """An item; `x` and `y` are latitude and longitude in degrees."""

    @property
    def frame(self) -> int: ...  # noqa: D102 (the fields of MISSION_ITEM_INT)
    @property
    def command(self) -> int: ...  # noqa: D102
    @property
    def params(self) -> tuple[float, float, float, float]: ...  # noqa: D102
    @property
    def x(self) -> float: ...  # noqa: D102
    @property
    def y(self) -> float: ...  # noqa: D102
    @property
    def z(self) -> float: ...  # noqa: D102


def uploaded_mission(items: Sequence[UploadedItem]) -> Mission:
    """Return the mission of some items; `line` of each item is its number in the upload.

    Raises:
        InputError: If it can't be flown; one report lists all errors.
    """
    rows = (
        ItemRow(f"{MISSION} item {i}", i, float(item.frame), float(item.command), [*item.params, *_place(item)])
        for i, item in enumerate(items)
    )
    return mission_of_rows(rows, MISSION, MissionReport(), is_plan=True)


def _place(item: UploadedItem) -> tuple[float, float, float]:
    return item.x, item.y, item.z


def uploaded_fence(items: Sequence[UploadedItem]) -> Fence:
    """Return the fence of some items; the first parameter is the number of vertices of a polygon, or a radius.

    Raises:
        InputError: If it is invalid, or too large for PX4; one report lists all errors.
    """
    errors, zones, i = ErrorLines(), [], 0
    if len(items) > MAX_FENCE_POINTS:
        raise InputError(f"{FENCE} has {len(items):,} vertices and circles; PX4 stores at most {MAX_FENCE_POINTS}")
    while i < len(items):
        item, count = items[i], 1
        is_inclusion = item.command in (POLYGON_IN, CIRCLE_IN)
        where = f"{FENCE} item {i}"
        if item.command in (POLYGON_IN, POLYGON_OUT):
            count = int(item.params[0]) if math.isfinite(item.params[0]) else 0
            corners = items[i : i + count]
            if count < MIN_VERTICES or len(corners) < count or any(each.command != item.command for each in corners):
                errors.append(f"{where}: a polygon needs its number of vertices, at least {MIN_VERTICES}, and as many")
                break
            zones.append(FenceZone(is_inclusion, tuple((each.x, each.y) for each in corners)))
        elif item.command in (CIRCLE_IN, CIRCLE_OUT):
            if not item.params[0] < math.inf:
                errors.append(f"{where}: the radius of a circle must be a number of metres, not {item.params[0]}")
            if item.params[0] > 0.0:  # MAVSDK sends a circle without a radius if there is none
                zones.append(FenceZone(is_inclusion, (), (item.x, item.y), item.params[0]))
        else:
            errors.append(f"{where}: command {item.command} is not part of a geofence")
        i += count
    _check_places(items, FENCE, errors)
    return Fence(tuple(zones))


def uploaded_rally(items: Sequence[UploadedItem]) -> tuple[RallyPoint, ...]:
    """Return the rally points of some items.

    Raises:
        InputError: If they are invalid, or too many for PX4; one report lists all errors.
    """
    errors = ErrorLines()
    if len(items) > MAX_RALLY_POINTS:
        raise InputError(f"{RALLY}: {len(items)} points are given; PX4 stores at most {MAX_RALLY_POINTS}")
    for i, item in enumerate(items):
        if item.command != RALLY_POINT:
            errors.append(f"{RALLY} item {i}: command {item.command} is not a rally point")
    _check_places(items, RALLY, errors)
    return tuple(RallyPoint(item.x, item.y, item.z, item.frame not in MSL_FRAMES) for item in items)


def _check_places(items: Sequence[UploadedItem], what: str, errors: ErrorLines) -> None:
    """Add places that are not on the earth, and raise if there are errors."""
    for i, item in enumerate(items):
        if not (abs(item.x) <= 90.0 and abs(item.y) <= 180.0 and math.isfinite(item.z)):
            errors.append(f"{what} item {i}: {item.x}, {item.y}, {item.z} is not a latitude, longitude and altitude")
    if errors:
        raise InputError("\n".join(errors.shown()))
