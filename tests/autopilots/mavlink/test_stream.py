"""Frames from byte streams: in pieces, with garbage, in floods."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymavlink.dialects.v20 import common

from px4lockstep.autopilots.mavlink.dialect import Dialect, crc_extras
from px4lockstep.autopilots.mavlink.hil import CRC_EXTRA, HIL_ACTUATOR_CONTROLS, Actuators
from px4lockstep.autopilots.mavlink.stream import Stream


def answer(time_us, controls=0.5):
    """Return the frame of PX4's answer to a step."""
    mavlink = common.MAVLink(None, 1, 1)
    message = common.MAVLink_hil_actuator_controls_message(time_us, [controls] * 16, 129, 1)
    return bytes(message.pack(mavlink))


def times(frames):
    return [Actuators.of(frame.payload).time_us for frame in frames]


def test_a_frame_is_read():
    """With its sender and its raw bytes."""
    (frame,) = Stream(CRC_EXTRA).take(answer(7))
    assert frame.message == HIL_ACTUATOR_CONTROLS
    assert (frame.system, frame.component) == (1, 1)
    assert frame.raw == answer(7)
    assert times([frame]) == [7]


@given(st.lists(st.integers(1, 100), max_size=40))
def test_frames_in_pieces_are_read(cuts):
    """However the network splits them."""
    data = b"".join(answer(i) for i in range(12))
    stream, found, place = Stream(CRC_EXTRA), [], 0
    for cut in cuts:
        found += times(stream.take(data[place : place + cut]))
        place += cut
    assert found + times(stream.take(data[place:])) == list(range(12))
    assert stream.skipped == 0


@given(st.lists(st.one_of(st.binary(max_size=300), st.just(b"\xfd"), st.just(b"\xfe\xff")), min_size=3, max_size=3))
def test_garbage_before_a_frame_does_not_hide_it(garbage):
    """Even if it looks like the start of a long frame: the answer is found as soon as its bytes arrive."""
    stream = Stream(CRC_EXTRA)
    for i, noise in enumerate(garbage):
        assert times(stream.take(noise + answer(i))) == [i]
    assert stream.skipped == sum(map(len, garbage))


@given(st.integers(0, 8 * 90 - 1))
def test_a_frame_with_a_wrong_bit_is_skipped(bit):
    """And the next one is read. If the length is wrong, the claimed bytes have not arrived yet."""
    broken = bytearray(answer(1))
    broken[bit // 8] ^= 1 << bit % 8
    assert times(Stream(CRC_EXTRA).take(bytes(broken) + answer(2))) == [2]


def test_a_truncated_frame_is_skipped():
    """The sender died while sending it."""
    stream = Stream(CRC_EXTRA)
    assert stream.take(answer(1)[:50]) == []
    assert times(stream.take(answer(2))) == [2]
    assert stream.skipped == 50


def test_unknown_messages_are_skipped():
    """Without their CRC_EXTRA, their checksum can't be verified."""
    heartbeat = Dialect(1, 1).encode("heartbeat", 2, 12, 128, 0, 3)
    stream = Stream(CRC_EXTRA)
    assert times(stream.take(heartbeat + answer(1))) == [1]
    assert [frame.message for frame in Stream(crc_extras()).take(heartbeat + answer(1))] == [0, HIL_ACTUATOR_CONTROLS]


def test_mavlink_1_and_signed_frames_are_read():
    """Signatures are not verified."""
    first = common.MAVLink(None, 3, 4)
    message = common.MAVLink_hil_actuator_controls_message(5, [0.0] * 16, 1, 1)
    old = bytes(message.pack(first, force_mavlink1=True))
    signing = common.MAVLink(None, 3, 4)
    signing.signing.secret_key = bytes(32)
    signing.signing.sign_outgoing = True
    signed = bytes(message.pack(signing))
    assert old[0] == 0xFE
    assert signed[2] == 1
    frames = Stream(CRC_EXTRA).take(old + signed + answer(6))
    assert times(frames) == [5, 5, 6]
    assert [(frame.system, frame.component) for frame in frames] == [(3, 4), (3, 4), (1, 1)]


def test_a_frame_with_unknown_flags_is_skipped():
    """As MAVLink specifies."""
    strange = bytearray(answer(1))
    strange[2] = 2
    assert Stream(CRC_EXTRA).take(bytes(strange)) == []


@pytest.mark.parametrize("noise", [b"\xfd", b"\x00", b"\xfe", b"\xfd\x2f\x00\x00\x00\x01\x01\x5d\x00\x00"])
def test_a_flood_is_read_in_linear_time(noise):
    """A megabyte takes seconds at most, and less than two frames are kept."""
    stream = Stream(CRC_EXTRA)
    start_s = time.perf_counter()
    for _ in range(256):
        stream.take(noise * (4096 // len(noise)))
    assert times(stream.take(answer(9)))[-1:] == [9]
    assert time.perf_counter() - start_s < 20.0
    assert len(stream._buffer) < 600


@given(st.binary(max_size=400))
def test_every_valid_frame_can_be_decoded(data):
    """For a payload of any length: missing fields are 0, and excess bytes are ignored."""
    from px4lockstep.autopilots.mavlink.frame import frame

    dialect = Dialect(255, 190)
    for message in (0, 42, 77, 93, 253):
        raw = frame(message, crc_extras()[message], data[:255], 0, 1, 1)
        (found,) = Stream(crc_extras()).take(raw)
        decoded = dialect.decode(found.raw)
        assert decoded is None or decoded.get_msgId() == message
