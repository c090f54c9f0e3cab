"""The message formats of a ULog file: `vehicle_attitude:uint64_t timestamp;float[4] q;`, with nested types."""

import re

from px4lockstep.errors import InputError

SIZES = {"int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4}
SIZES |= {"int64_t": 8, "uint64_t": 8, "float": 4, "double": 8, "bool": 1, "char": 1}
"""Basic types and their sizes in bytes."""
FIELD = re.compile(r"([A-Za-z]\w*)(?:\[(\d{1,5})\])? ([A-Za-z_]\w*)", re.ASCII)
NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
MAX_DEPTH = 8
MAX_NUMBERS = 4_096
"""Numbers in a message; a message has at most 65,535 bytes."""
PADDING = "_padding"


class Formats:
    """The formats of a file, each checked when its size is needed."""

    def __init__(self) -> None:
        self._fields: dict[str, list[tuple[str, int, str]]] = {}
        self._texts: dict[str, bytes] = {}
        self._used: dict[str, None] = {}

    def add(self, body: bytes) -> None:
        """Add the format of a message; one that can't be parsed, and a second one of the same name, are ignored."""
        name, colon, text = body.decode("ascii", "replace").partition(":")
        if not colon or not NAME.fullmatch(name) or name in self._fields:
            return
        fields = []
        for each in filter(None, text.split(";")):
            found = FIELD.fullmatch(each)
            if found is None:
                return
            fields.append((found[1], int(found[2] or 1), found[3]))
        self._fields[name], self._texts[name] = fields, body

    def size(self, name: str) -> int:
        """Return the size of a topic's messages without trailing padding, and take note that its format is used.

        Raises:
            InputError: If the format is missing or invalid.
        """
        used: dict[str, None] = {}
        flat = self._flat(name, used, 0)
        names = [field for field, _ in flat]
        if ("timestamp", "uint64_t") not in flat or len(set(names)) < len(names):
            raise InputError("its format has no timestamp, or two fields of the same name")
        while flat and flat[-1][0].startswith(PADDING):
            flat.pop()
        self._used |= used
        return sum(SIZES[kind] for _, kind in flat)

    def texts(self) -> list[bytes]:
        """Return the formats in use."""
        return [self._texts[name] for name in self._used]

    def _flat(self, name: str, used: dict[str, None], depth: int) -> list[tuple[str, str]]:
        """Return name and type of each number in a message."""
        if name not in self._fields:
            raise InputError(f"its format, or that of its part {name!r}, is missing or invalid")
        if depth > MAX_DEPTH:
            raise InputError(f"its format is nested more than {MAX_DEPTH} times")
        used[name] = None
        flat: list[tuple[str, str]] = []
        for kind, count, field in self._fields[name]:
            part = [("", kind)] if kind in SIZES else self._flat(kind, used, depth + 1)
            if count == 0 or not part or len(flat) + count * len(part) > MAX_NUMBERS:
                raise InputError(f"its format has an empty part, or more than {MAX_NUMBERS:,} numbers")
            for i in range(count):
                own = f"{field}[{i}]" if count > 1 else field
                flat += [(own if kind in SIZES else f"{own}.{inner}", basic) for inner, basic in part]
        return flat
