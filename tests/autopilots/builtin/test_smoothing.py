"""Trajectories stay within their limits, take their time, and end at their target."""

import math

import numpy as np
import pytest
from builtin_modules import PERIOD_US, builtin_record, estimates, run_axis, run_heading, run_task
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from px4lockstep.autopilots.builtin.position_control import TRAJECTORY
from px4lockstep.autopilots.builtin.position_smoothing import speed_to_brake
from px4lockstep.autopilots.builtin.takeoff import FLIGHT
from px4lockstep.autopilots.builtin.velocity_smoothing import AXIS
from px4lockstep.autopilots.requests import MISSION_MODE
from px4lockstep.jit import rows

DT_S = PERIOD_US * 1e-6
SAMPLES = 41
JERK, ACC, VEL = 4.0, 3.0, 12.0

within = st.floats(-1.0, 1.0)
stretches = st.floats(1.0, 4.0)


def axis_of(jerk=JERK, max_acc=ACC, max_vel=VEL, acc=0.0, vel=0.0):
    """Return an axis with the given limits and state."""
    array = np.zeros(1, AXIS)
    limits = {"max_jerk": jerk, "inverse_jerk": 1.0 / jerk, "max_acc": max_acc, "max_vel": max_vel}
    for name, value in {**limits, "acc": acc, "vel": vel}.items():
        array[name] = value
    return array


def planned(acc, vel, vel_sp, *, jerk=JERK, max_acc=ACC, total_s=0.0, samples=SAMPLES):
    """Plan once; return the axis at evenly spaced times from start to end of the plan, and its duration."""
    axis = axis_of(jerk, max_acc, acc=acc, vel=vel)
    log = np.zeros(0, AXIS)
    duration = run_axis(rows(axis.copy()), vel_sp, total_s, 0.0, rows(log))
    log = np.zeros(samples, AXIS)
    run_axis(rows(axis), vel_sp, total_s, duration / (samples - 1), rows(log))
    return log, duration


# -- one axis ------------------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(within, within, within, st.floats(1.0, 20.0), st.floats(0.5, 8.0))
def test_the_plan_ends_at_the_velocity_without_acceleration(acc, vel, vel_sp, jerk, max_acc):
    """From any state within the limits; to 1e-6, because accelerations below 1.2e-7 are ignored for a few seconds."""
    log, duration = planned(acc * max_acc, vel * VEL, vel_sp * VEL, jerk=jerk, max_acc=max_acc)
    assert log["vel"][-1] == pytest.approx(vel_sp * VEL, abs=1e-6)
    assert log["acc"][-1] == pytest.approx(0.0, abs=1e-6)
    assert duration >= abs(acc) * max_acc / jerk - 1e-6


@settings(max_examples=300, deadline=None)
@given(within, within, within, st.floats(1.0, 20.0), st.floats(0.5, 8.0))
def test_acceleration_and_jerk_stay_within_their_limits(acc, vel, vel_sp, jerk, max_acc):
    """At forty evenly spaced times; between two, the acceleration changes at most by the jerk."""
    log, duration = planned(acc * max_acc, vel * VEL, vel_sp * VEL, jerk=jerk, max_acc=max_acc)
    assert np.abs(log["acc"]).max() <= max_acc + 1e-9
    assert np.abs(np.diff(log["acc"])).max() <= jerk * duration / (SAMPLES - 1) + 1e-6


@settings(max_examples=200, deadline=None)
@given(within, within, within)
def test_position_and_velocity_are_the_integrals_of_acceleration(acc, vel, vel_sp):
    """By the trapezoidal rule over 2000 steps in at most 10 s: off by at most T h²/12 times the third derivative."""
    log, duration = planned(acc * ACC, vel * VEL, vel_sp * VEL, samples=2_001)
    h = duration / 2_000
    moved = np.sum(0.5 * (log["vel"][1:] + log["vel"][:-1])) * h
    gained = np.sum(0.5 * (log["acc"][1:] + log["acc"][:-1])) * h
    assert log["vel"][-1] - log["vel"][0] == pytest.approx(gained, abs=JERK * h * h * 4.0 + 1e-9)
    assert log["pos"][-1] - log["pos"][0] == pytest.approx(moved, abs=duration * h * h * ACC + 1e-9)


@settings(max_examples=100, deadline=None)
@given(st.floats(0.01, 1.0), st.sampled_from([1.0, -1.0]))
def test_from_rest_the_plan_is_time_optimal(change, side):
    """By hand: 2 √(Δv/j) if the acceleration stays below its limit, else Δv/a + a/j."""
    delta = change * VEL
    _, duration = planned(0.0, 0.0, side * delta)
    peak = math.sqrt(delta * JERK)
    assert duration == pytest.approx(2.0 * peak / JERK if peak < ACC else delta / ACC + ACC / JERK, rel=1e-9)


