"""The area of a flight in local coordinates: the zones of its fence, and its rally points.

Edges of polygons are straight on the local map. PX4 draws them straight in latitude and longitude instead; for an edge
of 1 km at 47 degrees of latitude, they differ by about 2 cm in the middle.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.builtin.parameters import RETURN_RALLY
from px4lockstep.autopilots.builtin.rally import RALLY, choose_goal
from px4lockstep.environment.projection import MapProjection
from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted, view
from px4lockstep.px4.missions import Mission

Floats = npt.NDArray[np.float64]
Place = tuple[float, float]
"""North and east of home [m]."""
HOME = "home"


@dataclass(frozen=True)
class Zone:
    """A zone of a fence: a polygon, or a circle if it has a radius, around its only point."""

    name: str
    """Its place in the plan: `geoFence polygons[0]`."""
    is_inclusion: bool
    points: tuple[Place, ...]
    radius_m: float = 0.0

    def margins_m(self, north_m: Floats, east_m: Floats) -> Floats:
        """Return the distance from the zone's edge at each position, negative where the vehicle must not be."""
        points = np.array(self.points)
        if self.radius_m > 0.0:
            inside_m = self.radius_m - _length(north_m - points[0, 0], east_m - points[0, 1])
        else:
            inside_m = _inside_polygon_m(points, north_m, east_m)
        return inside_m if self.is_inclusion else -inside_m


@dataclass(frozen=True)
class Area:
    """Where a vehicle may fly, and where it may land when it returns; by default anywhere, and at home."""

    zones: tuple[Zone, ...] = ()
    rally_points: tuple[Place, ...] = ()
    """Those to which the autopilot can return."""
    is_rally_only: bool = False
    """A return never leads home (RTL_TYPE 5)."""
    radius_m: float = 0.0
    """GF_MAX_HOR_DIST; 0: no limit."""
    height_m: float = 0.0
    """GF_MAX_VER_DIST; 0: no limit."""

    @property
    def has_fence(self) -> bool:
        """Whether there is a place where the vehicle must not be."""
        return bool(self.zones) or self.radius_m > 0.0 or self.height_m > 0.0

    def margins_m(self, pos_ned: Floats) -> Floats:
        """Return the distance from the zones at each position, negative where one is violated; inf without any."""
        margins_m = np.full(len(pos_ned), np.inf)
        for zone in self.zones:
            margins_m = np.minimum(margins_m, zone.margins_m(pos_ned[:, 0], pos_ned[:, 1]))
        return margins_m

    def is_outside(self, pos_ned: Floats) -> npt.NDArray[np.bool_]:
        """Return whether each position violates the zones, or the limits around home."""
        is_outside = self.margins_m(pos_ned) < 0.0
        if self.radius_m > 0.0:
            is_outside |= _length(pos_ned[:, 0], pos_ned[:, 1]) > self.radius_m
        if self.height_m > 0.0:
            is_outside |= -pos_ned[:, 2] > self.height_m
        return is_outside

    def goal_of_return(self, start: Place) -> Place:
        """Return where a return leads that begins at a place, by the autopilot's own rule."""
        rally = view(np.zeros(1, RALLY), writable=True)
        rally.is_rally_only, rally.count = int(self.is_rally_only), len(self.rally_points)
        for record, point in zip(rally.points, self.rally_points, strict=False):
            record.rally_ned[:2] = point
        interpreted(choose_goal)(rally, 0.0, SimpleNamespace(pos_ned=(*start, 0.0)))
        return float(rally.goal_ned[0]), float(rally.goal_ned[1])

    def name_of_goal(self, goal: Place) -> str:
        """Return the name of the goal of a return in messages."""
        if goal in self.rally_points:
            return f"rally point {self.rally_points.index(goal)}"
        return "where the return began" if self.is_rally_only and goal != (0.0, 0.0) else HOME


def zones_of(area: Area) -> tuple[Zone, ...]:
    """Return the zones of a fence, with the limit of the distance from home as one of them."""
    limit = (Zone("GF_MAX_HOR_DIST", True, ((0.0, 0.0),), area.radius_m),) if area.radius_m > 0.0 else ()
    return (*area.zones, *limit)


