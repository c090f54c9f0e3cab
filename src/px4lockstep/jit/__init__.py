"""How plain Python becomes machine code here: one decorator, one kind of record, one cache.

* `kernel` compiles a function; with `NUMBA_DISABLE_JIT=1` the same source runs interpreted and gives the same bits.
  `inlined_kernel` compiles it into its callers.
* `record` makes the structured dtypes that kernels take; `rows` hands arrays of them to a kernel, `plain` to whoever
  fills them in.
* `callback` compiles a user's function to an address, `call_void` and `call_i32` call one, and `caller`
  calls one from Python.
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
