"""ULog files, imported and plotted: mutated bytes, messages, formats and sizes."""

import functools
import struct

import numpy as np
from ulog_files import flight, old_flight

from fuzz import expect
from fuzz.mutations import mutated_bytes
from px4lockstep.log.parquet import write_parquet
from px4lockstep.log.ulog_import import import_ulog

FILE, DRAWN = "flight.ulg", "drawn"
HEADER_BYTES = 16
KINDS = b"BFIMPQADLCSORZ\0"
FIELDS = (
    *("float[99999] q", "float[0] q", "float[-1] q", "float[4096] q", "vehicle_attitude q", "float q;float q", "q", ""),
    *("uint8_t timestamp", "nosuch[4] q", "float[4]q", "float[4] q[0]", "char[60000] text", "bool[4] q", "double[4] q"),
)
TOKENS = (b"\0" * 8, b"\xff" * 8, b"\x2f\x73\x13\x20\x25\x0c\xbb\x12", b"\xff\xffD", b"\0\0D", b"\x02\0D\xff\xff")


@functools.cache
def bases():
    """Return the valid files."""
    return flight(0.5), flight(0.3, truth=True), old_flight(0.5), flight(2.5)


def write(folder, rng):
    """Write a file with damage of one kind."""
    data = bases()[0] if rng is None else rng.choice(bases())
    if rng is not None:
        way = rng.random()
        if way < 0.35:
            data = data[:HEADER_BYTES] + mutated_bytes(data[HEADER_BYTES:], rng, tokens=TOKENS)
        elif way < 0.4:
            data = mutated_bytes(data[:200], rng) + data[200:]
        elif way < 0.5:
            data = data[: rng.randrange(len(data))]
        elif way < 0.55:
            data += bytes(rng.randrange(256) for _ in range(rng.choice((1, 100, 5_000)))) * rng.choice((1, 40))
        else:
            data = _edited(data, rng)
    (folder / FILE).write_bytes(data)
    if rng is None or rng.random() < 0.02:
        (folder / DRAWN).touch()


def _edited(data, rng):
    """Return a file with some messages changed, removed, repeated or moved."""
    messages = list(_messages(data))
    for _ in range(rng.choice((1, 1, 3, 50))):
        i, way = rng.randrange(len(messages)), rng.random()
        if rng.random() < 0.4:
            i %= 40  # the definitions are at the beginning
        kind, body = messages[i]
        if way < 0.2:
            messages[i] = (rng.choice(KINDS), body)
        elif way < 0.3:
            del messages[i]
        elif way < 0.4:
            messages.insert(rng.randrange(len(messages)), (kind, body))
        elif way < 0.5:
            messages[i] = (kind, body[: rng.randrange(len(body) + 1)])
        elif way < 0.6:
            messages[i] = (kind, body + bytes(rng.choice((1, 7, 9_000))))
        elif way < 0.75 and kind == ord("D") and len(body) >= 10:
            odd = rng.choice((0, 1, 2**63, 2**64 - 1, 2**40, 4_999_999, 6_000_000, rng.randrange(2**33)))
            messages[i] = (kind, body[:2] + struct.pack("<Q", odd) + body[10:])
        elif way < 0.85 and kind == ord("F"):
            name, _, text = body.partition(b":")
            fields = text.split(b";")
            fields[rng.randrange(len(fields))] = rng.choice(FIELDS).encode()
            messages[i] = (kind, name + b":" + b";".join(fields))
        elif kind == ord("D") and len(body) >= 14:
            odd = struct.pack("<f", rng.choice((float("nan"), float("inf"), -float("inf"), 1e38, 0.0, -1.0)))
            at = 10 + 4 * rng.randrange((len(body) - 10) // 4)
            messages[i] = (kind, body[:at] + odd + body[at + 4 :])
        else:
            messages[i] = (kind, mutated_bytes(body, rng, tokens=TOKENS)[:65_535])
        if not messages:
            break
    return data[:HEADER_BYTES] + b"".join(struct.pack("<HB", len(body), kind) + body for kind, body in messages)


def _messages(data):
    at = HEADER_BYTES
    while at < len(data):
        size, kind = struct.unpack_from("<HB", data, at)
        yield kind, data[at + 3 : at + 3 + size]
        at += 3 + size


def use(folder):
    """Import the file, write the log, and plot it if requested."""
    for rate_hz in (None, 20.0):
        log = import_ulog(folder / FILE, rate_hz=rate_hz)
        expect(log.rows > 0, "an empty log was accepted")
        expect(bool(np.all(log.time_us[1:] > log.time_us[:-1])), "the times of the log don't rise")
        for name in log:
            expect(len(log[name]) == log.rows, f"{name} has not as many rows as the log")
    write_parquet(log, folder / "log.parquet")
    if (folder / DRAWN).exists() and "pos_ned" in log:
        from px4lockstep.flights.imported import draw_imported

        draw_imported(log, "fuzz")
