"""All other messages, by pymavlink's dialect `common`."""

import functools
from typing import Any

from px4lockstep.errors import InputError


@functools.cache
def common() -> Any:
    """Return pymavlink's module of the dialect."""
    try:
        from pymavlink.dialects.v20 import common as module
    except ImportError as error:
        raise InputError(
            "stock PX4 is flown over MAVLink, which needs pymavlink; install it by `pip install 'px4lockstep[sitl]'`"
        ) from error
    return module


@functools.cache
def crc_extras() -> dict[int, int]:
    """Return the byte of each message of the dialect, by its number."""
    return {number: kind.crc_extra for number, kind in common().mavlink_map.items()}


class Dialect:
    """Encodes and decodes messages by name, for a sender."""

    def __init__(self, system: int, component: int) -> None:
        self._mavlink = common().MAVLink(None, system, component)

    def encode(self, name: str, *fields: Any) -> bytes:
        """Return the frame of a message: `encode("command_long", ...)`."""
        message = getattr(self._mavlink, f"{name}_encode")(*fields)
        packed: bytes = bytes(message.pack(self._mavlink))
        self._mavlink.seq = (self._mavlink.seq + 1) & 0xFF
        return packed

    def decode(self, raw: bytes) -> Any:
        """Return the message of a frame, or None if it has another length than its kind."""
        try:
            return self._mavlink.decode(bytearray(raw))
        except common().MAVError:
            return None
