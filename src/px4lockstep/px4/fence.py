"""Geofences and rally points of QGroundControl plans.

A fence is a set of zones: polygons and circles that the vehicle must stay inside (inclusion) or outside (exclusion). As
in PX4, a position is allowed if it is inside all inclusion zones and outside all exclusion zones. Zones have no height.
Rally points are places where a return may land instead of at home.

Reference: QGroundControl's plan file format, and PX4's `mission_fence_point_s` and `mission_safe_point_s`.
"""

import math
from dataclasses import dataclass
from typing import Any

from px4lockstep.errors import ErrorLines
from px4lockstep.reading import json_number

__all__ = ["Fence", "FenceZone", "RallyPoint", "read_fence", "read_rally"]

MAX_FENCE_POINTS = 64
"""PX4 stores so many vertices and circles (`DM_KEY_FENCE_POINTS_MAX`)."""
MAX_RALLY_POINTS = 32
"""PX4 stores so many rally points (`DM_KEY_SAFE_POINTS_MAX`)."""
MIN_VERTICES = 3
MAX_RADIUS_M = 1e6
MAX_ALT_M = 1e5
VERSIONS = {"geoFence": 2, "rallyPoints": 2, "polygons": 1, "circles": 1}
"""The only version of each part of a plan that is supported; it is that of QGroundControl 3.4 and later."""
HALF_TURN_DEG = 180.0

Point = tuple[float, float]
"""Latitude and longitude in degrees."""


@dataclass(frozen=True)
class FenceZone:
    """A zone of a fence: a polygon if it has vertices, otherwise a circle."""

    is_inclusion: bool
    """The vehicle must stay inside; otherwise outside."""
    vertices: tuple[Point, ...] = ()
    """Latitude and longitude of a polygon's vertices, in degrees. The last one is connected to the first one."""
    center: Point = (math.nan, math.nan)
    """Latitude and longitude of a circle's center, in degrees."""
    radius_m: float = 0.0


