"""Numbers at an address: the fields of a message whose layout is known only when a library is loaded.

`store_number` and `load_number` take the kind of a field as a number (`KINDS`), so that one compiled loop serves every
layout. All numbers pass as float64, which holds every value of the smaller kinds, and times in microseconds up to 285
years.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from px4lockstep.jit.kernel import JIT_ENABLED, kernel

KINDS = {
    "float32": 0,
    "float64": 1,
    "uint64": 2,
    "int64": 3,
    "uint32": 4,
    "int32": 5,
    "uint16": 6,
    "int16": 7,
    "uint8": 8,
    "int8": 9,
    "bool": 10,
}
"""The kinds of fields, by NumPy's names."""
FLOAT32, FLOAT64, UINT64, INT64, UINT32, INT32, UINT16, INT16, UINT8, INT8, BOOL = map(np.int64, KINDS.values())

_POINTED: dict[str, tuple[Any, Any, Any]] = {
    "float32": (types.float32, ir.FloatType(), ctypes.c_float),
    "float64": (types.float64, ir.DoubleType(), ctypes.c_double),
    "int64": (types.int64, ir.IntType(64), ctypes.c_int64),
    "int32": (types.int32, ir.IntType(32), ctypes.c_int32),
    "int16": (types.int16, ir.IntType(16), ctypes.c_int16),
    "int8": (types.int8, ir.IntType(8), ctypes.c_int8),
}


def _make_store(name: str) -> Callable[..., Any]:
    """Make `store(address, value)` of one type."""
    numba_type, llvm_type, c_type = _POINTED[name]
    if not JIT_ENABLED:

        def store(address: int, value: Any) -> None:
            c_type.from_address(address).value = value

        return store

    @intrinsic  # type: ignore[untyped-decorator]  # Numba ships no types
    def compiled(typing_context: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            pointer = builder.inttoptr(values[0], llvm_type.as_pointer())
            builder.store(values[1], pointer).align = 1
            return context.get_dummy_value()

        return types.none(types.int64, numba_type), generate

    made: Callable[..., Any] = compiled
    return made


def _make_load(name: str) -> Callable[..., Any]:
    """Make `load(address)` of one type."""
    numba_type, llvm_type, c_type = _POINTED[name]
    if not JIT_ENABLED:
        return lambda address: c_type.from_address(address).value

    @intrinsic  # type: ignore[untyped-decorator]  # Numba ships no types
    def compiled(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            found = builder.load(builder.inttoptr(values[0], llvm_type.as_pointer()))
            found.align = 1
            return found

        return numba_type(types.int64), generate

    made: Callable[..., Any] = compiled
    return made


_store_f32, _store_f64 = _make_store("float32"), _make_store("float64")
_store_i64, _store_i32 = _make_store("int64"), _make_store("int32")
_store_i16, _store_i8 = _make_store("int16"), _make_store("int8")
_load_f32, _load_f64 = _make_load("float32"), _make_load("float64")
_load_i64, _load_i32 = _make_load("int64"), _make_load("int32")
_load_i16, _load_i8 = _make_load("int16"), _make_load("int8")


@kernel
def store_number(address, kind, value):
    """Write a number at an address as a field of a kind; integers are cut to whole numbers."""
    if kind == FLOAT32:
        _store_f32(address, np.float32(value))
    elif kind == FLOAT64:
        _store_f64(address, float(value))
    elif kind in (UINT64, INT64):
        _store_i64(address, np.int64(value))
    elif kind in (UINT32, INT32):
        _store_i32(address, np.int32(np.int64(value)))
    elif kind in (UINT16, INT16):
        _store_i16(address, np.int16(np.int64(value)))
    elif kind == BOOL:
        _store_i8(address, np.int8(1 if value != 0.0 else 0))
    else:
        _store_i8(address, np.int8(np.int64(value)))


@kernel
def load_number(address, kind):
    """Return the field of a kind at an address."""
    if kind == FLOAT32:
        return float(_load_f32(address))
    elif kind == FLOAT64:
        return float(_load_f64(address))
    elif kind in (UINT64, INT64):
        return float(_load_i64(address))
    elif kind == UINT32:
        return float(np.int64(_load_i32(address)) & 0xFFFFFFFF)
    elif kind == INT32:
        return float(_load_i32(address))
    elif kind == UINT16:
        return float(np.int64(_load_i16(address)) & 0xFFFF)
    elif kind == INT16:
        return float(_load_i16(address))
    elif kind == UINT8:
        return float(np.int64(_load_i8(address)) & 0xFF)
    elif kind == BOOL:
        return 1.0 if _load_i8(address) != 0 else 0.0
    return float(_load_i8(address))
