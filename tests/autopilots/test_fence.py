"""The fence's geometry, by hand: polygons, circles, limits, distances, and the time of the checks."""

import math
from dataclasses import replace

import numpy as np
import pytest

from px4lockstep.autopilots.area import HOME, Area, Zone, area_of, check_area
from px4lockstep.autopilots.fence import FENCE, PERIOD_US, is_beyond, leaves, mode_of_action, write_fence
from px4lockstep.autopilots.requests import LAND_MODE, LOITER_MODE, MANUAL_MODE, RETURN_MODE
from px4lockstep.engine.bus import BUS
from px4lockstep.environment.projection import MapProjection
from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted, view
from px4lockstep.px4.fence import Fence, FenceZone, RallyPoint
from px4lockstep.px4.missions import Command, Mission, MissionItem

CORNER = ((0.0, 0.0), (10.0, 0.0), (10.0, 4.0), (4.0, 4.0), (4.0, 10.0), (0.0, 10.0))
"""An L: two arms of 10 m, 4 m wide, north and east of the origin."""
LIMITS = {"GF_ACTION": 2, "GF_MAX_HOR_DIST": 0.0, "GF_MAX_VER_DIST": 0.0}
HERE = (47.4, 8.5)


def fence_of(*zones, **params):
    """Return a record of a fence."""
    record = np.zeros(1, FENCE)
    write_fence(record[0], Area(zones), LIMITS | params)
    return view(record, writable=True)


def polygon(points=CORNER, is_inclusion=True):
    return Zone("a polygon", is_inclusion, points)


def circle(north_m, east_m, radius_m, is_inclusion=True):
    return Zone("a circle", is_inclusion, ((north_m, east_m),), radius_m)


def allows(fence, north_m, east_m, height_m=1.0):
    return not interpreted(is_beyond)(fence, north_m, east_m, height_m)


def margin_m(zone, north_m, east_m):
    return float(Area((zone,)).margins_m(np.array([[north_m, east_m, 0.0]]))[0])


def regular(count, radius_m):
    angles = 2.0 * np.pi * np.arange(count) / count
    return tuple(zip((radius_m * np.cos(angles)).tolist(), (radius_m * np.sin(angles)).tolist(), strict=True))


@pytest.mark.parametrize(
    ("place", "distance_m"),
    [
        ((2.0, 8.0), 2.0),  # in the middle of the eastern arm
        ((8.0, 2.0), 2.0),
        ((3.0, 3.0), math.sqrt(2.0)),  # the inner corner is closest
        ((1.0, 1.5), 1.0),
        ((8.0, 8.0), -4.0),  # between the arms
        ((5.0, 7.0), -1.0),
        ((-3.0, -4.0), -5.0),  # the outer corner is closest
        ((13.0, 8.0), -5.0),
        ((12.0, 2.0), -2.0),
        ((2.0, 10.5), -0.5),
    ],
)
def test_distances_from_a_concave_polygon(place, distance_m):
    """Positive inside, to the nearest edge or corner; an exclusion zone has the opposite sign."""
    assert margin_m(polygon(), *place) == pytest.approx(distance_m, abs=1e-12)
    assert margin_m(polygon(is_inclusion=False), *place) == pytest.approx(-distance_m, abs=1e-12)
    assert allows(fence_of(polygon()), *place) == (distance_m > 0.0)
    assert allows(fence_of(polygon(is_inclusion=False)), *place) == (distance_m < 0.0)


@pytest.mark.parametrize("turns", range(6))
@pytest.mark.parametrize("is_reversed", [False, True])
def test_the_order_of_the_vertices_does_not_matter(turns, is_reversed):
    """Any vertex may be the first, clockwise or not."""
    points = CORNER[turns:] + CORNER[:turns]
    zone = polygon(points[::-1] if is_reversed else points)
    for place, distance_m in (((3.0, 3.0), math.sqrt(2.0)), ((8.0, 8.0), -4.0), ((2.0, 10.5), -0.5)):
        assert margin_m(zone, *place) == pytest.approx(distance_m, abs=1e-12)
        assert allows(fence_of(zone), *place) == (distance_m > 0.0)


def test_northern_and_eastern_edges_belong_to_a_polygon():
    """As in PX4, where a point on an edge is inside if the polygon is south or west of it."""
    square = fence_of(polygon(((0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0))))
    assert allows(square, 10.0, 5.0)
    assert allows(square, 5.0, 10.0)
    assert not allows(square, 0.0, 5.0)
    assert not allows(square, 5.0, 0.0)


