"""The verdict on a served flight is never better than the flight: what the last command demands must be reached."""

import math

import pytest
from served import CALM, Flown, landed, square, stream

import px4lockstep
from px4lockstep.scenario.commands import (
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
    Return,
    SetCurrentItem,
    SetFence,
    SetMission,
    SetMode,
    SetParam,
    Setpoint,
    SetWind,
    StartMission,
    Sticks,
    Takeoff,
)

MISSION, RETURN, OFFBOARD, TAKEOFF, POSITION = 3, 5, 14, 17, 2
WEAK = SetParam("MPC_THR_MAX", 0.68)
"""With this thrust an X500 leaves the ground, and hovers in its ground effect."""


@pytest.fixture
def flown():
    with Flown(overrides=CALM) as flown:
        yield flown


def fly_again(folder):
    return px4lockstep.simulate(folder / "spec.toml", commands=folder / "commands.jsonl")


def word(flown):
    return flown.run.outcome.word


@pytest.mark.parametrize("takeoff", [Takeoff(), SetMode(TAKEOFF)], ids=["command", "mode"])
def test_a_takeoff_without_an_altitude_must_reach_its_own(flown, takeoff):
    """MAVSDK's: MIS_TAKEOFF_ALT above the ground. A vehicle that stays below 1 m has not obeyed."""
    flown.give_all(WEAK, Arm(), takeoff)
    flown.fly(25.0)
    outcome = flown.run.outcome
    assert max(-flown.run.log["pos_ned"][:, 2]) > 0.74  # it left the ground: 0.24 m is the centre of mass there
    assert outcome.word == "command not obeyed"
    assert "a takeoff was commanded" in outcome.reason


@pytest.mark.parametrize("takeoff", [Takeoff(), SetMode(TAKEOFF)], ids=["command", "mode"])
def test_a_takeoff_without_an_altitude_is_flown(flown, takeoff):
    """Also if the parameter changes afterwards."""
    flown.give_all(SetParam("MIS_TAKEOFF_ALT", 4.0), takeoff, Arm())
    flown.fly(12.0)
    flown.give_all(SetParam("MIS_TAKEOFF_ALT", 20.0))
    flown.fly(3.0)
    assert -flown.status.pos_ned[2] == pytest.approx(4.2, abs=0.5)
    assert word(flown) == "flown"


def test_a_second_takeoff_counts_too(flown):
    """The first one does not excuse it."""
    flown.take_off(5.0)
    flown.give_all(Land())
    flown.until(lambda status: not status.armed, 30.0)
    flown.give_all(WEAK, Arm(), Takeoff())
    flown.fly(12.0)
    assert word(flown) == "command not obeyed"


def test_a_short_go_to_counts_too(flown):
    """Less than the 5 m that a landing may miss; the vehicle can't fly, because its speed is 0.1 m/s."""
    flown.take_off(5.0)
    flown.give_all(SetParam("MPC_XY_VEL_MAX", 0.0), GoTo(*flown.place(4.0, 0.0, 5.0)))
    flown.fly(10.0)
    assert math.hypot(*flown.status.pos_ned[:2]) < 2.0
    assert word(flown) == "command not obeyed"


def test_a_go_to_by_altitude_only_is_judged_by_place_and_altitude(flown):
    flown.take_off(5.0)
    flown.give_all(GoTo(alt_amsl_m=flown.home.alt_amsl_m + 9.0))
    flown.fly(12.0)
    flown.give_all(SetWind((0.0, 45.0, 0.0)))  # it can't hold its place
    flown.fly(6.0)
    assert word(flown) in ("out of time", "command not obeyed", "out of control")


def test_hold_must_hold(flown):
    """A storm blows the vehicle away; that it moves is no excuse."""
    flown.take_off(8.0)
    flown.give_all(Hold(), SetWind((0.0, 45.0, 0.0)))
    flown.fly(8.0)
    assert word(flown) in ("command not obeyed", "out of control", "crashed")


