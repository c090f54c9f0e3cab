"""Attitude control: errors derived by hand, repeated in random attitudes."""

import numpy as np
import pytest
from builtin_modules import builtin_record, estimates, outs, part, run_attitude
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from px4lockstep.autopilots.builtin.attitude_control import ATTITUDE_CONTROL, yaw_series
from px4lockstep.jit import rows

P = np.array((4.0, 5.0, 2.8))
NO_LIMIT = 1e9
IDENTITY = Rotation.identity()
POSES = [IDENTITY, *Rotation.random(20, random_state=np.random.RandomState(7))]
ROUNDING = 1e-9
"""Rounding of about 1e-15 through the square roots and divisions of quaternions; angles here are 0.01 and more."""


def controller(yaw_weight=0.4, limit=NO_LIMIT, yawspeed=0.0):
    """Return a controller with the given gains."""
    control = np.zeros(1, ATTITUDE_CONTROL)
    control["p"] = P / (1.0, 1.0, yaw_weight)
    control["yaw_weight"] = yaw_weight
    control["yaw_sine"], control["yaw_cosine"] = yaw_series(yaw_weight)
    control["rate_limit_rad_s"] = limit
    control["yawspeed_sp"] = yawspeed
    return control


def quaternion(rotation):
    """Return a rotation as (w, x, y, z)."""
    return rotation.as_quat()[..., [3, 0, 1, 2]]


def rates(attitude, setpoint, **options):
    """Return the rate setpoint at an attitude; both rotations are from body to NED."""
    command = outs(1, q_sp=quaternion(setpoint))
    run_attitude(rows(controller(**options)), rows(estimates(1, q_bn=quaternion(attitude))), False, rows(command))
    return command["rate_sp_body"][0]


def turned(*rotvec):
    """Return the rotation by a rotation vector about body axes."""
    return Rotation.from_rotvec(rotvec)


def test_the_rate_is_zero_at_the_setpoint():
    """In any attitude and with either sign of the quaternion, up to rounding."""
    for pose in POSES:
        assert rates(pose, pose) == pytest.approx(np.zeros(3), abs=1e-7)
        command = outs(1, q_sp=-quaternion(pose))
        run_attitude(rows(controller()), rows(estimates(1, q_bn=quaternion(pose))), False, rows(command))
        assert command["rate_sp_body"][0] == pytest.approx(np.zeros(3), abs=1e-7)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("angle", [0.02, -0.02])
def test_a_small_error_about_one_axis_gives_p_times_its_angle(axis, angle):
    """2 sin(ε/2) P about the same body axis, in any attitude: to 1e-4, the next terms at 0.02 rad."""
    for pose in POSES:
        expected = np.zeros(3)
        expected[axis] = P[axis] * angle
        found = rates(pose, pose * turned(*(angle * np.eye(3)[axis])))
        assert found == pytest.approx(expected, abs=1e-4 * abs(P[axis] * angle))


@pytest.mark.parametrize("angle", [0.3, 1.5, 3.0])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_large_tilt_error_gives_twice_the_sine_of_half_its_angle(axis, angle):
    """ω_sp = 2 P sin(ε/2) about the same axis, in any attitude."""
    for pose in POSES:
        expected = np.zeros(3)
        expected[axis] = 2.0 * P[axis] * np.sin(0.5 * angle)
        assert rates(pose, pose * turned(*(angle * np.eye(3)[axis]))) == pytest.approx(expected, abs=ROUNDING)


@pytest.mark.parametrize("weight", [0.1, 0.4, 1.0])
def test_the_yaw_weight_does_not_change_the_rate_of_a_pure_yaw_error(weight):
    """The gain is divided by it: 2 P/w sin(w ψ/2), or P ψ for small angles."""
    for pose in POSES:
        found = rates(pose, pose * turned(0.0, 0.0, 0.02), yaw_weight=weight)
        assert found == pytest.approx((0.0, 0.0, P[2] * 0.02), abs=1e-5)
        found = rates(pose, pose * turned(0.0, 0.0, 1.0), yaw_weight=weight)
        assert found == pytest.approx((0.0, 0.0, 2.0 * P[2] / weight * np.sin(0.5 * weight)), abs=ROUNDING)


@pytest.mark.parametrize("weight", [0.05, 0.2, 0.4])
def test_the_yaw_weight_gives_tilt_priority(weight):
    """With a large yaw error on top, the tilt's rate stays closer to that of the tilt alone, the less yaw weighs.

    Roll by φ then yaw by ψ gives e = (cos(wψ/2) sin(φ/2), −sin(wψ/2) sin(φ/2), …): off by wψ/2 of it in direction.
    """
    phi, psi = 0.4, 2.0
    for pose in POSES:
        found = rates(pose, pose * turned(phi, 0.0, 0.0) * turned(0.0, 0.0, psi), yaw_weight=weight)
        half = 2.0 * np.sin(0.5 * phi)
        assert found[0] == pytest.approx(P[0] * half * np.cos(0.5 * weight * psi), abs=ROUNDING)
        assert found[1] == pytest.approx(-P[1] * half * np.sin(0.5 * weight * psi), abs=ROUNDING)
        assert np.hypot(found[0] / P[0], found[1] / P[1]) == pytest.approx(half, abs=ROUNDING)


