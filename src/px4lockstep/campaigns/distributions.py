"""Map a point of the unit interval to a value of a distribution, by its inverse distribution function.

    uniform     low + u (high - low)                       whole: floor(low + u (high - low + 1))
    normal      mean + std Q(u)                            Q the standard normal quantile
    lognormal   median exp(sigma Q(u))
    choice      the first value whose cumulative share exceeds u

A truncated normal uses Q(F(a) + u (F(b) - F(a))), with the limits a and b in standard deviations. Q and exp are the
package's own functions, and F inverts Q by bisection: all are bit-identical on every machine.
"""

import functools
import math
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from px4lockstep.campaigns.file_tables import Vary
from px4lockstep.jit import interpreted
from px4lockstep.math.exponential import exp, log
from px4lockstep.math.philox import normal_quantile
from px4lockstep.part import show

SMALLEST = 2.0**-53
"""Quantiles are evaluated from this value to 1 minus this value."""

LARGEST_WHOLE = 2**53
"""Up to here, a float represents every whole number exactly."""
LEAST_LEFT = 1e-9
"""Minimum probability between the limits; with less, quantiles are rounded to a few values."""

NEEDS: dict[str, tuple[str, ...]] = {"uniform": ("low", "high"), "normal": ("mean", "std")}
NEEDS |= {"lognormal": ("median", "sigma"), "choice": ("values",), "grid": ("values",), "list": ("values",)}
MAY_HAVE = {"uniform": ("whole",), "normal": ("low", "high"), "lognormal": ("low", "high"), "choice": ("weights",)}
OPTIONS = ("low", "high", "whole", "mean", "std", "median", "sigma", "values", "weights")
SAMPLED = ("uniform", "normal", "lognormal", "choice")
"""Distributions that use a dimension of the sample."""
MICROSECONDS = 6
SPEEDS = ("_m_s", "_rad_s", "_deg_s")
"""Suffixes that look like times but are speeds or rates."""


def check_distribution(vary: Vary, name: str) -> Iterator[tuple[str, str]]:
    """Yield the errors of an input, each with its key; `name` is the name of the table in the file."""
    kind = vary.distribution
    allowed = (*NEEDS[kind], *MAY_HAVE.get(kind, ()))
    given = [option for option in OPTIONS if getattr(vary, option) is not None and getattr(vary, option) is not False]
    for option in NEEDS[kind]:
        if option not in given:
            yield option, f"{name}.{option} is missing; {kind} needs {' and '.join(NEEDS[kind])}"
    for option in given:
        if option not in allowed:
            value = show(getattr(vary, option))
            yield option, f"{name}.{option} = {value} is not an option of {kind}; allowed: {', '.join(allowed)}"
    if vary.low is not None and vary.high is not None and not vary.low < vary.high:
        yield "high", f"{name}.high = {vary.high} is not above low = {vary.low}; high must be greater than low"
    if vary.whole and not all(isinstance(end, int) for end in (vary.low, vary.high)):
        yield "whole", f"{name}.whole = true needs whole numbers as low and high, not {vary.low} and {vary.high}"
    elif vary.whole and any(abs(end) > LARGEST_WHOLE for end in (vary.low or 0, vary.high or 0)):
        yield "whole", f"{name}.whole = true allows low and high up to {LARGEST_WHOLE:,}; use a list for larger numbers"
    if kind in ("normal", "lognormal") and all(option in given for option in NEEDS[kind]):
        a, b = _cuts(vary)
        below, above = _probabilities(a, b)
        left = above - below
        if left < LEAST_LEFT and (a is None or b is None or a < b):
            cuts = " and ".join(f"{end} = {getattr(vary, end)}" for end in ("low", "high") if end in given)
            verb = "exclude" if " and " in cuts else "excludes"
            text = f"{name}: {cuts} {verb} practically all of this {kind}; move the limits towards its centre"
            yield "low" if "low" in given else "high", text
    if vary.weights is not None and vary.values is not None:
        if len(vary.weights) != len(vary.values):
            yield "weights", f"{name}.weights has {len(vary.weights)} entries for {len(vary.values)} values"
        elif min(vary.weights) < 0.0 or not sum(vary.weights) > 0.0:
            yield (
                "weights",
                f"{name}.weights = {show(vary.weights)} is invalid; weights must be 0 or more, and not all 0",
            )


def value_of(vary: Vary, u: float) -> Any:
    """Return the value of a sampled input for a point of the unit interval."""
    if vary.distribution == "choice":
        return _chosen(vary, u)
    if vary.distribution == "uniform":
        low, high = float(vary.low or 0), float(vary.high or 0)
        if vary.whole:
            return min(math.floor(low + u * (high - low + 1.0)), int(high))
        return in_time(vary.key, low + u * (high - low))
    if vary.distribution == "normal":
        value = float(vary.mean or 0) + float(vary.std or 0) * _quantile(u, *_cuts(vary))
    else:
        value = float(vary.median or 0) * interpreted(exp)(float(vary.sigma or 0) * _quantile(u, *_cuts(vary)))
    low, high = -math.inf if vary.low is None else float(vary.low), math.inf if vary.high is None else float(vary.high)
    return in_time(vary.key, min(max(value, low), high))


def _cuts(vary: Vary) -> tuple[float | None, float | None]:
    """Return the limits of a truncated normal or lognormal, in standard deviations."""
    if vary.distribution == "normal":
        mean, std = float(vary.mean or 0), float(vary.std or 0)
        low, high = (None if cut is None else (cut - mean) / std for cut in (vary.low, vary.high))
    else:
        median, sigma = float(vary.median or 0), float(vary.sigma or 0)
        low, high = (None if cut is None else _logarithm(cut / median) / sigma for cut in (vary.low, vary.high))
    return low, high


def in_time(key: str, value: float) -> float:
    """Round the value of a key that is a time to whole microseconds; return other values unchanged."""
    is_time = key.endswith("_s") and not key.endswith(SPEEDS)
    return round(value, MICROSECONDS) if is_time else value


def _chosen(vary: Vary, u: float) -> Any:
    values = vary.values or ()
    weights = vary.weights or (1.0,) * len(values)
    total = math.fsum(weights)
    for value, share in zip(values, accumulate(weights), strict=True):
        if u * total < share:
            return value
    return next(value for value, weight in zip(reversed(values), reversed(weights), strict=True) if weight > 0.0)


def _quantile(u: float, low: float | None, high: float | None) -> float:
    """Return the quantile of a standard normal distribution truncated to two limits."""
    if low is not None or high is not None:
        below, above = _probabilities(low, high)
        u = below + u * (above - below)
    return float(interpreted(normal_quantile)(min(max(u, SMALLEST), 1.0 - SMALLEST)))


def _probabilities(low: float | None, high: float | None) -> tuple[float, float]:
    """Return the probability of a standard normal variable below each of two limits."""
    return (0.0 if low is None else _probability(low)), (1.0 if high is None else _probability(high))


@functools.cache
def _probability(limit: float) -> float:
    """Return the probability of a standard normal variable below a limit, by bisection of the quantile."""
    quantile = interpreted(normal_quantile)
    low, high = SMALLEST, 1.0 - SMALLEST
    if limit <= quantile(low):
        return 0.0
    if limit >= quantile(high):
        return 1.0
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if quantile(middle) < limit else (low, middle)
    return high


def _logarithm(ratio: float) -> float:
    return float(interpreted(log)(ratio)) if ratio > 0.0 else -math.inf
