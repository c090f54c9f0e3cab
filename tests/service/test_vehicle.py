"""A served vehicle obeys commands as PX4 does, and refuses those that PX4 refuses."""

import itertools
import math

import pytest
from served import CALM, NAN, Flown, square

import px4lockstep
from px4lockstep.errors import InputError
from px4lockstep.scenario.commands import (
    DENIED,
    TEMPORARILY_REJECTED,
    UNSUPPORTED,
    Arm,
    ChangeAltitude,
    ChangeSpeed,
    ClearMission,
    Disarm,
    GoTo,
    Hold,
    InjectFailure,
    Item,
    Land,
    Orbit,
    Reset,
    Return,
    SetCurrentItem,
    SetFence,
    SetHome,
    SetMission,
    SetMode,
    SetParam,
    Setpoint,
    SetRally,
    SetRoi,
    SetWind,
    StartMission,
    Takeoff,
)
from px4lockstep.service.vehicle import Vehicle

MISSION, HOLD, RETURN, OFFBOARD, TAKEOFF, LAND, ORBIT = 3, 4, 5, 14, 17, 18, 21
POSITION = 2


@pytest.fixture
def flown():
    with Flown(overrides=CALM) as flown:
        yield flown


def yaw_of(status):
    w, _, _, z = status.q_bn
    return 2.0 * math.atan2(z, w)


def away_m(status, north_m, east_m, height_m):
    return math.dist(status.pos_ned, (north_m, east_m, -height_m))


def test_a_vehicle_starts_on_the_ground_disarmed_and_in_hold(flown):
    """Before any command it stands at home, knows its position, and can be armed."""
    status = flown.status
    assert (status.armed, status.nav_state, status.landed_state, status.why_not_armable) == (False, HOLD, 1, "")
    assert status.has_position
    assert status.home.lat_deg == pytest.approx(status.position.lat_deg, abs=1e-6)
    assert status.mission.state == 1
    assert flown.vehicle.parameters["MIS_TAKEOFF_ALT"] == 2.5


def test_takeoff_hold_land_and_disarm(flown):
    """A takeoff climbs to MIS_TAKEOFF_ALT in its own mode, then holds; after landing it disarms and is in Hold."""
    flown.give_all(Arm(), Takeoff())
    assert flown.fly(3.0).nav_state == TAKEOFF
    flown.until(lambda status: status.nav_state == HOLD, 10.0)
    status = flown.fly(6.0)
    assert -status.pos_ned[2] - 0.24 == pytest.approx(2.5, abs=0.3)  # 0.24 m: the centre of mass on the ground
    assert status.landed_state == 2
    flown.give_all(Land())
    assert flown.status.nav_state == LAND
    status = flown.until(lambda status: not status.armed, 20.0)
    assert (status.nav_state, status.landed_state) == (HOLD, 1)
    texts = [text.text for text in flown.vehicle.texts()]
    expected = ["Armed by external command", "Takeoff detected", "Landing detected", "Disarmed by landing"]
    assert [text for text in texts if text in expected] == expected
    assert flown.run.outcome.word == "flown"


def landed_states(flown, seconds):
    """Return the landed states of the next seconds, each once per change, looking at every tick or two."""
    found = [flown.status.landed_state]
    for _ in range(round(seconds / 0.01)):
        found.append(flown.fly(0.01).landed_state)
        if not flown.status.armed and found[-1] == 1:
            break
    return [state for state, _ in itertools.groupby(found)]


def test_a_landing_is_detected_once_in_missions_and_returns_too(flown):
    """Landed state on the ground, taking off, in the air, landing, on the ground; bounces at touchdown do not count."""
    items = (flown.waypoint(0.0, 0.0, 6.0, 22), flown.waypoint(8.0, 0.0, 6.0), flown.waypoint(8.0, 0.0, 0.0, 21))
    flown.give_all(SetMission(items, 1), SetMode(MISSION), Arm())
    assert landed_states(flown, 60.0) == [1, 3, 2, 4, 1]
    assert not flown.status.armed
    flown.give_all(SetMode(HOLD), Arm(), Takeoff())
    assert landed_states(flown, 15.0) == [1, 3, 2]
    flown.give_all(Return())
    assert landed_states(flown, 60.0) == [2, 4, 1]
    flown.give_all(SetMode(HOLD), Arm(), Takeoff())
    flown.fly(10.0)
    flown.give_all(Disarm(force=True))
    flown.fly(5.0)  # it falls, and bounces
    texts = [text.text for text in flown.vehicle.texts()]
    landings = [text for text in texts if text in ("Takeoff detected", "Landing detected")]
    assert landings == ["Takeoff detected", "Landing detected"] * 3


