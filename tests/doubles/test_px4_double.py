"""The conformance double itself: its ABI, parameters, missions and uORB, as in `libpx4_lockstep`.

Its checks of a host are tested in `test_px4_double_checks.py`, its flights and misbehaviour in
`test_px4_double_flights.py`.
"""

import ctypes
import shutil

import numpy as np
import pytest
from px4_double import build_double, message_dtype, topics
from px4_double_host import CONFIG, INJECTED, MANUAL, MISSION, READ, Config, Host, load, messages
from px4_flights import MISSIONS

from px4lockstep.px4.parameters import known_parameters, resolve

TICK_US = 4_000


@pytest.fixture
def path(tmp_path):
    return build_double(tmp_path)


@pytest.fixture
def host(path):
    return Host(path)


def fly_on(host, n, start=0, **state):
    """Publish a state for some ticks; return the time of the next."""
    for k in range(start, start + n):
        host.publish_all(messages(k * TICK_US, **state))
        assert host.step(k * TICK_US) == 0
    return start + n


# -- life --------------------------------------------------------------------------------------------------------


def test_it_reports_version_and_sizes(path):
    library = load(path)
    sizes = [ctypes.c_uint32(99) for _ in range(3)]
    library.px4_lockstep_sizes(*map(ctypes.byref, sizes))
    assert library.px4_lockstep_abi_version() == 3
    assert [size.value for size in sizes] == [0, 0, 36]
    assert ctypes.sizeof(Config) == 36


def test_a_second_handle_is_rejected(path):
    library = load(path)
    first = library.px4_lockstep_create(None)
    assert first is not None
    assert library.px4_lockstep_create(None) is None
    library.px4_lockstep_destroy(ctypes.c_void_p(first))
    assert library.px4_lockstep_create(None) is not None


def test_a_commander_is_rejected(path):
    assert load(path).px4_lockstep_create(ctypes.byref(Config(1, 1, *CONFIG[2:]))) is None


def test_a_second_life_keeps_parameters_and_uses_new_ids(path):
    first = Host(path)
    first.set_params([("MPC_XY_CRUISE", 7.0)])
    publisher = first.publishers["vehicle_attitude"]
    first.close()
    second = Host(path)
    value = ctypes.c_float()
    assert second.call("param_get_f32", b"MPC_XY_CRUISE", ctypes.byref(value)) == 0
    assert value.value == 7.0
    assert second.publishers["vehicle_attitude"] == publisher + len(INJECTED)
    assert second.publish("vehicle_attitude", messages(0)["vehicle_attitude"], publisher) == -3


def test_a_closed_handle_is_rejected(host):
    host.close()
    assert host.step(0) == -1
    assert host.call("param_notify") == -1


