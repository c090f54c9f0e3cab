"""Publishers and subscribers, each for one topic, with the layout of its message."""

from ctypes import byref, c_int32
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from px4lockstep.errors import InputError
from px4lockstep.px4.uorb.layout import Layout

if TYPE_CHECKING:
    from px4lockstep.px4.handle import Px4

Message = np.void | np.ndarray | bytes | bytearray | memoryview


@dataclass(eq=False, repr=False)
class Publisher:
    """Publisher of a topic to PX4, created by `Px4.publisher`. `id` is its number in the library."""

    _px4: "Px4"
    id: int
    layout: Layout

    @property
    def instance(self) -> int:
        """Instance of the topic; -1 if any was requested and nothing has been published yet."""
        instance = c_int32(-1)
        self._px4.call("orb_publisher_instance", f"{self.layout.topic}", self.id, byref(instance))
        return instance.value

    def publish(self, message: Message) -> None:
        """Queue a message, which PX4 publishes in its next step; another message before that replaces it.

        Args:
            message: A record with the layout's dtype, or its bytes.

        Raises:
            InputError: If its dtype or size is wrong.
        """
        topic, size = self.layout.topic, self.layout.size
        if isinstance(message, np.void | np.ndarray):
            if message.dtype != self.layout.dtype or message.size != 1:
                raise InputError(
                    f"a message for {topic} must be one record with the dtype of its layout, not {message.size} of "
                    f"{message.dtype}; create it with publisher.layout.zeros()"
                )
        elif len(message) != size:
            raise InputError(f"a message for {topic} must have {size} bytes, not {len(message)}")
        raw = np.frombuffer(message, np.uint8)
        self._px4.call("orb_queue_publish", f"{topic}, {size} bytes", self.id, raw.ctypes.data, size)


@dataclass(eq=False, repr=False)
class Subscriber:
    """Subscriber to a topic of PX4, created by `Px4.subscriber`. `id` is its number in the library."""

    _px4: "Px4"
    id: int
    instance: int
    layout: Layout

    def __post_init__(self) -> None:
        self._about = f"{self.layout.topic}, instance {self.instance}"

    def updated(self) -> bool:
        """Return whether there is a new message that has not been copied."""
        answer = c_int32(0)
        self._px4.call("orb_check", self._about, self.id, byref(answer))
        return answer.value != 0

    def copy(self) -> np.void:
        """Return the newest message.

        Raises:
            Px4Error: If none has been published.
        """
        message = np.zeros(1, self.layout.dtype)
        self._px4.call("orb_copy", self._about, self.id, message.ctypes.data, self.layout.size)
        record: np.void = message[0]
        return record

    def close(self) -> None:
        """Unsubscribe."""
        self._px4.call("orb_unsubscribe", self._about, self.id)
