"""A row of the results: what went into a run, and what came of it."""

from dataclasses import dataclass, field
from typing import Any

from px4lockstep.campaigns.results_table import ERROR
from px4lockstep.flights.outcome import FLOWN

ABOUT = ("index", "status", "passed", "reason", "error", "digest", "seed")
"""What every row has, beside inputs and metrics."""


@dataclass(frozen=True)
class Row:
    """One run.

    Args:
        index: Which.
        status: What came of the flight, a word of `report.outcome`; or `error` if it was not flown, or not measured.
        passed: Whether it meets all criteria; None if there are none.
        reason: Why it was not `flown`; None if it was.
        error: What went wrong; None if nothing did.
        digest: Of the flight; None if it was not flown.
        seed: Of its randomness; None if it was not flown.
        inputs: By key.
        metrics: By name; None for what could not be measured.
    """

    index: int
    status: str
    passed: bool | None
    reason: str | None
    error: str | None
    digest: str | None
    seed: int | None
    inputs: dict[str, Any]
    metrics: dict[str, float | bool | None] = field(default_factory=dict)

    @classmethod
    def failed(cls, index: int, inputs: dict[str, Any], error: str) -> "Row":
        """Return the row of a run that was not flown."""
        return cls(index, ERROR, None, None, error, None, None, inputs)

    @property
    def is_failed(self) -> bool:
        """Whether it does not meet the criteria; or, without any, was not flown as it was to be."""
        return not self.passed if self.passed is not None else self.status != FLOWN
