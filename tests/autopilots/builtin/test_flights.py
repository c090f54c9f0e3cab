"""The built-in autopilot in closed loop: missions, wind and noise, failsafes, faults."""

import numpy as np
import pytest
from fleet import iris, octa, twin

from flights import (
    TAKE_OFF,
    autopilot_of,
    changes,
    disturbed,
    flight,
    item_times,
    landed_at,
    mission_of,
    modes_of,
)
from px4lockstep.autopilots.builtin.commander import (
    BATTERY_FAILSAFE,
    GEOFENCE_FAILSAFE,
    MOTOR_FAILSAFE,
    POSITION_FAILSAFE,
)
from px4lockstep.autopilots.requests import DESCEND_MODE, LAND_MODE, LOITER_MODE, MANUAL_MODE, MISSION_MODE, RETURN_MODE
from px4lockstep.errors import InputError
from px4lockstep.flights.summary import summarize
from px4lockstep.vehicle.battery import Battery
from px4lockstep.vehicle.contact import Contact

pytestmark = pytest.mark.long

WAYPOINT, LOITER_UNLIMITED, LOITER_TIME, RETURN, LAND, TAKEOFF = 16, 17, 19, 20, 21, 22
DELAY, JUMP, SPEED = 93, 177, 178


def distance_to_leg(sim, item, points):
    """Return the distance of points from the line between two waypoints."""
    start, end = sim._core["builtin"]["navigator"]["items"]["pos_ned"][0, item - 1 : item + 1]
    along = end - start
    part = np.clip((points - start) @ along / max(along @ along, 1e-9), 0.0, 1.0)
    return np.linalg.norm(points - start - part[:, None] * along, axis=1)


def assert_flown_well(sim):
    """Check that the mission is complete, within 3 m of its legs, and lands within 0.5 m of home."""
    status = autopilot_of(sim)
    assert status["mission_finished"][-1] == 1
    assert np.linalg.norm(landed_at(sim)) < 0.5
    on_leg = (status["mission_item"] >= 1) & (status["armed"] == 1)
    for item in range(1, int(status["mission_count"][0]) - 1):
        there = on_leg & (status["mission_item"] == item)
        if there.any():
            assert distance_to_leg(sim, item, sim.log_state[there, :3]).max() < 3.0


