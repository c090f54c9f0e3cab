"""What real PX4 prints during a run: into `px4.log` of the run folder, and onto standard error if that is asked for.

PX4 starts when the flight is built, before there is a folder: what it says then is kept, and begins the log.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from px4lockstep.errors import LockstepError
from px4lockstep.px4.console import console_into
from px4lockstep.spec.build import Flight, build
from px4lockstep.spec.spec import Spec


def build_with_console(spec: Spec) -> tuple[Flight, str]:
    """Build a flight; return it with what PX4 printed. If it can't be built, that is on standard error."""
    if spec.autopilot.kind != "px4":
        return build(spec), ""
    with TemporaryFile() as file:
        try:
            with console_into(file.fileno()):
                flight = build(spec)
        except LockstepError:
            file.seek(0)
            _show(file.read())
            raise
        file.seek(0)
        return flight, file.read().decode("utf-8", "replace")


class Px4Log:
    """The log of PX4's console, open for writing.

    Args:
        path: The file.
        is_shown: Whether it goes to standard error too.
    """

    def __init__(self, path: Path, is_shown: bool) -> None:
        self._path = path
        self._is_shown = is_shown
        self._shown = 0

    def show(self) -> None:
        """Show what was printed since the last time, if it is to be shown."""
        if self._is_shown:
            with self._path.open("rb") as file:
                file.seek(self._shown)
                _show(file.read())
                self._shown = file.tell()


@contextmanager
def px4_log(path: Path, printed: str, is_shown: bool) -> Iterator[Px4Log]:
    """Let what PX4 prints in this block go into a file, after what it printed before."""
    with path.open("wb", buffering=0) as file:
        file.write(printed.encode())
        log = Px4Log(path, is_shown)
        log.show()
        with console_into(file.fileno()):
            yield log
    log.show()


def _show(printed: bytes) -> None:
    sys.stderr.write(printed.decode("utf-8", "replace"))
    sys.stderr.flush()
