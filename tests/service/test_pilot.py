"""A pilot flies a served vehicle by sticks, with PX4's curves, and failsafes hold before they return or land."""

import math

import pytest
from served import CALM, Flown

import px4lockstep
from px4lockstep.scenario.commands import Arm, GoTo, Hold, Item, SetFence, SetMode, SetParam, Sticks

ALTITUDE, POSITION, HOLD, RETURN, ACRO, STABILIZED, LAND = 1, 2, 4, 5, 10, 15, 18


@pytest.fixture
def flown():
    with Flown(overrides=CALM) as flown:
        yield flown


def stream(flown, sticks, seconds, period_s=0.05):
    """Give stick positions again and again."""
    for _ in range(round(seconds / period_s)):
        flown.vehicle.submit(sticks)
        flown.fly(period_s)
    return flown.status


def fly_mode(flown, mode, height_m=10.0):
    flown.take_off(height_m)
    stream(flown, Sticks(), 0.2)
    flown.give_all(SetMode(mode))


def curve(stick, deadzone=0.1):
    """PX4's curve: 40 % linear and 60 % cubic outside of the dead zone."""
    moved = max(0.0, abs(stick) - deadzone) / (1.0 - deadzone)
    return math.copysign(0.4 * moved + 0.6 * moved**3, stick)


def yaw_of(status):
    w, _, _, z = status.q_bn
    return 2.0 * math.atan2(z, w)


@pytest.mark.parametrize("stick", [0.3, 0.5, 0.8])
def test_position_mode_has_the_curve_of_px4(flown, stick):
    """The speed approaches that fraction of MPC_VEL_MANUAL, 10 m/s; the first order lag is over after 8 s."""
    fly_mode(flown, POSITION)
    status = stream(flown, Sticks(pitch=stick), 8.0)
    assert status.vel_ned[0] == pytest.approx(10.0 * curve(stick), rel=0.08, abs=0.15)
    assert abs(status.vel_ned[1]) < 0.2


def test_full_sticks_to_the_side_are_within_the_unit_circle(flown):
    """MPC_VEL_MAN_SIDE and MPC_VEL_MAN_BACK have their own speeds."""
    flown.give_all(SetParam("MPC_VEL_MAN_SIDE", 4.0), SetParam("MPC_VEL_MAN_BACK", 3.0))
    fly_mode(flown, POSITION)
    status = stream(flown, Sticks(pitch=-1.0, roll=1.0), 8.0)
    expected = (-3.0 * math.sqrt(0.5), 4.0 * math.sqrt(0.5))
    assert status.vel_ned[:2] == pytest.approx(expected, abs=0.3)


def test_sticks_within_the_dead_zone_hold_the_position(flown):
    """MAN_DEADZONE; a smaller one lets the vehicle move."""
    fly_mode(flown, POSITION)
    held_ned = stream(flown, Sticks(0.09, -0.09, 0.09, 0.09), 4.0).pos_ned
    status = stream(flown, Sticks(0.09, -0.09, 0.09, 0.09), 4.0)
    assert math.dist(status.pos_ned, held_ned) < 0.3
    assert abs(yaw_of(status)) < 0.05
    flown.give_all(SetParam("MAN_DEADZONE", 0.0))
    assert stream(flown, Sticks(roll=0.09), 6.0).vel_ned[1] == pytest.approx(10.0 * curve(0.09, 0.0), abs=0.15)


def test_centred_sticks_stop_the_vehicle_and_hold_its_position(flown):
    """PX4 brakes from 10 m/s within 5 s."""
    fly_mode(flown, POSITION)
    assert stream(flown, Sticks(pitch=1.0), 8.0).vel_ned[0] == pytest.approx(10.0, abs=0.5)
    status = stream(flown, Sticks(), 5.0)
    assert math.hypot(*status.vel_ned) < 0.2
    assert math.dist(stream(flown, Sticks(), 3.0).pos_ned, status.pos_ned) < 0.3


def test_the_climb_has_the_same_curve_and_is_slower_near_the_ground(flown):
    """MPC_Z_VEL_MAX_UP is 3 m/s; below MPC_LAND_ALT2, 5 m, the vehicle descends with MPC_LAND_SPEED, 0.7 m/s."""
    fly_mode(flown, POSITION, 20.0)
    assert stream(flown, Sticks(throttle=0.7), 4.0).vel_ned[2] == pytest.approx(-3.0 * curve(0.7), abs=0.1)
    stream(flown, Sticks(), 4.0)
    held_m = flown.status.pos_ned[2]
    assert stream(flown, Sticks(), 3.0).pos_ned[2] == pytest.approx(held_m, abs=0.2)
    flown.until(lambda _: -stream(flown, Sticks(throttle=-1.0), 0.2).pos_ned[2] < 4.0, 60.0)
    assert flown.status.vel_ned[2] == pytest.approx(0.7, abs=0.15)


