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
    """Return the checksum of a frame.

    Args:
        covered: All between the magic and the checksum.
        crc_extra: The byte of the message.
    """
    remainder = binascii.crc_hqx((covered + bytes((crc_extra,))).translate(_REVERSED), 0xFFFF)
    return _REVERSED[remainder >> 8] | _REVERSED[remainder & 0xFF] << 8


def frame(message: int, crc_extra: int, payload: bytes, sequence: int, system: int, component: int) -> bytes:
    """Return the frame of a payload.

    Args:
        message: Its number.
        crc_extra: The byte of the message.
        payload: All fields, with the zeros at their end, which are left out here; one byte stays.
        sequence: Counts the frames of a sender, 0 to 255.
        system: The sender's.
        component: The sender's.
    """
    payload = payload.rstrip(b"\0") or b"\0"
    header = HEADER.pack(MAGIC_2, len(payload), 0, 0, sequence, system, component, message & 0xFFFF, message >> 16)
    body = header + payload
    return body + CHECKSUM.pack(checksum(body[1:], crc_extra))
