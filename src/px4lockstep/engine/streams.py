"""The arrays of a run: its log, and the streams that a replay needs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.core import LOG_ROW, STREAMS
from px4lockstep.engine.timeline import Timeline
from px4lockstep.errors import InputError

MAX_BYTES = 8 * 2**30
FIRST_CHANGES = 1_024
"""Room for the scenario's changes at first; a run that needs more gets twice as much each time."""


@dataclass(frozen=True)
class Streams:
    """What a replay needs of a run, in memory.

    The scenario is kept where it changes: `scenarios[i]` holds from boundary `scenario_at[i]` to before
    `scenario_at[i + 1]`; the last of these is one more than the last boundary that the streams cover.
    """

    time_us: npt.NDArray[np.uint64]
    due: npt.NDArray[np.uint16]
    gusts: npt.NDArray[Any]
    commands: npt.NDArray[Any]
    winds: npt.NDArray[Any]
    scenarios: npt.NDArray[Any]
    scenario_at: npt.NDArray[np.int64]

    def scenario_by_boundary(self) -> npt.NDArray[Any]:
        """Return the scenario's outputs at every boundary."""
        return np.repeat(self.scenarios, np.diff(self.scenario_at))


def allocate(timeline: Timeline, n_x: int, replay: Streams | None, record: bool) -> dict[str, npt.NDArray[Any]]:
    """Make the log, and the streams: to be written, to be read by a replay, or empty.

    Raises:
        InputError: If it would not fit into memory, or the streams of a replay don't belong to the timeline.
    """
    changes = min(len(timeline), FIRST_CHANGES)
    counts = {
        "commands": timeline.count("autopilot"),
        "winds": timeline.count("wind"),
        "scenarios": changes,
        "scenario_at": changes,
    }
    log_rows = timeline.count("log")
    size = log_rows * (LOG_ROW.itemsize + 8 * n_x)
    size += sum(counts[name] * dtype.itemsize for name, dtype in STREAMS.items()) if record else 0
    if size > MAX_BYTES:
        raise InputError(
            f"log and streams of this run would take {size / 2**30:.1f} GiB; the limit is {MAX_BYTES / 2**30:.0f}. "
            "Use a longer log period or an earlier end"
        )
    arrays: dict[str, npt.NDArray[Any]] = {"log": np.zeros(log_rows, LOG_ROW), "log_state": np.zeros((log_rows, n_x))}
    if replay is not None:
        _check_replay(replay, timeline)
    for name, dtype in STREAMS.items():
        if replay is None:
            arrays[name] = np.zeros(counts[name] if record else 0, dtype)
            continue
        stream = getattr(replay, name)
        if stream.dtype != dtype:
            raise InputError(f"replay stream {name!r} has another layout than this version's")
        if name in ("commands", "winds") and len(stream) != counts[name]:
            raise InputError(f"replay stream {name!r} has {len(stream)} rows; the timeline needs {counts[name]}")
        arrays[name] = stream.copy()
    return arrays


def with_room(array: npt.NDArray[Any], rows: int) -> npt.NDArray[Any]:
    """Return an array with at least so many rows, those that there are included.

    Raises:
        InputError: If it would not fit into memory.
    """
    if rows <= len(array):
        return array
    rows = max(rows, 2 * len(array))
    if rows * array.itemsize > MAX_BYTES:
        raise InputError(
            f"the scenario changes so often that its recording takes more than {MAX_BYTES / 2**30:.0f} GiB. Let it "
            "change less often, or don't record"
        )
    grown = np.zeros(rows, array.dtype)
    grown[: len(array)] = array
    return grown


def locked(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view


def _check_replay(replay: Streams, timeline: Timeline) -> None:
    """Check that streams belong to a timeline."""
    if not np.array_equal(replay.time_us, timeline.time_us) or not np.array_equal(replay.due, timeline.due):
        raise InputError(
            f"the streams are of another timeline: {len(replay.time_us)} boundaries to {int(replay.time_us[-1])} us, "
            f"not {len(timeline)} to {timeline.end_us} us with the same axes. Replay with the recording's timeline"
        )
    at = replay.scenario_at
    if len(at) != len(replay.scenarios) + 1 or at[0] != 0 or np.any(np.diff(at) <= 0):
        raise InputError(
            f"replay stream 'scenario_at' must rise from 0, with one value more than the {len(replay.scenarios)} rows "
            "of 'scenarios'"
        )
    if at[-1] != len(timeline):
        raise InputError(f"replay stream 'scenarios' covers {at[-1]} boundaries; the timeline has {len(timeline)}")
