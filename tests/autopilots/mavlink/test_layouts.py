"""Layouts of messages: pymavlink's, and those that it lacks."""

import pytest
from pymavlink.dialects.v20 import common, development

from px4lockstep.autopilots.mavlink.frame import frame
from px4lockstep.autopilots.mavlink.layouts import DEFINITIONS, layout


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_definition_equals_that_of_pymavlink_where_it_has_one(name):
    """Its version may lack the last extension fields; the checksum byte covers all others."""
    kind = getattr(development, f"MAVLink_{name.lower()}_message", None)
    if kind is not None:
        own = layout(name)
        assert (own.number, own.crc_extra) == (kind.id, kind.crc_extra)
        assert [field.name for field in own.fields][: len(kind.ordered_fieldnames)] == kind.ordered_fieldnames
        assert own.payload.format.startswith(kind.unpacker.format)


def test_checksum_bytes_of_messages_that_pymavlink_lacks_are_those_of_the_c_library():
    """From the headers of c_library_v2, `MAVLINK_MSG_ID_…_CRC`."""
    known = {"ESC_INFO": 251, "ESC_STATUS": 10, "PROTOCOL_VERSION": 217}
    assert {name: layout(name).crc_extra for name in known} == known


def test_values_by_name_are_packed_as_by_pymavlink():
    """Numbers, arrays, text, and a field without a value, which is zero."""
    mav = common.MAVLink(None, 3, 1)
    theirs = mav.battery_status_encode(0, 1, 2, 300, list(range(10)), -5, 77, -1, 42, 9, 3, [1, 2, 3, 4]).pack(mav)
    battery = layout("BATTERY_STATUS")
    values = {"battery_function": 1, "type": 2, "temperature": 300, "voltages": range(10), "current_battery": -5}
    values |= {"current_consumed": 77, "energy_consumed": -1, "battery_remaining": 42, "time_remaining": 9}
    values |= {"charge_state": 3, "voltages_ext": (1, 2, 3, 4)}
    assert frame(battery.number, battery.crc_extra, battery.pack(values), 0, 3, 1) == theirs
    theirs = mav.param_value_encode(b"MPC_XY_CRUISE", 5.0, 9, 10, 2).pack(mav)
    param = layout("PARAM_VALUE")
    packed = param.pack(
        {"param_id": b"MPC_XY_CRUISE", "param_value": 5.0, "param_type": 9, "param_count": 10, "param_index": 2}
    )
    assert frame(param.number, param.crc_extra, packed, 0, 3, 1) == theirs
