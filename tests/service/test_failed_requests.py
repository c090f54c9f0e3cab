"""Requests that failed before another one replaced them, where that is easily missed; each with one that is fine."""

import pytest
from served import CALM, Flown, landed, square, stream

import px4lockstep
from px4lockstep.scenario.commands import (
    Arm,
    ChangeAltitude,
    ClearMission,
    GoTo,
    Hold,
    InjectFailure,
    Item,
    Land,
    Orbit,
    Return,
    SetCurrentItem,
    SetFence,
    SetHome,
    SetMission,
    SetMode,
    SetParam,
    Setpoint,
    SetRally,
    SetWind,
    StartMission,
    Sticks,
    Takeoff,
)

NAN = float("nan")
OFFBOARD = 14
STORM, STILL = SetWind((0.0, 32.0, 0.0)), SetWind((0.0, 0.0, 0.0))
WEAK = SetParam("MPC_THR_MAX", 0.66)
"""With this thrust an X500 can't hover out of its ground effect."""


@pytest.fixture
def flown():
    with Flown(overrides=CALM) as flown:
        yield flown


@pytest.mark.parametrize("height_m", [2.0, 4.0, 8.0])
def test_a_vehicle_that_sank_to_the_ground(flown, height_m):
    """After it was at its goal; it stands there when it is told to land."""
    flown.take_off(height_m)
    flown.give_all(WEAK)
    flown.fly(30.0)
    outcome = landed(flown)
    assert outcome.word == "command not obeyed"
    assert "m from its goal" in outcome.reason


def test_a_place_on_the_ground_is_held_on_the_ground(flown):
    flown.take_off(5.0)
    flown.give_all(GoTo(*flown.place(5.0, 0.0, 0.0)))
    flown.fly(20.0)
    assert landed(flown).word == "flown"


def test_a_vehicle_that_sank_after_its_mission(flown):
    """It was finished in the air, and nothing else was requested."""
    items = (flown.waypoint(0.0, 0.0, 2.0, 22), flown.waypoint(10.0, 0.0, 2.0))
    flown.give_all(SetMission(items, 1), Arm(), StartMission())
    flown.until(lambda status: status.mission.state == 5, 60.0)
    flown.give_all(WEAK)
    flown.fly(20.0)
    outcome = flown.run.outcome
    assert outcome.word == "setpoints not followed"
    assert "on the ground" in outcome.reason


def keep_out(flown):
    lat_deg, lon_deg, _ = flown.place(0.0, 0.0, 0.0)
    flown.give_all(SetFence((Item(0, 5003, (30.0, 0.0, 0.0, 0.0), lat_deg, lon_deg),)), SetParam("GF_ACTION", 2))


@pytest.mark.parametrize("kind", ["outside of the fence", "too small a circle", "stop in a storm", "Hold in a storm"])
def test_a_command_that_is_given_again_and_again(flown, kind):
    """Every three seconds, as some clients do; alone, each would be too short to be judged."""
    if kind.startswith("outside"):
        keep_out(flown)
    flown.take_off(8.0)
    commands = {"outside": GoTo(*flown.place(80.0, 0.0, 8.0)), "too": Orbit(0.5, 2.0), "stop": GoTo(), "Hold": Hold()}
    if kind.endswith("storm"):
        flown.give_all(STORM)
    for _ in range(8):
        assert flown.give(commands[kind.split()[0]]).is_accepted
        flown.fly(3.0)
    flown.give_all(STILL)
    assert landed(flown).word == "command not obeyed"


def test_commands_that_are_repeated_and_obeyed(flown):
    flown.take_off(8.0)
    for command in (Hold(), GoTo(*flown.place(40.0, 0.0, 8.0)), GoTo(), Orbit(10.0, 3.0)):
        for _ in range(8):
            flown.give_all(command)
            flown.fly(2.0)
    assert landed(flown).word == "flown"


def interrupt(flown):
    """Begin a mission, which leaves its fence and then holds."""
    flown.give_all(SetParam("GF_MAX_HOR_DIST", 5.0), SetParam("GF_ACTION", 2))
    flown.give_all(SetMission(square(flown), 1), Arm(), StartMission())
    flown.until(lambda status: status.armed and status.nav_state not in (3, 17), 40.0)
    flown.fly(5.0)
    flown.give_all(SetParam("GF_ACTION", 0))


