"""What a run has cost: counted by the loop, never part of a result."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Stretch:
    """A part of a run that the loop was called for once, a simulated second at most if it is watched.

    Args:
        wall_s: How long it took.
        start_us: Where it began, in simulated time.
        ticks: How many of the autopilot's it had.
    """

    wall_s: float = 0.0
    start_us: int = 0
    ticks: int = 0


@dataclass(frozen=True)
class Statistics:
    """What a run has cost so far.

    Args:
        boundaries: And so on: how many of each.
        wall_s: How long the loop took.
        slowest: The stretch that took longest.
    """

    boundaries: int
    autopilot_ticks: int
    wind_ticks: int
    log_rows: int
    evaluations: int
    accepted_steps: int
    rejected_steps: int
    forced_steps: int
    projected_states: int
    clamped_commands: int
    python_calls: int
    wall_s: float
    slowest: Stretch


def statistics_of(sim: Any, python_calls: int, wall_s: float, slowest: Stretch) -> Statistics:
    """Collect the counts from a `SIM` record."""
    cursor, solver = sim["cursor"], sim["solver"]
    return Statistics(
        boundaries=int(cursor["k"]),
        autopilot_ticks=int(cursor["autopilot_ticks"]),
        wind_ticks=int(cursor["wind_ticks"]),
        log_rows=int(cursor["log_rows"]),
        evaluations=int(solver["evaluations"]),
        accepted_steps=int(solver["accepted"]),
        rejected_steps=int(solver["rejected"]),
        forced_steps=int(solver["forced"]),
        projected_states=int(solver["projected"]),
        clamped_commands=int(sim["validator"]["clamped_commands"]),
        python_calls=python_calls,
        wall_s=wall_s,
        slowest=slowest,
    )
