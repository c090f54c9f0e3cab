"""The attitude algebra: conventions in simple cases, then properties of arbitrary attitudes."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from px4lockstep.math import quaternion

PI = math.pi
HALF = math.sqrt(0.5)
IDENTITY = (1.0, 0.0, 0.0, 0.0)
NORTH, EAST, DOWN = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)

# Rounding only: unit numbers and about ten operations of 2**-53 each, wherever it is used.
ROUNDING = 4e-15

repeatable = settings(deadline=None, derandomize=True, max_examples=200)  # the first call compiles
number = st.floats(min_value=-1.0, max_value=1.0)
angle = st.floats(min_value=-PI, max_value=PI)
vector = st.tuples(*[st.floats(min_value=-100.0, max_value=100.0)] * 3)
attitude = (
    st.tuples(number, number, number, number).filter(lambda q: sum(c * c for c in q) > 1e-6).map(quaternion.normalize)
)


def norm(values):
    return math.sqrt(math.fsum(value * value for value in values))


def distance(a, b):
    return norm([p - q for p, q in zip(a, b, strict=True)])


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        ((0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)),
        ((0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 0.0)),
        ((0.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0)),
        ((0.0, 1.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (-1.0, 0.0, 0.0, 0.0)),
        ((1.0, 2.0, 3.0, 4.0), (5.0, 6.0, 7.0, 8.0), (-60.0, 12.0, 30.0, 24.0)),
    ],
)
def test_product_is_hamiltons(p, q, expected):
    """The rules ij = k, jk = i, ki = j, ii = -1, and one more product."""
    assert quaternion.multiply(p, q) == expected


@pytest.mark.parametrize(
    ("euler", "forward", "right", "down"),
    [
        ((0.0, 0.0, PI / 2), EAST, (-1.0, 0.0, 0.0), DOWN),  # yaw right: the nose points east
        ((0.0, PI / 2, 0.0), (0.0, 0.0, -1.0), EAST, NORTH),  # pitch up: the nose points to the sky
        ((PI / 2, 0.0, 0.0), NORTH, DOWN, (0.0, -1.0, 0.0)),  # roll right: the right wing points down
        ((PI / 2, 0.0, PI / 2), EAST, DOWN, NORTH),  # yaw first, then roll about the new nose
    ],
)
def test_euler_angles_follow_the_aerospace_convention(euler, forward, right, down):
    """Positive yaw turns north to east, positive pitch lifts the nose, positive roll lowers the right wing."""
    q_bn = quaternion.from_euler(*euler)
    assert distance(quaternion.rotate(q_bn, NORTH), forward) < ROUNDING
    assert distance(quaternion.rotate(q_bn, EAST), right) < ROUNDING
    assert distance(quaternion.rotate(q_bn, DOWN), down) < ROUNDING


def test_yaw_is_positive_from_north_to_east():
    """A quarter turn about the down axis in either direction."""
    assert quaternion.yaw((HALF, 0.0, 0.0, HALF)) == pytest.approx(PI / 2, abs=ROUNDING)
    assert quaternion.yaw((HALF, 0.0, 0.0, -HALF)) == pytest.approx(-PI / 2, abs=ROUNDING)
    assert quaternion.yaw((0.0, 0.0, 0.0, 1.0)) == pytest.approx(PI, abs=ROUNDING)


def test_the_zero_quaternion_normalizes_to_the_identity():
    """This avoids a division by zero."""
    assert quaternion.normalize((0.0, 0.0, 0.0, 0.0)) == IDENTITY
    assert quaternion.normalize((0.0, 0.0, -3.0, 4.0)) == (0.0, 0.0, -0.6, 0.8)


@repeatable
@given(attitude)
def test_rotation_matrices_are_orthonormal(q_bn):
    """||R R^T - I|| < 1e-12 and |det R - 1| < 1e-12; rounding alone is a hundred times less."""
    matrix = np.array(quaternion.to_dcm(q_bn)).reshape(3, 3)
    assert np.linalg.norm(matrix @ matrix.T - np.eye(3)) < 1e-12
    assert abs(np.linalg.det(matrix) - 1.0) < 1e-12


@repeatable
@given(attitude, vector)
def test_matrix_and_quaternion_give_the_same_rotation(q_bn, v_body):
    """R v = q v conj(q), by the matrix, by the formula for vectors, and by two products."""
    v_ned = quaternion.rotate(q_bn, v_body)
    by_matrix = np.array(quaternion.to_dcm(q_bn)).reshape(3, 3) @ np.array(v_body)
    by_products = quaternion.multiply(quaternion.multiply(q_bn, (0.0, *v_body)), quaternion.conjugate(q_bn))
    assert distance(v_ned, by_matrix) <= ROUNDING * norm(v_body)
    assert distance(v_ned, by_products[1:]) <= ROUNDING * norm(v_body)


@repeatable
@given(attitude, vector)
def test_inverse_rotation_undoes_rotation(q_bn, v_body):
    """Lengths do not change."""
    v_ned = quaternion.rotate(q_bn, v_body)
    assert abs(norm(v_ned) - norm(v_body)) <= ROUNDING * norm(v_body)
    assert distance(quaternion.rotate_inverse(q_bn, v_ned), v_body) <= ROUNDING * norm(v_body)


@repeatable
@given(attitude, attitude, vector)
def test_a_product_rotates_by_its_right_factor_first(p, q, v):
    """(p q) v = p (q v)."""
    one = quaternion.rotate(quaternion.multiply(p, q), v)
    two = quaternion.rotate(p, quaternion.rotate(q, v))
    assert distance(one, two) <= 2.0 * ROUNDING * norm(v)


@repeatable
@given(attitude)
def test_the_matrix_converts_back_to_the_quaternion(q_bn):
    """It has w >= 0 and is computed from the largest of the four components."""
    back = quaternion.from_dcm(quaternion.to_dcm(q_bn))
    assert back[0] >= 0.0
    assert quaternion.angle_between(back, q_bn) < ROUNDING


@pytest.mark.parametrize("axis", [0, 1, 2, 3])
def test_half_turns_convert_to_a_matrix_and_back(axis):
    """The four cases of Shepperd's method, each at its centre."""
    q_bn = tuple(1.0 if i == axis else 0.0 for i in range(4))
    assert quaternion.from_dcm(quaternion.to_dcm(q_bn)) == q_bn


