"""PX4's texts: the last distinct warnings and errors, in the order of their last occurrence."""

import numpy as np
import pytest

from px4lockstep.autopilots.base import MAX_TEXT, MAX_TEXTS
from px4lockstep.autopilots.px4_library.records import PX4_HOST
from px4lockstep.autopilots.px4_library.texts import KEPT, in_order, keep_text
from px4lockstep.jit import kernel, rows


@kernel
def keep_all(hosts, severities, message, texts):
    """Receive texts one after the other."""
    host = hosts[0]
    for i in range(len(severities)):
        host.outputs.severity = severities[i]
        for k in range(len(message)):
            message[k] = texts[i * len(message) + k]
        keep_text(host)


def kept(*texts, severity=4):
    """Return the kept texts after some were received; the bytes after a text are garbage."""
    messages = np.full((len(texts), 127), ord("~"), np.uint8)
    for row, text in zip(messages, texts, strict=True):
        raw = np.frombuffer(text.encode() + b"\0", np.uint8)[:127]
        row[: len(raw)] = raw
    hosts, slots, message = np.zeros(1, PX4_HOST), np.zeros(MAX_TEXTS, KEPT), np.zeros(127, np.uint8)
    hosts["text"], hosts["texts"] = message.ctypes.data, slots.ctypes.data
    severities = np.full(len(texts), float(severity))
    keep_all(*map(rows, (hosts, severities, message, messages.reshape(-1))))
    return list(in_order(slots))


def test_texts_are_in_the_order_of_their_last_occurrence():
    assert kept() == []
    assert kept("a", "b", "a", "ab", "b") == ["a", "ab", "b"]


def test_the_oldest_text_makes_room():
    """A text that is repeated forever does not push the others out."""
    numbers = [str(i) for i in range(MAX_TEXTS + 1)]
    assert kept(*numbers) == numbers[1:]
    assert kept("first", *["again"] * 100) == ["first", "again"]


@pytest.mark.parametrize(("severity", "expected"), [(0, ["x"]), (2, ["x"]), (4, ["x"]), (5, []), (6, [])])
def test_only_warnings_and_errors_are_kept(severity, expected):
    assert kept("x", "", severity=severity) == expected


def test_a_long_text_is_cut_off():
    """Two that differ only after that are the same."""
    assert kept("x" * 126, "x" * 125) == ["x" * MAX_TEXT]
