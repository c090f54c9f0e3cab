"""Child processes: forks of this process and fresh interpreters.

They all follow the same rules: on Linux, a child ends when its parent does; signals sent to the parent reach the child;
and the parent can report the child's last output and the signal that ended it.
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
from px4lockstep.stop_signals import STOPS

FAILED = 1
CRASHES = ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP")
MAX_INTERRUPTS = 3
"""The first interrupt requests the end, the second stops at once, and the third kills a child that hangs."""
PR_SET_PDEATHSIG = 1
"""An option of prctl on Linux."""


def ending_with(parent: int, number: int = signal.SIGKILL) -> Callable[[], None]:
    """Return a function that a new process calls to receive a signal as soon as its parent ends.

    On Linux only; on other systems, a process whose parent has ended keeps running.
    """
    if sys.platform != "linux":
        return lambda: None
    prctl, sent = ctypes.CDLL(None).prctl, ctypes.c_ulong(number)  # before the fork: the child may inherit locks

    def ask() -> None:
        prctl(PR_SET_PDEATHSIG, sent)
        if os.getppid() != parent:  # the parent ended before the call
            os.kill(os.getpid(), number)

    return ask


# -- how a process ended ---------------------------------------------------------------------------------------------


def name_of(number: int) -> str:
    """Return the name of a signal."""
    return signal.Signals(number).name if number in list(signal.Signals) else "a real-time signal"


def is_crash(number: int) -> bool:
    """Return whether a signal means that the process crashed."""
    return name_of(number) in CRASHES


def crash_of(number: int) -> str:
    """Return a message for a signal that ended the process in which PX4 ran."""
    described = f"{name_of(number)} (signal {number}, {(signal.strsignal(number) or 'unknown').lower()})"
    if is_crash(number):
        return f"PX4's library crashed: {described} has ended its process"
    return f"{described} has ended the process that PX4 ran in: it was killed, or the system ran out of memory"


# -- forks of this process -------------------------------------------------------------------------------------------


def fork_child() -> int:
    """Fork this process; return the child's id, or 0 in the child, which on Linux ends with its parent."""
    sys.stderr.flush()
    flush_console()  # otherwise the child would write the buffered output too
    end_with_us = ending_with(os.getpid())
    try:
        child = os.fork()
    except OSError as error:
        raise SimulationError(f"cannot create the process that PX4 runs in: {error.strerror}") from error
    if child == 0:
        end_with_us()
    return child


def end_of(child: int) -> int:
    """Wait for a child; return its exit code, or the negative number of the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def ask_child(work: Callable[[], str]) -> tuple[int, str]:
    """Run `work` in a forked child and wait for it.

    A first interrupt sends SIGUSR1 to the child, a second one kills it; the interrupt is raised once the child has
    ended. Return the exit code, or the negative number of the signal that ended the child, and the text that `work`
    returned. If `work` raises, the code is 1 and the text is the error.
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
        finally:  # never return into the parent's code
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
    """A forked child to which Ctrl-C, SIGTERM and SIGHUP are forwarded as SIGUSR1.

    A terminal sends them to both processes, a script perhaps only to the parent; the child counts only forwarded ones.
    """

    def __init__(self, child: int) -> None:
        self.code = 0
        """The exit code, or the negative number of the signal that ended the child; set once it has ended."""
        self.passed_on: list[int] = []
        self._child = child

    @classmethod
    def fork(cls, take_interrupts: Callable[[], None]) -> "Watched | None":
        """Fork a child and wait for it; return None in the child, and the ended child in the parent.

        Args:
            take_interrupts: Called in the child, to install its signal handlers.

        Raises:
            SimulationError: If the system cannot create another process.
        """
        passed = [number for number in STOPS if signal.getsignal(number) is not signal.SIG_IGN]
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # waiting fails if SIG_IGN was inherited
        gc.freeze()  # otherwise the garbage collector would copy every shared page
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
        """Forward a signal to the child."""
        self.passed_on.append(number)
        with suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL if self.is_killed else signal.SIGUSR1)

    @property
    def is_killed(self) -> bool:
        """Whether there were so many signals that the child is killed."""
        return len(self.passed_on) >= MAX_INTERRUPTS


# -- fresh interpreters ----------------------------------------------------------------------------------------------


@dataclass
class Interpreter:
    """A fresh interpreter that runs a module in a new session, so that Ctrl-C in the terminal does not reach it."""

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
        """Start an interpreter and capture its standard error."""
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
        """Return the exit code, or the negative number of the ending signal; None if the timeout expires first."""
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def said(self) -> str:
        """Return the captured standard error."""
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace").strip()

    def kill(self) -> None:
        """Kill the interpreter and its process group."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.close()

    def end(self, patience_s: float, closing_s: float) -> None:
        """Wait for the interpreter to end; if it does not, terminate it, and finally kill it."""
        for time_s, insist in ((patience_s, self.process.terminate), (closing_s, self.process.kill)):
            if self.wait(time_s) is not None:
                break
            insist()
        self.close()

    def close(self) -> None:
        """Wait for the end and discard the captured output."""
        self.process.wait()
        self._errors.close()
