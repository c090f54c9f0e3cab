"""Code of the user: Python files that a spec or campaign file names, and errors that such code raises.

A file is executed as a module once per process and source text. Only then is its folder on the import path, after all
other entries. The source can be given along with its path, so a worker on another machine needs no copy, and edits
during a campaign have no effect.
"""

import dis
import functools
import hashlib
import importlib
import importlib.machinery
import inspect
import re
import sys
import traceback
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from px4lockstep.errors import InputError, did_you_mean
from px4lockstep.reading import read_text

MAX_BYTES = 1_000_000
PACKAGE = str(Path(__file__).parent)
CLASS, OBJECT = "python", "object"
"""Prefixes of kinds: of a class that a file names, and of an object that was passed in Python."""
_NAMES = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
PATTERN = rf"^(?:{CLASS}|{OBJECT}):{_NAMES}:[^\W\d]\w*$"
"""Kinds that are the user's: `python:my_module:MyController`, `object:my_module:MyController`."""
HASH_DIGITS = 16


class Named(NamedTuple):
    """A kind that is the user's, in its parts."""

    prefix: str
    module: str
    name: str


def named(kind: object) -> Named | None:
    """Return the parts of a kind that is the user's; None for any other kind."""
    if not isinstance(kind, str) or ":" not in kind or re.match(PATTERN, kind) is None:
        return None
    return Named(*kind.split(":"))


def names_code(kind: object) -> bool:
    """Return whether a kind names code to run, valid or not."""
    return isinstance(kind, str) and kind.startswith(f"{CLASS}:")


# -- loading --------------------------------------------------------------------------------------------------------


class Loaded(NamedTuple):
    """A class or function of the user, and the hash of the file that defines it."""

    made: Any
    hash: str


def module_file(module: str, folder: str | Path | None) -> Path | None:
    """Return the file of a module in a folder, without importing anything; None if it is not there."""
    found = None if folder is None or "." in module else Path(folder, f"{module}.py").absolute()
    return found if found is not None and found.is_file() else None


def can_be_found(module: str, folder: str | Path | None) -> bool:
    """Return whether a module, or the package around it, is in a folder or on the path, without importing it."""
    top = module.partition(".")[0]
    paths = [*([str(folder)] if folder is not None else []), *sys.path]
    return top in sys.modules or importlib.machinery.PathFinder.find_spec(top, paths) is not None


def load_class(kind: Named, folder: str | Path | None, sources: Mapping[str, str] | None = None) -> Loaded:
    """Load the class of a kind: from its source if given, from a file in the folder, or from the path.

    `sources` has the text of files by their absolute path.

    Raises:
        InputError: If there is no such module or class, or if its code raises an exception.
    """
    path = None if folder is None or "." in kind.module else Path(folder, f"{kind.module}.py").absolute()
    text = (sources or {}).get(str(path))
    if text is None and path is not None and path.is_file():
        text = read_text(path, MAX_BYTES, "a Python file")
    if text is not None and path is not None:
        module, file = module_of(path, text.encode()), path.name
        hashed = _hash(text.encode())
    else:
        module = _imported(kind.module, folder)
        file, hashed = kind.module, _hash_of_file(module)
    found = getattr(module, kind.name, None)
    if found is None:
        names = [name for name, value in vars(module).items() if inspect.isclass(value) or inspect.isfunction(value)]
        hint = did_you_mean(kind.name, names)
        known = f"{'Defined' if hint else 'defined'} in it: {', '.join(names) or 'nothing'}"
        raise InputError(f"{file} has no class {kind.name!r}; {hint}{known}")
    if not callable(found):
        raise InputError(f"{kind.name} in {file} is {found!r:.80}; it must be a class")
    return Loaded(found, hashed)


def _imported(name: str, folder: str | Path | None) -> types.ModuleType:
    """Import a module from the path, to which a folder is appended."""
    with _on_path(folder):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise InputError(f"can't import {name}: {error}") from error
            where = "on the Python path" if folder is None else f"in {folder} or on the Python path"
            raise InputError(f"module {error.name!r} not found {where}; check its name, or install it") from None
        except BaseException as error:
            if is_signal(error):
                raise
            raise InputError(f"can't import {name}: {told(error)}") from error