@pytest.mark.parametrize("seconds", [1.0, 15.0])
def test_an_interrupted_mission_must_go_on(flown, seconds):
    """To request it again for a second is not enough; it may be broken off after its next item."""
    interrupt(flown)
    flown.give_all(StartMission())
    flown.fly(seconds)
    outcome = landed(flown)
    assert outcome.word == ("mission not finished" if seconds < 5.0 else "flown")
    assert seconds > 5.0 or "a failsafe (geofence) took over" in outcome.reason


def test_an_interrupted_mission_may_be_uploaded_again(flown):
    """With the same items, some of whose numbers are NaN."""
    interrupt(flown)
    flown.give_all(Hold(), SetMission(square(flown), 2), StartMission())
    flown.until(lambda status: status.mission.state == 5, 60.0)
    assert landed(flown).word == "flown"


def test_an_interrupted_mission_is_not_excused_by_another(flown):
    interrupt(flown)
    flown.give_all(SetMission(square(flown)[:2], 2), StartMission())
    flown.until(lambda status: status.mission.state == 5, 60.0)
    flown.give_all(Hold(), SetMission(square(flown), 3), StartMission())
    flown.fly(1.0)
    assert landed(flown).word == "mission not finished"


@pytest.mark.parametrize("loses_position", [False, True], ids=["stream ends", "position lost"])
def test_a_failsafe_in_setpoint_mode(flown, loses_position):
    """A stream may end without notice; a vehicle that loses its position in it has failed."""
    there = Setpoint(pos_ned=(0.0, 0.0, -8.0))
    flown.take_off(8.0)
    stream(flown, there, 0.5)
    flown.give_all(SetMode(OFFBOARD))
    stream(flown, there, 5.0)
    if loses_position:
        flown.give_all(InjectFailure(4, 1))
        stream(flown, there, 6.0)
    else:
        flown.fly(3.0)
    assert flown.status.nav_state != OFFBOARD
    assert landed(flown).word == ("setpoints not followed" if loses_position else "flown")


def test_setpoints_on_the_ground_until_the_vehicle_is_disarmed(flown):
    """It is disarmed after 10 s; another flight follows."""
    there = Setpoint(pos_ned=(0.0, 0.0, -8.0))
    flown.give_all(SetParam("MPC_THR_MAX", 0.3))
    stream(flown, there, 0.5)
    flown.give_all(SetMode(OFFBOARD), Arm())
    stream(flown, there, 15.0)
    assert not flown.status.armed
    flown.give_all(SetParam("MPC_THR_MAX", 1.0), SetMode(4))
    flown.take_off(5.0)
    assert landed(flown).word == "setpoints not followed"


def go_away(flown):
    flown.take_off(8.0)
    flown.give_all(GoTo(*flown.place(60.0, 0.0, 8.0)))
    flown.fly(20.0)


def test_a_return_that_makes_no_progress(flown):
    go_away(flown)
    flown.give_all(SetParam("MPC_XY_VEL_MAX", 0.0), Return())
    flown.fly(60.0)
    outcome = landed(flown)
    assert outcome.word == "command not obeyed"
    assert "came no nearer" in outcome.reason


@pytest.mark.parametrize("kind", ["home", "waits", "rally", "home moved", "armed elsewhere"])
def test_a_return_that_another_flight_follows(flown, kind):
    """Wherever it goes, and while it waits above its goal."""
    if kind == "rally":
        lat_deg, lon_deg, _ = flown.place(60.0, 10.0, 0.0)
        flown.give_all(SetRally((Item(3, 5100, (0.0, 0.0, 0.0, 0.0), lat_deg, lon_deg, 0.0),), 1))
    go_away(flown)
    if kind == "armed elsewhere":
        landing = Land()
        flown.give_all(landing)
        flown.until(lambda status: not status.armed, 60.0)
        flown.take_off(8.0)
        flown.give_all(GoTo(*flown.place(60.0, 40.0, 8.0)))
        flown.fly(12.0)
    if kind == "home moved":
        flown.give_all(SetHome())
        flown.fly(1.0)
    if kind == "waits":
        flown.give_all(SetParam("RTL_LAND_DELAY", 60.0))
    flown.give_all(Return())
    if kind == "waits":
        flown.fly(80.0)
        assert flown.status.armed
    else:
        flown.until(lambda status: not status.armed, 120.0)
        flown.take_off(5.0)
    assert landed(flown).word == "flown"


