"""From a point of the unit interval to a value of a distribution, by the inverse of its distribution function.

    uniform     low + u (high - low)                       whole: floor(low + u (high - low + 1))
    normal      mean + std Q(u)                            Q the standard normal quantile
    lognormal   median exp(sigma Q(u))
    choice      the first value whose share, and those before it, exceed u

A normal that is cut off has Q(F(a) + u (F(b) - F(a))), with a and b the cuts in standard deviations. Q and exp are the
package's own: the same bits on every machine.
"""

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
"""The ends of the unit interval that a quantile is asked for."""

LARGEST_WHOLE = 2**53
"""Up to here a float has every whole number."""
LEAST_LEFT = 1e-9
"""What cuts must leave of a distribution: with less, its quantiles are rounded to a few values, or one."""

NEEDS: dict[str, tuple[str, ...]] = {"uniform": ("low", "high"), "normal": ("mean", "std")}
NEEDS |= {"lognormal": ("median", "sigma"), "choice": ("values",), "grid": ("values",), "list": ("values",)}
MAY_HAVE = {"uniform": ("whole",), "normal": ("low", "high"), "lognormal": ("low", "high"), "choice": ("weights",)}
OPTIONS = ("low", "high", "whole", "mean", "std", "median", "sigma", "values", "weights")
SAMPLED = ("uniform", "normal", "lognormal", "choice")
"""Those that take a dimension of the sample."""
MICROSECONDS = 6
SPEEDS = ("_m_s", "_rad_s", "_deg_s")
"""Keys that end as those of times do, and are none."""


def check_distribution(vary: Vary, name: str) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with an input: the key of the table, and a text; `name` is what it is called in the file."""
    kind = vary.distribution
    allowed = (*NEEDS[kind], *MAY_HAVE.get(kind, ()))
    given = [option for option in OPTIONS if getattr(vary, option) is not None and getattr(vary, option) is not False]
    for option in NEEDS[kind]:
        if option not in given:
            yield option, f"{name}.{option} is missing; {kind} needs {' and '.join(NEEDS[kind])}"
    for option in given:
        if option not in allowed:
            value = show(getattr(vary, option))
            yield option, f"{name}.{option} = {value} is not of {kind}; it has {', '.join(allowed)}"
    if vary.low is not None and vary.high is not None and not vary.low < vary.high:
        yield "high", f"{name}.high = {vary.high} is not above low = {vary.low}; give an interval that is not empty"
    if vary.whole and not all(isinstance(end, int) for end in (vary.low, vary.high)):
        yield "whole", f"{name}.whole = true needs whole numbers as low and high, not {vary.low} and {vary.high}"
    elif vary.whole and any(abs(end) > LARGEST_WHOLE for end in (vary.low or 0, vary.high or 0)):
        yield "whole", f"{name}.whole = true takes no end beyond {LARGEST_WHOLE:,}; a list can have such numbers"
    if kind in ("normal", "lognormal") and all(option in given for option in NEEDS[kind]):
        a, b = _cuts(vary)
        below, above = _probabilities(a, b)
        left = above - below
        if left < LEAST_LEFT and (a is None or b is None or a < b):
            cuts = " and ".join(f"{end} = {getattr(vary, end)}" for end in ("low", "high") if end in given)
            text = f"{name}: {cuts} leave nothing of this {kind}; it must be where the distribution has its values"
            yield "low" if "low" in given else "high", text
    if vary.weights is not None and vary.values is not None:
        if len(vary.weights) != len(vary.values):
            yield "weights", f"{name}.weights has {len(vary.weights)}; there are {len(vary.values)} values"
        elif min(vary.weights) < 0.0 or not sum(vary.weights) > 0.0:
            yield "weights", f"{name}.weights = {show(vary.weights)} must be 0 or more each, and not all 0"


def value_of(vary: Vary, u: float) -> Any:
    """Return the value of an input that is sampled, for a point of the unit interval."""
    if vary.distribution == "choice":
        return _chosen(vary, u)
    if vary.distribution == "uniform":
        low, high = float(vary.low or 0), float(vary.high or 0)
        if vary.whole:
            return min(math.floor(low + u * (high - low + 1.0)), int(high))
        return _in_time(vary, low + u * (high - low))
    if vary.distribution == "normal":
        value = float(vary.mean or 0) + float(vary.std or 0) * _quantile(u, *_cuts(vary))
    else:
        value = float(vary.median or 0) * interpreted(exp)(float(vary.sigma or 0) * _quantile(u, *_cuts(vary)))
    low, high = -math.inf if vary.low is None else float(vary.low), math.inf if vary.high is None else float(vary.high)
    return _in_time(vary, min(max(value, low), high))


def _cuts(vary: Vary) -> tuple[float | None, float | None]:
    """Return where a normal or lognormal is cut off, in standard deviations."""
    if vary.distribution == "normal":
        mean, std = float(vary.mean or 0), float(vary.std or 0)
        low, high = (None if cut is None else (cut - mean) / std for cut in (vary.low, vary.high))
    else:
        median, sigma = float(vary.median or 0), float(vary.sigma or 0)
        low, high = (None if cut is None else _logarithm(cut / median) / sigma for cut in (vary.low, vary.high))
    return low, high


def _in_time(vary: Vary, value: float) -> float:
    """Return a time in whole microseconds, other values as they are."""
    is_time = vary.key.endswith("_s") and not vary.key.endswith(SPEEDS)
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
    """Return the standard normal quantile, of the part between two cuts."""
    if low is not None or high is not None:
        below, above = _probabilities(low, high)
        u = below + u * (above - below)
    return float(interpreted(normal_quantile)(min(max(u, SMALLEST), 1.0 - SMALLEST)))


def _probabilities(low: float | None, high: float | None) -> tuple[float, float]:
    """Return how probable a standard normal variable is below each of two cuts."""
    cuts = (-math.inf if low is None else low, math.inf if high is None else high)
    below, above = (0.5 * math.erfc(-x / math.sqrt(2.0)) for x in cuts)
    return below, above


def _logarithm(ratio: float) -> float:
    return float(interpreted(log)(ratio)) if ratio > 0.0 else -math.inf
