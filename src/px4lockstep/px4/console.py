"""PX4's console: the library writes what it logs to standard output, past Python."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

STANDARD_OUTPUT = 1


@contextmanager
def console_into(file: int) -> Iterator[None]:
    """Let what C code writes to standard output go into an open file, given by its descriptor.

    What C still holds back is written out before and after, so that each line goes where it belongs.
    """
    _flush()
    kept = os.dup(STANDARD_OUTPUT)
    try:
        os.dup2(file, STANDARD_OUTPUT)
        try:
            yield
        finally:
            _flush()
            os.dup2(kept, STANDARD_OUTPUT)
    finally:
        os.close(kept)


def _flush() -> None:
    ctypes.CDLL(None).fflush(None)
