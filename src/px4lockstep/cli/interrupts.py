"""Ctrl-C: stops a command at once, but for the stretches in which it has something to finish.

Every interrupt is noted. Python raises one wherever it is, be it in a finalizer, where it is printed and lost.
"""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interrupts:
    """The interrupts of this process."""

    def __init__(self) -> None:
        self.is_noted = False
        self._is_deferred = False
        self._taken: list[int] = [signal.SIGINT]

    def take(self) -> None:
        """Take interrupts from now on; where they are ignored, as in a shell's background, they stay so."""
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            return
        signal.signal(signal.SIGINT, self._note)
        show = sys.unraisablehook
        sys.unraisablehook = lambda lost: None if lost.exc_type is KeyboardInterrupt else show(lost)

    def take_from_parent(self) -> None:
        """In a child, take interrupts as its parent passes them on: a terminal sends each to both."""
        signal.signal(signal.SIGINT, lambda *_: None)
        signal.signal(signal.SIGUSR1, self._note)
        self._taken.append(signal.SIGUSR1)

    def ignore(self) -> None:
        """Take no more of them."""
        for number in self._taken:
            signal.signal(number, signal.SIG_IGN)

    def check(self) -> None:
        """Raise what was noted."""
        if self.is_noted:
            raise KeyboardInterrupt

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Let the first interrupt inside be noted and no more; the second is raised."""
        self._is_deferred = True
        try:
            yield
        finally:
            self._is_deferred = False

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Inside `deferred`, let an interrupt stop what is done here at once."""
        self._is_deferred = False
        try:
            self.check()
            yield
        finally:
            self._is_deferred = True

    def _note(self, *_: Any) -> None:
        is_second, self.is_noted = self.is_noted, True
        if is_second or not self._is_deferred:
            raise KeyboardInterrupt


interrupts = Interrupts()
