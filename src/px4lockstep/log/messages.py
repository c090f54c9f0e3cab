"""Logged uORB messages as Parquet: a file per instance of a topic, a row per message, a column per field.

The first column, `time_us`, is the time of the tick at which the message arrived. The others are the fields of the
message in memory order, named as in ULog: `control[0]` is an element of an array, `current.lat` a field of a nested
message. The metadata of the file contains `schema`, `schema_version`, `topic`, `instance` and `message_hash`.

During the flight, the rows are in files next to those of the log (see `rows`), and `messages.json` describes them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.messages import COUNTS, MessageLog, TopicLog
from px4lockstep.errors import InputError, OutputError
from px4lockstep.io import atomic_write, blocks, to_json
from px4lockstep.reading import read_json

SCHEMA, SCHEMA_VERSION = "px4lockstep.uorb", 1
HEAD_FILE = "messages.json"
MAX_HEAD_BYTES = 1_000_000
ROWS_PER_CHUNK = 8_192

Array = npt.NDArray[Any]
Columns = dict[str, Array]


def columns_of(rows: Array) -> Columns:
    """Return the columns of logged messages, by name."""
    return {"time_us": rows["time_us"], **dict(_flat("", rows["message"]))}


def _flat(name: str, values: Array) -> Iterator[tuple[str, Array]]:
    """Yield the scalar fields of messages: names with index and dots, and one value per message."""
    if values.ndim > 1:
        for i in range(values.shape[1]):
            yield from _flat(f"{name}[{i}]", values[:, i])
    elif values.dtype.names is None:
        yield name, _texts(values) if values.dtype.kind == "S" else values
    else:
        for field in values.dtype.names:
            yield from _flat(f"{name}.{field}" if name else field, values[field])


def _texts(values: Array) -> Array:
    """Return texts up to their end; PX4 does not define the bytes after it."""
    return np.array([text.partition(b"\0")[0].decode("utf-8", "replace") for text in values.tolist()], np.str_)


def write_messages(log: MessageLog, folder: Path) -> None:
    """Write one file per topic to a new folder; nothing if no topics are logged."""
    if not log.topics:
        return
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"the folder {folder} can't be created: {error.strerror}") from error
    received = log.received()
    for each in log.topics:
        _write(each, received[each.name], folder / f"{each.name}.parquet")


def _write(topic: TopicLog, rows: Array, path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    about = {"topic": topic.topic, "instance": str(topic.instance), "message_hash": f"{topic.message_hash:#010x}"}
    schema = pa.schema(
        [
            (name, pa.string() if column.dtype.kind == "U" else pa.from_numpy_dtype(column.dtype))
            for name, column in columns_of(rows[:0]).items()
        ],
        metadata={"schema": SCHEMA, "schema_version": str(SCHEMA_VERSION), **about},
    )
    with atomic_write(path) as file, parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for block in blocks(rows, ROWS_PER_CHUNK):
            columns = [pa.array(np.ascontiguousarray(column)) for column in columns_of(rows[block]).values()]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


# -- rows of a flight in progress --------------------------------------------------------------------------------------


def write_head(log: MessageLog, folder: Path) -> None:
    """Describe the rows of a flight in progress, so that another process can read them."""
    if log.topics:
        head = [
            {
                "topic": each.topic,
                "instance": each.instance,
                "message_hash": each.message_hash,
                "row": np.lib.format.dtype_to_descr(each.rows.dtype),
            }
            for each in log.topics
        ]
        (folder / HEAD_FILE).write_text(to_json(head), "utf-8")


def read_messages(folder: Path) -> MessageLog:
    """Return the messages of a flight that was killed or is still being flown, in the folder of its rows."""
    if not (folder / HEAD_FILE).exists():
        return MessageLog()
    try:
        head = read_json(folder / HEAD_FILE, MAX_HEAD_BYTES, "the description of logged messages")
        counts = np.fromfile(folder / COUNTS, np.int64, len(head))
        topics = [_topic_in(folder, entry, int(count)) for entry, count in zip(head, counts, strict=True)]
    except (OSError, TypeError, KeyError, ValueError) as error:
        raise InputError(f"the messages in {folder} can't be read: {error}") from error
    log = MessageLog(topics)
    log.counts[:] = counts
    return log


def _topic_in(folder: Path, entry: dict[str, Any], count: int) -> TopicLog:
    row = np.lib.format.descr_to_dtype(_tuples(entry["row"]))
    if row.hasobject or row.names != ("time_us", "message"):
        raise ValueError(f"{row} is not a row of messages")
    topic = TopicLog(str(entry["topic"]), int(entry["instance"]), int(entry["message_hash"]), np.zeros(0, row))
    rows: Array = np.fromfile(folder / f"uorb.{topic.name}", row, count)
    if len(rows) < count:
        raise ValueError(f"{topic.name} is truncated to {len(rows)} of {count} messages")
    topic.rows = rows
    return topic


def _tuples(descr: Any) -> Any:
    """Return the description of a dtype as NumPy expects it: JSON has no tuples."""
    if not isinstance(descr, list):
        return descr
    return [(name, _tuples(kind), *map(tuple, shape)) for name, kind, *shape in descr]