@pytest.mark.parametrize("first_seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (10, 20, 30, 40))])
def test_the_iris_completes_its_mission_in_wind_and_noise(first_seed):
    """Ten seeds in each case; fifty in the slow tier."""
    for seed in range(first_seed, first_seed + 10):
        assert_flown_well(disturbed(seed=seed).run())


def test_the_octa_completes_its_mission_in_wind_and_noise():
    """Ten seeds."""
    for seed in range(10):
        assert_flown_well(disturbed(aircraft=octa(), seed=seed).run())


def test_an_adaptive_integrator_flies_the_same_mission():
    """RK45 instead of RK4: the same waypoint times to a navigator tick, the same landing position."""
    fixed, adaptive = disturbed().run(), disturbed(integrator="RK45").run()
    assert_flown_well(adaptive)
    assert item_times(adaptive) == pytest.approx(item_times(fixed), abs=0.06)


# -- requests ------------------------------------------------------------------------------------------------------


def test_return_from_30_s_lands_at_home():
    """Via RTL_RETURN_ALT, 60 m; the mission does not count as finished."""
    sim = flight(scenario=TAKE_OFF.at(30.0).return_home(), end_s=110).run()
    assert modes_of(sim) == [MISSION_MODE, RETURN_MODE, MANUAL_MODE]
    assert np.linalg.norm(landed_at(sim)) < 0.5
    assert -sim.log_state[:, 2].min() == pytest.approx(60.0, abs=0.8)
    assert not autopilot_of(sim)["mission_finished"].any()


@pytest.mark.parametrize("cone_deg", [0, 20, 45])
def test_near_home_the_return_altitude_follows_the_cone(cone_deg):
    """Within RTL_MIN_DIST: distance/tan(angle), at least twice NAV_ACC_RAD; an angle of 0 disables the cone."""
    params = {"RTL_CONE_ANG": cone_deg, "RTL_MIN_DIST": 30.0, "RTL_RETURN_ALT": 50.0}
    sim = flight(scenario=TAKE_OFF.at(27.0).return_home(), end_s=120, params=params).run()
    away_m = np.linalg.norm(sim.log_state[2700, :2])
    height_m = min(50.0, max(20.0, away_m / np.tan(np.radians(cone_deg)))) if cone_deg else 50.0
    assert np.linalg.norm(landed_at(sim)) < 0.5
    assert -sim.log_state[:, 2].min() == pytest.approx(height_m, abs=0.8)


def test_a_return_can_wait_above_home():
    """For RTL_LAND_DELAY at RTL_DESCEND_ALT; forever if below zero."""
    params = {"RTL_LAND_DELAY": -1.0, "RTL_DESCEND_ALT": 8.0, "RTL_RETURN_ALT": 15.0}
    sim = flight(scenario=TAKE_OFF.at(30.0).return_home(), end_s=90, params=params).run()
    assert autopilot_of(sim)["nav_state"][-1] == RETURN_MODE
    assert sim.plant["pos"] == pytest.approx([0.0, 0.0, -8.0], abs=0.3)


def test_land_mode_lands_on_the_spot():
    """Within the braking distance."""
    sim = flight(scenario=TAKE_OFF.at(32.0).land(), end_s=60).run()
    there = sim.log_state[3200, :2]
    assert modes_of(sim) == [MISSION_MODE, LAND_MODE, MANUAL_MODE]
    assert np.linalg.norm(landed_at(sim) - there) < 5.0


def test_the_mission_continues_after_an_aborted_landing():
    """A later request is obeyed, and the mission continues with the same item."""
    scenario = TAKE_OFF.at(30.0).land().at(34.0).start_mission()
    sim = flight(scenario=scenario, end_s=90).run()
    assert modes_of(sim) == [MISSION_MODE, LAND_MODE, MISSION_MODE, MANUAL_MODE]
    assert autopilot_of(sim)["mission_item"][3500] == 3
    assert autopilot_of(sim)["mission_finished"][-1] == 1
    assert np.linalg.norm(landed_at(sim)) < 0.5


def test_a_mission_can_be_requested_again():
    """After a hold at the geofence it continues; after a landing it restarts."""
    held = flight(scenario=TAKE_OFF.at(25.0).start_mission(), end_s=90, params={"GF_MAX_VER_DIST": 11.0}).run()
    assert modes_of(held) == [MISSION_MODE, LOITER_MODE, MISSION_MODE, MANUAL_MODE]
    assert_flown_well(held)
    twice = flight(scenario=TAKE_OFF.at(71.0).disarm().at(72.0).arm().at(73.0).start_mission(), end_s=145).run()
    assert item_times(twice)[0] == pytest.approx(item_times(twice)[8] - 71.0, abs=0.3)
    assert_flown_well(twice)


def test_a_mission_requested_on_the_ground_restarts():
    """After the landing, before automatic disarming."""
    sim = flight(scenario=TAKE_OFF.at(68.5).start_mission(), end_s=140).run()
    assert item_times(sim)[8] - item_times(sim)[0] == pytest.approx(66.5, abs=0.3)
    assert_flown_well(sim)


def test_a_second_mission_may_be_requested_before_arming():
    """The first mission, which is finished, does not count for the second one."""
    hop = mission_of((TAKEOFF, 0, 0, 3), (LAND, 0, 0, 0))
    sim = flight(hop, scenario=TAKE_OFF.at(16.0).disarm().at(16.5).start_mission().at(17.0).arm(), end_s=35).run()
    assert modes_of(sim) == [MISSION_MODE, MANUAL_MODE, MISSION_MODE, MANUAL_MODE]
    assert -sim.log_state[1800:, 2].min() > 2.0
    assert autopilot_of(sim)["mission_finished"][-1] == 1


def test_after_rearming_it_waits_for_a_request():
    """Requests from before disarming are dropped."""
    sim = flight(scenario=TAKE_OFF.at(71.0).disarm().at(72.0).arm(), end_s=80).run()
    assert modes_of(sim) == [MISSION_MODE, MANUAL_MODE]
    assert autopilot_of(sim)["armed"][-1] == 1
    assert not sim.log["inputs"]["command"]["motors"][7210:].any()


@pytest.mark.parametrize(
    ("first", "second", "later_s"), [("arm", "start_mission", 71.0), ("start_mission", "arm", 72.0)]
)
def test_after_automatic_disarming_a_new_request_arms_it(first, second, later_s):
    """Before or after the mission is requested again, with a normal takeoff: it waits COM_SPOOLUP_TIME after arming."""
    scenario = getattr(getattr(TAKE_OFF.at(72.0), first)().at(73.0), second)()
    sim = flight(scenario=scenario, end_s=145).run()
    assert item_times(sim)[8] - item_times(sim)[0] == pytest.approx(later_s, abs=0.3)
    assert_flown_well(sim)


def test_a_request_is_obeyed_again_after_a_failsafe():
    """A return interrupted by a geofence continues when requested again."""
    scenario = TAKE_OFF.at(30.0).return_home().at(45.0).return_home()
    sim = flight(scenario=scenario, end_s=120, params={"GF_MAX_VER_DIST": 12.5, "RTL_RETURN_ALT": 20.0}).run()
    assert modes_of(sim) == [MISSION_MODE, RETURN_MODE, LOITER_MODE, RETURN_MODE, MANUAL_MODE]
    assert np.linalg.norm(landed_at(sim)) < 0.5


@pytest.mark.parametrize("request_", ["return_home", "land"])
def test_return_or_land_on_the_ground_disarms(request_):
    """There is nothing to fly."""
    scenario = getattr(TAKE_OFF.__class__().arm(at_s=1.0).at(2.0), request_)()
    sim = flight(scenario=scenario, end_s=8).run()
    assert autopilot_of(sim)["armed"][-1] == 0
    assert sim.log["inputs"]["command"]["motors"].max() < 0.01


def test_arming_in_the_air_continues_the_flight():
    """A start in the air needs no takeoff; after brief disarming in flight, it recovers and continues."""
    scenario = TAKE_OFF.__class__().start_mission(at_s=0.0).arm(at_s=0.1)
    sim = flight(aircraft=iris(pos_ned=(0.0, 0.0, -60.0)), scenario=scenario, end_s=120).run()
    assert_flown_well(sim)
    caught = flight(scenario=TAKE_OFF.at(30.0).disarm().at(30.2).arm().at(30.3).start_mission(), end_s=90).run()
    assert autopilot_of(caught)["mission_item"][3100] == 3
    assert_flown_well(caught)


def test_landings_and_crashes_are_detected_with_legs():
    """With the centre of mass above the ground."""
    places = tuple((x, y, 0.1) for x in (-0.15, 0.15) for y in (-0.15, 0.15))
    on_legs = iris(contact=Contact("legs", points_body_m=places), pos_ned=(0.0, 0.0, -0.1))
    sim = flight(aircraft=on_legs, end_s=75).run()
    assert autopilot_of(sim)["mission_finished"][-1] == 1
    assert autopilot_of(sim)["armed"][-1] == 0
    assert flight(aircraft=on_legs, scenario=TAKE_OFF.at(30.0).disarm()).run().is_crashed


def test_an_aircraft_that_can_not_be_flown_is_rejected():
    """The twin pushes forward."""
    with pytest.raises(InputError, match="can't fly twin"):
        flight(aircraft=twin())


def test_a_missing_mission_file_is_an_error():
    """Before the flight."""
    with pytest.raises(InputError, match="has no mission"):
        flight(None)


def test_disarming_stops_the_motors_immediately():
    """Even in flight: the vehicle falls, and the run ends with its crash."""
    sim = flight(scenario=TAKE_OFF.at(30.0).disarm()).run()
    assert sim.is_crashed
    assert not sim.log["inputs"]["command"]["motors"][3001:].any()


def test_nothing_moves_before_arming():
    """A mission requested before arming starts on arming."""
    scenario = TAKE_OFF.__class__().start_mission(at_s=0.5).arm(at_s=3.0)
    sim = flight(scenario=scenario, end_s=75).run()
    before = sim.log["time_us"] < 3_000_000
    assert not sim.log["inputs"]["command"]["motors"][before].any()
    assert_flown_well(sim)


def test_it_disarms_com_disarm_land_after_landing():
    """Two seconds by default; never if 0 or below, as in PX4."""
    sim = flight().run()
    landed = sim.log["bus"]["scenario"]["landed"]
    touch_s = int(sim.log["time_us"][np.flatnonzero(np.diff(landed))[-1] + 1]) / 1e6
    off_s = int(sim.log["time_us"][np.flatnonzero(np.diff(autopilot_of(sim)["armed"]))[-1] + 1]) / 1e6
    assert off_s - touch_s == pytest.approx(2.0, abs=0.02)
    for off in (0.0, -1.0):
        never = flight(params={"COM_DISARM_LAND": off}).run()
        assert autopilot_of(never)["armed"][-1] == 1
        assert never.plant["pos"][2] > -0.05


def test_it_can_detect_landings_from_the_estimate():
    """From estimate and thrust: a few seconds after touchdown, with noise too, and not earlier."""
    sim = disturbed(land_detector="estimate", end_s=90).run()
    assert_flown_well(sim)
    ground_s = int(sim.log["time_us"][np.flatnonzero(np.diff(sim.log["bus"]["scenario"]["landed"]))[-1] + 1]) / 1e6
    off_s = int(sim.log["time_us"][np.flatnonzero(np.diff(autopilot_of(sim)["armed"]))[-1] + 1]) / 1e6
    assert 3.0 < off_s - ground_s < 12.0


# -- missions ------------------------------------------------------------------------------------------------------


def test_holds_loiters_and_delays_take_their_time():
    """A hold starts on arrival, a delay when its item starts."""
    mission = mission_of(
        (TAKEOFF, 0, 0, 5),
        (WAYPOINT, 10, 0, 5, 3, 1),
        (LOITER_TIME, 10, 10, 5, 5, 1),
        (DELAY, 0, 0, 0, 7),
        (LAND, 10, 10, 0),
    )
    sim = flight(mission, end_s=70).run()
    assert autopilot_of(sim)["mission_finished"][-1] == 1
    assert landed_at(sim) == pytest.approx([10.0, 10.0], abs=0.5)
    # each at least as long as its hold; the delay exactly, to a navigator tick
    waypoint, loiter, delay, land = item_times(sim)
    assert loiter - waypoint > 3.0
    assert delay - loiter > 5.0
    assert land - delay == pytest.approx(7.0, abs=0.06)


def test_a_speed_change_applies_until_the_next():
    """Maximum ground speed on each leg; the legs are long enough to reach it."""
    mission = mission_of(
        (TAKEOFF, 0, 0, 5),
        (WAYPOINT, 60, 0, 5, 1, 1),
        (SPEED, 0, 0, 0, 1, 3.0),
        (WAYPOINT, 0, 0, 5, 1, 1),
        (SPEED, 0, 0, 0, 1, 8.0),
        (WAYPOINT, 60, 0, 5, 1, 1),
        (LAND, 60, 0, 0),
    )
    sim = flight(mission, end_s=110).run()
    speed = np.linalg.norm(autopilot_of(sim)["vel_sp_ned"][:, :2], axis=1)
    item = autopilot_of(sim)["mission_item"]
    fastest = [float(speed[item == i].max()) for i in (1, 3, 5)]
    assert fastest == pytest.approx([5.0, 3.0, 8.0], abs=0.05)
    assert landed_at(sim) == pytest.approx([60.0, 0.0], abs=0.5)


def test_a_restarted_mission_has_the_default_speed():
    """A speed item of the previous flight is forgotten."""
    mission = mission_of(
        (TAKEOFF, 0, 0, 5),
        (WAYPOINT, 40, 0, 5, 1, 1),
        (SPEED, 0, 0, 0, 1, 2.0),
        (WAYPOINT, 30, 0, 5, 1, 1),
        (LAND, 30, 0, 0),
    )
    scenario = TAKE_OFF.at(70.0).disarm().at(71.0).arm().at(72.0).start_mission()
    sim = flight(mission, scenario=scenario, end_s=100).run()
    status = autopilot_of(sim)
    again = (sim.log["time_us"] > 72_000_000) & (status["mission_item"] == 1)
    assert np.linalg.norm(status["vel_sp_ned"][again, :2], axis=1).max() == pytest.approx(5.0, abs=0.05)


def test_a_jump_repeats_its_legs():
    """Twice back to item 1, then on."""
    mission = mission_of(
        (TAKEOFF, 0, 0, 5), (WAYPOINT, 8, 0, 5, 0, 1), (WAYPOINT, 0, 0, 5, 0, 1), (JUMP, 0, 0, 0, 1, 2), (LAND, 0, 0, 0)
    )
    sim = flight(mission, end_s=90).run()
    item = autopilot_of(sim)["mission_item"]
    assert [int(item[row]) for row in np.flatnonzero(np.diff(item)) + 1] == [1, 2, 1, 2, 1, 2, 4]
    assert autopilot_of(sim)["mission_finished"][-1] == 1


def test_jumps_skip_or_repeat_speed_changes():
    """Forward over a speed change skips it; backward onto one repeats it immediately."""
    mission = mission_of(
        (TAKEOFF, 0, 0, 5), (SPEED, 0, 0, 0, 1, 3), (JUMP, 0, 0, 0, 4, 1), (SPEED, 0, 0, 0, 1, 9),
        (WAYPOINT, 30, 0, 5, 0, 1), (JUMP, 0, 0, 0, 1, 1), (LAND, 30, 0, 0),
    )  # fmt: skip
    sim = flight(mission, end_s=90).run()
    status = autopilot_of(sim)
    assert [int(status["mission_item"][row]) for row in np.flatnonzero(np.diff(status["mission_item"])) + 1] == [4, 6]
    assert np.linalg.norm(status["vel_sp_ned"][status["mission_item"] == 4, :2], axis=1).max() < 3.05
    assert status["mission_finished"][-1] == 1


def test_a_mission_may_end_with_a_return_or_in_the_air():
    """A return item lands at home; unlimited loiter stays; the last waypoint is held."""
    legs = ((TAKEOFF, 0, 0, 5), (WAYPOINT, 30, 0, 5, 0, 1))
    returned = flight(mission_of(*legs, (RETURN,)), end_s=90, params={"RTL_RETURN_ALT": 10.0, "RTL_CONE_ANG": 0}).run()
    assert np.linalg.norm(landed_at(returned)) < 0.5
    assert modes_of(returned) == [MISSION_MODE, RETURN_MODE, MANUAL_MODE]
    assert autopilot_of(returned)["mission_finished"][-1] == 1
    for mission in (mission_of(*legs, (LOITER_UNLIMITED, 30, 5, 5)), mission_of(*legs, (WAYPOINT, 30, 5, 5))):
        sim = flight(mission, end_s=60).run()
        assert autopilot_of(sim)["armed"][-1] == 1
        assert sim.plant["pos"] == pytest.approx([30.0, 5.0, -5.0], abs=0.3)


def test_a_distant_landing_point_is_flown_to_first():
    """Beyond NAV_ACC_RAD, at the current altitude; nearer, it descends on the way."""
    far = flight(mission_of((TAKEOFF, 0, 0, 8), (LAND, 40, 0, 0)), end_s=70).run()
    heights = -far.log_state[(far.log_state[:, 0] > 5.0) & (far.log_state[:, 0] < 30.0), 2]
    assert heights.min() > 7.0
    assert landed_at(far) == pytest.approx([40.0, 0.0], abs=0.5)


@pytest.mark.parametrize(("mode", "heading_deg"), [(0, 90.0), (1, -90.0), (2, 90.0), (3, 90.0), (4, 90.0)])
def test_the_yaw_mode_applies_without_a_heading(mode, heading_deg):
    """On an eastward leg: to the target, to home, away from home, along the trajectory, turn first."""
    nan = float("nan")
    plan = mission_of((TAKEOFF, 0, 0, 5), (WAYPOINT, 0, 60, 5, 0, 1), (LAND, 0, 60, 0))
    items = tuple(item.__class__(**(vars(item) | {"yaw_deg": nan})) for item in plan.items)
    sim = flight(plan.__class__(items, "a test"), end_s=22, params={"MPC_YAW_MODE": mode}).run()
    assert np.degrees(autopilot_of(sim)["yaw_sp"][-1]) == pytest.approx(heading_deg, abs=3.0)
    assert sim.plant["pos"][1] > 10.0


# -- failsafes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "modes"),
    [
        (0, [MISSION_MODE, MANUAL_MODE]),
        (1, [MISSION_MODE, RETURN_MODE, MANUAL_MODE]),
        (2, [MISSION_MODE, LAND_MODE, MANUAL_MODE]),
        (3, [MISSION_MODE, RETURN_MODE, LAND_MODE, MANUAL_MODE]),
    ],
)
def test_a_low_battery_triggers_its_action(action, modes):
    """By COM_LOW_BAT_ACT; warnings rise at the aircraft's thresholds, whatever the action."""
    battery = Battery(soc0=0.22, low_thr=0.16, crit_thr=0.11, emerg_thr=0.06)
    params = {"COM_LOW_BAT_ACT": action, "RTL_RETURN_ALT": 20.0}
    sim = flight(aircraft=iris(batteries=(battery,)), end_s=100, params=params).run()
    status = sim.log["bus"]["battery"][:, 0]
    for level, threshold in ((1, 0.16), (2, 0.11)):
        first = np.flatnonzero(status["warning"] >= level)[0]
        assert status["remaining"][first] == pytest.approx(threshold, abs=1e-4)
    assert modes_of(sim) == modes
    assert BATTERY_FAILSAFE in autopilot_of(sim)["failsafe"]
    landed_at(sim)
    if action == 1:
        assert np.linalg.norm(landed_at(sim)) < 0.5


