"""The field string that some builds of PX4 have for each topic: `uint64_t timestamp;float[4] q;uint8_t[4] _padding0;`.

It has the fields in the order of memory, with PX4's padding, types as in C, or each as one byte from 0x82 on. A nested
message is named by its topic, `position_setpoint previous`. The declared order can't be told from it, and so neither
can the hash.
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
    """Lay out a topic by its field string, a character for each byte; `nested` gives the dtype of another topic."""
    placed = []
    for entry in filter(None, text.split(";")):
        match = _ENTRY.fullmatch(entry)
        if match is None:
            raise LayoutError(f"{topic}: the library's field string has {entry!r}, which is no field")
        kind, count, name = match.groups()
        known = C_TYPES.get(kind) or SHORT_TYPES.get(kind)
        each = Field(known or kind, name, None if count is None else int(count))
        placed.append((each, nested(kind) if known is None else np.dtype(NUMPY_TYPES[known])))
    return struct_dtype(topic, placed)
