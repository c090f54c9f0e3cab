"""Records: the structured dtypes that cross every boundary, and views of them for plain Python.

A record is passed to compiled code as one pointer, its fields read as attributes, and its bytes are the snapshot, the
recording and the message alike. With the JIT off the same kernels take a `RecordView`, which is attribute access over
the same memory; users of the Python API get one too, with NumPy arrays in it.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import LayoutError
from px4lockstep.jit.kernel import JIT_ENABLED

CACHE_LINE = 64
_TAKEN_NAMES = frozenset(dir(np.record))


def record(fields: list[tuple[Any, ...]]) -> np.dtype[Any]:
    """Make a record dtype from `(name, type)` or `(name, type, shape)`, C-aligned and without implicit padding.

    Raises:
        LayoutError: If a field is named like an attribute of NumPy's records, which would shadow it with the JIT off,
            or if the layout would contain unnamed padding, whose bytes are not defined.
    """
    dtype = np.dtype(fields, align=True)
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
    return np.dtype((np.record, dtype))


@functools.cache
def _without_records(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.subdtype is not None:
        return np.dtype((_without_records(dtype.base), dtype.shape))
    if dtype.names is None:
        return dtype
    return np.dtype([(name, _without_records(dtype[name])) for name in dtype.names])  # records have no padding


def plain(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return records to be written by field: `array[0]["x"]["y"] = 1.0` takes a fifth of NumPy's records' time."""
    return np.ndarray(array.shape, _without_records(array.dtype), array)  # view() would compare the types, for 50 µs


def zeros(dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return one record of zeros, in an array that starts on a line of the cache.

    NumPy's own function takes twenty times as long for large records, and starts anywhere.
    """
    room = np.zeros(dtype.itemsize + CACHE_LINE, np.uint8)
    return np.ndarray(1, dtype, room, -room.ctypes.data % CACHE_LINE)


class RecordView:
    """Attribute access to one record in memory: numbers read and write, nested records are views, arrays are arrays.

    Assigning a record to a nested one copies its bytes, as compiled code does.
    """

    __slots__ = ("_bytes",)
    _bytes: memoryview

    def __repr__(self) -> str:
        fields = (name for name in dir(type(self)) if not name.startswith("_"))
        return f"<record {', '.join(f'{name}={getattr(self, name)!r}' for name in fields)}>"


class RecordRows:
    """An array of records whose elements are `RecordView`s, made when first asked for."""

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
    """Return an array as a kernel takes it: itself, or with the JIT off an equivalent over the same memory."""
    if JIT_ENABLED:
        return array
    return RecordRows(array, memoryview, True) if array.dtype.names else array.data


def view(array: npt.NDArray[Any], *, writable: bool) -> Any:
    """Return the record in a length-1 array for a user: attributes, with fields of several numbers as NumPy arrays."""
    return _make_view(array, _as_array if writable else _as_read_only_array, writable)


def _as_array(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return array


def _as_read_only_array(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    locked = array.view()
    locked.flags.writeable = False
    return locked


def _make_view(array: npt.NDArray[Any], wrap: Callable[..., Any], writable: bool) -> RecordView:
    """Build the view of a length-1 record array."""
    made = _view_class(array.dtype, writable)()
    raw = array.view(np.uint8).data
    made._bytes = raw if writable else raw.toreadonly()
    for name in array.dtype.names or ():
        field = array[name]
        part: Any
        if field.dtype.names is None:
            # A number stays a length-1 memoryview: its item is a plain Python number, the fastest to work with.
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
def _view_class(dtype: np.dtype[Any], writable: bool) -> type[RecordView]:
    """Make the class for a record dtype: a slot and a property for each field."""
    body: dict[str, Any] = {"__slots__": tuple(f"_{name}" for name in dtype.names or ())}
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