def landing_mission(flown, north_m, east_m):
    return (
        flown.waypoint(0.0, 0.0, 8.0, 22),
        flown.waypoint(north_m, east_m, 8.0),
        flown.waypoint(north_m, east_m, 0.0, 21),
    )


def test_the_landing_of_the_mission_that_was_flown(flown):
    """Another one, which lands elsewhere, is uploaded after it."""
    flown.give_all(SetMission(landing_mission(flown, 15.0, 0.0), 1), Arm(), StartMission())
    flown.fly(5.0)
    flown.until(lambda status: not status.armed, 60.0)
    flown.give_all(SetMission(landing_mission(flown, 0.0, 60.0), 2))
    flown.fly(2.0)
    run = flown.run
    assert run.outcome.word == "flown"
    assert run.summary.ending == "landed"


def test_two_missions_that_land_elsewhere(flown):
    for i, (north_m, east_m) in enumerate(((15.0, 0.0), (0.0, 40.0))):
        flown.give_all(SetMission(landing_mission(flown, north_m, east_m), i + 1), Arm(), StartMission())
        flown.fly(5.0)
        flown.until(lambda status: not status.armed, 60.0)
    assert flown.run.outcome.word == "flown"


def test_a_takeoff_repeated_in_a_gust(flown):
    """The second one is replaced before the vehicle can be back."""
    flown.take_off(8.0)
    flown.give_all(Takeoff(flown.home.alt_amsl_m + 8.0), STORM)
    flown.fly(1.5)
    flown.give_all(STILL)
    flown.fly(0.5)
    assert landed(flown).word == "flown"


# -- replays ---------------------------------------------------------------------------------------------------------


def until_disarmed(flown):
    flown.until(lambda status: not status.armed, 120.0)


def rally(flown):
    lat_deg, lon_deg, _ = flown.place(60.0, 10.0, 0.0)
    flown.give_all(SetRally((Item(3, 5100, (0.0, 0.0, 0.0, 0.0), lat_deg, lon_deg, 0.0),), 1))
    go_away(flown)
    flown.give_all(Return())
    until_disarmed(flown)


def armed_elsewhere(flown):
    go_away(flown)
    flown.give_all(Land())
    until_disarmed(flown)
    flown.take_off(8.0)
    flown.give_all(Arm(), GoTo(*flown.place(60.0, 40.0, 8.0)))
    flown.fly(12.0)
    flown.give_all(Arm(), Return())
    until_disarmed(flown)


def home_moved(flown):
    go_away(flown)
    flown.give_all(SetHome())
    flown.fly(1.0)
    flown.give_all(GoTo(*flown.place(60.0, 30.0, 8.0)))
    flown.fly(10.0)
    flown.give_all(Return())
    until_disarmed(flown)


def returning_mission(flown):
    items = (*square(flown), Item(2, 20, (0.0, 0.0, 0.0, 0.0), 0.0, 0.0, 0.0))
    flown.give_all(SetMission(items, 1), Arm(), StartMission())
    flown.fly(5.0)
    until_disarmed(flown)


@pytest.mark.parametrize("fly", [rally, armed_elsewhere, home_moved, returning_mission])
@pytest.mark.parametrize("is_last", [True, False], ids=["last", "another flight"])
def test_a_replay_knows_where_a_return_leads(tmp_path, fly, is_last):
    """From the commands: it has no autopilot."""
    with Flown(record=tmp_path, plots=False, overrides=CALM) as flown:
        fly(flown)
        if not is_last:
            flown.take_off(5.0)
            landed(flown)
    [folder] = flown.vehicle.folders
    run, again = flown.run, px4lockstep.replay(folder)
    assert again.matches
    assert run.outcome.word == again.outcome.word == "flown"
    assert run.summary.ending == ("returned" if is_last else "landed")


# -- what is no failure ----------------------------------------------------------------------------------------------


def test_a_pause_after_a_landing(flown):
    """MAVLink's go-to without numbers."""
    flown.take_off(5.0)
    flown.give_all(Land())
    until_disarmed(flown)
    flown.give_all(GoTo())
    flown.fly(2.0)
    assert flown.run.outcome.word == "flown"


def test_a_refusal_while_the_vehicle_lands(flown):
    """It is on the ground, and disarmed soon after."""
    flown.take_off(5.0)
    flown.give_all(Land())
    flown.until(lambda status: status.landed_state == 1, 60.0)
    assert not flown.give(Orbit(10.0, 3.0)).is_accepted
    until_disarmed(flown)
    assert flown.run.outcome.word == "flown"


