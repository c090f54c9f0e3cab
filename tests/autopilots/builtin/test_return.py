"""Return to launch: altitude, stages and headings, as in PX4."""

import math

import numpy as np
import pytest
from builtin_modules import builtin_record, estimates, part

from px4lockstep.autopilots.builtin.flight_task import LAND, LOITER, POSITION
from px4lockstep.autopilots.builtin.navigator import navigate, return_height
from px4lockstep.autopilots.requests import MISSION_MODE, RETURN_MODE
from px4lockstep.jit import interpreted, view

TICK_US = 52_000
HOME_YAW = 0.5


class Return:
    """The navigator in return mode, and a vehicle that is put where it should be."""

    def __init__(self, pos_ned, **params):
        self.record = part(builtin_record(**params), "navigator")
        self.record["mode"], self.record["home_yaw"] = MISSION_MODE, HOME_YAW
        self.time_us = 0
        self.leg = self.tick(pos_ned)

    def tick(self, pos_ned, yaw=0.0, *, is_landed=False):
        """Run one navigator tick; return the leg."""
        q_bn = (math.cos(yaw / 2.0), 0.0, 0.0, math.sin(yaw / 2.0))
        estimate = view(estimates(pos_ned=pos_ned, q_bn=q_bn), writable=False)
        self.time_us += TICK_US
        interpreted(navigate)(view(self.record, writable=True), self.time_us, RETURN_MODE, 0, estimate, is_landed)
        return self.record["leg"][0]


@pytest.mark.parametrize(
    ("away_m", "own_m", "params", "height_m"),
    [
        (50.0, 10.0, {}, 60.0),
        (50.0, 70.0, {}, 70.0),  # already higher
        (8.0, 5.0, {}, 16.0),  # within NAV_ACC_RAD: twice the distance
        (8.0, 18.0, {}, 18.0),
        (8.0, 5.0, {"RTL_CONE_ANG": 0}, 60.0),
        (20.0, 5.0, {"RTL_MIN_DIST": 30.0, "RTL_CONE_ANG": 25}, 20.0 / math.tan(math.radians(25.0))),
        (20.0, 5.0, {"RTL_MIN_DIST": 30.0, "RTL_CONE_ANG": 65}, 20.0),  # at least twice NAV_ACC_RAD
        (20.0, 5.0, {"RTL_MIN_DIST": 30.0, "RTL_CONE_ANG": 5}, 60.0),  # at most RTL_RETURN_ALT
        (50.0, 5.0, {"RTL_RETURN_ALT": 15.0}, 15.0),  # even if twice NAV_ACC_RAD is higher
        (50.0, 17.0, {"RTL_RETURN_ALT": 15.0}, 15.0),
        (50.0, 21.0, {"RTL_RETURN_ALT": 15.0}, 21.0),
    ],
)
def test_the_return_altitude_depends_on_distance_and_altitude(away_m, own_m, params, height_m):
    """These are the cases of PX4's rule, by hand."""
    navigator = part(builtin_record(**params), "navigator")
    estimate = view(estimates(pos_ned=(0.6 * away_m, 0.8 * away_m, -own_m)), writable=False)
    assert interpreted(return_height)(view(navigator, writable=True), estimate) == pytest.approx(height_m, rel=1e-12)


def test_the_climb_begins_two_ticks_after_the_mode_change():
    """First without a leg, then at the current altitude and heading, then to the return altitude."""
    flown = Return((30.0, 5.0, -9.0))
    assert not flown.leg["is_valid"]
    leg = flown.tick((30.0, 5.2, -9.1), yaw=1.0)
    assert (leg["kind"], leg["target"].tolist()) == (LOITER, [30.0, 5.2, -9.1])
    assert leg["yaw"] == pytest.approx(1.0)
    leg = flown.tick((30.0, 5.4, -9.2), yaw=1.1)
    assert leg["start"].tolist() == leg["target"].tolist() == [30.0, 5.2, -60.0]
    assert leg["yaw"] == pytest.approx(1.0)


