"""A command that loads PX4's library goes on in a child of its process, so that a crash can be told of.

The parent waits, and ends as the child does. What is sent to it is passed on: SIGTERM and SIGHUP as they are, Ctrl-C as
SIGUSR1. A terminal sends Ctrl-C to both of them, and a script perhaps to one: the child counts those of its parent.
"""

import gc
import os
import shlex
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from px4lockstep.cli.interrupts import interrupts
from px4lockstep.flights.child import crash_of, end_of, fork_child, is_crash

FAILED = 1
MAX_INTERRUPTS = 3
"""The first asks, the second stops at once, and this one ends a PX4 that hangs."""


class _Watched:
    """A child that signals are passed on to."""

    def __init__(self, child: int) -> None:
        self.code = 0
        """Its exit code, or the signal that ended it, negative; once it has ended."""
        self.passed_on: list[int] = []
        self._child = child

    def pass_on(self, number: int, *_: Any) -> None:
        """Let the child have a signal."""
        self.passed_on.append(number)
        sent = number
        if number == signal.SIGINT:
            sent = signal.SIGKILL if self.is_killed else signal.SIGUSR1
        with suppress(ProcessLookupError):
            os.kill(self._child, sent)

    @property
    def is_killed(self) -> bool:
        """Whether there were so many interrupts that the child is to end whatever it does."""
        return self.passed_on.count(signal.SIGINT) >= MAX_INTERRUPTS


def in_child(command: Callable[[], int], tell: Callable[[int], None] | None = None) -> int:
    """Run a command in a child of this process, which goes on as this one would have, and end as it does.

    A signal that was sent to this process and has ended the child ends this one too.

    Args:
        command: Returns the exit code.
        tell: Told the number of a signal that ended the child; left out, that is an error of one line, and a remedy.

    Returns:
        The exit code: the command's in the child, that of a failure in the parent.

    Raises:
        KeyboardInterrupt: If the child did not heed interrupts, and was killed.
        SimulationError: If there can be no child.
    """
    if not hasattr(os, "fork"):
        return command()
    watched = _watch()
    if watched is None:
        return command()
    if watched.code >= 0:
        os._exit(watched.code)  # there is nothing to finish, and Python would take 0.2 s for it
    _show_cursor()
    if watched.is_killed:
        raise KeyboardInterrupt
    number = -watched.code
    if number in watched.passed_on:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    if tell is not None:
        tell(number)
    else:
        sys.stderr.write(f"error: {crash_of(number)}\n{remedy(number)}")
    return FAILED


def _watch() -> _Watched | None:
    """Make a child; return None there, and in the parent what has come of it."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    passed = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, as it may be inherited, nobody could wait
    gc.freeze()  # or the collector would make a copy of every page that the two have in common
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [*passed, signal.SIGUSR1])
    try:
        child = fork_child()
        if child == 0:
            if signal.SIGINT in passed:
                interrupts.take_from_parent()
            return None
        watched = _Watched(child)
        handlers = {number: signal.signal(number, watched.pass_on) for number in passed}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    watched.code = end_of(child)
    for number, handler in handlers.items():
        signal.signal(number, handler)
    return watched


def remedy(number: int) -> str:
    """Return lines that say what to do about a crash of PX4; none if the signal is no crash."""
    if not is_crash(number):
        return ""
    command = shlex.join([sys.executable, "-m", "px4lockstep", *sys.argv[1:]])
    return (
        "  The same command crashes again. To see where, build PX4 with debug symbols, and run it in a debugger:\n"
        f"    gdb -ex 'set follow-fork-mode child' -ex run -ex backtrace --args {command}\n"
    )


def _show_cursor() -> None:
    """Show the terminal's cursor again, which a line of progress hides, on a line of its own."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[2K\x1b[?25h")
        sys.stderr.flush()