def test_a_mission_is_complete_when_its_last_item_begins_the_return(flown):
    """As PX4 reports it, not only after the landing."""
    items = (flown.waypoint(0.0, 0.0, 6.0, 22), flown.waypoint(8.0, 0.0, 6.0), Item(2, 20))
    flown.give_all(SetMission(items, 1), SetMode(MISSION), Arm())
    status = flown.until(lambda status: status.nav_state == RETURN, 60.0)
    assert status.armed
    assert (status.mission.state, status.mission.reached) == (5, 1)
    flown.until(lambda status: not status.armed, 60.0)
    assert (flown.status.mission.state, flown.status.mission.reached) == (5, 2)


@pytest.mark.parametrize("last", [Hold(), StartMission(), Return(), Land()], ids=lambda command: command.name)
@pytest.mark.parametrize("first", [Hold(), StartMission(), Return(), Land()], ids=lambda command: command.name)
def test_the_last_command_of_a_tick_counts(flown, first, last):
    """Whatever came before it at the same tick."""
    flown.give_all(SetMission(square(flown), 1))
    flown.take_off(6.0)
    for command in (first, last):
        flown.vehicle.submit(command)
    assert flown.fly(1.0).nav_state == {Hold: 4, StartMission: 3, Return: 5, Land: 18}[type(last)]


def test_a_takeoff_by_altitude_above_sea_level(flown):
    """Ground stations give the altitude above sea level, and arm afterwards."""
    flown.give_all(Takeoff(flown.home.alt_amsl_m + 8.0), Arm())
    flown.until(lambda status: status.nav_state == HOLD, 20.0)
    assert -flown.fly(8.0).pos_ned[2] == pytest.approx(8.0, abs=0.5)


def test_arming_is_refused_in_a_mode_that_cannot_be_flown(flown):
    """Disarmed, every mode can be selected; arming in Mission without a mission or Offboard without a stream fails."""
    for mode in (MISSION, OFFBOARD, POSITION, RETURN):
        flown.give_all(SetMode(mode))
        assert flown.status.nav_state == mode
        result = flown.give(Arm())
        assert result.code == TEMPORARILY_REJECTED
        assert result.text.startswith("Arming denied: Resolve system health failures first")
    assert not flown.status.armed
    flown.give_all(SetMode(HOLD), Arm())
    assert flown.status.armed


def test_disarming_in_the_air_needs_force(flown):
    """PX4: Disarming denied, not landed. A forced one stops the motors, and the vehicle falls."""
    flown.take_off(10.0)
    result = flown.give(Disarm())
    assert (result.code, result.text) == (TEMPORARILY_REJECTED, "Disarming denied: not landed")
    flown.give_all(Disarm(force=True))
    assert not flown.status.armed
    flown.fly(4.0)
    assert flown.status.is_crashed
    assert flown.run.outcome.word == "crashed"


def test_a_vehicle_that_does_not_take_off_disarms(flown):
    """COM_DISARM_PRFLT, 10 s after arming."""
    flown.give_all(Arm())
    assert flown.fly(9.0).armed
    assert not flown.fly(1.5).armed
    assert "Disarmed by auto preflight disarming" in [text.text for text in flown.vehicle.texts()]


def test_a_mission_with_progress_pause_and_a_new_current_item(flown):
    """Items are counted as uploaded; pause holds, a start continues, and the current item can be set."""
    flown.give_all(SetMission(square(flown), 77), Arm(), StartMission())
    assert (flown.status.mission.count, flown.status.mission.mission_id, flown.status.mission.state) == (4, 77, 3)
    flown.until(lambda status: status.mission.reached == 1, 60.0)
    assert flown.status.mission.current == 2
    flown.give_all(Hold())
    assert (flown.status.nav_state, flown.status.mission.state) == (HOLD, 4)
    paused_ned = flown.fly(5.0).pos_ned
    assert math.dist(paused_ned, flown.fly(3.0).pos_ned) < 0.5
    flown.give_all(SetCurrentItem(1), StartMission())
    assert flown.status.mission.current == 1
    status = flown.until(lambda status: status.mission.state == 5, 90.0)
    assert (status.nav_state, status.mission.reached) == (MISSION, 3)
    assert away_m(status, 0.0, 20.0, 10.0) < 1.5
    flown.give_all(Return())
    assert flown.until(lambda status: not status.armed, 90.0).nav_state == HOLD
    assert flown.run.outcome.word == "flown"


