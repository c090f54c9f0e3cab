"""The memory layout of a message: a NumPy structured dtype with the offsets of PX4's C struct.

PX4 sorts the fields by element size, largest first, and otherwise keeps their declaration order. Nested messages come
last, each aligned to 8 bytes, and the size of the struct is a multiple of 8 bytes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from px4lockstep.errors import LayoutError
from px4lockstep.px4.uorb.definitions import (
    MAX_COUNT,
    SIZES,
    Definition,
    Field,
    count_fields,
    message_hash,
    nested_definition,
)

ALIGNMENT = 8
"""Alignment of every message, because each starts with a 64-bit timestamp."""
NUMPY_TYPES = {name: {"bool": "?", "char": "u1"}.get(name, name) for name in SIZES}
"""A char is a byte; char arrays hold null-terminated text."""


@dataclass(frozen=True)
class Layout:
    """Memory layout of a topic's message.

    `declared` lists the fields in declaration order, `uint8 nav_state`; it is empty if only the memory order is known.
    """

    topic: str
    message: str
    dtype: np.dtype[Any]
    size: int
    message_hash: int
    declared: tuple[str, ...] = ()
    constants: Mapping[str, int | float | str] = field(default_factory=dict, compare=False, repr=False)

    def zeros(self) -> np.void:
        """Return a zeroed message, to be filled in by name: `message["nav_state"] = 3`."""
        message: np.void = np.zeros(1, self.dtype)[0]
        return message

    def fields(self) -> dict[str, tuple[str, int]]:
        """Return type and offset of every field in memory order; nested fields as `current.lat`."""
        return dict(_walk(self.dtype, "", 0))


def layout_of(topic: str, definition: Definition, others: Mapping[str, Definition]) -> Layout:
    """Return the layout of a message, as PX4's generator does; `others` contains its nested messages by name."""
    count_fields(definition, others)
    dtype, own_hash = _dtype(definition, others), message_hash(definition, others)
    declared = tuple(map(str, definition.fields))
    return Layout(topic, definition.message, dtype, dtype.itemsize, own_hash, declared, definition.constants)


def _dtype(definition: Definition, others: Mapping[str, Definition]) -> np.dtype[Any]:
    placed = []
    for each in sorted(definition.fields, key=lambda each: -SIZES.get(each.type, 0)):
        if each.is_nested:
            inner = nested_definition(definition.message, each, others)
            placed.append((each, _dtype(inner, others)))
        else:
            placed.append((each, np.dtype(NUMPY_TYPES[each.type])))
    return struct_dtype(definition.message, placed)


def struct_dtype(message: str, placed: Iterable[tuple[Field, np.dtype[Any]]]) -> np.dtype[Any]:
    """Return the dtype of consecutive fields, each given with the dtype of an element.

    PX4's padding fields (`_padding0`) take up space but are omitted.
    """
    names: list[str] = []
    formats: list[Any] = []
    offsets: list[int] = []
    offset = 0
    for each, element in placed:
        alignment = ALIGNMENT if each.is_nested else element.itemsize
        offset += -offset % alignment
        if each.name in names:
            raise LayoutError(f"{message} has two fields called {each.name!r}")
        if not each.name.startswith("_padding"):
            names.append(each.name)
            formats.append(element if each.count is None else (element, (each.count,)))
            offsets.append(offset)
        offset += element.itemsize * (each.count or 1)
        if offset > MAX_COUNT:
            raise LayoutError(f"{message} has more than {MAX_COUNT:,} bytes; PX4 stores sizes in 16 bits")
    size = offset + -offset % ALIGNMENT
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


def _walk(dtype: np.dtype[Any], prefix: str, start: int) -> Iterable[tuple[str, tuple[str, int]]]:
    for name, (inner, offset, *_) in (dtype.fields or {}).items():
        if inner.base.names is None:
            brackets = "".join(f"[{n}]" for n in inner.shape)
            yield prefix + name, (inner.base.name + brackets, start + offset)
            continue
        for i in range(int(np.prod(inner.shape, dtype=int))):
            index = f"[{i}]" if inner.shape else ""
            yield from _walk(inner.base, f"{prefix}{name}{index}.", start + offset + i * inner.base.itemsize)


def differences(first: Layout, second: Layout, named: tuple[str, str]) -> list[str]:
    """Return which fields differ between two layouts of a topic, in type or presence; `named` holds their names."""
    ours, theirs = first.fields(), second.fields()
    lines = []
    for name in [*ours, *(name for name in theirs if name not in ours)]:
        if name not in theirs:
            lines.append(f"{name} is only in {named[0]}")
        elif name not in ours:
            lines.append(f"{name} is only in {named[1]}")
        elif ours[name][0] != theirs[name][0]:
            lines.append(f"{name} is {ours[name][0]} in {named[0]} and {theirs[name][0]} in {named[1]}")
    return lines
