"""Read PX4's ULog files, also damaged ones, with pyulog.

pyulog trusts the file: a damaged one makes it raise any exception, search for minutes or allocate without limit.
Therefore a pass over the messages comes first. It checks each message, and copies those of the wanted topics to a clean
file in memory, which pyulog then decodes. What was skipped is listed in `ULogFile.problems`.

A log that ends in the middle of a message, because power was lost, is read up to there. After a message that makes no
sense, reading continues at the next sync message, if there is one.

Reference: https://docs.px4.io/main/en/dev_log/ulog_file_format
"""

import contextlib
import io
import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError, counted
from px4lockstep.px4.ulog_formats import SIZES, Formats
from px4lockstep.reading import read_regular

MAGIC = b"ULog\x01\x12\x35"
SYNC = b"\x2f\x73\x13\x20\x25\x0c\xbb\x12"
MAX_BYTES = 2 * 10**9
MAX_VERSION = 1
MAX_INSTANCES = 8
"""Instances of a topic that are read."""
HEADER = struct.Struct("<HB")
DATA_HEADER = struct.Struct("<HBH")
TIME = struct.Struct("<Q")
FLAGS = struct.Struct("<8s8s3Q")
KINDS = frozenset(b"BFIMPQADLCSOR")
"""Types of messages that ULog defines."""
MIN_TEXT = 9
"""Bytes of a text message before its text: level and time."""

Columns = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Text:
    """A text message of PX4; `level` is that of syslog, 0 emergency to 7 debug."""

    time_us: int
    level: int
    text: str


@dataclass(frozen=True)
class ULogFile:
    """The contents of a ULog file; columns of a topic by field, such as `q[0]`, with `timestamp` increasing."""

    start_us: int
    topics: Mapping[tuple[str, int], Columns]  # by name and instance
    info: Mapping[str, Any]
    parameters: Mapping[str, float | int]  # at the start of the log
    texts: tuple[Text, ...]
    dropouts_s: tuple[float, ...]
    problems: tuple[str, ...]  # what was skipped because it is damaged

    def instances(self, name: str) -> list[Columns]:
        """Return the instances of a topic."""
        return [columns for (topic, _), columns in sorted(self.topics.items()) if topic == name]


def read_ulog(path: str | Path, topics: Collection[str]) -> ULogFile:
    """Return the given topics of a ULog file, with its information, parameters and text messages.

    Raises:
        InputError: If it can't be read or is not a ULog file.
    """
    data = read_regular(path, MAX_BYTES, "a ULog file (.ulg)")
    if not data.startswith(MAGIC) or len(data) < len(MAGIC) + 1 + TIME.size:
        raise InputError(f"{path} is not a ULog file: it must begin with the bytes 'ULog' and a header of 16 bytes")
    version = data[len(MAGIC)]
    if version > MAX_VERSION:
        raise InputError(f"{path} is a ULog file of version {version}; this px4lockstep reads versions 0 to 1")
    (start_us,) = TIME.unpack_from(data, len(MAGIC) + 1)
    clean = _Pass(str(path), data, frozenset(topics))
    clean.run()
    return _decoded(str(path), clean, start_us)


