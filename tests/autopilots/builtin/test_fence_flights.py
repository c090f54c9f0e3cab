"""Flights of the built-in autopilot that leave their fence, and returns to rally points."""

from dataclasses import replace

import numpy as np
import pytest

from flights import HOME, TAKE_OFF, autopilot_of, flight, landed_at, mission_of, modes_of
from px4lockstep.autopilots.builtin.commander import GEOFENCE_FAILSAFE
from px4lockstep.autopilots.requests import LAND_MODE, LOITER_MODE, MANUAL_MODE, MISSION_MODE, RETURN_MODE
from px4lockstep.environment.projection import MapProjection
from px4lockstep.errors import InputError
from px4lockstep.px4.fence import Fence, FenceZone, RallyPoint

TAKEOFF, WAYPOINT, LAND = 22, 16, 21
QUICK = {"COM_SPOOLUP_TIME": 0.1, "MPC_TKO_RAMP_T": 0.5, "MPC_TKO_SPEED": 3.0, "RTL_RETURN_ALT": 6.0}
NORTH = mission_of((TAKEOFF, 0, 0, 4), (WAYPOINT, 30, 0, 4), (LAND, 30, 0, 0))
NOTCH = ((-20, -20), (40, -20), (40, 20), (20, 20), (20, -10), (10, -10), (10, 20), (-20, 20))
"""A fence around the mission with a notch from the east, which the leg to the waypoint crosses between 10 and 20 m."""

AROUND = ((-20, -20), (40, -20), (40, 20), (-20, 20))


def place(north_m, east_m):
    return MapProjection(*HOME).to_global(north_m, east_m)


def fenced(*zones, rally=(), mission=NORTH):
    points = tuple(RallyPoint(*place(*each[:2]), each[2]) for each in rally)
    return replace(mission, fence=Fence(zones), rally_points=points)


def polygon(points, is_inclusion=True):
    return FenceZone(is_inclusion, tuple(place(*point) for point in points))


def circle(north_m, east_m, radius_m, is_inclusion=True):
    return FenceZone(is_inclusion, (), place(north_m, east_m), radius_m)


def flown(mission, end_s=40, scenario=TAKE_OFF, **params):
    return flight(mission, end_s=end_s, scenario=scenario, params=QUICK | params).run()


def breached_at(sim):
    """Return the position at the row in which the failsafe is first reported."""
    return sim.log_state[np.flatnonzero(autopilot_of(sim)["failsafe"] == GEOFENCE_FAILSAFE)[0], :3]


@pytest.mark.parametrize(
    ("action", "modes"),
    [
        (0, [MISSION_MODE, MANUAL_MODE]),
        (1, [MISSION_MODE, MANUAL_MODE]),
        (2, [MISSION_MODE, LOITER_MODE]),
        (3, [MISSION_MODE, RETURN_MODE, MANUAL_MODE]),
        (4, [MISSION_MODE, MANUAL_MODE]),
        (5, [MISSION_MODE, LAND_MODE, MANUAL_MODE]),
    ],
)
def test_leaving_an_inclusion_polygon_triggers_the_action(action, modes):
    """The breach is found within 200 ms after 10 m, so within 1.1 m at the cruise speed of 5 m/s."""
    sim = flown(fenced(polygon(NOTCH)), GF_ACTION=action)
    assert modes_of(sim) == modes
    if action in (0, 1):
        assert not autopilot_of(sim)["failsafe"].any()
    else:
        assert 10.0 < breached_at(sim)[0] < 11.1
    if action == 4:
        assert sim.is_crashed
    elif action in (0, 1):
        assert autopilot_of(sim)["mission_finished"][-1] == 1
        assert landed_at(sim) == pytest.approx([30.0, 0.0], abs=0.5)
    elif action == 2:
        assert 10.0 < sim.plant["pos"][0] < 20.0
        assert np.linalg.norm(sim.plant["vel"]) < 0.05
    elif action == 3:
        assert np.linalg.norm(landed_at(sim)) < 0.5
    else:
        assert 10.0 < landed_at(sim)[0] < 20.0


def test_a_flight_inside_its_fence_is_the_flight_without_one():
    """Bit for bit: the checks do not change the flight."""
    without, inside = flown(NORTH), flown(fenced(circle(0, 0, 60), polygon(AROUND), circle(15, 30, 9, False)))
    assert inside.digest() == without.digest()
    assert inside.live_digest() == without.live_digest()
    assert autopilot_of(inside)["mission_finished"][-1] == 1


def test_entering_an_exclusion_circle_stops_the_vehicle():
    """4 m around the point halfway to the waypoint; holding is the default."""
    sim = flown(fenced(circle(15, 0, 4, is_inclusion=False)), end_s=25)
    assert modes_of(sim) == [MISSION_MODE, LOITER_MODE]
    assert 11.0 < breached_at(sim)[0] < 12.1


def test_a_failsafe_returns_to_the_closest_rally_point():
    """It lands there, and flies 6 m above the altitude of the rally point until then."""
    sim = flown(fenced(polygon(NOTCH), rally=[(9, -6, 1.0), (-15, 0, 0)]), GF_ACTION=3, RTL_CONE_ANG=0)
    assert modes_of(sim) == [MISSION_MODE, RETURN_MODE, MANUAL_MODE]
    assert landed_at(sim) == pytest.approx([9.0, -6.0], abs=0.5)
    assert sim._core["builtin"]["navigator"]["return_down_m"][0] == pytest.approx(-7.0, abs=1e-9)


def test_a_requested_return_uses_rally_points_by_rtl_type():
    """Near home, 0 returns home and 5 to the rally point."""
    mission = fenced(rally=[(-15, 5, 0)])
    scenario = TAKE_OFF.when("altitude_m", above=3.5).return_home()
    assert landed_at(flown(mission, 30, scenario)) == pytest.approx([0.0, 0.0], abs=0.5)
    assert landed_at(flown(mission, 30, scenario, RTL_TYPE=5)) == pytest.approx([-15.0, 5.0], abs=0.5)


def test_a_snapshot_holds_the_fence():
    """Restored before the breach, the flight repeats it, also in a simulation that was built anew."""
    sim = flight(fenced(polygon(NOTCH)), end_s=25, params=QUICK | {"GF_ACTION": 3})
    sim.run(5_000_000)
    kept = sim.snapshot()
    digest = sim.run().live_digest()
    again = flight(fenced(polygon(NOTCH)), end_s=25, params=QUICK | {"GF_ACTION": 3})
    again.restore(kept)
    assert again.run().live_digest() == digest
    assert GEOFENCE_FAILSAFE in autopilot_of(again)["failsafe"]


def test_a_mission_outside_its_fence_is_not_flown():
    """The error names the line; PX4 refuses such a mission too."""
    with pytest.raises(InputError, match=r"line 3 \(WAYPOINT\) must be inside geoFence circles\[0\]"):
        flight(fenced(circle(0, 0, 20)))


@pytest.mark.parametrize("rtl_type", [1, 2, 3, 4])
def test_other_types_of_return_are_rejected(rtl_type):
    """They involve the mission's landing."""
    with pytest.raises(InputError, match=rf"RTL_TYPE = {rtl_type} is not implemented; allowed: 0 \(home or"):
        flight(NORTH, params={"RTL_TYPE": rtl_type})
    assert any("RTL_TYPE" in text for text in flight(NORTH, file_params={"RTL_TYPE": rtl_type}).warnings)
