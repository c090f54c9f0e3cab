"""The streams of a run: one table of what is stored, when a row is written, and where it is in a recording.

Buffers, the arrays of the loop, the recording file and its checks are derived from this table. A stream that is not
needed for a replay is `optional`: a file without it, or with one unknown to this version, can be read.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.bus import ESTIMATE, SCENARIO_OUT, WIND_OUT
from px4lockstep.engine.checkpoints import CHECKPOINT
from px4lockstep.engine.fingerprints import FINGERPRINT
from px4lockstep.engine.timeline import AUTOPILOT, AXIS_BITS, LOG, WIND, Timeline
from px4lockstep.errors import InputError
from px4lockstep.plant.layout import COMMAND
from px4lockstep.scenario.setpoint_rows import SETPOINT_IN
from px4lockstep.sensors.suite import SENSOR_OUT

BOUNDARY, CHANGE, KEPT = "boundary", "change", "kept"
"""When a row is written, besides on an axis: at each boundary, at each change of the scenario, at each checkpoint."""
STATES, WORDS = "states", "words"
"""Width of a row: a number for each state of the plant, or the words of a row of the log (`log_layout`)."""


@dataclass(frozen=True)
class StreamKind:
    """An array that grows with the run."""

    name: str
    dtype: np.dtype[Any]  # type of a row
    per: str  # when a row is written: `BOUNDARY`, an axis, `CHANGE` or `KEPT`
    path: str  # path in a recording; empty if it is not recorded
    description: str
    width: str = ""  # a row has several numbers: `STATES` or `WORDS`
    is_replayed: bool = False  # a replay reads it
    needs_sensors: bool = False  # only a simulation with sensors has it
    is_chosen: bool = False  # only a recorded run that asks for it has it
    optional: bool = False  # a recording may lack it

    @property
    def is_recorded(self) -> bool:
        """Whether only a recorded run has it."""
        return self.is_replayed or self.optional

    @property
    def is_in_loop(self) -> bool:
        """Whether the loop uses it."""
        return self.per != KEPT

    @property
    def dimensions(self) -> int:
        """The number of dimensions of its array."""
        return 2 if self.width else 1

    def empty(self, rows: int, states: int, words: int = 0) -> npt.NDArray[Any]:
        """Return an uninitialized array with the given number of rows, for these widths."""
        columns = {STATES: states, WORDS: words}
        return np.empty((rows, columns[self.width]) if self.width else rows, self.dtype)


BITS = ", ".join(f"{bit} {name}" for name, bit in AXIS_BITS.items())
TEXTS = {
    "time_us": "Times of the event boundaries that were flown [us], strictly increasing.",
    "due": f"Axes that are due at each event boundary, as bits: {BITS}.",
    "commands": "Motor and servo commands, one row per autopilot tick.",
    "estimates": "State estimate, one row per autopilot tick, if `run.record_estimate` is set.",
    "setpoints": "Setpoint for the autopilot, one row per autopilot tick, if the flight has setpoints.",
    "winds": "Velocity from the wind source [m/s], one row per wind tick.",
    "scenarios": "Outputs and faults of the scenario, one row per change.",
    "scenario_at": "Index of the event boundary from which each row of scenarios holds; then the number of boundaries.",
    "fingerprints": "State fingerprints: the lowest byte of each plant state at each event boundary.",
    "checkpoints": "State of the whole simulation every few seconds, from which branches start.",
    "log": "Time, bus and held inputs of each row of the log, before the step that starts there.",
    "log_state": "Plant state of each row of the log.",
    "log_sensors": "Sensor outputs of each row of the log.",
}


def _kind(name: str, dtype: Any, per: str, path: str, **traits: Any) -> StreamKind:
    return StreamKind(name, np.dtype(dtype), per, path, TEXTS[name], **traits)


STREAMS = (
    _kind("time_us", "<u8", BOUNDARY, "timeline/time_us"),
    _kind("due", "<u2", BOUNDARY, "timeline/due"),
    _kind("commands", COMMAND, "autopilot", "streams/commands", is_replayed=True),
    _kind("winds", WIND_OUT, "wind", "streams/winds", is_replayed=True),
    _kind("estimates", ESTIMATE, "autopilot", "streams/estimates", is_replayed=True, is_chosen=True, optional=True),
    _kind("setpoints", SETPOINT_IN, "autopilot", "streams/setpoints", is_replayed=True, is_chosen=True, optional=True),
    _kind("scenarios", SCENARIO_OUT, CHANGE, "streams/scenarios", is_replayed=True),
    _kind("scenario_at", "i8", CHANGE, "streams/scenario_at", is_replayed=True),
    _kind("fingerprints", FINGERPRINT, BOUNDARY, "plant/fingerprints", width=STATES, optional=True),
    _kind("checkpoints", CHECKPOINT, KEPT, "checkpoints/state", optional=True),
    _kind("log", "<i8", "log", "log/rows", width=WORDS),
    _kind("log_state", "<f8", "log", "log/state", width=STATES),
    _kind("log_sensors", SENSOR_OUT, "log", "", needs_sensors=True),
)
BY_NAME = {stream.name: stream for stream in STREAMS}
REPLAYED = tuple(stream for stream in STREAMS if stream.is_replayed)
IN_RECORDING = tuple(stream for stream in STREAMS if stream.path)


@dataclass(frozen=True)
class Streams:
    """The recorded streams of a run that a replay needs, in memory.

    The boundaries are those that were flown: up to the end, fixed or requested, or up to a crash. The scenario is
    stored where it changes: `scenarios[i]` holds from boundary `scenario_at[i]` up to, but not including,
    `scenario_at[i + 1]`; the last value is the number of boundaries that the streams cover. `estimates` is empty unless
    the estimate was recorded, and `setpoints` unless the flight had setpoints.
    """

    time_us: npt.NDArray[np.uint64]
    due: npt.NDArray[np.uint16]
    gusts: npt.NDArray[Any]
    commands: npt.NDArray[Any]
    winds: npt.NDArray[Any]
    scenarios: npt.NDArray[Any]
    scenario_at: npt.NDArray[np.int64]
    estimates: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0, ESTIMATE))
    setpoints: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0, SETPOINT_IN))

    def check(self) -> None:
        """Check that all streams have the right layout, and the length that their timeline requires."""
        times_us, due = self.time_us, self.due
        if len(times_us) < 2 or len(due) != len(times_us) or np.any(times_us[1:] <= times_us[:-1]):
            raise InputError("a timeline must have at least two times, strictly increasing, each with its due axes")
        for stream in REPLAYED:
            if getattr(self, stream.name).dtype != stream.dtype:
                raise InputError(f"the layout of stream {stream.name!r} differs from this version's")
        ticks = dict.fromkeys(("commands", "estimates", "setpoints"), AUTOPILOT) | {"winds": WIND}
        for name, bit in ticks.items():
            rows, needed = len(getattr(self, name)), int(np.count_nonzero(due & np.uint16(bit)))
            if rows != needed and not (BY_NAME[name].is_chosen and rows == 0):
                raise InputError(f"stream {name!r} has {rows} rows; the timeline needs {needed}")
        at = self.scenario_at
        if len(at) != len(self.scenarios) + 1 or at[0] != 0 or np.any(np.diff(at) <= 0):
            raise InputError(
                f"stream 'scenario_at' must increase from 0 and have one value more than the {len(self.scenarios)} "
                "rows of 'scenarios'"
            )
        if at[-1] != len(times_us):
            raise InputError(f"stream 'scenarios' covers {at[-1]} boundaries; the timeline has {len(times_us)}")
        if len(self.gusts) != 1:
            raise InputError(f"stream 'gusts' has {len(self.gusts)} rows; it must have 1")

    def check_timeline(self, timeline: Timeline) -> None:
        """Check that the streams are consistent, and from a run on this timeline or on its first part."""
        if len(self.time_us) and int(self.time_us[-1]) <= timeline.end_us:
            time_us, due = timeline.window(timeline.start_us, int(self.time_us[-1]) + 1)
            is_same_time = np.array_equal(self.time_us, time_us)
            is_same_due = len(self.due) == len(due) and np.array_equal(self.due[:-1], due[:-1])
            if is_same_time and is_same_due and (int(self.due[-1]) ^ int(due[-1])) & ~LOG == 0:
                self.check()
                return
        last_us = int(self.time_us[-1]) if len(self.time_us) else 0
        count = len(timeline) if timeline.is_end_known else "any"
        raise InputError(
            f"the streams are from another timeline: {len(self.time_us)} boundaries to {last_us} us, "
            f"not {count} to {timeline.end_us} us with the same axes. Replay with the recording's timeline"
        )

    def on(self, timeline: Timeline) -> "Streams":
        """Return the streams on a timeline with the same axes except for the physics axis.

        A timeline that ends later is cut at the end of the streams. Other axes with different ticks are an error.
        """
        last_us = int(self.time_us[-1])
        time_us, due = (timeline.until(last_us) if last_us < timeline.end_us else timeline).window(
            timeline.start_us, last_us + 1
        )
        if not int(self.due[-1]) & LOG:  # a crash between two rows of the log
            due = np.append(due[:-1], due[-1] & ~np.uint16(LOG))
        for name, bit in AXIS_BITS.items():
            ours, theirs = (
                times[(axes & np.uint16(bit)) != 0] for times, axes in ((self.time_us, self.due), (time_us, due))
            )
            if name != "physics" and not np.array_equal(ours, theirs):
                raise InputError(
                    f"the {name} axis ticks at other times than in the recording; only the physics axis may change"
                )
        changes_us = self.time_us[self.scenario_at[:-1]]
        at = np.searchsorted(time_us, changes_us)
        if not np.array_equal(time_us[at], changes_us):
            raise InputError("the scenario changed at a physics step that is not in the timeline")
        scenario_at = np.append(at, len(time_us)).astype(np.int64)
        return replace(self, time_us=time_us, due=due, scenario_at=scenario_at)

    def scenario_by_boundary(self) -> npt.NDArray[Any]:
        """Return the scenario's outputs at every boundary."""
        return np.repeat(self.scenarios, np.diff(self.scenario_at))
