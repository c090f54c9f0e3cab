"""The field string that some PX4 builds have for each topic: `uint64_t timestamp;float[4] q;uint8_t[4] _padding0;`.

It lists the fields in memory order, with PX4's padding. Types are C types, or single bytes from 0x82 on. A nested
message is given by its topic, `position_setpoint previous`. The declaration order can't be recovered from it, and
therefore neither can the hash.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from px4lockstep.errors import LayoutError
from px4lockstep.px4.uorb.definitions import Field
from px4lockstep.px4.uorb.layout import NUMPY_TYPES, struct_dtype

_INTEGERS = {f"{kind}{bits}_t": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
C_TYPES = _INTEGERS | {"float": "float32", "double": "float64", "bool": "bool", "char": "char"}
SHORT_TYPES = {chr(0x82 + i): name for i, name in enumerate(C_TYPES.values())}
_ENTRY = re.compile(r"([A-Za-z_]\w*|[\x82-\x8d])(?:\[([1-9]\d*)\])? ([A-Za-z_]\w*)", re.ASCII)


def dtype_of_field_string(topic: str, text: str, nested: Callable[[str], np.dtype[Any]]) -> np.dtype[Any]:
    """Return the dtype of a topic from its field string, decoded as Latin-1; `nested` returns another topic's dtype."""
    placed = []
    for entry in filter(None, text.split(";")):
        match = _ENTRY.fullmatch(entry)
        if match is None:
            raise LayoutError(f"{topic}: the library's field string contains {entry!r}, which is not a field")
        kind, count, name = match.groups()
        known = C_TYPES.get(kind) or SHORT_TYPES.get(kind)
        each = Field(known or kind, name, None if count is None else int(count))
        placed.append((each, nested(kind) if known is None else np.dtype(NUMPY_TYPES[known])))
    return struct_dtype(topic, placed)
