"""Records: the structured dtypes that all interfaces use, and views of them for plain Python.

A record is passed to compiled code as one pointer. Kernels access its fields as attributes, and snapshots, recordings
and messages store its bytes. With the JIT off, the same kernels work on a `RecordView`, which gives attribute access to
the same memory. Users of the Python API get such a view too, with NumPy arrays for fields of several numbers.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError, LayoutError
from px4lockstep.jit.kernel import JIT_ENABLED

CACHE_LINE = 64
_TAKEN_NAMES = frozenset(dir(np.record))

CONFIGURATION, STATE, TRANSIENT = "configuration", "state", "transient"
_kinds: dict[np.dtype[Any], dict[str, str]] = {}
"""The state and transient fields of each record."""
COUNT = 2**53
"""Upper limit of counters: ticks, rows, steps."""
NO_LIMIT = -(2**62), 2**62
_limits: dict[np.dtype[Any], dict[str, tuple[int, int]]] = {}
"""The minimum and maximum of each record's integers that have limits."""


def record(
    fields: list[tuple[Any, ...]],
    *,
    state: str = "",
    transient: str = "",
    limits: Mapping[str, int | tuple[int, int]] | None = None,
) -> np.dtype[Any]:
    """Create a record dtype from `(name, type)` or `(name, type, shape)`, C-aligned and without implicit padding.

    Several fields of one type can share a tuple, with their names separated by spaces. `state` names the fields that a
    run changes; a nested record named there is state as a whole. A checkpoint holds the state. `transient` names fields
    that are written before each use or are valid in this process only, such as addresses; they are neither saved nor
    compared. All other fields are configuration, written once before the first event boundary. A nested record that is
    named in neither keeps its own classification.

    `limits` gives the maximum, or the minimum and the maximum, of integers that are an index, a count or an
    enumeration; several names can share an entry. A checkpoint that violates them is rejected: see `IntegerLimits`.
    """
    dtype = np.dtype([(name, *rest) for together, *rest in fields for name in together.split()], align=True)
    names = dtype.names or ()
    for name in names:
        if name in _TAKEN_NAMES or name.startswith("_"):
            raise LayoutError(f"record field {name!r} is an attribute of numpy.record; choose another name")
    used = sum(dtype[name].itemsize for name in names)
    if used != dtype.itemsize:
        raise LayoutError(
            f"record {list(names)} has {dtype.itemsize - used} bytes of unnamed padding; "
            "order the fields by size or name the padding"
        )
    made = np.dtype((np.record, dtype))
    kinds = dict.fromkeys(state.split(), STATE) | dict.fromkeys(transient.split(), TRANSIENT)
    unknown = [name for name in kinds if name not in names]
    if unknown:
        raise LayoutError(f"record {list(names)} has no field {unknown[0]!r}, which is declared state or transient")
    if _kinds.setdefault(made, kinds) != kinds:
        raise LayoutError(
            f"record {list(names)} has the same layout as another one, whose state is {_kinds[made]}; rename a field"
        )
    ranges = {
        name: limit if isinstance(limit, tuple) else (0, limit)
        for together, limit in (limits or {}).items()
        for name in together.split()
    }
    wrong = [name for name in ranges if name not in names or dtype[name].base.kind not in "iu"]
    if wrong:
        raise LayoutError(f"record {list(names)} has no integer field {wrong[0]!r} to limit")
    if ranges and _limits.setdefault(made, ranges) != ranges:
        raise LayoutError(
            f"record {list(names)} has the same layout as another one, with limits {_limits[made]}; rename a field"
        )
    return made


class IntegerLimits(NamedTuple):
    """The integers in a checkpoint: the index of each in 8-byte words, and its allowed range."""

    names: tuple[str, ...]
    words: npt.NDArray[np.intp]
    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]

    def check(self, checkpoint: npt.NDArray[Any], name: str) -> None:
        """Raise `InputError` if an integer of a checkpoint, given as a length-1 array, is out of range."""
        values = np.ascontiguousarray(checkpoint).view(np.int64)[self.words]
        wrong = np.flatnonzero((values < self.low) | (values > self.high))
        if len(wrong):
            i = int(wrong[0])
            allowed = f"it must be {self.low[i]} to {self.high[i]}"
            raise InputError(f"{name}.{self.names[i]} is {values[i]}; {allowed}")


