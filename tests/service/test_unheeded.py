"""Requests that were refused, or that a disarmed vehicle accepted and never carried out, are no success."""

import pytest
from served import CALM, Flown, square

from px4lockstep.scenario.commands import (
    Arm,
    ChangeAltitude,
    GoTo,
    Hold,
    InjectFailure,
    Land,
    Orbit,
    Return,
    SetMission,
    SetMode,
    SetParam,
    Setpoint,
    StartMission,
    Sticks,
)

POSITION, MISSION, OFFBOARD = 2, 3, 14


@pytest.fixture
def flown():
    with Flown(overrides=CALM) as flown:
        yield flown


def land(flown):
    flown.give_all(Land())
    flown.until(lambda status: not status.armed, 60.0)


def refuse(flown, command):
    assert not flown.give(command).is_accepted


def test_a_mission_that_was_refused_in_flight(flown):
    """There is none. The reason quotes the refusal."""
    flown.take_off(5.0)
    refuse(flown, StartMission())
    flown.fly(10.0)
    outcome = flown.run.outcome
    assert outcome.word == "command not obeyed"
    assert "the mission was commanded at" in outcome.reason
    assert "it was refused: Switching to mode 'Mission' is currently not possible" in outcome.reason


def test_a_return_that_was_refused_in_flight(flown):
    """The position is lost for a moment."""
    flown.take_off(8.0)
    flown.give_all(GoTo(*flown.place(30.0, 0.0, 8.0)))
    flown.fly(12.0)
    flown.give_all(InjectFailure(4, 1))
    flown.fly(0.3)
    refuse(flown, Return())
    flown.give_all(InjectFailure(4, 0))
    flown.fly(20.0)
    assert flown.run.outcome.word == "command not obeyed"


@pytest.mark.parametrize("command", [ChangeAltitude(500.0), SetMode(OFFBOARD)], ids=["altitude", "setpoints"])
def test_a_request_that_was_refused_in_an_orbit(flown, command):
    """The vehicle goes on as before."""
    flown.take_off(8.0)
    flown.give_all(Orbit(15.0, 3.0))
    flown.fly(20.0)
    refuse(flown, command)
    flown.fly(10.0)
    assert flown.run.outcome.word == "command not obeyed"


def test_a_request_that_was_refused_and_then_accepted(flown):
    """The last one counts."""
    flown.take_off(5.0)
    refuse(flown, StartMission())
    flown.give_all(Hold())
    flown.fly(5.0)
    assert flown.run.outcome.word == "flown"


@pytest.mark.parametrize("is_mode_changed", [False, True], ids=["last", "before a mode"])
def test_an_arming_that_was_refused_after_a_flight(flown, is_mode_changed):
    """There is no mission to arm for. A mode that is selected afterwards does not excuse it."""
    flown.take_off(5.0)
    land(flown)
    flown.give_all(SetMode(MISSION))
    refuse(flown, Arm())
    if is_mode_changed:
        flown.give_all(SetMode(4))
    flown.fly(5.0)
    outcome = flown.run.outcome
    assert outcome.word == "command not obeyed"
    assert "arming was commanded at" in outcome.reason


COMMANDS = {"mission": StartMission(), "place": GoTo(47.398, 8.5456, 500.0), "setpoints": SetMode(OFFBOARD)}


@pytest.mark.parametrize("kind", COMMANDS)
@pytest.mark.parametrize("has_flown", [False, True], ids=["first", "second"])
def test_a_command_to_a_vehicle_that_is_never_armed(flown, kind, has_flown):
    """It is accepted, as by PX4, and nothing happens."""
    flown.give_all(SetMission(square(flown), 1))
    if has_flown:
        flown.take_off(5.0)
        land(flown)
    for _ in range(10):
        flown.vehicle.submit(Setpoint(pos_ned=(0.0, 0.0, -5.0)))
        flown.fly(0.05)
    flown.give_all(COMMANDS[kind])
    flown.fly(15.0)
    outcome = flown.run.outcome
    assert outcome.word == ("command not obeyed" if has_flown else "never took off")
    assert "never armed" in outcome.reason


def test_a_mode_that_is_selected_after_a_flight_is_no_request(flown):
    """A ground station may preselect it."""
    flown.give_all(SetMission(square(flown), 1))
    flown.take_off(5.0)
    land(flown)
    flown.give_all(SetMode(MISSION))
    flown.fly(5.0)
    assert flown.run.outcome.word == "flown"


@pytest.mark.parametrize("has_flown", [False, True], ids=["first", "second"])
def test_a_pilot_who_can_not_leave_the_ground(flown, has_flown):
    """At full throttle, with motors that are limited to less than the weight."""
    if has_flown:
        flown.take_off(5.0)
        land(flown)
    flown.give_all(SetParam("MPC_THR_MAX", 0.3))
    for i in range(400):
        flown.vehicle.submit(Sticks(throttle=1.0 if i > 10 else 0.0))
        flown.fly(0.05)
        if i == 8:
            flown.give_all(SetMode(POSITION), Arm())
    outcome = flown.run.outcome
    assert outcome.word == ("command not obeyed" if has_flown else "never took off")