def test_a_mission_of_500_items_is_flown():
    """To its end, from items that take no time to a jump over more items than fit into 8 bits."""
    many = [(SPEED, 0, 0, 0, 1, 5)] * 496
    ends = [(WAYPOINT, 3, 0, 3), (JUMP, 0, 0, 0, 1, 1), (LAND, 3, 0, 0)]
    sim = flight(mission_of((TAKEOFF, 0, 0, 3), *many, *ends), end_s=40).run()
    status = autopilot_of(sim)
    assert status["mission_count"][-1] == 500
    assert status["mission_finished"][-1] == 1
    assert [item for _, item in changes(status["mission_item"], sim.log["time_us"])] == [497, 499]
    assert landed_at(sim) == pytest.approx([3.0, 0.0], abs=0.5)


@pytest.mark.parametrize(
    ("action", "last_mode"), [(0, MANUAL_MODE), (1, MANUAL_MODE), (2, LOITER_MODE), (3, RETURN_MODE), (5, LAND_MODE)]
)
def test_leaving_the_geofence_triggers_its_action(action, last_mode):
    """By GF_ACTION: nothing, warn, hold, return, land. A warning is no failsafe; the breach is an event anyway."""
    sim = flight(end_s=90, params={"GF_MAX_HOR_DIST": 8.0, "GF_ACTION": action}).run()
    assert (GEOFENCE_FAILSAFE in autopilot_of(sim)["failsafe"]) == (action > 1)
    events = [event for event in summarize(sim).events if event.label == "geofence breached"]
    assert events[0].is_fault
    flown = modes_of(sim)
    if action in (0, 1):
        assert flown == [MISSION_MODE, MANUAL_MODE]
        assert_flown_well(sim)
    elif action == 2:
        assert flown == [MISSION_MODE, last_mode]
        assert np.linalg.norm(sim.plant["vel"]) < 0.05
    else:
        assert flown == [MISSION_MODE, last_mode, MANUAL_MODE]
        landed_at(sim)


