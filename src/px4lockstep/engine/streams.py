"""The arrays of a run: its log, and the streams that a replay needs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.core import LOG_ROW, STREAMS
from px4lockstep.engine.timeline import Timeline
from px4lockstep.errors import InputError

MAX_BYTES = 8 * 2**30


@dataclass(frozen=True)
class Streams:
    """What a replay needs of a run, in memory."""

    time_us: npt.NDArray[np.uint64]
    due: npt.NDArray[np.uint16]
    gusts: npt.NDArray[Any]
    commands: npt.NDArray[Any]
    winds: npt.NDArray[Any]
    scenarios: npt.NDArray[Any]


def allocate(timeline: Timeline, n_x: int, replay: Streams | None, record: bool) -> dict[str, npt.NDArray[Any]]:
    """Make the log, and the streams: to be written, to be read by a replay, or empty.

    Raises:
        InputError: If it would not fit into memory, or the streams of a replay don't belong to the timeline.
    """
    counts = {"commands": timeline.count("autopilot"), "winds": timeline.count("wind"), "scenarios": len(timeline)}
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
        if len(stream) != counts[name]:
            raise InputError(f"replay stream {name!r} has {len(stream)} rows; the timeline needs {counts[name]}")
        arrays[name] = stream.copy()
    return arrays


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
