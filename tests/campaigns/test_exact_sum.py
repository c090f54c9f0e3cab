"""The sum of a vector is that of `math.fsum`, bit for bit."""

import math

import numpy as np
import pytest

from px4lockstep.campaigns import exact_sum as module
from px4lockstep.campaigns.exact_sum import FEW, exact_sum


def same_bits(a, b):
    return np.float64(a).tobytes() == np.float64(b).tobytes()


def vectors(kind, rng, count):
    """Return a random vector of one kind."""
    signs = rng.choice([-1.0, 1.0], count)
    if kind == "uniform":
        return rng.random(count)
    if kind == "squares":
        return rng.normal(0.0, 1e-3, count) ** 2
    if kind == "wide":
        return signs * np.ldexp(rng.random(count), rng.integers(-90, 90, count))
    if kind == "cancelling":
        half = signs[: count // 2] * np.ldexp(rng.random(count // 2), rng.integers(-40, 40, count // 2))
        return np.concatenate([half, -half[::-1], rng.normal(0.0, 1e-12, count % 2 + 3)])
    if kind == "integers":
        return rng.integers(-(2**53), 2**53, count).astype(np.float64)
    if kind == "small":
        return np.ldexp(signs * rng.random(count), -1050)
    return np.full(count, rng.random())


KINDS = ("uniform", "squares", "wide", "cancelling", "integers", "small", "constant")


@pytest.mark.parametrize("kind", KINDS)
def test_the_sum_is_that_of_fsum(kind):
    """For vectors of 1 to 10,000 numbers of one sign, of both, of many magnitudes, and with complete cancellation."""
    rng = np.random.default_rng(7)
    for count in (0, 1, FEW, FEW + 1, 100, 999, 6_801, 10_000):
        for _ in range(20):
            values = vectors(kind, rng, count)
            assert same_bits(exact_sum(values), math.fsum(values.tolist())), (kind, count)


def test_a_sum_halfway_between_two_numbers_is_rounded_to_even():
    """Where a rest decides, however small it is."""
    for tail in (0.0, 1e-300, -1e-300, 2.0**-100, -(2.0**-100)):
        for first in (1.0, 1.0 + 2.0**-52):
            values = np.zeros(100)
            values[3], values[50], values[99] = first, 2.0**-53, tail
            assert same_bits(exact_sum(values), math.fsum(values.tolist())), (first, tail)


@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_give_the_result_of_fsum(special):
    """NaN, or an infinity."""
    values = np.ones(1_000)
    values[500] = special
    assert same_bits(exact_sum(values), math.fsum(values.tolist()))


def test_errors_are_those_of_fsum():
    """Both infinities, and an overflow."""
    both, large = np.ones(1_000), np.full(1_000, 1.7e308)
    both[3], both[4] = math.inf, -math.inf
    with pytest.raises(ValueError, match="inf"):
        exact_sum(both)
    with pytest.raises(OverflowError, match="overflow"):
        exact_sum(large)


def test_fsum_is_rarely_needed(monkeypatch):
    """For sums without cancellation, the bound of the error decides in all of 500 cases."""
    calls, rng = [], np.random.default_rng(3)
    monkeypatch.setattr(module.math, "fsum", lambda values, fsum=math.fsum: calls.append(len(values)) or fsum(values))
    for _ in range(500):
        exact_sum(rng.random(6_801))
    assert max(calls) == 4
