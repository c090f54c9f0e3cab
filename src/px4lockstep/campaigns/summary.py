"""Summary statistics of a campaign, as `campaign show` prints them."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from px4lockstep.campaigns import statistics
from px4lockstep.campaigns.result_rows import ERROR
from px4lockstep.campaigns.results_table import MetricColumn, Results, Vector
from px4lockstep.campaigns.sensitivity import sensitivities_of
from px4lockstep.campaigns.statistics import CONFIDENCE, finite_of, mean_and_std
from px4lockstep.flights.outcome import is_success

NO_LABELS: Mapping[str, str] = {}
QUANTILES = {"p5": 0.05, "median": 0.5, "p95": 0.95}
NOTES = {
    "latin_hypercube": (
        "Confidence intervals assume independent runs; with Latin hypercube sampling they are conservative."
    ),
    "sobol": "Confidence intervals assume independent runs; with Sobol sampling they are conservative.",
}


def summary_of(
    results: Results,
    confidence: float = CONFIDENCE,
    worst: int = 5,
    strongest: int = 10,
    labels: Mapping[str, str] = NO_LABELS,
) -> dict[str, Any]:
    """Return the statistics of a campaign for JSON, with None for values that are not finite.

    Args:
        results: The runs.
        confidence: Nominal coverage of the intervals.
        worst: How many of the worst runs to list.
        strongest: How many pairs of input and metric to list; only significant ones are listed, strongest first.
        labels: Labels of metrics by their names, for the texts of broken criteria; those without one keep their name.
    """
    statuses = Counter(str(status) for status in results.columns["status"])
    matters = [own.as_dict() for own in sensitivities_of(results, confidence) if own.is_clear(confidence)]
    passed = int(results.is_passed.sum())
    rate = statistics.interval_of_proportion(passed, results.runs, confidence)
    return {
        "name": results.name,
        "sampling": results.sampling,
        "runs": results.runs,
        "by_status": dict(sorted(statuses.items(), key=lambda item: (-item[1], item[0]))),
        "passed": passed if results.criteria else None,
        "pass_rate": rate.as_dict() if results.criteria else None,
        "metrics": [_numbers(metric, results.metric_values(metric.name), confidence) for metric in results.metrics],
        "worst": worst_runs(results, worst, labels),
        "sensitivities": matters[:strongest],
        "notes": [NOTES[method] for method in results.methods if method in NOTES],
    }


def worst_runs(results: Results, count: int, labels: Mapping[str, str] = NO_LABELS) -> list[dict[str, Any]]:
    """Return index, status and reason of the worst runs, worst first.

    Runs that ended with an error come first, then failed runs, then passed ones. Within each group, those that violate
    most bounds come first, then those farthest beyond a bound, or closest to it if they are within; distances are in
    standard deviations of the metric. Without criteria, only failed flights are listed.
    """
    columns, is_passed = results.columns, results.is_passed
    is_error = columns["status"] == ERROR
    checks = _checks(results)
    excess = np.stack([check.excess for check in checks]) if checks else np.zeros((0, results.runs))
    broken = ~(excess <= 0.0)
    farthest = np.where(np.isnan(excess), np.inf, excess).max(axis=0, initial=-np.inf)
    # The last key is the primary one. The sort is stable, so ties stay in index order.
    order = np.lexsort((-farthest, -broken.sum(axis=0), is_passed, ~is_error))
    if not results.criteria:
        order = order[[not is_success(str(status)) for status in columns["status"][order]]]
    found = []
    for row in order[:count].tolist():
        status = str(columns["status"][row])
        if is_error[row]:
            why = str(columns["error"][row] or "no reason was recorded")
        elif broken[:, row].any():
            ways = [check for check, is_so in zip(checks, broken[:, row], strict=True) if is_so]
            why = "; ".join(check.words(row, labels) for check in ways)
        elif math.isfinite(farthest[row]):
            why = f"passed, with {checks[int(excess[:, row].argmax())].words(row, labels)}"
        else:
            why = "passed" if is_passed[row] else status
        found.append({"index": int(columns["index"][row]), "status": status, "why": why})
    return found


@dataclass(frozen=True)
class _Check:
    """One bound of a criterion, the values of its metric, and the excess over the bound.

    The excess is negative within the bound and NaN for a missing value.
    """

    metric: MetricColumn
    kind: str
    limit: float | bool
    values: Vector
    excess: Vector

    def words(self, row: int, labels: Mapping[str, str]) -> str:
        """Describe the value of a run and the bound; a label has its unit."""
        value, name = float(self.values[row]), labels.get(self.metric.name, self.metric.name)
        if math.isnan(value):
            return f"{name} has no value"
        if self.metric.is_bool:
            return name if value else f"not {name}"
        unit = f" {self.metric.unit}" if self.metric.unit and self.metric.name not in labels else ""
        return f"{name} = {value:.6g}{unit}, {self.kind} {self.limit:g}"


def _checks(results: Results) -> list[_Check]:
    """Return the bounds of all criteria."""
    metrics = {metric.name: metric for metric in results.metrics}
    checks = []
    for criterion in results.criteria:
        values = results.metric_values(criterion.metric)
        _, std = mean_and_std(finite_of(values))
        unit = std if std > 0.0 else 1.0
        limits = {"at least": criterion.at_least, "at most": criterion.at_most, "must equal": criterion.equals}
        for kind, limit in limits.items():
            if limit is None:
                continue
            with np.errstate(over="ignore"):
                beyond = (values - float(limit)) / unit
            sizes = {"at least": -beyond, "at most": beyond}
            excess = sizes.get(kind, np.where(beyond == 0.0, -np.inf, np.abs(beyond)))
            checks.append(_Check(metrics[criterion.metric], kind, limit, values, excess))
    return checks


def _numbers(metric: MetricColumn, values: Vector, confidence: float) -> dict[str, Any]:
    """Return the statistics of a metric; the mean of a boolean metric is its share of true values."""
    own = finite_of(values)
    count = len(own)
    numbers: dict[str, Any] = {"name": metric.name, "unit": metric.unit, "is_bool": metric.is_bool}
    numbers |= {"count": count, "missing": len(values) - count}
    if metric.is_bool:
        share = statistics.interval_of_proportion(int(own.sum()), count, confidence)
        return numbers | {"mean": share.as_dict()["estimate"], "mean_interval": share.as_dict()}
    mean = statistics.interval_of_mean(own, confidence)
    _, std = mean_and_std(own)
    least, most = (float(own.min()), float(own.max())) if count else (math.nan, math.nan)
    quantiles = {name: float(np.quantile(own, share)) if count else math.nan for name, share in QUANTILES.items()}
    found = {"mean": mean.estimate, "std": std, "min": least, **quantiles, "max": most}
    numbers |= {name: value if math.isfinite(value) else None for name, value in found.items()}
    p95 = statistics.interval_of_quantile(own, QUANTILES["p95"], confidence)
    return numbers | {"mean_interval": mean.as_dict(), "p95_interval": p95.as_dict()}
