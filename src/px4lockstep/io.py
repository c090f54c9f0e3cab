"""Files and their memory: atomic writes, and arrays mapped to a file.

An atomic write leaves the complete file or the one that was there before. A mapped array shares its memory with a
file: what is written to it is in the file. The pages that a process has touched count as its memory until they are
released; when they are read again, they come from the file. Arrays in ordinary memory are left as they are.
"""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError

BLOCK_BYTES = 2**23


@contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name only when all of it is on the disk; see `atomic_path`."""
    with atomic_path(path) as part, part.open("wb") as file:
        yield file


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Give a path to write a file to, which then takes its place as a whole.

    It is written beside its place, synchronized and renamed. If anything is raised in between, it is removed, and what
    was there before is as it was.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"{target} can't be written: there is no folder {target.parent}; make it first")
    if target.is_dir():
        raise InputError(f"{target} can't be written: it is a folder; give the name of a file")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        try:
            yield part
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            os.replace(part, target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{target} can't be written: {error.strerror or error}") from error
    _synchronize(target.parent)


def _synchronize(folder: Path) -> None:
    """Put the new name on the disk too, where the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def release_pages(array: npt.NDArray[Any]) -> None:
    """Give back the memory of the file that an array is of, all of it; what is in the file stays."""
    mapping = _mapping(array)
    if mapping is not None:
        mapping.madvise(mmap.MADV_DONTNEED)


def blocks(array: npt.NDArray[Any], rows: int | None = None) -> Iterator[slice]:
    """Go through an array so many rows at a time, or a few megabytes; its memory is given back every few megabytes."""
    row_bytes = max(1, array.strides[0])
    step = rows or max(1, BLOCK_BYTES // row_bytes)
    held = 0
    for start in range(0, len(array), step):
        yield slice(start, start + step)
        held += step * row_bytes
        if held >= BLOCK_BYTES or start + step >= len(array):
            release_pages(array)
            held = 0


def in_memory(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array of a file as one in memory of its own; another as it is."""
    if _mapping(array) is None:
        return array
    copied = np.empty(array.shape, array.dtype)
    for block in blocks(array):
        copied[block] = array[block]
    return copied


def _mapping(array: npt.NDArray[Any]) -> mmap.mmap | None:
    """Return the mapping that an array is a part of, or None."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return owner if isinstance(owner, mmap.mmap) else None
