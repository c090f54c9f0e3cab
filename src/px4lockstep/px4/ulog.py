"""Write ULog, PX4's log format: https://docs.px4.io/main/en/dev_log/ulog_file_format.html.

with path.open("wb") as file:
    writer = UlogWriter(file)
    writer.info("sys_name", "PX4")
    writer.parameter("MPC_XY_CRUISE", 5.0)
    attitude = writer.subscribe("vehicle_attitude", shipped_layouts()["vehicle_attitude"].dtype)
    messages = attitude.messages(100)
    messages["message"]["timestamp"] = np.arange(100) * 10_000
    messages["message"]["q"] = 1.0, 0.0, 0.0, 0.0
    writer.write([messages], [(500_000, INFO, "half of it")])

A file has a header, definitions (message formats, information, parameters) and data: one block of bytes per message, in
order of time. `write` puts the messages of all topics of some time span in order with NumPy, so a long log takes the
memory of one span.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import LayoutError, StateError
from px4lockstep.px4.uorb.field_string import C_TYPES

MAGIC = b"ULog\x01\x12\x35\x01"
DEFAULT_PARAMETERS = 1
"""Compatibility flag: the file has default values of parameters."""
SYSTEM_DEFAULT = 1
"""Kind of a parameter's default value: of PX4, not of the airframe."""
EMERGENCY, ALERT, CRITICAL, ERROR, WARNING, NOTICE, INFO, DEBUG = range(8)
"""Levels of text messages."""
MAX_BYTES = 65_535
"""Limit of a message: its size has 16 bits."""
HEADER_BYTES = 5
"""Size, type and subscription before the contents of a data message."""

Array = npt.NDArray[Any]
Text = tuple[int, int, str]
"""Time in microseconds, level, and text."""

TYPE_NAMES = {np.dtype(name): c_name for c_name, name in C_TYPES.items() if name != "char"}
"""Names of ULog's types by NumPy type; texts are arrays of char."""


@dataclass(frozen=True)
class LoggedTopic:
    """A topic in the file: create its messages with `messages`, fill them in, and pass them to `UlogWriter.write`."""

    id: int
    topic: str
    dtype: np.dtype[Any]  # of the complete data message; the contents are its field `message`

    def messages(self, count: int) -> Array:
        """Return messages whose contents are zero."""
        found = np.zeros(count, self.dtype)
        found["size"] = self.dtype.itemsize - 3
        found["type"] = ord("D")
        found["id"] = self.id
        return found


class UlogWriter:
    """Write a ULog file: first information, parameters and subscriptions, then messages in order of time.

    Args:
        file: Output file, open for binary writing.
        start_us: Time at which the log starts.
        has_defaults: Whether the file will have default values of parameters.
    """

    def __init__(self, file: BinaryIO, start_us: int = 0, *, has_defaults: bool = False) -> None:
        self._file = file
        self._subscriptions: list[tuple[str, int]] = []
        self._formats: dict[str, str] = {}
        self._has_data = False
        self._last_us = 0
        flags = struct.pack("<8B8B3Q", DEFAULT_PARAMETERS if has_defaults else 0, *[0] * 18)
        file.write(MAGIC + struct.pack("<Q", start_us) + _message("B", flags))

    def info(self, key: str, value: str | int | float, kind: str | None = None) -> None:
        """Write information about the vehicle or the log.

        Args:
            key: Name, such as `sys_name`.
            value: Text or number.
            kind: C type of a number, such as `uint32_t`; by default `int32_t` or `float`.
        """
        self._define("I", _key_and_value(key, value, kind))

    def parameter(self, name: str, value: float | int, default: float | int | None = None) -> None:
        """Write the initial value of a parameter: an int32 for an int, otherwise a float.

        Args:
            name: Name of the parameter.
            value: Its value.
            default: PX4's default. It is written if the value differs; see `has_defaults`.
        """
        self._define("P", _key_and_value(name, value))
        if default is not None and default != value:
            self._define("Q", bytes([SYSTEM_DEFAULT]) + _key_and_value(name, type(value)(default)))

    def add_format(self, name: str, dtype: np.dtype[Any], nested: Mapping[str, str] | None = None) -> None:
        """Write the format of a message, unless the file has it.

        Args:
            name: Name of the topic, or of a nested message.
            dtype: Its fields. Gaps between them become padding.
            nested: Names of the formats of nested messages, by field; by default the name of the field.

        Raises:
            LayoutError: If a type does not exist in ULog, or another format has the same name.
        """
        names = dict(nested or {})
        for field, (inner, *_) in (dtype.fields or {}).items():
            if inner.base.names is not None:
                self.add_format(names.setdefault(field, field), inner.base, nested)
        text = f"{name}:{_fields_text(name, dtype, names)}"
        if name not in self._formats:
            self._define("F", text.encode())
        if self._formats.setdefault(name, text) != text:
            raise LayoutError(f"{name} is defined twice, with different fields; use different names")

    def subscribe(
        self, topic: str, dtype: np.dtype[Any], instance: int = 0, nested: Mapping[str, str] | None = None
    ) -> LoggedTopic:
        """Add a topic, or one more instance of it; all topics must be added before the first message is written.

        Args:
            topic: Name of the topic.
            dtype: Fields of its message, with `timestamp` among them. Padding at the end is not written.
            instance: Number of the instance, from 0.
            nested: Names of nested messages, by field.

        Returns:
            The subscription, which creates messages.

        Raises:
            LayoutError: If a message can't be written as ULog.
        """
        if "timestamp" not in (dtype.names or ()):
            raise LayoutError(f"{topic} has no field 'timestamp', which every message in a ULog file needs")
        self.add_format(topic, dtype, nested)
        self._subscriptions.append((topic, instance))
        end = max(offset + inner.itemsize for inner, offset, *_ in (dtype.fields or {}).values())
        return LoggedTopic(len(self._subscriptions) - 1, topic, _message_dtype(topic, dtype, end))

    def write(self, batches: Sequence[Array], texts: Iterable[Text] = ()) -> None:
        """Write messages in order of time; at the same time, in the order of the arguments, texts last.

        Args:
            batches: Messages from `LoggedTopic.messages`, in order of time.
            texts: Text messages.

        Raises:
            StateError: If a message is older than one that an earlier call wrote.
        """
        self._begin_data()
        parts = [(batch["message"]["timestamp"], _raw(batch)) for batch in batches if len(batch)]
        parts += [(np.array([time_us], np.uint64), _raw(_text(time_us, level, text))) for time_us, level, text in texts]
        if not parts:
            return
        times = np.concatenate([time for time, _ in parts])
        sizes = np.repeat([raw.itemsize for _, raw in parts], [len(raw) for _, raw in parts])
        order = np.argsort(times, kind="stable")
        if int(times[order[0]]) < self._last_us:
            raise StateError(f"messages must be in order of time: {times[order[0]]} us comes after {self._last_us} us")
        self._last_us = int(times[order[-1]])
        ends = np.cumsum(sizes[order])
        starts = np.empty_like(ends)
        starts[order] = ends - sizes[order]
        block = np.empty(int(ends[-1]), np.uint8)
        done = 0
        for _, raw in parts:
            # Every start of a message of this size in the block, as overlapping elements: one copy per message.
            places = np.ndarray((len(block) - raw.itemsize + 1,), raw.dtype, block.data, strides=(1,))
            places[starts[done : done + len(raw)]] = raw
            done += len(raw)
        self._file.write(block.data)

    def close(self) -> None:
        """Complete a file without messages; the file stays open."""
        self._begin_data()

    def _begin_data(self) -> None:
        if not self._has_data:
            self._has_data = True
            for number, (topic, instance) in enumerate(self._subscriptions):
                self._file.write(_message("A", struct.pack("<BH", instance, number) + topic.encode()))

    def _define(self, kind: str, data: bytes) -> None:
        if self._has_data:
            raise StateError("information, parameters and topics must be written before the first message")
        self._file.write(_message(kind, data))