def test_the_yaw_stick_turns_and_the_heading_is_held_afterwards(flown):
    """MPC_MAN_Y_MAX is 150 degrees per second."""
    fly_mode(flown, POSITION)
    status = stream(flown, Sticks(yaw=0.4), 1.0)
    assert status.omega_body[2] == pytest.approx(math.radians(150.0) * curve(0.4), rel=0.1)
    held = yaw_of(stream(flown, Sticks(), 2.0))
    assert math.remainder(yaw_of(stream(flown, Sticks(), 2.0)) - held, 2.0 * math.pi) == pytest.approx(0.0, abs=0.05)


def test_a_pilot_takes_off_and_lands_in_position_mode(flown):
    """PX4 takes off above 65 % of throttle, not below."""
    stream(flown, Sticks(), 0.2)
    flown.give_all(SetMode(POSITION), Arm())
    assert -stream(flown, Sticks(throttle=0.28, pitch=1.0), 3.0).pos_ned[2] < 0.4
    stream(flown, Sticks(throttle=0.8), 6.0)
    assert -flown.status.pos_ned[2] > 2.0
    assert math.hypot(*flown.status.pos_ned[:2]) < 1.0  # the stick on the ground had no effect
    for _ in range(60):
        if not stream(flown, Sticks(throttle=-0.5), 0.5).armed:
            break
    assert (flown.status.armed, flown.status.is_crashed) == (False, False)


@pytest.mark.parametrize("mode", [ALTITUDE, STABILIZED])
def test_tilt_is_linear_in_the_sticks(flown, mode):
    """Without a curve, up to MPC_MAN_TILT_MAX, 35 degrees: the acceleration of the tilt in altitude mode."""
    fly_mode(flown, mode, 25.0)
    status = stream(flown, Sticks(roll=0.2), 1.2, 0.02)
    full = math.tan(math.radians(35.0)) if mode == ALTITUDE else math.radians(35.0)
    tilt = math.atan(0.2 * full) if mode == ALTITUDE else 0.2 * full
    w, x, _, _ = status.q_bn
    assert 2.0 * math.atan2(x, w) == pytest.approx(tilt, abs=0.02)
    assert status.vel_ned[1] > 0.5
    if mode == ALTITUDE:
        assert abs(status.vel_ned[2]) < 0.5


def test_stabilized_mode_hovers_with_the_throttle_in_the_middle(flown):
    """MPC_THR_CURVE 0: the estimated hover thrust."""
    fly_mode(flown, STABILIZED, 25.0)
    assert abs(stream(flown, Sticks(), 2.0).vel_ned[2]) < 0.4
    flown.give_all(SetParam("MPC_THR_CURVE", 2))  # MPC_THR_HOVER, which is too large
    assert stream(flown, Sticks(), 2.0).vel_ned[2] < -0.6


def test_acro_mode_has_rates_and_a_linear_throttle(flown):
    """MC_ACRO_R_MAX is 100 degrees per second; the curve of PX4 is straight until MC_ACRO_EXPO bends it."""
    fly_mode(flown, ACRO, 40.0)
    status = stream(flown, Sticks(roll=0.4, throttle=0.4), 0.3, 0.02)
    assert status.omega_body[0] == pytest.approx(math.radians(40.0), rel=0.15)
    assert status.thrust_sp == pytest.approx(0.7, abs=0.01)
    flown.give_all(SetParam("MC_ACRO_EXPO", 1.0), SetParam("MC_ACRO_SUPEXPO", 0.5))
    status = stream(flown, Sticks(roll=-0.4, throttle=0.4), 0.4, 0.02)
    expected = 100.0 * 0.4**3 * 0.5 / (1.0 - 0.4 * 0.5)
    assert status.omega_body[0] == pytest.approx(-math.radians(expected), abs=0.03)


def moved(flown, seconds=0.4):
    """Move the pitch stick forward by 1.5 of its travel per second, at 20 Hz."""
    for i in range(round(seconds / 0.05)):
        stream(flown, Sticks(pitch=0.075 * (i + 1)), 0.05)
    return flown.status


