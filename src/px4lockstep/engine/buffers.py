"""Buffers: the arrays that a run writes to, which grow with the run.

Event boundaries are generated in chunks, and each chunk extends the arrays by the rows that it needs. The loop runs to
the last boundary of the chunk and returns, so this costs nothing per boundary. A run with a known end and small arrays
allocates them all at once, in one chunk. The arrays are in memory, or wherever `use` moves them, such as in
memory-mapped files.
"""

import functools
from collections.abc import Callable, Container, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.streams import BOUNDARY, BY_NAME, CHANGE, KEPT, REPLAYED, STREAMS, Streams
from px4lockstep.engine.timeline import AXIS_BITS, CHUNK_BOUNDARIES, LOG, Timeline, count_ticks
from px4lockstep.errors import InputError
from px4lockstep.jit.records import locked

Array = npt.NDArray[Any]
Grow = Callable[[str, Array, int, int], Array]
"""`grow(name, array, rows, used)` returns a copy with at least `rows` rows, of which the first `used` are copied."""

MAX_BYTES = 8 * 2**30
"""Memory limit of a run."""
WHOLE_BYTES = 2**28
"""Runs up to this size allocate their arrays at once."""
FIRST_CHUNKS = 4
"""Chunks for which a run whose end is not known reserves memory first; pages that it does not reach cost nothing."""
FIRST_CHANGES = 1_024
"""Initial rows for the scenario's changes; the buffer doubles whenever it is full."""


def grow_in_memory(name: str, array: Array, rows: int, used: int) -> Array:
    """Return a larger array in memory, at least twice the size to keep the number of copies low."""
    rows = max(rows, 2 * len(array))
    if name in BY_NAME and BY_NAME[name].per == CHANGE and rows * array.itemsize > MAX_BYTES:
        raise InputError(
            f"the scenario changes so often that its recording needs more than {MAX_BYTES / 2**30:.0f} GiB. Change its "
            "outputs less often, or turn recording off"
        )
    grown = np.empty((rows, *array.shape[1:]), array.dtype)
    grown[:used] = array[:used]
    return grown


@functools.lru_cache(maxsize=64)
def _row_bytes(n_x: int, words: int) -> dict[str, int]:
    """Return the size of a row of each stream, by name."""
    return {stream.name: stream.empty(1, n_x, words).nbytes for stream in STREAMS}


@functools.lru_cache(maxsize=64)
def _no_rows(n_x: int, words: int) -> dict[str, Array]:
    """Return the arrays of all streams without rows, by name."""
    return {stream.name: stream.empty(0, n_x, words) for stream in STREAMS}


