"""Build cache: reuse the parts of the previous flight whose inputs are bit-identical.

A campaign builds thousands of flights that differ in a few numbers. Each part of a flight, and each record of a
simulation before its first boundary, is built by a pure function of its arguments. The cache keeps the last result of
each function together with the content of its arguments: their types and bit-exact values. 0.0 differs from -0.0. An
object whose content is unknown, such as an instance of a user's class, never equals another. Immutable arguments that
are the same objects as last time have the same content, which is then not computed.
"""

import math
import operator
from collections.abc import Callable, Hashable, Mapping, Set
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cached_property
from types import BuiltinFunctionType, FunctionType, NoneType
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.builder import Builder, Made
from px4lockstep.part import FrozenDict, Part

PLAIN = frozenset((int, bool, str, bytes, NoneType))
"""Types whose equal values are bit-identical."""
MAX_REMEMBERED = 1_000
"""Maximum number of objects whose content is remembered; a campaign has a few dozen."""


@dataclass(slots=True)
class _Call:
    """The last call of a function: its arguments if all are immutable, their content, and the result."""

    of: tuple[Any, ...] | None
    content: Any
    made: Any

    def has(self, of: tuple[Any, ...]) -> bool:
        """Return whether the arguments are known to be the same without computing their content."""
        if self.of is None or len(self.of) != len(of):
            return False
        return all(map(operator.is_, self.of, of)) or all(map(_is_same, self.of, of))


def _is_same(ours: Any, theirs: Any) -> bool:
    """Return whether values are the same object, or bit-identical numbers, texts, or tuples of such values."""
    kind = type(ours)
    if ours is theirs or kind is not type(theirs):
        return ours is theirs
    if kind is tuple:
        return len(ours) == len(theirs) and all(map(_is_same, ours, theirs))
    if kind is float:
        return bool(ours == theirs) and (ours != 0.0 or repr(ours) == repr(theirs))  # the sign of 0
    return kind in PLAIN and bool(ours == theirs)


def _itself(part: Made) -> Made:
    return part


class BuildCache(Builder):
    """The last result of each function, with the content of its arguments."""

    def __init__(self) -> None:
        self._last: dict[Hashable, _Call] = {}
        self._written: dict[tuple[Callable[..., None], tuple[str, ...]], _Call] = {}
        self._accepted: dict[str, Any] = {}
        self._derived: dict[Callable[..., Any], _Call] = {}
        self._contents = ContentKeys()

    def made(self, make: Callable[..., Made], *of: Any) -> Made:
        """Return the result of a function, from the cache if possible; it must not be modified."""
        return self._made(make, make, of)

    def shared(self, part: Made) -> Made:
        """Return the last part of this type if it has the same content, otherwise this one."""
        kept: Made = self._made(type(part).__qualname__, _itself, (part,))
        return kept

    def _made(self, key: Hashable, make: Callable[..., Made], of: tuple[Any, ...]) -> Made:
        last = self._last.get(key)
        if last is None or not last.has(of):
            content, is_fixed = self._contents.content(of)
            kept = of if is_fixed else None
            if last is None or last.content != content:
                self._last[key] = last = _Call(kept, content, make(*of))
            else:
                last.of = kept
        made: Made = last.made
        return made

    def derived(self, make: Callable[..., Made], *of: Any) -> Made:
        """Return the result of a fast function, from the cache if its arguments are the same objects as last time.

        Comparing their contents would take longer than the function.
        """
        last = self._derived.get(make)
        if last is None or not last.has(of):
            self._derived[make] = last = _Call(of, None, make(*of))
        made: Made = last.made
        return made

    def unchecked(self, tables: dict[str, Any]) -> Set[str]:
        """Return the names of the tables that differ, as objects, from those of the last `accept`, or are missing."""
        return {name for name in self._accepted | tables if self._accepted.get(name) is not tables.get(name)}

    def accept(self, tables: Mapping[str, Any]) -> None:
        """Note that these tables passed all checks."""
        self._accepted = dict(tables)

    def write(self, core: npt.NDArray[Any], names: tuple[str, ...], write: Callable[..., None], *of: Any) -> None:
        """Write records of a simulation that are still zero, or copy those of the last call with the same objects.

        Comparing the contents of other objects would take as long as writing most records.
        """
        last = self._written.get((write, names))
        if last is None or not last.has(of):
            write(*(core[name] for name in names), *of)
            records = {name: core[name].view(np.uint8).copy() for name in names}
            self._written[write, names] = _Call(of, None, records)
            return
        for name, record in last.made.items():
            core[name].view(np.uint8)[...] = record  # 100 times faster than NumPy's copy field by field


class ContentKeys:
    """Computes keys of the content of values, and remembers those of immutable objects."""

    def __init__(self) -> None:
        self._remembered: dict[int, tuple[Any, Any]] = {}

    def of(self, value: Any) -> Any:
        """Return the content of a value; it is equal for bit-identical values and unaffected by later changes."""
        return self.content(value)[0]

    def content(self, value: Any) -> tuple[Any, bool]:
        """Return the content of a value, and whether the value is immutable."""
        kind = type(value)
        if kind is float:
            is_plain = value != 0.0 and value == value
            return (kind, value if is_plain else (math.isnan(value), math.copysign(1.0, value))), True
        if kind in PLAIN:
            return (kind, value), True
        if kind is tuple:
            return self._several(kind, value, is_fixed=True)
        if kind is list:
            return self._several(kind, value, is_fixed=False)
        if kind in (dict, FrozenDict):
            return self._named(kind, value, is_fixed=kind is FrozenDict)
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
            own = type(item)  # common types without a call
            if own in PLAIN:
                contents += (own, item)
                continue
            if own is float and item == item:
                contents += (own, item or repr(item))  # the sign of 0
                continue
            content, is_item_fixed = self.content(item)
            contents.append(content)
            is_fixed = is_fixed and is_item_fixed
        return (kind, tuple(contents)), is_fixed

    def _named(self, kind: type, own: dict[Any, Any], is_fixed: bool) -> tuple[Any, bool]:
        names: Any = tuple(own)
        if not set(map(type, names)) <= {str}:
            names, is_fixed = self._several(tuple, names, is_fixed)
        (_, contents), is_fixed = self._several(kind, own.values(), is_fixed)
        return (kind, names, contents), is_fixed

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
        content, is_fixed = self._named(kind, own, is_fixed)
        if is_fixed:
            if len(self._remembered) >= MAX_REMEMBERED:
                self._remembered.clear()
            self._remembered[id(value)] = value, content  # keeps the object alive, so its id stays unique
        return content, is_fixed