def test_a_polygon_of_64_vertices_is_almost_a_circle():
    """Its edges are r cos(π/64) from the middle."""
    zone, apothem_m = polygon(regular(64, 100.0)), 100.0 * math.cos(math.pi / 64)
    assert margin_m(zone, 0.0, 0.0) == pytest.approx(apothem_m, rel=1e-12)
    fence = fence_of(zone)
    for angle in (np.arange(64) + 0.5) * np.pi / 32.0:  # through the middles of the edges
        north, east = math.cos(angle), math.sin(angle)
        assert allows(fence, 0.999 * apothem_m * north, 0.999 * apothem_m * east)
        assert not allows(fence, 1.001 * apothem_m * north, 1.001 * apothem_m * east)
        assert margin_m(zone, 110.0 * north, 110.0 * east) == pytest.approx(apothem_m - 110.0, rel=1e-9)


def test_the_autopilots_agree_with_the_metric_on_a_ragged_star():
    """64 vertices at random radii; 2,000 random places."""
    rng = np.random.default_rng(4)
    star = tuple((n * f, e * f) for (n, e), f in zip(regular(64, 50.0), rng.uniform(0.2, 1.0, 64), strict=True))
    places = rng.uniform(-55.0, 55.0, (2_000, 3))
    fence, margins_m = fence_of(polygon(star)), Area((polygon(star),)).margins_m(places)
    assert [allows(fence, *place[:2]) for place in places.tolist()] == (margins_m > 0.0).tolist()
    assert 300 < np.count_nonzero(margins_m > 0.0) < 1_700


def test_a_circle():
    """The origin is 5 m from its center; its edge does not belong to it."""
    for radius_m in (6.0, 4.0):
        assert margin_m(circle(3.0, 4.0, radius_m), 0.0, 0.0) == radius_m - 5.0
        assert margin_m(circle(3.0, 4.0, radius_m, is_inclusion=False), 0.0, 0.0) == 5.0 - radius_m
        assert allows(fence_of(circle(3.0, 4.0, radius_m)), 0.0, 0.0) == (radius_m > 5.0)
    assert not allows(fence_of(circle(3.0, 4.0, 5.0)), 0.0, 0.0)


def test_every_zone_counts():
    """A position is inside all inclusion zones and outside all exclusion zones; the margin is the smallest one."""
    zones = (polygon(), circle(0.0, 0.0, 6.0), circle(2.0, 2.0, 1.0, is_inclusion=False))
    fence, area = fence_of(*zones), Area(zones)
    places = {(2.0, 5.0): 6.0 - math.sqrt(29.0), (2.0, 8.0): 6.0 - math.sqrt(68.0), (2.0, 2.5): -0.5, (5.0, 5.0): -1.0}
    for (north_m, east_m), expected_m in places.items():
        assert allows(fence, north_m, east_m) == (expected_m > 0.0)
        found_m = area.margins_m(np.array([[north_m, east_m, -7.0]]))
        assert found_m == pytest.approx([min(expected_m, 6.0 - math.hypot(north_m, east_m))], abs=1e-12)


def test_without_zones_every_position_is_allowed():
    """And the margin is infinite."""
    assert allows(fence_of(), 1e6, 1e6)
    assert Area().margins_m(np.ones((2, 3))).tolist() == [math.inf, math.inf]
    assert not fence_of().is_on


def test_the_limits_of_distance_and_height():
    """GF_MAX_HOR_DIST and GF_MAX_VER_DIST; zones have no height."""
    fence = fence_of(circle(0.0, 0.0, 100.0), GF_MAX_HOR_DIST=50.0, GF_MAX_VER_DIST=20.0)
    assert allows(fence, 30.0, 39.9, 19.9)
    assert not allows(fence, 30.0, 40.1, 19.9)
    assert not allows(fence, 30.0, 39.9, 20.1)
    assert fence.is_on
    assert fence_of(GF_MAX_VER_DIST=1.0).is_on
    assert not fence_of(polygon(), GF_ACTION=0, GF_MAX_VER_DIST=1.0).is_on


def test_the_fence_is_checked_every_200_ms():
    """A breach is reported once, when it is found; a position that is unknown is not checked."""
    fence, bus = fence_of(polygon()), view(np.zeros(1, BUS), writable=True)
    estimate = bus.estimate
    estimate.is_valid = 1.0

    def leaves_at(t_us, north_m, east_m):
        estimate.pos_ned[:2] = north_m, east_m
        return interpreted(leaves)(fence, t_us, estimate)

    assert not leaves_at(PERIOD_US, 2.0, 2.0)
    assert not leaves_at(2 * PERIOD_US - 4_000, 20.0, 2.0)  # outside, but not due
    assert leaves_at(2 * PERIOD_US, 20.0, 2.0)
    assert not leaves_at(3 * PERIOD_US, 20.0, 2.0)  # still outside
    assert not leaves_at(4 * PERIOD_US, 2.0, 2.0)
    assert not leaves_at(5 * PERIOD_US, math.nan, 2.0)
    assert leaves_at(5 * PERIOD_US + 4_000, 20.0, 2.0)


