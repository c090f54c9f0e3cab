"""The logged uORB messages of a run folder, `uorb/*.parquet`, as they are written to an exported ULog file."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER = "uorb"
ARRIVED = "time_us"
"""Column of the time of arrival, which is not a field of the message."""
_TOKEN = re.compile(r"(\w+)(?:\[(\d+)\])?")

Array = npt.NDArray[Any]
FieldPath = tuple[tuple[str, int | None], ...]
"""Names and indices from a message to a number: `cell[1].x`."""


@dataclass(frozen=True)
class LoggedMessages:
    """The messages of one instance of a topic, in order of their timestamps."""

    topic: str
    instance: int
    messages: Array

    @property
    def nested(self) -> dict[str, str]:
        """Names for the formats of nested messages, by field."""
        return {name: f"{self.topic}_{name}" for name in _nested_names(self.messages.dtype)}

    def can_hold(self, layout: np.dtype[Any], names: Iterable[str]) -> bool:
        """Return whether fields of a layout, as far as these messages have them, have the same types here."""
        ours, theirs = self.messages.dtype, layout
        common = set(ours.names or ()) & set(theirs.names or ())
        return all(ours[name] == theirs[name] for name in names if name in common)


def read_logged(run_folder: Path | None) -> list[LoggedMessages]:
    """Return the messages of all topics that a run has logged; topics without messages are omitted."""
    if run_folder is None:
        return []
    found = [_read(path) for path in sorted((run_folder / FOLDER).glob("*.parquet"))]
    found = [each for each in found if len(each.messages)]
    dtypes: dict[str, np.dtype[Any]] = {}
    for each in found:
        dtypes[each.topic] = _wider(dtypes.get(each.topic, each.messages.dtype), each.messages.dtype)
    return [replace(each, messages=each.messages.astype(dtypes[each.topic])) for each in found]


def _wider(first: np.dtype[Any], second: np.dtype[Any]) -> np.dtype[Any]:
    """Return the second dtype with texts as long as those of the first: files have no length of a text."""
    if first.names is None or first.names != second.names:
        is_longer = first.kind == second.kind == "S" and first.itemsize > second.itemsize
        return first if is_longer else second
    return np.dtype([(name, _wider(first[name], second[name])) for name in first.names])


def _read(path: Path) -> LoggedMessages:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with pa.OSFile(os.fsencode(path)) as file:
            table = parquet.read_table(file, use_threads=False)
        about = table.schema.metadata or {}
        topic, instance = about[b"topic"].decode(), int(about[b"instance"])
        messages = _messages(table)
        order = np.argsort(messages["timestamp"], kind="stable")
    except (OSError, pa.ArrowInvalid, KeyError, ValueError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read as logged uORB messages: {error}") from error
    return LoggedMessages(topic, instance, messages[order])


def _messages(table: "pa.Table") -> Array:
    """Return the rows of a table as messages: the inverse of `messages.columns_of`."""
    columns = {_path(name): _values(table.column(name)) for name in table.column_names if name != ARRIVED}
    found = np.zeros(table.num_rows, _dtype([(path, values.dtype) for path, values in columns.items()]))
    for path, values in columns.items():
        place: Array = found
        for name, index in path:
            place = place[name] if index is None else place[name][..., index]
        place[...] = values
    return found


def _path(name: str) -> FieldPath:
    found = [_TOKEN.fullmatch(token) for token in name.split(".")]
    if None in found:
        raise ValueError(f"{name!r} is not a field of a message")
    return tuple((match[1], None if match[2] is None else int(match[2])) for match in found if match)


def _values(column: "pa.ChunkedArray") -> Array:
    import pyarrow as pa

    if not pa.types.is_string(column.type):
        values: Array = column.to_numpy()
        return values
    return np.array([text.encode() for text in column.to_pylist()] or [b"\0"], np.bytes_)[: len(column)]


def _dtype(fields: Sequence[tuple[FieldPath, np.dtype[Any]]]) -> np.dtype[Any]:
    """Return the dtype of a message without padding, from the paths and types of its numbers."""
    groups: dict[str, list[tuple[FieldPath, np.dtype[Any]]]] = {}
    for path, kind in fields:
        groups.setdefault(path[0][0], []).append((path, kind))
    formats: list[Any] = []
    for group in groups.values():
        first = group[0][0][0][1]
        inner = [(path[1:], kind) for path, kind in group if path[0][1] == first]
        element = _dtype(inner) if inner[0][0] else inner[0][1]
        indices = [path[0][1] for path, _ in group]
        formats.append(element if first is None else (element, 1 + max(index or 0 for index in indices)))
    return np.dtype({"names": list(groups), "formats": formats})


def _nested_names(dtype: np.dtype[Any]) -> list[str]:
    names: list[str] = []
    for name, (inner, *_) in (dtype.fields or {}).items():
        if inner.base.names is not None:
            names += [name, *_nested_names(inner.base)]
    return names
