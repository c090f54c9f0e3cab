"""Position control: thrust computed by hand, limits and priorities, anti-windup, and attitude from thrust."""

import math

import numpy as np
import pytest
from builtin_modules import builtin_record, estimates, part, run_position
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from px4lockstep.autopilots.builtin.position_control import ONE_G, POSITION_CONTROL, limit_sum_xy
from px4lockstep.autopilots.builtin.thrust_attitude import limit_tilt, thrust_to_attitude
from px4lockstep.jit import rows

DT_S = 0.012
HOVER = 0.5
ROUNDING = 1e-12
"""Sums of a few products of numbers of about 10."""
POS_P, VEL_P, VEL_I = np.array((0.95, 0.95, 1.0)), np.array((1.8, 1.8, 4.0)), np.array((0.4, 0.4, 2.0))
UNCONTROLLED = {"pos_ned": math.nan, "vel_ned": math.nan, "acc_ned": math.nan}

components = st.floats(-20.0, 20.0)
angles = st.floats(-4.0, 4.0)


def controller(setpoint, **fields):
    """Return a controller with the given gains and wide limits, at rest, and a setpoint; omitted components are NaN."""
    control = np.zeros(1, POSITION_CONTROL)
    wide = {"speed_max_m_s": 100.0, "speed_up_m_s": 100.0, "speed_down_m_s": 100.0, "tilt_max_rad": 1.5}
    gains = {"pos_p": POS_P, "vel_p": VEL_P, "vel_i": VEL_I, "hover_thrust": HOVER, "thrust_max": 1.0}
    for name, value in {"thrust_min": 0.1, "thrust_margin_xy": 0.3, **wide, **gains, **fields}.items():
        control[name] = value
    for name, value in {**UNCONTROLLED, **setpoint}.items():
        control["input"][name] = value
    return control


def controlled(setpoint, *, count=1, pos_ned=0.0, **fields):
    """Return the controller after each of several ticks."""
    log = np.zeros(count, POSITION_CONTROL)
    control = controller(setpoint, **fields)
    run_position(rows(control), rows(estimates(1, pos_ned=pos_ned)), DT_S, rows(log))
    return log


def thrust(setpoint, **options):
    """Return the thrust after one tick."""
    return controlled(setpoint, **options)["thrust_sp"][0]


# -- the way to thrust ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hover", [0.3, 0.5, 0.7])
def test_at_the_setpoint_the_thrust_is_hover_thrust(hover):
    """MPC_THR_HOVER upwards, with no horizontal part."""
    found = thrust({"pos_ned": (3.0, -2.0, -10.0)}, pos_ned=(3.0, -2.0, -10.0), hover_thrust=hover)
    assert found == pytest.approx((0.0, 0.0, -hover), abs=ROUNDING)


def test_position_velocity_and_acceleration_add_up():
    """a = a_sp + P_v (v_sp + P_x (x_sp − x) − v) + ∫ − D v̇, each axis by hand."""
    pos_sp, pos, vel_sp, vel = (np.array(v) for v in ((1.0, 2.0, -3.0), (0.5, 2.5, -2.8), (0.3, 0.2, 0.1), (0.4, 0, 0)))
    acc_sp, acc, integral, vel_d = (np.array(v) for v in ((0.1, 0.2, 0.3), (0.5, 0.6, 0.7), (0.2, -0.1, 0.4), 0.2))
    setpoint = {"pos_ned": pos_sp, "vel_ned": vel_sp, "acc_ned": acc_sp}
    found = controlled(setpoint, pos_ned=pos, vel=vel, acc=acc, integral=integral, vel_d=vel_d)[0]
    error = vel_sp + POS_P * (pos_sp - pos) - vel
    assert found["acc_sp"] == pytest.approx(acc_sp + VEL_P * error + integral - vel_d * acc, abs=ROUNDING)
    assert found["integral"] == pytest.approx(integral + VEL_I * error * DT_S, abs=ROUNDING)


@settings(max_examples=100, deadline=None)
@given(st.tuples(*[st.floats(-2.0, 2.0)] * 3))
def test_the_thrust_achieves_the_acceleration_setpoint(acc):
    """Without limits, thrust/hover thrust × g plus gravity: vertically exact; the direction assumes 1 g down."""
    found = thrust({"acc_ned": acc}, is_decoupled=1)
    assert found[2] == pytest.approx((acc[2] / ONE_G - 1.0) * HOVER, abs=ROUNDING)
    assert found[:2] / found[2] == pytest.approx(np.array(acc[:2]) / -ONE_G, abs=ROUNDING)
    coupled = thrust({"acc_ned": acc}, is_decoupled=0)
    assert coupled / HOVER * ONE_G + (0.0, 0.0, ONE_G) == pytest.approx(acc, abs=1e-11)


