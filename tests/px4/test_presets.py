"""Topics exchanged with PX4: presets, and topics listed in the spec file."""

import pytest
from spec_files import write

from px4lockstep.errors import InputError
from px4lockstep.px4 import shipped_layouts
from px4lockstep.px4.presets import ACTUATORS_ONLY, PRESETS, STATE_INJECTION, interface_of
from px4lockstep.spec.load import load_spec


def asked(tmp_path, text):
    """Return the interface for a spec file."""
    uorb = load_spec(write(tmp_path, f'extends = ["iris"]\n{text}')).px4.uorb
    return interface_of(uorb.pubs, uorb.subs, uorb.preset)


def test_the_presets_have_the_topics_that_a_host_needs():
    """Eleven published and ten read, or only two read."""
    assert [each.topic for each in STATE_INJECTION.published] == [
        *("battery_status", "vehicle_attitude", "vehicle_local_position", "vehicle_global_position"),
        *("vehicle_angular_velocity", "vehicle_land_detected", "vehicle_status", "vehicle_control_mode"),
        *("actuator_armed", "home_position", "geofence_status"),
    ]
    assert [each.topic for each in STATE_INJECTION.read] == [
        *("actuator_motors", "actuator_servos", "vehicle_torque_setpoint", "vehicle_thrust_setpoint"),
        *("vehicle_attitude_setpoint", "vehicle_rates_setpoint", "trajectory_setpoint"),
        *("position_setpoint_triplet", "mission_result", "vehicle_command"),
    ]
    assert (ACTUATORS_ONLY.published, [each.topic for each in ACTUATORS_ONLY.read]) == (
        (),
        ["actuator_motors", "actuator_servos"],
    )
    assert list(PRESETS) == ["state_injection", "actuators_only"]


@pytest.mark.parametrize("topic", STATE_INJECTION.fields_used())
def test_every_field_of_a_preset_exists(topic):
    """Its topic is built in, and every published message has its timestamp written."""
    fields = STATE_INJECTION.fields_used()[topic]
    there = shipped_layouts()[topic].fields()
    assert [name for name in fields if name not in there] == []
    assert len(set(fields)) == len(fields)
    assert "timestamp" in fields or topic not in [each.topic for each in STATE_INJECTION.published]


def test_a_file_without_topics_gets_state_injection(tmp_path):
    assert asked(tmp_path, "") is STATE_INJECTION


def test_a_file_gets_the_topics_it_lists(tmp_path):
    """Topics are selected by message type, as in files of PX4Lockstep.jl; keys are only labels."""
    found = asked(
        tmp_path,
        "[px4.uorb]\n"
        'pubs = [{ key = "main", type = "BatteryStatusMsg", instance = 0 },\n'
        '        { key = "second", type = "BatteryStatus", instance = 1, queue_size = 1 }]\n'
        'subs = [{ key = "torque_sp", type = "VehicleTorqueSetpointMsg" },\n'
        '        { key = "vehicle_status", type = "VehicleStatusMsg", instance = 2 }]\n',
    )
    assert [(each.topic, each.key, each.instance, each.queue) for each in found.published] == [
        ("battery_status", "main", 0, 0),
        ("battery_status", "second", 1, 1),
    ]
    assert found.published[0].fields == STATE_INJECTION.published[0].fields
    assert [(each.topic, each.key, each.instance, each.fields) for each in found.read] == [
        ("vehicle_torque_setpoint", "torque_sp", 0, ("xyz",)),
        ("vehicle_status", "vehicle_status", 2, ()),
    ]
    assert found.fields_used()["vehicle_status"] == ()


def test_listed_topics_override_those_of_a_preset(tmp_path):
    """Without lists the preset applies unchanged; other topics of the preset are kept."""
    assert asked(tmp_path, '[px4.uorb]\npreset = "actuators_only"\n') is ACTUATORS_ONLY
    found = asked(
        tmp_path,
        '[px4.uorb]\npreset = "state_injection"\n'
        'pubs = [{ key = "slow", type = "BatteryStatus", period_s = 0.1, phase_s = 0.02 }]\n'
        'subs = [{ key = "motors", type = "ActuatorMotors", instance = 1 }]\n',
    )
    usual = [each.topic for each in STATE_INJECTION.published]
    assert [each.topic for each in found.published] == [*usual[1:], "battery_status"]
    assert [(each.period_us, each.phase_us) for each in found.published] == [(0, 0)] * 10 + [(100_000, 20_000)]
    assert [(each.topic, each.instance) for each in found.read][-1] == ("actuator_motors", 1)
    assert len(found.read) == len(STATE_INJECTION.read)
    few = asked(tmp_path, '[px4.uorb]\npreset = "actuators_only"\npubs = [{ key = "a", type = "VehicleAttitude" }]\n')
    assert ([each.topic for each in few.published], few.read) == (["vehicle_attitude"], ACTUATORS_ONLY.read)


