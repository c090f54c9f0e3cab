"""Says that kernels are being compiled, since the first start of an installation takes seconds.

Numba raises an event around every real compilation (a load from the cache raises none). The outermost one opens a
line on standard error, each nested one advances it, and it closes with the time taken. `PX4LOCKSTEP_QUIET=1` is silent.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

LINE_AFTER_S = 0.5  # shorter compilations pass unnoticed, and a line for each would be noise


class CompileReporter(event.Listener):  # type: ignore[misc]  # Numba ships no types
    """Prints a progress line while kernels compile."""

    def __init__(self) -> None:
        self.kernel_count = 0
        self.compiled_count = 0
        self._depth = 0
        self._start_s = 0.0
        self._said = False

    @contextmanager
    def together(self) -> Iterator[None]:
        """Report all that is compiled in this block as one."""
        self._open()
        try:
            yield
        finally:
            self._close()

    def on_start(self, compile_event: Any) -> None:
        """Advance the line; the outermost compilation starts the clock."""
        self._open()
        self.compiled_count += 1
        if time.perf_counter() - self._start_s > LINE_AFTER_S:
            self._say(compile_event.data["dispatcher"].py_func)

    def on_end(self, compile_event: Any) -> None:
        """Close the line when the outermost compilation ends."""
        self._close()

    def _open(self) -> None:
        if self._depth == 0:
            self._start_s = time.perf_counter()
            self._said = False
        self._depth += 1

    def _close(self) -> None:
        self._depth -= 1
        if self._depth == 0 and self._said:
            elapsed_s = max(0.0, time.perf_counter() - self._start_s)
            write_notice(f"px4lockstep: compiled in {elapsed_s:.1f} s", end="\n")

    def _say(self, function: Any) -> None:
        if not self._said:
            self._said = True
            write_notice("px4lockstep: compiling for this machine, once per installation ...", end="\n")
        if sys.stderr.isatty():
            done, total = self.compiled_count, max(self.kernel_count, self.compiled_count)
            name = f"{function.__module__.removeprefix('px4lockstep.')}.{function.__name__}"
            write_notice(f"\r\x1b[K  {done} of {total} kernels  {name}", end="")


def write_notice(text: str, end: str) -> None:
    """Write to standard error unless the user asked for quiet."""
    if os.environ.get("PX4LOCKSTEP_QUIET", "") in ("", "0"):
        if end and sys.stderr.isatty():
            text = f"\r\x1b[K{text}"
        sys.stderr.write(text + end)
        sys.stderr.flush()


reporter = CompileReporter()
event.register("numba:compile", reporter)
