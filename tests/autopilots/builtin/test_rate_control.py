"""Rate control: each term computed by hand, and when the integral grows."""

import math

import numpy as np
import pytest
from builtin_modules import builtin_record, estimates, outs, part, run_rates

from px4lockstep.autopilots.builtin.rate_control import RATE_CONTROL
from px4lockstep.jit import rows

DT_S = 0.004
ROUNDING = 1e-12
"""Sums of a few products of numbers of about 1."""


def controller(**fields):
    """Return a controller with only the given gains; its integral is limited to 1."""
    control = np.zeros(1, RATE_CONTROL)
    control["integral_limit"] = 1.0
    for name, value in fields.items():
        control[name] = value
    return control


def torques(control, rate_sp, omega=0.0, *, count=1, dt_s=DT_S, is_landed=False):
    """Return the torques of `count` ticks, and the controller after each; rates are constant or one row per tick."""
    commands, log = outs(count, rate_sp_body=rate_sp), np.zeros(count, RATE_CONTROL)
    estimate = estimates(count, omega_body=omega)
    run_rates(rows(control), rows(estimate), dt_s, is_landed, rows(commands), rows(log))
    return commands["torque_sp_body"], log


def test_the_torque_is_proportional_to_the_error():
    """P (ω_sp − ω), per axis."""
    control = controller(p=(0.15, 0.2, 0.3))
    torque, _ = torques(control, (1.0, -2.0, 0.5), (0.2, 0.5, -0.5))
    assert torque[0] == pytest.approx((0.15 * 0.8, 0.2 * -2.5, 0.3 * 1.0), abs=ROUNDING)


def test_feedforward_depends_only_on_the_setpoint():
    """FF ω_sp, whatever the rate."""
    control = controller(ff=(0.1, 0.2, 0.3))
    torque, _ = torques(control, (1.0, -2.0, 3.0), (5.0, 5.0, 5.0))
    assert torque[0] == pytest.approx((0.1, -0.4, 0.9), abs=ROUNDING)


def test_the_error_is_integrated_and_acts_one_tick_later():
    """I e dt per tick; the fade at 0.1 rad/s is (0.1/6.98)², 2e-4 of it, and included here."""
    control = controller(i=(0.2, 0.3, 0.1))
    error = np.array((0.1, -0.1, 0.05))
    torque, log = torques(control, error, count=5)
    fade = 1.0 - (error / math.radians(400.0)) ** 2
    per_tick = np.array((0.2, 0.3, 0.1)) * error * fade * DT_S
    assert torque == pytest.approx(np.outer(np.arange(5), per_tick), abs=ROUNDING)
    assert log["integral"] == pytest.approx(np.outer(np.arange(1, 6), per_tick), abs=ROUNDING)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_integral_stays_within_its_limit(side):
    """Reached after 0.3/(2 · 1 · 0.98) s, and exactly the limit from then on."""
    control = controller(i=2.0, integral_limit=(0.3, 0.2, 0.1))
    _, log = torques(control, side, count=100)
    assert (np.abs(log["integral"]) <= (0.3, 0.2, 0.1)).all()
    assert log["integral"][-1].tolist() == [side * 0.3, side * 0.2, side * 0.1]
    reached = np.argmax(np.abs(log["integral"][:, 0]) >= 0.3) + 1
    assert reached == math.ceil(0.3 / (2.0 * (1.0 - math.radians(400.0) ** -2)) / DT_S)


def test_the_integral_is_held_on_the_ground():
    control = controller(i=1.0, integral=(0.1, -0.1, 0.2))
    torque, log = torques(control, 1.0, count=10, is_landed=True)
    assert log["integral"].tolist() == [[0.1, -0.1, 0.2]] * 10
    assert torque.tolist() == [[0.1, -0.1, 0.2]] * 10


@pytest.mark.parametrize(("saturation", "error", "grows"), [(1, 1.0, 0), (1, -1.0, -1), (-1, -1.0, 0), (-1, 1.0, 1)])
def test_the_integral_does_not_grow_into_saturation(saturation, error, grows):
    """A saturated axis may still be integrated out of saturation; axes do not affect each other."""
    for axis in range(3):
        control = controller(i=1.0)
        control["saturation"][0, axis] = saturation
        _, log = torques(control, error)
        expected = np.full(3, np.sign(error))
        expected[axis] = grows
        assert np.sign(log["integral"][0]).tolist() == expected.tolist()