def test_a_mission_can_be_replaced_in_flight(flown):
    """A new mission begins at once if the vehicle flies one; clearing it holds the position."""
    flown.give_all(SetMission(square(flown), 1), Arm(), StartMission())
    flown.until(lambda status: status.mission.reached == 0, 30.0)
    flown.give_all(SetMission((flown.waypoint(-15.0, 0.0, 12.0),), 2))
    status = flown.until(lambda status: status.mission.state == 5, 40.0)
    assert away_m(status, -15.0, 0.0, 12.0) < 1.5
    flown.give_all(ClearMission())
    assert (flown.status.nav_state, flown.status.mission.count) == (HOLD, 0)


def test_a_mission_that_px4_would_not_fly_is_refused_at_its_start(flown):
    """Outside the geofence: the upload is accepted with a message, the start is not. Without a mission: refused."""
    flown.take_off(5.0)
    assert flown.give(StartMission()).code == TEMPORARILY_REJECTED
    lat_deg, lon_deg, _ = flown.place(0.0, 0.0, 0.0)
    flown.give_all(SetFence((Item(0, 5003, (10.0, 0.0, 0.0, 0.0), lat_deg, lon_deg),), 5))
    assert flown.status.mission.fence_id == 5
    result = flown.give(SetMission(square(flown), 1))
    assert result.is_accepted
    assert "must be inside" in result.text
    refused = flown.give(StartMission())
    assert refused.code == TEMPORARILY_REJECTED
    assert "Mission" in refused.text
    flown.give_all(SetFence(()), StartMission())
    assert flown.status.nav_state == MISSION


def test_invalid_uploads_are_denied_and_change_nothing(flown):
    """The message names the item."""
    flown.give_all(SetMission(square(flown), 1))
    far = Item(6, 16, (0.0, 0.0, 0.0, NAN), 95.0, 8.0, 10.0)
    result = flown.give(SetMission((far,), 2))
    assert result.code == DENIED
    assert "item 0" in result.text
    assert flown.status.mission.mission_id == 1
    flown.give_all(SetMission(square(flown), -1))
    assert flown.status.mission.mission_id == 2**32 - 1  # as MAVLink has it
    assert flown.give(SetFence((Item(0, 5001, (3.0, 0.0, 0.0, 0.0), 47.0, 8.0),))).code == DENIED
    assert flown.give(SetRally((Item(3, 16, x=47.0, y=8.0),))).code == DENIED


def test_a_circle_without_a_radius_is_ignored(flown):
    """MAVSDK sends one at 0, 0 after the polygons of a geofence without circles."""
    corners = ((30.0, 30.0), (30.0, -30.0), (-30.0, -30.0), (-30.0, 30.0))
    items = [Item(5, 5001, (4.0, 0.0, 0.0, 0.0), *flown.place(*corner, 0.0)[:2]) for corner in corners]
    flown.give_all(SetFence((*items, Item(5, 5003, (0.0, 0.0, 0.0, 0.0), 0.0, 0.0)), 6))
    assert flown.status.mission.fence_id == 6
    flown.give_all(SetMission(square(flown), 1), Arm(), StartMission())
    assert flown.fly(15.0).nav_state == MISSION
    assert not flown.status.failsafe
    wrong = Item(5, 5003, (math.nan, 0.0, 0.0, 0.0), 47.0, 8.0)
    assert flown.give(SetFence((wrong,))).code == DENIED


def test_a_lost_gps_takes_the_horizontal_position_only(flown):
    """Descend lands from 20 m at MPC_LAND_SPEED, because the height is still known."""
    flown.take_off(20.0)
    flown.give_all(InjectFailure(4, 1))
    status = flown.fly(5.0)
    assert (status.nav_state, status.has_position, status.landed_state) == (12, False, 4)
    assert status.vel_ned[2] == pytest.approx(0.7, abs=0.1)
    assert -flown.fly(5.0).pos_ned[2] == pytest.approx(-status.pos_ned[2] - 3.5, abs=0.5)
    assert not flown.until(lambda status: not status.armed, 40.0).is_crashed


@pytest.mark.parametrize("land", [Land(), SetMode(18)], ids=["command", "mode"])
@pytest.mark.parametrize("after_s", [0.5, 4.0])
def test_a_landing_without_a_position_descends(flown, land, after_s):
    """As PX4, which accepts it and descends; other modes need a position."""
    flown.take_off(8.0)
    flown.give_all(InjectFailure(4, 1))
    flown.fly(after_s)
    flown.give_all(land)
    assert flown.give(SetMode(5)).code == 1
    status = flown.fly(2.0)
    assert (status.nav_state, status.failsafe) == (12, True)
    assert status.vel_ned[2] > 0.3
    assert not flown.until(lambda status: not status.armed, 60.0).is_crashed


def fence_of(flown, radius_m):
    lat_deg, lon_deg, _ = flown.place(0.0, 0.0, 0.0)
    return SetFence((Item(0, 5003, (radius_m, 0.0, 0.0, 0.0), lat_deg, lon_deg),))


