"""Calls by address: compiled code calls a user's right-hand side or a C library.

`callback` compiles a Python function with a C signature and returns its address; `call_void` and `call_i32` call an
address with integers, floats and records (a record is passed as a pointer to its bytes). The loop is compiled once and
works with any function address. With the JIT off, a `callback` is called as a plain Python function and any other
address through ctypes.
"""

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

from px4lockstep.errors import InputError
from px4lockstep.jit.cache import KernelCache
from px4lockstep.jit.kernel import JIT_ENABLED, OPTIONS
from px4lockstep.jit.linking import entry_point, provide_objects
from px4lockstep.jit.records import RecordView, rows

_keep_alive: list[Any] = []  # compiled callbacks, whose addresses may be called until the process ends
_interpreted: dict[int, Callable[..., Any]] = {}  # JIT off: maps stand-in addresses to functions


def callback(function: Callable[..., Any], result: str, arguments: tuple[Any, ...]) -> int:
    """Compile a function with the C signature `result f(arguments)` and return its address.

    The function follows the rules for kernels. The result is `"void"` or `"i4"`; an argument is `"f8"`, `"i8"` or a
    record dtype, which the function receives as a record.
    """
    if not JIT_ENABLED:
        address = id(function)
        _interpreted[address] = function
        return address
    result_type = types.void if result == "void" else numba.from_dtype(np.dtype(result))
    argument_types = tuple(numba.from_dtype(np.dtype(argument)) for argument in arguments)
    # A kernel is compiled again, with the C signature.
    compiled: Any = CFunc(
        getattr(function, "py_func", function), (argument_types, result_type), locals={}, options=dict(OPTIONS)
    )
    compiled._cache = KernelCache(compiled._pyfunc)
    try:
        with entry_point(compiled.__qualname__):
            compiled.compile()
        provide_objects(compiled._library)
    except (numba.core.errors.NumbaError, KeyError, AttributeError) as error:
        takes = ", ".join(argument if isinstance(argument, str) else "record" for argument in arguments)
        raise InputError(
            f"{compiled.__qualname__} cannot be compiled as a function of ({takes}): {str(error).strip()[:600]}"
        ) from error
    _keep_alive.append(compiled)
    return int(compiled.address)


def caller(address: int, *records: npt.NDArray[Any]) -> Callable[[], Any]:
    """Return a Python function that calls `void f(records)` at an address; each record is given as a length-1 array."""
    if not JIT_ENABLED:
        return functools.partial(_call_through_ctypes, None, address, *(rows(array)[0] for array in records))
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(records))(address)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in records]  # each keeps its array alive
    return functools.partial(function, *pointers)


def _call_through_ctypes(result: type[Any] | None, address: int, *arguments: Any) -> Any:
    """Call an address from interpreted code: a stand-in as a Python function, a real address through ctypes."""
    function = _interpreted.get(address)
    if function is not None:
        return function(*arguments)
    values: list[Any] = []
    for argument in arguments:
        if isinstance(argument, RecordView):
            values.append(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(argument._bytes))))
        else:
            values.append(ctypes.c_double(argument) if isinstance(argument, float) else ctypes.c_int64(int(argument)))
    return ctypes.CFUNCTYPE(result, *map(type, values))(address)(*values)


def _build_intrinsic(result_type: Any, llvm_result: Any) -> Callable[..., Any]:
    """Build the compiled form of a call by address with the given result type."""

    @intrinsic  # type: ignore[untyped-decorator]  # Numba ships no types
    def call(typing_context: Any, address: Any, *arguments: Any) -> Any:
        kinds = arguments[0].types if len(arguments) == 1 and isinstance(arguments[0], types.BaseTuple) else arguments
        for kind in kinds:
            if not isinstance(kind, (types.Integer, types.Float, types.Record)):
                raise numba.TypingError(f"a call by address accepts integers, floats and records, not {kind}")

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            passed = []
            for index, kind in enumerate(kinds):
                value = builder.extract_value(values[1], index)
                if isinstance(kind, types.Record):
                    value = builder.bitcast(value, ir.IntType(8).as_pointer())
                passed.append(value)
            kind_of_call = ir.FunctionType(llvm_result, [value.type for value in passed])
            function = builder.inttoptr(values[0], kind_of_call.as_pointer())
            answer = builder.call(function, passed)
            return context.get_dummy_value() if result_type is types.none else answer

        return result_type(types.int64, types.Tuple(kinds)), generate

    compiled: Callable[..., Any] = call
    return compiled


call_void: Callable[..., Any] = functools.partial(_call_through_ctypes, None)
call_i32: Callable[..., Any] = functools.partial(_call_through_ctypes, ctypes.c_int32)
if JIT_ENABLED:
    call_void = _build_intrinsic(types.none, ir.VoidType())
    call_i32 = _build_intrinsic(types.int32, ir.IntType(32))
