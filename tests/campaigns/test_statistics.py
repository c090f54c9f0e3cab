"""Confidence intervals: their coverage on known answers, and edge cases of the counts."""

import math

import numpy as np
import pytest
from interval_coverage import wilson_coverage
from scipy import stats
from scipy.stats import qmc

from px4lockstep.campaigns.statistics import (
    interval_of_mean,
    interval_of_proportion,
    interval_of_quantile,
    mean_and_std,
)
from px4lockstep.errors import InputError

EXPERIMENTS = 4_000
CHANCES = np.linspace(0.01, 0.99, 981)
"""Pass rates in steps of 0.1 %."""


def allowed(share, experiments=EXPERIMENTS):
    """Return four standard errors of a share counted in a number of experiments."""
    return 4.0 * math.sqrt(share * (1.0 - share) / experiments)


# -- proportions -------------------------------------------------------------------------------------------------


def test_the_coverage_of_a_proportion_agrees_with_the_binomial_distribution():
    """Counted in 4,000 campaigns of 200 runs with a pass rate of 0.9, compared with the exact sum."""
    passed = np.random.default_rng(1).binomial(200, 0.9, EXPERIMENTS)
    intervals = [interval_of_proportion(int(k), 200) for k in passed]
    counted = np.mean([own.low <= 0.9 <= own.high for own in intervals])
    [exact] = wilson_coverage(np.array([0.9]), 200)
    assert exact == pytest.approx(0.95, abs=0.015)
    assert counted == pytest.approx(exact, abs=allowed(exact))


@pytest.mark.parametrize(
    ("count", "mean", "least"), [(20, 0.954, 0.899), (100, 0.951, 0.921), (300, 0.950, 0.936), (1000, 0.950, 0.940)]
)
def test_coverage_of_proportions_as_documented(count, mean, least):
    """Exact, over pass rates from 1 to 99 %, as in docs/explanation/campaign_statistics.md."""
    coverage = wilson_coverage(CHANCES, count)
    assert round(coverage.mean(), 3) == mean
    assert round(coverage.min(), 3) == least


@pytest.mark.parametrize("count", [100, 1000])
def test_coverage_is_lowest_where_less_than_one_campaign_in_five_sees_a_failure(count):
    """A failure rate just below 0.18 / n: a campaign that sees one failure overestimates the rate."""
    rare = np.linspace(0.1, 0.25, 1501) / count
    coverage = wilson_coverage(rare, count)
    assert rare[coverage.argmin()] * count == pytest.approx(0.175, abs=0.002)
    assert coverage.min() == pytest.approx(0.84, abs=0.003)


@pytest.mark.parametrize("count", [1, 2, 10, 1000])
def test_all_or_no_successes_give_a_limit_of_1_or_0_and_a_finite_width(count):
    """And mirror each other."""
    none, every = interval_of_proportion(0, count), interval_of_proportion(count, count)
    assert (none.estimate, none.low) == (0.0, 0.0)
    assert (every.estimate, every.high) == (1.0, 1.0)
    z = stats.norm.ppf(0.975)
    assert none.high == pytest.approx(z * z / (count + z * z), rel=1e-11)
    assert every.low == pytest.approx(1.0 - none.high, rel=1e-12)


def test_no_runs_give_unbounded_intervals():
    """Of a proportion, a mean and a quantile; JSON has None for values that are not finite."""
    nothing = interval_of_proportion(0, 0)
    assert math.isnan(nothing.estimate)
    assert (nothing.low, nothing.high, nothing.count) == (0.0, 1.0, 0)
    assert nothing.as_dict() == {"estimate": None, "low": 0.0, "high": 1.0, "confidence": 0.95, "count": 0}
    for own in (interval_of_mean([]), interval_of_mean([math.nan]), interval_of_quantile([math.nan], 0.5)):
        assert math.isnan(own.estimate)
        assert (own.low, own.high, own.count) == (-math.inf, math.inf, 0)


def test_invalid_arguments_are_refused():
    """With the value and what is allowed."""
    with pytest.raises(InputError, match=r"successes = 3 is out of range; it must be 0 to the count, 2"):
        interval_of_proportion(3, 2)
    with pytest.raises(InputError, match=r"confidence = 95 is out of range; it must be above 0 and below 1"):
        interval_of_mean([1.0, 2.0], 95)
    with pytest.raises(InputError, match=r"fraction = 1.0 is out of range"):
        interval_of_quantile([1.0], 1.0)


# -- means -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 5, 30])
def test_the_interval_of_a_mean_covers_95_percent_of_normal_values(count):
    """Student's interval is exact for normal values, however few."""
    values = np.random.default_rng(count).normal(3.0, 2.0, (EXPERIMENTS, count))
    intervals = [interval_of_mean(own) for own in values]
    counted = np.mean([own.low <= 3.0 <= own.high for own in intervals])
    assert counted == pytest.approx(0.95, abs=allowed(0.95))