def test_a_geofence_can_terminate_the_flight():
    """GF_ACTION 4 stops the motors."""
    sim = flight(params={"GF_MAX_HOR_DIST": 8.0, "GF_ACTION": 4}).run()
    assert sim.is_crashed
    assert autopilot_of(sim)["armed"][-1] == 0


def test_a_geofence_has_a_ceiling():
    """GF_MAX_VER_DIST at 10 m, on the way up to 12 m."""
    sim = flight(end_s=60, params={"GF_MAX_VER_DIST": 10.0, "GF_ACTION": 5}).run()
    assert -sim.log_state[:, 2].min() < 11.0
    landed_at(sim)


def test_it_descends_without_a_position():
    """From a level hover it comes down nearby, faster than a landing but slower than a crash."""
    hover = mission_of((TAKEOFF, 0, 0, 6), (LOITER_UNLIMITED, 0, 0, 6))
    sim = flight(hover, scenario=TAKE_OFF.at(25.0).estimate_dropout(), end_s=60).run()
    assert modes_of(sim) == [MISSION_MODE, DESCEND_MODE, MANUAL_MODE]
    assert POSITION_FAILSAFE in autopilot_of(sim)["failsafe"]
    assert np.linalg.norm(landed_at(sim)) < 3.0


@pytest.mark.parametrize("first_s", [1.5, 2.5, 20.0, 56.0])
def test_a_short_position_loss_at_any_time_has_no_lasting_effect(first_s):
    """0.2 s at each half second: in the ramp, in flight, while landing. No NaN, and the mission completes."""
    for start_s in np.arange(first_s, first_s + 4.0, 0.5):
        scenario = TAKE_OFF.at(float(start_s)).estimate_dropout().at(float(start_s) + 0.2).clear_estimate_faults()
        sim = flight(scenario=scenario, end_s=75).run()
        assert np.isfinite(sim._core["builtin"]["rate"]["integral"]).all()
        assert autopilot_of(sim)["mission_finished"][-1] == 1
        landed_at(sim)


