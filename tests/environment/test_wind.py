"""Wind: its models, the Ornstein-Uhlenbeck process bit by bit and in its statistics, and added gusts.

Statistical bounds are stated in standard errors of their estimator. For a Gaussian process with autocorrelation rho,
observed for a time D on n independent axes, the variance estimate has the relative standard error
sqrt(2 I / (n D)), I = integral of rho^2 over all lags; for exp(-|t| / tau) that is I = tau.
"""

import math

import numpy as np
import pytest
from environment_bits import blow, write_wind

from px4lockstep.environment.gust import Gust
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError
from px4lockstep.math.exponential import exp
from px4lockstep.math.philox import normal4, stream_key

DURATION_S = 40_000.0
TAU_S = 5.0
SAMPLE_S = 0.1
STEADY = Wind("ou", wind_sigma_ned=(1.0, 1.0, 1.0), wind_tau_s=TAU_S)


@pytest.fixture(scope="module", params=[10_000, 20_000], ids=["10 ms", "20 ms"])
def steady(request):
    """Return 40,000 s of a unit process, sampled every 0.1 s, without the first 20 tau."""
    stride = round(SAMPLE_S * 1e6) // request.param
    samples = blow(STEADY, round(DURATION_S / SAMPLE_S), seed=11, period_us=request.param, stride=stride)
    return samples[round(20.0 * TAU_S / SAMPLE_S) :]


def test_no_wind_is_no_wind():
    """Exactly zero, even if a mean is given."""
    assert blow(Wind("none", wind_mean_ned=(3.0, 2.0, 1.0)), 3).tolist() == [[0.0, 0.0, 0.0]] * 3


def test_constant_wind_is_its_mean():
    """Exactly, at every tick."""
    assert blow(Wind("constant", wind_mean_ned=(3.0, -2.0, 0.5)), 3).tolist() == [[3.0, -2.0, 0.5]] * 3


def test_each_tick_of_ou_matches_the_formula():
    """mean + w, w <- phi w + sigma sqrt(1 - phi^2) xi(tick), from 0, stepped before its first sample: bit-identical."""
    mean, sigma = (2.0, -1.0, 0.25), (1.5, 1.25, 0.5)
    key = stream_key(5, "wind")
    phi = float(exp(-0.001 / 3.0))
    state = [0.0, 0.0, 0.0]
    expected = []
    for tick in range(20):
        xi = normal4(key, np.int64(tick), np.int64(0), np.int64(0))
        for i in range(3):
            state[i] = phi * state[i] + sigma[i] * math.sqrt(1.0 - phi * phi) * xi[i]
        expected.append([mean[i] + state[i] for i in range(3)])
    assert blow(Wind("ou", wind_mean_ned=mean, wind_sigma_ned=sigma, wind_tau_s=3.0), 20, seed=5).tolist() == expected


def test_ou_has_the_given_variance_at_any_period(steady):
    """Within 5 %, which is 5.5 standard errors: sqrt(2 x 5 s / (3 x 40,000 s)) = 0.9 %."""
    assert np.mean(steady * steady) == pytest.approx(1.0, rel=0.05)


def test_the_autocorrelation_of_ou_is_exponential(steady):
    """Within 0.04, 6 standard errors of an autocorrelation, at most sqrt(5 s / (3 x 40,000 s)) = 0.0065."""
    for lag_s in (1.0, 5.0, 10.0):
        lag = round(lag_s / SAMPLE_S)
        measured = np.mean(steady[lag:] * steady[:-lag]) / np.mean(steady * steady)
        assert measured == pytest.approx(math.exp(-lag_s / TAU_S), abs=0.04)


def test_the_axes_of_ou_are_independent(steady):
    """Cross-correlations within 0.06, which is 5 standard errors of sqrt(5 s / 40,000 s) = 0.011."""
    correlations = np.corrcoef(steady.T)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() < 0.06


def test_one_long_ou_step_equals_many_short_ones():
    """The decay of ten steps is that of one ten times as long, and so is the variance added: 1e-12, from 1 - phi^2."""
    short, long = write_wind(STEADY, period_us=1_000)[0], write_wind(STEADY, period_us=10_000)[0]
    decay, gain = short["decay"], short["gain_ned"][0]
    assert long["decay"] == pytest.approx(decay**10, rel=1e-14)
    added = sum((gain * decay**k) ** 2 for k in range(10))
    assert long["gain_ned"][0] ** 2 == pytest.approx(added, rel=1e-12)


def test_a_standard_deviation_of_zero_is_constant_wind():
    """Exactly the mean, on that axis only."""
    samples = blow(Wind("ou", wind_mean_ned=(1.0, 2.0, 3.0), wind_sigma_ned=(0.0, 1.0, 0.0)), 50)
    assert samples[:, [0, 2]].tolist() == [[1.0, 3.0]] * 50
    assert np.ptp(samples[:, 1]) > 0.0