@pytest.mark.parametrize(("error_deg_s", "weight"), [(40.0, 0.99), (200.0, 0.75), (360.0, 0.19), (400.0, 0.0)])
def test_large_errors_are_integrated_less(error_deg_s, weight):
    """By 1 − (e/400°/s)², with either sign."""
    for side in (1.0, -1.0):
        error = side * math.radians(error_deg_s)
        _, log = torques(controller(i=1.0), error)
        assert log["integral"][0] == pytest.approx(np.full(3, weight * error * DT_S), abs=ROUNDING)


def test_errors_beyond_400_deg_s_are_not_integrated():
    """With either sign."""
    _, log = torques(controller(i=1.0), math.radians(1_000.0))
    assert not log["integral"].any()


def test_the_yaw_torque_has_a_first_order_step_response():
    """Discretely 1 − (τ/(dt+τ))ⁿ, within 3 % of 1 − exp(−t/τ) as dt/τ is 5 %; roll and pitch are not filtered."""
    tau = 1.0 / (2.0 * math.pi * 2.0)
    control = controller(p=0.1, yaw_torque_tau_s=tau)
    torque, _ = torques(control, 1.0, count=100)
    n = np.arange(1, 101)
    assert torque[:, 2] == pytest.approx(0.1 * (1.0 - (tau / (DT_S + tau)) ** n), abs=ROUNDING)
    assert torque[:, 2] == pytest.approx(0.1 * (1.0 - np.exp(-n * DT_S / tau)), abs=0.03 * 0.1)
    assert torque[:, :2] == pytest.approx(0.1, abs=ROUNDING)


def test_the_derivative_damps_an_acceleration():
    """For rates rising at 2 rad/s²: −D ω̇ once the filter has settled to e⁻⁵, after five time constants."""
    tau = 0.02
    control = controller(d=0.01, has_derivative=1, derivative_tau_s=tau)
    rate = 2.0 * DT_S * np.arange(1, 26)[:, None] * np.ones(3)
    torque, log = torques(control, rate, rate, count=25)
    n = np.arange(1, 26)
    expected = 2.0 * (1.0 - (tau / (DT_S + tau)) ** n)
    assert log["omega_dot"] == pytest.approx(np.outer(expected, np.ones(3)), abs=1e-11)
    assert torque == pytest.approx(-0.01 * log["omega_dot"], abs=ROUNDING)
    assert expected[-1] == pytest.approx(2.0, rel=0.02)


def test_without_a_derivative_there_is_no_damping():
    """As in the recorded flights of the real library."""
    control = controller(d=0.01, has_derivative=0)
    torque, _ = torques(control, np.arange(5.0)[:, None] * np.ones(3), np.arange(5.0)[:, None] * np.ones(3), count=5)
    assert not torque.any()


def test_gains_are_those_of_the_parameters():
    """K multiplies P, I and D, not FF; limits and cut-offs are the parameters', as float32 to 1e-7."""
    params = {"MC_ROLLRATE_K": 2.0, "MC_ROLLRATE_D": 0.004, "MC_PITCHRATE_P": 0.2, "MC_YAWRATE_FF": 0.3}
    limits = {"MC_RR_INT_LIM": 0.25, "MC_YAW_TQ_CUTOFF": 3.0, "IMU_DGYRO_CUTOFF": 40.0}
    control = part(builtin_record(**params, **limits), "rate")[0]
    assert control["p"] == pytest.approx((2.0 * 0.15, 0.2, 0.2), rel=1e-7)
    assert control["i"] == pytest.approx((2.0 * 0.2, 0.2, 0.1), rel=1e-7)
    assert control["d"] == pytest.approx((2.0 * 0.004, 0.003, 0.0), rel=1e-7)
    assert control["ff"] == pytest.approx((0.0, 0.0, 0.3), rel=1e-7)
    assert control["integral_limit"] == pytest.approx((0.25, 0.3, 0.3), rel=1e-7)
    assert control["yaw_torque_tau_s"] == pytest.approx(1.0 / (6.0 * math.pi), rel=1e-7)
    assert control["derivative_tau_s"] == pytest.approx(1.0 / (80.0 * math.pi), rel=1e-7)
    assert part(builtin_record(MC_YAW_TQ_CUTOFF=0.0), "rate")["yaw_torque_tau_s"][0] == 0.0
