"""`px4lockstep replay`: replay a recorded flight."""

from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from px4lockstep.cli.console import Console
from px4lockstep.cli.output import print_json, write_out
from px4lockstep.flights.replay import Replay, replay

SAME, DIFFERENT = 0, 1


def replay_run(recorded: str | Path, as_json: bool, *, is_judged: bool = False, **changes: Any) -> int:
    """Replay with the changes that `flights.replay.replay` accepts; return the exit code.

    It is 1 if nothing was changed and the flight differs. With `is_judged`, as for `run`, it is also 1 if the flight
    failed.
    """
    replayed = replay(recorded, **changes)
    if as_json:
        print_json(_as_dict(replayed))
    else:
        _print(replayed)
    is_good = replayed.outcome.is_success or not is_judged
    return SAME if is_good and (replayed.matches or replayed.changes) else DIFFERENT


def _as_dict(replayed: Replay) -> dict[str, Any]:
    difference, counts, departure = replayed.first_difference, replayed.simulation.statistics, replayed.departure
    return {
        "digest": replayed.digest,
        "recorded_digest": replayed.recording.digest,
        "matches": replayed.matches,
        "outcome": replayed.outcome.word,
        "reason": replayed.outcome.reason,
        "first_difference": None if difference is None else difference.as_dict(),
        "max_position_difference_m": None if departure is None else departure.max_m,
        "max_position_difference_at_s": None if departure is None else departure.max_at_s,
        "final_position_difference_m": None if departure is None else departure.final_m,
        "integrator": replayed.simulation.integrator.kind,
        "changes": [change.as_dict() for change in replayed.changes],
        "duration_s": replayed.duration_s,
        "wall_s": counts.wall_s,
        "realtime_factor": replayed.simulation.flown_us / 1e6 / counts.wall_s if counts.wall_s > 0.0 else 0.0,
        "evaluations": counts.evaluations,
    }


def _print(replayed: Replay) -> None:
    counts, duration_s = replayed.simulation.statistics, replayed.duration_s
    outcome = "bit-identical to the recorded flight" if replayed.matches else "differs from the recorded flight"
    table = Table(title=f"replay: {outcome}", show_header=False, title_justify="left")
    table.add_row("integrator", f"{replayed.simulation.integrator.kind}, recorded with {replayed.recording.integrator}")
    factor = replayed.simulation.flown_us / 1e6 / counts.wall_s if counts.wall_s > 0.0 else 0.0
    table.add_row("simulated", f"{duration_s:.3f} s in {counts.wall_s:.3f} s: {factor:.0f} x real time")
    reason = "" if replayed.outcome.reason is None else f": {replayed.outcome.reason}"
    table.add_row("outcome", escape(f"{replayed.outcome.word}{reason}"))
    for change in replayed.changes:
        table.add_row("changed", escape(str(change)))
    if replayed.first_difference is not None:
        table.add_row("first difference", escape(f"{replayed.first_difference}{_whose(replayed)}"))
    if replayed.departure is not None and not replayed.matches:
        departure = replayed.departure
        at = f"at t = {departure.max_at_s:.2f} s"
        table.add_row("max position difference", f"{departure.max_m:.3g} m {at}")
        table.add_row("final position difference", f"{departure.final_m:.3g} m at t = {departure.end_s:.2f} s")
    Console(soft_wrap=True).print(table)
    write_out(f"digest {replayed.digest}\nrecorded {replayed.recording.digest}\n")


def _whose(replayed: Replay) -> str:
    """Return which of two values is which, if the first difference has values."""
    difference = replayed.first_difference
    return "" if difference is None or difference.first is None else " (recorded vs replayed)"
