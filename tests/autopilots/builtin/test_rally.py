"""The goal of a return: home or a rally point."""

import math

import numpy as np
import pytest

from px4lockstep.autopilots.builtin.rally import RALLY, choose_goal, write_rally
from px4lockstep.engine.bus import BUS
from px4lockstep.environment.projection import MapProjection
from px4lockstep.jit import interpreted, view
from px4lockstep.px4.fence import RallyPoint

HOME = MapProjection(47.4, 8.5)
YAW = 0.5


def goal_of(at, *points, rtl_type=0, height_m=3.0):
    """Return where a return from a place leads: north, east and down, and its heading."""
    record, bus = np.zeros(1, RALLY), view(np.zeros(1, BUS), writable=True)
    write_rally(record[0], [RallyPoint(*HOME.to_global(*point), height_m) for point in points], HOME, 400.0, rtl_type)
    rally = view(record, writable=True)
    bus.estimate.pos_ned[:] = at
    interpreted(choose_goal)(rally, YAW, bus.estimate)
    return rally.goal_ned.tolist(), float(rally.goal_yaw)


@pytest.mark.parametrize("points", [(), ((90.0, 0.0),), ((5.0, 0.0), (0.0, 9.9))])
def test_home_is_the_default(points):
    """Also if the rally points are farther away, or within 10 m of home."""
    assert goal_of((30.0, 5.0, -10.0), *points) == ([0.0, 0.0, 0.0], YAW)


def test_the_closest_rally_point_is_the_goal():
    """At its own altitude, and with any heading."""
    goal, yaw = goal_of((30.0, 5.0, -10.0), (60.0, 0.0), (25.0, 0.0), (0.0, 40.0))
    assert goal == pytest.approx([25.0, 0.0, -3.0], abs=1e-6)
    assert math.isnan(yaw)


@pytest.mark.parametrize(("east_m", "is_rally"), [(37.9, True), (38.1, False)])
def test_a_rally_point_must_be_2_m_closer_than_home(east_m, is_rally):
    """The vehicle is 40 m north of home, and the rally point straight east of it."""
    goal, _ = goal_of((40.0, 0.0, -10.0), (40.0, east_m))
    assert goal == pytest.approx([40.0, east_m, -3.0] if is_rally else [0.0, 0.0, 0.0], abs=1e-6)


def test_rtl_type_5_ignores_home():
    """It returns to the closest rally point, even next to home; without one, it lands where it is."""
    goal, yaw = goal_of((30.0, 5.0, -10.0), (90.0, 0.0), (3.0, 0.0), rtl_type=5)
    assert goal == pytest.approx([3.0, 0.0, -3.0], abs=1e-6)
    goal, yaw = goal_of((30.0, 5.0, -10.0), rtl_type=5)
    assert goal == [30.0, 5.0, -10.0]
    assert math.isnan(yaw)


def test_an_altitude_above_sea_level_is_converted():
    """Home is at 400 m."""
    record = np.zeros(1, RALLY)
    write_rally(record[0], [RallyPoint(47.41, 8.5, 412.0, is_relative_alt=False)], HOME, 400.0, 0)
    assert record[0]["points"][0]["rally_ned"][2] == -12.0
