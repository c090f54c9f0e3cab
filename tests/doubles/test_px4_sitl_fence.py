"""The geofence of stock PX4's double: what it accepts, and how it reads it."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def fence():
    spec = importlib.util.spec_from_file_location("double_fence", HERE / "px4_sitl" / "fence.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def item(command, first, place=(0.0, 0.0)):
    return SimpleNamespace(command=command, params=(first, 0.0, 0.0, 0.0), lat=place[0], lon=place[1])


def polygon(command, *places):
    return [item(command, float(len(places)), place) for place in places]


SQUARE = ((-5.0, -5.0), (5.0, -5.0), (5.0, 5.0), (-5.0, 5.0))
AWAY = tuple((north + 20.0, east) for north, east in SQUARE)


def local(lat, lon):
    return lat, lon


@pytest.mark.parametrize(
    ("items", "result"),
    [
        (polygon(5001, *SQUARE), 0),
        ([*polygon(5002, *AWAY), item(5003, 9.0)], 0),
        ([item(5100, 0.0), item(5100, 0.0)], 0),
        (polygon(5001, *SQUARE)[:3], 5),  # a vertex is missing
        (polygon(5001, *SQUARE[:2]), 5),
        ([*polygon(5001, *SQUARE)[:3], *polygon(5002, *SQUARE)[3:]], 5),  # two kinds in one polygon
        ([item(16, 0.0)], 3),
    ],
)
def test_items_are_checked(fence, items, result):
    """MAV_MISSION_RESULT: 0 accepted, 3 unsupported, 5 invalid parameter 1."""
    assert fence.problem(items) == result


def test_zones_are_read_and_those_without_home_dropped(fence):
    """An exclusion zone around home, and an inclusion zone elsewhere."""
    own = fence.Fence()
    assert own.load([*polygon(5001, *SQUARE), *polygon(5002, *AWAY), item(5003, 30.0)], local)
    assert own.allows((0.0, 0.0))
    assert not own.allows((6.0, 0.0))  # outside the square
    assert not own.load([*polygon(5001, *AWAY), item(5003, 30.0)], local)
    assert own.allows((6.0, 0.0))
    assert own.allows((20.0, 0.0))
    assert not own.allows((31.0, 0.0))
    assert not own.load(polygon(5002, *SQUARE), local)
    assert own.allows((100.0, 0.0))


def test_a_polygon_after_a_circle_is_misread_as_in_px4(fence):
    """Each vertex becomes a circle of 4 m, the number of vertices, without home; so a host sends polygons first."""
    own = fence.Fence()
    assert not own.load([item(5003, 30.0), *polygon(5001, *SQUARE)], local)
    assert len(own.zones) == 1


def test_a_breach_is_found_once_every_200_ms(fence):
    """And again after a return."""
    own = fence.Fence()
    own.load(polygon(5001, *SQUARE), local)
    places = [(0.0, 0.0), (9.0, 0.0), (9.0, 0.0), (0.0, 0.0), (9.0, 0.0)]
    found = [own.is_left(201_000 * (i + 1), place) for i, place in enumerate(places)]
    assert found == [False, True, False, False, True]
    assert not own.is_left(201_000 * 5 + 100_000, (0.0, 0.0))
    assert own.is_outside