def test_two_copies_have_separate_states(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
    hosts = [Host(build_double(tmp_path / name)) for name in "ab"]
    hosts[0].set_params([("CA_ROTOR_COUNT", 4)])
    value = ctypes.c_int32()
    assert hosts[1].call("param_get_i32", b"CA_ROTOR_COUNT", ctypes.byref(value)) == 0
    assert value.value == 0


def test_without_a_compiler_the_build_fails_with_a_remedy(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(AssertionError, match="apt-get install gcc"):
        build_double()


# -- parameters --------------------------------------------------------------------------------------------------


def test_parameters_have_px4s_types_and_defaults(host):
    for name, default in resolve({}).items():
        is_int = known_parameters()[name].kind == "int32"
        kinds = [("param_get_i32", ctypes.c_int32()), ("param_get_f32", ctypes.c_float())]
        (right, value), (wrong, other) = kinds if is_int else kinds[::-1]
        assert host.call(right, name.encode(), ctypes.byref(value)) == 0
        assert value.value == default, name
        assert host.call(wrong, name.encode(), ctypes.byref(other)) == -3, name


@pytest.mark.parametrize(
    ("function", "value"), [("param_set_i32", ctypes.c_int32(1)), ("param_set_f32", ctypes.c_float(1.0))]
)
def test_codes_of_setting_a_parameter(host, function, value):
    of_other_type = b"MPC_XY_P" if function.endswith("i32") else b"CA_ROTOR_COUNT"
    assert host.call(function, None, value) == -1
    assert host.call(function, b"NOT_A_PARAM", value) == -2
    assert host.call(function, of_other_type, value) == -3
    assert getattr(host.library, f"px4_lockstep_{function}")(None, b"MPC_XY_P", value) == -1


def test_codes_of_reading_a_parameter(host):
    value = ctypes.c_float()
    assert host.call("param_get_f32", b"MPC_XY_P", None) == -1
    assert host.call("param_get_f32", b"NOT_A_PARAM", ctypes.byref(value)) == -2
    assert host.call("param_notify") == 0


def test_staged_parameters_are_applied_in_create(path):
    library = load(path)
    library.param_control_autosave(False)
    assert library.px4_lockstep_param_preinit_set_f32(b"MPC_XY_P", ctypes.c_float(0.5)) == 0
    assert library.px4_lockstep_param_preinit_set_i32(b"CA_ROTOR_COUNT", 4) == 0
    assert library.px4_lockstep_param_preinit_set_i32(b"NOT_A_PARAM", 4) == -2
    assert library.px4_lockstep_param_preinit_set_i32(b"MPC_XY_P", 4) == -3
    assert library.px4_lockstep_param_preinit_set_f32(None, ctypes.c_float(0.5)) == -1
    host = Host(path)
    as_float, as_int = ctypes.c_float(), ctypes.c_int32()
    host.call("param_get_f32", b"MPC_XY_P", ctypes.byref(as_float))
    host.call("param_get_i32", b"CA_ROTOR_COUNT", ctypes.byref(as_int))
    assert (as_float.value, as_int.value) == (0.5, 4)


def test_a_disabled_allocator_can_not_be_notified(path):
    host = Host(path, config=(*CONFIG[:7], 0, 250))
    assert host.call("control_alloc_update_params") == -2
    fly_on(host, 3)
    assert host.read("vehicle_torque_setpoint") is not None
    assert host.read("actuator_motors") is None


def test_autosave_can_be_omitted_from_the_library(tmp_path):
    library = load(build_double(tmp_path, defines=("NO_AUTOSAVE",)))
    assert not hasattr(library, "param_control_autosave")
    handle = ctypes.c_void_p(library.px4_lockstep_create(None))
    assert library.px4_lockstep_param_set_i32(handle, b"CA_ROTOR_COUNT", 4) == 0
    assert library.px4_double_violations() == 0


# -- missions ----------------------------------------------------------------------------------------------------

LINE = "{index}\t0\t{frame}\t{command}\t{p1}\t{p2}\t0\t{p4}\t47.397842\t8.545594\t{alt}\t1\n"


def wpl(tmp_path, *lines, header="QGC WPL 110\n"):
    """Write a mission with lines given as dicts or text; return its path for the library."""
    zero = {"frame": 3, "command": 16, "p1": 0, "p2": 0, "p4": 0, "alt": 12}
    texts = [line if isinstance(line, str) else LINE.format(index=i, **(zero | line)) for i, line in enumerate(lines)]
    file = tmp_path / "mission.waypoints"
    file.write_text(header + "".join(texts))
    return str(file).encode()


def target(host, path):
    """Load and start a mission; return the setpoint in the first triplet, and the number of items."""
    assert host.call("load_mission_qgc_wpl", path) == 0
    k = fly_on(host, 20, armed=True, nav_state=MISSION)
    k = fly_on(host, 20, k, armed=True, nav_state=MANUAL)
    fly_on(host, 60, k, armed=True, nav_state=MISSION)
    return host.read("position_setpoint_triplet")["current"], int(host.read("mission_result")["seq_total"])


def test_codes_of_a_mission(host, tmp_path):
    assert host.call("load_mission_qgc_wpl", None) == -1
    assert host.call("load_mission_qgc_wpl", str(tmp_path / "none").encode()) == -2
    assert host.call("load_mission_qgc_wpl", wpl(tmp_path, header="")) == -3
    assert host.call("load_mission_qgc_wpl", wpl(tmp_path)) == -4
    assert host.call("load_mission_qgc_wpl", wpl(tmp_path, *({} for _ in range(501)))) == -5
    assert host.call("load_mission_qgc_wpl", str(MISSIONS["mission"]).encode()) == 0


def test_a_takeoff_keeps_radius_and_altitude(host, tmp_path):
    current, count = target(host, wpl(tmp_path, {"command": 22, "p2": 3, "alt": 7}, {}))
    assert count == 2
    assert current["valid"]
    assert current["type"] == 3
    assert current["acceptance_radius"] == 3.0
    assert current["alt"] == 488.0 + 7.0
    assert current["lat"] == pytest.approx(47.397842, abs=1e-9)  # to the ground and back, 0.1 mm
    assert current["lon"] == pytest.approx(8.545594, abs=1e-9)


def test_no_radius_is_one_metre_and_another_frame_is_above_sea_level(host, tmp_path):
    current, _ = target(host, wpl(tmp_path, {"command": 22, "p2": -1, "frame": 0, "alt": 500}))
    assert current["acceptance_radius"] == 1.0
    assert current["alt"] == 500.0


def test_a_line_with_nan_is_skipped_and_reported(host, tmp_path, capfd):
    _, count = target(host, wpl(tmp_path, {"command": 22}, {"p4": "nan"}, "not a line\n", {}))
    assert count == 2
    assert "dropped: nan" in capfd.readouterr().out


def test_a_waypoint_keeps_hold_and_heading(host, tmp_path):
    """Flown to in steps: above home, then at the waypoint, which it leaves 2 s later."""
    path = wpl(tmp_path, {"command": 22}, {"p1": 2, "p2": 4, "p4": 90}, {"command": 21, "alt": 0})
    target(host, path)
    state = {"armed": True, "nav_state": MISSION, "landed": False}
    k = fly_on(host, 20, 100, pos_ned=(0.0, 0.0, -12.0), **state)
    current = host.read("position_setpoint_triplet")["current"]
    assert current["yaw"] == pytest.approx(np.pi / 2)
    assert current["acceptance_radius"] == 4.0
    there = {"pos_ned": (11.12, 0.0, -12.0), "q_bn": (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)), **state}
    k = fly_on(host, 480, k, **there)  # 1.92 s
    assert host.read("mission_result")["seq_current"] == 1
    fly_on(host, 40, k, **there)  # 2.08 s, and a period of the navigator
    result = host.read("mission_result")
    assert (result["seq_current"], result["seq_reached"]) == (2, 1)


# -- uORB --------------------------------------------------------------------------------------------------------


def metadata(host, topic):
    fields = ctypes.c_char_p()
    size, no_padding, message_hash, queue = ctypes.c_uint32(), ctypes.c_uint32(), ctypes.c_uint32(), ctypes.c_uint8()
    out = map(ctypes.byref, (fields, size, no_padding, message_hash, queue))
    code = host.call("orb_topic_metadata", topic.encode(), *out)
    return code, fields.value, size.value, no_padding.value, message_hash.value, queue.value


def test_metadata_of_all_topics(host):
    for topic, known in topics().items():
        code, fields, size, no_padding, message_hash, queue = metadata(host, topic)
        assert (code, fields) == (-3, None)
        assert (size, message_hash, queue) == (known["size"], int(known["hash"], 16), known["queue"])
        assert size - 8 < no_padding <= size
    assert metadata(host, "no_topic")[0] == -2


def test_field_strings_on_request(path):
    load(path).px4_double_misbehave(b"fields")
    host = Host(path)
    code, fields, *_ = metadata(host, "vehicle_attitude")
    assert code == 0
    assert fields == (
        b"uint64_t timestamp;uint64_t timestamp_sample;float[4] q;float[4] delta_q_reset;uint8_t quat_reset_counter;"
        b"uint8_t[7] _padding0;"
    )
    assert metadata(host, "position_setpoint_triplet")[1] == (
        b"uint64_t timestamp;position_setpoint previous;position_setpoint current;position_setpoint next;"
    )


def instance_of(host, publisher):
    instance = ctypes.c_int32(99)
    assert host.call("orb_publisher_instance", publisher, ctypes.byref(instance)) == 0
    return instance.value


def test_a_topic_is_advertised_at_the_first_step_that_publishes_it(host):
    second = host.publisher("battery_status")
    assert instance_of(host, host.publishers["battery_status"]) == -1
    assert instance_of(host, second) == -1
    made = messages(0)
    host.publish("battery_status", made["battery_status"], second)
    host.step(0)
    assert (instance_of(host, second), instance_of(host, host.publishers["battery_status"])) == (0, -1)
    host.publish_all(messages(TICK_US))
    host.step(TICK_US)
    assert instance_of(host, host.publishers["battery_status"]) == 1


def test_a_requested_instance_must_be_assigned(path):
    host = Host(path, publish=())
    first, third = host.publisher("battery_status", 0), host.publisher("battery_status", 2)
    battery = messages(0)["battery_status"]
    host.publish("battery_status", battery, first)
    assert host.step(0) == 0
    host.publish("battery_status", battery, third)
    assert host.step(TICK_US) == -4


def test_instances_run_out(path):
    host = Host(path, publish=())
    battery = messages(0)["battery_status"]
    for number in [host.publisher("battery_status") for _ in range(11)]:
        host.publish("battery_status", battery, number)
    assert host.step(0) == -2


def test_a_second_message_before_the_step_replaces_the_first_in_the_double(host):
    subscriber = host.subscriber("vehicle_attitude")
    for yaw in (0.1, 0.2):
        made = messages(0, q_bn=(np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)))
        assert host.publish("vehicle_attitude", made["vehicle_attitude"]) == 0
    copied = np.zeros((), message_dtype("vehicle_attitude"))
    pointer = copied.ctypes.data_as(ctypes.c_void_p)
    assert host.call("orb_copy", subscriber, pointer, copied.itemsize) == -1
    host.step(0)
    assert host.call("orb_copy", subscriber, pointer, copied.itemsize) == 0
    assert copied["q"][3] == np.float32(np.sin(0.1))


