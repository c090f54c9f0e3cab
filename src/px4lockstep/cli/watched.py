"""Run a command that loads the PX4 library in a child process, so that the parent can report a crash.

The parent waits, passes signals on, and exits with the child's exit code.
"""

import os
import shlex
import sys
from collections.abc import Callable

from px4lockstep.cli.interrupts import interrupts
from px4lockstep.processes import Watched, crash_of, is_crash

FAILED, INTERRUPTED = 1, 130
is_child = False
"""Whether this process is the child. It exits normally, so that a crash while the library is unloaded is seen."""


def in_child(command: Callable[[], int], tell: Callable[[int], None] | None = None) -> int:
    """Run a command in a forked child and exit with its exit code.

    If a signal ended the child, call `tell` with its number, or print it with a remedy. The third interrupt kills a
    child that does not react, and is raised here.
    """
    if not hasattr(os, "fork"):
        return command()
    watched = Watched.fork(interrupts.take_from_parent)
    if watched is None:
        global is_child
        is_child = True
        return command()
    interrupts.number = next(iter(watched.passed_on), interrupts.number)
    if watched.code >= 0:  # nothing is left to clean up, and a normal exit of Python would take 0.2 s
        os._exit(interrupts.code if watched.code == INTERRUPTED else watched.code)
    _show_cursor()
    if watched.is_killed:
        raise KeyboardInterrupt
    number = -watched.code
    if tell is not None:
        tell(number)
    else:
        sys.stderr.write(f"error: {crash_of(number)}\n{remedy(number)}")
    return FAILED


def remedy(number: int) -> str:
    """Return instructions for debugging a crash of PX4; empty if the signal is not a crash."""
    if not is_crash(number):
        return ""
    command = shlex.join([sys.executable, "-m", "px4lockstep", *sys.argv[1:]])
    return (
        "  The crash is reproducible. To find it, build PX4 with debug symbols and run the command in a debugger:\n"
        f"    gdb -ex 'set follow-fork-mode child' -ex run -ex backtrace --args {command}\n"
    )


def _show_cursor() -> None:
    """Clear the progress line and show the terminal's cursor again, which the progress bar hides."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[2K\x1b[?25h")
        sys.stderr.flush()
