"""Import-aware cache of compiled kernels, on disk in the user's cache directory.

Numba stamps a cached function with its own source file and therefore misses edits in the functions that it calls. Here
the stamp covers the imports, too (`jit/sources.py`): an edit recompiles the kernels of the modules that import it, and
no others. The values of globals that a user's function reads are part of the key, since they may come from outside the
sources.

The folder is `PX4LOCKSTEP_CACHE_DIR` if set, otherwise the user's cache directory. The versions of Numba and Python are
part of the path; the CPU target is part of Numba's key. A read-only folder is still read; missing kernels are then
compiled in memory, and a notice is printed once. Where the folder has no code for this CPU, code that was compiled
ahead of time is used (`jit/ahead.py`).

This module builds on Numba's internals, `numba.core.caching`, and `tests/jit/test_cache.py` fails if those change.
"""

import contextlib
import functools
import glob
import hashlib
import inspect
import os
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import caching

from px4lockstep.io import NOFOLLOW, lock
from px4lockstep.jit import ahead, payload
from px4lockstep.jit.progress import write_notice
from px4lockstep.jit.sources import OWN_PACKAGE, find_source, source_stamp, sources

LOCK = "compiling.lock"
START_NS = time.time_ns()
"""Approximate start of this process. It does not run sources that were edited later."""
STAMP_DIGITS = 16
KEPT_STAMPS = 4
"""Source versions whose compiled code is kept per function: two checkouts, each before and after an edit."""


def cache_root() -> Path:
    """Return the folder of compiled kernels for this version of Numba and Python."""
    override = os.environ.get("PX4LOCKSTEP_CACHE_DIR")
    if override:
        base = Path(override).expanduser()
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches" / OWN_PACKAGE
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / OWN_PACKAGE
    return base / f"numba{numba.__version__}-{sys.implementation.cache_tag}"


@contextlib.contextmanager
def compiling_alone() -> Iterator[None]:
    """Let one process at a time compile into the cache; others print a notice and wait.

    The operating system releases the lock when the compiling process ends, for whatever reason. The lock file stays.
    """
    handle = None
    try:
        with contextlib.suppress(OSError, RuntimeError):  # without a writable folder there is nothing to lock
            cache_root().mkdir(parents=True, exist_ok=True)
            handle = os.open(cache_root() / LOCK, os.O_RDWR | os.O_CREAT | NOFOLLOW, 0o666)
            if lock(handle) is False:
                other = f"another px4lockstep process that is compiling into {cache_root()}"
                write_notice(f"px4lockstep: waiting for {other}", "\n")
                lock(handle, waits=True)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _code_hash(code: types.CodeType) -> str:
    """Return a hash of Python bytecode, without docstrings and line numbers."""
    digest = hashlib.sha256(code.co_code + repr((code.co_names, code.co_varnames)).encode())
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            digest.update(_code_hash(value).encode())
        elif not (isinstance(value, str) and " " in value):  # not a field name: those have no spaces
            digest.update(repr(value).encode())
    return digest.hexdigest()


def _constants(py_func: Callable[..., Any], seen: list[Callable[..., Any]]) -> Iterator[str]:
    """Yield the constants that a function and its callees read from globals: numbers, strings, tuples and arrays."""
    if py_func in seen or py_func.__module__.partition(".")[0] == OWN_PACKAGE:
        return  # the package's own constants follow from its sources
    seen.append(py_func)
    for name in sorted(py_func.__code__.co_names):
        value = py_func.__globals__.get(name)
        if isinstance(value, types.ModuleType) and find_source(value.__name__) is not None:
            yield from (f"{value.__name__}.{key}={_show(item)}" for key, item in sorted(vars(value).items()))
        elif callable(callee := getattr(value, "py_func", None)):
            yield from _constants(callee, seen)
        else:
            yield f"{name}={_show(value)}"


