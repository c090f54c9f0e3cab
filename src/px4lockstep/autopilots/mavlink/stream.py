"""Extraction of frames from a byte stream that may contain anything else.

A frame is valid if its message is known and its checksum is correct. Everything else is skipped: garbage, truncated
frames, and frames with unknown messages. A byte that merely looks like the start of a long frame does not hold back the
frames after it: the search continues behind it, so that the lockstep never waits for bytes that will not arrive.
"""

from collections.abc import Mapping
from typing import NamedTuple

from px4lockstep.autopilots.mavlink.frame import CHECKSUM, MAGIC_1, MAGIC_2, MAX_PAYLOAD, checksum

SIGNED = 1
"""The only defined flag of `incompat`: a signature of 13 bytes follows."""
SIGNATURE_BYTES = 13
LENGTHS = {MAGIC_1: 6, MAGIC_2: 10}
"""Header lengths."""
MAX_FRAME = 10 + MAX_PAYLOAD + 2 + SIGNATURE_BYTES

NO_FRAME, CUT_OFF = -1, 0


class Frame(NamedTuple):
    """A received frame."""

    message: int
    payload: bytes
    raw: bytes
    system: int
    component: int


class Stream:
    """Extracts frames from received bytes; `crc_extra` lists the known messages."""

    def __init__(self, crc_extra: Mapping[int, int]) -> None:
        self._crc_extra = crc_extra
        self._buffer = bytearray()
        self.skipped = 0
        """Number of bytes that belonged to no frame."""

    def take(self, data: bytes) -> list[Frame]:
        """Return the frames that these bytes complete, in order."""
        buffer = self._buffer
        if not buffer and self._is_one_frame(data):  # the usual case
            return [Frame(data[7] | data[8] << 8 | data[9] << 16, data[10:-2], data, data[5], data[6])]
        buffer += data
        frames: list[Frame] = []
        done = place = 0  # end of the bytes that are used or skipped, and where the next frame may start
        while (place := self._next_magic(place)) < len(buffer):
            size = self._frame_at(place)
            if size > 0:
                frames.append(self._read(place, size))
                self.skipped += place - done
                place += size
                done = place
            else:
                place += 1
        keep = self._first_cut_off(done)
        self.skipped += keep - done
        del buffer[:keep]
        return frames

    def _is_one_frame(self, data: bytes) -> bool:
        """Return whether this is exactly one MAVLink 2 frame without a signature."""
        if len(data) < 12 or data[0] != MAGIC_2 or data[1] != len(data) - 12 or data[2]:
            return False
        crc_extra = self._crc_extra.get(data[7] | data[8] << 8 | data[9] << 16)
        return crc_extra is not None and checksum(data[1:-2], crc_extra) == data[-2] | data[-1] << 8

    def _next_magic(self, start: int) -> int:
        """Return the position of the next byte that may start a frame, or the end."""
        buffer, end = self._buffer, len(self._buffer)
        if start < end and buffer[start] == MAGIC_2:  # the usual case
            return start
        first = buffer.find(MAGIC_2, start)
        other = buffer.find(MAGIC_1, start, first if first >= 0 else end)
        return other if other >= 0 else first if first >= 0 else end

    def _first_cut_off(self, start: int) -> int:
        """Return the start of the first frame that further bytes may complete, or the end."""
        place = self._next_magic(max(start, len(self._buffer) - MAX_FRAME))
        while place < len(self._buffer) and self._frame_at(place) != CUT_OFF:
            place = self._next_magic(place + 1)
        return place

    def _frame_at(self, place: int) -> int:
        """Return the length of the frame that starts here, `NO_FRAME`, or `CUT_OFF` if more bytes may complete it."""
        buffer = self._buffer
        header = LENGTHS[buffer[place]]
        there = len(buffer) - place
        if there < header:
            return CUT_OFF
        is_second = buffer[place] == MAGIC_2
        flags = buffer[place + 2] if is_second else 0
        crc_extra = self._crc_extra.get(self._message_at(place))
        if crc_extra is None or flags & ~SIGNED:
            return NO_FRAME
        covered = header + buffer[place + 1]
        size = covered + CHECKSUM.size + (SIGNATURE_BYTES if flags else 0)
        if there < size:
            return CUT_OFF
        said = CHECKSUM.unpack_from(buffer, place + covered)[0]
        return size if checksum(buffer[place + 1 : place + covered], crc_extra) == said else NO_FRAME

    def _message_at(self, place: int) -> int:
        buffer = self._buffer
        if buffer[place] == MAGIC_1:
            return buffer[place + 5]
        return buffer[place + 7] | buffer[place + 8] << 8 | buffer[place + 9] << 16

    def _read(self, place: int, size: int) -> Frame:
        buffer = self._buffer
        header = LENGTHS[buffer[place]]
        sender = place + (5 if buffer[place] == MAGIC_2 else 3)
        start = place + header
        payload = bytes(buffer[start : start + buffer[place + 1]])
        raw = bytes(buffer[place : place + size])
        return Frame(self._message_at(place), payload, raw, buffer[sender], buffer[sender + 1])
