"""The messages exchanged at every step, byte for byte as packed by pymavlink."""

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymavlink.dialects.v20 import common

from px4lockstep.autopilots.mavlink.frame import checksum
from px4lockstep.autopilots.mavlink.hil import CRC_EXTRA, HIL_ACTUATOR_CONTROLS, Actuators, HilSender

TIMES = st.integers(0, 2**64 - 1)
FLOATS = st.floats(width=32, allow_nan=False)


def theirs(message, sequence=0):
    """Pack a message with pymavlink, as the same sender."""
    mavlink = common.MAVLink(None, 1, 200)
    mavlink.seq = sequence
    return bytes(message.pack(mavlink))


@given(TIMES, st.lists(FLOATS, min_size=13, max_size=13), st.integers(0, 2**32 - 1))
def test_sensors_are_packed_as_by_pymavlink(time_us, values, updated):
    """All bytes, with trailing zeros truncated."""
    expected = common.MAVLink_hil_sensor_message(time_us, *values, updated, 0)
    assert HilSender().sensor(time_us, values, updated) == theirs(expected)


def ints(bits, count, signed=True):
    limits = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return st.lists(st.integers(*limits), min_size=count, max_size=count)


@given(TIMES, ints(32, 3), ints(16, 2, False), ints(16, 2, False), ints(16, 3), ints(8, 2, False))
def test_gps_is_packed_as_by_pymavlink(time_us, position, accuracy, ground, velocity, last):
    """All bytes; the extension fields id and yaw are 0 and truncated."""
    speed, course = ground
    fix, satellites = last
    told = (fix, *position, *accuracy, speed, *velocity, course, satellites)
    packed = HilSender().gps(time_us, *position, *accuracy, speed, *velocity, course, fix, satellites)
    assert packed == theirs(common.MAVLink_hil_gps_message(time_us, *told))


@given(
    TIMES,
    st.lists(FLOATS, min_size=7, max_size=7),
    ints(32, 3),
    ints(16, 3),
    st.integers(0, 2**16 - 1),
    ints(16, 3),
)
def test_the_state_is_packed_as_by_pymavlink(time_us, floats, position, velocity, airspeed, force):
    """All bytes; both airspeeds are equal."""
    expected = common.MAVLink_hil_state_quaternion_message(
        time_us, floats[:4], *floats[4:], *position, *velocity, airspeed, airspeed, *force
    )
    packed = HilSender().state(time_us, floats, *position, *velocity, airspeed, airspeed, *force)
    assert packed == theirs(expected)


def test_a_value_out_of_range_is_clipped():
    """A wrapped velocity would change its sign; MAVLink's maximum is 327.67 m/s."""
    packed = HilSender().gps(0, 2**31, 0, -(2**31) - 1, 70_000, -1, 70_000, 40_000, -40_000, 7, 36_000, 3, 9)
    told = common.MAVLink(None).decode(bytearray(packed))
    assert (told.lat, told.alt, told.eph, told.epv) == (2**31 - 1, -(2**31), 65535, 0)
    assert (told.vel, told.vn, told.ve, told.vd, told.cog) == (65535, 32767, -32768, 7, 36_000)


def test_frames_are_numbered_across_all_messages():
    """PX4 counts lost frames by this number; 0 follows 255."""
    sender = HilSender()
    numbers = [sender.sensor(i, (0.0,) * 13, 0)[4] for i in range(300)]
    assert numbers == [i % 256 for i in range(300)]
    assert sender.gps(0, *(0,) * 10, 3, 9)[4] == 300 % 256


@given(TIMES, st.lists(FLOATS, min_size=16, max_size=16), st.sampled_from([0, 1, 3]), st.integers(0, 255))
def test_controls_are_read_as_pymavlink_packs_them(time_us, controls, flags, mode):
    """Also with truncated trailing zeros."""
    packed = theirs(common.MAVLink_hil_actuator_controls_message(time_us, controls, mode, flags))
    read = Actuators.of(packed[10:-2])
    assert read == Actuators(time_us, tuple(controls), mode >= 128, flags % 2 == 1)
    assert all(math.copysign(1.0, a) == math.copysign(1.0, b) for a, b in zip(read.controls, controls, strict=True))


def test_controls_of_a_longer_message_are_read():
    """MAVLink may add extension fields, which are ignored."""
    payload = struct.pack("<QQ16fB", 7, 1, *range(16), 128) + b"more"
    assert Actuators.of(payload) == Actuators(7, tuple(map(float, range(16))), True, True)


@pytest.mark.parametrize("message", CRC_EXTRA)
def test_crc_extras_are_those_of_the_dialect(message):
    """A different message definition has a different CRC_EXTRA."""
    assert CRC_EXTRA[message] == common.mavlink_map[message].crc_extra


@given(st.binary(max_size=280), st.integers(0, 255))
def test_the_checksum_is_that_of_mavlink(data, crc_extra):
    """As computed by pymavlink, and 0x6F91 for the digits 1 to 9, the check value of CRC-16/MCRF4XX."""
    crc = common.x25crc(data + bytes([crc_extra]))
    assert checksum(data, crc_extra) == crc.crc
    assert checksum(b"12345678", ord("9")) == 0x6F91


def test_the_message_id_of_the_controls_is_correct():
    """The only message that is read here."""
    assert common.MAVLINK_MSG_ID_HIL_ACTUATOR_CONTROLS == HIL_ACTUATOR_CONTROLS
