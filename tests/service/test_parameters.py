"""The parameter protocol of a served vehicle, as PX4 answers."""

import struct

import pytest
from mavlink_client import Served

REAL32, INT32 = 9, 6


def as_real(value):
    return struct.unpack("<f", struct.pack("<i", value))[0]


def as_int(value):
    return struct.unpack("<i", struct.pack("<f", value))[0]


def read(client, name, index=-1):
    client.send("param_request_read", client.served.instance + 1, 1, name.encode(), index)
    return client.expect("PARAM_VALUE")


def change(client, name, value, kind):
    client.send("param_set", client.served.instance + 1, 1, name.encode(), value, kind)


def test_the_list_begins_with_the_hash_and_is_complete_and_sorted(served, client):
    client.send("param_request_list", served.instance + 1, 1)
    first = client.expect("PARAM_VALUE")
    assert (first.param_id, first.param_index, first.param_type) == ("_HASH_CHECK", 65_535, 5)
    found = [client.expect("PARAM_VALUE") for _ in range(first.param_count)]
    assert [value.param_index for value in found] == list(range(first.param_count))
    names = [value.param_id for value in found]
    assert names == sorted(names)
    assert {*served.vehicle.parameters} < {*names}
    assert {value.param_type for value in found} == {REAL32, INT32}


def test_parameters_that_qgroundcontrol_needs_are_there(client):
    """Otherwise it shows that configuration tasks remain."""
    for name in ("SYS_AUTOSTART", "CAL_ACC0_ID", "CAL_GYRO0_ID", "CAL_MAG0_ID"):
        assert as_int(read(client, name).param_value) != 0
    assert as_int(read(client, "COM_RC_IN_MODE").param_value) == 1
    for name in ("RTL_RETURN_ALT", "COM_LOW_BAT_ACT", "BAT_LOW_THR", "GF_ACTION", "NAV_RCL_ACT", "NAV_DLL_ACT"):
        assert read(client, name).param_id == name


def test_a_value_can_be_read_by_name_and_by_index(client):
    by_name = read(client, "MPC_XY_CRUISE")
    assert by_name.param_value == pytest.approx(5.0)
    assert read(client, "", by_name.param_index).param_id == "MPC_XY_CRUISE"


def test_the_hash_changes_with_a_value(client):
    before = read(client, "_HASH_CHECK")
    change(client, "MPC_XY_CRUISE", 6.0, REAL32)
    client.expect("PARAM_VALUE")
    assert read(client, "_HASH_CHECK").param_value != before.param_value


@pytest.mark.parametrize(("name", "value", "kind"), [("MPC_XY_CRUISE", 7.5, REAL32), ("COM_LOW_BAT_ACT", 1, INT32)])
def test_a_change_is_shown_on_both_links_and_reaches_the_vehicle(served, client, name, value, kind):
    other = served.client("ground", 255)
    change(client, name, value if kind == REAL32 else as_real(value), kind)
    for each in (client, other):
        shown = each.expect("PARAM_VALUE", param_id=name)
        assert (shown.param_value if kind == REAL32 else as_int(shown.param_value)) == value
    assert served.vehicle.parameters[name] == value


def test_a_parameter_without_effect_can_be_changed(served, client):
    change(client, "SYS_AUTOSTART", as_real(4010), INT32)
    assert as_int(client.expect("PARAM_VALUE", param_id="SYS_AUTOSTART").param_value) == 4010
    assert as_int(read(client, "SYS_AUTOSTART").param_value) == 4010


def test_unknown_names_and_wrong_types_are_refused(served, client):
    client.send("param_request_read", served.instance + 1, 1, b"NO_SUCH", -1)
    assert client.expect("PARAM_ERROR").error == 1
    client.send("param_request_read", served.instance + 1, 1, b"", 5_000)
    assert client.expect("PARAM_ERROR").error == 1
    change(client, "NO_SUCH", 1.0, REAL32)
    assert client.expect("PARAM_ERROR", param_id="NO_SUCH").error == 1
    change(client, "MPC_XY_CRUISE", as_real(3), INT32)
    assert client.expect("PARAM_ERROR", param_id="MPC_XY_CRUISE").error == 7


def test_a_list_is_sent_only_to_who_asks_this_vehicle(served, client):
    client.send("param_request_list", 0, 0)
    client.send("param_request_list", served.instance + 2, 1)
    client.expect_none("PARAM_VALUE")


def test_a_changed_cruise_speed_is_flown(served_instance):
    """Twice to a place 60 m away, at 3 and at 8 m/s."""
    speeds = []
    for cruise in (3.0, 8.0):
        served = Served(served_instance)
        try:
            client = served.client()
            change(client, "MPC_XY_CRUISE", cruise, REAL32)
            client.expect("PARAM_VALUE", param_id="MPC_XY_CRUISE")
            assert client.command(400, 1.0) == 0
            assert client.command(22, *(float("nan"),) * 7) == 0
            served.run(12.0)
            home = served.vehicle.status.home
            goal = (round(1e7 * home.lat_deg) + 5_400, round(1e7 * home.lon_deg), home.alt_amsl_m + 10.0)
            assert client.command_int(192, 5, (-1.0, 1.0, 0.0, float("nan")), *goal) == 0
            fastest = 0.0
            for _ in range(30):
                served.run(1.0)
                fastest = max(fastest, served.vehicle.status.vel_ned[0])
            speeds.append(fastest)
        finally:
            served.close()
    assert speeds[0] == pytest.approx(3.0, abs=0.5)
    assert speeds[1] == pytest.approx(8.0, abs=0.8)