def test_a_geofence_set_in_flight_acts(flown):
    """GF_ACTION 2 holds the vehicle where it leaves the fence."""
    flown.take_off(5.0)
    flown.give_all(SetParam("GF_ACTION", 2), GoTo(*flown.place(40.0, 0.0, 5.0)), fence_of(flown, 15.0))
    status = flown.until(lambda status: status.failsafe, 30.0)
    assert status.pos_ned[0] == pytest.approx(15.0, abs=2.0)
    assert flown.fly(10.0).pos_ned[0] < 25.0
    assert flown.run.outcome.word == "command not obeyed"


@pytest.mark.parametrize("speed_m_s", [0.0, 5.0])
def test_a_place_outside_the_geofence_is_not_flown_to(flown, speed_m_s):
    """As PX4: the command is accepted with a text, and the vehicle holds; the flight has not obeyed."""
    flown.take_off(5.0)
    flown.give_all(fence_of(flown, 60.0), SetParam("GF_MAX_VER_DIST", 20.0))
    if speed_m_s:
        flown.give_all(SetMission((flown.waypoint(50.0, 0.0, 5.0),)), StartMission())
        flown.fly(4.0)
    result = flown.give(GoTo(*flown.place(100.0, 0.0, 5.0)))
    assert (result.code, result.text) == (0, "Reposition is outside geofence")
    status = flown.fly(10.0)
    assert (status.nav_state, status.failsafe) == (HOLD, False)
    assert status.pos_ned[0] < (40.0 if speed_m_s else 1.0)
    result = flown.give(ChangeAltitude(flown.home.alt_amsl_m + 30.0))
    assert (result.code, result.text) == (0, "Altitude change is outside geofence")
    assert -flown.fly(5.0).pos_ned[2] < 7.0
    assert flown.give(GoTo(*flown.place(0.0, 30.0, 5.0))).text == ""
    assert flown.give(GoTo(*flown.place(100.0, 0.0, 5.0))).text
    assert flown.run.outcome.word == "command not obeyed"


def test_a_fence_that_only_warns_forbids_no_place(flown):
    flown.take_off(5.0)
    flown.give_all(fence_of(flown, 10.0), SetParam("GF_ACTION", 1), GoTo(*flown.place(20.0, 0.0, 5.0)))
    assert flown.fly(15.0).pos_ned[0] == pytest.approx(20.0, abs=1.0)


def test_the_altitude_changes_in_hold_only(flown):
    """MAV_CMD_DO_CHANGE_ALTITUDE keeps the place; other modes refuse it."""
    flown.take_off(5.0)
    flown.give_all(ChangeAltitude(flown.home.alt_amsl_m + 9.0))
    assert away_m(flown.fly(10.0), 0.0, 0.0, 9.0) < 0.7
    flown.give_all(Orbit(8.0, 2.0))
    assert flown.give(ChangeAltitude(flown.home.alt_amsl_m + 5.0)).code == TEMPORARILY_REJECTED
    flown.give_all(Hold(), ChangeAltitude(flown.home.alt_amsl_m + 6.0))
    flown.fly(10.0)
    assert flown.run.outcome.word == "flown"


def test_a_go_to_without_numbers_stops_the_vehicle(flown):
    """QGroundControl's pause; one that may not change the mode is refused in others."""
    flown.take_off(8.0)
    flown.give_all(GoTo(*flown.place(80.0, 0.0, 8.0)))
    assert flown.fly(6.0).vel_ned[0] > 4.0
    before_m = flown.status.pos_ned[0]
    flown.give_all(GoTo(changes_mode=False))
    status = flown.fly(8.0)
    assert math.hypot(*status.vel_ned) < 0.3
    assert status.pos_ned[0] < before_m + 10.0
    flown.give_all(Orbit(8.0, 2.0))
    assert flown.give(GoTo(changes_mode=False)).code == DENIED
    flown.give_all(GoTo())
    flown.fly(5.0)
    assert flown.run.outcome.word == "flown"


def test_a_region_of_interest_turns_the_vehicle_during_a_mission(flown):
    """As PX4: MAV_CMD_DO_SET_ROI_LOCATION is accepted in every mode, and only Mission mode turns to it."""
    flown.take_off(8.0)
    flown.give_all(SetRoi(*flown.place(0.0, 100.0, 0.0)))
    assert abs(yaw_of(flown.fly(3.0))) < 0.1
    flown.give_all(SetMission((flown.waypoint(30.0, 0.0, 8.0),)), StartMission(), SetRoi(*flown.place(0.0, 100.0, 0.0)))
    assert yaw_of(flown.fly(4.0)) > 1.0
    flown.give_all(SetRoi())
    flown.fly(6.0)
    assert flown.give(SetRoi(95.0, 8.0)).code == DENIED


