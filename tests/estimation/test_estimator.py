"""The estimator: exact true state, formulas and statistics of noise and bias, delay, invalid arguments.

Statistical bounds are stated in standard errors: the variance of n independent normal deviates has the relative
standard error sqrt(2 / n).
"""

import math

import numpy as np
import pytest
from estimation_bits import EVERY_ERROR, PERIOD_US, estimate, scenarios_of, states_of, tumbling, write_estimator

from px4lockstep.engine.bus import ESTIMATE_ERROR, layout_hash
from px4lockstep.errors import InputError
from px4lockstep.estimation.estimator import ERROR, Estimator
from px4lockstep.math.exponential import exp
from px4lockstep.math.philox import normal4, stream_key
from px4lockstep.math.quaternion import to_euler

QUIET = {
    f"{name}_{unit}": 0.0
    for quantity, unit in (("pos", "m"), ("vel", "mps"), ("yaw", "rad"), ("rate", "rad_s"))
    for name in (f"{quantity}_sigma", f"{quantity}_bias_sigma")
}
AT_REST = states_of(np.zeros((1, 13)) + np.eye(1, 13, 6))
SAMPLES = 100_000
NO_DELAY = {"delay_s": 0.0}


def quiet(**given):
    """Return a delayed estimator with only the given noise."""
    return Estimator("noisy_delayed", **(QUIET | given))


def as_states(estimates):
    """Return estimates as rows of 13 numbers, in the order of the state."""
    return np.hstack([estimates[name] for name in ("pos_ned", "vel_ned", "q_bn", "omega_body")])


def yaw_of(estimates):
    """Return the yaw of each estimate."""
    return np.array([to_euler(tuple(q))[2] for q in estimates["q_bn"].tolist()])


def test_the_estimate_without_errors_is_the_exact_state():
    """Including the sign of zeros. Options for noise, bias and delay have no effect, and the estimate is valid."""
    states = tumbling(50)
    estimates = estimate(Estimator("none", pos_sigma_m=9.0, delay_s=0.012345), states)
    assert as_states(estimates).tobytes() == states["x"][:, :13].tobytes()
    assert (estimates["is_valid"] == 1.0).all()


@pytest.mark.parametrize("ticks", [0, 1, 2, 17, 64])
def test_a_ramp_is_delayed_by_exactly_the_delay(ticks):
    """Sample k is exactly the state of tick k − N; before there is one, it is the current state."""
    x = np.zeros((200, 13))
    x[:, :6] = np.arange(1, 201)[:, None] * np.array([0.1, -0.2, 0.3, 1.0, 2.0, -3.0])
    x[:, 6] = np.cos(np.arange(200) * 0.01)
    x[:, 9] = np.sin(np.arange(200) * 0.01)
    x[:, 10:] = np.arange(200)[:, None] * 0.01
    estimates = as_states(estimate(quiet(delay_s=ticks * PERIOD_US / 1e6), states_of(x)))
    assert (estimates[:ticks] == x[:ticks]).all()
    assert (estimates[ticks:] == x[: 200 - ticks]).all()


def test_noise_is_delayed_with_the_state():
    """An estimator with delay repeats exactly the earlier estimates of one without delay."""
    states = tumbling(100)
    now, late = estimate(Estimator("noisy_delayed", delay_s=0), states), estimate(Estimator("noisy_delayed"), states)
    assert late[:2].tobytes() == now[:2].tobytes()
    assert late[2:].tobytes() == now[:-2].tobytes()


def test_each_tick_follows_the_formula():
    """z = b + σ ξ, b ← φ b + σ_b sqrt(1 − φ²) ξ_b from 0, stepped before the first sample, within 1e-14."""
    chosen = Estimator(
        "noisy_delayed",
        pos_sigma_m=0.3,
        vel_sigma_mps=0.5,
        yaw_sigma_rad=0.0,
        rate_sigma_rad_s=0.7,
        pos_bias_sigma_m=0.2,
        vel_bias_sigma_mps=0.4,
        rate_bias_sigma_rad_s=0.6,
        bias_tau_s=0.05,
        delay_s=0,
    )
    estimates = estimate(chosen, AT_REST, count=20, seed=5)
    keys = [stream_key(5, "estimator"), stream_key(5, "estimator_bias")]
    phi = float(exp(-0.004 / 0.05))
    biases = np.zeros((3, 3))
    for tick in range(20):
        noise, drive = (
            np.array([normal4(key, np.int64(tick), np.int64(lane), np.int64(0))[:3] for lane in range(3)])
            for key in keys
        )
        biases = phi * biases + np.array([[0.2], [0.4], [0.6]]) * math.sqrt(1.0 - phi * phi) * drive
        expected = biases + np.array([[0.3], [0.5], [0.7]]) * noise
        for name, value in zip(("pos_ned", "vel_ned", "omega_body"), expected, strict=True):
            assert estimates[name][tick] == pytest.approx(value, rel=1e-14, abs=1e-15)


