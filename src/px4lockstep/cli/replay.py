"""`px4lockstep replay`: replay a recorded flight."""

from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from px4lockstep.cli.console import Console
from px4lockstep.cli.output import print_json, write_out
from px4lockstep.cli.progress import working
from px4lockstep.flights.replay import Replay, replay
from px4lockstep.flights.tables import replay_rows, replay_title

SAME, DIFFERENT = 0, 1


def replay_run(recorded: str | Path, as_json: bool, *, is_judged: bool = False, **changes: Any) -> int:
    """Replay with the changes that `flights.replay.replay` accepts; return the exit code.

    It is 1 if nothing was changed and the flight differs. With `is_judged`, as for `run`, it is also 1 if the flight
    failed.
    """
    with working("replaying", quiet=as_json, flies=True):
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
    table = Table(title=replay_title(replayed), show_header=False, title_justify="left")
    for row in replay_rows(replayed):
        table.add_row(*map(escape, row))
    Console(soft_wrap=True).print(table)
    write_out(f"digest {replayed.digest}\nrecorded {replayed.recording.digest}\n")