@dataclass
class _Pass:
    """The pass over the messages of a file."""

    path: str
    data: bytes
    wanted: frozenset[str]
    formats: Formats = field(default_factory=Formats)
    definitions: bytearray = field(default_factory=bytearray)  # messages for pyulog, then those of the data section
    logged: bytearray = field(default_factory=bytearray)
    dropouts_s: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    appended: tuple[int, ...] = ()
    _sizes: dict[int, int] = field(default_factory=dict)  # of the data of each message ID; 0: not wanted
    _taken: dict[tuple[str, int], int] = field(default_factory=dict)
    _skipped: int = 0
    _unknown: int = 0
    _short: int = 0
    _refused: dict[str, str] = field(default_factory=dict)

    def run(self) -> None:
        """Check all messages, and copy the wanted ones."""
        data, at, end = self.data, len(MAGIC) + 1 + TIME.size, len(self.data)
        sizes, logged = self._sizes, self.logged
        while at + HEADER.size <= end:
            size, kind = HEADER.unpack_from(data, at)
            stop = at + HEADER.size + size
            for offset in self.appended:
                if at < offset < stop:  # the log ended here, and data was appended later
                    stop = 0
                    at = offset
            if not stop:
                continue
            if kind not in KINDS or stop > end or (size == 0 and kind != ord("S")):
                at = self._resynchronized(at)
                continue
            if kind == ord("D"):
                number = DATA_HEADER.unpack_from(data, at)[2] if size > 2 else -1
                wanted = sizes.get(number, -1)
                if wanted > 0:
                    if size - 2 >= wanted:
                        logged += DATA_HEADER.pack(2 + wanted, kind, number)
                        logged += data[at + DATA_HEADER.size : at + DATA_HEADER.size + wanted]
                    else:
                        self._short += 1
                elif wanted < 0:
                    self._unknown += 1
            else:
                self._take(chr(kind), data[at + HEADER.size : stop], at)
            at = stop
        self._skipped += end - at if at < end else 0
        self._tell()

    def _resynchronized(self, at: int) -> int:
        """Return where to continue after a message that makes no sense; the end of the file if nowhere."""
        found = self.data.find(SYNC, at)
        stop = len(self.data) if found < 0 else found + len(SYNC)
        self._skipped += stop - at
        return stop

    def _tell(self) -> None:
        if self._skipped:
            of = f"{self._skipped:,} of its {len(self.data):,} bytes"
            self.problems.append(f"the file is damaged or was cut: {of} were skipped")
        if self._short:
            self.problems.append(f"{counted(self._short, 'message')} skipped: too short for the topic")
        if self._unknown:
            self.problems.append(f"{counted(self._unknown, 'message')} of unknown topics skipped")
        self.problems += [f"topic {name} was skipped: {reason}" for name, reason in self._refused.items()]

    def _take(self, kind: str, body: bytes, at: int) -> None:
        """Take a message that is not logged data."""
        if kind == "B":
            self._take_flags(body, at)
        elif kind == "F":
            self.formats.add(body)
        elif kind == "A":
            self._subscribe(body)
        elif kind in "IP" and _is_value(body):
            target = self.definitions if kind == "I" or not self.logged else self.logged
            target += HEADER.pack(len(body), ord(kind)) + body
        elif kind == "L" and len(body) >= MIN_TEXT:
            self.logged += HEADER.pack(len(body), ord(kind)) + body
        elif kind == "O" and len(body) == 2:
            self.dropouts_s.append(int.from_bytes(body, "little") / 1e3)

    def _take_flags(self, body: bytes, at: int) -> None:
        if len(body) < FLAGS.size or at != len(MAGIC) + 1 + TIME.size:
            return
        _, incompatible, *offsets = FLAGS.unpack_from(body)
        if incompatible[0] & ~1 or any(incompatible[1:]):
            flags = incompatible.hex()
            raise InputError(
                f"{self.path} has features that this px4lockstep does not know (incompatible flags {flags})"
            )
        self.appended = tuple(offset for offset in offsets if incompatible[0] & 1 and at < offset < len(self.data))

    def _subscribe(self, body: bytes) -> None:
        """Take note of a message ID, and pass a wanted topic on to pyulog."""
        if len(body) < 4:
            return
        instance, number, name = body[0], int.from_bytes(body[1:3], "little"), body[3:].decode(errors="replace")
        if number in self._sizes:
            return
        is_wanted = name in self.wanted and instance < MAX_INSTANCES and (name, instance) not in self._taken
        size = 0
        if is_wanted:
            try:
                size = self.formats.size(name)
            except InputError as error:
                self._refused[name] = str(error)
        self._sizes[number] = size
        if size:
            self._taken[name, instance] = number
            self.logged += HEADER.pack(len(body), ord("A")) + body

    @property
    def clean(self) -> bytes:
        """The file for pyulog."""
        formats = b"".join(HEADER.pack(len(text), ord("F")) + text for text in self.formats.texts())
        return b"".join([self.data[: len(MAGIC) + 1 + TIME.size], formats, self.definitions, self.logged])


def _is_value(body: bytes) -> bool:
    """Return whether a message has a key and a value of the type of its key."""
    length = body[0]
    try:
        kind, name = body[1 : 1 + length].decode().split(" ")
    except ValueError:
        return False
    value = body[1 + length :]
    is_text = kind.startswith("char[")
    return bool(name) and (is_text or len(value) == SIZES.get(kind, -1))


def _decoded(path: str, clean: _Pass, start_us: int) -> ULogFile:
    """Return the contents of a clean file, decoded by pyulog."""
    try:
        from pyulog import ULog
    except ImportError as error:
        raise InputError(f"{path} can't be read: pyulog is not installed; install it: pip install pyulog") from error
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # pyulog prints warnings
            log = ULog(io.BytesIO(clean.clean))
    except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError, struct.error) as error:
        raise InputError(f"{path} is damaged: {type(error).__name__}: {error}") from error
    problems, topics = list(clean.problems), {}
    for each in log.data_list:
        columns, dropped = _in_order({name: np.asarray(values) for name, values in each.data.items()}, start_us)
        if dropped:
            problems.append(f"topic {each.name}: {counted(dropped, 'message')} skipped: times that do not increase")
        if len(columns["timestamp"]):
            topics[each.name, int(each.multi_id)] = columns
    return ULogFile(
        start_us,
        topics,
        dict(log.msg_info_dict),
        {name: value for name, value in log.initial_parameters.items() if isinstance(value, int | float)},
        tuple(Text(int(each.timestamp), each.log_level - ord("0"), each.message) for each in log.logged_messages),
        tuple(clean.dropouts_s),
        tuple(problems),
    )


def _in_order(columns: Columns, start_us: int) -> tuple[Columns, int]:
    """Return the messages of a topic with increasing times, and the number of others.

    The time 0 means that there is none, unless the log starts at 0.
    """
    time_us = columns["timestamp"]
    is_valid = ((time_us > 0) | (start_us == 0)) & (time_us < 2**62)
    time_us = time_us[is_valid].astype(np.int64)
    if not (np.diff(time_us) > 0).all():
        # A time that is too high spoils all that follow, one that is too low all before: keep what leaves more.
        highest = np.maximum.accumulate(np.concatenate([[-1], time_us[:-1]]))
        lowest = np.minimum.accumulate(np.concatenate([time_us[1:], [2**62]])[::-1])[::-1]
        rising, falling = time_us > highest, time_us < lowest
        keep = rising if rising.sum() >= falling.sum() else falling
        index = np.flatnonzero(is_valid)[keep]
    else:
        index = np.flatnonzero(is_valid)
    count = len(columns["timestamp"])
    if len(index) == count:
        return {name: np.ascontiguousarray(values) for name, values in columns.items()}, 0
    return {name: values[index] for name, values in columns.items()}, count - len(index)
