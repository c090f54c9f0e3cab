"""The console of real PX4 during a run: written to `px4.log` in the run folder, and to standard error on request.

PX4 starts when the flight is built, before the run folder exists: what it prints until then begins the log.
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
    """Build a flight of PX4; return it with what PX4 printed. If the build fails, print that on standard error."""
    try:
        with console_into(file.fileno()):
            flight = build(spec)
    except LockstepError:
        _show(printed_in(file))
        raise
    return flight, printed_in(file)


class Px4Log:
    """The log of PX4's console, printed as it grows if `is_shown`."""

    def __init__(self, path: Path, is_shown: bool) -> None:
        self._path = path
        self._is_shown = is_shown
        self._shown = 0

    def show(self) -> None:
        """Print what was added to the log since the last call, if `is_shown`."""
        if self._is_shown and self._path.exists():  # a stock PX4 that the user started has no log here
            with self._path.open("rb") as file:
                file.seek(self._shown)
                _show(file.read().decode("utf-8", "replace"))
                self._shown = file.tell()


@contextmanager
def px4_log(path: Path, printed: str, is_shown: bool) -> Iterator[Px4Log]:
    """Redirect what PX4 prints in this block to a file, after what it `printed` before."""
    log = Px4Log(path, is_shown)
    with log_of_console(path, printed):
        log.show()
        yield log
    log.show()


def _show(printed: str) -> None:
    sys.stderr.write(printed)
    sys.stderr.flush()