def test_hold_from_full_speed_is_flown(flown):
    """The stopping distance is allowed."""
    flown.take_off(8.0)
    flown.give_all(GoTo(*flown.place(80.0, 0.0, 8.0)))
    flown.fly(6.0)
    assert flown.status.vel_ned[0] > 4.0
    flown.give_all(SetMode(4))  # in Hold already: it goes on
    assert flown.fly(3.0).vel_ned[0] > 4.0
    flown.give_all(SetMission(square(flown), 1), StartMission())
    flown.fly(4.0)
    flown.give_all(Hold())
    flown.fly(6.0)
    assert word(flown) == "flown"


def test_hold_while_flying_to_a_place_demands_the_place(flown):
    """As with PX4, Hold in Hold changes nothing: the vehicle is still on its way."""
    flown.take_off(8.0)
    flown.give_all(GoTo(*flown.place(80.0, 0.0, 8.0)))
    flown.fly(3.0)
    flown.give_all(Hold())
    flown.fly(3.0)
    assert word(flown) == "command not obeyed"


def test_an_orbit_must_be_flown_with_its_speed(flown):
    """A vehicle that stands on its circle does not orbit; a slower speed that was commanded counts."""
    flown.take_off(5.0)
    flown.give_all(Orbit(8.0, 3.0))
    flown.fly(20.0)
    flown.give_all(ChangeSpeed(1.0))
    flown.fly(8.0)
    assert word(flown) == "flown"


def test_an_orbit_without_a_radius_is_judged_by_the_default_one(flown):
    flown.take_off(5.0)
    flown.give_all(Orbit(speed_m_s=2.0))
    flown.fly(2.0)
    assert word(flown) == "out of time"


def test_an_arming_that_was_refused_is_no_success(flown):
    """Mission mode was selected without a mission, so nothing was flown."""
    flown.give_all(SetMode(MISSION))
    assert not flown.give(Arm()).is_accepted
    flown.fly(12.0)
    outcome = flown.run.outcome
    assert outcome.word == "never took off"
    assert "never armed" in outcome.reason


def test_an_arming_that_was_refused_first_is_forgotten(flown):
    flown.give_all(SetMode(MISSION))
    assert not flown.give(Arm()).is_accepted
    flown.give_all(SetMode(4))
    flown.take_off(5.0)
    assert word(flown) == "flown"


def test_a_pilot_who_armed_in_position_mode_and_lost_the_sticks(flown):
    """The mode was selected before arming; a failsafe that takes over is a failure nevertheless."""
    stream(flown, Sticks(), 0.3)
    flown.give_all(SetMode(POSITION), Arm())
    stream(flown, Sticks(throttle=0.8), 6.0)
    assert -flown.status.pos_ned[2] > 2.0
    flown.fly(12.0)
    assert word(flown) == "command not obeyed"


def test_a_pilot_who_armed_in_position_mode_and_flies(flown):
    stream(flown, Sticks(), 0.3)
    flown.give_all(SetMode(POSITION), Arm())
    stream(flown, Sticks(throttle=0.8), 6.0)
    stream(flown, Sticks(), 6.0)
    assert word(flown) == "flown"


def test_setpoints_that_demand_a_second_takeoff(flown):
    """The vehicle has no battery: it is disarmed on the ground, and its setpoint is above it."""
    flown.take_off(5.0)
    flown.give_all(Land())
    flown.until(lambda status: not status.armed, 30.0)
    there = Setpoint(pos_ned=(0.0, 0.0, -8.0))
    stream(flown, there, 0.5)
    flown.give_all(SetMode(OFFBOARD), Arm(), InjectFailure(100, 1))
    stream(flown, there, 14.0)
    assert word(flown) in ("setpoints not followed", "battery empty")


def test_a_kill_in_flight_is_no_success(flown):
    """Too low for a crash: the takeoff was not obeyed."""
    flown.give_all(Arm(), Takeoff())
    flown.until(lambda status: -status.pos_ned[2] > 0.9, 10.0)
    flown.give_all(Disarm(force=True))
    flown.fly(3.0)
    assert word(flown) in ("command not obeyed", "crashed")