def test_go_to_reaches_a_place(flown):
    """The vehicle holds there, with the heading of the command; a speed change counts until the mode changes."""
    flown.take_off(5.0)
    assert flown.give(GoTo(*flown.place(20.0, -10.0, 8.0), yaw_rad=1.0)).is_accepted
    status = flown.fly(20.0)
    assert status.nav_state == HOLD
    assert away_m(status, 20.0, -10.0, 8.0) < 1.0
    assert yaw_of(status) == pytest.approx(1.0, abs=0.1)
    flown.give_all(GoTo(*flown.place(-40.0, -10.0, 8.0)), ChangeSpeed(2.0))
    assert math.hypot(*flown.fly(8.0).vel_ned) == pytest.approx(2.0, abs=0.3)


def test_a_place_that_is_not_reached_in_time_is_no_success(flown):
    """The verdict says what was commanded and how far it was."""
    flown.take_off(5.0)
    flown.give_all(GoTo(*flown.place(200.0, 0.0, 5.0)))
    flown.fly(5.0)
    outcome = flown.run.outcome
    assert outcome.word == "out of time"
    assert "a place to fly to was commanded" in outcome.reason


def test_an_orbit_needs_a_vehicle_in_the_air(flown):
    assert flown.give(Orbit(10.0, 2.0)).code == TEMPORARILY_REJECTED


def test_a_go_to_while_disarmed_is_accepted_without_an_effect(flown):
    """As PX4."""
    flown.give_all(GoTo(*flown.place(5.0, 5.0, 5.0)))
    assert (flown.status.nav_state, flown.status.armed) == (HOLD, False)
    flown.give_all(Arm())
    assert flown.fly(5.0).landed_state == 1


def test_a_go_to_right_after_a_takeoff_was_commanded_takes_off_and_flies_there(flown):
    """MAVSDK's example: 1 s after the takeoff, still on the ground, Hold and then the place."""
    flown.give_all(Arm(), Takeoff())
    assert flown.fly(1.0).landed_state == 1
    flown.give_all(Hold(), GoTo(*flown.place(20.0, -10.0, 20.0)))
    status = flown.fly(30.0)
    assert (status.nav_state, status.armed, status.landed_state) == (HOLD, True, 2)
    assert away_m(status, 20.0, -10.0, 20.0) < 1.0
    flown.give_all(GoTo(*flown.place(20.0, -10.0, 0.2)))
    assert not flown.until(lambda status: not status.armed, 40.0).is_crashed  # it lands there


def test_numbers_out_of_range_are_denied_and_do_no_harm(flown):
    """Whatever a client sends, the flight goes on."""
    flown.take_off(5.0)
    wild = (1e300, -1e300, math.inf, 1e9)
    for value in wild:
        for command in (
            GoTo(lat_deg=value, lon_deg=8.0),
            GoTo(alt_amsl_m=value),
            GoTo(yaw_rad=value),
            Takeoff(value),
            Orbit(value, 1.0),
            Orbit(10.0, value),
            SetHome(value, value, value),
            ChangeSpeed(value),
            Setpoint(pos_ned=(value, 0.0, 0.0)),
            SetWind((value, 0.0, 0.0)),
            SetParam("MPC_XY_P", value),
        ):
            assert not flown.give(command).is_accepted, command
    assert flown.give(GoTo(lat_deg=95.0, lon_deg=8.0)).code == DENIED
    assert flown.give(SetMode(10**30)).code != 0
    assert away_m(flown.fly(2.0), 0.0, 0.0, 5.0) < 0.6


def test_an_orbit_circles_its_centre(flown):
    """At its radius, speed and altitude, clockwise, facing the centre."""
    flown.take_off(5.0)
    flown.give_all(Orbit(12.0, 3.0, 0, *flown.place(10.0, 0.0, 9.0)))
    flown.fly(20.0)
    angles = []
    for _ in range(8):
        status = flown.fly(1.0)
        n, e = status.pos_ned[0] - 10.0, status.pos_ned[1]
        assert math.hypot(n, e) == pytest.approx(12.0, abs=1.0)
        assert math.hypot(*status.vel_ned[:2]) == pytest.approx(3.0, abs=0.5)
        angles.append(math.atan2(e, n))
        facing = yaw_of(status) - math.atan2(-e, -n)
        assert abs(math.remainder(facing, 2.0 * math.pi)) < 0.3
    turns = [math.remainder(b - a, 2.0 * math.pi) for a, b in itertools.pairwise(angles)]
    assert all(turn > 0.1 for turn in turns)
    assert status.nav_state == ORBIT
    assert -status.pos_ned[2] == pytest.approx(9.0, abs=0.5)
    assert flown.run.outcome.word == "flown"