def test_velocity_alone_can_be_controlled():
    """A NaN position has no effect, wherever the vehicle is; also per axis."""
    expected = thrust({"vel_ned": (1.0, 0.5, -0.5)})
    assert np.isfinite(expected).all()
    assert thrust({"vel_ned": (1.0, 0.5, -0.5)}, pos_ned=(100.0, -200.0, 50.0)).tolist() == expected.tolist()
    mixed = controlled(
        {"pos_ned": (math.nan, math.nan, -1.0), "vel_ned": (1.0, 0.5, math.nan)}, pos_ned=(9.0, 9.0, -1.0)
    )
    assert mixed["thrust_sp"][0, 2] == pytest.approx(-HOVER, abs=ROUNDING)
    assert mixed["acc_sp"][0] == pytest.approx((1.8, 0.9, 0.0), abs=ROUNDING)


def test_acceleration_alone_can_be_controlled():
    """Position and velocity have no effect, and nothing is integrated."""
    found = controlled({"acc_ned": (0.5, -0.5, -1.0)}, count=5, pos_ned=50.0, vel=(5.0, 5.0, 5.0))
    assert found["acc_sp"].tolist() == [[0.5, -0.5, -1.0]] * 5
    assert not found["integral"].any()


# -- limits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit_deg", [12.0, 30.0, 45.0])
def test_tilt_is_limited_and_keeps_its_azimuth(limit_deg):
    """A hundred random accelerations beyond the limit: the tilt is at its limit, the vertical part unchanged."""
    rng = np.random.default_rng(3)
    for azimuth in rng.uniform(-math.pi, math.pi, 100):
        acc = (12.0 * math.cos(azimuth), 12.0 * math.sin(azimuth), 1.0)
        found = thrust({"acc_ned": acc}, tilt_max_rad=math.radians(limit_deg))
        assert math.degrees(math.atan2(np.hypot(*found[:2]), -found[2])) == pytest.approx(limit_deg, abs=1e-9)
        assert math.remainder(math.atan2(found[1], found[0]) - azimuth, 2.0 * math.pi) == pytest.approx(0.0, abs=1e-9)
        assert found[2] == pytest.approx((1.0 / ONE_G - 1.0) * HOVER, abs=ROUNDING)


@settings(max_examples=200, deadline=None)
@given(st.tuples(components, components, components))
def test_thrust_stays_within_its_limits(acc):
    """Its magnitude between MPC_THR_MIN and MPC_THR_MAX, its tilt within the limit."""
    found = thrust({"acc_ned": acc}, tilt_max_rad=0.7, is_decoupled=1)
    assert 0.1 - ROUNDING <= np.linalg.norm(found) <= 1.0 + ROUNDING
    assert math.atan2(np.hypot(*found[:2]), -found[2]) <= 0.7 + 1e-9


def test_altitude_has_priority_over_horizontal_control():
    """0.8 upwards is achieved; 0.6 is left of a maximum of 1, where 1.2 was commanded."""
    up, sideways = 0.8, 1.2
    acc = (sideways / up * ONE_G, 0.0, -(up / HOVER - 1.0) * ONE_G)
    found = thrust({"acc_ned": acc}, is_decoupled=1)
    assert found == pytest.approx((0.6, 0.0, -0.8), abs=ROUNDING)


@pytest.mark.parametrize(("margin", "asked"), [(0.3, 1.5), (0.3, 0.2), (0.0, 1.5)])
def test_a_margin_is_reserved_for_horizontal_control(margin, asked):
    """Of 1.5 commanded vertically: all but the margin, or the horizontal command if that is smaller."""
    acc = (asked / 1.5 * ONE_G, 0.0, -2.0 * ONE_G)
    found = thrust({"acc_ned": acc}, thrust_margin_xy=margin, is_decoupled=1)
    kept = min(margin, asked)
    assert found == pytest.approx((kept, 0.0, -math.sqrt(1.0 - kept * kept)), abs=1e-9)


