"""A served vehicle reacts to the loss of its ground station by NAV_DLL_ACT, with PX4's times and texts.

Measured on stock PX4: Hold 12.3 s after the last heartbeat (COM_DL_LOSS_T 10 s), Return 5.0 s later.
"""

import math

import pytest
from served import CALM, Flown

import px4lockstep
from px4lockstep.scenario.commands import (
    Arm,
    GoTo,
    Heartbeat,
    Hold,
    Land,
    Orbit,
    SetMission,
    SetMode,
    SetParam,
    StartMission,
    Takeoff,
)
from px4lockstep.service.speed import speed_overrides

HOLD, RETURN, ORBIT, LAND, POSITION, MISSION = 4, 5, 21, 18, 2, 3
SEEN_S = 2.25
"""PX4 notices this late that heartbeats no longer arrive."""
LOST, BACK = "Connection to ground station lost", "GCS connection regained"
FAILSAFE, HOLDS = "Failsafe activated", "Failsafe activated: entering Hold for 5 seconds"


@pytest.fixture
def flown():
    with Flown(overrides=CALM) as flown:
        yield flown


def beat(flown, seconds):
    """Fly with a heartbeat every second; return the status after the last part."""
    for _ in range(round(seconds)):
        flown.vehicle.submit(Heartbeat())
        flown.fly(1.0)
    return flown.status


def take_off(flown, action, height_m=5.0):
    """Take off with a ground station, which sends its last heartbeat at the end."""
    flown.give_all(SetParam("NAV_DLL_ACT", action), Heartbeat(), Arm(), Takeoff(flown.home.alt_amsl_m + height_m))
    flown.until(lambda _: beat(flown, 1.0).nav_state == HOLD, 40.0)
    beat(flown, 3.0)
    flown.give_all(Heartbeat())


def texts(flown):
    return [text.text for text in flown.vehicle.all_texts]


def test_the_loss_is_noticed_after_com_dl_loss_t(flown):
    """By default nothing else happens, as in PX4: NAV_DLL_ACT is 0."""
    flown.give_all(Heartbeat())
    flown.take_off(5.0)
    flown.give_all(Heartbeat())
    assert not flown.fly(10.0 + SEEN_S - 0.1).has_lost_station
    assert LOST not in texts(flown)
    assert flown.fly(0.2).has_lost_station
    status = flown.fly(20.0)
    assert (status.nav_state, status.failsafe) == (HOLD, False)
    flown.give_all(Heartbeat())
    assert texts(flown)[-2:] == [LOST, BACK]
    assert flown.run.outcome.word == "flown"


def test_a_vehicle_that_never_had_a_ground_station_says_nothing(flown):
    flown.take_off(5.0)
    status = flown.fly(20.0)
    assert (status.has_lost_station, status.nav_state, LOST in texts(flown)) == (False, HOLD, False)


def test_it_holds_and_returns(flown):
    """Hold for COM_FAIL_ACT_T; the verdict tells of the failsafe."""
    take_off(flown, 2)
    assert not flown.fly(12.2).failsafe
    status = flown.fly(0.1)
    assert (status.nav_state, status.failsafe) == (HOLD, True)
    assert flown.fly(4.8).nav_state == HOLD
    assert flown.fly(0.3).nav_state == RETURN
    assert texts(flown)[-3:] == [LOST, HOLDS, FAILSAFE]
    outcome = flown.run.outcome
    assert outcome.word == "command not obeyed"
    assert "ground station lost" in outcome.reason


@pytest.mark.parametrize("during", [14.0, 18.0], ids=["hold", "return"])
def test_a_regained_station_does_not_end_the_failsafe(flown, during):
    """As in PX4: it returns, until another mode is selected."""
    take_off(flown, 2, 20.0)
    flown.fly(during)
    assert BACK not in texts(flown)
    beat(flown, 6.0)
    assert BACK in texts(flown)
    assert flown.status.nav_state == RETURN
    flown.give_all(Hold())
    status = beat(flown, 10.0)
    assert (status.nav_state, status.failsafe) == (HOLD, False)
    assert flown.fly(13.0).failsafe  # lost again