@settings(max_examples=300, deadline=None)
@given(within, within, within, stretches)
def test_a_stretched_plan_reaches_the_same_velocity_in_the_given_time(acc, vel, vel_sp, stretch):
    """Without acceleration at the end, and within the limits; to 1e-5, rounding times a stretch of many seconds.

    The first jerk keeps its sign. A vehicle that already accelerates that way would first have to ease off in order to
    take longer, for which PX4 has no plan either (it replans at the next tick); those states are excluded.
    """
    shortest, duration = planned(acc * ACC, vel * VEL, vel_sp * VEL)
    assume(duration > 0.01)
    assume(acc * shortest["direction"][0] <= 0.0)
    log, total = planned(acc * ACC, vel * VEL, vel_sp * VEL, total_s=stretch * duration)
    assert total == pytest.approx(stretch * duration, rel=1e-9)
    assert log["vel"][-1] == pytest.approx(vel_sp * VEL, abs=1e-5)
    assert log["acc"][-1] == pytest.approx(0.0, abs=1e-5)
    assert np.abs(log["acc"]).max() <= ACC + 1e-9


def test_the_desired_velocity_is_limited():
    """To the axis's maximum."""
    log, _ = planned(0.0, 0.0, 100.0)
    assert log["vel"][-1] == pytest.approx(VEL, abs=1e-9)


def test_the_velocity_is_held_after_the_plan():
    """Half a second after the end."""
    log = np.zeros(11, AXIS)
    duration = run_axis(rows(axis_of()), 2.0, 0.0, 0.5, rows(log))
    after = log["elapsed_s"] > duration
    assert after.sum() >= 5
    assert log["vel"][after] == pytest.approx(2.0, abs=1e-12)
    assert np.diff(log["pos"][after]) == pytest.approx(1.0, abs=1e-12)


# -- heading -------------------------------------------------------------------------------------------------------


def headings(start, goal, *, rate=1.0, acc=0.5, seconds=20.0):
    """Return the headings and their rates on the way to a goal."""
    axis = axis_of(jerk=acc, max_acc=rate, max_vel=2.0 * math.pi, vel=start)
    log = np.zeros(round(seconds / DT_S), AXIS)
    run_heading(rows(axis), goal, DT_S, rows(log))
    return log["vel"], log["acc"]


def turn(start, goal):
    """Return the shorter way around."""
    return math.remainder(goal - start, 2.0 * math.pi)


@settings(max_examples=40, deadline=None)
@given(st.floats(-3.1, 3.1), st.floats(-3.1, 3.1), st.floats(0.3, 2.0), st.floats(0.3, 2.0))
def test_a_heading_goes_the_shorter_way_within_its_limits(start, goal, rate, acc):
    """It ends there, never turns back, stays in [−π, π), and bounds its rate and that rate's change per tick.

    To 1e-6 rad, the residual of replanning at each tick; half a turn may go either way and is excluded.
    """
    assume(abs(turn(start, goal)) < 3.1)
    yaw, yaw_rate = headings(start, goal, rate=rate, acc=acc)
    assert turn(yaw[-1], goal) == pytest.approx(0.0, abs=1e-6)
    way = np.diff(np.unwrap(np.concatenate(([start], yaw))))
    side = 1.0 if turn(start, goal) > 0.0 else -1.0
    assert (side * way).min() >= -1e-9
    assert way.sum() == pytest.approx(turn(start, goal), abs=1e-6)
    assert (np.abs(yaw) <= math.pi + 1e-12).all()
    assert np.abs(yaw_rate).max() <= rate + 1e-9
    assert np.abs(np.diff(yaw_rate)).max() <= acc * DT_S + 1e-9


def test_a_turn_across_south_is_short():
    """From 170° to −170°: twenty degrees clockwise, not 340 in the other direction."""
    yaw, yaw_rate = headings(math.radians(170.0), math.radians(-170.0))
    assert yaw_rate.min() >= -1e-9
    assert math.degrees(yaw[-1]) == pytest.approx(-170.0, abs=1e-4)


