"""MAVLink 2 frames: magic, length, flags, sequence, sender, message ID, payload without trailing zeros, checksum.

    FD  len  incompat  compat  seq  sysid  compid  msgid (3)  payload (len)  checksum (2)

The checksum is CRC-16/MCRF4XX over everything but the magic, followed by a byte specific to the message (`crc_extra`).
It equals `binascii.crc_hqx`, which is compiled, with all bits reversed.
"""

import binascii
import struct

MAGIC_1, MAGIC_2 = 0xFE, 0xFD
"""First byte of a frame in MAVLink 1, and in MAVLink 2."""
HEADER = struct.Struct("<BBBBBBBHB")
"""Header of MAVLink 2; the message ID is in the last two fields."""
CHECKSUM = struct.Struct("<H")
MAX_PAYLOAD = 255

_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def checksum(covered: bytes | bytearray, crc_extra: int) -> int:
    """Return the checksum of a frame, which covers the bytes between the magic and the checksum."""
    return crc16(covered + bytes((crc_extra,)))


def crc16(data: bytes | bytearray) -> int:
    """Return the CRC-16/MCRF4XX of these bytes."""
    remainder = binascii.crc_hqx(data.translate(_REVERSED), 0xFFFF)
    return _REVERSED[remainder >> 8] | _REVERSED[remainder & 0xFF] << 8


def frame(message: int, crc_extra: int, payload: bytes, sequence: int, system: int, component: int) -> bytes:
    """Return the frame of a payload, truncated by its trailing zeros except for the first byte."""
    payload = payload.rstrip(b"\0") or b"\0"
    header = HEADER.pack(MAGIC_2, len(payload), 0, 0, sequence, system, component, message & 0xFFFF, message >> 16)
    body = header + payload
    return body + CHECKSUM.pack(checksum(body[1:], crc_extra))
