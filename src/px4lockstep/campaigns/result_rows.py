"""A row of the results, with the inputs and the outcome of a run, and the interface of executors.

An executor accepts jobs and yields their rows, in any order: `local` runs processes on this machine, `dask_cluster`
uses a Dask cluster. Both call `fly_run`. An executor requests a job only when a worker can take it.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from px4lockstep.flights.outcome import is_success

ERROR = "error"
"""Status of a run that could not be flown, or whose metrics could not be computed."""
PASSED = "passed"
ABOUT = ("index", "status", PASSED, "reason", "error", "digest", "seed")
"""Columns of every row, in addition to inputs and metrics."""

Job = tuple[int, dict[str, Any]]
"""The index of a run and its inputs."""
MAX_ATTEMPTS = 2
"""Attempts per run: a run whose worker dies is retried once."""


@dataclass(frozen=True)
class Row:
    """One run."""

    index: int
    status: str  # outcome of the flight, a word of `flights.outcome`, or `ERROR`
    passed: bool | None  # whether the outcome is accepted and all criteria are met; None if there are neither
    reason: str | None  # why the status is not `flown`
    error: str | None  # error message
    digest: str | None  # digest of the flight; None if it was not flown
    seed: int | None  # random seed; None if it was not flown
    inputs: dict[str, Any]  # by key
    metrics: dict[str, float | bool | None] = field(default_factory=dict)  # None if a metric could not be computed

    @classmethod
    def failed(cls, index: int, inputs: dict[str, Any], error: str) -> "Row":
        """Return the row of a run that was not flown."""
        return cls(index, ERROR, None, None, error, None, None, inputs)

    @property
    def is_failed(self) -> bool:
        """Whether the run fails the criteria or, without criteria, its outcome is a failure."""
        return not self.passed if self.passed is not None else not is_success(self.status)


class Executor(Protocol, AbstractContextManager["Executor"]):
    """Flies jobs."""

    def rows(self, jobs: Iterator[Job]) -> Iterator[Row | None]:
        """Fly jobs, as many at a time as there are workers, and yield each row as it arrives.

        None is yielded about once per second while there are no workers, so that the caller can stop waiting.
        """


def lost(job: Job, how: str) -> Row:
    """Return the row of a run whose worker was lost on every attempt."""
    index, inputs = job
    remedy = "; to investigate, fly it alone with px4lockstep campaign rerun" if index >= 0 else ""
    return Row.failed(index, inputs, f"its worker {how}{remedy}")
