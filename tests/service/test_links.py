"""A served vehicle's links: rates, heartbeats, several clients, messages on request."""

import math
import os
import random
import struct
from pathlib import Path

import pytest
from mavlink_client import Served

from px4lockstep.autopilots.mavlink.dialect import common, crc_extras
from px4lockstep.autopilots.mavlink.frame import frame
from px4lockstep.autopilots.mavlink.layouts import layout
from px4lockstep.autopilots.mavlink.modes import LISTED, custom_mode
from px4lockstep.service.command_protocol import KINDS
from px4lockstep.service.streams import RATES_HZ

UNKNOWN_TO_PYMAVLINK = ("ESC_INFO", "ESC_STATUS")
RATE_S = 8.0


@pytest.mark.parametrize(("link", "column"), [("ground", 0), ("application", 1)])
def test_messages_come_at_the_rates_of_px4(served, link, column):
    """In simulated time; a message more or less, and 1 % of fast ones, for the beginning and the end."""
    client = served.client(link, mute=False)
    assert client.command(400, 1.0) == 0  # POSITION_TARGET_GLOBAL_INT is sent while armed
    client.received.clear()
    served.run(RATE_S)
    counts = dict.fromkeys(RATES_HZ, 0)
    for message in client.received:
        counts[message.get_type()] = counts.get(message.get_type(), 0) + 1
    for name, rates in RATES_HZ.items():
        if name not in UNKNOWN_TO_PYMAVLINK and name != "ORBIT_EXECUTION_STATUS":  # only while it orbits
            expected = RATE_S * rates[column]
            assert counts[name] == pytest.approx(expected, abs=1.01 + 0.01 * expected), name


def test_the_heartbeat_says_what_the_vehicle_is(served, client):
    beat = client.expect("HEARTBEAT")
    assert (beat.type, beat.autopilot, beat.base_mode, beat.system_status) == (2, 12, 29, 3)
    assert beat.custom_mode == 4 << 16 | 3 << 24
    assert (beat.get_srcSystem(), beat.get_srcComponent()) == (served.instance + 1, 1)


def test_telemetry_agrees_with_the_status(served):
    """Units and signs: 2.5 m above home, level, at home."""
    client = served.client(mute=False)
    assert client.command(400, 1.0) == 0
    assert client.command(22, *(math.nan,) * 7) == 0
    served.run(15.0)
    client.received.clear()
    place, local, angles = (client.expect(name) for name in ("GLOBAL_POSITION_INT", "LOCAL_POSITION_NED", "ATTITUDE"))
    status = served.vehicle.status
    assert place.lat == pytest.approx(1e7 * status.position.lat_deg, abs=20)
    assert place.lon == pytest.approx(1e7 * status.position.lon_deg, abs=20)
    assert place.relative_alt == pytest.approx(2500, abs=500)
    assert place.alt == pytest.approx(place.relative_alt + 488_000, abs=2)
    assert -local.z == pytest.approx(2.5, abs=0.5)
    assert abs(angles.roll) + abs(angles.pitch) < 0.3
    power, hud, imu = (client.expect(name) for name in ("BATTERY_STATUS", "VFR_HUD", "HIGHRES_IMU"))
    assert power.voltages[0] == pytest.approx(1e3 * status.batteries[0].voltage_v, abs=300)
    assert 90 < power.battery_remaining <= 100
    assert hud.alt == pytest.approx(490.5, abs=0.5)
    assert imu.zacc == pytest.approx(-9.8, abs=2.0)
    assert math.sqrt(imu.xmag**2 + imu.ymag**2 + imu.zmag**2) == pytest.approx(0.48, abs=0.03)  # Zurich, in gauss
    assert imu.abs_pressure == pytest.approx(955.6, abs=1.0)


