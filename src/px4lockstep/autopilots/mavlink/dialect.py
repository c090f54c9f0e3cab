"""Messages that are not exchanged at every step, through pymavlink's dialect `common`."""

import functools
from typing import Any


@functools.cache
def common() -> Any:
    """Return pymavlink's dialect module, imported on first use: only flights with stock PX4 need it."""
    from pymavlink.dialects.v20 import common as module

    return module


@functools.cache
def crc_extras() -> dict[int, int]:
    """Return the CRC_EXTRA byte of each message in the dialect, by message ID."""
    return {number: kind.crc_extra for number, kind in common().mavlink_map.items()}


class Dialect:
    """Encodes messages by name for a sender, and decodes frames."""

    def __init__(self, system: int, component: int) -> None:
        self._mavlink = common().MAVLink(None, system, component)

    def encode(self, name: str, *fields: Any) -> bytes:
        """Return the frame of a message: `encode("command_long", ...)`."""
        message = getattr(self._mavlink, f"{name}_encode")(*fields)
        packed: bytes = bytes(message.pack(self._mavlink))
        self._mavlink.seq = (self._mavlink.seq + 1) & 0xFF
        return packed

    def decode(self, raw: bytes) -> Any:
        """Return the message in a frame, or None if its length is wrong."""
        try:
            return self._mavlink.decode(bytearray(raw))
        except common().MAVError:
            return None
