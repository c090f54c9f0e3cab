"""Report compilation on standard error: the first start of an installation takes tens of seconds.

Numba raises an event around every real compilation (a load from the cache raises none). The outermost event starts the
report, which ends with a line that gives the time taken. On a terminal, each nested compilation updates a progress
line. Elsewhere (a pipe, a log file) a line every `HEARTBEAT_S` shows that the process is alive. `PX4LOCKSTEP_QUIET=1`
turns the report off.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

LINE_AFTER_S = 2.0  # shorter compilations are not reported, such as those of small kernels after the loop
HEARTBEAT_S = 10.0  # between two lines where there is no terminal


class CompileReporter(event.Listener):  # type: ignore[misc]  # Numba ships no types
    """Prints a progress report while kernels compile."""

    def __init__(self) -> None:
        self.compiled_count = 0
        self._depth = 0
        self._start_s = 0.0
        self._expected = ""
        self._said = False
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._heart: threading.Thread | None = None

    @contextmanager
    def together(self, expected: str = "") -> Iterator[None]:
        """Report everything that is compiled in this block as one compilation; `expected` says how long it takes."""
        self._expected = expected
        self._open()
        try:
            yield
        finally:
            self._close()
            self._expected = ""

    def on_start(self, compile_event: Any) -> None:
        """Count a kernel and update the report; the outermost compilation starts the clock."""
        self._open()
        self.compiled_count += 1
        if self._elapsed_s() > LINE_AFTER_S:
            self._announce()
            self._show(compile_event.data["dispatcher"].py_func)
        if self._heart is None:
            self._is_over.clear()
            self._heart = threading.Thread(target=self._beat, name="px4lockstep compile report", daemon=True)
            self._heart.start()

    def on_end(self, compile_event: Any) -> None:
        """Finish the report when the outermost compilation ends."""
        self._close()

    def _open(self) -> None:
        if self._depth == 0:
            self._start_s = time.perf_counter()
            self._said = False
        self._depth += 1

    def _close(self) -> None:
        self._depth -= 1
        if self._depth > 0:
            return
        if self._heart is not None:
            self._is_over.set()
            self._heart.join()
            self._heart = None
        if self._said:
            write_notice(f"px4lockstep: compiled in {self._elapsed_s():.1f} s", end="\n")

    def _elapsed_s(self) -> float:
        return max(0.0, time.perf_counter() - self._start_s)  # a clock may run backwards

    def _counts(self) -> str:
        """Return the count of this process, without a total: a second process may compile a part."""
        return f"{self.compiled_count} kernels so far"

    def _announce(self) -> None:
        """Print the first line, once per report."""
        with self._lock:
            if not self._said:
                self._said = True
                expected = f" ({self._expected})" if self._expected else ""
                write_notice(f"px4lockstep: compiling for this machine, once per installation{expected} ...", end="\n")

    def _show(self, function: Any) -> None:
        """Update the progress line of a terminal."""
        if sys.stderr.isatty():
            name = f"{function.__module__.removeprefix('px4lockstep.')}.{function.__name__}"
            write_notice(f"\r\x1b[K  {self._counts()}  {name}", end="")

    def _beat(self) -> None:
        """Announce a compilation that starts no nested one; then, without a terminal, print a line now and then."""
        if self._is_over.wait(LINE_AFTER_S):
            return
        self._announce()
        while not self._is_over.wait(HEARTBEAT_S):
            if not sys.stderr.isatty():
                write_notice(f"px4lockstep: still compiling after {self._elapsed_s():.0f} s ({self._counts()})", "\n")


def write_notice(text: str, end: str) -> None:
    """Write to standard error unless `PX4LOCKSTEP_QUIET` is set."""
    if os.environ.get("PX4LOCKSTEP_QUIET", "") in ("", "0"):
        if end and sys.stderr.isatty():
            text = f"\r\x1b[K{text}"
        sys.stderr.write(text + end)
        sys.stderr.flush()


reporter = CompileReporter()
event.register("numba:compile", reporter)
