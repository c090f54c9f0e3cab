"""Read files from outside the package within limits of size, depth and number of values.

All input files are read by these functions. Pipes and devices are rejected before a read could block. An invalid path,
a missing file and an oversized file raise `InputError`.
"""

import json
import os
import re
import stat
import tomllib
from os import PathLike
from pathlib import Path
from typing import Any

from px4lockstep.errors import InputError

MAX_DEPTH = 32
"""Maximum nesting of tables and arrays, and maximum number of parts of a dotted TOML key."""
MAX_VALUES = 1_000_000
"""Maximum number of values in a JSON file."""
FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_ATOM = r"""(?:[^\s.,#="'\[\]{}]++|"(?:[^"\\\n]|\\[^\n])*+"?+|'[^'\n]*+'?+)"""
_TOKEN = re.compile(
    r'#[^\n]*+|"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5}|\Z)|' + r"'''(?:[^']|'(?!''))*+(?:'{3,5}|\Z)|"
    rf"(?P<key>{_ATOM}(?:[ \t]*+\.[ \t]*+{_ATOM})*+)",
    re.DOTALL,
)
_KEY_PART = re.compile(_ATOM)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def user_path(text: str | PathLike[str]) -> Path:
    """Return a path with `~` expanded, or unchanged if there is no home folder."""
    return Path(os.path.expanduser(text))


def check_path(path: str | PathLike[str]) -> None:
    """Check that a string can be a path: it is not empty, and the file system can encode it."""
    try:
        if not os.fspath(path) or b"\0" in os.fsencode(path):
            raise InputError(f"{str(path)!r} is not a path: it {'contains a zero byte' if str(path) else 'is empty'}")
    except UnicodeEncodeError as error:  # an unpaired surrogate
        raise InputError(f"{str(path)!r} is not a path: it is not valid Unicode") from error


def read_regular(path: str | PathLike[str], max_bytes: int, what: str) -> bytes:
    """Return the bytes of a regular file of at most `max_bytes`; `what` names the expected kind of file in errors."""
    check_path(path)
    name = str(path)
    try:
        if not stat.S_ISREG(mode := os.stat(path).st_mode):
            raise InputError(f"{name} is {_kind(mode)}; give the path of {what}")
        handle = os.open(path, FLAGS)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(mode := os.fstat(handle).st_mode):  # replaced since `stat`
                raise InputError(f"{name} is {_kind(mode)}; give the path of {what}")
            content = file.read(max_bytes + 1)
    except FileNotFoundError:
        raise InputError(f"file not found: {name}") from None
    except OSError as error:
        raise InputError(f"{name} can't be read: {error.strerror or error}") from error
    if len(content) > max_bytes:
        raise InputError(f"{name} is larger than {max_bytes:,} bytes, the limit for {what}")
    return content


def _kind(mode: int) -> str:
    return "a folder" if stat.S_ISDIR(mode) else "not a regular file"


def read_text(path: str | PathLike[str], max_bytes: int, what: str) -> str:
    """Return the text of a regular UTF-8 file without its byte order mark; see `read_regular`."""
    return decoded(read_regular(path, max_bytes, what), str(path), what)


def decoded(content: bytes, name: str, what: str) -> str:
    """Return bytes as text; errors call the file `name`."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not text: byte {error.start} is not UTF-8; it must be {what}") from error


def read_json(path: str | PathLike[str], max_bytes: int, what: str) -> Any:
    """Return the value of a JSON file; see `read_regular` and `parse_json`."""
    return parse_json(read_text(path, max_bytes, what), str(path), what)


def parse_json(text: str, name: str, what: str) -> Any:
    """Return the value of JSON text with at most 32 levels; errors call the file `name`."""
    if text.count(",") > MAX_VALUES:
        raise InputError(f"{name} has more than {MAX_VALUES:,} values, the limit for {what}")
    try:
        value = json.loads(text)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode(errors="surrogateescape")  # allowed in paths
    except UnicodeEncodeError as error:
        raise InputError(f"{name} contains an unpaired surrogate (invalid Unicode); it must be {what}") from error
    except ValueError as error:
        raise InputError(f"{name} is not JSON: {error}; it must be {what}") from error
    except RecursionError:
        raise _too_deep(name, what) from None
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        tables = [each for each in level if isinstance(each, dict | list)]
        if not tables:
            return value
        level = [item for each in tables for item in (each.values() if isinstance(each, dict) else each)]
    raise _too_deep(name, what)


def json_number(value: Any) -> float | None:
    """Return a JSON number as a float, or None for anything else."""
    try:
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    except OverflowError:
        return None


def parse_toml(text: str, name: str, what: str) -> dict[str, Any]:
    """Return the table of TOML text whose keys have at most 32 parts; errors call the file `name`.

    Parsing time grows with the square of the number of parts of a key. They are therefore counted first, by a scan that
    skips comments and multi-line strings as the parser does.
    """
    for match in _TOKEN.finditer(text):
        key = match["key"]
        if key and key.count(".") >= MAX_DEPTH and len(_KEY_PART.findall(key)) > MAX_DEPTH:
            raise _too_deep(name, what)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise _too_deep(name, what) from None
    except ValueError as error:
        raise InputError(f"{name} is not TOML: {error}") from error


def _too_deep(name: str, what: str) -> InputError:
    return InputError(f"{name} is nested too deeply: more than {MAX_DEPTH} levels, the limit for {what}")