@pytest.mark.parametrize("kind", ["ou", "dryden"])
def test_a_copied_record_continues_the_same_wind(kind):
    """The record is the whole state: 30 ticks, a copy and 30 more are bit-identical to 60 at once."""
    wind = Wind(kind, wind_mean_ned=(1.0, 2.0, 0.0))
    winds = write_wind(wind)
    first = blow(wind, 30, winds=winds)
    second = blow(wind, 30, winds=np.frombuffer(winds.tobytes(), winds.dtype).copy())
    assert np.concatenate([first, second]).tobytes() == blow(wind, 60).tobytes()


@pytest.mark.parametrize("kind", ["ou", "dryden"])
def test_the_seed_determines_the_wind(kind):
    """The same seed gives the same wind, another seed another one."""
    wind = Wind(kind)
    assert blow(wind, 10, seed=1).tobytes() == blow(wind, 10, seed=1).tobytes()
    assert not np.equal(blow(wind, 10, seed=1), blow(wind, 10, seed=2)).any()


@pytest.mark.parametrize("kind", ["none", "constant", "ou", "dryden"])
def test_a_gust_adds_to_any_wind_and_leaves_it_unchanged(kind):
    """Wind plus gust while the gust is active, bit-identical wind before and after, so it evolves independently."""
    wind = Wind(kind, wind_mean_ned=(1.0, -2.0, 0.5))
    alone = blow(wind, 60)
    gusty = blow(wind, 60, gusts=[Gust(start_s=0.02, end_s=0.04, vel_ned=(3.3, 0.7, -0.1))])
    expected = alone.copy()
    expected[20:40] += (3.3, 0.7, -0.1)
    assert gusty.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"wind": "gale"},
            "wind = 'gale' is unknown; allowed: 'none', 'constant', 'ou', 'dryden', 'python:MODULE:CLASS'",
        ),
        (
            {"wind": ["ou"]},
            "wind = ['ou'] is not allowed; allowed: 'none', 'constant', 'ou', 'dryden', 'python:MODULE:CLASS'",
        ),
        ({"wind_mean_ned": (1.0, 2.0)}, "wind_mean_ned = [1.0, 2.0] is not a vector; it must be three numbers"),
        (
            {"wind_mean_ned": (0.0, float("inf"), 0.0)},
            "wind_mean_ned[1] = inf is not allowed; it must be a finite number, at least -150.0 and at most 150.0",
        ),
        (
            {"wind_sigma_ned": (1.0, 1.0, -0.5)},
            "wind_sigma_ned[2] = -0.5 is out of range; it must be at least 0.0 and at most 150.0",
        ),
        ({"wind_tau_s": 0.0}, "wind_tau_s = 0.0 is out of range; it must be at least 1e-12 and at most 10000000.0"),
        (
            {"wind_tau_s": True},
            "wind_tau_s = true is not allowed; it must be a number, at least 1e-12 and at most 10000000.0",
        ),
        (
            {"dryden_height_m": 3.0},
            "dryden_height_m = 3.0 is out of range; it must be at least 3.048 and at most 304.8",
        ),
        (
            {"dryden_wind_20ft_mps": 0.0},
            "dryden_wind_20ft_mps = 0.0 is out of range; it must be at least 0.01 and at most 100.0",
        ),
    ],
)
def test_invalid_wind_is_rejected(given, message):
    """The message gives the field, the value and what is allowed."""
    with pytest.raises(InputError) as caught:
        Wind(**given)
    assert str(caught.value) == f"environment.{message}"


@pytest.mark.parametrize(
    ("seed", "period_us", "message"),
    [
        (-1, 1_000, "seed = -1 is invalid"),
        (1, 0, "wind period = 0 is out of range; it must be 1 to"),
        (1, 1_000.0, "wind period = 1000.0 is not an integer number of microseconds"),
    ],
)
def test_an_invalid_seed_or_period_is_rejected(seed, period_us, message):
    """When the wind is written, which is when they are known."""
    with pytest.raises(InputError) as caught:
        write_wind(Wind("ou"), seed, period_us)
    assert str(caught.value).startswith(message)


def test_a_wind_copies_lists_and_arrays():
    """Vectors become tuples, so later changes by the caller have no effect."""
    mean = np.array([1.0, 2.0, 3.0])
    wind = Wind("constant", wind_mean_ned=mean, wind_sigma_ned=[1, 1, 1])
    mean[0] = 9.0
    assert (wind.wind_mean_ned, wind.wind_sigma_ned) == ((1.0, 2.0, 3.0), (1.0, 1.0, 1.0))