@pytest.mark.parametrize(("error", "allowed"), [(50.0, 3.0), (-50.0, -2.0)])
def test_vertical_speeds_are_limited_in_both_directions(error, allowed):
    """Down is positive."""
    found = controlled({"pos_ned": (0.0, 0.0, error)}, speed_down_m_s=3.0, speed_up_m_s=2.0)
    assert found["acc_sp"][0, 2] == pytest.approx(VEL_P[2] * allowed, abs=ROUNDING)


@settings(max_examples=200, deadline=None)
@given(st.tuples(components, components), st.tuples(components, components), st.floats(0.5, 15.0))
def test_a_limited_sum_keeps_what_has_priority(first, second, limit):
    """Never longer than the limit; the first part in full as long as it fits, then only its direction.

    To 0.002: vectors that differ by less than a millimetre per second are taken as equal.
    """
    first, second = np.array(first), np.array(second)
    found = np.array(limit_sum_xy(tuple(first), tuple(second), limit))
    whole = first + second
    assert np.linalg.norm(found) <= limit + 1e-9
    if np.linalg.norm(whole) <= limit:
        assert found == pytest.approx(whole, abs=1e-12)
        return
    assert np.linalg.norm(found) == pytest.approx(limit, rel=1e-9)
    if np.linalg.norm(first) >= limit:
        assert found == pytest.approx(first / np.linalg.norm(first) * limit, abs=1e-9)
    else:
        rest = found - first
        direction = second / np.linalg.norm(second)
        assert abs(rest[0] * direction[1] - rest[1] * direction[0]) < 0.002
        assert -0.002 <= rest @ direction <= np.linalg.norm(second) + 0.002


def test_a_limit_of_zero_gives_zero_speed():
    """MPC_XY_VEL_MAX may be 0: zero speed, not NaN, which would leave the velocity uncontrolled."""
    for first in ((0.0, 0.0), (1.0, 2.0)):
        assert limit_sum_xy(first, (1.0, -1.0), 0.0) == (0.0, 0.0)


def test_position_correction_has_priority_over_velocity_feedforward():
    """With a limit of 5 m/s: 3 m/s towards the line leave 4 m/s along it."""
    found = controlled({"pos_ned": (0.0, 3.0 / 0.95, 0.0), "vel_ned": (8.0, 0.0, 0.0)}, speed_max_m_s=5.0)
    assert found["acc_sp"][0, :2] == pytest.approx(VEL_P[:2] * (4.0, 3.0), abs=1e-9)


# -- anti-windup ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "integral", "grows"),
    [
        (-0.5, -20.0, 0),  # at full thrust, up
        (0.5, -20.0, 1),  # at full thrust, down
        (0.5, 20.0, 0),  # at minimum thrust, down
        (-0.5, 20.0, -1),  # at minimum thrust, up
        (0.5, 0.0, 1),
        (-0.5, 0.0, -1),
    ],
)
def test_the_vertical_integral_stops_at_the_thrust_limits(error, integral, grows):
    """The acceleration setpoint saturates the thrust: only errors that lead out of saturation are integrated."""
    found = controlled({"vel_ned": (0.0, 0.0, error), "acc_ned": (0.0, 0.0, integral)})
    assert found["integral"][0, 2] == pytest.approx(grows * abs(error) * VEL_I[2] * DT_S, abs=ROUNDING)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_vertical_integral_stays_within_1_g(side):
    """In both directions; zero proportional gain and a feedforward keep the thrust from saturating."""
    setpoint = {"vel_ned": (0.0, 0.0, side), "acc_ned": (0.0, 0.0, -side * 7.0)}
    found = controlled(setpoint, count=1_000, vel_p=(1.8, 1.8, 0.0))
    assert np.abs(found["integral"][:, 2]).max() == pytest.approx(ONE_G, abs=ROUNDING)
    assert found["integral"][-1, 2] == pytest.approx(side * ONE_G, abs=ROUNDING)


def test_unachieved_acceleration_drives_the_horizontal_integral_back():
    """One tick by hand: ∫ += I (e − 2/P (a − a_given)) dt, at a tilt limit of 20°."""
    found = controlled({"vel_ned": (5.0, 0.0, 0.0)}, tilt_max_rad=math.radians(20.0))[0]
    asked, given_acc = 5.0 * VEL_P[0], math.tan(math.radians(20.0)) * ONE_G
    assert found["thrust_sp"][0] / HOVER * ONE_G == pytest.approx(given_acc, abs=1e-9)
    expected = VEL_I[0] * (5.0 - 2.0 / VEL_P[0] * (asked - given_acc)) * DT_S
    assert found["integral"][0] == pytest.approx(expected, abs=ROUNDING)
    assert expected < 0.0


