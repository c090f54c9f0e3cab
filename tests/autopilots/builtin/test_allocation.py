"""Control allocation: feasible setpoints are achieved, and infeasible ones reduced in the right order."""

import functools

import numpy as np
import pytest
from builtin_modules import builtin_record, outs, part, run_allocation, tilted_hex
from fleet import Rotor, iris, octa
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from px4lockstep.autopilots.builtin.allocation import ALLOCATION, flattest_thrust, pseudo_inverse
from px4lockstep.autopilots.builtin.rate_control import RATE_CONTROL
from px4lockstep.jit import rows

AIRCRAFT = {"iris": iris, "octa": octa, "tilted hex": tilted_hex}
ROLL, PITCH, YAW, DOWN = 0, 1, 2, 5
ROUNDING = 1e-12
"""A few products and sums of numbers of about 1 are exact to 1e-15; a wrong sign or scale is off by 0.01 at least."""

torques = st.tuples(*[st.floats(-1.0, 1.0)] * 3)
thrusts = st.floats(0.0, 1.0)


@functools.cache
def autopilot(name):
    """Return the record for an aircraft."""
    return builtin_record(AIRCRAFT[name]())


def allocate(name, torque, thrust_body):
    """Return motors (n × rotors), what they achieve in scaled units (n × 6) and saturations for setpoints (n × 3)."""
    allocation = part(autopilot(name), "allocation")
    torque, thrust_body = np.atleast_2d(torque), np.atleast_2d(thrust_body)
    rates, kept = np.zeros(len(torque), RATE_CONTROL), np.zeros(len(torque), ALLOCATION)
    commands = outs(len(torque), torque_sp_body=torque, thrust_sp_body=thrust_body)
    run_allocation(rows(allocation), rows(rates), rows(commands), rows(kept))
    n_rotors = allocation["n_rotors"][0]
    return kept["sp"][:, :n_rotors], kept["sp"] @ allocation["effectiveness"][0].T, rates["saturation"]


def upwards(thrust):
    """Return body thrust setpoints that point upwards."""
    return np.array((0.0, 0.0, -1.0)) * np.reshape(thrust, (-1, 1))


# -- matrices ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [1, 3, 6])
@pytest.mark.parametrize("columns", [2, 4, 6, 8, 12])
def test_the_pseudo_inverse_equals_numpys(columns, rank):
    """Random matrices with six rows and any rank: to 1e-8 of the largest entry, 1e-16 times two squared conditions."""
    rng = np.random.default_rng(100 * columns + rank)
    for _ in range(5):
        a = rng.normal(size=(6, rank)) @ rng.normal(size=(rank, columns))
        expected = np.linalg.pinv(a, rcond=1e-9)
        assert pseudo_inverse(a.tolist()) == pytest.approx(expected, abs=1e-8 * np.abs(expected).max())


def test_the_pseudo_inverse_is_zero_for_uncontrollable_axes():
    """Zero rows, such as a quadrotor's lateral thrust, become zero columns."""
    b = np.random.default_rng(5).normal(size=(6, 4))
    b[3:5] = 0.0
    assert pseudo_inverse(b.tolist()) == pytest.approx(np.linalg.pinv(b), abs=1e-12)
    assert not np.array(pseudo_inverse(b.tolist()))[:, 3:5].any()


# -- what is asked for is given ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", AIRCRAFT)
def test_unsaturated_motors_achieve_torque_and_thrust_setpoints(name):
    """B u = c in scaled units, for a thousand setpoints within the motors' limits."""
    rng = np.random.default_rng(1)
    torque = rng.uniform(-0.1, 0.1, (1_000, 3))
    thrust = upwards(rng.uniform(0.3, 0.7, 1_000))
    if name == "tilted hex":
        thrust[:, :2] = rng.uniform(-0.05, 0.05, (1_000, 2))
    motors, given, saturation = allocate(name, torque, thrust)
    assert motors.min() > 0.0
    assert motors.max() < 1.0
    assert given == pytest.approx(np.hstack((torque, thrust)), abs=ROUNDING)
    assert not saturation.any()


@pytest.mark.parametrize("name", AIRCRAFT)
def test_pure_thrust_drives_all_motors_equally(name):
    """Scaled so that the command equals the thrust setpoint."""
    motors, _, _ = allocate(name, np.zeros((3, 3)), upwards([0.0, 0.4, 1.0]))
    assert motors == pytest.approx(np.outer([0.0, 0.4, 1.0], np.ones(motors.shape[1])), abs=ROUNDING)


