"""The arrays of a run: its log, and the streams that a replay needs."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.core import LOG_ROW, STREAMS
from px4lockstep.engine.fingerprints import FINGERPRINT
from px4lockstep.engine.timeline import AUTOPILOT, AXIS_BITS, WIND, Timeline
from px4lockstep.errors import InputError
from px4lockstep.sensors.suite import SENSOR_OUT

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

    def check(self) -> None:
        """Check that all streams have the layout and the length that their timeline asks for.

        Raises:
            InputError: If not.
        """
        times_us, due = self.time_us, self.due
        if len(times_us) < 2 or len(due) != len(times_us) or np.any(times_us[1:] <= times_us[:-1]):
            raise InputError("the times of a timeline must rise strictly, two of them at least, each with its axes")
        for name, dtype in STREAMS.items():
            if getattr(self, name).dtype != dtype:
                raise InputError(f"stream {name!r} has another layout than this version's")
        for name, bit in (("commands", AUTOPILOT), ("winds", WIND)):
            rows, needed = len(getattr(self, name)), int(np.count_nonzero(due & np.uint16(bit)))
            if rows != needed:
                raise InputError(f"stream {name!r} has {rows} rows; the timeline needs {needed}")
        at = self.scenario_at
        if len(at) != len(self.scenarios) + 1 or at[0] != 0 or np.any(np.diff(at) <= 0):
            raise InputError(
                f"stream 'scenario_at' must rise from 0, with one value more than the {len(self.scenarios)} rows of "
                "'scenarios'"
            )
        if at[-1] != len(times_us):
            raise InputError(f"stream 'scenarios' covers {at[-1]} boundaries; the timeline has {len(times_us)}")
        if len(self.gusts) != 1:
            raise InputError(f"stream 'gusts' has {len(self.gusts)} rows; it must be 1")

    def on(self, timeline: Timeline) -> "Streams":
        """Return the streams on a timeline that has the same axes but for other physics steps.

        Raises:
            InputError: If the axes of the streams tick at other times there.
        """
        for name, bit in AXIS_BITS.items():
            ours, theirs = (times[(due & np.uint16(bit)) != 0] for times, due in _both(self, timeline))
            if name != "physics" and not np.array_equal(ours, theirs):
                raise InputError(
                    f"the {name} axis ticks at other times than when the flight was recorded; only the physics axis "
                    "may change"
                )
        changes_us = self.time_us[self.scenario_at[:-1]]
        at = np.searchsorted(timeline.time_us, changes_us)
        if not np.array_equal(timeline.time_us[at], changes_us):
            raise InputError("the scenario changed at a physics step that the timeline does not have")
        scenario_at = np.append(at, len(timeline)).astype(np.int64)
        return replace(self, time_us=timeline.time_us, due=timeline.due, scenario_at=scenario_at)

    def scenario_by_boundary(self) -> npt.NDArray[Any]:
        """Return the scenario's outputs at every boundary."""
        return np.repeat(self.scenarios, np.diff(self.scenario_at))


def _both(streams: Streams, timeline: Timeline) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    return (streams.time_us, streams.due), (timeline.time_us, timeline.due)


def allocate(
    timeline: Timeline, n_x: int, replay: Streams | None, record: bool, sensors: npt.NDArray[Any]
) -> dict[str, npt.NDArray[Any]]:
    """Make the log, and the streams: to be written, to be read by a replay, or empty; `sensors` is their record.

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
    sensor_rows = log_rows if sensors["address"][0] else 0
    size = log_rows * (LOG_ROW.itemsize + 8 * n_x) + sensor_rows * SENSOR_OUT.itemsize
    fingerprints = np.zeros((len(timeline) if record else 0, n_x), FINGERPRINT)
    size += sum(counts[name] * dtype.itemsize for name, dtype in STREAMS.items()) + fingerprints.nbytes if record else 0
    if size > MAX_BYTES:
        raise InputError(
            f"log and streams of this run would take {size / 2**30:.1f} GiB; the limit is {MAX_BYTES / 2**30:.0f}. "
            "Use a longer log period or an earlier end"
        )
    arrays: dict[str, npt.NDArray[Any]] = {
        "log": np.empty(log_rows, LOG_ROW),  # each row is written as a whole, and none is looked at before
        "log_state": np.empty((log_rows, n_x)),
        "logged": np.zeros(1, np.int64),
        "fingerprints": fingerprints,
        "sensors": sensors,
        "log_sensors": np.empty(sensor_rows, SENSOR_OUT),
    }
    if replay is not None:
        _check_replay(replay, timeline)
    for name, dtype in STREAMS.items():
        if replay is None:
            arrays[name] = np.zeros(counts[name] if record else 0, dtype)
            continue
        arrays[name] = getattr(replay, name).copy()
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
    """Check that streams fit together and belong to a timeline."""
    if not np.array_equal(replay.time_us, timeline.time_us) or not np.array_equal(replay.due, timeline.due):
        raise InputError(
            f"the streams are of another timeline: {len(replay.time_us)} boundaries to {int(replay.time_us[-1])} us, "
            f"not {len(timeline)} to {timeline.end_us} us with the same axes. Replay with the recording's timeline"
        )
    replay.check()
