"""Fences and rally points of plans: what is read, and what is rejected."""

import json
import math

import pytest
from mission_files import as_plan

from px4lockstep.errors import InputError
from px4lockstep.px4.fence import MAX_FENCE_POINTS, MAX_RALLY_POINTS, Fence, FenceZone, RallyPoint
from px4lockstep.px4.missions import Command, MissionItem, parse_plan

RTL = MissionItem(Command.RETURN_TO_LAUNCH, frame=2)
SQUARE = [[47.39, 8.54], [47.40, 8.54], [47.40, 8.55], [47.39, 8.55]]
POLYGON = {"inclusion": True, "polygon": SQUARE, "version": 1}
MUST_BE = "must be latitude (-90 to 90) and longitude (-180 to 180), in degrees"
CIRCLE = {"circle": {"center": [47.395, 8.545], "radius": 12.5}, "inclusion": False, "version": 1}


def plan(polygons=(), circles=(), points=(), **fence):
    """Return the text of a plan with a fence and rally points, as QGroundControl writes them."""
    fence = {"polygons": polygons, "circles": circles, "version": 2} | fence
    return json.dumps(as_plan(RTL, geoFence=fence, rallyPoints={"points": points, "version": 2}))


def polygon(**changes):
    return POLYGON | changes


def circle(**changes):
    return CIRCLE | {"circle": CIRCLE["circle"] | changes}


def test_a_fence_and_rally_points_are_read():
    """Polygons come first, as PX4 needs them; altitudes of rally points are above home."""
    mission = parse_plan(plan([POLYGON, polygon(inclusion=False)], [CIRCLE], [[47.1, 8.2, 30], [47.2, -8.3, 0.5]]), "p")
    corners = tuple(map(tuple, SQUARE))
    assert mission.fence.zones[:2] == (FenceZone(True, corners), FenceZone(False, corners))
    disc = mission.fence.zones[2]
    assert (disc.is_inclusion, disc.vertices, disc.center, disc.radius_m) == (False, (), (47.395, 8.545), 12.5)
    assert mission.fence.point_count == 9
    assert mission.rally_points == (RallyPoint(47.1, 8.2, 30.0), RallyPoint(47.2, -8.3, 0.5))
    assert mission.rally_points[0].is_relative_alt
    assert mission.warnings == ()


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"geoFence": None, "rallyPoints": None},
        {"geoFence": {}, "rallyPoints": {}},
        {"geoFence": {"version": 1, "polygon": []}, "rallyPoints": {"version": 1}},
    ],
)
def test_an_empty_fence_is_no_fence(parts):
    """What has no contents may have any version, because nothing is lost."""
    mission = parse_plan(json.dumps(as_plan(RTL, **parts)), "p")
    assert not mission.fence
    assert mission.fence == Fence()
    assert mission.rally_points == ()


def test_a_breach_return_point_is_reported_as_without_effect():
    """PX4 accepts it and never uses it."""
    mission = parse_plan(plan([POLYGON], breachReturn=[47.1, 8.2, 30]), "p")
    assert mission.warnings == ("p: geoFence breachReturn has no effect, because PX4 ignores it; use a rally point",)
    assert len(mission.fence.zones) == 1


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (plan(5), "geoFence polygons = 5 must be a list"),
        (plan([5]), "geoFence polygons[0] = 5 must be an object"),
        (plan([POLYGON, polygon(inclusion=1)]), "polygons[1]: inclusion = 1 must be true (stay inside) or false"),
        (plan([polygon(version=2)]), "geoFence polygons[0] has version 2; it must be 1"),
        (plan([POLYGON], version=1), "geoFence has version 1; it must be 2, the only supported one. Save the plan"),
        (plan([POLYGON], version=True), "geoFence has version True; it must be 2"),
        (plan(polygon=SQUARE), "geoFence has 'polygon', which would be ignored; remove it from the plan. Supported"),
        (plan([polygon(polygon=SQUARE[:2])]), "must be a list of at least 3 vertices"),
        (plan([polygon(polygon=None)]), "polygons[0]: polygon = None must be a list"),
        (
            plan([polygon(polygon=[[47.0, 8.0], [47.0, None], [91, 8], [47.0, 181], [1, 2, 3], 7])]),
            f"polygons[0] polygon[1] = [47.0, None] {MUST_BE}\n"
            f"p: geoFence polygons[0] polygon[2] = [91, 8] {MUST_BE}\n"
            f"p: geoFence polygons[0] polygon[3] = [47.0, 181] {MUST_BE}\n"
            f"p: geoFence polygons[0] polygon[4] = [1, 2, 3] {MUST_BE}",
        ),
        (plan([polygon(polygon=[[0, 179], [1, -179], [0, -178]])]), "more than 180 degrees of longitude; PX4 can't"),
        (plan((), [{"inclusion": True, "circle": [1, 2]}]), "circles[0]: circle = [1, 2] must be an object"),
        (plan((), [circle(center=[47])]), "circles[0] center = [47] must be latitude"),
        (plan((), [circle(radius=0)]), "circles[0]: radius = 0 must be above 0 m, and at most 1,000,000 m"),
        (plan((), [circle(radius=math.nan)]), "circles[0]: radius = nan must be above 0 m"),
        (plan((), [circle(radius="5")]), "circles[0]: radius = '5' must be above 0 m"),
        (plan((), [CIRCLE] * (MAX_FENCE_POINTS + 1)), "geoFence has 65 vertices and circles; PX4 stores at most 64"),
        (plan((), (), 3), "rallyPoints points = 3 must be a list"),
        (plan((), (), [[47, 8, 30], [47, 8]]), "rallyPoints points[1] = [47, 8] must be latitude"),
        (plan((), (), [[47, 8, math.inf]]), "rallyPoints points[0] = [47, 8, inf] must be latitude"),
        (plan((), (), [[47, 8, 30]] * (MAX_RALLY_POINTS + 1)), "rallyPoints has 33 points; PX4 stores at most 32"),
        (json.dumps(as_plan(RTL, geoFence=[1])), "geoFence = [1] must be an object with polygons, circles"),
        (json.dumps(as_plan(RTL, rallyPoints=7)), "rallyPoints = 7 must be an object with points"),
    ],
)
def test_an_invalid_fence_is_rejected(text, error):
    """The message names the zone, the value and what is allowed."""
    with pytest.raises(InputError) as caught:
        parse_plan(text, "p")
    assert error in str(caught.value)


def test_the_largest_fence_of_px4_is_accepted():
    """64 vertices and circles, and 32 rally points."""
    mission = parse_plan(plan([POLYGON], [CIRCLE] * (MAX_FENCE_POINTS - 4), [[47, 8, 30]] * MAX_RALLY_POINTS), "p")
    assert mission.fence.point_count == MAX_FENCE_POINTS
    assert len(mission.rally_points) == MAX_RALLY_POINTS