@pytest.mark.parametrize("name", AIRCRAFT)
def test_torques_turn_the_aircraft_the_right_way(name):
    """Roll to the right needs more thrust on the left, pitch up more in front, by the rotors' true positions."""
    places = np.array([rotor.pos_body_m for rotor in AIRCRAFT[name]().rotors])
    motors, _, _ = allocate(name, 0.1 * np.eye(3), upwards([0.5] * 3))
    change = motors - 0.5
    assert np.sum(-places[:, 1] * change[ROLL]) > 0.01
    assert np.sum(places[:, 0] * change[PITCH]) > 0.01
    directions = np.array([rotor.direction for rotor in AIRCRAFT[name]().rotors])
    assert np.abs(np.sum(places[:, :2].T * change[YAW], axis=1)).max() < 0.02
    if name != "tilted hex":  # whose tilted rotors turn it more than their reaction torque
        assert (np.sign(change[YAW]) == directions).all()


# -- what can't be given -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", AIRCRAFT)
@settings(max_examples=100, deadline=None)
@given(torque=torques, thrust=st.tuples(*[st.floats(-1.0, 1.0)] * 3))
def test_motors_stay_within_0_and_1(name, torque, thrust):
    """For any setpoint, including lateral and downward thrust."""
    motors, _, _ = allocate(name, torque, thrust)
    assert motors.min() >= 0.0
    assert motors.max() <= 1.0


@pytest.mark.parametrize("name", AIRCRAFT)
@settings(max_examples=100, deadline=None)
@given(torque=torques, thrust=thrusts)
def test_thrust_is_never_increased_for_torque(name, torque, thrust):
    """Airmode is off: a vehicle with idle motors must not climb when it is disturbed."""
    _, given, _ = allocate(name, torque, upwards(thrust))
    assert -given[0, DOWN] <= thrust + ROUNDING


@pytest.mark.parametrize("name", AIRCRAFT)
def test_torque_without_thrust_is_not_achieved(name):
    """All motors stay off."""
    motors, _, saturation = allocate(name, [[0.3, 0.0, 0.0], [0.0, -0.3, 0.0], [0.0, 0.0, 0.3]], upwards([0.0] * 3))
    assert motors == pytest.approx(0.0, abs=ROUNDING)
    assert saturation.tolist() == [[1, 0, 0], [0, -1, 0], [0, 0, 1]]


@pytest.mark.parametrize("name", AIRCRAFT)
def test_thrust_is_reduced_for_roll(name):
    """At full thrust: roll is achieved, and thrust reduced until the most loaded motor is at its limit."""
    motors, given, _ = allocate(name, (0.2, 0.0, 0.0), upwards(1.0))
    assert given[0, ROLL] == pytest.approx(0.2, abs=ROUNDING)
    most = np.abs(autopilot(name)["allocation"]["mix"][0, :, ROLL]).max()
    assert -given[0, DOWN] == pytest.approx(1.0 - 0.2 * most, abs=ROUNDING)
    assert motors.max() == pytest.approx(1.0, abs=ROUNDING)


@pytest.mark.parametrize("name", AIRCRAFT)
def test_yaw_is_reduced_before_roll_and_pitch(name):
    """At a thrust of 0.3 motors would go below 0: roll and pitch are exact, yaw is reduced and marked as saturated."""
    rng = np.random.default_rng(2)
    torque = rng.uniform(-0.12, 0.12, (500, 3))
    torque[:, YAW] = rng.choice([-1.0, 1.0], 500) * rng.uniform(0.6, 1.0, 500)
    _, given, saturation = allocate(name, torque, upwards([0.3] * 500))
    assert given[:, :2] == pytest.approx(torque[:, :2], abs=ROUNDING)
    assert (np.abs(given[:, YAW]) < np.abs(torque[:, YAW]) - 0.1).all()
    assert (saturation[:, YAW] == np.sign(torque[:, YAW])).all()
    assert not saturation[np.abs(given[:, ROLL] - torque[:, ROLL]) < 1e-9, ROLL].any()


@pytest.mark.parametrize("name", AIRCRAFT)
def test_some_yaw_is_preserved_at_full_thrust(name):
    """Motors may first exceed their limit by 15 %, and thrust is then reduced by it: yaw 0.15, thrust 0.85."""
    _, given, _ = allocate(name, (0.0, 0.0, 1.0), upwards(1.0))
    assert given[0, YAW] == pytest.approx(0.15, abs=0.02)
    assert -given[0, DOWN] == pytest.approx(0.85, abs=0.02)


