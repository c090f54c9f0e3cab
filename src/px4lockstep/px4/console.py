"""PX4's console output, which the library writes directly to C's standard output, bypassing Python."""

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
    """Redirect C code's standard output to an open file, given by its descriptor.

    The buffers of Python and C are flushed before and after, so that each line goes where it belongs. From then on, C's
    output is line buffered, so that PX4's last lines are preserved if the process is killed.
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
    """Redirect C code's standard output to a file that starts with earlier output."""
    with path.open("wb", buffering=0) as file:
        file.write(printed.encode())
        with console_into(file.fileno()):
            yield


def printed_in(file: BinaryIO) -> str:
    """Return the contents of an open file, including what other processes have written to it."""
    number = file.fileno()
    return os.pread(number, os.fstat(number).st_size, 0).decode("utf-8", "replace")


def flush_console() -> None:
    """Flush the output buffers of Python and C."""
    if sys.stdout is not None:
        sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)