def test_each_axis_has_its_own_standard_deviation():
    """Noise and bias scale per axis, with the draws of equal axes; exact, because only the factor differs."""
    equal = {"pos_sigma_m": 0.3, "vel_sigma_mps": 0.5, "rate_sigma_rad_s": 0.7}
    equal |= {"pos_bias_sigma_m": 0.2, "vel_bias_sigma_mps": 0.4, "rate_bias_sigma_rad_s": 0.6}
    by_axis = {name: (sigma, 2.0 * sigma, 0.0) for name, sigma in equal.items()}
    first, other = (estimate(quiet(**sigmas, **NO_DELAY), AT_REST, count=20) for sigmas in (equal, by_axis))
    for name in ("pos_ned", "vel_ned", "omega_body"):
        assert (other[name] == first[name] * (1.0, 2.0, 0.0)).all()
        assert first[name].all()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_noise_of_one_axis_alone_is_drawn(axis):
    """Also if the first axis has none."""
    sigmas = tuple(float(i == axis) for i in range(3))
    names = ("pos_sigma_m", "vel_bias_sigma_mps", "rate_sigma_rad_s", "rate_bias_sigma_rad_s")
    estimates = estimate(quiet(**dict.fromkeys(names, sigmas), **NO_DELAY), AT_REST, count=3)
    for name in ("pos_ned", "vel_ned", "omega_body"):
        assert (estimates[name] != 0.0).any(axis=0).tolist() == [i == axis for i in range(3)]


def test_white_noise_has_the_requested_variance():
    """Within 5 %, 11 standard errors of sqrt(2 / 100,000) = 0.45 %; the mean within 5 standard errors σ / sqrt(n)."""
    sigmas = {"pos_sigma_m": 0.3, "vel_sigma_mps": 0.5, "yaw_sigma_rad": 0.02, "rate_sigma_rad_s": 0.7}
    estimates = estimate(quiet(**sigmas, **NO_DELAY), AT_REST, count=SAMPLES)
    series = [*estimates["pos_ned"].T, *estimates["vel_ned"].T, yaw_of(estimates), *estimates["omega_body"].T]
    for values, sigma in zip(series, [0.3] * 3 + [0.5] * 3 + [0.02] + [0.7] * 3, strict=True):
        assert np.mean(values * values) == pytest.approx(sigma * sigma, rel=0.05)
        assert abs(np.mean(values)) < 5.0 * sigma / math.sqrt(SAMPLES)


def test_the_ten_noises_are_independent_of_each_other_and_of_the_past():
    """Correlations, also with the previous tick, are within 5 standard errors of 1 / sqrt(100,000) = 0.0032."""
    estimates = estimate(Estimator("noisy_delayed", rate_bias_sigma_rad_s=0.0), AT_REST, count=SAMPLES)
    series = np.vstack([estimates["pos_ned"].T, estimates["vel_ned"].T, yaw_of(estimates), estimates["omega_body"].T])
    correlations = np.corrcoef(np.vstack([series[:, 1:], series[:, :-1]])) - np.eye(20)
    assert np.abs(correlations).max() < 5.0 / math.sqrt(SAMPLES)


@pytest.mark.parametrize("period_us", [2_000, 8_000])
def test_a_bias_has_the_requested_variance_at_every_period(period_us):
    """Within 5 %. With τ = 1 ms, samples are uncorrelated: at 2 ms φ² = 0.02, and the standard error is below 0.5 %."""
    sigmas = {"pos_bias_sigma_m": 0.3, "vel_bias_sigma_mps": 0.5, "yaw_bias_sigma_rad": 0.02}
    chosen = quiet(**sigmas, rate_bias_sigma_rad_s=0.7, bias_tau_s=0.001, **NO_DELAY)
    estimates = estimate(chosen, AT_REST, count=SAMPLES, period_us=period_us)
    series = [*estimates["pos_ned"].T, *estimates["vel_ned"].T, yaw_of(estimates), *estimates["omega_body"].T]
    for values, sigma in zip(series, [0.3] * 3 + [0.5] * 3 + [0.02] + [0.7] * 3, strict=True):
        assert np.mean(values * values) == pytest.approx(sigma * sigma, rel=0.05)


