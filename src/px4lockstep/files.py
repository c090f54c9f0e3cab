"""Files that are there as a whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from px4lockstep.errors import InputError


@contextmanager
def written_whole(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name only when all of it is on the disk; see `placed_whole`."""
    with placed_whole(path) as part, part.open("wb") as file:
        yield file


@contextmanager
def placed_whole(path: str | Path) -> Iterator[Path]:
    """Give a path to write a file to, which then takes its place as a whole.

    It is written beside its place, synchronized and renamed. If anything is raised in between, it is removed, and what
    was there before is as it was.

    Raises:
        InputError: If the folder is not there, or the file can't be written.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"{target} can't be written: there is no folder {target.parent}; make it first")
    if target.is_dir():
        raise InputError(f"{target} can't be written: it is a folder; give the name of a file")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        try:
            yield part
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            os.replace(part, target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{target} can't be written: {error.strerror or error}") from error
    _synchronize(target.parent)


def _synchronize(folder: Path) -> None:
    """Put the new name on the disk too, where the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