def test_a_full_weight_is_plain_quaternion_feedback():
    """With w = 1 the error is q⁻¹ ⊗ q_sp, computed with SciPy, for any two attitudes."""
    for pose, goal in zip(POSES, reversed(POSES), strict=True):
        error = quaternion(pose.inv() * goal)
        expected = 2.0 * np.sign(error[0]) * error[1:] * P
        assert rates(pose, goal, yaw_weight=1.0) == pytest.approx(expected, abs=1e-7)


@settings(max_examples=100, deadline=None)
@given(st.tuples(*[st.floats(-3.0, 3.0)] * 3), st.tuples(*[st.floats(-1.0, 1.0)] * 2))
def test_an_opposite_attitude_has_a_finite_rate(rotvec, across):
    """Upside down, and almost upside down: the direction is arbitrary, and the rate at most that of half a turn."""
    pose = turned(*rotvec)
    for hair in (0.0, 1e-9, 1e-6, 1e-3):
        flip = turned(*(np.pi * np.array((1.0, 0.0, 0.0)))) * turned(hair * across[0], hair * across[1], 0.0)
        found = rates(pose, pose * flip)
        assert np.isfinite(found).all()
        assert (np.abs(found) <= 2.0 * P / (1.0, 1.0, 0.4) + 1e-9).all()
        assert np.linalg.norm(found[:2] / P[:2]) > 1.9  # it turns over


@pytest.mark.parametrize("axis", [0, 1])
def test_turning_upside_down_uses_a_single_axis(axis):
    """From level: half a turn about x or y uses just that axis at 2 P, without a change of heading."""
    found = rates(IDENTITY, turned(*(np.pi * np.eye(3)[axis])))
    expected = np.zeros(3)
    expected[axis] = 2.0 * P[axis]
    assert np.abs(found) == pytest.approx(expected, abs=1e-6)


def test_rates_are_limited_axis_by_axis():
    """To the limit, with the sign of the setpoint; other axes are unchanged."""
    limit = (0.5, 0.3, 0.2)
    goal = turned(1.0, 0.02, -2.0)
    free, found = rates(IDENTITY, goal), rates(IDENTITY, goal, limit=limit)
    assert (np.abs(free) > limit).any()
    assert found == pytest.approx(np.clip(free, -np.array(limit), limit), abs=1e-15)
    assert (np.abs(found) <= limit).all()


def test_a_yaw_rate_is_fed_forward_about_the_down_axis():
    """ω_sp = R_nb (0, 0, ψ̇), computed with SciPy in any attitude; it counts towards the limit."""
    for pose in POSES:
        expected = pose.inv().apply((0.0, 0.0, 0.7))
        assert rates(pose, pose, yawspeed=0.7) == pytest.approx(expected, abs=1e-7)
    assert rates(IDENTITY, IDENTITY, yawspeed=0.7, limit=0.5)[2] == 0.5


def test_gains_are_those_of_the_parameters():
    """The yaw gain is divided by the weight unless that is zero; limits are in rad/s; as float32, to 1e-7."""
    control = part(builtin_record(MC_ROLL_P=5.0, MC_YAW_P=2.0, MC_YAW_WEIGHT=0.5, MC_YAWRATE_MAX=90.0), "attitude")[0]
    assert control["p"] == pytest.approx((5.0, 4.0, 4.0), rel=1e-7)
    assert control["rate_limit_rad_s"] == pytest.approx(np.radians((220.0, 220.0, 90.0)), rel=1e-7)
    assert part(builtin_record(MC_YAW_P=2.0, MC_YAW_WEIGHT=0.0), "attitude")["p"][0, 2] == 2.0


@pytest.mark.parametrize("spin", [-12.0, 0.0, 5.0])
def test_a_spinning_vehicle_tilts_towards_the_setpoint(spin):
    """In axes that do not spin, the rates of ω̇ = k (ω_sp − ω) + 2 i r ω settle at the setpoint without a spin."""
    command = outs(1, q_sp=quaternion(turned(0.02, -0.01, 0.0)))
    estimate = estimates(1, omega_body=(0.0, 0.0, spin))
    wanted = rates(IDENTITY, turned(0.02, -0.01, 0.0))
    run_attitude(rows(controller()), rows(estimate), True, rows(command))
    given, k = complex(*command["rate_sp_body"][0, :2]), 20.0
    assert k * given / (k - 2j * spin) == pytest.approx(complex(*wanted[:2]), abs=ROUNDING)