@repeatable
@given(angle, st.floats(min_value=-1.5, max_value=1.5), angle)
def test_euler_angles_convert_to_an_attitude_and_back(roll, pitch, yaw):
    """Away from gimbal lock; roll and yaw lose accuracy like 1 / cos(pitch), which is 14 at 1.5 rad."""
    back = quaternion.to_euler(quaternion.from_euler(roll, pitch, yaw))
    assert abs(back[1] - pitch) < ROUNDING
    for found, given_angle in ((back[0], roll), (back[2], yaw)):
        assert abs(math.remainder(found - given_angle, 2.0 * PI)) < 14.0 * ROUNDING
    assert -PI < back[0] <= PI
    assert -PI < back[2] <= PI


@repeatable
@given(attitude)
def test_an_attitude_converts_to_euler_angles_and_back(q_bn):
    """For every attitude and either sign of its quaternion, with all angles in their ranges."""
    roll, pitch, yaw = quaternion.to_euler(q_bn)
    assert quaternion.angle_between(quaternion.from_euler(roll, pitch, yaw), q_bn) < 2.0 * ROUNDING
    assert -PI < roll <= PI
    assert -PI / 2 <= pitch <= PI / 2
    assert -PI < yaw <= PI


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("offset", [0.0, 1e-15, 1e-9, 1e-5])
@pytest.mark.parametrize(("roll", "yaw"), [(0.0, 0.0), (0.3, 0.0), (0.0, -2.0), (1.1, 2.5), (-3.0, 3.0)])
def test_gimbal_lock_loses_neither_pitch_nor_attitude(sign, offset, roll, yaw):
    """At and near a pitch of 90 degrees, pitch keeps all its digits; an arc sine would lose half of them."""
    pitch = sign * (PI / 2 - offset)
    q_bn = quaternion.from_euler(roll, pitch, yaw)
    euler = quaternion.to_euler(q_bn)
    assert abs(euler[1] - pitch) < ROUNDING
    assert quaternion.angle_between(quaternion.from_euler(*euler), q_bn) < 2.0 * ROUNDING