def _message(kind: str, data: bytes) -> bytes:
    if len(data) > MAX_BYTES:
        raise LayoutError(f"a ULog message has at most {MAX_BYTES:,} bytes, not {len(data):,}")
    return struct.pack("<HB", len(data), ord(kind)) + data


def _text(time_us: int, level: int, text: str) -> Array:
    message = _message("L", struct.pack("<BQ", ord("0") + level, time_us) + text.encode()[: MAX_BYTES // 2])
    return np.frombuffer(message, f"V{len(message)}")


def _raw(messages: Array) -> Array:
    """Return messages as elements without fields, which NumPy copies as bytes."""
    return np.ascontiguousarray(messages).view(f"V{messages.itemsize}")


def _key_and_value(key: str, value: str | int | float, kind: str | None = None) -> bytes:
    if isinstance(value, str):
        data = value.encode()
        kind = f"char[{len(data)}]"
    else:
        kind = kind or ("int32_t" if isinstance(value, int) else "float")
        data = np.array(value, np.dtype(C_TYPES[kind]).newbyteorder("<")).tobytes()
    name = f"{kind} {key}".encode()
    return bytes([len(name)]) + name + data


def _message_dtype(topic: str, dtype: np.dtype[Any], end: int) -> np.dtype[Any]:
    """Return the dtype of a data message whose contents end after `end` bytes."""
    if end + HEADER_BYTES - 3 > MAX_BYTES:
        raise LayoutError(f"{topic} has {end:,} bytes; a ULog message has at most {MAX_BYTES - 2:,}")
    fields = dict(dtype.fields or {})
    contents = np.dtype(
        {
            "names": list(fields),
            "formats": [inner for inner, *_ in fields.values()],
            "offsets": [offset for _, offset, *_ in fields.values()],
            "itemsize": end,
        }
    )
    return np.dtype(
        {
            "names": ["size", "type", "id", "message"],
            "formats": ["<u2", "u1", "<u2", contents],
            "offsets": [0, 2, 3, HEADER_BYTES],
            "itemsize": HEADER_BYTES + end,
        }
    )


def _fields_text(name: str, dtype: np.dtype[Any], nested: Mapping[str, str]) -> str:
    return "".join(f"{kind} {field};" for kind, field in _fields(name, dtype, nested))


def _fields(name: str, dtype: np.dtype[Any], nested: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield ULog type and name of each field in memory order, with padding for gaps and at the end."""
    fields = sorted((dtype.fields or {}).items(), key=lambda item: item[1][1])
    at = paddings = 0
    for field, (inner, offset, *_) in [*fields, ("", (np.dtype("V0"), dtype.itemsize))]:
        if offset > at:
            yield f"uint8_t[{offset - at}]", f"_padding{paddings}"
            paddings += 1
        if field:
            yield _type_text(name, field, inner, nested), field
        at = offset + inner.itemsize


def _type_text(name: str, field: str, inner: np.dtype[Any], nested: Mapping[str, str]) -> str:
    element, count = inner.base, int(np.prod(inner.shape, dtype=int))
    if element.kind == "S" and not inner.shape:
        return f"char[{element.itemsize}]"
    kind = nested[field] if element.names is not None else TYPE_NAMES.get(element)
    if kind is None or len(inner.shape) > 1:
        raise LayoutError(f"{name}.{field} has the type {inner}, which ULog does not have")
    return f"{kind}[{count}]" if inner.shape else kind
