"""Control allocation: feasible setpoints are achieved, and infeasible ones reduced in the right order."""

import functools

import numpy as np
import pytest
from builtin_modules import builtin_record, outs, part, run_allocation, tilted_hex
from fleet import Rotor, hexa, iris, octa
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from px4lockstep.autopilots.builtin.allocation import ALLOCATION, EVENNESS, LIFT_RATIO, PRIORITY, pseudo_inverse
from px4lockstep.autopilots.builtin.rate_control import RATE_CONTROL
from px4lockstep.jit import rows

AIRCRAFT = {"iris": iris, "octa": octa, "tilted hex": tilted_hex}
FLEET = AIRCRAFT | {"hex": hexa}
ROLL, PITCH, YAW, DOWN = 0, 1, 2, 5
ROUNDING = 1e-12
"""A few products and sums of numbers of about 1 are exact to 1e-15; a wrong sign or scale is off by 0.01 at least."""

torques = st.tuples(*[st.floats(-1.0, 1.0)] * 3)
thrusts = st.floats(0.0, 1.0)


@functools.cache
def autopilot(name):
    """Return the record for an aircraft."""
    return builtin_record(FLEET[name]())


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


# -- without failed motors -----------------------------------------------------------------------------------------


def without(name, motors, torque, thrust, ticks=200):
    """Return motor commands and what they achieve in scaled units, after ticks with the same setpoint."""
    allocation = part(autopilot(name), "allocation")
    allocation["removed_mask"] = sum(1 << motor for motor in motors)
    commands = outs(ticks, torque_sp_body=torque, thrust_sp_body=upwards(thrust))
    kept = np.zeros(ticks, ALLOCATION)
    run_allocation(rows(allocation), rows(np.zeros(ticks, RATE_CONTROL)), rows(commands), rows(kept))
    n_rotors = allocation["n_rotors"][0]
    return kept["sp"][:, :n_rotors], kept["sp"] @ allocation["effectiveness"][0].T


@pytest.mark.parametrize(("name", "motors"), [("hex", (0,)), ("octa", (2,)), ("octa", (1, 5)), ("octa", (0, 3))])
def test_the_other_motors_achieve_roll_pitch_and_thrust(name, motors):
    """To 0.01, the saturation limit of the rate controller; failed motors stay off."""
    rng = np.random.default_rng(3)
    for torque in rng.uniform(-0.1, 0.1, (10, 3)):
        torque[YAW] = 0.0
        used, given = without(name, motors, torque, 0.45)
        assert not used[-1, list(motors)].any()
        assert given[-1, :2] == pytest.approx(torque[:2], abs=0.01)
        assert -given[-1, DOWN] == pytest.approx(0.45, abs=0.01)


@pytest.mark.parametrize(("name", "motors"), [("hex", (0,)), ("octa", (2,)), ("octa", (0, 4)), ("octa", (0, 1))])
@settings(max_examples=20, deadline=None)
@given(torque=torques, thrust=thrusts)
def test_the_commands_solve_the_weighted_least_squares(name, motors, torque, thrust):
    """Compared with SciPy: the cost is at most 1 % higher, for any setpoint."""
    used, _ = without(name, motors, torque, thrust)
    effect = autopilot(name)["allocation"]["effectiveness"][0, :, : used.shape[1]]
    left = [i for i in range(used.shape[1]) if i not in motors]
    roots = np.sqrt(PRIORITY)
    matrix = np.vstack((roots[:, None] * effect[:, left], np.sqrt(EVENNESS) * np.eye(len(left))))
    target = np.concatenate((roots * (*torque, 0.0, 0.0, -thrust), np.zeros(len(left))))
    upper = max(min(LIFT_RATIO * thrust, 1.0), 1e-9)
    best = lsq_linear(matrix, target, (0.0, upper), tol=1e-12)
    cost = 0.5 * np.sum((matrix @ used[-1, left] - target) ** 2)
    assert cost <= 1.01 * best.cost + 1e-6


def test_commands_converge_within_one_tick():
    """Roll and pitch are within 0.01 of their setpoints in the first tick after the failure, and thrust within 0.1."""
    _, given = without("hex", (0,), (0.05, -0.05, 0.0), 0.45, ticks=1)
    assert given[0, :2] == pytest.approx((0.05, -0.05), abs=0.01)
    assert -given[0, DOWN] == pytest.approx(0.45, abs=0.1)


def test_roll_has_priority_over_thrust_and_thrust_over_yaw():
    """A hexarotor without motor 1: yaw in its direction is not achieved, and thrust is reduced for roll."""
    _, given = without("hex", (0,), (0.0, 0.0, 0.3), 0.5)
    assert given[-1, [ROLL, PITCH, DOWN]] == pytest.approx((0.0, 0.0, -0.5), abs=0.02)
    assert given[-1, YAW] < 0.05
    _, given = without("hex", (0,), (0.5, 0.0, 0.0), 0.8)
    assert given[-1, ROLL] == pytest.approx(0.5, abs=0.02)
    assert -given[-1, DOWN] < 0.65  # 0.667 without roll


def test_torques_never_start_idle_motors():
    """Also after a failure: without thrust all motors stay off."""
    used, _ = without("hex", (0,), (0.3, -0.3, 0.3), 0.0)
    assert not used.any()


def test_unused_rotors_have_no_effect():
    """The rows and columns of unused rotors in the record stay zero."""
    allocation = autopilot("iris")["allocation"][0]
    assert allocation["n_rotors"] == 4
    assert not allocation["mix"][4:].any()
    assert not allocation["effectiveness"][:, 4:].any()


def test_channel_numbers_do_not_change_the_mix():
    """Channels define where a command goes, not its value."""
    rotors = iris().rotors
    moved = tuple(Rotor(rotor.pos_body_m, rotor.direction, channel=4 - i) for i, rotor in enumerate(rotors))
    assert builtin_record(iris(rotors=moved))["allocation"] == autopilot("iris")["allocation"]
    assert builtin_record(iris(rotors=moved))["channel"][0, :4].tolist() == [3, 2, 1, 0]
