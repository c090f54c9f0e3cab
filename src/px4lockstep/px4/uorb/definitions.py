r"""Message definitions: the fields of a message as PX4 declares them, and the hash that PX4 takes over them.

    hash = FNV-1a, 32 bits, over the lines `type name\n` as declared, a nested message's lines after its field

so it names the layout: two messages with the same lines have the same bytes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from px4lockstep.errors import LayoutError

SIZES = {
    **dict.fromkeys(("uint64", "int64", "float64"), 8),
    **dict.fromkeys(("uint32", "int32", "float32"), 4),
    **dict.fromkeys(("uint16", "int16"), 2),
    **dict.fromkeys(("uint8", "int8", "bool", "char"), 1),
}
"""Bytes of PX4's own types. Any other type is a message."""
MAX_COUNT = 65535
"""Elements of an array, and bytes of a message: PX4 keeps the size of a whole message in 16 bits."""
MAX_FIELDS = 1_000
"""Fields of a message, with those of messages nested in it; the largest of PX4 has a tenth of it."""
MAX_NESTING = 16
_LINE = re.compile(r"(?:px4/)?([A-Za-z]\w{0,63})(?:\[([1-9]\d{0,5})\])?\s+([A-Za-z_]\w{0,63})", re.ASCII)


@dataclass(frozen=True)
class Field:
    """A field: its type without brackets, its name, and how many elements it has if it is an array."""

    type: str
    name: str
    count: int | None = None

    @classmethod
    def parse(cls, line: str) -> Self:
        """Read a declaration, `float32[4] q`; one without a fixed length is a `LayoutError`."""
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise LayoutError(f"{line!r:.120} is no field; it must be like 'float32 x' or 'float32[4] q'")
        element, count, name = match.groups()
        if count is not None and int(count) > MAX_COUNT:
            raise LayoutError(f"{line!r} is too long; an array has at most {MAX_COUNT} elements")
        return cls(element, name, None if count is None else int(count))

    @property
    def is_nested(self) -> bool:
        """Whether it is another message."""
        return self.type not in SIZES

    @property
    def full_type(self) -> str:
        """Its type with brackets, `float32[4]`."""
        return self.type if self.count is None else f"{self.type}[{self.count}]"

    def __str__(self) -> str:
        return f"{self.full_type} {self.name}"


@dataclass(frozen=True)
class Definition:
    """A message: its fields as declared, its constants, and the topics that have it."""

    message: str
    fields: tuple[Field, ...]
    topics: tuple[str, ...]
    constants: Mapping[str, int | float | str] = field(default_factory=dict)


def message_hash(definition: Definition, others: Mapping[str, Definition]) -> int:
    """Return PX4's hash of a message; `others` has the messages that are nested in it, by name."""
    value = 0x811C9DC5
    for byte in _hashed_text(definition, others).encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def _hashed_text(definition: Definition, others: Mapping[str, Definition]) -> str:
    text = ""
    for each in definition.fields:
        text += f"{each}\n"
        if each.is_nested:
            text += _hashed_text(nested_definition(definition.message, each, others), others)
    return text


def count_fields(definition: Definition, others: Mapping[str, Definition], outer: tuple[str, ...] = ()) -> int:
    """Return how many fields a message has, with those of nested messages; one beyond the limits is an error."""
    chain = (*outer, definition.message)
    if definition.message in outer:
        raise LayoutError(f"{definition.message} contains itself: {' > '.join(chain)}")
    if len(outer) > MAX_NESTING:
        raise LayoutError(f"{outer[0]} is nested too deeply: more than {MAX_NESTING} messages; PX4 has at most 2")
    count = len(definition.fields)
    for each in definition.fields:
        if each.is_nested and count <= MAX_FIELDS:
            count += count_fields(nested_definition(definition.message, each, others), others, chain)
    if count > MAX_FIELDS:
        raise LayoutError(f"{definition.message} has more than {MAX_FIELDS:,} fields with those of nested messages")
    return count


def nested_definition(message: str, each: Field, others: Mapping[str, Definition]) -> Definition:
    """Return the definition of a nested message, or raise `LayoutError`."""
    if each.type not in others:
        raise LayoutError(
            f"{message}: field {each.name!r} has the type {each.type}, which is neither a message that is known "
            f"nor one of {', '.join(SIZES)}"
        )
    return others[each.type]


def snake_case(message: str) -> str:
    """Return the topic that a message is called after: VehicleStatus is vehicle_status."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", message).lower()


def pascal_case(topic: str) -> str:
    """Return the message that a topic is called after: vehicle_status is VehicleStatus."""
    return "".join(word.capitalize() for word in topic.split("_"))
