"""Children of this process that real PX4 runs in: if it crashes, the parent is there to tell."""

import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable

from px4lockstep.errors import LockstepError, SimulationError
from px4lockstep.px4.console import flush_console

FAILED = 1
CRASHES = ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP")
PR_SET_PDEATHSIG = 1
"""Of Linux's prctl."""


def fork_child() -> int:
    """Copy this process; return the child's id, and 0 in the child, which ends if its parent does.

    On Linux it ends at once. Elsewhere a child that has lost its parent flies to its end.

    Raises:
        SimulationError: If the system allows no further process.
    """
    sys.stderr.flush()
    flush_console()  # or what is held back would be written by the child too
    parent = os.getpid()
    try:
        child = os.fork()
    except OSError as error:
        raise SimulationError(f"PX4 runs in a process of its own, and none can be made: {error.strerror}") from error
    if child == 0 and sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
        if os.getppid() != parent:  # it ended before it could be said
            os.kill(os.getpid(), signal.SIGKILL)
    return child


def end_of(child: int) -> int:
    """Wait for a child; return its exit code, or the number of the signal that ended it, negative."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def ask_child(work: Callable[[], str]) -> tuple[int, str]:
    """Let a child of this process do something, and wait for it; it is killed if that is interrupted.

    Returns:
        Its exit code, or the number of the signal that ended it, negative; and what the work returned, or, with exit
        code 1, what it raised.

    Raises:
        SimulationError: If the system allows no further process.
    """
    reading, writing = os.pipe()
    child = fork_child()
    if child == 0:  # pragma: no cover - another process
        code, text = FAILED, "stopped"
        try:
            os.close(reading)
            text = work()
            code = 0
        except LockstepError as error:
            text = str(error)
        except BaseException:
            text = traceback.format_exc()
        finally:  # never back into the parent's code
            try:
                flush_console()
                os.write(writing, text.encode())
            finally:
                os._exit(code)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as pipe:
            said = pipe.read().decode(errors="replace")
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    return end_of(child), said


def is_crash(number: int) -> bool:
    """Return whether a signal is one that a process gets for what its own code did."""
    return name_of(number) in CRASHES


def crash_of(number: int) -> str:
    """Say that a signal has ended a process that PX4 ran in."""
    described = f"{name_of(number)} (signal {number}, {(signal.strsignal(number) or 'unknown').lower()})"
    if is_crash(number):
        return f"PX4's library crashed: {described} has ended its process"
    return f"{described} has ended the process that PX4 ran in: somebody sent it, or the system was short of memory"


def name_of(number: int) -> str:
    """Return the name of a signal."""
    return signal.Signals(number).name if number in list(signal.Signals) else "a real-time signal"
