"""Confidence intervals of a proportion, a mean or a quantile, estimated from runs.

    proportion    Wilson's score interval:      |p - k/n| = z sqrt(p (1 - p) / n), solved for p
    mean          Student's t interval:         m ± t s / sqrt(n)
    quantile      between two order statistics, whose ranks are quantiles of the binomial distribution of n and q

All of them assume independent runs. docs/explanation/campaign_statistics.md explains what that means for Latin
hypercube and Sobol sampling, and gives the measured coverage of each interval.

Wilson's interval is accurate where most campaigns are. With few failures or none, the usual p ± z sqrt(p (1 - p) / n)
has almost no width and covers far less than its nominal confidence; the "exact" Clopper-Pearson interval is wider than
necessary.

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
"""Decimal places kept of distribution quantiles: libraries differ in the last bits, and decisions depend on them."""


@dataclass(frozen=True)
class Interval:
    """An estimate and its confidence interval."""

    estimate: float  # NaN without values
    low: float  # -inf if unbounded
    high: float  # inf if unbounded
    confidence: float  # nominal coverage
    count: int  # number of finite values used

    @property
    def half_width(self) -> float:
        """Half the width."""
        return 0.5 * (self.high - self.low)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON representation, with None for values that are not finite."""
        return {name: value if math.isfinite(value) else None for name, value in asdict(self).items()}


def interval_of_proportion(successes: int, count: int, confidence: float = CONFIDENCE) -> Interval:
    """Return Wilson's score interval of a proportion, from the number of successes and the total count."""
    if not 0 <= successes <= count:
        raise InputError(f"successes = {successes} is out of range; it must be 0 to the count, {count}")
    low, high = wilson_bounds(successes, count, confidence)
    return Interval(successes / count if count else math.nan, float(low), float(high), confidence, count)


def wilson_bounds(successes: Any, count: Any, confidence: float = CONFIDENCE) -> tuple[Any, Any]:
    """Return both ends of Wilson's interval, for scalars or arrays."""
    z = normal_quantile(confidence)
    # Multiplied by n, so that n = 0 is finite, too: the ends are then 0 and 1.
    n, z2 = np.asarray(count, np.float64), z * z
    k = np.asarray(successes, np.float64)
    share = np.divide(k, n, out=np.zeros(np.broadcast(k, n).shape), where=n > 0.0)
    centre = k + 0.5 * z2
    half = z * np.sqrt(k * (1.0 - share) + 0.25 * z2)
    low = np.where(k == 0.0, 0.0, (centre - half) / (n + z2))
    high = np.where(k == n, 1.0, (centre + half) / (n + z2))
    return low, high


def interval_of_mean(values: npt.ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """Return Student's t interval of the mean, unbounded for a single value. Non-finite values are ignored."""
    own = finite_of(values)
    count = len(own)
    mean, std = mean_and_std(own)
    if count < 2:
        return Interval(mean, -math.inf, math.inf, confidence, count)
    half = student_quantile(confidence, count - 1) * std / math.sqrt(count)
    return Interval(mean, mean - half, mean + half, confidence, count)


def interval_of_quantile(values: npt.ArrayLike, fraction: float, confidence: float = CONFIDENCE) -> Interval:
    """Return a distribution-free confidence interval of a quantile.

    The coverage is at least the nominal confidence. An end with too few values is infinite: at 95 % confidence, the
    95 % quantile has an upper end only with 72 values or more. Non-finite values are ignored.
    """
    from scipy.special import bdtr

    _check_share(fraction, "fraction")
    _check_share(confidence, "confidence")
    own = np.sort(finite_of(values))
    count = len(own)
    if not count:
        return Interval(math.nan, -math.inf, math.inf, confidence, 0)
    # The number of values below the quantile has a binomial distribution.
    below = bdtr(np.arange(count + 1), count, fraction)
    tail = 0.5 * (1.0 - confidence)
    low, high = int(np.searchsorted(below, tail)), int(np.searchsorted(below, 1.0 - tail))
    ends = (float(own[low - 1]) if low else -math.inf, float(own[high]) if high < count else math.inf)
    return Interval(float(np.quantile(own, fraction)), *ends, confidence, count)


def finite_of(values: npt.ArrayLike) -> Vector:
    """Return the finite values."""
    own = np.asarray(values, np.float64)
    return own[np.isfinite(own)]


def mean_and_std(values: Vector) -> tuple[float, float]:
    """Return mean and standard deviation (with n - 1), NaN with too few values; bit-identical on every machine."""
    count = len(values)
    if not count:
        return math.nan, math.nan
    # Scale by a power of two, which is exact, so that no sum overflows.
    _, exponent = math.frexp(float(np.abs(values).max()))
    scaled = [math.ldexp(value, -exponent) for value in values.tolist()]
    mean = math.fsum(scaled) / count
    if count < 2:
        return math.ldexp(mean, exponent), math.nan
    squares = math.fsum((value - mean) * (value - mean) for value in scaled)
    return math.ldexp(mean, exponent), math.ldexp(math.sqrt(squares / (count - 1)), exponent)


def normal_quantile(confidence: float) -> float:
    """Return the half-width, in standard deviations, of the central interval of a normal distribution."""
    _check_share(confidence, "confidence")
    return round(NormalDist().inv_cdf(0.5 + 0.5 * confidence), DIGITS)


def student_quantile(confidence: float, freedom: int) -> float:
    """Return the half-width of the central interval of Student's t distribution."""
    from scipy.special import stdtrit

    _check_share(confidence, "confidence")
    return round(float(stdtrit(freedom, 0.5 + 0.5 * confidence)), DIGITS)


def _check_share(value: float, what: str) -> None:
    if not 0.0 < value < 1.0:
        raise InputError(f"{what} = {value} is out of range; it must be above 0 and below 1, such as 0.95")
