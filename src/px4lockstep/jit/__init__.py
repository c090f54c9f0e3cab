"""Compilation of plain Python to machine code: one decorator, one kind of record, one cache.

* `kernel` compiles a function; with `NUMBA_DISABLE_JIT=1` the same source runs interpreted with bit-identical results.
  `inlined_kernel` compiles a function into its callers.
* `record` defines the structured dtypes that kernels work on; `rows` prepares an array of records for a kernel, `plain`
  for code that fills them in.
* `callback` compiles a user's function and returns its address; `call_void` and `call_i32` call an address from
  compiled code, `caller` from Python.
"""

from px4lockstep.jit.address import call_i32, call_void, callback, caller
from px4lockstep.jit.cache import compiling_alone
from px4lockstep.jit.kernel import JIT_ENABLED, from_cache, inlined_kernel, interpreted, kernel, specialize
from px4lockstep.jit.records import plain, record, rows, view, zeros

__all__ = [
    "JIT_ENABLED",
    "call_i32",
    "call_void",
    "callback",
    "caller",
    "compiling_alone",
    "from_cache",
    "inlined_kernel",
    "interpreted",
    "kernel",
    "plain",
    "record",
    "rows",
    "specialize",
    "view",
    "zeros",
]
