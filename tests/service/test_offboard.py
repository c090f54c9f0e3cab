"""Setpoints and sticks over MAVLink, with PX4's rules: a stream before the mode, failsafe when it stops."""

import math

import pytest

OFFBOARD, RETURN, HOLD, POSITION = 14, 5, 4, 2
AT_POSITION, AT_VELOCITY, AT_HEIGHT, AT_ACCELERATION = 0x9F8, 0xDC7, 0xDE3, 0xC3F
LOCAL, BODY = 1, 8


class Stream:
    """Sends a setpoint 20 times per simulated second."""

    def __init__(self, client):
        self.client = client
        self.served = client.served

    def local(self, mask, frame=LOCAL, pos=(0.0,) * 3, vel=(0.0,) * 3, acc=(0.0,) * 3, yaw=0.0, rate=0.0):
        target = (self.served.instance + 1, 1)
        self.client.send("set_position_target_local_ned", 0, *target, frame, mask, *pos, *vel, *acc, yaw, rate)

    def fly(self, seconds, mask, **fields):
        for _ in range(round(20 * seconds)):
            self.local(mask, **fields)
            self.served.run(0.05)

    def start(self, mask=AT_POSITION, **fields):
        self.fly(0.5, mask, **fields)
        assert self.client.set_mode(6) == 0
        assert self.client.command(400, 1.0) == 0


@pytest.fixture
def stream(client):
    return Stream(client)


def status(stream):
    return stream.served.vehicle.status


def test_without_a_stream_the_mode_can_be_chosen_but_not_armed(client):
    assert client.set_mode(6) == 0
    assert client.command(400, 1.0) == 1


def test_without_a_stream_the_mode_is_refused_when_armed(served, client):
    assert client.command(400, 1.0) == 0
    client.received.clear()
    client.send("command_long", served.instance + 1, 1, 176, 0, 129.0, 6.0, *(0.0,) * 5)
    served.run(0.5)
    assert [m.result for m in client.received if m.get_type() == "COMMAND_ACK"] == [1]
    assert any("Offboard" in text for text in client.texts)


def test_positions_are_flown(stream):
    stream.start(pos=(0.0, 0.0, -5.0))
    stream.fly(10.0, AT_POSITION, pos=(0.0, 0.0, -5.0))
    assert status(stream).nav_state == OFFBOARD
    stream.client.expect("HEARTBEAT", type=2, base_mode=145, custom_mode=6 << 16)
    stream.fly(10.0, AT_POSITION, pos=(5.0, 3.0, -5.0), yaw=1.0)
    assert math.dist(status(stream).pos_ned, (5.0, 3.0, -5.0)) < 0.5
    w, x, y, z = status(stream).q_bn
    assert math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)) == pytest.approx(1.0, abs=0.1)


def test_velocities_are_flown_in_north_and_in_body_axes(stream):
    stream.start(pos=(0.0, 0.0, -8.0), yaw=math.pi / 2)
    stream.fly(12.0, AT_POSITION, pos=(0.0, 0.0, -8.0), yaw=math.pi / 2)
    stream.fly(4.0, AT_VELOCITY, vel=(2.0, 0.0, 0.0))
    assert status(stream).vel_ned[0] == pytest.approx(2.0, abs=0.4)
    stream.fly(5.0, AT_VELOCITY, frame=BODY, vel=(2.0, 0.0, 0.0))  # forward is east
    assert status(stream).vel_ned[1] == pytest.approx(2.0, abs=0.4)
    assert abs(status(stream).vel_ned[0]) < 0.4
    stream.fly(4.0, AT_HEIGHT, pos=(0.0, 0.0, -6.0), vel=(-1.0, 0.0, 0.0))
    assert -status(stream).pos_ned[2] == pytest.approx(6.0, abs=0.5)
    assert status(stream).vel_ned[0] == pytest.approx(-1.0, abs=0.4)


def test_accelerations_are_flown(stream):
    stream.start(pos=(0.0, 0.0, -8.0))
    stream.fly(12.0, AT_POSITION, pos=(0.0, 0.0, -8.0))
    stream.fly(2.0, AT_ACCELERATION, acc=(1.0, 0.0, 0.0))
    assert 0.8 < status(stream).vel_ned[0] < 3.0