def test_one_value_has_no_bounds_and_equal_values_no_width():
    one = interval_of_mean([2.5])
    assert (one.estimate, one.low, one.high, one.count) == (2.5, -math.inf, math.inf, 1)
    same = interval_of_mean([0.1] * 7)
    assert (same.estimate, same.low, same.high, same.count) == (0.1, 0.1, 0.1, 7)


def test_values_that_are_not_finite_are_ignored():
    odd = interval_of_mean([1.0, math.nan, 2.0, math.inf, 4.0, -math.inf])
    assert odd == interval_of_mean([1.0, 2.0, 4.0])
    assert odd.count == 3


def test_sums_do_not_depend_on_the_order_and_do_not_overflow():
    """They are exact and rounded once."""
    values = np.random.default_rng(3).normal(size=1000) * 10.0 ** np.random.default_rng(4).integers(-8, 8, 1000)
    assert mean_and_std(values) == mean_and_std(values[::-1])
    mean, std = mean_and_std(np.array([1.7e308, 1.7e308, 1.6e308]))
    assert mean == pytest.approx(5.0 / 3.0 * 1e308, rel=1e-15)
    assert std == pytest.approx(0.1 / math.sqrt(3.0) * 1e308, rel=1e-12)


# -- quantiles ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fraction", [0.5, 0.95])
def test_the_interval_of_a_quantile_covers_at_least_95_percent(fraction):
    """For exponential values, as for any; it is too wide by at most one rank on each side."""
    values = np.random.default_rng(5).exponential(size=(EXPERIMENTS, 200))
    truth = -math.log(1.0 - fraction)
    intervals = [interval_of_quantile(own, fraction) for own in values]
    counted = np.mean([own.low <= truth <= own.high for own in intervals])
    assert 0.95 - allowed(0.95) < counted < 0.975 + allowed(0.975)


def test_an_extreme_quantile_needs_enough_runs():
    """0.95**72 is the first power below 2.5 %."""
    values = np.arange(72.0)
    assert interval_of_quantile(values, 0.95).high == 71.0
    assert interval_of_quantile(values[:71], 0.95).high == math.inf
    assert interval_of_quantile(values[:71], 0.05).low == -math.inf


# -- how inputs are sampled --------------------------------------------------------------------------------------


def smooth(x):
    """Return a function of four inputs in [0, 1] with mean 1: each factor has mean 1."""
    return np.prod(1.0 + np.array([1.0, 0.6, 0.3, 0.1]) * (x - 0.5) * (1.0 + x / 2.0) - shift(), axis=-1)


def shift():
    """Return the mean of a (x - 1/2)(1 + x/2), which is a/24."""
    return np.array([1.0, 0.6, 0.3, 0.1]) / 24.0


SAMPLERS = {
    "random": lambda seed: np.random.default_rng(seed).uniform(size=(256, 4)),
    "latin_hypercube": lambda seed: qmc.LatinHypercube(4, rng=seed).random(256),
    "sobol": lambda seed: qmc.Sobol(4, rng=seed).random_base2(8),
}
SEEDS = 400


@pytest.fixture(scope="module")
def sampled():
    """Return, for each sampling method, the RMS error of 400 means of 256 runs and the coverage of the interval."""
    found = {}
    for name, sample in SAMPLERS.items():
        values = [smooth(sample(seed)) for seed in range(SEEDS)]
        intervals = [interval_of_mean(own) for own in values]
        rms = math.sqrt(np.mean([(own.estimate - 1.0) ** 2 for own in intervals]))
        found[name] = (rms, np.mean([own.low <= 1.0 <= own.high for own in intervals]))
    return found


def test_sobol_and_latin_hypercube_beat_random(sampled):
    """RMS errors of 0.0277, 0.0059 and 0.0002, each uncertain by 4 % with 400 seeds."""
    assert sampled["random"][0] == pytest.approx(0.0277, rel=0.15)
    assert sampled["latin_hypercube"][0] < sampled["random"][0] / 4.0
    assert sampled["sobol"][0] < sampled["random"][0] / 80.0


def test_half_of_a_latin_hypercube_has_half_of_its_gain():
    """In variance: 1 - 1/2 (1 - 0.0059² / 0.0277²) = 0.52 of the random one; the ratio is uncertain by 5 %."""
    errors = {name: [smooth(SAMPLERS[name](seed)[:128]).mean() - 1.0 for seed in range(SEEDS)] for name in SAMPLERS}
    rms = {name: math.sqrt(np.mean(np.square(own))) for name, own in errors.items()}
    assert rms["latin_hypercube"] / rms["random"] == pytest.approx(math.sqrt(0.52), rel=0.2)


def test_intervals_are_accurate_for_random_sampling_and_conservative_otherwise(sampled):
    """They assume independent runs, so better sampling does not make them narrower."""
    assert sampled["random"][1] == pytest.approx(0.95, abs=allowed(0.95, SEEDS))
    assert sampled["latin_hypercube"][1] == 1.0
    assert sampled["sobol"][1] == 1.0