def test_a_refusal_before_the_mission_is_finished(flown):
    """The mission goes on."""
    flown.give_all(SetMission(square(flown), 1), Arm(), StartMission())
    flown.fly(12.0)
    assert not flown.give(ChangeAltitude(520.0)).is_accepted
    flown.until(lambda status: status.mission.state == 5, 60.0)
    assert flown.run.outcome.word == "flown"


def test_a_return_for_a_second_on_the_ground(flown):
    """Far from home, and replaced before it begins."""
    go_away(flown)
    flown.give_all(Land())
    flown.until(lambda status: status.landed_state == 1, 60.0)
    flown.give_all(Return())
    flown.fly(1.0)
    flown.give_all(Takeoff(flown.home.alt_amsl_m + 6.0))
    flown.fly(15.0)
    assert landed(flown).word == "flown"


def test_an_interrupted_mission_whose_items_are_skipped(flown):
    """That is no progress."""
    interrupt(flown)
    flown.give_all(SetCurrentItem(3), StartMission())
    flown.fly(1.0)
    assert landed(flown).word == "mission not finished"


def test_a_vehicle_that_sank_with_a_low_battery():
    """A warning is no excuse."""
    with Flown(overrides=CALM | {"power.batteries[0].soc0": 0.16}) as flown:
        items = (flown.waypoint(0.0, 0.0, 2.0, 22), flown.waypoint(10.0, 0.0, 2.0))
        flown.give_all(SetMission(items, 1), Arm(), StartMission())
        flown.until(lambda status: status.mission.state == 5, 60.0)
        flown.give_all(WEAK)
        flown.fly(30.0)
        run = flown.run
    assert run.log["failsafe"].any()
    assert run.outcome.word == "setpoints not followed"


@pytest.mark.parametrize("seconds", [5.2, 6.0, 7.0])
@pytest.mark.parametrize("kind", ["place", "orbit", "place ahead"])
def test_a_vehicle_that_turns_back_at_speed(flown, kind, seconds):
    """It brakes first, and is on its way when it is told to land."""
    flown.take_off(8.0)
    flown.give_all(GoTo(*flown.place(300.0, 0.0, 8.0)))
    flown.fly(10.0)
    north_m, _, _ = flown.status.pos_ned
    home, ahead = flown.place(0.0, 0.0, 8.0), flown.place(north_m + 3.0, 0.0, 8.0)
    flown.give_all(Orbit(10.0, 3.0, 0, *home) if kind == "orbit" else GoTo(*(home if kind == "place" else ahead)))
    flown.fly(seconds)
    assert landed(flown).word == "flown"


@pytest.mark.parametrize("kind", ["Hold", "place", "return"])
def test_a_failsafe_that_changes_no_mode(flown, kind):
    """The sticks stop; the vehicle goes on until it would act."""
    flown.take_off(8.0)
    stream(flown, Sticks(), 1.0)
    commands = {"Hold": Hold(), "place": GoTo(*flown.place(20.0, 0.0, 8.0)), "return": Return()}
    flown.give_all(commands[kind])
    flown.fly(3.0)
    assert landed(flown).word == "flown"


@pytest.mark.parametrize("change", [SetCurrentItem(0), ClearMission(), None], ids=["set back", "clear", "upload"])
def test_a_mission_that_is_changed_while_it_returns(flown, change):
    """Its return goes on, and lands."""
    items = (*square(flown), Item(2, 20, (0.0, 0.0, 0.0, 0.0), 0.0, 0.0, 0.0))
    flown.give_all(SetMission(items, 1), Arm(), StartMission())
    flown.until(lambda status: status.nav_state == 5, 90.0)
    flown.fly(3.0)
    flown.give_all(SetMission(square(flown), 2) if change is None else change)
    until_disarmed(flown)
    assert flown.run.outcome.word == "flown"


@pytest.mark.parametrize("is_last", [True, False], ids=["last", "another flight"])
def test_a_landing_without_a_position(flown, is_last):
    """The vehicle descends, and lands where it was told to."""
    flown.take_off(8.0)
    flown.give_all(Land())
    flown.fly(1.0)
    flown.give_all(InjectFailure(4, 1))
    until_disarmed(flown)
    if not is_last:
        flown.give_all(InjectFailure(4, 0))
        flown.fly(2.0)
        flown.take_off(5.0)
        landed(flown)
    assert flown.run.outcome.word == "flown"