@pytest.mark.parametrize("radius_m", [0.0, 0.5, -0.5, 1001.0, -5000.0])
def test_an_orbit_beyond_the_limits_of_px4_hovers(flown, radius_m):
    """As PX4: accepted, with a text, in orbit mode; it is no orbit, and no success."""
    place = flown.take_off(5.0).pos_ned
    result = flown.give(Orbit(radius_m, 2.0))
    assert (result.code, result.text) == (0, "Orbit radius limit exceeded")
    status = flown.fly(8.0)
    assert status.nav_state == ORBIT
    assert math.dist(status.pos_ned, place) < 0.5
    assert flown.run.outcome.word == "command not obeyed"


def test_an_orbit_that_is_flown_goes_on_if_the_next_one_is_beyond_the_limits(flown):
    flown.take_off(5.0)
    flown.give_all(Orbit(5.0, 2.0))
    flown.fly(10.0)
    assert flown.give(Orbit(5000.0, 2.0)).is_accepted
    assert math.hypot(*flown.fly(4.0).vel_ned[:2]) == pytest.approx(2.0, abs=0.4)


def test_an_orbit_is_not_faster_than_its_radius_allows_and_can_be_changed(flown):
    """PX4 reduces the speed to an acceleration of 2 m/s²; numbers that are not given stay."""
    flown.take_off(5.0)
    flown.give_all(Orbit(-8.0, 10.0, 0, *flown.place(10.0, 0.0, 6.0)))
    status = flown.fly(20.0)
    assert math.hypot(*status.vel_ned[:2]) == pytest.approx(4.0, abs=0.5)
    assert status.orbit[1] == -8.0
    flown.give_all(Orbit(speed_m_s=2.0))
    status = flown.fly(8.0)
    assert math.hypot(status.pos_ned[0] - 10.0, status.pos_ned[1]) == pytest.approx(8.0, abs=1.0)
    assert math.hypot(*status.vel_ned[:2]) == pytest.approx(2.0, abs=0.4)
    assert flown.run.outcome.word == "flown"


def test_home_can_be_moved(flown):
    """A return leads there; arming elsewhere moves home, too."""
    flown.take_off(5.0)
    flown.give_all(SetHome(*flown.place(15.0, 5.0, 0.0)), Return())
    assert flown.status.home.lat_deg == pytest.approx(flown.place(15.0, 0.0, 0.0)[0], abs=1e-7)
    status = flown.until(lambda status: not status.armed, 120.0)
    assert math.dist(status.pos_ned[:2], (15.0, 5.0)) < 1.0
    flown.give_all(Arm())
    assert math.dist(flown.status.home_ned[:2], (15.0, 5.0)) < 1.0


def test_a_return_goes_to_a_rally_point_that_was_uploaded(flown):
    flown.take_off(5.0)
    lat_deg, lon_deg, _ = flown.place(25.0, 0.0, 0.0)
    flown.give_all(SetRally((Item(3, 5100, x=lat_deg, y=lon_deg, z=0.0),), 9), GoTo(*flown.place(20.0, 0.0, 5.0)))
    flown.fly(12.0)
    flown.give_all(Return())
    status = flown.until(lambda status: not status.armed, 120.0)
    assert math.dist(status.pos_ned[:2], (25.0, 0.0)) < 1.0
    assert status.mission.rally_id == 9
    assert flown.run.outcome.word == "flown"


def test_parameters_change_the_flight_and_keep_their_types(flown):
    """Unknown ones and values out of range are denied; those without an effect here are kept."""
    assert flown.give(SetParam("MPC_XY_CRUIZE", 3.0)).code == DENIED
    assert flown.give(SetParam("MPC_XY_CRUISE", 1e9)).code == DENIED
    flown.give_all(SetParam("MPC_XY_CRUISE", 3.0), SetParam("MC_AIRMODE", 2), SetParam("MIS_TAKEOFF_ALT", 6.0))
    parameters = flown.vehicle.parameters
    assert (parameters["MPC_XY_CRUISE"], parameters["MC_AIRMODE"]) == (3.0, 2)
    assert isinstance(parameters["MC_AIRMODE"], int)
    flown.take_off()
    assert -flown.fly(4.0).pos_ned[2] - 0.24 == pytest.approx(6.0, abs=0.5)
    flown.give_all(GoTo(*flown.place(60.0, 0.0, 6.0)))
    assert math.hypot(*flown.fly(8.0).vel_ned) == pytest.approx(3.0, abs=0.3)


