"""The map projection: distances by hand, round trips, the edges of the map."""

import math

import numpy as np
import pytest
from environment_bits import run_projection

from px4lockstep.environment.projection import EARTH_RADIUS_M, MapProjection, project
from px4lockstep.errors import InputError
from px4lockstep.jit import rows

HOME = MapProjection(47.397742, 8.545594)
METRES_PER_DEGREE = EARTH_RADIUS_M * math.pi / 180.0  # 111,194.9 m


def test_1e_4_degrees_north_is_11_1195_metres():
    """6,371,000 m x pi / 180 x 1e-4 = 11.119493 m, within the 1e-6 m of these digits, and 0 east."""
    north, east = HOME.to_local(47.397842, 8.545594)
    assert north == pytest.approx(11.119493, abs=1e-6)
    assert abs(east) < 1e-12


def test_a_square_of_waypoints_around_home_is_a_square_on_the_map():
    """1e-4 degrees to each side: 11.1195 m north and 11.1195 m x cos(latitude) = 7.527 m east, within 0.1 mm."""
    east_expected = METRES_PER_DEGREE * 1e-4 * math.cos(math.radians(47.397742))
    assert east_expected == pytest.approx(7.527, abs=1e-3)
    for north_sign, east_sign in ((1, 1), (1, -1), (-1, -1), (-1, 1)):
        north, east = HOME.to_local(47.397742 + 1e-4 * north_sign, 8.545594 + 1e-4 * east_sign)
        assert (north, east) == pytest.approx((11.1195 * north_sign, east_expected * east_sign), abs=1e-4)


def test_the_reference_is_the_origin():
    """Exactly, in both directions up to the conversion of degrees (2 ulp)."""
    assert HOME.to_local(HOME.lat_deg, HOME.lon_deg) == (0.0, 0.0)
    assert HOME.to_global(0.0, 0.0) == pytest.approx((HOME.lat_deg, HOME.lon_deg), rel=5e-16)


def test_near_the_reference_the_map_is_smooth():
    """To 1e-9 m, the resolution of the angles, from a millimetre on; an arc cosine would have steps of 9 cm."""
    lat_rad, lon_rad = 0.8, 0.1
    for distance_m in (1e-3, 1e-2, 0.1, 1.0):
        north, east = project(lat_rad, lon_rad, lat_rad + distance_m / EARTH_RADIUS_M, lon_rad)
        assert (north, east) == pytest.approx((distance_m, 0.0), abs=1e-9)


@pytest.mark.parametrize("lat_deg", [0.0, 47.397742, -33.9, 89.0, -89.99])
@pytest.mark.parametrize("lon_deg", [8.545594, 179.99, -180.0])
def test_a_round_trip_within_100_km_errs_by_less_than_1_um(lat_deg, lon_deg):
    """As required; the rounding of degrees near 180 alone is 2e-9 m."""
    here = MapProjection(lat_deg, lon_deg)
    for distance_m in (0.001, 1.0, 1e3, 1e5):
        for bearing_deg in range(0, 360, 30):
            north_m = distance_m * math.cos(math.radians(bearing_deg))
            east_m = distance_m * math.sin(math.radians(bearing_deg))
            assert here.to_local(*here.to_global(north_m, east_m)) == pytest.approx((north_m, east_m), abs=1e-6)


def test_distance_from_the_reference_is_that_on_the_great_circle():
    """Against the haversine formula, to 1e-12 relative, from metres to 9,000 km."""
    lat0, lon0 = 0.8, 0.1
    lat_rad = lat0 + np.array([1e-6, -1e-3, 0.1, -0.9, 0.3])
    lon_rad = lon0 + np.array([2e-6, 3e-3, -0.2, 0.7, -1.2])
    out = np.zeros((5, 4))
    run_projection(lat0, lon0, rows(lat_rad), rows(lon_rad), rows(out))
    haversine = (
        np.sin((lat_rad - lat0) / 2.0) ** 2 + math.cos(lat0) * np.cos(lat_rad) * np.sin((lon_rad - lon0) / 2.0) ** 2
    )
    distance_m = 2.0 * EARTH_RADIUS_M * np.arcsin(np.sqrt(haversine))
    assert np.hypot(out[:, 0], out[:, 1]) == pytest.approx(distance_m, rel=1e-12)
    assert out[:, 2] == pytest.approx(lat_rad, abs=1e-15)
    assert out[:, 3] == pytest.approx(lon_rad, abs=1e-15)


