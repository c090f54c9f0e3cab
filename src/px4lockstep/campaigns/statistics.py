"""Intervals of what is estimated from runs: a proportion, a mean, a quantile.

    proportion    Wilson's score interval:      |p - k/n| = z sqrt(p (1 - p) / n), solved for p
    mean          Student's t interval:         m ± t s / sqrt(n)
    quantile      between two order statistics, whose ranks are quantiles of the binomial distribution of n and q

All of them take runs as independent. What that means for runs sampled by Latin hypercube or Sobol', and how often each
interval covers the truth, is in docs/explanation/campaign_statistics.md.

Wilson's interval, since it is right where campaigns are: with few failures or none the usual p ± z sqrt(p (1 - p) / n)
has no width and covers far less often than it says, and the "exact" one of Clopper and Pearson is wider than need be.

References:
    E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).
    L. D. Brown, T. T. Cai, A. DasGupta, Interval estimation for a binomial proportion, Statistical Science 16 (2001).
    W. J. Conover, Practical Nonparametric Statistics, 3rd ed. (1999), section 3.2: quantiles.
"""

import math
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError

Vector = npt.NDArray[np.float64]

CONFIDENCE = 0.95
DIGITS = 12
"""Of the quantiles of distributions: libraries differ in the last bits of a float, and decisions hang on them."""


@dataclass(frozen=True)
class Interval:
    """An estimate and the interval about it."""

    estimate: float  # NaN if there is nothing to estimate from
    low: float  # -inf if nothing bounds it
    high: float  # inf if nothing bounds it
    confidence: float  # how often such intervals contain the truth
    count: int  # how many values it is of: those that are finite numbers

    @property
    def half_width(self) -> float:
        """Half of the width."""
        return 0.5 * (self.high - self.low)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it: None for what is not finite."""
        return {name: value if math.isfinite(value) else None for name, value in asdict(self).items()}


def interval_of_proportion(successes: int, count: int, confidence: float = CONFIDENCE) -> Interval:
    """Return Wilson's score interval of a proportion, of so many successes among a count."""
    if not 0 <= successes <= count:
        raise InputError(f"{successes} successes of {count} can't be; they must be 0 to {count}")
    low, high = wilson_bounds(successes, count, confidence)
    return Interval(successes / count if count else math.nan, float(low), float(high), confidence, count)


def wilson_bounds(successes: Any, count: Any, confidence: float = CONFIDENCE) -> tuple[Any, Any]:
    """Return both ends of Wilson's interval, of numbers or of arrays of them."""
    z = normal_quantile(confidence)
    # Both ends times n: finite for n = 0 too, where they are 0 and 1.
    n, z2 = np.asarray(count, np.float64), z * z
    k = np.asarray(successes, np.float64)
    share = np.divide(k, n, out=np.zeros(np.broadcast(k, n).shape), where=n > 0.0)
    centre = k + 0.5 * z2
    half = z * np.sqrt(k * (1.0 - share) + 0.25 * z2)
    low = np.where(k == 0.0, 0.0, (centre - half) / (n + z2))
    high = np.where(k == n, 1.0, (centre + half) / (n + z2))
    return low, high


def interval_of_mean(values: npt.ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """Return Student's t interval of the mean; one value gives no bounds. Values that are not finite don't count."""
    own = finite_of(values)
    count = len(own)
    mean, std = mean_and_std(own)
    if count < 2:
        return Interval(mean, -math.inf, math.inf, confidence, count)
    half = student_quantile(confidence, count - 1) * std / math.sqrt(count)
    return Interval(mean, mean - half, mean + half, confidence, count)


def interval_of_quantile(values: npt.ArrayLike, fraction: float, confidence: float = CONFIDENCE) -> Interval:
    """Return an interval of a quantile, whatever the distribution.

    It contains the truth as often as it says, or more often. An end for which there are too few values is infinite: the
    95 % quantile has an upper end from 72 values on. Values that are not finite don't count.
    """
    from scipy.special import bdtr

    _check_share(fraction, "the fraction of a quantile")
    _check_share(confidence, "a confidence")
    own = np.sort(finite_of(values))
    count = len(own)
    if not count:
        return Interval(math.nan, -math.inf, math.inf, confidence, 0)
    # How many of the values are below the quantile is binomial.
    below = bdtr(np.arange(count + 1), count, fraction)
    tail = 0.5 * (1.0 - confidence)
    low, high = int(np.searchsorted(below, tail)), int(np.searchsorted(below, 1.0 - tail))
    ends = (float(own[low - 1]) if low else -math.inf, float(own[high]) if high < count else math.inf)
    return Interval(float(np.quantile(own, fraction)), *ends, confidence, count)


def finite_of(values: npt.ArrayLike) -> Vector:
    """Return the values that are finite numbers."""
    own = np.asarray(values, np.float64)
    return own[np.isfinite(own)]


def mean_and_std(values: Vector) -> tuple[float, float]:
    """Return mean and standard deviation (of n - 1), NaN where there are too few values: the same bits everywhere."""
    count = len(values)
    if not count:
        return math.nan, math.nan
    # In units of a power of two, which is exact: no sum overflows.
    _, exponent = math.frexp(float(np.abs(values).max()))
    scaled = [math.ldexp(value, -exponent) for value in values.tolist()]
    mean = math.fsum(scaled) / count
    if count < 2:
        return math.ldexp(mean, exponent), math.nan
    squares = math.fsum((value - mean) * (value - mean) for value in scaled)
    return math.ldexp(mean, exponent), math.ldexp(math.sqrt(squares / (count - 1)), exponent)


def normal_quantile(confidence: float) -> float:
    """Return within how many standard deviations a normal number is, with that confidence."""
    _check_share(confidence, "a confidence")
    return round(NormalDist().inv_cdf(0.5 + 0.5 * confidence), DIGITS)


def student_quantile(confidence: float, freedom: int) -> float:
    """Return the same for Student's t with so many degrees of freedom."""
    from scipy.special import stdtrit

    _check_share(confidence, "a confidence")
    return round(float(stdtrit(freedom, 0.5 + 0.5 * confidence)), DIGITS)


def _check_share(value: float, what: str) -> None:
    if not 0.0 < value < 1.0:
        raise InputError(f"{what} of {value} can't be; it must be above 0 and below 1, such as 0.95")