def test_a_message_is_new_until_it_is_copied(host):
    def updated(subscriber):
        flag = ctypes.c_int32(99)
        assert host.call("orb_check", subscriber, ctypes.byref(flag)) == 0
        return flag.value

    early = host.subscriber("vehicle_status")
    assert updated(early) == 0
    fly_on(host, 2)
    late, other = host.subscriber("vehicle_status"), host.subscriber("vehicle_status", 1)
    assert [updated(early), updated(late), updated(other)] == [1, 1, 0]
    message = ctypes.create_string_buffer(80)
    assert host.call("orb_copy", early, message, 80) == 0
    assert [updated(early), updated(late)] == [0, 1]
    assert host.call("orb_copy", early, message, 80) == 0
    fly_on(host, 1, 2)
    assert updated(early) == 1


def test_codes_of_publishers(host):
    made, number = messages(0)["vehicle_attitude"], host.publishers["vehicle_attitude"]
    out = [ctypes.byref(kind()) for kind in (ctypes.c_int32, ctypes.c_int32, ctypes.c_uint32)]
    assert host.call("orb_create_publisher", b"no_topic", 0, 0, *out) == -2
    assert host.call("orb_create_publisher", None, 0, 0, *out) == -1
    assert host.call("orb_create_publisher", b"vehicle_attitude", 0, 3, *out) == -6
    assert host.call("orb_create_publisher", b"vehicle_attitude", 0, 1, *out) == 0
    assert host.call("orb_create_publisher_ex", b"vehicle_attitude", 0, 0, 10, *out) == -1
    assert host.call("orb_queue_publish", number, None, 56) == -1
    assert host.call("orb_queue_publish", 1000, made.tobytes(), 56) == -2
    assert host.call("orb_queue_publish", number, made.tobytes(), 48) == -4
    assert host.call("orb_publisher_instance", 1000, out[0]) == -2