def area_of(
    mission: object,
    home_lat_deg: float,
    home_lon_deg: float,
    params: Mapping[str, float | int] | None = None,
    uses_rally: bool = True,
) -> Area:
    """Return the area of a mission and of PX4's parameters, as far as they are known."""
    params = params or {}
    limits: dict[str, Any] = {
        "is_rally_only": params.get("RTL_TYPE") == RETURN_RALLY,
        "radius_m": float(params.get("GF_MAX_HOR_DIST", 0.0)),
        "height_m": float(params.get("GF_MAX_VER_DIST", 0.0)),
    }
    if not isinstance(mission, Mission):
        return Area(**limits)
    local, counts, zones = MapProjection(home_lat_deg, home_lon_deg).to_local, {"polygons": 0, "circles": 0}, []
    for zone in mission.fence.zones:
        kind = "polygons" if zone.vertices else "circles"
        points = tuple(local(*point) for point in zone.vertices or (zone.center,))
        zones.append(Zone(f"geoFence {kind}[{counts[kind]}]", zone.is_inclusion, points, zone.radius_m))
        counts[kind] += 1
    rally = mission.rally_points if uses_rally else ()
    return Area(tuple(zones), tuple(local(point.lat_deg, point.lon_deg) for point in rally), **limits)


def check_area(mission: object, home_lat_deg: float, home_lon_deg: float) -> None:
    """Check that the fence of a mission contains home and the mission, which PX4 requires.

    Raises:
        InputError: If it does not. PX4 discards a zone that home violates, and refuses the mission.
    """
    if not isinstance(mission, Mission):
        return
    zones = area_of(mission, home_lat_deg, home_lon_deg).zones
    for where, place in _places(mission, MapProjection(home_lat_deg, home_lon_deg)) if zones else ():
        for zone in zones:
            margin_m = float(zone.margins_m(*(np.array([metres]) for metres in place))[0])
            if margin_m <= 0.0:
                must = "inside" if zone.is_inclusion else "outside"
                raise InputError(
                    f"{where} must be {must} {zone.name} of {mission.source}, but it is {-margin_m:.1f} m on the "
                    "wrong side. PX4 does not fly such a mission; move it, or change the fence"
                )


def _places(mission: Mission, home: MapProjection) -> Iterator[tuple[str, Place]]:
    """Yield home and the positions of a mission, with their names in messages."""
    yield f"home ({home.lat_deg}, {home.lon_deg})", (0.0, 0.0)
    for number, item in enumerate(mission.items):
        if item.command.has_position:
            yield f"{item.place(number)} ({item.command.name})", home.to_local(item.lat_deg, item.lon_deg)


def _length(north_m: Floats, east_m: Floats) -> Floats:
    length: Floats = np.sqrt(north_m * north_m + east_m * east_m)
    return length


def _inside_polygon_m(points: Floats, north_m: Floats, east_m: Floats) -> Floats:
    """Return the distance to the nearest edge, negative outside; the number of edges to the north decides."""
    nearest_m = np.full(len(north_m), np.inf)
    is_inside = np.zeros(len(north_m), np.bool_)
    for (n0, e0), (n1, e1) in zip(points, np.roll(points, -1, axis=0), strict=True):
        edge_n, edge_e = n1 - n0, e1 - e0
        square = edge_n * edge_n + edge_e * edge_e
        along = ((north_m - n0) * edge_n + (east_m - e0) * edge_e) / square if square > 0.0 else np.zeros(len(north_m))
        along = np.clip(along, 0.0, 1.0)
        nearest_m = np.minimum(nearest_m, _length(north_m - n0 - along * edge_n, east_m - e0 - along * edge_e))
        if edge_e != 0.0:
            is_inside ^= ((e0 >= east_m) != (e1 >= east_m)) & (north_m <= n0 + (east_m - e0) * edge_n / edge_e)
    return np.where(is_inside, nearest_m, -nearest_m)
