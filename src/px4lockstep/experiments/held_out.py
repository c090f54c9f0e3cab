"""Compare two parameter sets on seeds that a search did not use, flight by flight with the same seed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from px4lockstep.campaigns.statistics import CONFIDENCE, Interval, interval_of_mean
from px4lockstep.experiments.evaluations import Evaluation


@dataclass(frozen=True)
class HeldOut:
    """The flights of two parameter sets with the same seeds."""

    seeds: tuple[int, ...]
    start: Evaluation
    found: Evaluation

    @property
    def wins(self) -> int:
        """Seeds with which the found values cost less; a flight that failed costs more than any that did not."""
        return sum(_is_less(new, old) for old, new in self._pairs)

    @property
    def losses(self) -> int:
        """Seeds with which the found values cost more."""
        return sum(_is_less(old, new) for old, new in self._pairs)

    @property
    def change(self) -> Interval:
        """Mean change of the cost with its confidence interval, over the seeds with which neither flight failed."""
        return interval_of_mean([new - old for old, new in self._pairs], CONFIDENCE)

    @property
    def costs(self) -> tuple[float, float]:
        """Mean costs before and after, over the seeds with which neither flight failed."""
        both = [(old, new) for old, new in self._pairs if not math.isnan(old) and not math.isnan(new)]
        if not both:
            return math.nan, math.nan
        return math.fsum(old for old, _ in both) / len(both), math.fsum(new for _, new in both) / len(both)

    @property
    def is_improved(self) -> bool:
        """Whether fewer flights fail, or as many fail and the whole interval of the change is below 0."""
        if self.found.failed != self.start.failed:
            return self.found.failed < self.start.failed
        return self.change.high < 0.0

    @property
    def verdict(self) -> str:
        """The result in a sentence."""
        count, (before, after), change = len(self.seeds), self.costs, self.change
        won = f"better with {self.wins} of {count} held-out seeds, worse with {self.losses}"
        if self.start.values == self.found.values:
            return "not improved: no parameter set was better than the starting values"
        if self.found.failed != self.start.failed:
            how = "improved" if self.is_improved else "not improved"
            return f"{how}: {self.found.failed} of {count} flights failed, {self.start.failed} before; {won}"
        if change.count < 2:
            return f"not improved: all flights with the held-out seeds failed, before and after; {won}"
        percent = f" ({100.0 * (after / before - 1.0):+.1f} %)" if before > 0.0 else ""
        interval = f"{change.estimate:+.3g}, {100 * CONFIDENCE:g} % interval {change.low:+.3g} to {change.high:+.3g}"
        how = "improved" if self.is_improved else "not improved"
        return f"{how}: cost {before:.4g} to {after:.4g}{percent}, change {interval}; {won}"

    @property
    def _pairs(self) -> list[tuple[float, float]]:
        return list(zip(self.start.costs, self.found.costs, strict=True))

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison for JSON, with None for missing values."""
        before, after = self.costs
        return {
            "seeds": list(self.seeds),
            "improved": self.is_improved,
            "verdict": self.verdict,
            "cost_before": _or_none(before),
            "cost_after": _or_none(after),
            "change": self.change.as_dict(),
            "wins": self.wins,
            "losses": self.losses,
            "failed_before": self.start.failed,
            "failed_after": self.found.failed,
        }


def _is_less(one: float, other: float) -> bool:
    """Return whether a cost is less than another; NaN is that of a failed flight, the worst."""
    return not math.isnan(one) and (math.isnan(other) or one < other)


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def mean_metrics(evaluation: Evaluation, names: Sequence[str]) -> dict[str, float]:
    """Return the mean of each metric over the flights of a parameter set that have a cost."""
    rows = [row for row, cost in zip(evaluation.rows, evaluation.costs, strict=True) if not math.isnan(cost)]
    return {
        name: math.fsum(float(row.metrics[name] or 0.0) for row in rows) / len(rows) if rows else math.nan
        for name in names
    }
