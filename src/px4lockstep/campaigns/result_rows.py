"""A row of the results, what went into a run and what came of it; and what gives rows.

An executor takes jobs and gives their rows, in any order: `local` has processes of this machine, `dask_cluster` those
of a Dask cluster; both call `fly_run`. It asks for a job when it has somebody to fly it, and not before.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from px4lockstep.flights.outcome import is_success

ERROR = "error"
"""The status of a run that could not be flown, or not be measured."""
PASSED = "passed"
ABOUT = ("index", "status", PASSED, "reason", "error", "digest", "seed")
"""What every row has, beside inputs and metrics."""

Job = tuple[int, dict[str, Any]]
"""The index of a run and its inputs."""
MAX_ATTEMPTS = 2
"""How often a run is begun: a run whose worker dies is retried once."""


@dataclass(frozen=True)
class Row:
    """One run."""

    index: int
    status: str  # what came of the flight, a word of `flights.outcome`, or `ERROR`
    passed: bool | None  # whether it meets all criteria; None if there are none
    reason: str | None  # why it was not `flown`
    error: str | None  # what went wrong
    digest: str | None  # of the flight; None if it was not flown
    seed: int | None  # of its randomness; None if it was not flown
    inputs: dict[str, Any]  # by key
    metrics: dict[str, float | bool | None] = field(default_factory=dict)  # None for what could not be measured

    @classmethod
    def failed(cls, index: int, inputs: dict[str, Any], error: str) -> "Row":
        """Return the row of a run that was not flown."""
        return cls(index, ERROR, None, None, error, None, None, inputs)

    @property
    def is_failed(self) -> bool:
        """Whether it does not meet the criteria; or, without any, its outcome is a failure."""
        return not self.passed if self.passed is not None else not is_success(self.status)


class Executor(Protocol, AbstractContextManager["Executor"]):
    """Flies jobs."""

    def rows(self, jobs: Iterator[Job]) -> Iterator[Row]:
        """Fly jobs, as many at a time as there are workers, and yield the row of each when it is there."""


def lost(job: Job, how: str) -> Row:
    """Return the row of a run whose worker was lost each time."""
    index, inputs = job
    remedy = "; fly it by itself: px4lockstep campaign rerun" if index >= 0 else ""
    return Row.failed(index, inputs, f"its worker {how}, {MAX_ATTEMPTS} times{remedy}")