def test_two_clients_of_a_link_and_one_of_the_other_are_served_at_once(served):
    links = (("application", 245), ("application", 246), ("ground", 255))
    clients = [served.client(*link, mute=False) for link in links]
    for client in clients:
        assert client.command(512, 148.0) == 0
    served.run(1.0)
    for client in clients:
        client.expect("HEARTBEAT")
        client.expect("ATTITUDE")


def test_a_client_hears_the_heartbeats_of_clients_of_the_other_link(served):
    first, _ = served.client(), served.client("ground", 255)
    served.run(2.0)
    assert 255 in {message.get_srcSystem() for message in first.received if message.get_type() == "HEARTBEAT"}


def test_messages_can_be_requested(client):
    version = client.requested("AUTOPILOT_VERSION", 512, 148.0)
    assert (version.capabilities, version.flight_sw_version) == (0xE8DF, 0x01120080)
    for number in (242, 300, 435, 26, 375, 264, 245, 33, 290):
        assert client.command(512, float(number)) == 0
    for number in (397, 410, 77, 259, 60_000):
        assert client.command(512, float(number)) == 2


def test_modes_are_listed_one_by_one_and_all_at_once(served, client):
    for index, mode in enumerate(LISTED, 1):
        found = client.requested("AVAILABLE_MODES", 512, 435.0, float(index))
        assert (found.number_modes, found.mode_index) == (len(LISTED), index)
        assert (found.custom_mode, found.mode_name) == (custom_mode(mode.nav_state), mode.name)
    assert client.command(512, 435.0, float(len(LISTED) + 1)) == 2
    client.received.clear()
    client.send("command_long", served.instance + 1, 1, 512, 0, 435.0, *(0.0,) * 6)
    assert [client.expect("AVAILABLE_MODES").mode_index for _ in LISTED] == list(range(1, len(LISTED) + 1))


def test_an_interval_can_be_changed_read_stopped_and_restored(served, client):
    def rate_hz():
        client.received.clear()
        served.run(4.0)
        return sum(message.get_type() == "VIBRATION" for message in client.received) / 4.0

    assert client.command(511, 241.0, 200_000.0) == 0
    assert rate_hz() == pytest.approx(5.0, abs=0.3)
    assert client.requested("MESSAGE_INTERVAL", 510, 241.0).interval_us == 200_000
    assert client.command(511, 241.0, -1.0) == 0
    assert rate_hz() == 0.0
    assert client.command(511, 241.0, 0.0) == 0
    assert rate_hz() == pytest.approx(0.5, abs=0.3)
    assert client.command(511, 60_000.0, 1e6) == 4


def test_a_stream_may_be_faster_than_the_steps_of_the_server(served, client):
    assert client.command(511, 31.0, 4_000.0) == 0
    client.received.clear()
    served.run(1.0)
    assert sum(message.get_type() == "ATTITUDE_QUATERNION" for message in client.received) == pytest.approx(250, abs=3)


def test_ping_and_timesync_are_answered(served, client):
    client.send("ping", 12345, 7, 0, 0)
    answer = client.expect("PING", target_system=245)
    assert (answer.time_usec, answer.seq, answer.target_component) == (12345, 7, 190)
    client.send("timesync", 0, 99)
    assert client.expect("TIMESYNC", ts1=99).tc1 == pytest.approx(1000 * served.vehicle.time_us, abs=5e7)


def test_a_request_for_a_file_is_refused_at_once(served, client):
    request = struct.pack("<HBBBBBBI", 5, 0, 3, 0, 0, 0, 0, 0).ljust(251, b"\0")
    client.send("file_transfer_protocol", 0, served.instance + 1, 1, list(request))
    answer = bytes(client.expect("FILE_TRANSFER_PROTOCOL").payload)
    assert (struct.unpack_from("<H", answer)[0], answer[3], answer[5]) == (6, 129, 3)


