"""The last request must end on its setpoints, as one that a later request replaced."""

import math

import pytest
from served import CALM, Flown, stream

from px4lockstep.scenario.commands import Arm, GoTo, Land, SetMode, SetParam, Setpoint, SetWind, Sticks, Takeoff

POSITION, OFFBOARD = 2, 14
STORM = SetWind((0.0, 32.0, 0.0))
CENTRED = Sticks()


@pytest.fixture
def flown():
    with Flown(overrides=CALM) as flown:
        yield flown


def begin(flown, setpoint, mode=OFFBOARD):
    stream(flown, setpoint, 0.5)
    flown.give_all(SetMode(mode))


def word(flown):
    return flown.run.outcome.word


@pytest.mark.parametrize("kind", ["takeoff", "place", "only a heading", "setpoints"])
@pytest.mark.parametrize("can_turn", [False, True], ids=["stays", "turns"])
def test_a_heading_must_be_reached(flown, kind, can_turn):
    limit = SetParam("MC_YAWRATE_MAX", 200.0 if can_turn else 0.0)
    if kind == "takeoff":
        flown.give_all(limit, Arm(), Takeoff(flown.home.alt_amsl_m + 5.0, 3.0))
        flown.fly(25.0)
    else:
        flown.take_off(5.0)
        flown.give_all(limit)
        there = Setpoint(pos_ned=(0.0, 0.0, -5.0), yaw_rad=3.0)
        if kind == "setpoints":
            begin(flown, there)
            stream(flown, there, 15.0)
        else:
            flown.give_all(GoTo(*(flown.place(20.0, 0.0, 5.0) if kind == "place" else (math.nan,) * 3), 3.0))
            flown.fly(25.0)
    failed = "setpoints not followed" if kind == "setpoints" else "command not obeyed"
    assert word(flown) == ("flown" if can_turn else failed)


SETPOINTS = {
    "place at 4.5 m": Setpoint(pos_ned=(4.5, 0.0, -5.0)),
    "velocity": Setpoint(vel_ned=(3.0, 0.0, 0.0)),
}


@pytest.mark.parametrize("kind", SETPOINTS)
def test_setpoints_must_be_followed_until_the_end(flown, kind):
    """The vehicle can't move. The velocity changes a little, so that it does not count as constant."""
    flown.take_off(5.0)
    flown.give_all(SetParam("MPC_XY_VEL_MAX", 0.0))
    begin(flown, SETPOINTS[kind])
    for i in range(300):
        setpoint = SETPOINTS[kind]
        if kind == "velocity":
            setpoint = Setpoint(vel_ned=(3.0 + 0.01 * (i % 2), 0.0, 0.0))
        stream(flown, setpoint, 0.05)
    assert word(flown) == "setpoints not followed"


def test_setpoints_that_the_vehicle_sank_away_from(flown):
    """Its place is less than 5 m above the ground, on which it lies at the end."""
    flown.take_off(4.0)
    there = Setpoint(pos_ned=(0.0, 0.0, -4.0))
    begin(flown, there)
    flown.give_all(SetParam("MPC_THR_MAX", 0.66))
    stream(flown, there, 25.0)
    assert -flown.status.pos_ned[2] < 0.5
    assert word(flown) == "setpoints not followed"


@pytest.mark.parametrize(
    "setpoint",
    [Setpoint(vel_ned=(0.0, 0.0, 0.8)), Setpoint(pos_ned=(0.0, 0.0, 1.0))],
    ids=["velocity", "place below the ground"],
)
def test_setpoints_that_demand_a_landing_are_flown(flown, setpoint):
    flown.take_off(3.0)
    begin(flown, setpoint)
    stream(flown, setpoint, 15.0)
    assert not flown.status.armed
    assert word(flown) == "flown"


def test_a_pilot_who_is_blown_away(flown):
    """With centred sticks, the vehicle is to stay."""
    flown.take_off(8.0)
    begin(flown, CENTRED, POSITION)
    flown.give_all(STORM)
    stream(flown, CENTRED, 15.0)
    outcome = flown.run.outcome
    assert outcome.word == "command not obeyed"
    assert "a pilot's mode was commanded" in outcome.reason


def test_a_pilot_who_flies_about_and_lands(flown):
    """In a calm, with all sticks; setpoints that sink count as followed on the ground."""
    flown.take_off(5.0)
    begin(flown, CENTRED, POSITION)
    for sticks in (Sticks(pitch=1.0), Sticks(roll=-1.0, yaw=0.5), Sticks(throttle=0.9), CENTRED):
        stream(flown, sticks, 6.0)
    for _ in range(600):
        stream(flown, Sticks(throttle=-1.0), 0.05)
        if not flown.status.armed:
            break
    assert not flown.status.armed
    assert word(flown) == "flown"


def test_a_pilot_who_flies_about_and_lets_the_vehicle_land(flown):
    flown.take_off(5.0)
    begin(flown, CENTRED, POSITION)
    stream(flown, Sticks(pitch=-1.0), 6.0)
    flown.give_all(Land())
    flown.until(lambda status: not status.armed, 40.0)
    assert word(flown) == "flown"
