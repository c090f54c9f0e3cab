"""PX4's own warnings and errors, from its topic `mavlink_log`: the last distinct ones, with their order.

PX4 repeats some texts at every run of a module. A repeated text keeps its place in memory and becomes the newest one;
another text replaces the oldest. Bytes after the end of a text are undefined.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.base import MAX_TEXT, MAX_TEXTS
from px4lockstep.jit import kernel
from px4lockstep.jit.memory import INT64, UINT8, load_number, store_number

TOPIC = "mavlink_log"
WARNING = 4  # syslog's LOG_WARNING; less is more severe
KEPT = np.dtype([("order", "i8"), ("text", f"S{MAX_TEXT}")])
"""A kept text; the most recent ones have the highest order, and 0 means none."""
SLOT, ORDER_BYTES = KEPT.itemsize, 8


def in_order(kept: npt.NDArray[Any]) -> Iterator[str]:
    """Yield the kept texts, oldest first."""
    for each in np.sort(kept[kept["order"] > 0], order="order"):
        yield each["text"].decode("utf-8", "replace")


@kernel
def is_same_text(one, other):
    """Return whether two texts are the same, given by their addresses."""
    for i in range(MAX_TEXT):
        byte = load_number(one + i, UINT8)
        if byte != load_number(other + i, UINT8):
            return False
        if byte == 0.0:
            return True
    return True


@kernel
def copy_text(source, target):
    """Copy a text, and clear the bytes after it."""
    is_over = False
    for i in range(MAX_TEXT):
        byte = 0.0 if is_over else load_number(source + i, UINT8)
        is_over = byte == 0.0
        store_number(target + i, UINT8, byte)


@kernel
def keep_text(host):
    """Keep the received text if it is a warning or an error."""
    if host.outputs.severity > WARNING or load_number(host.text, UINT8) == 0.0:
        return
    host.n_texts += 1
    oldest, oldest_order = host.texts, load_number(host.texts, INT64)
    for i in range(MAX_TEXTS):
        place = host.texts + i * SLOT
        if is_same_text(place + ORDER_BYTES, host.text):
            store_number(place, INT64, float(host.n_texts))
            return
        order = load_number(place, INT64)
        if order < oldest_order:
            oldest, oldest_order = place, order
    store_number(oldest, INT64, float(host.n_texts))
    copy_text(host.text, oldest + ORDER_BYTES)