class Buffers:
    """The arrays of a run, by stream name, and the event boundaries generated up to now.

    The end of the timeline is an upper bound; `n_x` is the number of states of the plant, `words` the length of a
    row of the log, `chosen` names the streams that this run records and others do not. `grow` provides the memory,
    until `use` moves the arrays elsewhere.
    """

    def __init__(
        self,
        timeline: Timeline,
        n_x: int,
        words: int,
        replay: Streams | None,
        record: bool,
        *,
        has_sensors: bool = False,
        chosen: Container[str] = (),
        grow: Grow = grow_in_memory,
    ) -> None:
        if replay is not None:
            replay.check_timeline(timeline)
        self._timeline = timeline
        self._replay = replay
        sizes = _row_bytes(n_x, words)
        self._row_bytes = {
            stream.name: sizes[stream.name]
            for stream in STREAMS
            if (record or not stream.is_recorded)
            and (has_sensors or not stream.needs_sensors)
            and (stream.name in chosen or not stream.is_chosen)
        }
        self._grow = grow
        self.arrays: dict[str, Array] = dict(_no_rows(n_x, words))
        if replay is not None:
            self.arrays |= {stream.name: getattr(replay, stream.name).copy() for stream in REPLAYED}
        self._next_us = timeline.start_us
        self._rows = dict.fromkeys((BOUNDARY, *AXIS_BITS), 0)
        self.time_us: npt.NDArray[np.uint64] = locked(self.arrays["time_us"])
        self.due: npt.NDArray[np.uint16] = locked(self.arrays["due"])
        self._before_end: tuple[Array, Array, bool] | None = None
        self.is_complete = False
        """Whether the generated boundaries include the end."""
        if record and replay is None:
            self.reserve(CHANGE, FIRST_CHANGES, {})
        self.extend({})

    def __len__(self) -> int:
        return len(self.time_us)

    def check_memory(self) -> None:
        """Raise `InputError` if a run in memory exceeds the memory limit, or already does if its end is not known."""
        if self._grow is not grow_in_memory:
            return
        arrays = self.arrays.values()
        size = self._whole_bytes() if self._timeline.is_end_known else sum(array.nbytes for array in arrays)
        if size > MAX_BYTES:
            raise InputError(
                f"log and streams of this run would take {size / 2**30:.1f} GiB; the limit is "
                f"{MAX_BYTES / 2**30:.0f} GiB. Use a longer log period or an earlier end, or write a run folder"
            )

    def _whole_bytes(self) -> int:
        """Return the size of the arrays if the run continues to the end of its timeline."""
        ticks = {name: self._timeline.most_ticks(name) for name in AXIS_BITS}
        ticks |= {BOUNDARY: sum(ticks.values()) + 2, CHANGE: 0, KEPT: 0}
        return sum(ticks[BY_NAME[name].per] * size for name, size in self._row_bytes.items())

    def extend(self, used: Mapping[str, int]) -> None:
        """Generate further boundaries and extend the arrays; `used` is the number of rows written, by stream."""
        if self._replay is not None:
            replay = self._replay
            self._add(replay.time_us, replay.due, count_ticks(replay.due), used, is_last=True)
            return
        span_us = self._timeline.end_us + 1 - self._timeline.start_us
        is_small = self._timeline.is_end_known and self._whole_bytes() <= WHOLE_BYTES
        is_moved = self._grow is not grow_in_memory and len(self) > 0  # for example to files
        if is_moved or not is_small:
            span_us = self._timeline.chunk_us(CHUNK_BOUNDARIES)
        time_us: Array = self.time_us[:0]
        while not len(time_us):
            chunk = self._next_us, self._next_us + span_us
            time_us, due = self._timeline.chunk(*chunk)
            self._next_us += span_us
        ticks = self._timeline.chunk_ticks(*chunk)
        self._add(time_us, due, ticks, used, is_last=self._next_us > self._timeline.end_us)

    def _add(
        self, time_us: Array, due: Array, ticks: Mapping[str, int], used: Mapping[str, int], *, is_last: bool
    ) -> None:
        start, stop = len(self), len(self) + len(time_us)
        self.is_complete = is_last
        self._rows[BOUNDARY] = stop
        for name in AXIS_BITS:
            self._rows[name] += ticks[name]
        if is_last and not start:
            self.time_us, self.due = locked(time_us), locked(due)  # the timeline's arrays, not copied
        else:
            for name, new in (("time_us", time_us), ("due", due)):
                self._make_room(name, stop, start)
                self.arrays[name][start:stop] = new
            self.time_us, self.due = locked(self.arrays["time_us"][:stop]), locked(self.arrays["due"][:stop])
        self._reserve_known(used)

    def _reserve_known(self, used: Mapping[str, int]) -> None:
        """Extend the arrays to all rows of the generated boundaries; the log has one extra row, for a crash."""
        for name in self._row_bytes:
            stream = BY_NAME[name]
            is_replayed = self._replay is not None and stream.is_replayed
            if stream.per in self._rows and not is_replayed and name not in ("time_us", "due"):
                needed = self._rows[stream.per] + (stream.per == "log")
                is_first = not len(self.arrays[name])
                chunks = 1 if self.is_complete or not is_first else FIRST_CHUNKS
                self._make_room(name, chunks * needed, used.get(name, 0))
                if name == "fingerprints" and is_first:
                    self.arrays[name][:1] = 0  # no interval precedes the first boundary

    def reserve(self, per: str, rows: int, used: Mapping[str, int]) -> None:
        """Extend the streams with rows per change or per checkpoint (`per`) to at least `rows` rows."""
        for name in self._row_bytes:
            if BY_NAME[name].per == per:
                self._make_room(name, rows, used.get(name, 0))

    def _make_room(self, name: str, rows: int, used: int) -> None:
        if rows > len(self.arrays[name]):
            self.arrays[name] = self._grow(name, self.arrays[name], rows, min(used, len(self.arrays[name])))

    def use(self, grow: Grow, used: Mapping[str, int]) -> None:
        """Move the arrays, with the rows already written, to memory that `grow` provides.

        If `grow` raises, nothing changes.
        """
        moved = {}
        for name in self._row_bytes:
            stream, array = BY_NAME[name], self.arrays[name]
            is_replayed = self._replay is not None and stream.is_replayed
            is_the_timelines = stream.per == BOUNDARY and not len(array)
            if not is_replayed and not is_the_timelines:
                rows = self._rows.get(stream.per, len(array)) + (stream.per == "log")
                written = len(self) if name in ("time_us", "due") else used.get(name, 0)
                moved[name] = grow(name, array, rows, min(written, len(array)))
        self.arrays |= moved
        self._grow = grow
        if not self.is_complete:
            stop = len(self)
            self.time_us, self.due = locked(self.arrays["time_us"][:stop]), locked(self.arrays["due"][:stop])

    def end_at(self, last: int) -> None:
        """Make a boundary the last one; the log is due there."""
        self._before_end = self.time_us, self.due, self.is_complete
        due = self.due[: last + 1].copy()
        due[last] |= np.uint16(LOG)
        self.time_us, self.due = self.time_us[: last + 1], locked(due)
        self.is_complete = True

    def take_back_end(self) -> None:
        """Undo `end_at`: let the run continue to the end of the timeline."""
        if self._before_end is not None:
            self.time_us, self.due, self.is_complete = self._before_end
            self._before_end = None

    def discard(self, name: str) -> None:
        """Free the memory of a stream, which the run does not record any more."""
        del self._row_bytes[name]
        self.arrays[name] = self.arrays[name][:0].copy()

    def release(self) -> None:
        """Free the memory of the recorded streams."""
        for stream in STREAMS:
            if stream.is_recorded:
                self.arrays[stream.name] = self.arrays[stream.name][:0].copy()