def test_the_climb_ends_at_its_altitude_and_heading():
    """Wherever the vehicle has drifted: PX4 allows 90 m."""
    flown = Return((30.0, 5.0, -9.0))
    flown.tick((30.0, 5.0, -9.0), yaw=1.0)
    flown.tick((30.0, 5.0, -9.0), yaw=1.0)
    assert flown.tick((60.0, 5.0, -59.1), yaw=1.0)["kind"] == LOITER
    assert flown.tick((60.0, 5.0, -59.3), yaw=1.3)["kind"] == LOITER
    leg = flown.tick((60.0, 5.0, -59.3), yaw=1.2)
    assert (leg["kind"], leg["target"].tolist()) == (POSITION, [0.0, 0.0, -60.0])
    assert leg["has_start"]
    assert leg["start"].tolist() == leg["target"].tolist()  # no line to follow
    assert math.isnan(leg["yaw"])


def test_without_a_delay_it_lands_from_the_return_altitude():
    """Within NAV_ACC_RAD of home, with the heading at arming: RTL_DESCEND_ALT is for RTL_LAND_DELAY alone."""
    flown = Return((30.0, 0.0, -70.0))
    leg = flown.tick((30.0, 0.0, -70.0))
    assert (leg["kind"], leg["target"].tolist()) == (POSITION, [0.0, 0.0, -70.0])  # no climb
    assert flown.tick((10.1, 0.0, -70.0))["kind"] == POSITION
    leg = flown.tick((9.9, 0.0, -70.0))
    assert (leg["kind"], leg["target"].tolist()) == (LAND, [0.0, 0.0, 0.0])
    assert leg["yaw"] == HOME_YAW


def test_with_a_delay_it_waits_above_home():
    """It descends over home, waits for RTL_LAND_DELAY, and lands if it is within NAV_ACC_RAD of home."""
    flown = Return((30.0, 0.0, -70.0), RTL_LAND_DELAY=1.0)
    flown.tick((30.0, 0.0, -70.0))
    leg = flown.tick((9.9, 0.0, -70.0))
    assert (leg["kind"], leg["yaw"], leg["target"].tolist()) == (LOITER, HOME_YAW, [0.0, 0.0, -70.0])
    assert flown.tick((9.0, 0.0, -69.9))["target"].tolist() == [0.0, 0.0, -30.0]
    assert flown.tick((0.0, 0.0, -30.7), yaw=HOME_YAW + 0.3)["yaw"] == HOME_YAW
    assert math.isnan(flown.tick((0.0, 0.0, -30.7), yaw=HOME_YAW)["yaw"])  # waits
    begun_us = flown.time_us + TICK_US
    while math.isnan(flown.tick((0.0, 0.0, -30.0), yaw=HOME_YAW)["yaw"]):
        pass
    assert 1_000_000 <= flown.time_us - begun_us < 1_000_000 + TICK_US
    assert flown.tick((0.0, 0.0, -30.0), yaw=HOME_YAW)["kind"] == LAND


def test_close_to_home_it_turns_to_the_heading_at_arming():
    """Within RTL_MIN_DIST, and it lands after the turn."""
    flown = Return((9.0, 0.0, -70.0))
    assert flown.tick((9.0, 0.0, -70.0))["yaw"] == HOME_YAW
    assert flown.tick((9.0, 0.0, -70.0))["kind"] == POSITION
    assert flown.tick((9.0, 0.0, -70.0), yaw=HOME_YAW)["kind"] == LAND


def test_on_the_ground_there_is_no_return():
    """There is no leg, even if the vehicle is lifted later."""
    flown = Return((0.0, 0.0, 0.0))
    flown.record["mode"] = MISSION_MODE
    assert not flown.tick((0.0, 0.0, 0.0), is_landed=True)["is_valid"]
    assert not any(flown.tick((0.0, 0.0, -1.0))["is_valid"] for _ in range(3))


def test_a_mission_that_ends_in_a_return_is_finished_by_its_landing():
    """A return from another item does not finish it."""
    for command, is_finished in ((20, 1), (16, 0)):
        flown = Return((5.0, 0.0, -70.0))
        flown.record["items"]["command"][0, 0] = command
        for _ in range(3):
            flown.tick((5.0, 0.0, -70.0), yaw=HOME_YAW)
        assert flown.record["leg"]["kind"][0] == LAND
        assert flown.record["is_finished"][0] == 0
        flown.tick((0.0, 0.0, 0.0), is_landed=True)
        assert np.array_equal(flown.record["is_finished"], [is_finished])
