"""Flights with failed motors: who can land does, who can't crashes, and running motors are not taken for dead."""

import itertools

import numpy as np
import pytest
from fleet import hexa, octa

from flights import TAKE_OFF, autopilot_of, disturbed, flight, landed_at
from px4lockstep import simulate
from px4lockstep.autopilots.builtin.commander import MOTOR_FAILSAFE


def touchdown(sim, after_s):
    """Return speed of descent [m/s], tilt [deg] and largest tilt before, at the first ground contact after a time."""
    rows = np.flatnonzero((sim.log["time_us"] > after_s * 1e6) & (sim.log_state[:, 2] > -0.002))
    start, end = np.searchsorted(sim.log["time_us"], after_s * 1e6), rows[0] - 1
    x, y = sim.log_state[start : end + 1, 7:9].T
    tilt = np.degrees(np.arccos(1.0 - 2.0 * (x * x + y * y)))
    return sim.log_state[end, 5], tilt[-1], tilt.max()


def fails(motors, at_s, gap_s=0.0):
    """Return a scenario in which motors (from 1) fail, one after another or at once."""
    scenario = TAKE_OFF
    for k, motor in enumerate(motors):
        scenario = scenario.at(at_s + k * gap_s).disable_motor(motor)
    return scenario


def assert_lands_upright(sim, after_s):
    """Check that it lands below 1.5 m/s and 10° of tilt, and is always below 35°, the limit of position control."""
    assert MOTOR_FAILSAFE in autopilot_of(sim)["failsafe"]
    landed_at(sim)
    speed, tilt, most = touchdown(sim, after_s)
    assert speed < 1.5
    assert tilt < 10.0
    assert most < 35.0


@pytest.mark.parametrize("motor", range(1, 9))
def test_the_octa_lands_with_any_motor_lost(motor):
    """Under control: upright, and without a crash."""
    assert_lands_upright(flight(aircraft=octa(), scenario=fails([motor], 30.0), end_s=70).run(), 30.0)


def assert_the_hex_lands(motor, seed):
    """Check a landing without a motor, which fails at a time that depends on the seed, in wind and noise."""
    at_s = 8.0 + 11.7 * seed
    sim = disturbed(aircraft=hexa(), scenario=fails([motor], at_s), seed=seed, end_s=90).run()
    assert_lands_upright(sim, at_s)
    after = sim.log["time_us"] > at_s * 1e6
    assert np.degrees(np.abs(sim.log_state[after, 12])).max() < 60.0


@pytest.mark.parametrize("motor", range(1, 7))
def test_the_hex_lands_with_any_motor_lost(motor):
    """A seed per motor: upright, and it yaws by less than 60°/s although its heading is not controlled."""
    assert_the_hex_lands(motor, seed=motor % 5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("motor", range(1, 7))
def test_the_hex_lands_with_any_motor_lost_at_any_time(motor, seed):
    """At 8, 19.7, 31.4, 43.1 and 54.8 s: climb, turns, cruise, descent."""
    assert_the_hex_lands(motor, seed)


def assert_flown_as_physics_allows(first, second, seed=1, gap_s=0.0):
    """Check the flight of an octa without two motors, by their distance: 1 for neighbours, 4 for opposite ones.

    Without roll or pitch torque, six motors lift 0.50, 0.55, 0.65 and 0.75 of the full thrust of eight, in this order.
    On the voltage that is left, weight needs about 0.66.
    """
    distance = min(second - first, 8 + first - second)
    at_s = 20.0
    sim = disturbed(aircraft=octa(), scenario=fails([first, second], at_s, gap_s), seed=seed, end_s=70).run()
    speed, tilt, most = touchdown(sim, at_s)
    assert MOTOR_FAILSAFE in autopilot_of(sim)["failsafe"]
    assert most < 35.0
    assert tilt < 10.0
    if distance == 4:  # it spins, because both turned in the same direction
        assert_lands_upright(sim, at_s)
    elif distance == 3:
        assert 1.5 < speed < 3.5
    else:
        assert sim.is_crashed
        assert speed > 4.0


@pytest.mark.parametrize("second", [2, 3, 4, 5])
def test_the_octa_without_two_motors_flies_as_physics_allows(second):
    """Motor 1 and another one, at once."""
    assert_flown_as_physics_allows(1, second)


@pytest.mark.slow
@pytest.mark.parametrize("gap_s", [0.0, 2.0])
@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(range(1, 9), 2)))
def test_the_octa_without_any_two_motors_flies_as_physics_allows(first, second, gap_s):
    """All 28 pairs, at once and one after another."""
    assert_flown_as_physics_allows(first, second, seed=2, gap_s=gap_s)


@pytest.mark.parametrize("motor", range(1, 5))
def test_the_iris_crashes_with_a_motor_lost(motor):
    """The run ends with a recorded crash: the last row is at the ground, the log is finite, and it replays."""
    scenario = TAKE_OFF.at(30.0).disable_motor(motor)
    sim = flight(scenario=scenario, record=True).run()
    assert sim.is_crashed
    assert sim.is_done
    assert sim.time_us < 40_000_000
    assert int(sim.log["time_us"][-1]) == sim.time_us
    assert sim.log["bus"]["scenario"]["crashed"].tolist() == [0] * (len(sim.log) - 1) + [1]
    assert np.isfinite(sim.log_state).all()
    again = flight(scenario=scenario, replay=sim.streams).run()
    assert again.is_crashed
    assert again.digest() == sim.digest()


