"""The logged topics of PX4: their subscribers, and the place of their rows in the host's record."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from px4lockstep.autopilots.base import Record
from px4lockstep.autopilots.messages import MessageLog, TopicLog
from px4lockstep.px4 import Layout, Px4
from px4lockstep.px4.presets import Read


def subscribe_logged(px4: Px4, logged: Sequence[Read], record: Record) -> MessageLog:
    """Create subscribers of the logged topics and write them to a `PX4_HOST` record; the log has no capacity yet."""
    topics = []
    for i, each in enumerate(logged):
        subscriber = px4.subscriber(each.topic, each.instance)
        layout, metadata = subscriber.layout, px4.metadata(each.topic)
        depth, message = max(1, metadata.queue), _with_texts(layout, metadata.fields)
        topics.append(TopicLog.empty(each.topic, each.instance, layout.message_hash, message, depth))
        out = record["logged"][0, i]
        out["id"], out["n_bytes"], out["depth"] = subscriber.id, layout.size, depth
        out["row_bytes"] = topics[-1].rows.dtype.itemsize
    record["n_logged"] = len(topics)
    messages = MessageLog(topics)
    locate_rows(record, messages)
    return messages


def locate_rows(record: Record, messages: MessageLog) -> None:
    """Write the addresses and capacities of the message buffers to a `PX4_HOST` record."""
    logged, counts = record["logged"][0], messages.counts
    for i, each in enumerate(messages.topics):
        logged["rows"][i], logged["capacity"][i] = each.rows.ctypes.data, len(each.rows)
        logged["counter"][i] = counts.ctypes.data + i * counts.itemsize


def _with_texts(layout: Layout, field_string: str | None) -> np.dtype[Any]:
    """Return the dtype of a message with its arrays of characters as strings."""
    lines = layout.declared or tuple((field_string or "").split(";"))
    texts = [line.split()[1] for line in lines if line.startswith("char[")]
    fields: Mapping[str, Any] = layout.dtype.fields or {}
    formats = [np.dtype(f"S{kind.itemsize}") if name in texts else kind for name, (kind, *_) in fields.items()]
    offsets = [offset for _, offset, *_ in fields.values()]
    return np.dtype({"names": list(fields), "formats": formats, "offsets": offsets, "itemsize": layout.size})
