"""Stop rule of a campaign: stop when the confidence interval of the pass rate, or of a metric's mean, is narrow enough.

The rule is evaluated after every run from `min_runs` on, over the runs with the lowest indices. It depends only on the
rows in index order, so any number of workers stops at the same run.

It depends on the width of the interval, not on its position. That costs far less coverage than testing repeatedly
whether an interval excludes a value; by Chow and Robbins, the cost vanishes as the width goes to 0. Measured coverage:
docs/explanation/campaign_statistics.md and the tests.

References:
    Y. S. Chow, H. Robbins, On the asymptotic theory of fixed-width sequential confidence intervals for the mean, Annals
    of Mathematical Statistics 36 (1965).
    J. Frey, Fixed-width sequential confidence intervals for a proportion, The American Statistician 64 (2010).
"""

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from px4lockstep.campaigns.result_rows import PASSED
from px4lockstep.campaigns.statistics import CONFIDENCE, Interval, interval_of_proportion, student_quantile
from px4lockstep.errors import InputError
from px4lockstep.part import Part, entry
from px4lockstep.part.limits import ANY_UNIT

PASS_RATE = "pass_rate"


class StopTable(Part):
    """Early stopping."""

    of: str = entry(PASS_RATE, "Estimated quantity: `pass_rate`, or the name of a metric, for its mean.", min_length=1)
    half_width: Annotated[float, Field(gt=0.0)] = entry(
        ..., "Half-width of the interval at which to stop, in the unit of the estimated quantity.", **ANY_UNIT
    )
    confidence: Annotated[float, Field(gt=0.0, lt=1.0)] = entry(CONFIDENCE, "Nominal coverage of the interval.")
    min_runs: int = entry(100, "Minimum number of runs.", ge=2)


def check_target(stop: StopTable, metrics: Iterable[str], has_criteria: bool) -> None:
    """Check that a campaign has the quantity that its stop rule refers to."""
    names = list(metrics)
    if stop.of == PASS_RATE and not has_criteria:
        raise InputError("stop.of = 'pass_rate', but there are no pass criteria; add a [[pass]], or name a metric")
    if stop.of == PASS_RATE and stop.half_width >= 0.5:
        raise InputError(f"stop.half_width = {stop.half_width} covers every pass rate from 0 to 1; use less than 0.5")
    if stop.of != PASS_RATE and stop.of not in names:
        raise InputError(f"stop.of = {stop.of!r} is not a metric; use {' or '.join([PASS_RATE, *names])}")


class StopRule:
    """Decides after which run to stop, from rows in index order.

    A row has `passed` and the metrics. A run with an error did not pass and does not count towards the mean of a
    metric; neither does a value that is not finite. A boolean metric is treated as a proportion, like `passed`.
    """

    def __init__(self, table: StopTable) -> None:
        self._table = table
        self._runs = self._count = self._successes = 0
        self._is_share = table.of == PASS_RATE
        self._mean = self._squares = 0.0

    def push(self, row: Mapping[str, Any]) -> bool:
        """Add the next row; return whether the campaign can stop."""
        self._runs += 1
        self._take(row.get(PASSED if self._table.of == PASS_RATE else self._table.of))
        return self._runs >= self._table.min_runs and self.interval().half_width <= self._table.half_width

    def interval(self) -> Interval:
        """Return the confidence interval of the rows added."""
        confidence = self._table.confidence
        if self._is_share:
            return interval_of_proportion(self._successes, self._count, confidence)
        if self._count < 2:
            return Interval(self._mean if self._count else math.nan, -math.inf, math.inf, confidence, self._count)
        error = math.sqrt(self._squares / (self._count - 1) / self._count)
        half = student_quantile(confidence, self._count - 1) * error
        return Interval(self._mean, self._mean - half, self._mean + half, confidence, self._count)

    def _take(self, value: Any) -> None:
        if self._table.of != PASS_RATE and (value is None or not math.isfinite(value)):
            return
        self._count += 1
        self._is_share = self._is_share or isinstance(value, bool | np.bool_)
        if self._is_share:
            self._successes += int(value is not None and value == 1)  # NaN is not a success
            return
        # Welford's algorithm: mean and sum of squared deviations, in run order.
        delta = float(value) - self._mean
        self._mean += delta / self._count
        self._squares += delta * (float(value) - self._mean)