def test_a_mission_that_was_flown_stays_flown_when_another_is_uploaded(flown):
    """After the landing; the new mission was not requested."""
    items = (flown.waypoint(0.0, 0.0, 6.0, 22), flown.waypoint(8.0, 0.0, 6.0), flown.waypoint(8.0, 0.0, 0.0, 21))
    flown.give_all(SetMission(items, 1), SetMode(MISSION), Arm())
    flown.until(lambda status: not status.armed, 60.0)
    assert flown.give(SetMission(square(flown), 2)).is_accepted
    flown.fly(2.0)
    assert word(flown) == "flown"


@pytest.mark.parametrize("change", [ClearMission(), SetCurrentItem(1)], ids=["clear", "set back"])
def test_a_mission_that_was_given_up_is_not_flown(flown, change):
    flown.give_all(SetMission(square(flown), 1), Arm(), StartMission())
    flown.until(lambda status: status.mission.reached == 1, 60.0)
    flown.give_all(change)
    flown.fly(1.0)
    assert word(flown) in ("mission not finished", "out of time")


def test_a_mission_without_a_landing_is_flown_in_the_air_and_a_return_must_land(flown):
    flown.give_all(SetMission(square(flown), 1), Arm(), StartMission())
    flown.until(lambda status: status.mission.state == 5, 90.0)
    flown.give_all(Return())
    flown.fly(5.0)
    assert word(flown) == "out of time"


def test_the_verdict_on_a_replay_is_the_same(tmp_path):
    """The goals are stored with the commands, because a replay has no autopilot that knows its parameters."""
    with Flown(record=tmp_path, plots=False, overrides=CALM) as flown:
        flown.give_all(WEAK, Arm(), Takeoff())
        flown.fly(25.0)
    [folder] = flown.vehicle.folders
    again = fly_again(folder)
    found = [run.outcome.word for run in (flown.run, px4lockstep.replay(folder), again)]
    assert found == ["command not obeyed"] * 3
    assert again.digest == px4lockstep.read_run(folder).summary["digest"]


# -- commands that others replaced -----------------------------------------------------------------------------------


def test_a_takeoff_that_stopped_low_is_not_excused_by_a_landing(flown):
    """It hovers below 1 m for more than five seconds."""
    flown.give_all(WEAK, Arm(), Takeoff())
    flown.fly(15.0)
    outcome = landed(flown)
    assert outcome.word == "command not obeyed"
    assert "a takeoff was commanded" in outcome.reason
    assert "m from its goal" in outcome.reason


@pytest.mark.parametrize("after_s", [0.5, 4.0, 7.0])
def test_a_takeoff_that_climbs_may_be_replaced(flown, after_s):
    """At any time; the vehicle was on its way."""
    flown.give_all(Arm(), Takeoff(flown.home.alt_amsl_m + 30.0))
    flown.fly(after_s)
    flown.give_all(GoTo(*flown.place(10.0, 0.0, 6.0)))
    flown.fly(15.0)
    assert landed(flown).word == "flown"


def test_a_second_takeoff_that_never_left_the_ground_counts(flown):
    """The vehicle flies when it is tried again."""
    flown.take_off(5.0)
    flown.give_all(Land())
    flown.until(lambda status: not status.armed, 30.0)
    flown.give_all(SetParam("MPC_THR_MAX", 0.3), Arm(), Takeoff())
    flown.fly(12.0)
    flown.give_all(Disarm(force=True), SetParam("MPC_THR_MAX", 1.0))
    flown.take_off(5.0)
    assert landed(flown).word == "command not obeyed"


def test_a_go_to_in_motion_may_be_replaced(flown):
    """Again and again, as a client that follows something does."""
    flown.take_off(5.0)
    for north_m, east_m in ((60.0, 0.0), (60.0, 60.0), (-60.0, 0.0)):
        flown.give_all(GoTo(*flown.place(north_m, east_m, 5.0)))
        flown.fly(7.0)
    assert landed(flown).word == "flown"


