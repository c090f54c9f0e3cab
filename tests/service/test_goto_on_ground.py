"""A go-to during the takeoff: MAVSDK's example sends it one second after the takeoff command."""

import math

import pytest
from served import CALM, Flown

from px4lockstep.scenario.commands import Arm, GoTo, SetMode, Takeoff

HOLD = 4


@pytest.mark.parametrize(("waited_s", "west_m"), [(0.0, 20.0), (1.0, 190.0), (1.0, 3_000.0), (3.5, 190.0)])
def test_the_vehicle_rises_before_it_flies_to_a_place(waited_s, west_m):
    """Also to one so far away that the direct way is flat; its legs do not slide."""
    with Flown(overrides=CALM) as flown:
        flown.give_all(Arm(), Takeoff())
        flown.fly(waited_s)
        flown.give_all(SetMode(HOLD), GoTo(*flown.place(0.0, -west_m, 20.0), 0.0))
        start = flown.status.pos_ned
        while -flown.fly(0.1).pos_ned[2] < 0.8:
            assert flown.status.time_us < 15_000_000
            assert math.dist(flown.status.pos_ned[:2], start[:2]) < 0.5
        assert flown.status.nav_state == HOLD
        flown.until(lambda status: status.pos_ned[1] < -15.0, 20.0)
        assert -flown.status.pos_ned[2] > 2.0