def test_the_correlation_of_a_bias_decays_exponentially():
    """φ = exp(−dt / τ) from one tick to the next, within 0.02: 6 standard errors of sqrt((1 − φ²) / n) = 0.0025."""
    chosen = quiet(rate_bias_sigma_rad_s=0.7, bias_tau_s=0.01, **NO_DELAY)
    rates = estimate(chosen, AT_REST, count=SAMPLES)["omega_body"]
    for lag in (1, 3):
        measured = np.mean(rates[lag:] * rates[:-lag], axis=0) / np.mean(rates * rates, axis=0)
        assert measured == pytest.approx(math.exp(-0.004 * lag / 0.01), abs=0.02)


def test_yaw_noise_is_a_rotation_about_down():
    """Roll and pitch do not change, within 1e-13 rad; the yaw changes by the noise; the norm stays 1."""
    states = tumbling(200)
    yaw_sigma_rad = 0.2
    estimates = estimate(quiet(yaw_sigma_rad=yaw_sigma_rad, **NO_DELAY), states)
    key = stream_key(1, "estimator")
    for tick in range(200):
        roll, pitch, yaw = to_euler(tuple(states["x"][tick, 6:10].tolist()))
        got = to_euler(tuple(estimates["q_bn"][tick].tolist()))
        turn = yaw_sigma_rad * normal4(key, np.int64(tick), np.int64(0), np.int64(0))[3]
        assert got[:2] == pytest.approx((roll, pitch), abs=1e-13)
        assert math.remainder(got[2] - yaw - turn, 2.0 * math.pi) == pytest.approx(0.0, abs=1e-13)
    assert np.linalg.norm(estimates["q_bn"], axis=1) == pytest.approx(1.0, abs=1e-15)
    assert (estimates["pos_ned"] == states["x"][:, :3]).all()


def test_the_seed_determines_the_noise():
    """The same seed gives the same noise, another seed gives other noise."""
    states = tumbling(10)
    first, again, other = (estimate(EVERY_ERROR, states, seed=seed) for seed in (1, 1, 2))
    assert first.tobytes() == again.tobytes()
    for name in ("pos_ned", "vel_ned", "omega_body"):
        assert not np.equal(first[name], other[name]).any()


@pytest.mark.parametrize(
    ("changed", "parts"),
    [
        ({"pos_sigma_m": 0.0, "pos_bias_sigma_m": 0.0}, ["pos_ned"]),
        ({"vel_sigma_mps": 0.0, "vel_bias_sigma_mps": 0.0}, ["vel_ned"]),
        ({"yaw_sigma_rad": 0.0, "yaw_bias_sigma_rad": 0.0}, ["q_bn"]),
        ({"rate_sigma_rad_s": 0.0, "rate_bias_sigma_rad_s": 0.0}, ["omega_body"]),
        ({"pos_sigma_m": 0.0, "yaw_sigma_rad": 0.0}, ["pos_ned", "q_bn"]),
        ({"rate_sigma_rad_s": 0.9}, ["omega_body"]),
    ],
    ids=str,
)
def test_a_standard_deviation_does_not_change_other_noise(changed, parts):
    """Each noise has its own counter: the other parts of the estimate are bit-identical."""
    sigmas = {name: getattr(EVERY_ERROR, name) for name in (*QUIET, "bias_tau_s")}
    states = tumbling(30)
    before = estimate(EVERY_ERROR, states)
    after = estimate(Estimator("noisy_delayed", **(sigmas | changed)), states)
    for name in ("pos_ned", "vel_ned", "q_bn", "omega_body"):
        assert (before[name].tobytes() != after[name].tobytes()) == (name in parts)


def test_noise_and_bias_are_different_streams():
    """Otherwise they would be identical with the same standard deviation and no correlation in time."""
    noise = estimate(quiet(pos_sigma_m=1.0, **NO_DELAY), AT_REST, count=10)["pos_ned"]
    bias = estimate(quiet(pos_bias_sigma_m=1.0, bias_tau_s=1e-6, **NO_DELAY), AT_REST, count=10)["pos_ned"]
    assert not np.isclose(noise, bias, rtol=1e-6).any()