def test_a_go_to_that_settles_elsewhere_is_not_excused(flown):
    """A place outside of the geofence: it is accepted, and the vehicle holds, as with PX4."""
    lat_deg, lon_deg, _ = flown.place(0.0, 0.0, 0.0)
    flown.give_all(SetFence((Item(0, 5003, (30.0, 0.0, 0.0, 0.0), lat_deg, lon_deg),)), SetParam("GF_ACTION", 2))
    flown.take_off(5.0)
    assert flown.give(GoTo(*flown.place(80.0, 0.0, 5.0))).is_accepted
    flown.fly(8.0)
    outcome = landed(flown)
    assert outcome.word == "command not obeyed"
    assert "a place to fly to was commanded" in outcome.reason
    assert "came no nearer" in outcome.reason


def test_a_go_to_that_was_blown_away_is_not_excused_by_a_calm(flown):
    """The vehicle comes nearer again when it is told to land."""
    flown.take_off(8.0)
    flown.give_all(GoTo(*flown.place(0.0, -60.0, 8.0)), SetWind((0.0, 32.0, 0.0)))
    flown.fly(15.0)
    flown.give_all(SetWind((0.0, 0.0, 0.0)))
    flown.fly(1.5)
    assert landed(flown).word == "command not obeyed"


def test_a_place_that_was_reached_may_be_left_on_request(flown):
    flown.take_off(5.0)
    flown.give_all(GoTo(*flown.place(6.0, 0.0, 5.0)))
    flown.fly(10.0)
    flown.give_all(Orbit(5.0, 2.0))
    flown.fly(12.0)
    flown.give_all(Hold())
    flown.fly(8.0)
    assert landed(flown).word == "flown"


def test_an_orbit_that_stands_still_is_not_excused(flown):
    """The radius is below the limit, so that the vehicle hovers, as with PX4."""
    flown.take_off(5.0)
    assert flown.give(Orbit(0.5, 2.0)).is_accepted
    flown.fly(10.0)
    outcome = landed(flown)
    assert outcome.word == "command not obeyed"
    assert "had not flown its circle" in outcome.reason


# -- missions, setpoints, returns and landings that others replaced ---------------------------------------------------

STORM, STILL = SetWind((0.0, 32.0, 0.0)), SetWind((0.0, 0.0, 0.0))
AWAY = Setpoint(pos_ned=(0.0, -150.0, -8.0))


def begin_mission(flown, *commands, hold_s=0.0):
    """Begin a mission with a waypoint at which it waits."""
    items = list(square(flown))
    items[1] = flown.waypoint(20.0, 0.0, 10.0, hold_s=hold_s)
    flown.give_all(*commands, SetMission(tuple(items), 1), Arm(), StartMission())


@pytest.mark.parametrize("after_s", [1.0, 8.0, 14.0, 20.0])
def test_a_mission_may_be_broken_off(flown, after_s):
    """On the ground, while it climbs, on a leg."""
    begin_mission(flown)
    flown.fly(after_s)
    flown.give_all(Hold())
    flown.fly(3.0)
    outcome = landed(flown)
    assert outcome.word == ("flown" if after_s > 5.0 else "out of time"), outcome


def test_a_mission_may_be_broken_off_where_it_waits(flown):
    """It stands still at its first waypoint for longer than five seconds, as the mission says."""
    begin_mission(flown, hold_s=60.0)
    flown.fly(40.0)
    assert flown.status.pos_ned[0] == pytest.approx(20.0, abs=1.0)
    assert landed(flown).word == "flown"


@pytest.mark.parametrize("calm_s", [0.0, 0.5])
def test_a_mission_that_was_blown_away_is_not_excused(flown, calm_s):
    """Nor if the wind calms down, and the vehicle is on its way back when it is told to land."""
    begin_mission(flown)
    flown.fly(16.0)
    flown.give_all(STORM)
    flown.fly(15.0)
    flown.give_all(STILL)
    flown.fly(calm_s)
    outcome = landed(flown)
    assert outcome.word == "mission not finished"
    assert "the mission was requested" in outcome.reason
    assert "had not followed its setpoints since" in outcome.reason