def test_codes_of_subscribers(host):
    number, size = ctypes.c_int32(), ctypes.c_uint32()
    out = (ctypes.byref(number), ctypes.byref(size))
    assert host.call("orb_create_subscriber", b"no_topic", 0, *out) == -2
    assert host.call("orb_create_subscriber", None, 0, *out) == -1
    assert host.call("orb_create_subscriber", b"vehicle_status", 10, *out) == -3
    assert host.call("orb_create_subscriber", b"vehicle_status", 0, *out) == 0
    assert size.value == 80
    message, flag = ctypes.create_string_buffer(80), ctypes.c_int32()
    assert host.call("orb_copy", number, message, 72) == -4
    assert host.call("orb_copy", 1000, message, 80) == -2
    assert host.call("orb_check", 1000, ctypes.byref(flag)) == -2
    assert host.call("orb_check", number, None) == -1
    assert host.call("orb_unsubscribe", number) == 0
    assert host.call("orb_unsubscribe", number) == -3
    assert host.call("orb_copy", number, message, 80) == -3
    assert host.call("orb_check", number, ctypes.byref(flag)) == -3
    assert host.call("orb_unsubscribe", 1000) == -2


# -- schedule ----------------------------------------------------------------------------------------------------


def stamps(host, topic, n, **state):
    """Return the times [ms] at which a topic is published during some ticks."""
    seen = []
    for k in range(n):
        fly_on(host, 1, k, **state)
        message = host.read(topic)
        if message is not None:
            seen.append(int(message["timestamp"]) // 1000)
    return sorted(dict.fromkeys(seen))


def test_position_control_does_not_carry_over_the_phase(host):
    assert stamps(host, "vehicle_attitude_setpoint", 12) == [0, 4, 16, 28, 40]


def test_attitude_rate_and_allocation_run_at_every_tick(host):
    assert stamps(host, "vehicle_rates_setpoint", 6) == [0, 4, 8, 12, 16, 20]
    assert host.read("vehicle_torque_setpoint")["timestamp"] == 20_000
    assert host.read("actuator_motors")["timestamp"] == 20_000


def test_a_rate_of_zero_runs_at_every_step(path):
    host = Host(path, config=(1, 0, 100, 20, 0, 250, 250, 1, 250))
    assert stamps(host, "vehicle_attitude_setpoint", 5) == [0, 4, 8, 12, 16]


def test_the_navigator_runs_as_in_the_recorded_flight(host):
    """Requested at 2.000 s, valid at 2.032 s; after manual mode from 2.036 to 2.088 s, it starts at 2.188 s."""
    assert host.call("load_mission_qgc_wpl", str(MISSIONS["mission"]).encode()) == 0
    changes = []
    for k in range(560):
        asked = k >= 500 and not 509 <= k < 522
        fly_on(host, 1, k, armed=k >= 250, nav_state=MISSION if asked else MANUAL)
        result = host.read("mission_result")
        said = None if result is None else (bool(result["valid"]), bool(result["finished"]))
        if not changes or changes[-1][1] != said:
            changes.append((k * 4, said))
    assert changes == [(0, None), (2032, (True, True)), (2188, (True, False))]


def test_all_read_topics_are_published(host, tmp_path):
    target(host, wpl(tmp_path, {"command": 22}, {}))
    assert [topic for topic in READ if host.read(topic) is None] == []
    motors = host.read("actuator_motors")["control"]
    assert np.isnan(motors).all()  # no rotor was set
    assert np.isnan(host.read("actuator_servos")["control"]).all()
