"""Acceptance flow 11: what QGroundControl asks of a vehicle, in its order, with a vehicle in a fresh process."""

import pytest
from served_processes import served_process
from wire_client import GROUND, WireClient

from px4lockstep.autopilots.mavlink.modes import LISTED

pytestmark = pytest.mark.process

LOADED_S = 20.0


def requested(station, name, number, index=0.0):
    """Request a message, and return it; its acknowledgement comes after it."""
    station.send("command_long", station.target, 1, 512, 0, float(number), float(index), *(0.0,) * 5)
    found = station.wait(name)
    assert station.wait("COMMAND_ACK").result == 0
    return found


def all_parameters(station):
    """Request all parameters, and return them by index; the hash has none."""
    station.send("param_request_list", station.target, 1)
    found = {}
    while len(found) < found.get(0, 65_535):
        value = station.wait("PARAM_VALUE", timeout_s=LOADED_S)
        if value.param_index != 65_535:
            found[value.param_index + 1] = value.param_id
            found[0] = value.param_count + 1
    del found[0]
    return found


def test_a_ground_station_connects_loads_everything_and_flies(served_instance):
    with (
        served_process(served_instance, "--speed", "5") as served,
        WireClient(served_instance, GROUND, 255) as station,
    ):
        target = (station.target, 1)
        beat = station.wait("HEARTBEAT")
        assert (beat.type, beat.autopilot, beat.custom_mode) == (2, 12, 4 << 16 | 3 << 24)
        assert requested(station, "AUTOPILOT_VERSION", 148).flight_sw_version == 0x01120080
        modes = [requested(station, "AVAILABLE_MODES", 435, index) for index in range(1, len(LISTED) + 1)]
        assert [mode.mode_index for mode in modes] == list(range(1, modes[0].number_modes + 1))
        assert station.command(512, 397.0) == 2  # no component metadata

        station.send("param_request_read", *target, b"_HASH_CHECK", -1)
        assert station.wait("PARAM_VALUE").param_id == "_HASH_CHECK"
        names = all_parameters(station)
        assert sorted(names) == list(range(1, len(names) + 1))
        assert {"SYS_AUTOSTART", "CAL_GYRO0_ID", "COM_RC_IN_MODE", "RTL_RETURN_ALT", "GF_ACTION"} <= {*names.values()}
        for kind in range(3):
            station.send("mission_request_list", *target, kind)
            assert station.wait("MISSION_COUNT", lambda count, kind=kind: count.mission_type == kind).count == 0
            station.send("mission_ack", *target, 0, kind)

        assert station.command(511, 30.0, 200_000.0) == 0
        station.send("command_long", *target, 510, 0, 30.0, *(0.0,) * 6)
        assert station.wait("MESSAGE_INTERVAL").interval_us == 200_000
        assert station.wait("COMMAND_ACK").result == 0
        assert station.command(31_999) == 3
        station.send("set_mode", station.target, 1, 4 << 16 | 5 << 24)
        station.wait("HEARTBEAT", lambda beat: beat.custom_mode == 4 << 16 | 5 << 24)
        station.send("set_mode", station.target, 1, 4 << 16 | 3 << 24)
        station.wait("HEARTBEAT", lambda beat: beat.custom_mode == 4 << 16 | 3 << 24)

        station.take_off()
        assert station.command(400, 0.0) == 1
        station.wait("STATUSTEXT", lambda text: "Disarming denied" in text.text)
        assert station.command(176, 1.0, 6.0) == 1  # offboard without setpoints
        station.land()
        assert served.end() == 0
        assert "x500: flown" in served.output