def test_a_copied_record_continues_with_the_same_estimates():
    """The record and the last estimate are the whole state: 30 ticks, a copy and 30 more ticks equal 60 ticks."""
    states = tumbling(60)
    estimators = write_estimator(EVERY_ERROR)
    first = estimate(EVERY_ERROR, states[:30], estimators=estimators)
    copied = np.frombuffer(estimators.tobytes(), estimators.dtype).copy()
    second = estimate(EVERY_ERROR, states[30:], estimators=copied)
    assert np.concatenate([first, second]).tobytes() == estimate(EVERY_ERROR, states).tobytes()


def test_writing_a_used_record_resets_it():
    """Tick, biases, drift and ring are reset."""
    states = tumbling(20)
    drifting = scenarios_of(20, (0, 20, "drift.yaw", 1.0))
    estimators = write_estimator(EVERY_ERROR)
    estimate(EVERY_ERROR, states, drifting, estimators=estimators)
    EVERY_ERROR.write(estimators[0], 1, PERIOD_US)
    assert estimators.tobytes() == write_estimator(EVERY_ERROR).tobytes()


def test_the_layout_of_an_error_matches_the_bus():
    """The estimator cannot import the bus and has its own record with the same layout."""
    assert layout_hash(ERROR) == layout_hash(ESTIMATE_ERROR)


def test_the_defaults_are_those_of_the_iris():
    """σ of position 0.02, velocity 0.05, yaw 0.01, rates 0.005; rate bias 0.001 with τ = 50 s; delay 8 ms."""
    iris = Estimator("noisy_delayed")
    assert (iris.pos_sigma_m, iris.vel_sigma_mps) == ((0.02,) * 3, (0.05,) * 3)
    assert (iris.yaw_sigma_rad, iris.rate_sigma_rad_s) == (0.01, (0.005,) * 3)
    assert (iris.rate_bias_sigma_rad_s, iris.bias_tau_s, iris.delay_s) == ((0.001,) * 3, 50.0, 0.008)
    assert (iris.pos_bias_sigma_m, iris.vel_bias_sigma_mps, iris.yaw_bias_sigma_rad) == ((0.0,) * 3, (0.0,) * 3, 0.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "kalman"}, "kind = 'kalman' is unknown; allowed: 'none', 'noisy_delayed', 'python:MODULE:CLASS'"),
        (
            {"pos_sigma_m": -0.1},
            "pos_sigma_m = -0.1 is out of range; it must be one finite number of at least 0, or three",
        ),
        (
            {"yaw_sigma_rad": "1"},
            "yaw_sigma_rad = '1' is not allowed; it must be a number, at least 0.0 and at most 1000.0",
        ),
        ({"bias_tau_s": 0.0}, "bias_tau_s = 0.0 is out of range; it must be at least 1e-12 and at most 10000000.0"),
        ({"delay_s": -0.004}, "delay_s = -0.004 is negative; times and periods are 0 or more"),
    ],
)
def test_an_invalid_estimator_is_refused(given, message):
    """The message has the field, the value and the allowed values."""
    with pytest.raises(InputError) as caught:
        Estimator(**given)
    assert str(caught.value) == f"estimator.{message}"


@pytest.mark.parametrize(
    ("delay_s", "message"),
    [
        (0.009, "is not a whole number of ticks of 0.004 s; use 0.008 or 0.012"),
        (1e-6, "is not a whole number of ticks of 0.004 s; use 0.0 or 0.004"),
        (0.26, "is too long; at most 64 ticks, 0.256 s, are allowed"),
    ],
)
def test_an_invalid_delay_is_refused(delay_s, message):
    """The error comes when the record is written, since it depends on the period; it suggests valid delays."""
    with pytest.raises(InputError) as caught:
        write_estimator(Estimator("noisy_delayed", delay_s=delay_s))
    assert str(caught.value) == f"estimator.delay_s = {delay_s} {message}"


@pytest.mark.parametrize(
    ("seed", "period_us", "message"),
    [(-1, 4_000, "seed = -1 is invalid"), (1, 0, "autopilot period = 0 is out of range; it must be 1 to")],
)
def test_an_invalid_seed_or_period_is_refused(seed, period_us, message):
    """The error comes when the record is written."""
    with pytest.raises(InputError) as caught:
        write_estimator(Estimator(), seed, period_us)
    assert str(caught.value).startswith(message)
