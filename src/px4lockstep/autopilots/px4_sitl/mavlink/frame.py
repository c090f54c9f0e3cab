"""Frames of MAVLink 2: magic, length, flags, number, sender, message, payload without its trailing zeros, checksum.

    FD  len  incompat  compat  seq  sysid  compid  msgid (3)  payload (len)  checksum (2)

The checksum is CRC-16/MCRF4XX over all but the magic, and a byte of the message's own (`crc_extra`). It is the CRC of
`binascii.crc_hqx` with all bits in reverse, and that one is compiled.
"""

import binascii
import struct

MAGIC_1, MAGIC_2 = 0xFE, 0xFD
"""The first byte of a frame of MAVLink 1, and of MAVLink 2."""
HEADER = struct.Struct("<BBBBBBBHB")
"""Of MAVLink 2; the number of the message is in the last two."""
CHECKSUM = struct.Struct("<H")
MAX_PAYLOAD = 255

_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def checksum(covered: bytes | bytearray, crc_extra: int) -> int:
    """Return the checksum of a frame, which covers all between the magic and itself."""
    remainder = binascii.crc_hqx((covered + bytes((crc_extra,))).translate(_REVERSED), 0xFFFF)
    return _REVERSED[remainder >> 8] | _REVERSED[remainder & 0xFF] << 8


def frame(message: int, crc_extra: int, payload: bytes, sequence: int, system: int, component: int) -> bytes:
    """Return the frame of a payload; the zeros at its end are left out, but for one byte."""
    payload = payload.rstrip(b"\0") or b"\0"
    header = HEADER.pack(MAGIC_2, len(payload), 0, 0, sequence, system, component, message & 0xFFFF, message >> 16)
    body = header + payload
    return body + CHECKSUM.pack(checksum(body[1:], crc_extra))