@repeatable
@given(attitude)
def test_yaw_has_the_bits_of_the_third_euler_angle(q_bn):
    """Both use the same formula."""
    assert quaternion.yaw(q_bn) == quaternion.to_euler(q_bn)[2]


@repeatable
@given(attitude)
def test_opposite_quaternions_are_the_same_attitude(q_bn):
    """For matrix, angles and rotation vector (which may have either sign at a half turn)."""
    opposite = tuple(-c for c in q_bn)
    assert quaternion.to_dcm(opposite) == quaternion.to_dcm(q_bn)
    assert quaternion.angle_between(q_bn, opposite) == 0.0
    if q_bn[0] != 0.0:
        assert quaternion.logarithm(opposite) == quaternion.logarithm(q_bn)


@repeatable
@given(st.tuples(number, number, number), st.floats(min_value=-200.0, max_value=0.49))
def test_logarithm_inverts_the_exponential(direction, exponent):
    """For rotations from 1e-200 rad to just below pi, relative to their size."""
    length = norm(direction)
    if length < 1e-3:
        return
    rotation = tuple(10.0**exponent * c / length for c in direction)
    back = quaternion.logarithm(quaternion.exponential(rotation))
    assert max(abs(a - b) for a, b in zip(back, rotation, strict=True)) <= ROUNDING * 10.0**exponent


def test_no_rotation_is_the_identity():
    """exp(0) = 1 and log(1) = 0 without a division by zero, also for the zero quaternion."""
    assert quaternion.exponential((0.0, 0.0, 0.0)) == IDENTITY
    assert quaternion.logarithm(IDENTITY) == (0.0, 0.0, 0.0)
    assert quaternion.logarithm((0.0, 0.0, 0.0, 0.0)) == (0.0, 0.0, 0.0)


@repeatable
@given(attitude, st.floats(min_value=-15.0, max_value=0.49))
def test_angle_between_is_that_of_the_rotation_between(q_bn, exponent):
    """The attitudes are accurate to 2**-53, so the angle between them is accurate to twice that, plus rounding."""
    turn = 10.0**exponent
    other = quaternion.multiply(q_bn, quaternion.exponential((0.6 * turn, 0.0, 0.8 * turn)))
    assert abs(quaternion.angle_between(q_bn, other) - turn) < 1e-15 + ROUNDING * turn


def test_tiny_angles_between_keep_all_digits():
    """A rotation of 1e-20 rad is not lost to rounding."""
    p = (0.5, 0.5, 0.5, 0.5)
    q = (1.0, 5e-21, 0.0, 0.0)
    assert quaternion.angle_between(IDENTITY, q) == pytest.approx(1e-20, rel=1e-15)
    assert quaternion.angle_between(p, p) == 0.0


@repeatable
@given(attitude, vector)
def test_derivative_is_the_slope_of_the_rotating_attitude(q_bn, omega_body):
    """Central difference over h = 1e-6 s, with an error below |omega|**3 h**2 / 24 and 2**-52 / h of rounding."""
    h = 1e-6
    ahead, behind = (
        quaternion.multiply(q_bn, quaternion.exponential(tuple(sign * h * c for c in omega_body))) for sign in (1, -1)
    )
    slope = [(a - b) / (2.0 * h) for a, b in zip(ahead, behind, strict=True)]
    rate = norm(omega_body)
    assert distance(slope, quaternion.derivative(q_bn, omega_body)) < rate * rate * rate * h * h / 24.0 + 1e-9
