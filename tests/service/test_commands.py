"""The command protocol of a served vehicle: acknowledgements and refusals as PX4's, and what the vehicle does."""

import math

import pytest

from px4lockstep.scenario.commands import Item, SetMission

NAN = math.nan
HOLD, LAND, RETURN, ORBIT, POSITION = 4, 18, 5, 21, 2


def fly(client, seconds=15.0):
    assert client.command(400, 1.0) == 0
    assert client.command(22, *(NAN,) * 7) == 0
    client.served.run(seconds)


def status(client):
    return client.served.vehicle.status


def test_arm_and_disarm(client):
    assert client.command(400, 1.0) == 0
    assert client.expect("HEARTBEAT", type=2, base_mode=157).system_status == 4
    assert client.command(400, 0.0) == 0
    client.expect("HEARTBEAT", type=2, base_mode=29)


def test_disarming_in_flight_is_refused_with_a_text_unless_forced(served, client):
    fly(client)
    client.received.clear()
    client.send("command_long", served.instance + 1, 1, 400, 0, 0.0, *(0.0,) * 6)
    served.run(0.5)
    acks = [m.result for m in client.received if m.get_type() == "COMMAND_ACK"]
    assert acks == [1]
    assert any("Disarming denied" in text for text in client.texts)
    assert status(client).armed
    client.received.clear()
    assert client.command(400, 0.0, 21196.0) == 0
    served.run(0.1)
    assert not status(client).armed


def test_take_off_holds_at_its_height_and_landing_disarms(served, client):
    fly(client, 12.0)
    assert status(client).nav_state == HOLD
    assert -status(client).pos_ned[2] == pytest.approx(2.5, abs=0.5)
    assert client.expect("EXTENDED_SYS_STATE").landed_state in (1, 2, 3)
    assert client.command(21, *(NAN,) * 7) == 0
    served.run(1.0)
    assert status(client).nav_state == LAND
    served.run(20.0)
    assert (status(client).armed, status(client).nav_state, status(client).landed_state) == (False, HOLD, 1)


def test_take_off_to_a_height_above_sea_level(served, client):
    """As QGroundControl commands it."""
    assert client.command(400, 1.0) == 0
    assert client.command(22, -1.0, 0.0, 0.0, NAN, NAN, NAN, 488.0 + 8.0) == 0
    served.run(20.0)
    assert -status(client).pos_ned[2] == pytest.approx(8.0, abs=0.6)


def test_go_to_reaches_its_place(served, client):
    fly(client)
    x, y = round(47.397742e7) + 3_000, round(8.545594e7) + 2_000
    assert client.command_int(192, 5, (-1.0, 1.0, 0.0, NAN), x, y, 500.0) == 0
    served.run(30.0)
    north, east, down = status(client).pos_ned
    # 1e-7 degrees are 1.112 cm of latitude, and that times the cosine of the latitude in longitude
    assert (north, east) == (pytest.approx(33.4, abs=1.0), pytest.approx(15.05, abs=1.0))
    assert -down == pytest.approx(12.0, abs=1.0)
    assert status(client).nav_state == HOLD


def test_orbit_circles_its_centre(served, client):
    fly(client)
    x, y = round(47.397742e7), round(8.545594e7)
    assert client.command_int(34, 5, (10.0, 2.0, 0.0, NAN), x, y, 498.0) == 0
    served.run(20.0)
    assert status(client).nav_state == ORBIT
    client.expect("HEARTBEAT", type=2, custom_mode=3 << 16 | 1 << 24)
    for _ in range(10):
        served.run(1.0)
        assert math.hypot(*status(client).pos_ned[:2]) == pytest.approx(10.0, abs=1.5)
        assert math.hypot(*status(client).vel_ned[:2]) == pytest.approx(2.0, abs=0.7)
    shown = client.expect("ORBIT_EXECUTION_STATUS")
    assert (shown.radius, shown.frame, shown.z) == (10.0, 0, pytest.approx(498.0, abs=0.1))
    assert (shown.x, shown.y) == (pytest.approx(x, abs=2), pytest.approx(y, abs=2))
    client.received.clear()
    served.run(5.0)
    assert 24 <= len([m for m in client.received if m.get_type() == "ORBIT_EXECUTION_STATUS"]) <= 26  # 5 Hz
    assert client.set_mode(4, 3) == 0
    served.run(0.5)
    client.expect_none("ORBIT_EXECUTION_STATUS")