def _show(value: Any) -> str:
    """Return a constant that is frozen into compiled code, as text; empty for any other value."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    return repr(value) if isinstance(value, bool | int | float | complex | str | bytes | tuple | np.generic) else ""


class ImportAwareLocator(caching._CacheLocator):  # type: ignore[misc]  # Numba ships no types
    """Locates a function's cache by the dotted name of its module and stamps it with the module's imports."""

    def __init__(self, py_func: Callable[..., Any], py_file: str) -> None:
        self._module_name = py_func.__module__
        self._path = Path(py_file)
        self._code = py_func.__code__
        # Every script's module is called `__main__`: the path tells them apart.
        folder = self._module_name
        if "." not in folder or folder == "__main__":
            folder += "-" + hashlib.sha256(str(self._path.resolve()).encode()).hexdigest()[:12]
        self._cache_path = cache_root() / folder

    def get_cache_path(self) -> str:
        return str(self._cache_path)

    def get_source_stamp(self) -> str:
        return source_stamp(self._module_name, self._path, cache_root())

    def get_disambiguator(self) -> str:
        return _code_hash(self._code)[:STAMP_DIGITS]  # not the line number, which changes with every comment above

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> "ImportAwareLocator | None":
        return cls(py_func, py_file) if os.path.exists(py_file) else None


class _KernelCacheImpl(caching.CompileResultCacheImpl):  # type: ignore[misc]  # Numba ships no types
    _locator_classes = (ImportAwareLocator,)

    def reduce(self, cres: Any) -> payload.Payload:
        return payload.reduce(cres)

    def rebuild(self, target_context: Any, stored: payload.Payload) -> Any:
        return payload.rebuild(target_context, stored)


class _IndexFile(caching.IndexDataCacheFile):  # type: ignore[misc]  # Numba ships no types
    """An index whose data files are named by their keys.

    Numba numbers data files, so two processes that compile at the same time can give two files the same number. With
    keys as names, a lost index entry costs one recompilation, but an entry never points to the wrong file.
    """

    _loaded: dict[Any, str]
    _loaded_version: tuple[int, int] | None = None

    def _load_index(self) -> dict[Any, str]:
        """Load the index, once per version of its file: it has the types of all records."""
        try:
            status = os.stat(self._index_path)
        except OSError:
            return {}
        if (status.st_ino, status.st_mtime_ns) != self._loaded_version:
            self._loaded = super()._load_index()
            self._loaded_version = status.st_ino, status.st_mtime_ns
        return dict(self._loaded)

    def save(self, key: Any, data: Any) -> None:
        name = f"{self._index_name}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"
        _drop_old(Path(self._cache_path), self._index_name)
        self._save_data(name, data)
        overloads = self._load_index()
        overloads[key] = name
        self._save_index(overloads)


def _drop_old(folder: Path, index_name: str) -> None:
    """Remove code compiled from older sources of a function, except for the most recent versions."""
    base, _, rest = index_name.rpartition("-")
    suffix = rest[STAMP_DIGITS:]
    with contextlib.suppress(OSError):
        indices = [path for path in folder.iterdir() if path.name.startswith(f"{base}-") and path.name.endswith(suffix)]
        indices.sort(key=lambda path: path.stat().st_mtime_ns)
        for index in indices[: 1 - KEPT_STAMPS]:
            if index.name != index_name:
                for file in folder.glob(f"{glob.escape(index.name)}*"):
                    file.unlink(missing_ok=True)


class KernelCache(caching.Cache):  # type: ignore[misc]  # Numba ships no types
    """One function's entries in the cache. A cache problem never makes a run fail.

    The stamp is computed at the first lookup, not when the function is decorated: a warm start looks up only the
    outermost kernels.
    """

    _impl_class = _KernelCacheImpl

    def __init__(self, py_func: Callable[..., Any]) -> None:
        self._name = repr(py_func)
        self._py_func = py_func
        self._enabled = True

    @functools.cached_property
    def _impl(self) -> Any:
        return _KernelCacheImpl(self._py_func)

    @functools.cached_property
    def _cache_file(self) -> Any:
        stamp = self._impl.locator.get_source_stamp()
        return _IndexFile(self.cache_path, f"{self._impl.filename_base}-{stamp[:STAMP_DIGITS]}", stamp)

    def _file_ahead(self) -> Any:
        """Return the entries in the wheel's code, which are found under the same names."""
        own = self._cache_file
        folder = ahead.FOLDER / Path(self.cache_path).name
        return _IndexFile(str(folder), own._index_name.removesuffix(".nbi"), own._source_stamp)

    @property
    def cache_path(self) -> str:
        """The folder of this function's module."""
        return str(self._impl.locator.get_cache_path())

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        constants = "\n".join(_constants(self._py_func, []))
        return (*super()._index_key(sig, codegen), hashlib.sha256(constants.encode()).hexdigest())

    def _can_be_cached(self) -> bool:
        """Return whether the function is defined in a file and none of its sources was edited since the process began.

        After an edit, this process still runs the old code, but the stamp would be that of the new code.
        """
        try:
            path, now_ns = Path(inspect.getfile(self._py_func)), time.time_ns()
            files = sources(self._py_func.__module__, path, cache_root()) if path.exists() else ()
            return bool(files) and not any(START_NS < file.stat().st_mtime_ns <= now_ns for file in files)
        except (OSError, TypeError):  # TypeError: a function typed at a prompt
            return False
        except RuntimeError:  # no cache folder, which `save_overload` reports
            return True

    def signatures(self, target_context: Any) -> list[Any]:
        """Return the signatures for which the cache has compiled code."""
        try:
            others = self._index_key(None, target_context.codegen())[1:]
            return [key[0] for key in self._cache_file._load_index() if key[1:] == others]
        except Exception:  # as in `load_overload`
            return []

    def holds(self, sig: Any, target_context: Any) -> bool:
        """Return whether the cache has code for a signature and this CPU target, without loading it."""
        try:
            return self._index_key(sig, target_context.codegen()) in self._cache_file._load_index()
        except Exception:  # as in `load_overload`
            return False

    def holds_ahead(self, sig: Any) -> bool:
        """Return whether code that was compiled ahead of time can be used for a signature."""
        try:
            return ahead.is_used() and self._index_key(sig, ahead.GenericTarget) in self._file_ahead()._load_index()
        except Exception:  # as in `load_overload`
            return False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load compiled code, or return None if the cache has no usable entry.

        Numba would initialize its compiler first, which takes a quarter of a second and 60 MB. Loaded code does not
        need it; a later compilation initializes it then.
        """
        if not self._can_be_cached():
            return None
        try:
            found = self._load_overload(sig, target_context)
        except Exception:  # a damaged entry of any kind counts as missing; flush it so that saving does not read it
            found = None
            with contextlib.suppress(OSError, RuntimeError):
                self.flush()
        return self._load_ahead(sig, target_context) if found is None else found

    def _load_ahead(self, sig: Any, target_context: Any) -> Any:
        """Load code that was compiled ahead of time, or return None."""
        if not ahead.is_used():
            return None
        try:
            data = self._file_ahead().load(self._index_key(sig, ahead.GenericTarget))
            found = None if data is None else self._impl.rebuild(target_context, data)
        except Exception:  # damaged
            return None
        if found is not None:
            ahead.note_loaded(self._name)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save compiled code. A read-only folder is not an error; it is reported once."""
        if not self._can_be_cached():
            return
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _report_in_memory(str(cache_root()), str(error.strerror))
        except RuntimeError as error:
            _report_in_memory("folder", str(error))


@functools.cache
def _report_in_memory(folder: str, reason: str) -> None:
    """Report, once for each folder and reason, that compiled code is not saved."""
    write_notice(
        f"px4lockstep: cannot write to the compile cache {folder} ({reason}); compiling in memory for this run. "
        "Set PX4LOCKSTEP_CACHE_DIR to a writable folder.",
        end="\n",
    )