def stream(flown, setpoint, seconds, period_s=0.05):
    """Give a setpoint or stick positions again and again."""
    for _ in range(round(seconds / period_s)):
        flown.vehicle.submit(setpoint)
        flown.fly(period_s)
    return flown.status


def test_offboard_needs_a_stream_and_returns_when_it_is_lost(flown):
    """Refused without setpoints, flown with them; lost after COM_OF_LOSS_T, and followed again when they are back."""
    flown.take_off(10.0)
    assert flown.give(SetMode(OFFBOARD)).text.endswith("No offboard signal")
    there = Setpoint(pos_ned=(6.0, 3.0, -12.0), yaw_rad=0.0)
    stream(flown, there, 0.5)
    flown.give_all(SetMode(OFFBOARD))
    assert away_m(stream(flown, there, 8.0), 6.0, 3.0, 12.0) < 0.5
    assert flown.fly(0.9).nav_state == OFFBOARD
    status = flown.fly(0.2)
    assert (status.nav_state, status.failsafe) == (RETURN, True)
    status = stream(flown, Setpoint(vel_ned=(0.0, 2.0, 0.0), yaw_rad=0.0), 4.0)
    assert (status.nav_state, status.failsafe) == (OFFBOARD, False)
    assert status.vel_ned[1] == pytest.approx(2.0, abs=0.3)
    flown.give_all(Hold())
    assert flown.fly(3.0).nav_state == HOLD


def test_a_vehicle_has_the_parameters_of_stock_px4_in_a_simulation(flown):
    """Those of PX4's start scripts, which differ from its compiled defaults; a spec can say otherwise."""
    parameters = flown.vehicle.parameters
    assert [parameters[name] for name in ("RTL_RETURN_ALT", "RTL_DESCEND_ALT", "NAV_ACC_RAD")] == [30.0, 10.0, 2.0]
    assert flown.vehicle.spec.autopilot.hover_thrust_estimate
    with Vehicle(px4lockstep.load_spec("x500"), overrides={"aircraft.seed": 2}) as vehicle:  # as the command line does
        assert (vehicle.parameters["RTL_RETURN_ALT"], vehicle.spec.autopilot.hover_thrust_estimate) == (30.0, True)
    other = {"px4.defaults": "compiled", "autopilot.hover_thrust_estimate": False}
    for spec, overrides in (("x500", other), (px4lockstep.load_spec("x500", other), {"aircraft.seed": 2})):
        with Vehicle(spec, overrides=overrides) as vehicle:
            assert vehicle.parameters["RTL_RETURN_ALT"] == 60.0
            assert not vehicle.spec.autopilot.hover_thrust_estimate


@pytest.mark.parametrize("seconds", [1.0, 4.0])
def test_an_acceleration_of_zero_hovers(flown, seconds):
    """Mask 0xC3F: thrust is the estimated hover thrust, as in PX4, whose estimator always runs.

    MPC_THR_HOVER is 9 % too large with a full battery: without the estimate, the vehicle climbs with 0.9 m/s².
    """
    flown.take_off(10.0)
    still = Setpoint(acc_ned=(0.0, 0.0, 0.0))
    stream(flown, still, 0.5)
    flown.give_all(SetMode(OFFBOARD))
    status = stream(flown, still, seconds)
    assert status.nav_state == OFFBOARD
    assert abs(status.vel_ned[2]) < 0.2
    assert -status.pos_ned[2] == pytest.approx(10.0, abs=0.5)


def test_an_acceleration_is_flown(flown):
    """1 m/s² to the north for 2 s, less drag; the altitude stays."""
    flown.take_off(10.0)
    forward = Setpoint(acc_ned=(1.0, 0.0, 0.0))
    stream(flown, Setpoint(acc_ned=(0.0, 0.0, 0.0)), 0.2)
    flown.give_all(SetMode(OFFBOARD))
    status = stream(flown, forward, 2.0)
    assert status.vel_ned[0] == pytest.approx(1.6, abs=0.4)
    assert -status.pos_ned[2] == pytest.approx(10.0, abs=0.5)


def test_an_attitude_and_a_rate_setpoint_are_flown(flown):
    flown.take_off(20.0)
    tilted = Setpoint(attitude_rad=(0.1, 0.0, 0.0), thrust=0.6)
    stream(flown, tilted, 0.2)
    flown.give_all(SetMode(OFFBOARD))
    w, x, _, _ = stream(flown, tilted, 1.0).q_bn
    assert 2.0 * math.atan2(x, w) == pytest.approx(0.1, abs=0.03)
    turning = Setpoint(omega_body=(0.0, 0.0, 0.5), thrust=0.6)
    assert stream(flown, turning, 1.0).omega_body[2] == pytest.approx(0.5, abs=0.1)
    assert flown.give(Setpoint(pos_ned=(1.0, NAN, NAN))).code == DENIED


