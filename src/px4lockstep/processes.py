"""Processes of their own: copies of this one and fresh interpreters.

One place for their rules: a process ends when the one that started it does; signals that the parent is sent reach the
child; what a process wrote last and the signal that ended it can be told.
"""

import ctypes
import gc
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any

from px4lockstep.errors import LockstepError, SimulationError
from px4lockstep.px4.console import flush_console

FAILED = 1
CRASHES = ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP")
MAX_INTERRUPTS = 3
"""The first asks, the second stops at once, and this one ends a child that hangs."""
STOPS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that ask a process to end; it writes what it has first."""
PR_SET_PDEATHSIG = 1
"""Of Linux's prctl."""


def ending_with(parent: int, number: int = signal.SIGKILL) -> Callable[[], None]:
    """Return a function that a new process calls to get a signal as soon as its parent has ended.

    On Linux only: elsewhere a process that has lost its parent goes on to its end.
    """
    if sys.platform != "linux":
        return lambda: None
    prctl, sent = ctypes.CDLL(None).prctl, ctypes.c_ulong(number)  # loaded here: in a new process there may be locks

    def ask() -> None:
        prctl(PR_SET_PDEATHSIG, sent)
        if os.getppid() != parent:  # it ended before it could be said
            os.kill(os.getpid(), number)

    return ask


# -- how a process has ended -----------------------------------------------------------------------------------------


def name_of(number: int) -> str:
    """Return the name of a signal."""
    return signal.Signals(number).name if number in list(signal.Signals) else "a real-time signal"


def is_crash(number: int) -> bool:
    """Return whether a signal is one that a process gets for what its own code did."""
    return name_of(number) in CRASHES


def crash_of(number: int) -> str:
    """Say that a signal has ended a process that PX4 ran in."""
    described = f"{name_of(number)} (signal {number}, {(signal.strsignal(number) or 'unknown').lower()})"
    if is_crash(number):
        return f"PX4's library crashed: {described} has ended its process"
    return f"{described} has ended the process that PX4 ran in: somebody sent it, or the system was short of memory"


# -- copies of this process ------------------------------------------------------------------------------------------


def fork_child() -> int:
    """Copy this process; return the child's id, and 0 in the child, which ends if its parent does."""
    sys.stderr.flush()
    flush_console()  # or what is held back would be written by the child too
    end_with_us = ending_with(os.getpid())
    try:
        child = os.fork()
    except OSError as error:
        raise SimulationError(f"PX4 runs in a process of its own, and none can be made: {error.strerror}") from error
    if child == 0:
        end_with_us()
    return child


def end_of(child: int) -> int:
    """Wait for a child; return its exit code, or the number of the signal that ended it, negative."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def ask_child(work: Callable[[], str]) -> tuple[int, str]:
    """Let a child of this process do something, and wait for it; if that is interrupted, it gets SIGUSR1.

    Interrupted again, it is killed. The interrupt is raised when the child has ended.
    Return its exit code, or the signal that ended it, negative; and what the work returned, or raised with code 1.
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
    with os.fdopen(reading, "rb") as pipe:
        try:
            said = pipe.read().decode(errors="replace")
        except BaseException:
            os.kill(child, signal.SIGUSR1)
            try:
                end_of(child)
            except BaseException:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                raise
            raise
    return end_of(child), said


class Watched:
    """A copy of this process that Ctrl-C, SIGTERM and SIGHUP are passed on to as SIGUSR1.

    A terminal sends them to both of them, and a script perhaps to one: the child counts those of its parent.
    """

    def __init__(self, child: int) -> None:
        self.code = 0
        """Its exit code, or the signal that ended it, negative; once it has ended."""
        self.passed_on: list[int] = []
        self._child = child

    @classmethod
    def fork(cls, take_interrupts: Callable[[], None]) -> "Watched | None":
        """Make a child and wait for it; return None in the child, and in the parent what has come of it.

        Args:
            take_interrupts: Called in the child.

        Raises:
            SimulationError: If the system allows no further process.
        """
        passed = [number for number in STOPS if signal.getsignal(number) is not signal.SIG_IGN]
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, as it may be inherited, nobody could wait
        gc.freeze()  # or the collector would make a copy of every page that the two have in common
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [*passed, signal.SIGUSR1])
        try:
            child = fork_child()
            if child == 0:
                take_interrupts()
                return None
            watched = cls(child)
            handlers = {number: signal.signal(number, watched.pass_on) for number in passed}
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        watched.code = end_of(child)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        return watched

    def pass_on(self, number: int, *_: Any) -> None:
        """Let the child have a signal."""
        self.passed_on.append(number)
        with suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL if self.is_killed else signal.SIGUSR1)

    @property
    def is_killed(self) -> bool:
        """Whether there were so many signals that the child is to end whatever it does."""
        return len(self.passed_on) >= MAX_INTERRUPTS


# -- fresh interpreters ----------------------------------------------------------------------------------------------


@dataclass
class Interpreter:
    """A fresh interpreter that runs a module, in a session of its own: a Ctrl-C of the terminal does not reach it."""

    process: "subprocess.Popen[bytes]"
    _errors: IO[bytes]

    @classmethod
    def start(
        cls,
        module: str,
        arguments: Sequence[str],
        *,
        python: str = sys.executable,
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> "Interpreter":
        """Start one; what it writes to standard error is kept."""
        errors = TemporaryFile()  # noqa: SIM115 (`close` closes it)
        try:
            process = subprocess.Popen(
                [python, "-P", "-m", module, *arguments],
                env=None if environment is None else dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                pass_fds=pass_fds,
                start_new_session=True,
            )
        except BaseException:
            errors.close()
            raise
        return cls(process, errors)

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Return its exit code, or the signal that ended it, negative; None if it runs after that time."""
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def said(self) -> str:
        """Return what it has written to standard error."""
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace").strip()

    def kill(self) -> None:
        """End it and all that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.close()

    def end(self, patience_s: float, closing_s: float) -> None:
        """Wait for it to end by itself; then tell it to, and then kill it."""
        for time_s, insist in ((patience_s, self.process.terminate), (closing_s, self.process.kill)):
            if self.wait(time_s) is not None:
                break
            insist()
        self.close()

    def close(self) -> None:
        """Wait for its end, and forget what it has said."""
        self.process.wait()
        self._errors.close()