def test_a_client_without_heartbeats_can_take_over(flown):
    """It does not come back while the station is still lost."""
    take_off(flown, 2)
    assert flown.fly(14.0).failsafe
    flown.give_all(GoTo(*flown.place(5.0, 0.0, 5.0)))
    status = flown.fly(15.0)
    assert (status.nav_state, status.failsafe) == (HOLD, False)


@pytest.mark.parametrize(("action", "mode"), [(1, HOLD), (3, LAND)])
def test_each_action_has_its_mode(flown, action, mode):
    """From an orbit; a hold needs no delay."""
    take_off(flown, action, 10.0)
    flown.give_all(Orbit(8.0, 2.0), Heartbeat())
    assert flown.fly(12.0).nav_state == ORBIT
    status = flown.fly(0.5)
    assert (status.nav_state, status.failsafe) == (HOLD, True)
    assert flown.fly(5.0).nav_state == mode
    assert texts(flown).count(HOLDS) == (1 if mode == LAND else 0)
    assert FAILSAFE in texts(flown)


@pytest.mark.parametrize("action", [5, 6])
def test_termination_and_disarming_stop_the_motors(flown, action):
    """At once, in the air."""
    take_off(flown, action)
    assert flown.fly(12.0).armed
    status = flown.fly(0.4)
    assert not status.armed
    assert max(status.motors) == 0.0
    assert texts(flown)[-3:] == [LOST, FAILSAFE, "Disarmed by failsafe"]


@pytest.mark.parametrize("action", [2, 3])
def test_without_a_delay_it_acts_at_once(flown, action):
    flown.give_all(SetParam("COM_FAIL_ACT_T", 0.0))
    take_off(flown, action)
    assert flown.fly(12.4).nav_state == {2: RETURN, 3: LAND}[action]


def test_a_landing_goes_on(flown):
    """As in PX4, the loss does not matter in Land."""
    take_off(flown, 2, 30.0)
    flown.give_all(Land())
    status = flown.fly(20.0)
    assert (status.nav_state, status.failsafe, status.has_lost_station) == (LAND, False, True)
    flown.give_all(Hold())  # which a vehicle without a station may not do
    assert flown.fly(0.1).failsafe


def test_a_return_goes_on(flown):
    """It is not interrupted by a failsafe that returns."""
    take_off(flown, 2, 20.0)
    flown.give_all(GoTo(*flown.place(60.0, 0.0, 20.0)))
    beat(flown, 10.0)
    flown.give_all(SetMode(RETURN), Heartbeat())
    for _ in range(14):
        assert flown.fly(1.0).nav_state == RETURN
    assert not flown.status.failsafe


@pytest.mark.parametrize(("bits", "acts"), [(2, False), (1, True), (4, True)])
def test_exceptions(flown, bits, acts):
    """COM_DLL_EXCEPT 2: automatic modes except missions."""
    flown.give_all(SetParam("COM_DLL_EXCEPT", bits))
    take_off(flown, 2)
    assert bool(flown.fly(13.0).failsafe) == acts


def test_a_mission_is_excepted_by_its_bit(flown):
    """COM_DLL_EXCEPT 1; the vehicle flies on."""
    items = tuple(flown.waypoint(north_m, 0.0, 10.0, command) for north_m, command in ((0.0, 22), (200.0, 16)))
    flown.give_all(SetParam("COM_DLL_EXCEPT", 1), SetParam("NAV_DLL_ACT", 1), Heartbeat())
    flown.give_all(SetMission(items, 1), SetMode(MISSION), Arm())
    status = flown.fly(20.0)
    assert (status.nav_state, status.failsafe) == (MISSION, False)
    flown.give_all(SetParam("COM_DLL_EXCEPT", 0))
    assert flown.fly(0.1).nav_state == HOLD
    flown.give_all(StartMission())
    assert flown.fly(5.0).nav_state == MISSION