def test_a_nan_estimate_counts_as_invalid():
    """From a Python estimator, for one tick; the flight continues."""

    class Hiccup:
        def step(self, time_us, inputs, outputs):
            x = inputs.plant.x
            outputs.pos_ned[:], outputs.vel_ned[:] = x[0:3], x[3:6]
            outputs.q_bn[:], outputs.omega_body[:] = x[6:10], x[10:13]
            if time_us == 30_004_000:
                outputs.vel_ned[0] = np.nan

    assert_flown_well(flight(estimator=Hiccup()).run())


def test_a_more_severe_failsafe_is_not_overridden():
    """An octa landing on seven motors does not climb because it crosses a geofence."""
    scenario = TAKE_OFF.at(17.5).disable_motor(1)
    sim = flight(aircraft=octa(), scenario=scenario, end_s=60, params={"GF_MAX_HOR_DIST": 2.0, "GF_ACTION": 3}).run()
    assert modes_of(sim)[-2:] == [LAND_MODE, MANUAL_MODE]
    landed_at(sim)


def test_a_battery_critical_on_the_ground_triggers_in_flight():
    """Arming is not denied, and it lands immediately after takeoff."""
    battery = Battery(soc0=0.105, crit_thr=0.11, emerg_thr=1e-4)
    sim = flight(aircraft=iris(batteries=(battery,)), end_s=40, params={"COM_LOW_BAT_ACT": 2}).run()
    assert modes_of(sim) == [MISSION_MODE, LAND_MODE, MANUAL_MODE]
    assert -sim.log_state[:, 2].min() < 2.0


