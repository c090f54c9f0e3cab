"""What a run has cost: counted by the loop, never part of a result."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Stretch:
    """A part of a run that the loop was called for once, a simulated second at most if it is watched."""

    wall_s: float = 0.0
    start_us: int = 0  # simulated time
    ticks: int = 0  # of the autopilot


@dataclass(frozen=True)
class Statistics:
    """What a run has cost so far: how many of each, how long the loop took, and the stretch that took longest."""

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
    counts = {name: cursor[name] for name in ("autopilot_ticks", "wind_ticks", "log_rows")}
    counts |= {f"{name}_steps": solver[name] for name in ("accepted", "rejected", "forced")}
    counts |= {"boundaries": cursor["k"], "evaluations": solver["evaluations"], "projected_states": solver["projected"]}
    counts |= {"clamped_commands": sim["validator"]["clamped_commands"], "python_calls": python_calls}
    return Statistics(**{name: int(count) for name, count in counts.items()}, wall_s=wall_s, slowest=slowest)