def test_moved_sticks_take_over_in_automatic_modes(flown):
    """MAN_OVERRIDE_SPD, 1 per second; slow or constant sticks do not, nor does noise."""
    flown.take_off(8.0)
    flown.give_all(GoTo(*flown.place(60.0, 0.0, 8.0)))
    for i in range(20):
        stream(flown, Sticks(pitch=0.02 * i), 0.05)
    assert stream(flown, Sticks(pitch=0.4), 1.0).nav_state == HOLD
    for i in range(20):
        stream(flown, Sticks(pitch=0.3 * (i % 2)), 0.05)
    assert stream(flown, Sticks(), 1.0).nav_state == HOLD
    assert moved(flown).nav_state == POSITION
    assert "Pilot took over using sticks" in [text.text for text in flown.vehicle.all_texts]
    stream(flown, Sticks(), 3.0)
    assert flown.run.outcome.word == "flown"


def test_sticks_do_not_take_over_if_switched_off_or_in_the_hold_before_a_failsafe(flown):
    """After the hold they do."""
    flown.give_all(SetParam("MAN_OVERRIDE_SPD", -1.0))
    fly_mode(flown, POSITION)
    flown.give_all(Hold())
    assert moved(flown).nav_state == HOLD
    flown.give_all(SetParam("MAN_OVERRIDE_SPD", 1.0), SetMode(POSITION))
    stream(flown, Sticks(), 0.5)
    assert flown.fly(1.0).failsafe
    assert moved(flown).nav_state == HOLD
    flown.fly(5.0)
    assert flown.status.nav_state == RETURN
    stream(flown, Sticks(), 0.5)
    assert moved(flown).nav_state == POSITION


@pytest.mark.parametrize(("after_s", "code"), [(0.0, 1), (0.1, 1), (0.2, 0), (0.4, 0), (0.6, 1)])
def test_sticks_that_were_moved_once_count_for_a_moment(flown, after_s, code):
    """PX4 refuses Position until 0.1 to 0.15 s after the first input, and again when it is lost after 0.5 s."""
    flown.give_all(SetParam("COM_RCL_EXCEPT", 2))
    flown.take_off(5.0)
    flown.give_all(Sticks())
    flown.fly(after_s)
    assert flown.give(SetMode(POSITION)).code == code


# -- failsafes -----------------------------------------------------------------------------------------------------


def test_lost_sticks_hold_before_they_return(flown):
    """COM_RC_LOSS_T, 0.5 s, then Hold for COM_FAIL_ACT_T, 5 s, then NAV_RCL_ACT; the texts are PX4's."""
    fly_mode(flown, POSITION)
    assert flown.fly(0.4).nav_state == POSITION
    status = flown.fly(0.1)
    assert (status.nav_state, status.failsafe) == (HOLD, True)
    assert flown.fly(4.8).nav_state == HOLD
    assert flown.fly(0.5).nav_state == RETURN
    texts = [text.text for text in flown.vehicle.all_texts]
    assert "Failsafe activated: entering Hold for 5 seconds" in texts
    assert texts.count("Failsafe activated") == 1
    outcome = flown.run.outcome
    assert outcome.word == "command not obeyed"
    assert "mode hold, then return" in outcome.reason


def test_a_client_can_take_over_during_the_hold(flown):
    """Any mode that is selected ends the failsafe; it does not come back while the sticks are still lost."""
    fly_mode(flown, POSITION)
    assert flown.fly(2.0).failsafe
    flown.give_all(GoTo(*flown.place(5.0, 0.0, 10.0)))
    status = flown.fly(10.0)
    assert (status.nav_state, status.failsafe) == (HOLD, False)
    assert status.pos_ned[0] == pytest.approx(5.0, abs=1.0)


def test_sticks_that_were_there_are_missed_in_automatic_modes_too(flown):
    """As in PX4, unless COM_RCL_EXCEPT has the mode, or the sticks were lost before arming."""
    stream(flown, Sticks(), 0.2)
    flown.give_all(SetMode(HOLD), Arm(), SetMode(17))
    stream(flown, Sticks(), 10.0)
    assert flown.fly(1.0).failsafe
    assert flown.fly(5.0).nav_state == RETURN


def test_sticks_that_were_lost_before_arming_are_not_missed(flown):
    stream(flown, Sticks(), 0.2)
    flown.fly(1.0)
    flown.take_off(5.0)
    assert not flown.fly(8.0).failsafe


def test_exceptions_of_the_loss(flown):
    flown.give_all(SetParam("COM_RCL_EXCEPT", 2))
    fly_mode(flown, POSITION, 5.0)
    flown.give_all(Hold())
    assert not flown.fly(8.0).failsafe


def test_a_loss_without_delay(flown):
    """COM_FAIL_ACT_T 0; NAV_RCL_ACT 3 lands."""
    flown.give_all(SetParam("COM_FAIL_ACT_T", 0.0), SetParam("NAV_RCL_ACT", 3))
    fly_mode(flown, POSITION, 5.0)
    assert flown.fly(0.7).nav_state == LAND