def test_altitude_region_of_interest_and_go_to_flags(served, client):
    """186, and 192 without a change of mode, in Hold only; 195 and 197 always."""
    fly(client)
    assert client.command(186, 498.0) == 0
    served.run(10.0)
    assert -status(client).pos_ned[2] == pytest.approx(10.0, abs=0.7)
    x, y = round(47.397742e7) + 3_000, round(8.545594e7)
    assert client.command_int(195, 5, (0.0, 0.0, 0.0, 0.0), x, y, 488.0) == 0
    assert client.command(197) == 0
    assert client.command_int(34, 5, (10.0, 2.0, 0.0, NAN), x, y, 498.0) == 0
    assert client.command(186, 495.0) == 1
    assert client.command_int(192, 5, (-1.0, 0.0, 0.0, NAN), x, y, 498.0) == 2
    assert client.command_int(192, 5, (-1.0, 1.0, 0.0, NAN), x, y, 498.0) == 0
    served.run(15.0)
    assert status(client).pos_ned[0] == pytest.approx(33.4, abs=1.0)


def test_a_takeoff_of_a_vtol_is_not_answered(served, client):
    """As by PX4 on a multicopter; other unknown commands are unsupported."""
    client.send("command_long", served.instance + 1, 1, 84, 0, *(NAN,) * 7)
    client.expect_none("COMMAND_ACK")
    assert client.command(410) == 3


def test_a_go_to_outside_the_fence_is_accepted_with_a_text(served, client):
    """As by PX4, whose commander accepts it and whose navigator does not fly it."""
    fly(client)
    assert client.command(420, 0.0) == 3
    client.send("param_set", served.instance + 1, 1, b"GF_MAX_HOR_DIST", 20.0, 9)
    served.run(0.5)
    client.received.clear()
    place = (round(47.397742e7) + 5_000, round(8.545594e7), 498.0)
    client.send("command_int", served.instance + 1, 1, 5, 192, 0, 0, -1.0, 1.0, 0.0, NAN, *place)
    served.run(5.0)
    assert [m.result for m in client.received if m.get_type() == "COMMAND_ACK"] == [0]
    assert "Reposition is outside geofence" in client.texts
    assert abs(status(client).pos_ned[0]) < 1.0
    assert status(client).nav_state == HOLD


def test_return_comes_back_and_lands(served, client):
    fly(client)
    assert client.command_int(192, 5, (-1.0, 1.0, 0.0, NAN), round(47.397742e7) + 3_000, round(8.545594e7), 500.0) == 0
    served.run(25.0)
    assert client.command(20) == 0
    served.run(1.0)
    assert status(client).nav_state == RETURN
    served.run(110.0)
    assert not status(client).armed
    assert math.hypot(*status(client).pos_ned[:2]) < 1.0


def test_speed_change_is_flown(served, client):
    fly(client)
    assert client.command_int(192, 5, (-1.0, 1.0, 0.0, NAN), round(47.397742e7) + 8_000, round(8.545594e7), 492.0) == 0
    served.run(6.0)
    assert status(client).vel_ned[0] > 3.5
    assert client.command(178, 1.0, 2.0, -1.0) == 0
    served.run(6.0)
    assert status(client).vel_ned[0] == pytest.approx(2.0, abs=0.5)


def test_home_can_be_set(served, client):
    assert client.command_int(179, 5, (0.0, 0.0, 0.0, 0.0), 474000000, 85500000, 480.0) == 0
    home = client.requested("HOME_POSITION", 512, 242.0)
    assert (home.latitude, home.longitude, home.altitude) == (474000000, 85500000, 480_000)
    assert client.command(179, 1.0) == 0
    served.run(0.1)
    assert status(client).home.lat_deg == pytest.approx(47.397742, abs=1e-5)


def test_modes_are_set_by_all_three_messages(served, client):
    client.send("set_mode", served.instance + 1, 1, 3 << 16)
    assert client.expect("COMMAND_ACK", command=176).result == 0
    served.run(0.1)
    assert status(client).nav_state == POSITION
    assert client.set_mode(4, 3) == 0
    served.run(0.1)
    assert status(client).nav_state == HOLD
    assert client.command(262, 1.0) == 0  # standard mode: position
    served.run(0.1)
    assert status(client).nav_state == POSITION


