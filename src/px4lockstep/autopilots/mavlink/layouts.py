"""Layouts of messages by name: number, checksum byte and the struct of the payload.

They come from pymavlink's dialect. `DEFINITIONS` has the messages that it lacks, or of which it has an older version
without the last extension fields, as in MAVLink's `common.xml`; fields after the bar are extensions.

A payload has the fields in wire order: widest first, then extensions as defined. The checksum byte is computed from the
definition: https://mavlink.io/en/guide/serialization.html#crc_extra
"""

import functools
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from px4lockstep.autopilots.mavlink.dialect import common
from px4lockstep.autopilots.mavlink.frame import crc16

TYPES = {"uint64_t": "Q", "uint32_t": "I", "int32_t": "i", "uint16_t": "H", "int16_t": "h"}
TYPES |= {"uint8_t": "B", "char": "s", "float": "f"}

DEFINITIONS = {
    "MISSION_CURRENT": (
        42,
        "uint16_t seq | uint16_t total, uint8_t mission_state, uint8_t mission_mode, "
        "uint32_t mission_id, uint32_t fence_id, uint32_t rally_points_id",
    ),
    "MISSION_COUNT": (
        44,
        "uint8_t target_system, uint8_t target_component, uint16_t count | uint8_t mission_type, uint32_t opaque_id",
    ),
    "MISSION_ACK": (
        47,
        "uint8_t target_system, uint8_t target_component, uint8_t type | uint8_t mission_type, uint32_t opaque_id",
    ),
    "ESC_INFO": (
        290,
        "uint8_t index, uint64_t time_usec, uint16_t counter, uint8_t count, uint8_t connection_type, uint8_t info, "
        "uint16_t[4] failure_flags, uint32_t[4] error_count, int16_t[4] temperature",
    ),
    "ESC_STATUS": (
        291,
        "uint8_t index, uint64_t time_usec, int32_t[4] rpm, float[4] voltage, float[4] current",
    ),
    "PROTOCOL_VERSION": (
        300,
        "uint16_t version, uint16_t min_version, uint16_t max_version, "
        "uint8_t[8] spec_version_hash, uint8_t[8] library_version_hash",
    ),
    "PARAM_ERROR": (
        345,
        "uint8_t target_system, uint8_t target_component, char[16] param_id, int16_t param_index, uint8_t error",
    ),
    "AVAILABLE_MODES": (
        435,
        "uint8_t number_modes, uint8_t mode_index, uint8_t standard_mode, uint32_t custom_mode, uint32_t properties, "
        "char[35] mode_name",
    ),
    "CURRENT_MODE": (436, "uint8_t standard_mode, uint32_t custom_mode, uint32_t intended_custom_mode"),
}


class MessageField(NamedTuple):
    """A field of a message; `length` is that of an array, otherwise 0."""

    name: str
    code: str
    length: int


class MessageLayout(NamedTuple):
    """A message: its name, number, checksum byte, the struct of its payload, and the fields in wire order."""

    name: str
    number: int
    crc_extra: int
    payload: struct.Struct
    fields: tuple[MessageField, ...]

    def pack(self, values: Mapping[str, Any]) -> bytes:
        """Return the payload of values by name; a field without a value is zero."""
        flat: list[Any] = []
        for name, code, length in self.fields:
            value = values.get(name, b"" if code == "s" else (0,) * length if length else 0)
            if length and code != "s":
                flat += value
            else:
                flat.append(value)
        return self.payload.pack(*flat)


@functools.cache
def layout(name: str) -> MessageLayout:
    """Return the layout of a message, by its name in MAVLink."""
    if name in DEFINITIONS:
        return _defined(name, *DEFINITIONS[name])
    kind = getattr(common(), f"MAVLink_{name.lower()}_message")
    fields = tuple(
        MessageField(field, code, length)
        for field, code, length in zip(kind.ordered_fieldnames, *_codes(kind.unpacker.format), strict=True)
    )
    return MessageLayout(name, kind.id, kind.crc_extra, kind.unpacker, fields)


def _codes(text: str) -> tuple[list[str], list[int]]:
    """Return the code and the array length of each field of a struct's format."""
    codes, lengths, number = [], [], ""
    for letter in text.lstrip("<"):
        if letter.isdigit():
            number += letter
            continue
        codes.append(letter)
        lengths.append(int(number or 0))
        number = ""
    return codes, lengths


def _defined(name: str, number: int, definition: str) -> MessageLayout:
    base, _, extensions = definition.partition("|")
    first = sorted(map(_field, base.split(",")), key=lambda item: -struct.calcsize(f"<{item[1].code}"))
    later = [_field(text) for text in extensions.split(",") if text.strip()]
    spelled = f"{name} ".encode()
    for kind, field in first:
        spelled += f"{kind} {field.name} ".encode() + (bytes((field.length,)) if field.length else b"")
    crc = crc16(spelled)
    fields = tuple(field for _, field in (*first, *later))
    form = "<" + "".join(f"{field.length or ''}{field.code}" for field in fields)
    return MessageLayout(name, number, (crc & 0xFF) ^ (crc >> 8), struct.Struct(form), fields)


def _field(text: str) -> tuple[str, MessageField]:
    """Return the type and the field of `uint16_t[4] name`."""
    kind, name = text.split()
    kind, _, rest = kind.partition("[")
    return kind, MessageField(name, TYPES[kind], int(rest.rstrip("]") or 0))