def test_it_is_the_projection_that_px4_documents():
    """The formula with the arc cosine where it is well conditioned: from 100 km on, 1e-9 relative."""
    lat0, lon0 = math.radians(47.4), math.radians(8.5)
    for lat_deg, lon_deg in ((48.5, 8.5), (47.0, 12.0), (40.0, -5.0), (60.0, 40.0)):
        lat, dlon = math.radians(lat_deg), math.radians(lon_deg) - lon0
        c = math.acos(math.sin(lat0) * math.sin(lat) + math.cos(lat0) * math.cos(lat) * math.cos(dlon))
        k = c / math.sin(c) * 6_371_000.0
        north = k * (math.cos(lat0) * math.sin(lat) - math.sin(lat0) * math.cos(lat) * math.cos(dlon))
        east = k * math.cos(lat) * math.sin(dlon)
        assert project(lat0, lon0, lat, lon0 + dlon) == pytest.approx((north, east), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_antimeridian_is_crossed_without_a_jump(side):
    """0.0002 degrees apart on the equator across 180 degrees: 22.239 m, and back to the other sign of longitude."""
    here = MapProjection(0.0, 179.9999 * side)
    north, east = here.to_local(0.0, -179.9999 * side)
    assert (north, east) == pytest.approx((0.0, 2e-4 * METRES_PER_DEGREE * side), abs=1e-7)
    assert here.to_global(north, east) == pytest.approx((0.0, -179.9999 * side), abs=1e-12)


def test_a_pole_is_a_valid_point_but_not_a_reference():
    """One degree from 89 N at any longitude; as a reference its heading is undefined."""
    here = MapProjection(89.0, 20.0)
    for lon_deg in (20.0, -160.0, 95.0):
        assert here.to_local(90.0, lon_deg) == pytest.approx((METRES_PER_DEGREE, 0.0), abs=1e-8)
    for lat_deg in (90.0, -90.0):
        with pytest.raises(InputError, match=f"reference latitude = {lat_deg} is a pole, where heading is undefined"):
            MapProjection(lat_deg, 0.0)


def test_the_antipode_is_half_a_circumference_away_and_off_the_map():
    """The kernel gives pi R within 1 m (it lies in every direction); the map rejects it."""
    assert math.hypot(*project(0.5, 0.0, -0.5, math.pi)) == pytest.approx(math.pi * EARTH_RADIUS_M, abs=1.0)
    assert math.hypot(*project(0.0, 0.0, 0.0, math.pi)) == pytest.approx(math.pi * EARTH_RADIUS_M, abs=1.0)
    with pytest.raises(InputError, match=r"point = \(-47.0, -172.0\) degrees is 20015 km from the reference"):
        MapProjection(47.0, 8.0).to_local(-47.0, -172.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: MapProjection(90.5, 0.0),
            "reference latitude = 90.5 is out of range; it must be from -90 to 90 degrees",
        ),
        (
            lambda: MapProjection(0.0, 181.0),
            "reference longitude = 181.0 is out of range; it must be from -180 to 180 degrees",
        ),
        (
            lambda: HOME.to_local(float("nan"), 0.0),
            "point latitude = nan is out of range; it must be from -90 to 90 degrees",
        ),
        (
            lambda: HOME.to_local(0.0, "east"),
            "point longitude = 'east' is not a number; it must be from -180 to 180 degrees",
        ),
        (
            lambda: HOME.to_global(float("inf"), 0.0),
            "north_m = inf is out of range; it must be within 10000 km of the reference",
        ),
        (
            lambda: HOME.to_global(9e6, 9e6),
            "(north_m, east_m) = (9000000.0, 9000000.0) is out of range; it must be within 10000 km of the reference",
        ),
    ],
)
def test_points_off_the_map_are_rejected(call, message):
    """The message gives the problem, the value and what is allowed."""
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == message
