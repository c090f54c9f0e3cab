"""The hover thrust estimator: converges from vertical motion, and rejects outliers."""

import numpy as np
import pytest
from builtin_modules import builtin_record, part, run_hover

from px4lockstep.autopilots.builtin.hover_thrust import HOVER_THRUST, change_hover_thrust, reset_hover_thrust
from px4lockstep.autopilots.builtin.position_control import ONE_G, POSITION_CONTROL
from px4lockstep.jit import rows

DT_S = 0.012


def begun(**params):
    """Return the filter as initialized at takeoff."""
    hover = part(builtin_record(**params), "hover")
    reset_hover_thrust(rows(hover)[0])
    return hover


def estimated(hover, acc_down, thrust_up):
    """Return the filter after each measurement."""
    acc_down, thrust_up = np.atleast_1d(acc_down), np.atleast_1d(thrust_up)
    log = np.zeros(len(acc_down), HOVER_THRUST)
    run_hover(rows(hover), rows(acc_down), rows(thrust_up), DT_S, rows(log))
    return log


def bobbing(true_hover, count=2_500, sigma=0.0):
    """Return accelerations and thrusts of 30 s of vertical oscillation: T = h (1 + 0.1 sin t), a = g (1 − T/h)."""
    thrust = true_hover * (1.0 + 0.1 * np.sin(np.arange(count) * DT_S))
    noise = sigma * np.random.default_rng(4).normal(size=count)
    return ONE_G * (1.0 - thrust / true_hover) + noise, thrust


@pytest.mark.parametrize("true_hover", [0.4, 0.5, 0.6])
def test_the_filter_converges_to_the_true_hover_thrust(true_hover):
    """From ±20 %, to 1 % within 30 s; with a noise of 1 m/s², to 2 %."""
    assert estimated(begun(), *bobbing(true_hover))["value"][-1] == pytest.approx(true_hover, rel=0.01)
    assert estimated(begun(), *bobbing(true_hover, sigma=1.0))["value"][-1] == pytest.approx(true_hover, rel=0.02)


def test_error_and_variance_decrease_monotonically():
    """The error never grows, and the variance falls to a tenth of its initial value."""
    log = estimated(begun(), *bobbing(0.6))
    error = np.abs(log["value"] - 0.6)
    assert (np.diff(error) <= 1e-12).all()
    assert log["variance"][-1] < 0.1 * begun()["variance"][0]


def test_the_first_step_is_that_of_a_kalman_filter():
    """By hand: K = P H/(H² P + R) with H = g T/h² and R = 5 (m/s²)², h += K ν, P = (1 − K H) P."""
    hover = begun()
    h, variance = hover["value"][0], hover["variance"][0] + hover["noise"][0] ** 2 * DT_S
    slope = ONE_G * 0.55 / h**2
    innovation = 0.4 - ONE_G * (1.0 - 0.55 / h)
    gain = variance * slope / (slope**2 * variance + 5.0)
    log = estimated(hover, 0.4, 0.55)
    assert log["value"][0] == pytest.approx(h + gain * innovation, rel=1e-12)
    assert log["variance"][0] == pytest.approx((1.0 - gain * slope) * variance, rel=1e-12)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_innovations_beyond_the_gate_are_rejected(side):
    """HTE_ACC_GATE standard deviations: just within changes the estimate, just beyond does not; the variance grows."""
    for share, is_used in ((0.99, True), (1.01, False)):
        hover = begun(HTE_ACC_GATE=2.0)
        h, variance = hover["value"][0], hover["variance"][0] + hover["noise"][0] ** 2 * DT_S
        gate = 2.0 * np.sqrt((ONE_G / h) ** 2 * variance + 5.0)
        log = estimated(hover, side * share * gate, h)
        assert (log["value"][0] != h) == is_used
        assert (log["variance"][0] > begun()["variance"][0]) != is_used


def test_the_estimate_is_unchanged_without_thrust():
    """In free fall the estimate stays, and the variance grows."""
    hover = begun()
    log = estimated(hover, np.full(10, ONE_G), np.zeros(10))
    assert (log["value"] == begun()["value"]).all()
    assert (np.diff(log["variance"]) > 0.0).all()


def test_the_estimate_stays_near_the_parameter():
    """Within HTE_THR_RANGE of MPC_THR_HOVER, whatever is measured; as float32."""
    log = estimated(begun(HTE_THR_RANGE=0.05, HTE_ACC_GATE=10.0), *bobbing(0.8))
    assert log["value"].max() == pytest.approx(0.55, abs=1e-7)


def test_changing_the_hover_thrust_does_not_change_the_thrust():
    """The integrator takes up the difference: (a/g − 1) h stays the same."""
    control = np.zeros(1, POSITION_CONTROL)
    control["hover_thrust"], control["acc_sp"], control["integral"] = 0.5, (0.0, 0.0, -1.2), (0.0, 0.0, 0.3)
    change_hover_thrust(rows(control)[0], 0.6)
    acc = -1.2 + control["integral"][0, 2] - 0.3
    assert control["hover_thrust"][0] == 0.6
    assert (acc / ONE_G - 1.0) * 0.6 == pytest.approx((-1.2 / ONE_G - 1.0) * 0.5, rel=1e-12)


def test_the_estimate_stays_above_zero():
    """Position control divides by it: at least 0.05, although the parameters allow down to −0.3."""
    log = estimated(begun(MPC_THR_HOVER=0.1, HTE_THR_RANGE=0.4, HTE_ACC_GATE=10.0), *bobbing(0.01))
    assert log["value"].min() == 0.05


def test_the_hover_thrust_is_within_the_thrust_limits_but_never_zero():
    """MPC_THR_MIN and MPC_THR_MAX limit MPC_THR_HOVER, with a minimum of 0.05; as float32."""
    for params, expected in (
        ({"MPC_THR_HOVER": 0.6, "MPC_THR_MAX": 0.4}, 0.4),
        ({"MPC_THR_HOVER": 0.1, "MPC_THR_MIN": 0.3}, 0.3),
        ({"MPC_THR_MAX": 0.0}, 0.05),
    ):
        assert builtin_record(**params)["hover"]["initial"][0] == pytest.approx(expected, abs=1e-7)