def test_a_mission_that_a_storm_interrupted_may_be_broken_off_later(flown):
    """The vehicle flies on, and is on its way again."""
    begin_mission(flown)
    flown.fly(16.0)
    flown.give_all(STORM)
    flown.fly(8.0)
    flown.give_all(STILL)
    flown.fly(8.0)
    assert landed(flown).word == "flown"


def test_a_mission_whose_takeoff_stopped_low_is_not_excused(flown):
    begin_mission(flown, WEAK)
    flown.fly(20.0)
    assert landed(flown).word == "mission not finished"


def test_a_mission_that_a_failsafe_took_over_is_not_excused(flown):
    """The client lands during the hold before the return."""
    begin_mission(flown)
    flown.fly(16.0)
    flown.give_all(SetParam("GF_MAX_HOR_DIST", 5.0), SetParam("GF_ACTION", 3))
    flown.until(lambda status: status.nav_state != MISSION, 20.0)
    outcome = landed(flown)
    assert outcome.word == "mission not finished"
    assert "a failsafe (geofence) took over" in outcome.reason


def test_a_mission_that_goes_on_after_a_failsafe_is_flown(flown):
    """It is requested again."""
    begin_mission(flown, SetParam("GF_MAX_HOR_DIST", 5.0), SetParam("GF_ACTION", 2))
    flown.until(lambda status: status.armed and status.nav_state != MISSION, 30.0)
    flown.give_all(SetParam("GF_MAX_HOR_DIST", 0.0), StartMission())
    flown.until(lambda status: status.mission.state == 5, 60.0)
    assert landed(flown).word == "flown"


def begin_setpoints(flown, setpoint):
    flown.take_off(8.0)
    stream(flown, setpoint, 0.5)
    flown.give_all(SetMode(OFFBOARD))


@pytest.mark.parametrize("seconds", [2.0, 8.0, 15.0])
def test_a_stream_of_setpoints_may_end_on_its_way(flown, seconds):
    """The vehicle needs longer to its place."""
    begin_setpoints(flown, AWAY)
    stream(flown, AWAY, seconds)
    assert landed(flown).word == "flown"


@pytest.mark.parametrize("setpoint", [AWAY, Setpoint(vel_ned=(0.0, -3.0, 0.0)), Setpoint(pos_ned=(0.0, 0.0, -8.0))])
def test_setpoints_that_were_not_followed_are_not_excused(flown, setpoint):
    """A place that the vehicle never came nearer to, a velocity against the wind, a place it did not hold."""
    begin_setpoints(flown, setpoint)
    flown.give_all(STORM)
    stream(flown, setpoint, 12.0)
    flown.give_all(STILL)
    outcome = landed(flown)
    assert outcome.word == "setpoints not followed"
    assert "setpoint mode was requested" in outcome.reason