def test_a_short_power_loss_is_not_a_motor_failure():
    """All motors lose their current, so no motor has failed."""
    scenario = TAKE_OFF.at(30.0).disconnect_battery().at(30.15).reconnect_battery()
    sim = flight(aircraft=octa(), scenario=scenario, end_s=80).run()
    assert MOTOR_FAILSAFE not in autopilot_of(sim)["failsafe"]
    assert_flown_well(sim)


def test_a_short_position_loss_does_not_change_the_mode():
    """After half a second the mission continues, and completes."""
    scenario = TAKE_OFF.at(30.0).estimate_dropout().at(30.5).clear_estimate_faults()
    sim = flight(scenario=scenario, end_s=80).run()
    assert modes_of(sim) == [MISSION_MODE, MANUAL_MODE]
    assert_flown_well(sim)


# -- faults --------------------------------------------------------------------------------------------------------


def test_a_weak_motor_is_compensated():
    """The integrators compensate for a loss of a fifth of a motor's thrust."""
    assert_flown_well(flight(scenario=TAKE_OFF.at(30.0).thrust_loss(1, 0.2), end_s=80).run())


def test_a_briefly_frozen_estimate_is_survived():
    """For a third of a second, at a waypoint."""
    scenario = TAKE_OFF.at(30.0).sensor_fault("estimate").at(30.3).clear_sensor_fault("estimate")
    assert_flown_well(flight(scenario=scenario, end_s=80).run())


