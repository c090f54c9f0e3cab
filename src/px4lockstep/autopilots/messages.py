"""Messages that an autopilot published and that are logged as they arrived, one buffer per instance of a topic.

A row is the time of the tick at which the message arrived, and the message. The loop fills the rows and never
allocates: before each call of the loop, the buffers are extended to hold every message that may arrive in it. They are
in memory, or wherever `use` moves them, such as in memory-mapped files.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Grow = Callable[[str, Array, int, int], Array]
"""`grow(name, array, rows, used)` returns a copy with at least `rows` rows, of which the first `used` are copied."""

COUNTS = "uorb.counts"
"""Name of the buffer with the number of complete rows of each topic."""


@dataclass
class TopicLog:
    """The logged messages of one instance of a topic."""

    topic: str
    instance: int
    message_hash: int
    rows: Array  # up to its capacity: `time_us` and `message`
    depth: int = 1  # length of the topic's queue: the number of messages that may arrive in a tick

    @classmethod
    def empty(cls, topic: str, instance: int, message_hash: int, message: np.dtype[Any], depth: int) -> "TopicLog":
        """Return a log for messages of the given dtype, without capacity."""
        layout = {"names": ["time_us", "message"], "formats": ["<i8", message], "offsets": [0, 8]}
        row = np.dtype({**layout, "itemsize": 8 + message.itemsize})  # type: ignore[call-overload]  # a dict of lists
        return cls(topic, instance, message_hash, np.zeros(0, row), depth)

    @property
    def name(self) -> str:
        """Its name, unique in a flight: `battery_status_1` is instance 1."""
        return f"{self.topic}_{self.instance}"


class MessageLog:
    """The logged messages of a flight."""

    def __init__(self, topics: Sequence[TopicLog] = ()) -> None:
        self.topics = tuple(topics)
        self.counts: npt.NDArray[np.int64] = np.zeros(len(self.topics), np.int64)
        """Number of complete rows of each topic."""
        self._grow: Grow = _grow_in_memory

    def received(self) -> dict[str, Array]:
        """Return the messages received up to now, by name of the topic and its instance."""
        return {each.name: each.rows[:count] for each, count in zip(self.topics, self.counts.tolist(), strict=True)}

    def reserve(self, ticks: int) -> bool:
        """Extend the buffers for the messages of further ticks; return whether a buffer has moved."""
        has_moved = False
        for each, used in zip(self.topics, self.counts.tolist(), strict=True):
            needed = used + ticks * each.depth
            if needed > len(each.rows):
                each.rows = self._grow(f"uorb.{each.name}", each.rows, max(needed, 2 * len(each.rows)), used)
                has_moved = True
        return has_moved

    def use(self, grow: Grow) -> None:
        """Move the buffers, with the messages received up to now, to memory that `grow` provides."""
        count = len(self.topics)
        self.counts = grow(COUNTS, self.counts, count, count)[:count]
        for each, used in zip(self.topics, self.counts.tolist(), strict=True):
            each.rows = grow(f"uorb.{each.name}", each.rows, len(each.rows), used)
        self._grow = grow


def _grow_in_memory(_: str, array: Array, rows: int, used: int) -> Array:
    grown = np.zeros(rows, array.dtype)
    grown[:used] = array[:used]
    return grown
