"""What real PX4 prints during a run: into `px4.log` of the run folder, and onto standard error if that is asked for.

PX4 starts when the flight is built, before there is a folder: what it says then is kept, and begins the log.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from px4lockstep.errors import LockstepError
from px4lockstep.px4.console import console_into, log_of_console, printed_in
from px4lockstep.spec.build import Flight, build
from px4lockstep.spec.spec import Spec


def build_with_console(spec: Spec, file: BinaryIO) -> tuple[Flight, str]:
    """Build a flight of PX4; return it with what PX4 printed. If it can't be built, that is on standard error."""
    try:
        with console_into(file.fileno()):
            flight = build(spec)
    except LockstepError:
        _show(printed_in(file))
        raise
    return flight, printed_in(file)


class Px4Log:
    """The log of PX4's console, open for writing."""

    def __init__(self, path: Path, is_shown: bool) -> None:
        self._path = path
        self._is_shown = is_shown
        self._shown = 0

    def show(self) -> None:
        """Show what was printed since the last time, if it is to be shown."""
        if self._is_shown and self._path.exists():  # stock PX4 of the user's has none
            with self._path.open("rb") as file:
                file.seek(self._shown)
                _show(file.read().decode("utf-8", "replace"))
                self._shown = file.tell()


@contextmanager
def px4_log(path: Path, printed: str, is_shown: bool) -> Iterator[Px4Log]:
    """Let what PX4 prints in this block go into a file, after what it printed before."""
    log = Px4Log(path, is_shown)
    with log_of_console(path, printed):
        log.show()
        yield log
    log.show()


def _show(printed: str) -> None:
    sys.stderr.write(printed)
    sys.stderr.flush()
