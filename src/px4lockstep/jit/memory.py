"""Memory whose layout is known only at run time: words of arrays, and numbers at an address.

Numbers at an address are the fields of a message whose layout is known only when a library is loaded. `store_number`
and `load_number` receive the kind of a field as a number (`KINDS`), so one compiled loop works with every layout. All
numbers are passed as float64, which represents every value of the smaller kinds exactly, and times in microseconds up
to 285 years.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from px4lockstep.jit.kernel import JIT_ENABLED, kernel

_NAMES = ("float32", "float64", "uint64", "int64", "uint32", "int32", "uint16", "int16", "uint8", "int8", "bool")
WORD_BYTES = 8
KINDS = {name: kind for kind, name in enumerate(_NAMES)}
"""The kinds of fields, by their NumPy names."""
FLOAT32, FLOAT64, UINT64, INT64, UINT32, INT32, UINT16, INT16, UINT8, INT8, BOOL = map(np.int64, KINDS.values())


def _make_access(numba_type: Any, llvm_type: Any, c_type: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Build `store(address, value)` and `load(address)` for one type."""
    if not JIT_ENABLED:

        def store(address: int, value: Any) -> None:
            c_type.from_address(address).value = value

        return store, lambda address: c_type.from_address(address).value

    @intrinsic  # type: ignore[untyped-decorator]  # Numba ships no types
    def compiled_store(typing_context: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            pointer = builder.inttoptr(values[0], llvm_type.as_pointer())
            builder.store(values[1], pointer).align = 1
            return context.get_dummy_value()

        return types.none(types.int64, numba_type), generate

    @intrinsic  # type: ignore[untyped-decorator]  # Numba ships no types
    def compiled_load(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            found = builder.load(builder.inttoptr(values[0], llvm_type.as_pointer()))
            found.align = 1
            return found

        return numba_type(types.int64), generate

    return compiled_store, compiled_load


_store_f32, _load_f32 = _make_access(types.float32, ir.FloatType(), ctypes.c_float)
_store_f64, _load_f64 = _make_access(types.float64, ir.DoubleType(), ctypes.c_double)
_store_i64, _load_i64 = _make_access(types.int64, ir.IntType(64), ctypes.c_int64)
_store_i32, _load_i32 = _make_access(types.int32, ir.IntType(32), ctypes.c_int32)
_store_i16, _load_i16 = _make_access(types.int16, ir.IntType(16), ctypes.c_int16)
_store_i8, _load_i8 = _make_access(types.int8, ir.IntType(8), ctypes.c_int8)


def _copy_words(target: Any, row: int, column: int, source: Any, first: int, count: int) -> None:
    """Copy words from `source[first:]` to `target[row, column:]`, without a check of the bounds if compiled."""
    for i in range(count):
        target[row, column + i] = source[first + i]


def _compiled_copy() -> Any:
    @intrinsic  # type: ignore[untyped-decorator]  # Numba ships no types
    def copy(typing_context: Any, target: Any, row: Any, column: Any, source: Any, first: Any, count: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            pointers = []
            for array, kind, index in ((values[0], target, values[1:3]), (values[3], source, values[4:5])):
                made = context.make_array(kind)(context, builder, array)
                pointers.append(cgutils.get_item_pointer(context, builder, kind, made, index, wraparound=False))
            cgutils.raw_memcpy(builder, *pointers, values[5], WORD_BYTES)
            return context.get_dummy_value()

        return types.none(target, types.int64, types.int64, source, types.int64, types.int64), generate

    copy.py_func = _copy_words  # for `interpreted`
    return copy


copy_words: Callable[..., None] = _compiled_copy() if JIT_ENABLED else _copy_words


@kernel
def store_number(address, kind, value):
    """Write a number at an address as a field of the given kind; integer fields truncate."""
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
    """Return the field of the given kind at an address."""
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