# -- options -------------------------------------------------------------------------------------------------------


def test_the_hover_thrust_estimate_unloads_the_integrator():
    """MPC_THR_HOVER is 0.5, but the Iris hovers at 0.6: without it, the integrator makes up the difference."""
    hover = mission_of((TAKEOFF, 0, 0, 6), (LOITER_UNLIMITED, 0, 0, 6))
    found = {}
    for is_on in (False, True):
        sim = flight(hover, end_s=40, hover_thrust_estimate=is_on).run()
        assert sim.plant["pos"] == pytest.approx([0.0, 0.0, -6.0], abs=0.1)
        found[is_on] = abs(float(sim._core["builtin"]["position"]["integral"][0, 2]))
    assert found[False] > 1.0
    assert found[True] < 0.2 * found[False]


def test_thrust_curve_and_battery_scaling_keep_the_flight():
    """THR_MDL_FAC and MC_BAT_SCALE_EN change motor commands, not the flight."""
    for params in ({"THR_MDL_FAC": 0.3}, {"MC_BAT_SCALE_EN": 1}):
        assert_flown_well(flight(params=params, end_s=80).run())


def test_position_control_runs_every_third_tick():
    """At 100 Hz with 4 ms ticks, the attitude setpoint changes at ticks with remainder 1, as in the real library."""
    sim = flight(end_s=30, log_us=4_000).run()
    q_sp = autopilot_of(sim)["q_sp"]
    changed = np.flatnonzero(np.abs(np.diff(q_sp, axis=0)).max(axis=1) > 0.0) + 1
    assert len(changed) > 1_000
    assert set((changed % 3).tolist()) == {1}


def test_a_flight_can_be_resumed_from_a_snapshot():
    """In mid-mission: the same digests, and a snapshot of another autopilot is rejected."""
    whole = disturbed(end_s=40).run()
    half = disturbed(end_s=40).run(until_us=20_000_000)
    saved = half.snapshot()
    other = disturbed(end_s=40)
    other.restore(saved)
    assert other.run().digest() == whole.digest()
    assert other.live_digest() == whole.live_digest()
    with pytest.raises(Exception, match="a different configuration: builtin"):
        disturbed(end_s=40, params={"MPC_XY_P": 0.9}).restore(saved)


def test_a_recorded_flight_replays():
    """Commands, wind and scenario from the streams: the same digest without an autopilot."""
    sim = disturbed(end_s=40, record=True).run()
    assert flight(end_s=40, replay=sim.streams).run().digest() == sim.digest()