@functools.cache
def limits_of(dtype: np.dtype[Any], kind: str | None = None) -> IntegerLimits:
    """Return the limits of a record's integers: of one kind, indexed as in `state_dtype`, or of all."""
    names, words, low, high = zip(*_integers(dtype, 0, "", NO_LIMIT), strict=True)
    kept = np.arange(dtype.itemsize // 8) if kind is None else words_of(dtype, kind)
    chosen = np.flatnonzero(np.isin(words, kept))
    at, least, most = (np.array(each)[chosen] for each in (words, low, high))
    return IntegerLimits(tuple(names[i] for i in chosen), np.searchsorted(kept, at), least, most)


def _integers(
    dtype: np.dtype[Any], offset: int, name: str, limit: tuple[int, int]
) -> Iterator[tuple[str, int, int, int]]:
    """Yield the name, the word index and the limits of each integer of a record."""
    if dtype.subdtype is not None:
        for i in range(dtype.itemsize // dtype.base.itemsize):
            yield from _integers(dtype.base, offset + i * dtype.base.itemsize, f"{name}[{i}]", limit)
    elif dtype.names is not None:
        own = _limits.get(dtype, {})
        for field, (inner, at, *_) in (dtype.fields or {}).items():
            place = f"{name}.{field}" if name else field
            yield from _integers(inner, offset + at, place, own.get(field, NO_LIMIT))
    elif dtype.kind in "iu":
        yield name, offset // 8, *limit


@functools.cache
def words_of(dtype: np.dtype[Any], kind: str) -> npt.NDArray[np.intp]:
    """Return the 8-byte word indices of a record's configuration, state or transient fields."""
    spans = [np.arange(start // 8, stop // 8) for start, stop, found in _spans(dtype, 0, None) if found == kind]
    return np.concatenate(spans) if spans else np.zeros(0, np.intp)


def _spans(dtype: np.dtype[Any], offset: int, kind: str | None) -> Iterator[tuple[int, int, str]]:
    """Yield the contiguous parts of a record that are of one kind, as (start, stop, kind) in bytes."""
    if kind is not None or not _has_kinds(dtype):
        yield offset, offset + dtype.itemsize, kind or CONFIGURATION
    elif dtype.subdtype is not None:
        for start in range(offset, offset + dtype.itemsize, dtype.base.itemsize):
            yield from _spans(dtype.base, start, None)
    else:
        for name, (field, at, *_) in (dtype.fields or {}).items():
            yield from _spans(field, offset + at, _kinds[dtype].get(name))


@functools.cache
def _has_kinds(dtype: np.dtype[Any]) -> bool:
    """Return whether any field of a record, or of a nested one, is state or transient."""
    base = dtype.base
    return bool(_kinds.get(base)) or any(_has_kinds(base[name]) for name in base.names or ())


@functools.cache
def state_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the layout of a record's state fields alone, in their order."""
    fields = []
    for name in dtype.names or ():
        field, kind = dtype[name], _kinds[dtype].get(name)
        if kind == STATE:
            fields.append((name, _without_records(field)))
        elif kind is None and _has_kinds(field):
            inner = state_dtype(field.base)
            if inner.names:
                fields.append((name, np.dtype((inner, field.shape))))
    return np.dtype(fields)


@functools.cache
def _without_records(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.subdtype is not None:
        return np.dtype((_without_records(dtype.base), dtype.shape))
    if dtype.names is None:
        return dtype
    return np.dtype([(name, _without_records(dtype[name])) for name in dtype.names])  # records have no padding


def plain(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view for writing by field: `array[0]["x"]["y"] = 1.0` takes a fifth of the time of NumPy records."""
    return np.ndarray(array.shape, _without_records(array.dtype), array)  # view() compares the types, which takes 50 µs


def zeros(dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return one zeroed record in a length-1 array that is aligned to a cache line.

    `numpy.zeros` takes twenty times as long for large records and does not align them.
    """
    room = np.zeros(dtype.itemsize + CACHE_LINE, np.uint8)
    return np.ndarray(1, dtype, room, -room.ctypes.data % CACHE_LINE)


class RecordView:
    """Attribute access to one record in memory: numbers are read and written, nested records are views.

    Assigning to a nested record copies its bytes, as compiled code does.
    """

    __slots__ = ("_bytes",)
    _bytes: memoryview

    def __repr__(self) -> str:
        fields = (name for name in dir(type(self)) if not name.startswith("_"))
        return f"<record {', '.join(f'{name}={getattr(self, name)!r}' for name in fields)}>"


class RecordRows:
    """An array of records whose elements are `RecordView`s, created on first access."""

    def __init__(self, array: npt.NDArray[Any], wrap: Callable[..., Any], writable: bool) -> None:
        self._array = array
        self._wrap = wrap
        self._writable = writable
        self._made: dict[int, RecordView] = {}

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[RecordView]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int) -> RecordView:
        found = self._made.get(index)
        if found is None:
            i = range(len(self._array))[index]
            found = self._made[index] = _make_view(self._array[i : i + 1], self._wrap, self._writable)
        return found

    def __setitem__(self, index: int, value: RecordView) -> None:
        self[index]._bytes[:] = value._bytes


def rows(array: npt.NDArray[Any]) -> Any:
    """Return an array in the form that a kernel accepts: unchanged, or with the JIT off a view of the same memory."""
    if JIT_ENABLED:
        return array
    return RecordRows(array, memoryview, True) if array.dtype.names else array.data


def view(array: npt.NDArray[Any], *, writable: bool, **beside: Any) -> Any:
    """Return a view of the record in a length-1 array for users, with fields of several numbers as NumPy arrays.

    `beside` gives further attributes, for data that belongs to the record but is stored elsewhere.
    """
    made = _make_view(array, np.asarray if writable else locked, writable, tuple(beside))
    for name, value in beside.items():
        setattr(made, name, value)
    return made


def locked(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view."""
    read_only = array.view()
    read_only.flags.writeable = False
    return read_only


def _make_view(
    array: npt.NDArray[Any], wrap: Callable[..., Any], writable: bool, beside: tuple[str, ...] = ()
) -> RecordView:
    """Build a view of the record in a length-1 array."""
    made = _view_class(array.dtype, writable, beside)()
    raw = array.view(np.uint8).data
    made._bytes = raw if writable else raw.toreadonly()
    for name in array.dtype.names or ():
        field = array[name]
        part: Any
        if field.dtype.names is None:
            # A number stays a length-1 memoryview, whose item is a plain Python number: the fastest access.
            part = field.data if field.ndim == 1 else wrap(field[0])
            if field.ndim == 1 and not writable:
                part = part.toreadonly()
        elif field.ndim == 1:
            part = _make_view(field, wrap, writable)
        else:
            part = RecordRows(field[0], wrap, writable)
        setattr(made, f"_{name}", part)
    return made


@functools.cache
def _view_class(dtype: np.dtype[Any], writable: bool, beside: tuple[str, ...] = ()) -> type[RecordView]:
    """Build the view class of a record dtype: a slot and a property for each field, a slot for each extra attribute."""
    body: dict[str, Any] = {"__slots__": (*(f"_{name}" for name in dtype.names or ()), *beside)}
    for name in dtype.names or ():
        is_number = dtype[name].names is None and dtype[name].subdtype is None
        is_record = dtype[name].names is not None
        body[name] = _number_property(name, writable) if is_number else _part_property(name, is_record and writable)
    return type("RecordView", (RecordView,), body)


def _number_property(name: str, writable: bool) -> property:
    slot = f"_{name}"

    def read(self: RecordView) -> Any:
        return getattr(self, slot)[0]

    def write(self: RecordView, value: Any) -> None:
        getattr(self, slot)[0] = value

    return property(read, write if writable else None)


def _part_property(name: str, assignable: bool) -> property:
    slot = f"_{name}"

    def read(self: RecordView) -> Any:
        return getattr(self, slot)

    def write(self: RecordView, value: RecordView) -> None:
        getattr(self, slot)._bytes[:] = value._bytes

    return property(read, write if assignable else None)
