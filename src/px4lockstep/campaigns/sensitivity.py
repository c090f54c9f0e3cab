"""Sensitivity of each metric to each input, by rank statistics.

    r  = sum a b / sqrt(sum a² sum b²)                Spearman's rank correlation; a, b = ranks about their mean
    e² = (H - k + 1) / (n - k)                        explained share (epsilon squared), from the Kruskal-Wallis H
    H  = (n - 1) sum over groups (sum a)² / (group size) / sum a²

Ties share the mean of their ranks. The correlation is 1 or -1 if the metric is a monotonic function of the input,
whatever the shape of the curve, and has no unit. It is near 0 for an effect that changes sign, such as wind that is
harmful from both sides. The explained share detects that, too: runs are sorted into up to eight groups by the input,
and the share is the fraction of the variance of the metric's ranks that lies between groups, minus the amount expected
by chance. It ranges from 0 to 1 and has no sign. For an input of strings or vectors the groups are its values, and
there is no correlation. Neither statistic detects an input that acts only in combination with another.

The explained share needs at least two groups and five runs per group on average; with fewer runs it is None.

The confidence interval of r is Fisher's, with the variance by Bonett and Wright:
atanh r ± z sqrt((1 + r²/2) / (n - 3)).
The p-value of e² is the probability that chance alone explains at least as much, from the chi-square distribution of H
with k - 1 degrees of freedom.

References:
    D. G. Bonett, T. A. Wright, Sample size requirements for estimating Pearson, Kendall and Spearman correlations,
    Psychometrika 65 (2000).
    W. H. Kruskal, W. A. Wallis, Use of ranks in one-criterion variance analysis, JASA 47 (1952).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.campaigns.result_rows import PASSED
from px4lockstep.campaigns.results_table import Results, Vector, is_numeric, numbers_of
from px4lockstep.campaigns.statistics import CONFIDENCE, Interval, normal_quantile

GROUPS = 8
RUNS_PER_GROUP = 5
"""Minimum average group size; with fewer runs there are fewer groups."""


@dataclass(frozen=True)
class Sensitivity:
    """Sensitivity of a metric, or of `passed`, to an input."""

    input: str
    metric: str
    correlation: Interval | None  # Spearman's; None if the input is not numeric
    explained: float | None  # share of the variance of the metric's ranks between groups; None with too few runs
    p_value: float | None  # probability that chance alone explains as much; None with too few runs

    @property
    def strength(self) -> float:
        """Influence of the input, 0 to 1: the larger of |r| and the square root of the explained share."""
        return max(abs(self.correlation.estimate) if self.correlation else 0.0, math.sqrt(self.explained or 0.0))

    def is_clear(self, confidence: float = CONFIDENCE) -> bool:
        """Return whether the effect is significant, by the confidence interval of r or by the p-value."""
        r = self.correlation
        is_explained = self.p_value is not None and self.p_value < 1.0 - confidence
        return is_explained or (r is not None and not r.low <= 0.0 <= r.high)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON representation."""
        r = self.correlation
        own = {"input": self.input, "metric": self.metric, "strength": self.strength}
        return own | {"correlation": r.as_dict() if r else None, "explained": self.explained, "p_value": self.p_value}


def sensitivities_of(results: Results, confidence: float = CONFIDENCE) -> tuple[Sensitivity, ...]:
    """Return the sensitivity of each metric, and of `passed`, to each input, strongest first.

    Pairs in which the input or the metric is constant are omitted. Runs without a value of the metric are ignored.
    """
    outcomes = {metric.name: results.metric_values(metric.name) for metric in results.metrics}
    if results.criteria:
        outcomes[PASSED] = results.is_passed.astype(np.float64)
    found = []
    for key in results.inputs:
        column = results.columns[key]
        is_number = is_numeric(column)
        texts = np.array([str(value) for value in column])
        values = numbers_of(column) if is_number else np.unique(texts, return_inverse=True)[1].astype(np.float64)
        for name, outcome in outcomes.items():
            valid = ~(np.isnan(values) | np.isnan(outcome))
            own = sensitivity(key, name, values[valid], outcome[valid], confidence, is_number)
            if own is not None:
                found.append(own)
    return tuple(sorted(found, key=lambda own: -own.strength))


def sensitivity(
    key: str, name: str, values: Vector, outcome: Vector, confidence: float = CONFIDENCE, is_number: bool = True
) -> Sensitivity | None:
    """Return the sensitivity of an outcome to an input, or None if one of them is constant.

    The values must not contain NaN. Values of a non-numeric input are passed as integer codes.
    """
    u, v = centred_ranks(values), centred_ranks(outcome)
    if not u.any() or not v.any():
        return None
    explained, p_value = _explained(_groups(values, u) if is_number else values.astype(np.int64), v)
    return Sensitivity(key, name, _correlation(u, v, confidence) if is_number else None, explained, p_value)


def centred_ranks(values: Vector) -> Vector:
    """Return ranks minus their mean; ties share the mean of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - 0.5 * (counts - 1)
    centred: Vector = ranks[place] - 0.5 * (len(values) + 1)
    return centred


def _correlation(u: Vector, v: Vector, confidence: float) -> Interval:
    """Return the correlation of centred ranks.

    Centred ranks are multiples of 1/2, so sums of their products are exact in any order for up to 100,000 runs.
    """
    count = len(u)
    r = min(max(float(u @ v) / math.sqrt(float(u @ u) * float(v @ v)), -1.0), 1.0)
    if count < 4:
        return Interval(r, -1.0, 1.0, confidence, count)
    if abs(r) == 1.0:
        return Interval(r, r, r, confidence, count)
    half = normal_quantile(confidence) * math.sqrt((1.0 + 0.5 * r * r) / (count - 3))
    return Interval(r, math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half), confidence, count)


def _explained(groups: npt.NDArray[np.int64], v: Vector) -> tuple[float | None, float | None]:
    """Return the share of the variance of centred ranks between groups, and its p-value; None with too few runs."""
    from scipy.special import chdtrc

    sizes = np.bincount(groups)
    sums = np.bincount(groups, weights=v)[sizes > 0]
    sizes = sizes[sizes > 0]
    count, freedom = len(v), len(sizes) - 1
    if freedom < 1 or count < RUNS_PER_GROUP * len(sizes):
        return None, None
    h = (count - 1) * math.fsum(sums * sums / sizes) / float(v @ v)
    explained = (h - freedom) / (count - len(sizes))
    return min(max(explained, 0.0), 1.0), float(chdtrc(freedom, h))


def _groups(values: Vector, u: Vector) -> npt.NDArray[np.int64]:
    """Return the group of each run: one per distinct value if there are few, otherwise groups of equal size."""
    count = min(GROUPS, len(values) // RUNS_PER_GROUP)
    distinct, place = np.unique(values, return_inverse=True)
    if len(distinct) <= max(count, 1):
        return place
    return np.floor((u / len(values) + 0.5) * max(count, 1)).astype(np.int64)
