"""Ctrl-C while a run folder is open: noted, so that what is being written is finished; a second one stops at once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any


class Interrupts:
    """Takes interrupts inside a `with` block; where they are ignored, as in a shell's background, they stay so."""

    def __init__(self) -> None:
        self.is_noted = False
        self._raises = False
        self._before: signal._HANDLER = None

    def __enter__(self) -> "Interrupts":
        self._before = signal.getsignal(signal.SIGINT)
        if self._before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def check(self) -> None:
        """Raise what was noted, where it does no harm.

        Raises:
            KeyboardInterrupt: If there was an interrupt.
        """
        if self.is_noted:
            raise KeyboardInterrupt

    @contextmanager
    def raised(self) -> Iterator[None]:
        """Let an interrupt stop what is done inside, at once."""
        self._raises = True
        try:
            self.check()
            yield
        finally:
            self._raises = False

    def _note(self, *_: Any) -> None:
        is_second, self.is_noted = self.is_noted, True
        if is_second or self._raises:
            raise KeyboardInterrupt
