"""PX4's console: the library writes what it logs to standard output, past Python."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

STANDARD_OUTPUT, STANDARD_ERROR = 1, 2
LINES = 1
"""C's _IOLBF."""


@contextmanager
def console_into(file: int) -> Iterator[None]:
    """Let what C code writes to standard output go into an open file, given by its descriptor.

    What Python and C still hold back is written out before and after, so that each line goes where it belongs. C writes
    line by line from then on: a process that is killed has left what PX4 said last.
    """
    flush_console()
    kept = os.dup(STANDARD_OUTPUT)
    try:
        os.dup2(file, STANDARD_OUTPUT)
        try:
            c = ctypes.CDLL(None)
            name = "__stdoutp" if sys.platform == "darwin" else "stdout"
            c.setvbuf(ctypes.c_void_p.in_dll(c, name), None, LINES, ctypes.c_size_t(0))
            yield
        finally:
            flush_console()
            os.dup2(kept, STANDARD_OUTPUT)
    finally:
        os.close(kept)


@contextmanager
def log_of_console(path: Path, printed: str) -> Iterator[None]:
    """Let what C code writes to standard output go into a file, after what was printed before."""
    with path.open("wb", buffering=0) as file:
        file.write(printed.encode())
        with console_into(file.fileno()):
            yield


def printed_in(file: BinaryIO) -> str:
    """Return all that was printed into an open file, also by another process that has it open."""
    number = file.fileno()
    return os.pread(number, os.fstat(number).st_size, 0).decode("utf-8", "replace")


def flush_console() -> None:
    """Write out what C holds back."""
    if sys.stdout is not None:
        sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)
