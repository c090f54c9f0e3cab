"""Ctrl-C, SIGTERM and SIGHUP: stop a command at once, except where it has something to finish.

Every signal is noted, because Python may raise the exception in a finalizer, where it is printed and lost.
"""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from px4lockstep.stop_signals import STOPS


class Interrupts:
    """The signals that stop this process."""

    def __init__(self) -> None:
        self.number: int | None = None
        """The first signal received."""
        self._is_deferred = False
        self._taken: list[int] = []

    @property
    def is_noted(self) -> bool:
        """Whether a signal was received."""
        return self.number is not None

    @property
    def code(self) -> int:
        """The exit code of a process that was stopped: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP."""
        return 128 + (self.number or signal.SIGINT)

    def take(self) -> None:
        """Handle signals from now on. A signal that is ignored, as under nohup, stays ignored."""
        self._taken = [number for number in STOPS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in self._taken:
            signal.signal(number, self._note)
        show = sys.unraisablehook
        sys.unraisablehook = lambda lost: None if lost.exc_type is KeyboardInterrupt else show(lost)

    def take_from_parent(self) -> None:
        """In a child, handle only signals that the parent passes on: a terminal sends each to both processes."""
        for number in self._taken:
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGUSR1, self._note)
        self._taken.append(signal.SIGUSR1)

    def forget(self) -> None:
        """Forget the noted signal, which has had its effect."""
        self.number = None

    def ignore(self) -> None:
        """Ignore all further signals."""
        for number in self._taken:
            signal.signal(number, signal.SIG_IGN)

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal was noted."""
        if self.is_noted:
            raise KeyboardInterrupt

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Only note the first signal inside this block; raise the second."""
        self._is_deferred = True
        try:
            yield
        finally:
            self._is_deferred = False

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Inside `deferred`, let a signal stop this block at once."""
        self._is_deferred = False
        try:
            self.check()
            yield
        finally:
            self._is_deferred = True

    def _note(self, number: int, *_: Any) -> None:
        is_second = self.is_noted
        if not is_second:
            self.number = signal.SIGINT if number == signal.SIGUSR1 else number  # the parent knows the real signal
        if is_second or not self._is_deferred:
            raise KeyboardInterrupt


interrupts = Interrupts()
