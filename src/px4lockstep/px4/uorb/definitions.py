r"""Message definitions: the fields of a message in PX4's declaration order, and PX4's hash over them.

    hash = 32-bit FNV-1a over the declared lines `type name\n`, with a nested message's lines after its field

The hash identifies the layout: two messages with the same lines have the same layout.
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
"""Sizes of PX4's basic types [bytes]. Any other type is a message."""
MAX_COUNT = 65535
"""Limit of array elements, and of bytes in a message, whose size PX4 stores in 16 bits."""
MAX_FIELDS = 1_000
"""Limit of fields in a message, including nested ones; PX4's largest message has a tenth of it."""
MAX_NESTING = 16
_LINE = re.compile(r"(?:px4/)?([A-Za-z]\w{0,63})(?:\[([1-9]\d{0,5})\])?\s+([A-Za-z_]\w{0,63})", re.ASCII)


@dataclass(frozen=True)
class Field:
    """A field: its type without brackets, its name, and the number of elements if it is an array."""

    type: str
    name: str
    count: int | None = None

    @classmethod
    def parse(cls, line: str) -> Self:
        """Parse a declaration, `float32[4] q`; a variable-length array is a `LayoutError`."""
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise LayoutError(f"{line!r:.120} is not a valid field; use the form 'float32 x' or 'float32[4] q'")
        element, count, name = match.groups()
        if count is not None and int(count) > MAX_COUNT:
            raise LayoutError(f"{line!r} is too long; an array has at most {MAX_COUNT} elements")
        return cls(element, name, None if count is None else int(count))

    @property
    def is_nested(self) -> bool:
        """Whether its type is another message."""
        return self.type not in SIZES

    @property
    def full_type(self) -> str:
        """Its type with brackets, `float32[4]`."""
        return self.type if self.count is None else f"{self.type}[{self.count}]"

    def __str__(self) -> str:
        return f"{self.full_type} {self.name}"


@dataclass(frozen=True)
class Definition:
    """A message: its fields as declared, its constants, and the topics that use it."""

    message: str
    fields: tuple[Field, ...]
    topics: tuple[str, ...]
    constants: Mapping[str, int | float | str] = field(default_factory=dict)


def message_hash(definition: Definition, others: Mapping[str, Definition]) -> int:
    """Return PX4's hash of a message; `others` contains its nested messages by name."""
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
    """Return the number of fields of a message, including nested ones; raise an error beyond the limits."""
    chain = (*outer, definition.message)
    if definition.message in outer:
        raise LayoutError(f"{definition.message} contains itself: {' > '.join(chain)}")
    if len(outer) > MAX_NESTING:
        raise LayoutError(f"{outer[0]} is nested too deeply: more than {MAX_NESTING} levels; PX4 uses at most 2")
    count = len(definition.fields)
    for each in definition.fields:
        if each.is_nested and count <= MAX_FIELDS:
            count += count_fields(nested_definition(definition.message, each, others), others, chain)
    if count > MAX_FIELDS:
        raise LayoutError(f"{definition.message} has more than {MAX_FIELDS:,} fields, including nested messages")
    return count


def nested_definition(message: str, each: Field, others: Mapping[str, Definition]) -> Definition:
    """Return the definition of a nested message, or raise `LayoutError`."""
    if each.type not in others:
        raise LayoutError(
            f"{message}: field {each.name!r} has the type {each.type}, which is neither a known message nor one of "
            f"{', '.join(SIZES)}"
        )
    return others[each.type]


def snake_case(message: str) -> str:
    """Return the default topic of a message: vehicle_status for VehicleStatus."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", message).lower()


def pascal_case(topic: str) -> str:
    """Return the default message of a topic: VehicleStatus for vehicle_status."""
    return "".join(word.capitalize() for word in topic.split("_"))
