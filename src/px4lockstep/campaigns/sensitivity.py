"""Which input matters: how each metric goes with each input, by ranks.

    r  = sum a b / sqrt(sum a² sum b²)                Spearman's rank correlation; a, b = ranks about their mean
    e² = (H - k + 1) / (n - k)                        share that is explained, of Kruskal and Wallis
    H  = (n - 1) sum over groups (sum a)² / (group's size) / sum a²

Equal values share the mean of their ranks. The correlation is 1 or -1 where a metric always rises or always falls with
an input, along whatever curve, and needs no unit. It is about 0 for an input whose effect turns around: wind from both
sides, of which either is bad. The share that is explained sees that, too: runs are put into up to eight groups by the
input, and it is how much of the variance of the metric's ranks lies between groups, less what chance would give; 0 to
1, without a sign. For an input of strings, or of vectors, the groups are its values, and there is no correlation. What
an input does only together with another, neither sees.

The interval of r is Fisher's, with the variance of Bonett and Wright: atanh r ± z sqrt((1 + r²/2) / (n - 3)). The
p-value of e² is how often chance alone would give as much, from H's chi-square distribution of
k - 1 degrees of freedom.

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
"""At least, on average: with fewer runs there are fewer groups."""


@dataclass(frozen=True)
class Sensitivity:
    """How a metric, or `passed`, goes with an input."""

    input: str
    metric: str
    correlation: Interval | None  # Spearman's; None for an input that is no number
    explained: float  # share of the variance of the metric's ranks that groups by the input explain
    p_value: float  # how often chance alone would explain as much

    @property
    def strength(self) -> float:
        """How much the input matters: 0 to 1, the larger of |r| and the root of the share that is explained."""
        return max(abs(self.correlation.estimate) if self.correlation else 0.0, math.sqrt(self.explained))

    def is_clear(self, confidence: float = CONFIDENCE) -> bool:
        """Return whether it is more than chance would give, by the correlation's interval or by the p-value."""
        r = self.correlation
        return self.p_value < 1.0 - confidence or (r is not None and not r.low <= 0.0 <= r.high)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        r = self.correlation
        own = {"input": self.input, "metric": self.metric, "strength": self.strength}
        return own | {"correlation": r.as_dict() if r else None, "explained": self.explained, "p_value": self.p_value}


def sensitivities_of(results: Results, confidence: float = CONFIDENCE) -> tuple[Sensitivity, ...]:
    """Return how each metric, and `passed`, goes with each input, the strongest first.

    Pairs of which one does not vary are left out, and so are runs without a value of the metric.
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
    """Return how an outcome goes with an input, of values without NaN; None if one of them does not vary.

    The values of an input that is not of numbers are numbered.
    """
    u, v = centred_ranks(values), centred_ranks(outcome)
    if not u.any() or not v.any():
        return None
    explained, p_value = _explained(_groups(values, u) if is_number else values.astype(np.int64), v)
    return Sensitivity(key, name, _correlation(u, v, confidence) if is_number else None, explained, p_value)


def centred_ranks(values: Vector) -> Vector:
    """Return ranks less their mean; equal values share the mean of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - 0.5 * (counts - 1)
    centred: Vector = ranks[place] - 0.5 * (len(values) + 1)
    return centred


def _correlation(u: Vector, v: Vector, confidence: float) -> Interval:
    """Return the correlation of centred ranks.

    These are halves of whole numbers: sums of their products are exact, in any order, for up to 100,000 runs.
    """
    count = len(u)
    r = min(max(float(u @ v) / math.sqrt(float(u @ u) * float(v @ v)), -1.0), 1.0)
    if count < 4:
        return Interval(r, -1.0, 1.0, confidence, count)
    if abs(r) == 1.0:
        return Interval(r, r, r, confidence, count)
    half = normal_quantile(confidence) * math.sqrt((1.0 + 0.5 * r * r) / (count - 3))
    return Interval(r, math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half), confidence, count)


def _explained(groups: npt.NDArray[np.int64], v: Vector) -> tuple[float, float]:
    """Return the share of the variance of centred ranks between groups, and its p-value."""
    from scipy.special import chdtrc

    sizes = np.bincount(groups)
    sums = np.bincount(groups, weights=v)[sizes > 0]
    sizes = sizes[sizes > 0]
    count, freedom = len(v), len(sizes) - 1
    if freedom < 1 or count < RUNS_PER_GROUP * len(sizes):
        return 0.0, 1.0
    h = (count - 1) * math.fsum(sums * sums / sizes) / float(v @ v)
    explained = (h - freedom) / (count - len(sizes))
    return min(max(explained, 0.0), 1.0), float(chdtrc(freedom, h))


def _groups(values: Vector, u: Vector) -> npt.NDArray[np.int64]:
    """Return the group of each run: by value if there are few values, or as many runs in each."""
    count = min(GROUPS, len(values) // RUNS_PER_GROUP)
    distinct, place = np.unique(values, return_inverse=True)
    if len(distinct) <= max(count, 1):
        return place
    return np.floor((u / len(values) + 0.5) * max(count, 1)).astype(np.int64)
