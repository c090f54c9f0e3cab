"""The decorator for everything that runs in the loop, and its variant for parts of the right-hand side.

Numba compiles the function: cached on disk, with NumPy's error model (no exception on division by zero) and bounds
checks, and without `fastmath`, so that compiled and interpreted code round identically. With `NUMBA_DISABLE_JIT=1` the
decorators return the function unchanged.
"""

import functools
import types
from collections.abc import Callable
from typing import Any

import numba

from px4lockstep.jit.cache import KernelCache
from px4lockstep.jit.linking import KernelDispatcher
from px4lockstep.jit.payload import fits

JIT_ENABLED = not numba.config.DISABLE_JIT

OPTIONS = {"error_model": "numpy", "fastmath": False, "boundscheck": True}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of records and scalars, once per installation."""
    return _compiled(function, forceinline=False)


def inlined_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel into each of its callers, with bit-identical results.

    Use it for kernels that every RHS evaluation or autopilot tick calls. Because of the bounds checks and exceptions,
    LLVM considers such a kernel too long to inline, and the call spills the caller's registers. Each caller takes
    longer to compile.
    """
    return _compiled(function, forceinline=True)


def _compiled(function: Callable[..., Any], forceinline: bool) -> Callable[..., Any]:
    return Kernel(function, forceinline) if JIT_ENABLED else function


class Kernel:
    """A compiled function: Numba's dispatcher, created on first use.

    A warm start uses a few of the hundreds of kernels, and a dispatcher takes 50 µs. Compiled callers get the
    dispatcher, too, because Numba asks for the attribute `_numba_type_` of a global.
    """

    def __init__(self, function: Callable[..., Any], forceinline: bool) -> None:
        self.py_func = function
        self._forceinline = forceinline
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the kernel from Python."""
        return self._dispatcher(*arguments, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dispatcher, name)

    def __reduce__(self) -> Any:
        return self._dispatcher.__reduce__()

    @functools.cached_property
    def _dispatcher(self) -> Any:
        options = {"nopython": True, **OPTIONS, "forceinline": self._forceinline}
        dispatcher = KernelDispatcher(self.py_func, targetoptions=options)
        dispatcher._cache = KernelCache(self.py_func)
        return dispatcher


def specialize(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """Return a kernel compiled for the types of these arguments, bypassing Numba's dispatcher.

    A call costs 0.4 µs instead of 2 µs. Argument types are not checked in later calls; they must be the same.
    """
    if not JIT_ENABLED:
        return function
    return _entry_point(function, _signature(function, arguments))


def from_cache(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any] | None:
    """Return the same as `specialize` if the cache has it, otherwise None; with the JIT off, return the function."""
    if not JIT_ENABLED:
        return function
    signature = _signature(function, arguments)
    cache: Any = function._cache  # type: ignore[attr-defined]
    is_cached = cache.holds(signature, function.targetctx) or cache.holds_ahead(signature)  # type: ignore[attr-defined]
    return _entry_point(function, signature) if is_cached else None


def _signature(function: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the types of arguments, from the cache if possible: Numba needs 20 ms for the records of the loop."""
    stored = _stored_signature(function, arguments)
    return tuple(numba.typeof(argument) for argument in arguments) if stored is None else stored


def _stored_signature(function: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the types of arguments from the function's only cache entry, or None.

    The entry has the stamp of the sources, and these define all records. So it is enough to compare sizes.
    """
    found = function._cache.signatures(function.targetctx)
    return found[0] if len(found) == 1 and all(fits(*pair) for pair in zip(found[0], arguments, strict=True)) else None


def _entry_point(function: Any, signature: tuple[Any, ...]) -> Callable[..., Any]:
    entry_point: Callable[..., Any] = function.compile(signature)
    return entry_point


@functools.cache
def interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel and all its callees as plain Python, for one-off calls where loading would take longer."""
    plain = getattr(function, "py_func", None)
    if plain is None:
        return function
    called = {name: plain.__globals__.get(name) for name in plain.__code__.co_names}
    others = {name: value for name, value in called.items() if value is not function}  # `module.f` in f names f, too
    kernels = {name: interpreted(value) for name, value in others.items() if hasattr(value, "py_func")}
    return types.FunctionType(plain.__code__, plain.__globals__ | kernels, plain.__name__, plain.__defaults__)