def fence_of(flown, radius_m):
    lat_deg, lon_deg, _ = flown.place(0.0, 0.0, 0.0)
    return SetFence((Item(0, 5003, (radius_m, 0.0, 0.0, 0.0), lat_deg, lon_deg),))


@pytest.mark.parametrize(("action", "mode"), [(3, RETURN), (5, LAND)])
def test_a_fence_holds_before_it_returns_or_lands(flown, action, mode):
    """The pilot leaves it; the vehicle stops there for 5 s."""
    flown.give_all(fence_of(flown, 15.0), SetParam("GF_ACTION", action))
    fly_mode(flown, POSITION)
    flown.until(lambda _: stream(flown, Sticks(pitch=0.5), 0.2).failsafe, 30.0)
    assert flown.status.nav_state == HOLD
    assert stream(flown, Sticks(), 4.5).nav_state == HOLD
    assert math.hypot(*flown.status.vel_ned) < 0.3
    assert flown.status.pos_ned[0] < 22.0
    assert stream(flown, Sticks(), 0.6).nav_state == mode


def test_a_critical_battery_holds_before_it_returns():
    """COM_LOW_BAT_ACT 3; the battery is low at arming, and critical at 10 % of its charge."""
    with Flown(overrides={**CALM, "power.batteries[0].soc0": 0.12}) as flown:
        flown.take_off(5.0)
        flown.give_all(GoTo(*flown.place(200.0, 0.0, 5.0)))
        status = flown.until(lambda status: status.failsafe_delay_s > 0.0, 60.0)
        assert (status.nav_state, status.batteries[0].warning) == (HOLD, 2)
        assert flown.fly(4.7).nav_state == HOLD
        assert flown.fly(0.5).nav_state == RETURN


def test_a_return_is_not_interrupted_by_a_failsafe_that_returns(flown):
    """As in PX4: only a warning."""
    flown.give_all(fence_of(flown, 15.0), SetParam("GF_ACTION", 3))
    fly_mode(flown, POSITION)
    flown.until(lambda _: stream(flown, Sticks(pitch=0.5), 0.2).pos_ned[0] > 12.0, 30.0)
    flown.give_all(SetMode(RETURN))
    for _ in range(20):
        assert stream(flown, Sticks(), 0.2).nav_state == RETURN


def test_a_pilots_flight_replays_to_the_same_digest(tmp_path):
    """Sticks and the loss of them are recorded; flown again, too."""
    with Flown(record=tmp_path, plots=False, seed=5) as flown:
        fly_mode(flown, POSITION)
        stream(flown, Sticks(0.4, 0.6, -0.5, 0.3), 2.0)
        flown.give_all(SetMode(ALTITUDE))
        stream(flown, Sticks(-0.4, 0.6, 0.5, -0.3), 1.0)
        flown.give_all(SetMode(STABILIZED))
        stream(flown, Sticks(-0.1, 0.1, 0.5, 0.0), 1.0)
        flown.fly(8.0)
    [folder] = flown.vehicle.folders
    digest = px4lockstep.read_run(folder).summary["digest"]
    assert px4lockstep.replay(folder).digest == digest
    assert px4lockstep.simulate(folder / "spec.toml", commands=folder / "commands.jsonl").digest == digest


@pytest.mark.parametrize("estimates", [True, False], ids=["hover thrust estimated", "not estimated"])
@pytest.mark.parametrize("mode", [POSITION, ALTITUDE, HOLD, RETURN, LAND])
def test_a_mode_that_follows_a_takeoff_by_hand(mode, estimates):
    """In Stabilized mode there is no takeoff ramp; the next mode must have its hover thrust nevertheless."""
    changes = CALM | {"autopilot.hover_thrust_estimate": estimates}
    with Flown(overrides=changes) as flown:
        stream(flown, Sticks(), 0.3)
        flown.give_all(SetMode(STABILIZED), Arm())
        for _ in range(240):
            status = flown.status
            rises = 0.1 + 0.12 * (20.0 + status.pos_ned[2]) + 0.4 * status.vel_ned[2]
            stream(flown, Sticks(throttle=max(-1.0, min(1.0, rises))), 0.05)
        before = -flown.status.pos_ned[2]
        assert before > 15.0
        flown.give_all(SetMode(mode))
        after = stream(flown, Sticks(), 2.0)
        assert abs(after.vel_ned[2]) < 2.5
        assert -after.pos_ned[2] > before - 4.0