@dataclass(frozen=True)
class Fence:
    """Zones that restrict where the vehicle may fly; none is no restriction."""

    zones: tuple[FenceZone, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there are zones."""
        return bool(self.zones)

    @property
    def point_count(self) -> int:
        """Number of vertices and circles, which is what PX4 stores."""
        return sum(len(zone.vertices) or 1 for zone in self.zones)


@dataclass(frozen=True)
class RallyPoint:
    """A place where a return may land."""

    lat_deg: float
    lon_deg: float
    alt_m: float
    is_relative_alt: bool = True
    """The altitude is above home, not above sea level."""


def read_fence(value: Any, source: str, report: ErrorLines, warnings: list[str]) -> Fence:
    """Return the fence of a plan's `geoFence`; report errors, with which it is incomplete."""
    parts = _parts(value, "geoFence", ("polygons", "circles", "breachReturn"), source, report)
    if parts.get("breachReturn") is not None:
        warnings.append(f"{source}: geoFence breachReturn has no effect, because PX4 ignores it; use a rally point")
    zones = [
        zone
        for name, read in (("polygons", _polygon), ("circles", _circle))
        for number, item in enumerate(_list(parts.get(name), f"{source}: geoFence {name}", report))
        if (zone := _zone(item, name, read, f"{source}: geoFence {name}[{number}]", report)) is not None
    ]
    fence = Fence(tuple(zones))
    if fence.point_count > MAX_FENCE_POINTS:
        report.append(
            f"{source}: geoFence has {fence.point_count:,} vertices and circles; PX4 stores at most "
            f"{MAX_FENCE_POINTS}; remove some"
        )
    return fence


def read_rally(value: Any, source: str, report: ErrorLines) -> tuple[RallyPoint, ...]:
    """Return the rally points of a plan's `rallyPoints`; report errors, with which they are incomplete."""
    parts = _parts(value, "rallyPoints", ("points",), source, report)
    items = _list(parts.get("points"), f"{source}: rallyPoints points", report)
    if len(items) > MAX_RALLY_POINTS:
        report.append(f"{source}: rallyPoints has {len(items):,} points; PX4 stores at most {MAX_RALLY_POINTS}")
        return ()
    points = []
    for number, item in enumerate(items):
        match [json_number(part) for part in item] if isinstance(item, list) else item:
            case [float(lat), float(lon), float(alt)] if _is_place(lat, lon) and abs(alt) <= MAX_ALT_M:
                points.append(RallyPoint(lat, lon, alt))
            case _:
                report.append(
                    f"{source}: rallyPoints points[{number}] = {item!r:.80} must be latitude, longitude (degrees) and "
                    f"altitude above home (m, at most {MAX_ALT_M:,.0f} either way)"
                )
    return tuple(points)


def _parts(value: Any, name: str, known: tuple[str, ...], source: str, report: ErrorLines) -> dict[str, Any]:
    """Return the parts of an object of a plan that are not empty; report unknown ones, and other versions."""
    if value is not None and not isinstance(value, dict):
        report.append(f"{source}: {name} = {value!r:.80} must be an object with {', '.join(known)}")
        return {}
    given: dict[str, Any] = value or {}
    parts = {key: part for key, part in given.items() if key != "version" and part}
    if not parts or not _has_version(given, name, f"{source}: {name}", report):
        return {}
    for key in parts:
        if key not in known:
            report.append(
                f"{source}: {name} has {key!r:.80}, which would be ignored; remove it from the plan. "
                f"Supported: {', '.join(known)}"
            )
    return parts


def _has_version(value: dict[str, Any], name: str, where: str, report: ErrorLines) -> bool:
    """Return whether a part has the supported version, or none; report another one."""
    version = value.get("version", VERSIONS[name])
    if version == VERSIONS[name] and not isinstance(version, bool):
        return True
    report.append(
        f"{where} has version {version!r:.80}; it must be {VERSIONS[name]}, the only supported one. "
        "Save the plan with a current QGroundControl"
    )
    return False


def _list(value: Any, where: str, report: ErrorLines) -> list[Any]:
    if value is None or isinstance(value, list):
        return value or []
    report.append(f"{where} = {value!r:.80} must be a list")
    return []


def _zone(item: Any, name: str, read: Any, where: str, report: ErrorLines) -> FenceZone | None:
    """Return a zone of a plan, or None after reporting errors."""
    if not isinstance(item, dict):
        report.append(f"{where} = {item!r:.80} must be an object")
        return None
    is_inclusion = item.get("inclusion")
    if not isinstance(is_inclusion, bool):
        report.append(f"{where}: inclusion = {is_inclusion!r:.80} must be true (stay inside) or false (stay outside)")
        return None
    zone: FenceZone | None = read(item, is_inclusion, where, report)
    return zone if _has_version(item, name, where, report) else None


def _polygon(item: dict[str, Any], is_inclusion: bool, where: str, report: ErrorLines) -> FenceZone | None:
    """Return a polygon of a plan, or None after reporting errors."""
    corners = item.get("polygon")
    if not isinstance(corners, list) or len(corners) < MIN_VERTICES:
        report.append(f"{where}: polygon = {corners!r:.80} must be a list of at least {MIN_VERTICES} vertices")
        return None
    before = report.total
    vertices = [_place(corner, f"{where} polygon[{number}]", report) for number, corner in enumerate(corners)]
    if report.total > before:
        return None
    longitudes = [lon for _, lon in vertices]
    if max(longitudes) - min(longitudes) > HALF_TURN_DEG:
        report.append(f"{where} extends over more than 180 degrees of longitude; PX4 can't handle zones across ±180")
        return None
    return FenceZone(is_inclusion, tuple(vertices))


def _circle(item: dict[str, Any], is_inclusion: bool, where: str, report: ErrorLines) -> FenceZone | None:
    """Return a circle of a plan, or None after reporting errors."""
    circle = item.get("circle")
    if not isinstance(circle, dict):
        report.append(f"{where}: circle = {circle!r:.80} must be an object with center and radius")
        return None
    before = report.total
    center = _place(circle.get("center"), f"{where} center", report)
    radius_m = json_number(circle.get("radius"))
    if radius_m is None or not 0.0 < radius_m <= MAX_RADIUS_M:
        report.append(
            f"{where}: radius = {circle.get('radius')!r:.80} must be above 0 m, and at most {MAX_RADIUS_M:,.0f} m"
        )
    return None if report.total > before or radius_m is None else FenceZone(is_inclusion, (), center, radius_m)


def _place(value: Any, where: str, report: ErrorLines) -> Point:
    """Return latitude and longitude; report anything else."""
    match [json_number(part) for part in value] if isinstance(value, list) else value:
        case [float(lat), float(lon)] if _is_place(lat, lon):
            return lat, lon
    report.append(f"{where} = {value!r:.80} must be latitude (-90 to 90) and longitude (-180 to 180), in degrees")
    return math.nan, math.nan


def _is_place(lat_deg: float, lon_deg: float) -> bool:
    return abs(lat_deg) <= 90.0 and abs(lon_deg) <= HALF_TURN_DEG