def test_commands_to_others_are_not_answered(served, client):
    for target, component in ((served.instance + 2, 1), (served.instance + 1, 100)):
        client.send("command_long", target, component, 400, 0, 1.0, *(0.0,) * 6)
    client.expect_none("COMMAND_ACK")
    assert not served.vehicle.status.armed
    assert client.command(400, 1.0, target=0, component=0) == 0


@pytest.mark.parametrize("count", [5_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_garbage_does_no_harm(served, client, count):
    """Random datagrams, of which many begin like frames."""
    rng = random.Random(count)
    for index in range(count):
        data = rng.randbytes(1 + index % 60)
        client.socket.sendto(b"\xfd" + data if index % 3 else data, ("127.0.0.1", client.port))
        if index % 100 == 0:
            served.step()
            client.received.clear()
    assert client.command(400, 1.0) == 0


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 22))])
def test_messages_with_random_fields_do_no_harm(served, client, seed):
    """Every message that the vehicle processes, with random bytes in all fields, and a valid checksum."""
    rng = random.Random(seed)
    extras, address = crc_extras(), ("127.0.0.1", client.port)
    names = {number: common().mavlink_map[number].msgname for number in sorted(served.endpoint._takers)}
    for index in range(3_000):
        number = list(names)[index % len(names)]
        fields, payload = layout(names[number]).fields, bytearray(rng.randbytes(layout(names[number]).payload.size))
        place = 0
        for field in fields:
            if field.name in ("target_system", "target_component"):
                payload[place] = served.instance + 1 if field.name == "target_system" else 1
            if field.name == "command":
                struct.pack_into("<H", payload, place, rng.choice(list(KINDS)))
            place += struct.calcsize(f"<{field.length or ''}{field.code}")
        client.socket.sendto(frame(number, extras[number], bytes(payload), index & 0xFF, 245, 190), address)
        if index % 20 == 0:
            served.step()
            client.received.clear()
    served.run(6.0)
    client.received.clear()
    client.expect("HEARTBEAT")


def test_a_client_that_vanishes_is_forgotten(served, client):
    served.run(1.0)
    assert len(served.endpoint.channels[1].link.clients) == 1
    client.socket.close()
    served.clients.remove(client)
    served.run(1.0)
    assert served.endpoint.channels[1].link.clients == ()


@pytest.mark.parametrize(("length", "sizes"), [(50, [50]), (51, [50, 1]), (100, [50, 50, 0]), (120, [50, 50, 20])])
def test_long_texts_come_in_chunks_of_which_the_last_is_not_full(served, client, length, sizes):
    """A full chunk with an ID announces another one."""
    served.run(0.1)
    client.received.clear()
    served.endpoint._say("x" * length)
    served.run(0.1)
    found = [message for message in client.received if message.get_type() == "STATUSTEXT"]
    assert [len(message.text) for message in found] == sizes
    assert [message.chunk_seq for message in found] == list(range(len(sizes)))
    assert [message.id != 0 for message in found] == [len(sizes) > 1] * len(sizes)


def resident_mb():
    """Return the memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.slow
@pytest.mark.parametrize("is_recorded", [False, True])
def test_memory_does_not_grow_while_a_vehicle_is_served(served_instance, tmp_path, is_recorded):
    """An hour of simulated time with a client, all streams and setpoints at 50 Hz; 5 MB for what Python keeps."""
    served = Served(served_instance, record=tmp_path if is_recorded else None, plots=False)
    try:
        client = served.client(mute=False)
        sizes = []
        for _ in range(12):
            end_us = served.vehicle.time_us + 300_000_000
            while served.vehicle.time_us < end_us:
                client.send("set_position_target_local_ned", 0, served.instance + 1, 1, 1, 0x9F8, *(0.0,) * 11)
                served.run(0.02)
                client.received.clear()
            sizes.append(resident_mb())
        assert len(served.vehicle.rows) > 150_000
    finally:
        served.close()
    assert max(sizes[6:]) < max(sizes[:6]) + 5.0
