"""Evaluate parameter sets: fly each with a set of seeds on the workers of a campaign, and compute its cost.

The cost of a flight is the weighted sum of its metrics. A flight that failed, or that lacks a metric, has no cost. The
cost of a parameter set is the mean over its seeds; if any of its flights has none, it is infinite. To order such sets,
`rank` adds `PENALTY` for each of these flights, so that a search leaves a region in which vehicles crash.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from px4lockstep.campaigns.campaign import SEED
from px4lockstep.campaigns.result_rows import ERROR, Executor, Job, Row
from px4lockstep.campaigns.run import Progress, Watch
from px4lockstep.campaigns.statistics import finite_of, mean_and_std
from px4lockstep.errors import InputError
from px4lockstep.experiments.inputs import Range
from px4lockstep.experiments.metric_words import Term

PENALTY = 1e9
Values = tuple[float | int, ...]


class SearchStoppedError(Exception):
    """The user stopped a search."""


@dataclass(frozen=True)
class Evaluation:
    """A parameter set and its flights, one for each seed."""

    values: Values
    rows: tuple[Row, ...]
    costs: tuple[float, ...]  # of each flight; NaN if it has none

    @property
    def failed(self) -> int:
        """Flights without a cost."""
        return sum(math.isnan(cost) for cost in self.costs)

    @property
    def cost(self) -> float:
        """Mean cost; infinite if a flight has none."""
        return math.inf if self.failed else mean_and_std(finite_of(self.costs))[0]

    @property
    def rank(self) -> float:
        """Number by which a search orders evaluations, the best first."""
        if not self.failed:
            return self.cost
        flown = finite_of(self.costs)
        return PENALTY * self.failed + (mean_and_std(flown)[0] if len(flown) else 0.0)


@dataclass
class Evaluator:
    """Flies parameter sets, each at most once per seed; `rows` has all flights in order."""

    executor: Executor
    ranges: Sequence[Range]
    terms: Sequence[Term]
    flights: int  # expected number of flights, for the progress
    watch: Watch | None = None
    rows: list[Row] = field(default_factory=list)
    _failed: int = 0
    _known: dict[tuple[Values, int], Row] = field(default_factory=dict)

    def evaluate(self, sets: Sequence[Values], seeds: Sequence[int]) -> list[Evaluation]:
        """Fly parameter sets with all seeds, in parallel, and return them in order; known flights are not repeated."""
        pairs = dict.fromkeys((own, seed) for own in sets for seed in seeds)
        missing = [pair for pair in pairs if pair not in self._known]
        jobs = [(len(self.rows) + i, self._inputs(*pair)) for i, pair in enumerate(missing)]
        found = self._fly(jobs)
        for (index, _), pair in zip(jobs, missing, strict=True):
            self._known[pair] = found[index]
            self.rows.append(found[index])
        return [self._evaluation(own, seeds) for own in sets]

    def _inputs(self, values: Values, seed: int) -> dict[str, float | int]:
        return {own.key: value for own, value in zip(self.ranges, values, strict=True)} | {SEED: seed}

    def _fly(self, jobs: Sequence[Job]) -> dict[int, Row]:
        found: dict[int, Row] = {}
        goes_on = True

        def wanted() -> Iterator[Job]:
            for job in jobs:
                if not goes_on:
                    return
                yield job

        for row in self.executor.rows(wanted()):
            if row is not None:
                found[row.index] = row
                self._failed += row.is_failed
                if row.status == ERROR:
                    raise InputError(f"a flight with {_named(row)} could not be flown or measured: {row.error}")
            if self.watch is not None and goes_on:
                goes_on = self.watch(Progress(len(self.rows) + len(found), 0, self.flights, self._failed, 0))
        if not goes_on:
            raise SearchStoppedError
        return found

    def _evaluation(self, values: Values, seeds: Sequence[int]) -> Evaluation:
        rows = tuple(self._known[values, seed] for seed in seeds)
        return Evaluation(values, rows, tuple(cost_of(row, self.terms) for row in rows))


def cost_of(row: Row, terms: Sequence[Term]) -> float:
    """Return the cost of a flight; NaN if it failed or lacks a metric."""
    if row.is_failed:
        return math.nan
    metrics = (row.metrics.get(term.metric.name) for term in terms)
    parts = [term.weight * (math.nan if own is None else float(own)) for term, own in zip(terms, metrics, strict=True)]
    return math.fsum(parts)


def _named(row: Row) -> str:
    return ", ".join(f"{key} = {value}" for key, value in row.inputs.items())
