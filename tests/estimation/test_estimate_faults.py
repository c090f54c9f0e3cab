"""Faults of the estimate: bias, drift, dropout, freeze, and their order, for every kind of estimator."""

import numpy as np
import pytest
from estimation_bits import EVERY_ERROR, estimate, scenarios_of, states_of, tumbling

from px4lockstep.estimation.estimator import Estimator
from px4lockstep.math.quaternion import to_euler

KINDS = [Estimator(), EVERY_ERROR]
PARTS = ("pos_ned", "vel_ned", "q_bn", "omega_body", "is_valid")
COUNT = 60
STATES = tumbling(COUNT)
PERIOD_S = 0.004


def with_and_without(kind, *faults):
    """Return the estimates of the same motion without and with faults."""
    return estimate(kind, STATES), estimate(kind, STATES, scenarios_of(COUNT, *faults))


def euler(estimates):
    """Return roll, pitch and yaw of each estimate, as rows."""
    return np.array([to_euler(tuple(q)) for q in estimates["q_bn"].tolist()])


def same(a, b):
    """Return whether two ranges of estimates are bit-identical."""
    return a.tobytes() == b.tobytes()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
@pytest.mark.parametrize("part", ["pos_ned", "vel_ned", "omega_body"])
def test_a_bias_starts_and_ends_immediately(kind, part):
    """It is added exactly to its part, from the same tick on, without delay; the other parts do not change."""
    bias = (1.5, -2.0, 0.25)
    without, faulty = with_and_without(kind, (20, 40, f"bias.{part}", bias))
    assert same(without[:20], faulty[:20])
    assert same(without[40:], faulty[40:])
    for name in PARTS:
        expected = without[name][20:40] + (np.array(bias) if name == part else 0.0)
        assert (faulty[name][20:40] == expected).all()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_a_yaw_bias_is_a_rotation_about_down(kind):
    """The yaw changes by the bias; roll and pitch do not change, within 1e-13 rad."""
    without, faulty = with_and_without(kind, (20, 40, "bias.yaw", 0.3))
    turned = np.zeros((COUNT, 3))
    turned[20:40, 2] = 0.3
    difference = euler(faulty) - euler(without) - turned
    assert np.abs(np.remainder(difference + np.pi, 2.0 * np.pi) - np.pi).max() < 1e-13
    assert (without["omega_body"] == faulty["omega_body"]).all()


def test_a_drift_is_a_ramp_of_exactly_its_rate():
    """It is the rate times the time since its first tick, within 1e-14, the rounding of 50 additions."""
    rate = (0.5, -1.0, 2.0)
    at_rest = states_of(np.eye(1, 13, 6).repeat(COUNT, axis=0))
    faults = [(10, COUNT, f"drift.{part}", rate) for part in ("pos_ned", "vel_ned", "omega_body")]
    estimates = estimate(Estimator(), at_rest, scenarios_of(COUNT, *faults, (10, COUNT, "drift.yaw", 0.25)))
    since_s = np.maximum(0, np.arange(COUNT) - 10) * PERIOD_S
    for part in ("pos_ned", "vel_ned", "omega_body"):
        assert estimates[part] == pytest.approx(since_s[:, None] * np.array(rate), rel=1e-14)
    assert euler(estimates)[:, 2] == pytest.approx(since_s * 0.25, rel=1e-13)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_the_accumulated_drift_is_reset_when_the_drift_ends(kind):
    """After the drift, the estimates are bit-identical to those without it; a second drift starts from 0."""
    without, faulty = with_and_without(
        kind, (10, 20, "drift.pos_ned", (1.0, 0.0, 0.0)), (30, 40, "drift.pos_ned", (1.0, 0.0, 0.0))
    )
    error = faulty["pos_ned"][:, 0] - without["pos_ned"][:, 0]
    expected = np.zeros(COUNT)
    expected[10:20] = expected[30:40] = np.arange(10) * PERIOD_S
    assert error == pytest.approx(expected, abs=1e-14)  # differences of numbers around 10
    for clear in (slice(0, 10), slice(20, 30), slice(40, COUNT)):
        assert same(without[clear], faulty[clear])