def test_any_topic_can_be_read_and_is_logged_unless_the_log_has_it(tmp_path):
    """By the name of its message, known here or not, or by its own; `log` overrides the default."""
    found = asked(
        tmp_path,
        '[px4.uorb]\npreset = "state_injection"\n'
        'subs = [{ key = "a", type = "ControlAllocatorStatus" }, { key = "b", type = "NavigatorMissionItemMsg" },\n'
        '        { key = "c", type = "VehicleAttitude", topic = "vehicle_attitude_groundtruth" },\n'
        '        { key = "d", type = "ControlAllocatorStatus", instance = 1 },\n'
        '        { key = "e", type = "ActuatorMotors", log = true }, { key = "f", type = "ActuatorServos" },\n'
        '        { key = "g", type = "VehicleCommand" }]\n',
    )
    assert [(each.topic, each.instance, each.is_logged) for each in found.read][-7:] == [
        ("control_allocator_status", 0, True),
        ("navigator_mission_item", 0, True),
        ("vehicle_attitude_groundtruth", 0, True),
        ("control_allocator_status", 1, True),
        ("actuator_motors", 0, True),
        ("actuator_servos", 0, False),
        ("vehicle_command", 0, True),
    ]
    assert not any(each.is_logged for each in STATE_INJECTION.read)


def test_a_subscription_that_has_no_effect_is_an_error(tmp_path):
    """Listed twice, not logged although nothing uses it, or with the topic of another message."""
    with pytest.raises(InputError) as caught:
        asked(
            tmp_path,
            "[px4.uorb]\n"
            'subs = [{ key = "a", type = "TakeoffStatus" }, { key = "b", type = "TakeoffStatus" },\n'
            '        { key = "c", type = "VehicleOdometry", log = false },\n'
            '        { key = "d", type = "VehicleStatus", topic = "vehicle_attitude" }]\n',
        )
    assert str(caught.value).splitlines() == [
        "px4.uorb.subs[1]: instance 0 of takeoff_status is already read; list it once",
        "px4.uorb.subs[2]: log = false, but the simulator itself does not use vehicle_odometry; remove the entry",
        "px4.uorb.subs[3]: topic = 'vehicle_attitude' is a topic of VehicleAttitude, but type = 'VehicleStatus'",
    ]


def test_all_errors_of_a_file_are_in_one_report(tmp_path):
    """Each with its location, its value and what is allowed."""
    with pytest.raises(InputError) as caught:
        asked(
            tmp_path,
            "[px4.uorb]\n"
            'pubs = [{ key = "a", type = "BatteryStatu" }, { key = "b", type = "VehicleImuMsg" },\n'
            '        { key = "c", type = "BatteryStatus", instance = 1 }, { key = "c", type = "HomePosition" },\n'
            '        { key = "d", type = "BatteryStatus", instance = 1 }, { key = "e", type = "VehicleStatus" },\n'
            '        { key = "f", type = "VehicleStatus", instance = 1 }, { key = "g", type = "BatteryStatus" },\n'
            '        { key = "h", type = "BatteryStatus" }]\n'
            'subs = [{ key = "vehicle_status", type = "VehicleAttitude" }]\n',
        )
    lines = str(caught.value).splitlines()
    assert "px4.uorb.pubs[0]: type = 'BatteryStatu' is not a known message; did you mean 'BatteryStatus'?" in lines
    assert any(
        line.startswith("px4.uorb.pubs[1]: the simulator can't publish vehicle_imu; it can pub") for line in lines
    )
    assert "px4.uorb.pubs[3]: key = 'c' is already used by px4.uorb.pubs[2]; use a unique key" in lines
    assert "px4.uorb.pubs[4]: instance 1 of battery_status is already published; use another instance" in lines
    assert "px4.uorb.subs[0]: key = 'vehicle_status' is a topic of VehicleStatus, but type = 'VehicleAttitude'" in lines
    assert "px4.uorb.pubs[6]: vehicle_status is already published; PX4 reads only one instance of it" in lines
    assert "px4.uorb.pubs[8]: any instance of battery_status is already published; use another instance" in lines
    assert len(lines) == 7
