"""Build cache: reuse the parts of the previous flight whose inputs are bit-identical.

A campaign builds thousands of flights that differ in a few numbers. Each part of a flight, and each record of a
simulation before its first boundary, is made by a function of its arguments alone. The cache keeps the last result of
each function, with the content of the arguments that it was made of: types, and values to the bit. 0.0 is not -0.0; an
object whose content can't be told, such as one of a user's class, is never the same as another.
"""

import math
from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property
from types import BuiltinFunctionType, FunctionType, NoneType
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.builder import Builder, Made
from px4lockstep.jit import zeros
from px4lockstep.part import FrozenDict, Part

Records = dict[str, npt.NDArray[Any]]

PLAIN = frozenset((int, bool, str, bytes, NoneType))
"""Types of values that are the same to the bit if they are equal."""
MAX_REMEMBERED = 1_000
"""Objects whose content is remembered; a campaign has some dozens."""


class BuildCache(Builder):
    """The last result of each function, and the content of the arguments that it was made of."""

    def __init__(self) -> None:
        self._last: dict[Hashable, tuple[Any, Any]] = {}
        self._contents = ContentKeys()

    def made(self, make: Callable[..., Made], *of: Any) -> Made:
        """Return what a function makes of some values; nobody may change it."""
        return self._made(make, make, of)

    def write(self, core: npt.NDArray[Any], names: tuple[str, ...], write: Callable[..., None], *of: Any) -> None:
        """Write some records of a simulation that are zero so far."""

        def make(*of: Any) -> Records:
            records = {name: zeros(core.dtype[name]) for name in names}
            write(*records.values(), *of)
            return {name: record.view(np.uint8) for name, record in records.items()}

        for name, record in self._made((write, names), make, of).items():
            core[name].view(np.uint8)[...] = record  # a hundredth of the time that NumPy takes field by field

    def _made(self, key: Hashable, make: Callable[..., Made], of: tuple[Any, ...]) -> Made:
        content = self._contents.of(of)
        if key not in self._last or self._last[key][0] != content:
            self._last[key] = content, make(*of)
        made: Made = self._last[key][1]
        return made


class ContentKeys:
    """Tells the content of values, and remembers that of objects that can't change."""

    def __init__(self) -> None:
        self._remembered: dict[int, tuple[Any, Any]] = {}

    def of(self, value: Any) -> Any:
        """Return the content of a value: equal for two that are the same to the bit, whatever becomes of them later."""
        return self._content(value)[0]

    def _content(self, value: Any) -> tuple[Any, bool]:
        """Return the content of a value, and whether it is that forever."""
        kind = type(value)
        if kind is float:
            is_plain = value != 0.0 and value == value
            return (kind, value if is_plain else (math.isnan(value), math.copysign(1.0, value))), True
        if kind in PLAIN:
            return (kind, value), True
        if kind is tuple:
            return self._several(kind, value, is_fixed=True)
        if kind in (dict, list, FrozenDict):
            items = value if kind is list else (*value, *value.values())
            return self._several(kind, items, is_fixed=kind is FrozenDict)
        if isinstance(value, Enum):
            return (kind, value.name), True
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return (kind, value.dtype.str, value.shape, value.tobytes()), not value.flags.writeable
        if isinstance(value, Part) or is_dataclass(kind):
            return self._object(value)
        if kind in (FunctionType, BuiltinFunctionType) and not getattr(value, "__closure__", None):
            return value, True
        return object(), False  # equal to nothing else

    def _several(self, kind: type, items: Any, is_fixed: bool) -> tuple[Any, bool]:
        contents: list[Any] = []
        for item in items:
            if type(item) in PLAIN or (type(item) is float and item):  # most are, and a call costs as much again
                contents += (type(item), item)
                continue
            content, is_item_fixed = self._content(item)
            contents.append(content)
            is_fixed = is_fixed and is_item_fixed
        return (kind, tuple(contents)), is_fixed

    def _object(self, value: Any) -> tuple[Any, bool]:
        remembered = self._remembered.get(id(value))
        if remembered is not None:
            return remembered[1], True
        kind = type(value)
        if isinstance(value, Part):
            own, is_fixed = vars(value) | (getattr(value, "__pydantic_private__", None) or {}), True
        else:
            own = {field.name: getattr(value, field.name, None) for field in fields(value)}
            extra = getattr(value, "__dict__", {}).keys() - own.keys()
            # sorted: a set has no order
            names = sorted(name for name in extra if not isinstance(getattr(kind, name, None), cached_property))
            own |= {name: getattr(value, name) for name in names}
            is_fixed = bool(kind.__dataclass_params__.frozen)
        (_, contents), is_fixed = self._several(kind, (*own, *own.values()), is_fixed)
        if is_fixed:
            if len(self._remembered) >= MAX_REMEMBERED:
                self._remembered.clear()
            self._remembered[id(value)] = value, (kind, contents)  # the object is kept, and so its id
        return (kind, contents), is_fixed