def test_the_accumulated_drift_stays_while_any_drift_is_active():
    """Rates may change separately: the position keeps its accumulated error while the yaw still drifts."""
    at_rest = states_of(np.eye(1, 13, 6).repeat(COUNT, axis=0))
    faults = scenarios_of(
        COUNT,
        (0, 10, "drift.pos_ned", (1.0, 0.0, 0.0)),
        (10, 20, "drift.pos_ned", (-0.5, 0, 0)),
        (5, 40, "drift.yaw", 1.0),
    )
    north = estimate(Estimator(), at_rest, faults)["pos_ned"][:, 0]
    assert north[[10, 20, 39, 40]] == pytest.approx([0.04, 0.02, 0.02, 0.0], abs=1e-15)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_a_dropout_holds_position_and_velocity_and_clears_is_valid(kind):
    """They are held exactly and not valid; attitude and rates continue, and nothing remains after the dropout."""
    without, faulty = with_and_without(kind, (20, 40, "dropout", 1))
    for name in ("pos_ned", "vel_ned"):
        assert (faulty[name][20:40] == without[name][19]).all()
    for name in ("q_bn", "omega_body"):
        assert same(without[name], faulty[name])
    assert faulty["is_valid"].tolist() == [1.0] * 20 + [0.0] * 20 + [1.0] * 20
    assert same(without[40:], faulty[40:])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_a_freeze_holds_the_estimate_until_it_ends(kind):
    """Everything is held exactly and stays valid; noise, bias and delay continue internally."""
    without, faulty = with_and_without(kind, (20, 40, "freeze", 1))
    assert same(faulty[20:40], without[19:20].repeat(20))
    assert same(without[:20], faulty[:20])
    assert same(without[40:], faulty[40:])


@pytest.mark.parametrize("mask", [1, 2, 4, 8, 16, 1 << 6])
def test_other_sensor_faults_do_not_change_the_estimate(mask):
    """They apply to sensor models only."""
    scenarios = scenarios_of(COUNT)
    scenarios["faults"]["sensor_fault_mask"] = mask
    assert same(estimate(EVERY_ERROR, STATES, scenarios), estimate(EVERY_ERROR, STATES))


def test_a_freeze_works_together_with_other_sensor_faults():
    """The freeze is one bit of the mask."""
    scenarios = scenarios_of(COUNT)
    scenarios["faults"]["sensor_fault_mask"][20:] = 1 | 32 | 64
    faulty = estimate(EVERY_ERROR, STATES, scenarios)
    assert same(faulty[20:], faulty[19:20].repeat(40))


def test_a_dropout_during_a_freeze_takes_effect_after_the_freeze():
    """The freeze is applied last and holds the validity too; then position and velocity keep their last values."""
    without, faulty = with_and_without(Estimator(), (20, 30, "freeze", 1), (25, 40, "dropout", 1))
    assert same(faulty[20:30], without[19:20].repeat(10))
    assert (faulty["is_valid"][30:40] == 0.0).all()
    assert (faulty["pos_ned"][30:40] == without["pos_ned"][19]).all()
    assert same(without["q_bn"][30:], faulty["q_bn"][30:])
    assert same(without[40:], faulty[40:])


def test_a_freeze_during_a_dropout_stays_invalid():
    """It holds the last estimate, which was not valid."""
    without, faulty = with_and_without(Estimator(), (20, 30, "dropout", 1), (25, 40, "freeze", 1))
    assert (faulty["is_valid"][20:40] == 0.0).all()
    assert same(without[40:], faulty[40:])


def test_a_drift_continues_during_a_dropout_and_a_freeze():
    """After them, the estimates are bit-identical to those with the drift alone."""
    drift = (10, COUNT, "drift.pos_ned", (1.0, 2.0, 3.0))
    _, alone = with_and_without(EVERY_ERROR, drift)
    _, both = with_and_without(EVERY_ERROR, drift, (20, 30, "dropout", 1), (35, 45, "freeze", 1))
    assert same(alone[30:35], both[30:35])
    assert same(alone[45:], both[45:])


def test_a_dropout_holds_the_biased_position():
    """The bias is applied first: the held position includes it, even if the bias changes later."""
    without, faulty = with_and_without(Estimator(), (10, 25, "bias.pos_ned", (1.0, 0.0, 0.0)), (20, 40, "dropout", 1))
    assert (faulty["pos_ned"][20:40] == without["pos_ned"][19] + (1.0, 0.0, 0.0)).all()


@pytest.mark.parametrize("fault", ["dropout", "freeze"])
def test_a_fault_from_the_first_tick_holds_the_first_estimate(fault):
    """There is no earlier estimate to hold."""
    without, faulty = with_and_without(EVERY_ERROR, (0, 10, fault, 1))
    for name in ("pos_ned", "vel_ned"):
        assert (faulty[name][:10] == without[name][0]).all()
    assert (faulty["is_valid"][:10] == (0.0 if fault == "dropout" else 1.0)).all()
    assert same(without[10:], faulty[10:])
