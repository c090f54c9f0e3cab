"""Statistics of a run: counters and wall time, which are not part of its results."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Stretch:
    """A part of a run that one call of the loop covered; with a `watch` function, at most one simulated second."""

    wall_s: float = 0.0
    start_us: int = 0  # simulated time
    ticks: int = 0  # autopilot ticks


@dataclass(frozen=True)
class Statistics:
    """Counters of a run up to now, the wall time of the loop, and the stretch that took longest."""

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
