"""A command that loads PX4's library goes on in a child of its process, so that a crash can be told of.

The parent waits, passes signals on, and ends as the child does.
"""

import os
import shlex
import sys
from collections.abc import Callable

from px4lockstep.cli.interrupts import interrupts
from px4lockstep.processes import Watched, crash_of, is_crash

FAILED, INTERRUPTED = 1, 130


def in_child(command: Callable[[], int], tell: Callable[[int], None] | None = None) -> int:
    """Run a command in a child of this process, which goes on as this one would have, and end as it does.

    A signal that has ended the child is told to `tell`, or printed with a remedy. Three interrupts kill a child that
    does not heed them, and are raised here.
    """
    if not hasattr(os, "fork"):
        return command()
    watched = Watched.fork(interrupts.take_from_parent)
    if watched is None:
        return command()
    interrupts.number = next(iter(watched.passed_on), interrupts.number)
    if watched.code >= 0:  # there is nothing to finish, and Python would take 0.2 s for it
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
