"""Arrays whose memory is a file's, mapped and shared: to be read a block at a time, and given back.

Whatever is written to such an array is in the file. What a process has touched of it counts as its memory until it is
given back; when it is looked at again, it comes from the file. Arrays in memory of their own are left as they are.
"""

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK_BYTES = 2**23


def give_back(array: npt.NDArray[Any]) -> None:
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
            give_back(array)
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