def test_unknown_modes_and_commands_are_refused(client):
    assert client.set_mode(9, 0) == 1
    assert client.command(176, 0.0, 4.0, 3.0) == 1  # not given as PX4's mode
    for number in (410, 520, 115, 193, 2000, 60_000):
        assert client.command(number) == 3
    assert client.command(401) == 0
    assert client.command(245) == 0


def test_mission_mode_without_a_mission(served, client):
    """Disarmed, every mode is accepted, but arming then is not; armed, the mode is refused with a text."""
    assert client.set_mode(4, 4) == 0
    assert client.command(400, 1.0) == 1
    assert client.set_mode(4, 3) == 0
    assert client.command(400, 1.0) == 0
    client.received.clear()
    client.send("command_long", served.instance + 1, 1, 176, 0, 129.0, 4.0, 4.0, *(0.0,) * 4)
    served.run(0.5)
    assert [m.result for m in client.received if m.get_type() == "COMMAND_ACK"] == [1]
    assert client.texts


def test_texts_need_a_ground_station_on_the_link(served):
    """As with PX4: a client that sends no heartbeats gets none."""
    client, silent = served.client(), served.client("ground", 255)
    silent.beat = lambda: None
    served.step()
    served.endpoint.channels[0].hear_station(-10.0)
    assert client.command(400, 1.0) == 0
    served.run(1.0)
    assert any("Armed" in text for text in client.texts)
    assert silent.texts == []


def test_a_failure_is_injected(served, client):
    fly(client)
    assert client.command(420, 101.0, 1.0, 1.0) == 0  # motor 1 off
    served.run(3.0)
    assert status(client).motors[0] >= 0.0
    assert abs(status(client).omega_body[2]) > 1.0 or status(client).is_crashed
    assert client.command(420, 102.0, 1.0) == 3


def test_a_crash_does_not_end_the_service_and_a_reboot_resets_the_vehicle(served, client):
    fly(client)
    assert client.command(420, 101.0, 1.0, 1.0) == 0
    assert client.command(420, 101.0, 1.0, 2.0) == 0
    served.run(10.0)
    assert status(client).is_crashed
    before_us = served.vehicle.time_us
    client.expect("HEARTBEAT", type=2)
    assert client.command(246, 1.0) == 0
    served.run(1.0)
    assert not status(client).is_crashed
    assert not status(client).armed
    assert served.vehicle.time_us > before_us
    assert abs(status(client).pos_ned[2]) < 0.5
    fly(client)
    assert -status(client).pos_ned[2] == pytest.approx(2.5, abs=0.5)


def test_a_reboot_keeps_parameters_and_missions_and_clients_stay_connected(served, client):
    """What another client downloads afterwards is what the vehicle has, also if it was set in Python."""
    other = served.client("ground", 255)
    items = (Item(6, 22, (0.0, 0.0, 0.0, NAN), 47.397742, 8.545594, 10.0), Item(2, 20))
    served.vehicle.submit(SetMission(items, 77))
    client.send("param_set", served.instance + 1, 1, b"MIS_TAKEOFF_ALT", 4.0, 9)
    served.run(0.5)
    assert client.command(246, 1.0) == 0
    served.run(1.5)
    other.received.clear()
    other.expect("HEARTBEAT", type=2)
    assert other.expect("MISSION_CURRENT").total == 2
    other.send("mission_request_list", served.instance + 1, 1, 0)
    assert other.expect("MISSION_COUNT").count == 2
    other.send("mission_request_int", served.instance + 1, 1, 1, 0)
    other.send("mission_request_int", served.instance + 1, 1, 0, 0)
    assert other.expect("MISSION_ITEM_INT", seq=0).command == 22
    other.send("mission_ack", served.instance + 1, 1, 0, 0)
    fly(client)
    assert -status(client).pos_ned[2] == pytest.approx(4.2, abs=0.6)
    assert client.set_mode(4, 4) == 0
    assert served.vehicle.status.mission.state == 3


def test_a_reboot_in_flight_is_refused(served, client):
    fly(client)
    assert client.command(246, 1.0) == 1
    assert status(client).armed