@pytest.mark.parametrize("name", AIRCRAFT)
@settings(max_examples=100, deadline=None)
@given(torque=torques, thrust=thrusts)
def test_saturation_has_the_sign_of_the_missing_torque(name, torque, thrust):
    """Per axis: if larger than the resolution of single precision, else 0."""
    _, given, saturation = allocate(name, torque, upwards(thrust))
    missing = np.array(torque) - given[0, :3]
    for axis in range(3):
        if abs(abs(missing[axis]) - 1.2e-7) > 1e-9:
            assert saturation[0, axis] == (0 if abs(missing[axis]) < 1.2e-7 else np.sign(missing[axis]))


# -- without a motor -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("motor", range(8))
def test_seven_motors_of_an_octa_lift_without_torque(motor):
    """The dead motor is not used, and thrust is achieved to 1e-9, the accuracy of thirty consecutive solutions."""
    record = autopilot("octa")
    failure = record["motor_failure"][0]
    mix, effect = failure["mix_without"][motor], record["allocation"]["effectiveness"][0]
    assert failure["can_remove"][motor] == 1
    assert not mix[motor].any()
    assert effect @ mix[:, DOWN] == pytest.approx([0.0] * 5 + [1.0], abs=1e-9)
    for axis in (ROLL, PITCH, YAW):
        assert (effect @ mix[:, axis])[:3] == pytest.approx(np.eye(3)[axis], abs=1e-9)


@pytest.mark.parametrize("name", ["iris", "tilted hex"])
def test_no_motor_can_be_removed_if_all_are_needed(name):
    """Three of four can't control all torques and thrust, nor five of six that push in six directions."""
    assert not autopilot(name)["motor_failure"]["can_remove"].any()


def test_unused_rotors_have_no_effect():
    """The rows and columns of unused rotors in the record stay zero."""
    allocation = autopilot("iris")["allocation"][0]
    assert allocation["n_rotors"] == 4
    assert not allocation["mix"][4:].any()
    assert not allocation["effectiveness"][:, 4:].any()


def flattest_by_linear_programming(b, thrust):
    """Return the minimal largest command, by SciPy: minimize m with B u = c, −m ≤ u ≤ m."""
    n = b.shape[1]
    bounds = np.vstack((np.hstack((np.eye(n), -np.ones((n, 1)))), np.hstack((-np.eye(n), -np.ones((n, 1))))))
    cost = np.append(np.zeros(n), 1.0)
    equal = np.hstack((b, np.zeros((len(b), 1))))
    return linprog(cost, bounds, np.zeros(2 * n), equal, thrust, bounds=(None, None)).fun


@pytest.mark.parametrize("count", [6, 7, 8, 10])
def test_the_flattest_thrust_matches_linear_programming(count):
    """Rotors in random positions, one dead: no torque, and a largest command within 1 % of the minimum."""
    rng = np.random.default_rng(count)
    angle = np.arange(count) * 2.0 * np.pi / count + rng.uniform(-0.1, 0.1, count)
    arm = rng.uniform(0.2, 0.3, count)
    spin = np.where(np.arange(count) % 2 == 0, 0.05, -0.05)
    b = np.zeros((6, count))
    b[:3] = -arm * np.sin(angle), arm * np.cos(angle), spin
    b[5] = -1.0
    b[:, 0] = 0.0
    motors = np.array(flattest_thrust(b.tolist(), [0.0] * 5 + [-1.0]))
    assert b @ motors == pytest.approx([0.0] * 5 + [-1.0], abs=1e-9)
    least = flattest_by_linear_programming(b, [0.0] * 5 + [-1.0])
    assert least <= np.abs(motors).max() + 1e-9
    assert np.abs(motors).max() <= 1.01 * least
    even = np.abs(np.linalg.pinv(b)[:, 5]).max()
    assert even > 1.015 * least  # the optimization has an effect


def test_channel_numbers_do_not_change_the_mix():
    """Channels define where a command goes, not its value."""
    rotors = iris().rotors
    moved = tuple(Rotor(rotor.pos_body_m, rotor.direction, channel=4 - i) for i, rotor in enumerate(rotors))
    assert builtin_record(iris(rotors=moved))["allocation"] == autopilot("iris")["allocation"]
    assert builtin_record(iris(rotors=moved))["channel"][0, :4].tolist() == [3, 2, 1, 0]