def test_actions_lead_to_modes():
    """None, warning, hold, return, terminate (the commander disarms), land."""
    modes = [MANUAL_MODE, MANUAL_MODE, LOITER_MODE, RETURN_MODE, MANUAL_MODE, LAND_MODE]
    assert [interpreted(mode_of_action)(action) for action in range(6)] == modes


# -- missions ------------------------------------------------------------------------------------------------------


def place(north_m, east_m):
    """Return latitude and longitude of a place relative to home."""
    return MapProjection(*HERE).to_global(north_m, east_m)


def mission_at(*places, zones=(), rally=()):
    items = tuple(MissionItem(Command.WAYPOINT, *place(*each), 5.0) for each in places)
    return Mission(items, "m.plan", fence=Fence(tuple(zones)), rally_points=tuple(rally))


def test_the_area_of_a_mission_is_relative_to_home():
    """Zones are named as in the plan; polygons and circles count separately."""
    corners = tuple(place(*each) for each in CORNER)
    zones = (FenceZone(True, corners), FenceZone(False, corners), FenceZone(True, (), place(3.0, 4.0), 6.0))
    area = area_of(mission_at((1.0, 1.0), zones=zones, rally=[RallyPoint(*place(30.0, -5.0), 2.0)]), *HERE)
    assert [zone.name for zone in area.zones] == ["geoFence polygons[0]", "geoFence polygons[1]", "geoFence circles[0]"]
    assert [zone.is_inclusion for zone in area.zones] == [True, False, True]
    assert np.array(area.zones[0].points) == pytest.approx(np.array(CORNER), abs=1e-6)
    assert np.array(area.zones[2].points) == pytest.approx(np.array([[3.0, 4.0]]), abs=1e-6)
    assert area.zones[2].radius_m == 6.0
    assert area.rally_points[0] == pytest.approx((30.0, -5.0), abs=1e-6)
    assert area_of(None, *HERE) == Area()


@pytest.mark.parametrize(
    ("start", "options", "name"),
    [
        ((3.0, 1.0), {}, HOME),
        ((20.0, 1.0), {}, "rally point 0"),
        ((16.0, 0.0), {}, HOME),  # the rally point is closer, but not by 2 m
        ((3.0, 1.0), {"is_rally_only": True}, "rally point 1"),
        ((3.0, 1.0), {"is_rally_only": True, "rally_points": ()}, "where the return began"),
        ((20.0, 1.0), {"rally_points": ()}, HOME),
    ],
)
def test_a_return_leads_home_or_to_a_rally_point(start, options, name):
    """By the rule of the built-in autopilot: rally point 1 is within 10 m of home, and counts only without home."""
    area = replace(Area(rally_points=((30.0, 0.0), (0.0, 8.0))), **options)
    goal = area.goal_of_return(start)
    assert area.name_of_goal(goal) == name
    goals = {HOME: (0.0, 0.0), "where the return began": start}
    assert goal == goals.get(name, area.rally_points[int(name[-1])] if name[-1].isdigit() else None)


def test_the_limits_around_home_are_part_of_the_fence():
    """GF_MAX_HOR_DIST and GF_MAX_VER_DIST; an autopilot that can't use rally points has none."""
    params = {"GF_MAX_HOR_DIST": 10.0, "GF_MAX_VER_DIST": 5.0, "RTL_TYPE": 5}
    area = area_of(mission_at((1.0, 1.0), rally=[RallyPoint(*place(30.0, -5.0), 2.0)]), *HERE, params, uses_rally=False)
    assert area == Area(is_rally_only=True, radius_m=10.0, height_m=5.0)
    assert area.has_fence
    assert not Area().has_fence
    places = np.array([[3.0, 4.0, -1.0], [6.0, 8.0, -1.0], [9.0, 12.0, -1.0], [0.0, 0.0, -7.0]])
    assert area.is_outside(places).tolist() == [False, False, True, True]
    assert np.isinf(area.margins_m(places)).all()  # these are the distances from zones


@pytest.mark.parametrize(
    ("zone", "error"),
    [
        (
            FenceZone(True, (), place(40.0, 0.0), 30.0),
            r"home \(47.4, 8.5\) must be inside geoFence circles\[0\] of m.plan, but it is 10.0 m on the wrong side",
        ),
        (
            FenceZone(False, (), place(20.0, 0.0), 5.0),
            r"item 1 \(WAYPOINT\) must be outside geoFence circles\[0\] of m.plan, but it is 3.0 m on the wrong side",
        ),
    ],
)
def test_a_mission_outside_its_fence_is_rejected(zone, error):
    """PX4 discards a zone that does not contain home, and refuses the mission."""
    mission = mission_at((5.0, 0.0), (22.0, 0.0), zones=[zone])
    with pytest.raises(InputError, match=error):
        check_area(mission, *HERE)
