"""Confidence intervals and rank statistics of campaigns against SciPy."""

import numpy as np
import pytest
from scipy import stats

from px4lockstep.campaigns.sensitivity import sensitivity
from px4lockstep.campaigns.statistics import interval_of_mean, interval_of_proportion, interval_of_quantile


@pytest.mark.parametrize(("passed", "count"), [(0, 1), (1, 1), (0, 50), (50, 50), (3, 7), (950, 1000)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_wilson(passed, count, confidence):
    """Within 1e-10: our quantile has 12 digits."""
    theirs = stats.binomtest(passed, count).proportion_ci(confidence, method="wilson")
    ours = interval_of_proportion(passed, count, confidence)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("count", [2, 3, 30, 1000])
def test_student(count):
    """Within 1e-9 of the width."""
    values = np.random.default_rng(count).normal(5.0, 3.0, count)
    theirs = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    ours = interval_of_mean(values)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9 * ours.half_width)


@pytest.mark.parametrize("fraction", [0.05, 0.5, 0.95])
def test_quantile(fraction):
    """Both choose the same two values of the sample."""
    values = np.random.default_rng(1).exponential(size=300)
    theirs = stats.quantile_test(values, p=fraction).confidence_interval(0.95)
    ours = interval_of_quantile(values, fraction)
    assert (ours.low, ours.high) == (theirs.low, theirs.high)


@pytest.mark.parametrize("step", [0.0, 0.5, 2.0])
def test_spearman(step):
    """With and without ties, within rounding."""
    random = np.random.default_rng(2)
    x, y = random.normal(size=(2, 200))
    y = y + 0.4 * x
    if step:
        x, y = np.round(x / step), np.round(y / step)
    ours = sensitivity("x", "y", x, y).correlation
    assert ours.estimate == pytest.approx(stats.spearmanr(x, y).statistic, rel=1e-12)


def test_kruskal_and_wallis():
    """The p-value of groups of strings, with ties."""
    random = np.random.default_rng(3)
    groups = random.integers(0, 4, 200)
    y = np.round(random.normal(size=200) + 0.2 * groups, 1)
    ours = sensitivity("x", "y", groups.astype(float), y, is_number=False)
    theirs = stats.kruskal(*(y[groups == own] for own in range(4)))
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-10)
    assert ours.explained == pytest.approx((theirs.statistic - 3.0) / (200 - 4), rel=1e-10)