STEPS = {
    "place": [(AWAY, 8.0), (Setpoint(pos_ned=(0.0, 100.0, -8.0)), 3.0)],
    "places": [(Setpoint(pos_ned=(20.0 * (i % 2), 20.0 * (i // 2 % 2), -8.0)), 3.0) for i in range(6)],
    "velocity": [(Setpoint(vel_ned=(8.0, 0.0, 0.0)), 8.0), (Setpoint(vel_ned=(-8.0, 0.0, 0.0)), 2.0)],
    "axes": [(Setpoint(vel_ned=(3.0, 0.0, 0.0)), 8.0), (Setpoint(pos_ned=(0.0, 90.0, -8.0)), 2.0)],
    "climb": [(Setpoint(vel_ned=(0.0, 0.0, 0.0)), 6.0), (Setpoint(vel_ned=(0.0, 0.0, -2.0)), 0.7)],
    "heading": [(Setpoint(pos_ned=(0.0, 0.0, -8.0), yaw_rad=i), 6.5 - 2.0 * i) for i in (0.0, 3.0)],
}
"""Setpoints that change shortly before the end, each with the time for which it is sent."""


@pytest.mark.parametrize("kind", STEPS)
def test_a_stream_may_end_after_a_step(flown, kind):
    """The vehicle has had no time to follow it."""
    begin_setpoints(flown, STEPS[kind][0][0])
    for setpoint, seconds in STEPS[kind]:
        stream(flown, setpoint, seconds)
    outcome = landed(flown)
    assert outcome.word == "flown", outcome


def test_a_heading_that_was_not_followed_is_not_excused(flown):
    """The vehicle may not turn."""
    there = Setpoint(pos_ned=(0.0, 0.0, -8.0), yaw_rad=3.0)
    begin_setpoints(flown, Setpoint(pos_ned=(0.0, 0.0, -8.0), yaw_rad=0.0))
    flown.give_all(SetParam("MC_YAWRATE_MAX", 0.0))
    stream(flown, there, 12.0)
    outcome = landed(flown)
    assert outcome.word == "setpoints not followed"
    assert outcome.reason.endswith("172°")


def test_a_place_far_from_the_end_of_a_short_stream(flown):
    """The flight ends a few seconds after setpoint mode began, on the way to its only place."""
    begin_setpoints(flown, AWAY)
    stream(flown, AWAY, 6.0)
    assert word(flown) == "out of time"


def test_noise_of_setpoints_is_no_excuse(tmp_path):
    """Nor do they become one if the log has more rows."""
    words = []
    for record in (None, tmp_path):
        with Flown(record=record, plots=False, overrides=CALM) as flown:
            begin_setpoints(flown, AWAY)
            flown.give_all(STORM)
            for i in range(240):
                stream(flown, Setpoint(pos_ned=(0.5 * (i % 2), -20.0 - 0.5 * (i % 2), -8.0)), 0.05)
            flown.give_all(STILL)
            words.append(landed(flown).word)
    assert words == ["setpoints not followed"] * 2


def give_at_once(flown, *commands):
    """Give commands at one tick."""
    for command in commands:
        flown.vehicle.submit(command)
    flown.fly(0.01)


HASTY = {
    "place, landing": (lambda flown: GoTo(*flown.place(50.0, 0.0, 8.0)), Land(), 30.0),
    "landing, place": (Land(), lambda flown: GoTo(*flown.place(20.0, 0.0, 8.0)), 15.0),
    "landing, Hold": (Land(), Hold(), 10.0),
    "place, mission": (lambda flown: GoTo(*flown.place(-50.0, 0.0, 8.0)), StartMission(), 60.0),
    "mission, return": (StartMission(), Return(), 60.0),
    "return, landing": (Return(), Land(), 30.0),
    "landing, return": (Land(), Return(), 60.0),
}
"""Two commands, of which the second one counts, and the time that it takes."""


@pytest.mark.parametrize("pair", HASTY)
@pytest.mark.parametrize("is_replaced", [False, True], ids=["last", "replaced"])
def test_a_command_that_was_replaced_at_once_does_not_count(flown, pair, is_replaced):
    """The log has no row between them. This also holds if a landing follows later."""
    *commands, seconds = HASTY[pair]
    flown.give_all(SetMission(square(flown), 1))
    flown.take_off(8.0)
    flown.give_all(GoTo(*flown.place(0.0, 30.0, 8.0)))
    flown.fly(15.0)
    give_at_once(flown, *(each(flown) if callable(each) else each for each in commands))
    flown.fly(seconds)
    if is_replaced and flown.status.armed:
        flown.give_all(Land())
        flown.until(lambda status: not status.armed, 40.0)
    outcome = flown.run.outcome
    assert outcome.word == "flown", outcome


def test_places_in_quick_succession_must_be_followed(flown):
    """Each of them is replaced too soon to be judged alone."""
    flown.take_off(8.0)
    flown.give_all(STORM)
    for i in range(12):
        flown.give_all(GoTo(*flown.place(0.0, -60.0 - i, 8.0)))
        flown.fly(1.0)
    flown.give_all(STILL)
    assert landed(flown).word == "command not obeyed"


def test_places_in_quick_succession_are_flown(flown):
    """A client guides the vehicle along a circle."""
    flown.take_off(8.0)
    for i in range(40):
        flown.give_all(GoTo(*flown.place(20.0 * math.sin(0.2 * i), 20.0 * math.cos(0.2 * i), 8.0)))
        flown.fly(0.5)
    assert landed(flown).word == "flown"


@pytest.mark.parametrize("again", [[SetCurrentItem(2)], [Hold(), StartMission()]], ids=["item", "start"])
def test_a_mission_that_was_blown_away_is_not_excused_by_its_repetition(flown, again):
    """It is requested again for two seconds."""
    begin_mission(flown)
    flown.fly(16.0)
    flown.give_all(STORM)
    flown.fly(12.0)
    flown.give_all(*again)
    flown.fly(2.0)
    flown.give_all(STILL)
    assert landed(flown).word == "mission not finished"


@pytest.mark.parametrize("is_other", [False, True], ids=["same", "other"])
def test_another_mission_is_no_repetition(flown, is_other):
    """The storm blew the first one away."""
    begin_mission(flown)
    flown.fly(16.0)
    flown.give_all(STORM)
    flown.fly(12.0)
    flown.give_all(STILL, Hold())
    flown.fly(10.0)
    if is_other:
        flown.give_all(SetMission(square(flown)[:3], 2))
    flown.give_all(StartMission())
    flown.until(lambda status: status.mission.state == 5, 60.0)
    assert landed(flown).word == ("mission not finished" if is_other else "flown")


def test_setpoint_mode_in_short_parts_must_be_followed(flown):
    flown.take_off(8.0)
    flown.give_all(STORM)
    for _ in range(5):
        stream(flown, AWAY, 0.5)
        flown.give_all(SetMode(OFFBOARD))
        stream(flown, AWAY, 3.0)
        flown.give_all(Hold())
    flown.give_all(STILL)
    assert landed(flown).word == "setpoints not followed"


def test_a_return_and_a_landing_may_be_replaced(flown):
    flown.take_off(8.0)
    flown.give_all(GoTo(*flown.place(30.0, 0.0, 8.0)))
    flown.fly(12.0)
    flown.give_all(Return())
    flown.fly(9.0)
    flown.give_all(Land())
    flown.fly(4.0)
    flown.give_all(Hold())
    flown.fly(6.0)
    assert landed(flown).word == "flown"


@pytest.mark.parametrize("command", [Return(), Land()], ids=["return", "landing"])
def test_a_return_or_a_landing_that_was_blown_away_is_not_excused(flown, command):
    flown.take_off(12.0)
    flown.give_all(SetParam("MPC_LAND_SPEED", 0.6), command, STORM)
    flown.fly(9.0)
    flown.give_all(STILL, Hold())
    flown.fly(8.0)
    outcome = landed(flown)
    assert outcome.word == "command not obeyed"
    assert "had not followed its setpoints since" in outcome.reason


def test_a_landing_that_was_blown_away_may_come_back(flown):
    """It flies back in a calm, faster than its setpoint, and lands where it was requested. Another flight follows."""
    flown.take_off(14.0)
    flown.give_all(Land())
    flown.fly(6.0)
    flown.give_all(STORM)
    flown.fly(5.0)
    assert flown.status.pos_ned[1] > 10.0
    flown.give_all(STILL)
    flown.until(lambda status: not status.armed, 30.0)
    assert math.hypot(*flown.status.pos_ned[:2]) < 1.0
    flown.take_off(8.0)
    assert landed(flown).word == "flown"


@pytest.mark.parametrize("kind", ["place", "orbit", "flown orbit"])
def test_a_goal_that_a_storm_passes_is_not_reached(flown, kind):
    """It carries the vehicle over the place or the circle, or away from a circle that was flown."""
    flown.take_off(8.0)
    place = GoTo(*flown.place(0.0, 12.0, 8.0))
    flown.give_all(place if kind == "place" else Orbit(15.0, 3.0, 0, *flown.place(0.0, 0.0, 8.0)))
    flown.fly(20.0 if kind == "flown orbit" else 0.5)
    flown.give_all(STORM)
    flown.fly(12.0)
    flown.give_all(STILL)
    assert landed(flown).word == "command not obeyed"


def test_a_hold_that_was_blown_away_is_not_excused(flown):
    flown.take_off(8.0)
    flown.give_all(Hold(), STORM)
    flown.fly(12.0)
    flown.give_all(STILL)
    outcome = landed(flown)
    assert outcome.word == "command not obeyed"
    assert "Hold was commanded" in outcome.reason


@pytest.mark.parametrize("calm_s", [0.0, 15.0], ids=["stays away", "comes back"])
@pytest.mark.parametrize("kind", ["takeoff", "place", "altitude"])
def test_a_goal_that_was_reached_must_be_held(flown, kind, calm_s):
    """Until something else is requested; a vehicle that was blown away may come back."""
    flown.take_off(8.0)
    if kind != "takeoff":
        place, altitude = GoTo(*flown.place(10.0, 0.0, 8.0)), ChangeAltitude(flown.place(0.0, 0.0, 12.0)[2])
        flown.give_all(place if kind == "place" else altitude)
    flown.fly(10.0)
    flown.give_all(STORM)
    flown.fly(15.0)
    assert flown.status.pos_ned[1] > 15.0
    flown.give_all(STILL)
    flown.fly(calm_s)
    assert landed(flown).word == ("flown" if calm_s else "command not obeyed")


def test_a_place_at_which_a_failsafe_took_over_is_not_excused(flown):
    """The client lands, as if it had not happened."""
    flown.take_off(8.0)
    flown.give_all(GoTo(*flown.place(20.0, 0.0, 8.0)))
    flown.fly(12.0)
    flown.give_all(SetParam("GF_ACTION", 2), SetParam("GF_MAX_HOR_DIST", 5.0))
    flown.fly(6.0)
    outcome = landed(flown)
    assert outcome.word == "command not obeyed"
    assert "a failsafe (geofence) took over" in outcome.reason


def finish_mission(flown):
    flown.give_all(SetMission(square(flown), 1), Arm(), StartMission())
    flown.until(lambda status: status.mission.state == 5, 90.0)


@pytest.mark.parametrize("is_last", [False, True], ids=["replaced", "last"])
@pytest.mark.parametrize("calm_s", [0.0, 15.0], ids=["stays away", "comes back"])
def test_after_a_mission_in_the_air_the_vehicle_must_hold(flown, calm_s, is_last):
    finish_mission(flown)
    flown.give_all(STORM)
    flown.fly(15.0)
    assert flown.status.pos_ned[1] > 15.0
    flown.give_all(*[STILL] * (not is_last or calm_s > 0.0))
    flown.fly(calm_s)
    outcome = flown.run.outcome if is_last else landed(flown)
    assert outcome.word == ("flown" if calm_s else "setpoints not followed")
    assert calm_s or "the mission was finished at" in outcome.reason


@pytest.mark.parametrize("is_last", [False, True], ids=["replaced", "last"])
def test_after_a_mission_in_the_air_a_failsafe_may_take_over(flown, is_last):
    """The mission is done."""
    finish_mission(flown)
    flown.give_all(SetParam("GF_ACTION", 3), SetParam("GF_MAX_HOR_DIST", 5.0))
    flown.until(lambda status: status.nav_state == RETURN, 20.0)
    flown.fly(3.0)
    outcome = flown.run.outcome if is_last else landed(flown)
    assert outcome.word == "flown"


def test_the_verdict_on_a_replay_with_an_uploaded_mission_is_the_same(tmp_path):
    """It lands elsewhere than the mission of the spec; before, another one was broken off."""
    with Flown(record=tmp_path, plots=False, overrides=CALM) as flown:
        begin_mission(flown)
        flown.fly(16.0)
        flown.give_all(Hold())
        flown.fly(3.0)
        items = (flown.waypoint(30.0, 0.0, 10.0), flown.waypoint(30.0, 0.0, 0.0, 21))
        flown.give_all(SetMission(items, 2), StartMission())
        flown.until(lambda status: not status.armed, 60.0)
    [folder] = flown.vehicle.folders
    found = [run.outcome.word for run in (flown.run, px4lockstep.replay(folder), fly_again(folder))]
    assert found == ["flown"] * 3