def test_failures_are_injected_and_cleared(flown):
    """The motor stops, the autopilot lands; what is not supported is refused."""
    assert flown.give(InjectFailure(0, 1)).code == UNSUPPORTED
    assert flown.give(InjectFailure(101, 1, 9)).code == DENIED
    flown.give_all(InjectFailure(101, 1, 2), InjectFailure(101, 0, 2))
    flown.take_off(4.0)
    flown.give_all(InjectFailure(4, 1))
    assert not flown.fly(0.5).has_position
    flown.give_all(InjectFailure(4, 0))
    assert flown.fly(0.5).has_position
    flown.give_all(InjectFailure(101, 2, 0), InjectFailure(101, 0, 0), InjectFailure(101, 4, 1))
    assert flown.fly(1.0).nav_state == HOLD


def test_wind_pushes_the_vehicle(flown):
    flown.give_all(SetWind((0.0, 4.0, 0.0)))
    assert flown.fly(0.1).wind_ned == (0.0, 4.0, 0.0)
    assert flown.give(SetWind((0.0, 1e9, 0.0))).code == DENIED


def test_a_crash_does_not_end_the_service_and_a_reset_begins_a_new_flight(flown):
    """Time goes on; the vehicle is at its start again, and flies."""
    flown.take_off(10.0)
    flown.give_all(Disarm(force=True))
    flown.fly(5.0)
    assert flown.status.is_crashed
    before_us = flown.vehicle.time_us
    flown.give_all(Reset())
    assert flown.vehicle.last_run.outcome.word == "crashed"
    assert flown.vehicle.time_us >= before_us
    assert (flown.status.is_crashed, flown.status.armed) == (False, False)
    assert away_m(flown.take_off(3.0), 0.0, 0.0, 3.0) < 0.6
    flown.give_all(Land())
    flown.until(lambda status: not status.armed, 20.0)
    assert flown.run.outcome.word == "flown"


def test_a_reset_keeps_what_clients_changed(tmp_path):
    """As a reboot of PX4; these are the first commands of the new flight, which replays to the same digest."""
    with Flown(record=tmp_path, plots=False, overrides=CALM) as flown:
        lat_deg, lon_deg, _ = flown.place(0.0, 40.0, 0.0)
        flown.give_all(SetParam("MIS_TAKEOFF_ALT", 4.0), SetParam("MC_AIRMODE", 2), SetParam("MIS_TAKEOFF_ALT", 6.0))
        flown.give_all(SetMission(square(flown), 7), fence_of(flown, 80.0), SetWind((3.0, 0.0, 0.0)))
        flown.give_all(SetRally((Item(3, 5100, x=lat_deg, y=lon_deg),), 9))
        flown.take_off()
        flown.vehicle.submit(SetParam("MPC_XY_CRUISE", 4.0))
        flown.give_all(Reset())
        parameters, mission = flown.vehicle.parameters, flown.status.mission
        names = ("MIS_TAKEOFF_ALT", "MC_AIRMODE", "MPC_XY_CRUISE")
        assert [parameters[name] for name in names] == [6.0, 2, 4.0]
        assert (mission.count, mission.mission_id, mission.rally_id, mission.state) == (4, 7, 9, 2)
        assert math.hypot(*flown.status.wind_ned) == 0.0
        flown.take_off()
        assert -flown.fly(4.0).pos_ned[2] == pytest.approx(6.2, abs=0.5)
        assert flown.give(GoTo(*flown.place(90.0, 0.0, 6.0))).text == "Reposition is outside geofence"
        flown.give_all(StartMission())
        flown.until(lambda status: status.mission.state == 5, 60.0)
        flown.give_all(ClearMission(), Reset())
        assert (flown.status.mission.count, flown.vehicle.parameters["MIS_TAKEOFF_ALT"]) == (0, 6.0)
    folder = flown.vehicle.folders[1]
    run = px4lockstep.read_run(folder)
    assert px4lockstep.replay(folder).digest == run.summary["digest"]
    again = px4lockstep.simulate(folder / "spec.toml", commands=folder / "commands.jsonl")
    assert again.digest == run.summary["digest"]
    assert [row.command.name for row in again.simulation.given_commands][:3] == ["SetParam"] * 3


def test_an_autopilot_that_takes_no_commands_cannot_be_served():
    for kind in ("none", "px4-sitl"):
        with pytest.raises(InputError, match="can't be served"):
            Vehicle("x500", overrides={"autopilot.kind": kind})