def test_global_positions_are_flown(stream):
    stream.start(pos=(0.0, 0.0, -5.0))
    stream.fly(10.0, AT_POSITION, pos=(0.0, 0.0, -5.0))
    for _ in range(240):
        place = (473977420 + 1_000, 85455940, 7.0)
        target = (stream.served.instance + 1, 1)
        fields = (0, *target, 6, AT_POSITION, *place, *(0.0,) * 8)
        stream.client.send("set_position_target_global_int", *fields)
        stream.served.run(0.05)
    assert status(stream).pos_ned[0] == pytest.approx(11.12, abs=0.6)
    assert -status(stream).pos_ned[2] == pytest.approx(7.0, abs=0.6)


def test_attitudes_and_rates_are_flown(stream):
    """Tilted for a second at hover thrust, then yawing; the vehicle must follow the angle and the rate."""
    served, client = stream.served, stream.client
    stream.start(pos=(0.0, 0.0, -20.0))
    stream.fly(20.0, AT_POSITION, pos=(0.0, 0.0, -20.0))
    thrust = status(stream).thrust_sp
    half = 0.5 * math.radians(15.0)
    for _ in range(30):
        q = [math.cos(half), math.sin(half), 0.0, 0.0]
        client.send("set_attitude_target", 0, served.instance + 1, 1, 7, q, 0.0, 0.0, 0.0, thrust)
        served.run(0.05)
    w, x, y, z = status(stream).q_bn
    assert math.degrees(math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))) == pytest.approx(15.0, abs=3.0)
    for _ in range(20):
        client.send("set_attitude_target", 0, served.instance + 1, 1, 128, [1.0, 0.0, 0.0, 0.0], 0.0, 0.0, 0.5, thrust)
        served.run(0.05)
    assert status(stream).omega_body[2] == pytest.approx(0.5, abs=0.15)
    assert status(stream).nav_state == OFFBOARD


def test_a_lost_stream_returns_and_a_new_one_is_followed_again(stream):
    """COM_OF_LOSS_T is 1 s."""
    stream.start(pos=(0.0, 0.0, -5.0))
    stream.fly(10.0, AT_POSITION, pos=(0.0, 0.0, -5.0))
    lost_us = stream.served.vehicle.time_us
    while status(stream).nav_state == OFFBOARD:
        stream.served.run(0.02)
    assert 0.9e6 <= stream.served.vehicle.time_us - lost_us <= 1.2e6
    assert status(stream).nav_state == RETURN
    assert stream.client.expect("HEARTBEAT", type=2, custom_mode=4 << 16 | 5 << 24).system_status == 5
    stream.fly(1.0, AT_POSITION, pos=(0.0, 0.0, -5.0))
    assert status(stream).nav_state == OFFBOARD


@pytest.mark.parametrize(("mask", "frame", "text"), [(AT_POSITION, 7, "frame 7 unsupported"), (0xFFF, 1, "invalid")])
def test_a_setpoint_that_px4_refuses_gets_a_text_and_is_no_stream(stream, mask, frame, text):
    stream.fly(1.0, mask, frame=frame, pos=(0.0, 0.0, -5.0))
    assert any(text in each for each in stream.client.texts)
    assert stream.client.set_mode(6) == 0
    assert stream.client.command(400, 1.0) == 1


def test_setpoints_for_another_vehicle_are_ignored(served, client):
    for _ in range(20):
        fields = (0, served.instance + 2, 1, LOCAL, AT_POSITION, 0.0, 0.0, -5.0, *(0.0,) * 8)
        client.send("set_position_target_local_ned", *fields)
        served.run(0.05)
    assert client.set_mode(6) == 0
    assert client.command(400, 1.0) == 1


def test_sticks_fly_position_mode(served, client):
    """Up, then forward; released, the vehicle stops."""

    def sticks(seconds, x=0, y=0, z=500, r=0):
        for _ in range(round(20 * seconds)):
            client.send("manual_control", served.instance + 1, x, y, z, r, 0)
            served.run(0.05)

    sticks(0.5)
    assert client.set_mode(3) == 0
    assert client.command(400, 1.0) == 0
    sticks(6.0, z=1000)
    height = -served.vehicle.status.pos_ned[2]
    assert height > 1.5
    sticks(4.0, x=500)
    assert served.vehicle.status.nav_state == POSITION
    assert served.vehicle.status.vel_ned[0] > 1.0
    sticks(6.0)
    assert math.hypot(*served.vehicle.status.vel_ned[:2]) < 0.5
