"""Values of distributions: compared with SciPy's quantiles, and within their limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from px4lockstep.campaigns.distributions import check_distribution, value_of
from px4lockstep.campaigns.file_tables import Vary

POINTS = [1e-9, 0.01, 0.3, 0.5, 0.9, 0.999999]


def vary(distribution, key="airframe.mass_kg", **options):
    return Vary(key=key, distribution=distribution, **options)


@pytest.mark.parametrize("u", POINTS)
def test_values_are_the_quantiles_of_the_distributions(u):
    """Within 1e-12: the package's normal quantile is accurate to 1e-13 standard deviations."""
    low_to_high = vary("uniform", low=-2.0, high=3.0)
    assert value_of(low_to_high, u) == pytest.approx(-2.0 + 5.0 * u, rel=1e-15)
    assert value_of(vary("normal", mean=1.5, std=0.2), u) == pytest.approx(stats.norm.ppf(u, 1.5, 0.2), rel=1e-12)
    expected = stats.lognorm.ppf(u, 0.3, scale=2.0)
    assert value_of(vary("lognormal", median=2.0, sigma=0.3), u) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("u", POINTS)
def test_a_truncated_normal_agrees_with_scipy(u):
    """Truncated at both ends, and at one."""
    both = vary("normal", mean=1.0, std=0.5, low=0.6, high=1.2)
    assert value_of(both, u) == pytest.approx(stats.truncnorm.ppf(u, -0.8, 0.4, 1.0, 0.5), rel=1e-10)
    one = vary("normal", mean=1.0, std=0.5, high=1.2)
    assert value_of(one, u) == pytest.approx(stats.truncnorm.ppf(u, -np.inf, 0.4, 1.0, 0.5), rel=1e-9)


@given(st.floats(2.0**-53, 1.0 - 2.0**-53))
def test_no_value_is_beyond_a_limit(u):
    cut = vary("lognormal", median=1.0, sigma=2.0, low=0.5, high=3.0)
    assert 0.5 <= value_of(cut, u) <= 3.0
    assert -1.0 <= value_of(vary("uniform", low=-1.0, high=2.0), u) <= 2.0


def test_whole_numbers_are_equally_frequent_including_both_limits():
    """For a thousand equidistant points."""
    values = [value_of(vary("uniform", low=1, high=4, whole=True), (i + 0.5) / 1000.0) for i in range(1000)]
    assert [values.count(value) for value in (1, 2, 3, 4)] == [250] * 4
    assert all(isinstance(value, int) for value in values)


def test_choices_have_their_shares():
    """A value with weight 0 is never chosen, not even at the end of the unit interval."""
    own = vary("choice", values=("a", "b", "c"), weights=(1.0, 3.0, 0.0))
    values = [value_of(own, (i + 0.5) / 1000.0) for i in range(1000)]
    assert [values.count(value) for value in "abc"] == [250, 750, 0]
    assert value_of(own, 1.0 - 2.0**-53) == "b"


def test_times_are_whole_microseconds():
    """The spec file does not accept fractions of a microsecond."""
    value = value_of(vary("uniform", key="scenario.events[0].at_s", low=10.0, high=20.0), 1.0 / 3.0)
    assert value == 13.333333
    for key in ("airframe.mass_kg", "estimator.rate_sigma_rad_s"):
        assert value_of(vary("uniform", key=key, low=10.0, high=20.0), 1.0 / 3.0) == pytest.approx(40 / 3, rel=1e-15)


@pytest.mark.parametrize(
    ("own", "text"),
    [
        (vary("uniform", low=1.0), "vary[0].high is missing; uniform needs low and high"),
        (vary("uniform", low=2.0, high=1.0), "vary[0].high = 1.0 is not above low = 2.0"),
        (vary("uniform", low=1.0, high=2.0, std=1.0), "vary[0].std = 1.0 is not an option of uniform; allowed: low,"),
        (vary("uniform", low=1.0, high=2.5, whole=True), "vary[0].whole = true needs whole numbers as low and high"),
        (vary("normal", mean=1.0), "vary[0].std is missing; normal needs mean and std"),
        (vary("lognormal", median=1.0, sigma=0.1, high=-1.0), "vary[0]: high = -1.0 excludes practically all"),
        (vary("grid"), "vary[0].values is missing; grid needs values"),
        (vary("choice", values=(1, 2), weights=(1.0,)), "vary[0].weights has 1 entries for 2 values"),
        (vary("choice", values=(1, 2), weights=(0.0, 0.0)), "must be 0 or more, and not all 0"),
    ],
)
def test_an_invalid_distribution_is_reported(own, text):
    """With key, value and what is required."""
    assert any(text in said for _, said in check_distribution(own, "vary[0]"))


def test_valid_distributions_have_no_errors():
    """With every option that a distribution may have."""
    for own in (
        vary("uniform", low=0, high=1, whole=True),
        vary("normal", mean=0.0, std=1.0, low=-1.0, high=1.0),
        vary("lognormal", median=1.0, sigma=1.0, low=0.0),
        vary("choice", values=("a", "b"), weights=(0.0, 1.0)),
        vary("list", values=(1, 2)),
    ):
        assert list(check_distribution(own, "vary[0]")) == []
