"""Work in a forked child while this process does something else.

The work only returns bytes; the child writes no files, so it can be stopped at any time. If it fails, this process does
the work itself, so nothing depends on the child but the time that is taken.
"""

import gc
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress

from px4lockstep.errors import SimulationError
from px4lockstep.processes import FAILED, end_of, fork_child
from px4lockstep.stop_signals import STOPS


class Aside:
    """Work that a forked child does.

    Args:
        child: Process id of the child.
        pipe: Descriptor from which its result is read.
    """

    def __init__(self, child: int, pipe: int) -> None:
        self._child = child
        self._pipe = pipe
        self._is_over = False

    @classmethod
    def start(cls, work: Callable[[], bytes]) -> "Aside | None":
        """Start work in a child; return None if there is no second core or the system can't fork safely.

        On macOS, libraries of the system do not survive a fork.
        """
        if sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2:
            return None
        reading, writing = os.pipe()
        try:
            child = fork_child()
        except SimulationError:  # out of processes or memory
            os.close(reading)
            os.close(writing)
            return None
        if child == 0:  # pragma: no cover - another process
            os.close(reading)
            _work(work, writing)
        os.close(writing)
        return cls(child, reading)

    def result(self) -> bytes | None:
        """Wait for the result; None if the child failed or was stopped."""
        if self._is_over:
            return None
        with os.fdopen(os.dup(self._pipe), "rb") as pipe:
            data = pipe.read()
        return data if self._end() == 0 else None

    def stop(self) -> None:
        """Stop the child, unless it has ended."""
        if not self._is_over:
            with suppress(ProcessLookupError):
                os.kill(self._child, signal.SIGTERM)
            os.close(self._pipe)  # a child that goes on can't write its result, and ends
            self._pipe = -1
            self._end()

    def _end(self) -> int:
        code = end_of(self._child)
        self._is_over = True
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        return code


def _work(work: Callable[[], bytes], pipe: int) -> None:  # pragma: no cover - another process
    """Do the work in the child and end it. A terminal sends signals to both processes; only the parent's count."""
    code = FAILED
    try:
        gc.disable()
        for number in STOPS:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        data = work()
        with os.fdopen(pipe, "wb") as file:
            file.write(data)
        code = 0
    finally:
        os._exit(code)