def test_a_run_can_continue_after_a_crash():
    """On the ground, until its end."""
    scenario = TAKE_OFF.__class__(events=TAKE_OFF.at(30.0).disable_motor(1).events, ends_at_crash=False)
    sim = flight(scenario=scenario, end_s=40).run()
    assert not sim.is_crashed
    assert sim.log["bus"]["scenario"]["crashed"][-1] == 2
    assert sim.time_us == 40_000_000
    assert np.isfinite(sim.log_state).all()


# -- aircraft on legs ----------------------------------------------------------------------------------------------


def lost(name, motors, seed, gap_s=0.0):
    """Return the run of a built-in aircraft whose motors fail, at a time that depends on the seed."""
    at_s = 10.0 + 12.3 * seed
    events = [{"at_s": at_s + k * gap_s, "action": "disable_motor", "motor": motor} for k, motor in enumerate(motors)]
    return simulate(name, overrides={"aircraft.seed": seed + 1, "scenario.events": events}), at_s


def assert_stands_after(name, motors, seed, gap_s=0.0):
    """Check a landing below 1.5 m/s and 10° of tilt, after which it stands upright, to 1°."""
    run, at_s = lost(name, motors, seed, gap_s)
    time_s, height = run.log["time_us"] / 1e6, -run.log["pos_ned"][:, 2]
    x, y = run.log["q_bn"][:, 1], run.log["q_bn"][:, 2]
    tilt = np.degrees(np.arccos(1.0 - 2.0 * (x * x + y * y)))
    end = np.flatnonzero((time_s > at_s) & (height < height[0] + 0.003))[0] - 1
    assert "it landed" in run.summary.reason
    assert run.log["vel_ned"][end, 2] < 1.5
    assert tilt[end] < 10.0
    assert tilt[-1] < 1.0
    assert tilt[time_s > at_s].max() < 35.0


@pytest.mark.parametrize("motor", range(1, 7))
def test_the_x500_hex_stands_after_the_loss_of_a_motor(motor):
    """In turbulent wind and noise, a seed per motor."""
    assert_stands_after("x500_hex", [motor], seed=motor % 5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("motor", range(1, 7))
def test_the_x500_hex_stands_after_any_loss_of_a_motor(motor, seed):
    """At 10, 22.3, 34.6, 46.9 and 59.2 s."""
    assert_stands_after("x500_hex", [motor], seed)


@pytest.mark.parametrize("motors", [(3,), (1, 2), (1, 5)])
def test_the_x500_octa_stands_after_the_loss_of_motors(motors):
    """One, two neighbours, or two opposite ones: its thrust is 2.1 times its weight at 14.8 V."""
    assert_stands_after("x500_octa", motors, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("motors", [*itertools.combinations(range(1, 9), 1), *itertools.combinations(range(1, 9), 2)])
def test_the_x500_octa_stands_after_any_loss_of_one_or_two_motors(motors):
    """At once, and one after another."""
    assert_stands_after("x500_octa", motors, seed=1)
    assert_stands_after("x500_octa", motors, seed=2, gap_s=1.5)


@pytest.mark.parametrize("motor", range(1, 5))
def test_the_x500_crashes_without_a_motor(motor):
    """And the run says so."""
    run, at_s = lost("x500", [motor], seed=1)
    assert run.summary.outcome == "crashed"
    assert f"motor {motor} off {at_s:.2f} s" in run.summary.reason


def test_a_large_propeller_that_slows_down_is_not_dead():
    """Its motor draws no current for longer than 0.1 s, in a fast mission in wind."""
    quick = {
        "MPC_XY_CRUISE": 12.0,
        "MPC_XY_VEL_MAX": 15.0,
        "MPC_ACC_HOR": 10.0,
        "MPC_JERK_AUTO": 30.0,
        "MPC_Z_V_AUTO_DN": 4.0,
        "MPC_Z_VEL_MAX_DN": 4.0,
        "MPC_ACC_DOWN_MAX": 8.0,
        "MPC_TILTMAX_AIR": 70.0,
    }
    wind = {"environment.wind_mean_ned": [8.0, 4.0, 0.0]}
    run = simulate("lifter", overrides=wind | {f"autopilot.params.{name}": value for name, value in quick.items()})
    assert run.is_flown
    current, duty = run.log["motor_current_a"], run.log["rotor_duty"]
    is_idle = (current < 0.1) & (duty >= 0.2)
    assert max(len(list(group)) for value, group in itertools.groupby(is_idle.any(axis=1)) if value) > 5  # of 20 ms


@pytest.mark.parametrize("name", ["x500", "x500_hex", "x500_octa", "racer", "lifter"])
def test_nothing_moves_while_motors_idle_before_take_off(name):
    """Armed for 5 s in wind and noise: by less than 1 mm and 0.1°, because torques never start idle motors."""
    still = {"scenario.mission_time_s": 1.0, "autopilot.params.COM_SPOOLUP_TIME": 5.0, "timeline.t_end_s": 5.9}
    run = simulate(name, overrides=still)
    assert run.log["armed"][-1] == 1
    assert np.abs(run.log["torque_sp_body"]).max() > 0.001
    assert np.abs(run.log["pos_ned"] - run.log["pos_ned"][0]).max() < 1e-3
    assert np.degrees(np.abs(run.log["euler_bn"])).max() < 0.1
