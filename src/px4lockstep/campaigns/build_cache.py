"""Build cache: reuse the parts of the previous flight whose inputs are bit-identical.

A campaign builds thousands of flights that differ in a few numbers. Each part of a flight, and each record of a
simulation before its first boundary, is built by a pure function of its arguments. The cache keeps the last result of
each function together with the content of its arguments: their types and bit-exact values. 0.0 differs from -0.0. An
object whose content is unknown, such as an instance of a user's class, never equals another.
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
"""Types whose equal values are bit-identical."""
MAX_REMEMBERED = 1_000
"""Maximum number of objects whose content is remembered; a campaign has a few dozen."""


class BuildCache(Builder):
    """The last result of each function, with the content of its arguments."""

    def __init__(self) -> None:
        self._last: dict[Hashable, tuple[Any, Any]] = {}
        self._contents = ContentKeys()

    def made(self, make: Callable[..., Made], *of: Any) -> Made:
        """Return the result of a function, from the cache if possible; it must not be modified."""
        return self._made(make, make, of)

    def write(self, core: npt.NDArray[Any], names: tuple[str, ...], write: Callable[..., None], *of: Any) -> None:
        """Write records of a simulation that are still zero, from the cache if possible."""

        def make(*of: Any) -> Records:
            records = {name: zeros(core.dtype[name]) for name in names}
            write(*records.values(), *of)
            return {name: record.view(np.uint8) for name, record in records.items()}

        for name, record in self._made((write, names), make, of).items():
            core[name].view(np.uint8)[...] = record  # 100 times faster than NumPy's copy field by field

    def _made(self, key: Hashable, make: Callable[..., Made], of: tuple[Any, ...]) -> Made:
        content = self._contents.of(of)
        if key not in self._last or self._last[key][0] != content:
            self._last[key] = content, make(*of)
        made: Made = self._last[key][1]
        return made


class ContentKeys:
    """Computes keys of the content of values, and remembers those of immutable objects."""

    def __init__(self) -> None:
        self._remembered: dict[int, tuple[Any, Any]] = {}

    def of(self, value: Any) -> Any:
        """Return the content of a value; it is equal for bit-identical values and unaffected by later changes."""
        return self._content(value)[0]

    def _content(self, value: Any) -> tuple[Any, bool]:
        """Return the content of a value, and whether the value is immutable."""
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
            if type(item) in PLAIN or (type(item) is float and item):  # common, so without a call
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
            # Sorted, because a set has no defined order.
            names = sorted(name for name in extra if not isinstance(getattr(kind, name, None), cached_property))
            own |= {name: getattr(value, name) for name in names}
            is_fixed = bool(kind.__dataclass_params__.frozen)
        (_, contents), is_fixed = self._several(kind, (*own, *own.values()), is_fixed)
        if is_fixed:
            if len(self._remembered) >= MAX_REMEMBERED:
                self._remembered.clear()
            self._remembered[id(value)] = value, (kind, contents)  # keeps the object alive, so its id stays unique
        return (kind, contents), is_fixed
