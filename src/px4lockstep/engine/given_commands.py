"""The commands of a run that took effect or were refused, in memory or in a file.

An application streams setpoints as long as a flight lasts. A flight whose end is open therefore keeps its commands in a
file, a line of `commands.jsonl` for each, and only the last ones in memory. A line is in the file as soon as its
command was given, so that a killed process loses none.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from px4lockstep.errors import SimulationError
from px4lockstep.reading import parse_json
from px4lockstep.scenario.commands import CommandRow, FlightCommand, row_of_data, text_of

RECENT = 1_000
"""Commands that stay in memory when all are in a file."""
READ_BYTES = 1 << 20
NAME = re.compile(rb'"command":"(\w+)"')
"""The name of a command in its line, where it comes before all texts."""


class GivenCommands(Collection[CommandRow]):
    """Commands in the order of their times, to which further ones are added. Copies and pickles are tuples."""

    def __init__(self, rows: Iterable[CommandRow] = ()) -> None:
        self._recent = list(rows)
        self._count = len(self._recent)
        self._path: Path | None = None
        self._is_written = False

    def hold(self, path: Path) -> None:
        """Keep the commands in a new file from now on; it is created with the first command."""
        rows, self._path = list(self), path
        self.replace(rows)

    def leave(self) -> None:
        """Keep the commands in memory from now on; the file may be removed."""
        rows, self._path = list(self), None
        self.replace(rows)

    def replace(self, rows: Iterable[CommandRow]) -> None:
        """Replace all commands."""
        if self._path is not None and self._is_written:
            self._path.unlink()
        self._recent, self._count, self._is_written = [], 0, False
        self.extend(rows)

    def extend(self, rows: Iterable[CommandRow]) -> None:
        """Add commands."""
        added = list(rows)
        if self._path is not None and added:
            self._write(self._path, text_of(added).encode())
        self._recent += added
        self._count += len(added)
        if self._path is not None and len(self._recent) > 2 * RECENT:
            del self._recent[:-RECENT]

    def _write(self, path: Path, data: bytes) -> None:
        try:
            with path.open("ab" if self._is_written else "xb") as file:
                file.write(data)
                self._is_written = True
        except OSError as error:
            raise SimulationError(
                f"{path} can't be written: {error.strerror}. The log up to then is intact; free disk space, or use a "
                "folder on another disk"
            ) from error

    # -- read ------------------------------------------------------------------------------------------------------

    @property
    def _are_in_memory(self) -> bool:
        return self._count == len(self._recent)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, row: object) -> bool:
        return any(each == row for each in self)

    def __iter__(self) -> Iterator[CommandRow]:
        return iter(tuple(self._recent)) if self._are_in_memory else map(_row, self._lines())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self),)

    def since(self, count: int) -> tuple[CommandRow, ...]:
        """Return the commands after the first `count`."""
        first = count - (self._count - len(self._recent))
        return tuple(self._recent[first:]) if first >= 0 else tuple(islice(self, count, None))

    def of(self, kinds: Iterable[type[FlightCommand]]) -> list[CommandRow]:
        """Return the commands of some kinds."""
        wanted = tuple(kinds)
        if self._are_in_memory:
            return [row for row in self._recent if isinstance(row.command, wanted)]
        names = {kind.__name__.encode() for kind in wanted}
        return [_row(line) for line in self._lines() if (found := NAME.search(line)) and found[1] in names]

    @property
    def text(self) -> str:
        """The commands as the text of `commands.jsonl`."""
        return text_of(self) if self._path is None else b"".join(self._chunks()).decode()

    def are_in(self, path: Path) -> bool:
        """Return whether a file has the commands."""
        return self._path == path

    def _lines(self) -> Iterator[bytes]:
        rest = b""
        for chunk in self._chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines

    def _chunks(self) -> Iterator[bytes]:
        """Yield the bytes of the file."""
        assert self._path is not None
        if self._is_written:
            with self._path.open("rb") as file:
                while chunk := file.read(READ_BYTES):
                    yield chunk


def _row(line: bytes) -> CommandRow:
    return row_of_data(parse_json(line.decode(), "a command", "a command"), "a command")
