"""Atomic writes, memory-mapped arrays, and JSON.

An atomic write leaves either the complete new file or the previous one. Writes to a mapped array go to its file. The
pages that a process has touched count as its memory until they are released; after that, reads come from the file.
Functions on mapped arrays have no effect on arrays in ordinary memory.
"""

import json
import math
import mmap
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError, OutputError

BLOCK_BYTES = 2**23
KEPT_BYTES = 2**25
"""Size up to which `blocks` does not release a mapped file: reading its pages again takes longer than the work."""


@contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for reading and writing that gets its name only when it is completely on disk.

    The data is written to a temporary file in the same folder, synchronized and renamed. A symbolic link at the target
    is replaced, not followed. On an exception, the temporary file is removed and the previous file is unchanged.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"{target} can't be written: there is no folder {target.parent}; create it first")
    if target.is_dir():
        raise InputError(f"{target} can't be written: it is a folder; give the name of a file")
    try:
        remove_leftovers(target.parent)
        with _part_of(target.parent, _new_file) as (part, handle):
            with os.fdopen(os.dup(handle), "w+b") as file:
                yield file
                file.flush()
                os.fsync(handle)
            os.replace(part, target)
    except OSError as error:
        raise OutputError(f"{target} can't be written: {error.strerror or error}") from error
    _synchronize(target.parent)


def check_new(path: str | Path, *, force: bool = False) -> Path:
    """Return the path of an output file; raise if the file exists, unless `force` is set."""
    target = Path(path)
    if not force and os.path.lexists(target) and not target.is_dir():
        raise InputError(f"{target} exists and is not overwritten; use --force to overwrite it")
    return target


# -- temporary files -------------------------------------------------------------------------------------------------
#
# Their names are random, and the writing process holds a lock on them: a file that can be locked was left behind by a
# process that no longer exists. On systems without locks, nothing is removed.

NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)  # Windows has none
PART = re.compile(r"\.px4lockstep-[0-9a-f]{16}\.part")


def lock(handle: int, *, waits: bool = False) -> bool | None:
    """Lock an open file until it is closed or its process ends; return whether it is locked, None without locks.

    If another process holds the lock, wait for it, or return False.
    """
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except (ImportError, OSError):  # Windows, or a disk without locks
        return None
    return True


@contextmanager
def part_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder next to the target; rename it to the target unless an exception is raised."""
    remove_leftovers(target.parent)
    with _part_of(target.parent, _new_folder) as (part, _):
        yield part
        part.rename(target)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a folder for files that are not kept; that of a killed process is removed when the next one is made."""
    root = Path(tempfile.gettempdir())
    remove_leftovers(root)
    with _part_of(root, _new_private_folder) as (part, _):
        yield part


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files and folders of processes that no longer exist."""
    with suppress(OSError), os.scandir(folder) as entries:
        for part in [Path(entry.path) for entry in entries if PART.fullmatch(entry.name)]:
            with suppress(OSError):  # another user's, or a symbolic link
                handle = os.open(part, os.O_RDONLY | NOFOLLOW | os.O_NONBLOCK)
                try:
                    if lock(handle):
                        _remove(part)
                finally:
                    os.close(handle)


@contextmanager
def _part_of(folder: Path, make: Callable[[Path], int | None]) -> Iterator[tuple[Path, int]]:
    """Yield a temporary file or folder and its handle; remove it at the end if it still exists."""
    while True:
        part = folder / f".px4lockstep-{os.urandom(8).hex()}.part"
        handle = make(part)
        if handle is None:
            continue
        try:
            lock(handle, waits=True)
            if not part.exists():  # removed as a leftover before it was locked
                continue
            yield part, handle
            return
        finally:
            _remove(part)
            os.close(handle)


def _new_file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | NOFOLLOW, 0o666)


def _new_folder(path: Path) -> int | None:
    path.mkdir()
    return _opened(path)


def _new_private_folder(path: Path) -> int | None:
    path.mkdir(mode=0o700)
    return _opened(path)


def _opened(folder: Path) -> int | None:
    """Return the handle of a new folder; None if it was removed as a leftover before it was opened."""
    try:
        return os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return None


def _remove(part: Path) -> None:
    """Remove a temporary file or folder, if it exists."""
    if part.is_dir() and not part.is_symlink():
        shutil.rmtree(part, ignore_errors=True)
    else:
        part.unlink(missing_ok=True)


def _synchronize(folder: Path) -> None:
    """Synchronize the folder entry to disk, where the system supports it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows can't open folders
        return
    try:
        with suppress(OSError):  # some network file systems can't; the file itself is complete
            os.fsync(handle)
    finally:
        os.close(handle)


def release_pages(array: npt.NDArray[Any]) -> None:
    """Release all memory pages of the file that an array maps; the contents of the file are unchanged."""
    mapping = _mapping(array)
    if mapping is not None:
        mapping.madvise(mmap.MADV_DONTNEED)


def blocks(array: npt.NDArray[Any], rows: int | None = None) -> Iterator[slice]:
    """Yield slices of `rows` rows, by default of a few megabytes.

    Every few megabytes, release the pages of an array that maps a large file.
    """
    row_bytes = max(1, array.strides[0])
    step = rows or max(1, BLOCK_BYTES // row_bytes)
    mapping = _mapping(array)
    is_released, held = mapping is not None and len(mapping) > KEPT_BYTES, 0
    for start in range(0, len(array), step):
        yield slice(start, start + step)
        held += step * row_bytes
        if is_released and (held >= BLOCK_BYTES or start + step >= len(array)):
            release_pages(array)
            held = 0


def in_memory(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a copy of a mapped array in ordinary memory; return any other array unchanged."""
    if _mapping(array) is None:
        return array
    copied = np.empty(array.shape, array.dtype)
    for block in blocks(array):
        copied[block] = array[block]
    return copied


def _mapping(array: npt.NDArray[Any]) -> mmap.mmap | None:
    """Return the file mapping that an array is part of, or None."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return owner if isinstance(owner, mmap.mmap) else None


def to_json(value: Any, **options: Any) -> str:
    """Return a value as strict JSON: NaN and infinity become null. `options` are those of `json.dumps`."""
    try:
        return json.dumps(value, allow_nan=False, **options)
    except ValueError:
        return json.dumps(json_value(value), allow_nan=False, **options)


def json_value(value: Any, *, keeps_infinity: bool = False) -> Any:
    """Return a value as strict JSON has it: None instead of NaN, and for infinity, too, or its text."""
    if isinstance(value, dict):
        return {name: json_value(item, keeps_infinity=keeps_infinity) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item, keeps_infinity=keeps_infinity) for item in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return str(value) if keeps_infinity and not math.isnan(value) else None