def test_the_horizontal_integral_does_not_wind_up():
    """Ten seconds of an unachievable 5 m/s: it settles where a = a_given + e P/2, far below 10 · I · 5 = 20."""
    found = controlled({"vel_ned": (5.0, 0.0, 0.0)}, count=833, tilt_max_rad=math.radians(20.0))
    given_acc = math.tan(math.radians(20.0)) * ONE_G
    settled = given_acc + 0.5 * VEL_P[0] * 5.0 - VEL_P[0] * 5.0
    assert found["integral"][-1, 0] == pytest.approx(settled, abs=0.1)
    assert np.abs(found["integral"][:, 0]).max() < 1.0


# -- attitude ------------------------------------------------------------------------------------------------------


def matrix(q):
    """Return the rotation matrix of (w, x, y, z)."""
    return Rotation.from_quat(np.array(q)[[1, 2, 3, 0]]).as_matrix()


@settings(max_examples=300, deadline=None)
@given(st.tuples(*[st.floats(-1.0, 1.0)] * 2, st.floats(-1.0, -0.01)), angles)
def test_the_body_z_axis_points_against_the_thrust_and_x_along_the_heading(vector, yaw):
    """For any upward thrust: z_b = −T/|T|, and x_b points along the yaw horizontally. To 1e-7, at tilts up to 89.6°."""
    q = thrust_to_attitude(vector, yaw)
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-12)
    r = matrix(q)
    assert r[:, 2] == pytest.approx(-np.array(vector) / np.linalg.norm(vector), abs=1e-9)
    assert -r[0, 0] * math.sin(yaw) + r[1, 0] * math.cos(yaw) == pytest.approx(0.0, abs=1e-7)
    assert r[0, 0] * math.cos(yaw) + r[1, 0] * math.sin(yaw) > 0.0


@given(angles)
@settings(max_examples=50, deadline=None)
def test_zero_thrust_is_level(yaw):
    """It has no direction: level, with the heading."""
    assert matrix(thrust_to_attitude((0.0, 0.0, 0.0), yaw)) == pytest.approx(
        Rotation.from_euler("z", yaw).as_matrix(), abs=1e-12
    )


@settings(max_examples=100, deadline=None)
@given(st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda v: np.linalg.norm(v) > 0.01), angles)
def test_any_thrust_has_an_attitude(vector, yaw):
    """Including lateral and downward thrust: a rotation with z against it, and the nose still forward."""
    r = matrix(thrust_to_attitude(vector, yaw))
    if abs(vector[2]) > 0.01:
        assert r[0, 0] * math.cos(yaw) + r[1, 0] * math.sin(yaw) > 0.0
    assert r @ r.T == pytest.approx(np.eye(3), abs=1e-12)
    assert r[:, 2] == pytest.approx(-np.array(vector) / np.linalg.norm(vector), abs=1e-6)


@settings(max_examples=100, deadline=None)
@given(st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda v: np.linalg.norm(v) > 0.01), st.floats(0.01, 1.5))
def test_limited_tilts_are_unit_vectors_within_the_limit(vector, limit):
    """Those within the limit are unchanged."""
    body_z = np.array(vector) / np.linalg.norm(vector)
    found = np.array(limit_tilt(tuple(body_z), limit))
    assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-9)
    assert found[2] >= math.cos(limit) - 1e-12
    if body_z[2] >= math.cos(limit):
        assert found.tolist() == body_z.tolist()


def test_gains_are_those_of_the_parameters():
    """As float32, to 1e-7; the derivative's low-pass weight is for 10 ms, 1 − exp(−2π 5 Hz 10 ms)."""
    control = part(builtin_record(MPC_XY_P=1.2, MPC_Z_VEL_I_ACC=1.5, MPC_THR_XY_MARG=0.2), "position")[0]
    assert control["pos_p"] == pytest.approx((1.2, 1.2, 1.0), rel=1e-7)
    assert control["vel_i"] == pytest.approx((0.4, 0.4, 1.5), rel=1e-7)
    assert control["thrust_margin_xy"] == pytest.approx(0.2, rel=1e-7)
    assert control["acc_weight"] == pytest.approx(1.0 - math.exp(-2.0 * math.pi * 5.0 * 0.01), rel=1e-12)