@contextmanager
def _on_path(folder: str | Path | None) -> Iterator[None]:
    """Append a folder to the import path for as long as code is loaded."""
    before = list(sys.path)
    sys.path += [] if folder is None else [str(folder)]
    try:
        yield
    finally:
        sys.path[:] = before


@functools.cache
def module_of(path: Path, source: bytes) -> types.ModuleType:
    """Run a file as a module, registered under a unique name because dataclasses look up their module."""
    digest = hashlib.sha256(str(path).encode() + b"\0" + source).hexdigest()[:HASH_DIGITS]
    module = types.ModuleType(f"px4lockstep_user_{digest}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    with _on_path(path.parent):
        try:
            exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
        except BaseException as error:
            if is_signal(error):
                raise
            del sys.modules[module.__name__]
            raise InputError(f"can't load {path.name}: {told(error, path)}") from error
    return module


# -- identity -------------------------------------------------------------------------------------------------------


def identify(item: object) -> tuple[str, str]:
    """Return the kind of an object, `object:my_module:MyController`, and the hash of the file that defines its class.

    In a notebook, the hash is that of the class alone.
    """
    own = type(item)
    module = sys.modules.get(own.__module__)
    found = _hash_of_file(module)
    if found == NO_SOURCE:
        with suppress(OSError, TypeError):
            found = _hash(inspect.getsource(own).encode())
    name = own.__module__ if re.fullmatch(_NAMES, own.__module__) else "__main__"
    return f"{OBJECT}:{name}:{own.__name__}", found


NO_SOURCE = "source unknown"


def _hash(source: bytes) -> str:
    return f"sha256:{hashlib.sha256(source).hexdigest()[:HASH_DIGITS]}"


def _hash_of_file(module: types.ModuleType | None) -> str:
    """Return the hash of a module's file."""
    file = getattr(module, "__file__", None)
    try:
        return NO_SOURCE if file is None else _hash(Path(file).read_bytes())
    except OSError:
        return NO_SOURCE


# -- errors ---------------------------------------------------------------------------------------------------------


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """Return the signature of a function, or None if it is unknown, as for some functions written in C."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def is_signal(error: BaseException) -> bool:
    """Return whether an error is a real interrupt, not a KeyboardInterrupt raised by the user's code."""
    last = error.__traceback__
    if not isinstance(error, KeyboardInterrupt) or last is None:
        return False
    while last.tb_next is not None:
        last = last.tb_next
    code = last.tb_frame.f_code
    is_raised = code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    return not is_raised or code.co_filename.startswith(PACKAGE)


def told(error: BaseException, path: Path | None = None) -> str:
    """Describe an exception, with its line in the user's file: a given one, or the last outside this package."""
    frames = traceback.extract_tb(error.__traceback__)
    if path is None:
        outside = [frame for frame in frames if _is_users(frame.filename)]
        path = Path(outside[-1].filename) if outside else None
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    if isinstance(error, SyntaxError) and error.filename is not None and (path is None or error.filename == str(path)):
        path = Path(error.filename)
        lines.append(error.lineno)
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    what = f"{type(error).__name__}{f': {text}' if text else ''}"
    if path is None:
        return what
    return f"{path.name}{f', line {lines[-1]}' if lines else ''}: {what}"


def without_frames_of_package(error: BaseException) -> BaseException:
    """Remove the frames of this package from the start of an exception's traceback."""
    own = error.__traceback__
    while own is not None and own.tb_frame.f_code.co_filename.startswith(PACKAGE):
        own = own.tb_next
    return error.with_traceback(own)


def _is_users(filename: str) -> bool:
    """Return whether a file is neither of this package, nor of the library of Python or of another package."""
    return not filename.startswith((PACKAGE, sys.prefix, sys.base_prefix, "<frozen"))
