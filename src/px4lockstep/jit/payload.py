"""What the cache stores of a compiled kernel, in a form that loads quickly.

Numba stores machine code and bitcode, and parses the bitcode of every function that it loads. Only a compilation that
calls the function needs the bitcode; a warm start calls machine code. So it is parsed when it is first linked, which
saves three quarters of the time to load the loop. The names of the symbols, which Numba reads from the bitcode, are
stored beside it. The annotated source, which is only for inspection, is not stored.

Numba also compiles the functions of its runtime before it loads anything. Machine code has copies of those that it
calls, so it needs only the addresses of the runtime's C functions, whose names are stored, too.

This module builds on Numba's internals, `numba.core.codegen`, and `tests/jit/test_payload.py` fails if those change.
"""

import functools
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import types
from numba.core import compiler
from numba.core.codegen import JITCodeLibrary
from numba.core.runtime import _nrt_python, rtsys
from numba.np.numpy_support import as_dtype

Payload = tuple[Any, ...]


class LoadedLibrary(JITCodeLibrary):  # type: ignore[misc]  # Numba ships no types
    """Machine code from the cache, with bitcode that is parsed on first use."""

    bitcode = b""
    _shared_module: Any

    @property
    def is_parsed(self) -> bool:
        """Whether the bitcode was parsed."""
        return self._shared_module is not None

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = llvm.parse_bitcode(self.bitcode)
        return self._shared_module


def reduce(result: Any) -> Payload:
    """Return what is stored of a compile result."""
    module = result.library._get_module_for_linking()
    symbols = [
        symbol.name
        for group in (module.functions, module.global_variables)
        for symbol in group
        if not symbol.is_declaration
    ]
    declared = {function.name for function in result.library._final_module.functions if function.is_declaration}
    compiled = {function.name for function in rtsys.library._final_module.functions if not function.is_declaration}
    called = None if declared & compiled else sorted(declared & _runtime_addresses().keys())
    return symbols, called, *result._replace(type_annotation="")._reduce()


def rebuild(target_context: Any, payload: Payload) -> Any:
    """Return the compile result of what was stored; its machine code is ready to run."""
    symbols, called, (name, _, (machine_code, bitcode)), function, environment, signature, *rest = payload
    in_object_mode, lifted, annotation, on_reload, environments = rest
    if called is None:
        rtsys.initialize(target_context)
    else:
        for symbol in called:
            llvm.add_symbol(symbol, _runtime_addresses()[symbol])
    for initialize in on_reload:
        initialize()
    codegen = target_context.codegen()
    library = LoadedLibrary(codegen, name)
    library.bitcode = bitcode
    library.enable_object_caching()
    library._set_compiled_object(machine_code)
    library._finalize_final_module()
    codegen._engine._defined_symbols.update(symbols)
    entry_point = target_context.get_executable(library, function, environment)
    for referenced in environments:
        codegen.set_env(referenced.env_name, referenced)
    return compiler.compile_result(
        target_context=target_context,
        typing_context=target_context.typing_context,
        library=library,
        environment=environment,
        entry_point=entry_point,
        fndesc=function,
        type_annotation=annotation,
        signature=signature,
        objectmode=in_object_mode,
        lifted=lifted,
        reload_init=on_reload,
        referenced_envs=environments,
    )


@functools.cache
def _runtime_addresses() -> dict[str, int]:
    """Return the addresses of the runtime's C functions by the names that compiled code uses."""
    helpers = _nrt_python.c_helpers
    return {name if name.startswith("_") else f"NRT_{name}": address for name, address in helpers.items()}


def fits(kind: Any, value: Any) -> bool:
    """Return whether a value has a type, as far as sizes of records tell: an array, an integer, or a named tuple."""
    if isinstance(kind, types.Array):
        if not isinstance(value, np.ndarray) or kind.ndim != value.ndim or kind.mutable != value.flags.writeable:
            return False
        if isinstance(kind.dtype, types.Record):
            is_same = kind.dtype.size == value.dtype.itemsize
        else:
            is_same = as_dtype(kind.dtype) == value.dtype
        return bool(is_same and (kind.layout == "C") == value.flags.c_contiguous)
    if isinstance(kind, types.NamedTuple):
        return kind.instance_class is type(value) and all(fits(*pair) for pair in zip(kind.types, value, strict=True))
    return isinstance(kind, types.Integer) and type(value) is int