def test_without_a_ground_station_it_cannot_be_armed(flown):
    """PX4's check: only with NAV_DLL_ACT."""
    flown.give_all(SetParam("NAV_DLL_ACT", 2))
    result = flown.give(Arm())
    assert (result.code, "No connection to the GCS" in result.text) == (1, True)
    flown.give_all(Heartbeat())
    flown.fly(0.1)
    flown.give_all(Arm())


def test_on_the_ground_it_disarms(flown):
    """At the end of the hold; PX4 enters Return there, too."""
    flown.give_all(SetParam("NAV_DLL_ACT", 2), SetParam("COM_DISARM_PRFLT", -1.0), Heartbeat(), Arm(), Heartbeat())
    assert flown.fly(13.0).failsafe
    assert flown.fly(4.0).armed
    assert not flown.fly(0.5).armed


@pytest.mark.parametrize(("speed", "loss_s"), [(1.0, 10), (2.75, 27), (5.0, 50), (100.0, 300), (math.inf, 300)])
def test_the_speed_of_the_service_scales_the_timeout(speed, loss_s):
    """As PX4's simulator; the parameter is an integer of at most 300 s."""
    overrides = speed_overrides(px4lockstep.load_spec("x500"), speed)
    assert overrides.get("autopilot.params.COM_DL_LOSS_T", 10) == loss_s
    with Flown(overrides=CALM | overrides) as flown:
        parameters = flown.vehicle.parameters
        assert (parameters["COM_DL_LOSS_T"], type(parameters["COM_DL_LOSS_T"])) == (loss_s, int)


def test_at_five_times_real_time_it_is_lost_five_times_later():
    """In simulated time; heartbeats arrive in wall-clock time."""
    with Flown(overrides=CALM | speed_overrides(px4lockstep.load_spec("x500"), 5.0)) as flown:
        take_off(flown, 1)
        assert not flown.fly(50.0 + SEEN_S - 0.1).failsafe
        assert flown.fly(0.2).failsafe


def test_the_loss_replays_to_the_same_digest(tmp_path):
    """Heartbeats are recorded with the times at which they took effect."""
    with Flown(record=tmp_path, plots=False, seed=5) as flown:
        take_off(flown, 2)
        flown.fly(19.0)
        beat(flown, 3.0)
        assert flown.status.nav_state == RETURN
    [folder] = flown.vehicle.folders
    digest = px4lockstep.read_run(folder).summary["digest"]
    assert px4lockstep.replay(folder).digest == digest
    commands = folder / "commands.jsonl"
    assert px4lockstep.simulate(folder / "spec.toml", commands=commands).digest == digest
    rows = [line for line in commands.read_text("utf-8").splitlines() if "Heartbeat" not in line]
    (tmp_path / "silent.jsonl").write_text("\n".join(rows) + "\n", "utf-8")
    silent = px4lockstep.simulate(folder / "spec.toml", commands=tmp_path / "silent.jsonl")
    assert silent.digest != digest  # it could not be armed


def test_a_client_that_comes_back_gets_the_texts_of_the_last_seconds(served, client, monkeypatch):
    """Those of 5 s of flight, as from PX4, which sends none to a link without a ground station."""
    served.vehicle.submit(SetParam("NAV_DLL_ACT", 1))
    served.run(0.1)
    assert (client.command(400, 1.0), client.command(22, *(math.nan,) * 7)) == (0, 0)
    served.run(12.0)
    beats, client.beat = client.beat, lambda: None
    monkeypatch.setattr("px4lockstep.service.channel.GCS_SILENCE_S", 0.0)  # wall-clock time, which hardly passes here
    client.received.clear()
    served.run(5.0)
    served.endpoint._say("too old")
    served.run(8.0)
    assert served.vehicle.status.failsafe
    assert client.texts == []
    monkeypatch.undo()
    client.beat = beats
    served.run(2.0)
    assert client.texts == [LOST, FAILSAFE, BACK]
