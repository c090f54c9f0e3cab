"""When a campaign has flown enough: the interval of its pass rate, or of a metric's mean, is tight enough.

The rule looks after every run, from `min_runs` on, at the runs with the lowest indices: it is a function of rows in
the order of their indices alone, so that any number of workers stops at the same run.

It looks at the width of an interval, not at where it is. That costs far less coverage than to look again and again
whether an interval leaves out a value (Chow and Robbins: as the width goes to 0, nothing): measured in
docs/explanation/campaign_statistics.md and in the tests.

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
    """When to stop early."""

    of: str = entry(PASS_RATE, "What is estimated: `pass_rate`, or the name of a metric, for its mean.", min_length=1)
    half_width: Annotated[float, Field(gt=0.0)] = entry(
        ..., "Half the width at which the interval is tight enough, in the unit of what is estimated.", **ANY_UNIT
    )
    confidence: Annotated[float, Field(gt=0.0, lt=1.0)] = entry(CONFIDENCE, "How often such intervals cover the truth.")
    min_runs: int = entry(100, "Runs that are flown in any case.", ge=2)


def check_target(stop: StopTable, metrics: Iterable[str], has_criteria: bool) -> None:
    """Check that a campaign has what its stop rule is about."""
    names = list(metrics)
    if stop.of == PASS_RATE and not has_criteria:
        raise InputError("stop.of = 'pass_rate', but nothing says when a run passes; add a [[pass]], or name a metric")
    if stop.of == PASS_RATE and stop.half_width >= 0.5:
        raise InputError(f"stop.half_width = {stop.half_width} is all of a pass rate, 0 to 1; use less than 0.5")
    if stop.of != PASS_RATE and stop.of not in names:
        raise InputError(f"stop.of = {stop.of!r} is no metric of this campaign; use {' or '.join([PASS_RATE, *names])}")


class StopRule:
    """Tells after which run to stop, from rows in the order of their indices.

    A row has `passed` and the metrics. One that ended with an error is not passed, and counts for no metric's mean; nor
    does a metric without a finite value. Of a metric that is true or false it takes the share of true, as of passed.
    """

    def __init__(self, table: StopTable) -> None:
        self._table = table
        self._runs = self._count = self._successes = 0
        self._is_share = table.of == PASS_RATE
        self._mean = self._squares = 0.0

    def push(self, row: Mapping[str, Any]) -> bool:
        """Take the next row, and return whether the runs so far are enough."""
        self._runs += 1
        self._take(row.get(PASSED if self._table.of == PASS_RATE else self._table.of))
        return self._runs >= self._table.min_runs and self.interval().half_width <= self._table.half_width

    def interval(self) -> Interval:
        """Return the interval of the runs so far."""
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
            self._successes += int(value is not None and value == 1)  # NaN is no success
            return
        # Welford: mean and sum of squares about it, in the order of runs.
        delta = float(value) - self._mean
        self._mean += delta / self._count
        self._squares += delta * (float(value) - self._mean)