# -- braking -------------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.floats(1.0, 20.0), st.floats(1.0, 8.0), st.floats(0.0, 100.0), st.floats(0.0, 10.0), st.floats(0.0, 10.0))
def test_the_braking_speed_is_at_least_the_final_and_grows_with_distance(jerk, acc, distance, more, final):
    """It solves v² + 4 a²/j v = v_f² + 2 a d where it is above the final speed."""
    axis = rows(axis_of(jerk, acc))[0]
    speed = speed_to_brake(axis, distance, final)
    assert speed >= final
    assert speed_to_brake(axis, distance + more, final) >= speed
    if speed > final:
        left = speed * speed + 4.0 * acc * acc / jerk * speed
        assert left == pytest.approx(final * final + 2.0 * acc * distance, rel=1e-9)


# -- to a waypoint -------------------------------------------------------------------------------------------------


def flown(target, *, start=(0.0, 0.0, -10.0), after=None, seconds=60.0, **params):
    """Return the setpoints on the way to a target, for a vehicle that follows immediately."""
    autopilot = builtin_record(**params)
    autopilot["commander"]["mode"] = MISSION_MODE
    autopilot["takeoff"]["state"] = FLIGHT
    leg = autopilot["navigator"]["leg"]
    leg["is_valid"], leg["has_start"], leg["radius_m"], leg["yaw"] = 1, 1, 2.0, 0.0
    leg["start"], leg["target"] = start, target
    if after is not None:
        leg["has_next"], leg["next"] = 1, after
    log = np.zeros(round(seconds / DT_S), TRAJECTORY)
    run_task(rows(autopilot), rows(estimates(1, pos_ned=start)), rows(log))
    return log


@pytest.mark.parametrize(
    "target",
    [(40.0, 0.0, -10.0), (-30.0, 25.0, -10.0), (0.0, 0.0, -30.0), (0.0, 0.0, -3.0), (20.0, -35.0, -25.0), (3.0, 1, -9)],
)
def test_a_trajectory_ends_at_its_waypoint_and_does_not_overshoot(target):
    """To 1 cm at the end, never 10 cm beyond or 20 cm to the side: the desired velocity turns during acceleration."""
    log = flown(target)
    start = np.array((0.0, 0.0, -10.0))
    way = np.array(target) - start
    length = np.linalg.norm(way)
    along = (log["pos_ned"] - start) @ way / length
    assert log["pos_ned"][-1] == pytest.approx(target, abs=0.01)
    assert along.max() <= length + 0.1
    assert np.linalg.norm(log["vel_ned"][-1]) < 0.01
    assert np.linalg.norm(log["pos_ned"] - start - np.outer(along, way / length), axis=1).max() < 0.2


@pytest.mark.parametrize("target", [(60.0, 0.0, -10.0), (-30.0, 25.0, -30.0), (20.0, -35.0, -5.0)])
def test_a_trajectory_stays_within_its_limits(target):
    """Cruise speed along the ground, each axis's acceleration, and the jerk between two ticks.

    Speeds to 0.5 %: the wanted velocity turns while the axes still accelerate towards what it was, in the same time.
    """
    params = {"MPC_XY_CRUISE": 6.0, "MPC_ACC_HOR": 3.0, "MPC_JERK_AUTO": 4.0, "MPC_Z_V_AUTO_UP": 3.0}
    log = flown(target, **params, MPC_Z_V_AUTO_DN=1.5, MPC_ACC_UP_MAX=4.0, MPC_ACC_DOWN_MAX=3.0)
    vel, acc = log["vel_ned"], log["acc_ned"]
    assert np.hypot(vel[:, 0], vel[:, 1]).max() <= 6.0 * 1.005
    assert vel[:, 2].min() >= -3.0 * 1.005
    assert vel[:, 2].max() <= 1.5 * 1.005
    assert np.abs(acc[:, :2]).max() <= 3.0 + 1e-6
    assert np.abs(acc[:, 2]).max() <= 4.0 + 1e-6
    assert np.abs(np.diff(acc, axis=0)).max() <= 4.0 * DT_S + 1e-6
    assert np.diff(log["pos_ned"], axis=0) == pytest.approx(vel[1:] * DT_S, abs=4.0 * DT_S * DT_S)


def test_a_straight_continuation_is_not_braked_for():
    """A target with a next leg straight ahead is passed at cruise speed; if it leads back, the vehicle stops."""
    on = flown((60.0, 0.0, -10.0), after=(120.0, 0.0, -10.0), seconds=30.0)
    back = flown((60.0, 0.0, -10.0), after=(0.0, 0.0, -10.0), seconds=30.0)

    def speed_near_target(log):
        near = np.abs(log["pos_ned"][:, 0] - 59.0).argmin()
        return log["vel_ned"][near, 0]

    assert speed_near_target(on) == pytest.approx(5.0, abs=0.1)
    assert speed_near_target(back) < 2.0
