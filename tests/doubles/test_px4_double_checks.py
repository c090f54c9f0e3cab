"""The conformance double's checks of a host: none for a correct host, and each violation by its name."""

import ctypes
import functools

import numpy as np
import pytest
from fleet import iris
from px4_double import build_double, report, violations
from px4_double_host import HOME_ALT, HOME_LAT, HOME_LON, INJECTED, MANUAL, MISSION, Host, geometry, load, messages
from px4_flights import MISSIONS, load_flight, stacked

TICK_US = 4_000
FLAGS = ("position", "velocity", "altitude", "climb_rate", "attitude", "rates", "allocation")


@pytest.fixture
def host(tmp_path):
    made = Host(build_double(tmp_path))
    made.set_params(geometry(iris()))
    return made


def checks_of(host):
    """Return the names of the violated checks."""
    return sorted(dict.fromkeys(line.split(" at ")[0] for line in host.report()))


def fed(host, n, state=lambda t_s: {}, change=None, start=0):
    """Publish for some ticks: `state(t_s)` gives keywords of `messages`, `change` is called with the messages."""
    for k in range(start, start + n):
        made = messages(k * TICK_US, **state(k * TICK_US * 1e-6))
        if change is not None:
            change(made)
        host.publish_all(made)
        host.step(k * TICK_US)
    return checks_of(host)


def test_a_correct_host_at_rest_has_no_violations(host):
    assert fed(host, 800) == []
    assert violations(host.library) == 0


def test_a_correct_host_in_flight_has_no_violations(host):
    """East at 5 m/s and up at 1 m/s, turning at 0.5 rad/s."""

    def state(t_s):
        yaw = 0.5 * t_s
        return {
            "pos_ned": (0.0, 5.0 * t_s, -1.0 * t_s),
            "vel_ned": (0.0, 5.0, -1.0),
            "q_bn": (np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)),
            "omega_body": (0.0, 0.0, 0.5),
            "landed": False,
        }

    assert fed(host, 1000, state) == []


@pytest.mark.parametrize("name", ["mission", "yaw"])
def test_the_recorded_flights_of_px4_have_no_violations(host, name):
    """The inputs of real PX4 in two flights, with arming states, modes and landings."""
    flown = load_flight(name)
    pos, vel = (stacked(flown, *(f"truth_{kind}_{axis}" for axis in "ned")) for kind in ("pos", "vel"))
    q, omega = stacked(flown, *(f"truth_q_{axis}" for axis in "wxyz")), stacked(flown, "truth_p", "truth_q", "truth_r")
    for k, time_us in enumerate(flown["time_us"].astype(int)):
        flags = {
            "armed": flown["armed"][k] == 1,
            "nav_state": int(flown["nav_state"][k]),
            "landed": flown["landed"][k] == 1,
        }
        host.publish_all(messages(int(time_us), pos[k], vel[k], q[k], omega[k], **flags))
        assert host.step(int(time_us)) == 0
    assert host.report() == []


WRONG_FIELDS = [
    ("finite", "vehicle_local_position", "x", np.nan),
    ("finite", "vehicle_local_position", "ref_lat", np.inf),
    ("finite", "vehicle_angular_velocity", "xyz", (0.0, np.inf, 0.0)),
    ("finite", "battery_status", "voltage_v", np.nan),
    ("finite", "battery_status", "temperature", np.inf),
    ("finite", "home_position", "alt", np.nan),
    ("quaternion", "vehicle_attitude", "q", (1.0, 0.1, 0.0, 0.0)),
    ("quaternion", "vehicle_attitude", "q", (0.0, 0.0, 0.0, 0.0)),
    ("upright", "vehicle_attitude", "q", (0.0, 1.0, 0.0, 0.0)),
    ("heading", "vehicle_local_position", "heading", 0.1),
    ("heading", "vehicle_local_position", "heading", 4.0),
    ("heading", "vehicle_attitude", "q", (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))),
    *(
        ("valid", "vehicle_local_position", name, False)
        for name in (
            "xy_valid",
            "z_valid",
            "v_xy_valid",
            "v_z_valid",
            "xy_global",
            "z_global",
            "heading_good_for_control",
        )
    ),
    *(
        ("limits", "vehicle_local_position", name, 5.0)
        for name in ("vxy_max", "vz_max", "hagl_min", "hagl_max_z", "hagl_max_xy")
    ),
    ("global", "vehicle_global_position", "lat", HOME_LAT + 1e-6),
    ("global", "vehicle_global_position", "lon", HOME_LON - 1e-6),
    ("global", "vehicle_global_position", "alt", HOME_ALT + 0.1),
    ("global", "vehicle_global_position", "lat", 91.0),
    ("valid", "vehicle_global_position", "lat_lon_valid", False),
    ("valid", "vehicle_global_position", "alt_valid", False),
    ("status", "vehicle_status", "arming_state", 0),
    ("status", "vehicle_status", "nav_state", 2),
    ("status", "vehicle_status", "vehicle_type", 0),
    ("armed", "vehicle_status", "arming_state", 2),
    ("armed", "vehicle_control_mode", "flag_armed", True),
    ("armed", "actuator_armed", "armed", True),
    ("mode", "vehicle_status", "nav_state", 3),
    *(("control_mode", "vehicle_control_mode", f"flag_control_{name}_enabled", False) for name in FLAGS),
    ("control_mode", "vehicle_control_mode", "flag_control_manual_enabled", False),
    ("control_mode", "vehicle_control_mode", "flag_multicopter_position_control_enabled", True),
    ("control_mode", "vehicle_control_mode", "flag_control_termination_enabled", True),
    ("home", "home_position", "update_count", 0),
    ("home", "home_position", "valid_alt", False),
    ("home", "home_position", "valid_hpos", False),
    ("home", "home_position", "lon", HOME_LON + 1e-5),
    ("home", "home_position", "z", -1.0),
    ("geofence", "geofence_status", "status", 0),
    ("battery", "battery_status", "voltage_v", 0.0),
    ("battery", "battery_status", "remaining", 1.1),
    ("battery", "battery_status", "remaining", -0.1),
    ("battery", "battery_status", "current_a", 5000.0),
    ("battery", "battery_status", "warning", 9),
    ("landed", "vehicle_land_detected", "freefall", True),
    ("timestamp", "vehicle_attitude", "timestamp_sample", 10**9),
    ("timestamp", "vehicle_angular_velocity", "timestamp_sample", 2),
    *(("timestamp", topic, "timestamp", 0) for topic in INJECTED),
    *(("timestamp", topic, "timestamp", 10**9) for topic in INJECTED),
    *(("timestamp", topic, "timestamp", 2) for topic in INJECTED),
]


@pytest.mark.parametrize(("check", "topic", "field", "value"), WRONG_FIELDS)
def test_a_wrong_field_is_detected(host, check, topic, field, value):
    def change(made):
        made[topic][field] = value

    assert check in fed(host, 3, change=change)
    assert any(line.startswith(f"{check} at ") for line in host.report())


def test_an_invalid_bool_is_detected(host):
    def change(made):
        made["actuator_armed"].reshape(1).view(np.uint8)[8] = 2

    assert "bool" in fed(host, 1, change=change)
    assert "bool at 0 us: actuator_armed.armed is the byte 2" in host.report()


@pytest.mark.parametrize("topic", INJECTED)
def test_an_omitted_topic_is_detected(host, topic):
    fed(host, 5)
    fed(host, 1, change=lambda made: made.pop(topic), start=5)
    assert host.report() == [f"missing at 20000 us: {topic} was last published at 16000 us"]


@pytest.mark.parametrize("topic", INJECTED)
def test_a_topic_that_is_never_published_is_detected(host, topic):
    fed(host, 2, change=lambda made: made.pop(topic))
    assert f"missing at 0 us: {topic} was never published" in host.report()


def test_a_topic_may_have_an_expected_period(tmp_path):
    path = build_double(tmp_path)
    assert load(path).px4_double_misbehave(b"expect.battery_status=20000,expect.geofence_status=0") == 0
    host = Host(path)

    def slowly(made, period=5):
        made.pop("geofence_status")
        if int(made["battery_status"]["timestamp"]) // TICK_US % period != 0:
            made.pop("battery_status")

    assert fed(host, 30, change=slowly) == []
    assert fed(host, 12, change=functools.partial(slowly, period=6), start=30) == ["missing"]


def test_time_must_increase(host):
    fed(host, 2)
    host.step(TICK_US)
    assert "time at 4000 us: a step at this time after one at 4000 us" in host.report()


def test_timestamps_must_increase(host):
    fed(host, 3)
    made = messages(2 * TICK_US)
    host.publish("home_position", made["home_position"])
    host.step(3 * TICK_US)
    assert any("home_position.timestamp = 8000 does not rise from 8000" in line for line in host.report())


def test_the_update_count_of_home_must_not_decrease(host):
    fed(host, 2, lambda t_s: {"home_count": 5})
    fed(host, 1, lambda t_s: {"home_count": 4}, start=2)
    assert host.report() == ["home at 8000 us: update_count falls from 5 to 4"]


def test_the_reference_must_not_change(host):
    fed(host, 2)
    fed(host, 1, change=lambda made: made["vehicle_local_position"].__setitem__("ref_alt", 490.0), start=2)
    assert "reference" in checks_of(host)


def test_only_batteries_have_several_instances(host):
    more = {topic: host.publisher(topic) for topic in ("battery_status", "vehicle_attitude")}
    fed(host, 1)
    made = messages(TICK_US)
    host.publish_all(made)
    for topic, number in more.items():
        host.publish(topic, made[topic], number)
    host.step(TICK_US)
    assert host.report() == ["instance at 4000 us: vehicle_attitude has instance 1, which no module reads"]


# -- motion ------------------------------------------------------------------------------------------------------


def airborne(pos_ned=(0.0, 0.0, -10.0), **more):
    return {"pos_ned": pos_ned, "landed": False, **more}


MOVES = [
    ("velocity", "swapped axes", lambda t: airborne((0.0, 2.0 * t, -10.0), vel_ned=(2.0, 0.0, 0.0))),
    ("velocity", "up for down", lambda t: airborne((0.0, 0.0, -10.0 - t), vel_ned=(0.0, 0.0, 1.0))),
    ("velocity", "none given", lambda t: airborne((0.5 * t, 0.0, -10.0))),
    (
        "rates",
        "yaw to the left",
        lambda t: airborne(q_bn=(np.cos(t / 2), 0.0, 0.0, np.sin(t / 2)), omega_body=(0.0, 0.0, -1.0)),
    ),
    (
        "rates",
        "degrees",
        lambda t: airborne(q_bn=(np.cos(t / 2), 0.0, 0.0, np.sin(t / 2)), omega_body=(0.0, 0.0, 57.3)),
    ),
    (
        "rates",
        "in world axes",  # a vehicle that is rolled by 1 rad and turns about its own down axis
        lambda t: airborne(q_bn=rolled_and_turned(t), omega_body=(0.0, -np.sin(1.0), np.cos(1.0))),
    ),
    ("landed", "in the air", lambda t: {"pos_ned": (0.0, 0.0, -0.6)}),
    ("landed", "in the air, armed", lambda t: {"pos_ned": (0.0, 0.0, -1.1), "armed": True}),
    ("landed", "at speed", lambda t: {"pos_ned": (t, 0.0, 0.0), "vel_ned": (1.0, 0.0, 0.0)}),
    (
        "landed",
        "at speed, armed",
        lambda t: {"pos_ned": (2.0 * t, 0.0, 0.0), "vel_ned": (2.0, 0.0, 0.0), "armed": True},
    ),
    ("landed", "not at rest", lambda t: {"landed": False}),
    ("ground", "z points up", lambda t: airborne((0.0, 0.0, 10.0))),
]


def rolled_and_turned(t_s):
    """Return the attitude rolled by 1 rad, then turned about body z at 1 rad/s."""
    c, s, cz, sz = np.cos(0.5), np.sin(0.5), np.cos(t_s / 2), np.sin(t_s / 2)
    return (c * cz, s * cz, -s * sz, c * sz)


@pytest.mark.parametrize(("check", "what", "state"), MOVES, ids=[f"{check}, {what}" for check, what, _ in MOVES])
def test_an_impossible_motion_is_detected(host, check, what, state):
    assert check in fed(host, 600, state)


def test_a_turn_in_body_axes_is_valid(host):
    assert fed(host, 600, lambda t: airborne(q_bn=rolled_and_turned(t), omega_body=(0.0, 0.0, 1.0))) == []


def test_an_invalid_position_is_not_compared(host):
    """Frozen, as in a dropout, with its last velocity: only the flags are reported."""

    def change(made):
        for name in ("xy_valid", "z_valid", "v_xy_valid", "v_z_valid"):
            made["vehicle_local_position"][name] = False

    fed(host, 100, lambda t: airborne((5.0 * t, 0.0, -10.0), vel_ned=(5.0, 0.0, 0.0)))
    held = airborne((2.0, 0.0, -10.0), vel_ned=(5.0, 0.0, 0.0))
    assert fed(host, 600, lambda t: held, change, start=100) == ["valid"]


def test_acceleration_has_no_gravity_in_it(host):
    def change(made):
        made["vehicle_local_position"]["az"] = -9.81

    assert "acceleration" in fed(host, 300, change=change)


# -- what is set up ----------------------------------------------------------------------------------------------


def armed_with(tmp_path, *sets, tell=True):
    """Set parameters and arm; return the host."""
    host = Host(build_double(tmp_path))
    host.set_params(sets, tell=tell)
    fed(host, 2)
    fed(host, 2, lambda t_s: {"armed": True}, start=2)
    return host


GEOMETRY = list(geometry(iris()))


def test_arming_with_the_geometry_is_valid(tmp_path):
    assert armed_with(tmp_path, *GEOMETRY).report() == []


@pytest.mark.parametrize(
    ("sets", "tell", "said"),
    [
        ((), True, "armed with CA_ROTOR_COUNT = 0"),
        (GEOMETRY, False, "armed, but the allocator has not read the CA_ parameters"),
        ([*GEOMETRY, ("CA_ROTOR_COUNT", 3)], True, "CA_ROTOR_COUNT = 3, and the last rotor set is 3"),
        ([*GEOMETRY, ("CA_AIRFRAME", 2)], True, "CA_AIRFRAME = 2; it must be 0"),
        ([*GEOMETRY, *((f"CA_ROTOR{i}_KM", 0.05) for i in range(4))], True, "the rotors control 3 of"),
        ([*GEOMETRY, *((f"CA_ROTOR{i}_PX", 0.0) for i in range(4))], True, "the rotors control 3 of"),
    ],
)
def test_arming_without_the_geometry_is_detected(tmp_path, sets, tell, said):
    lines = armed_with(tmp_path, *sets, tell=tell).report()
    assert all(line.startswith("allocation at 8000 us: ") for line in lines)
    assert said in lines[0]


def test_a_parameter_that_would_hang_is_detected(tmp_path):
    path = build_double(tmp_path)
    library = load(path)
    handle = ctypes.c_void_p(library.px4_lockstep_create(None))
    assert library.px4_lockstep_param_set_i32(handle, b"CA_ROTOR_COUNT", 4) == 0
    (line,) = report(path)
    assert line.startswith("autosave at 0 us: CA_ROTOR_COUNT is set before param_control_autosave(false)")


def test_a_parameter_that_is_not_finite_is_detected(host):
    host.call("param_set_f32", b"MPC_XY_P", ctypes.c_float(np.nan))
    assert checks_of(host) == ["parameter"]


def test_a_wrong_size_is_detected(host):
    assert host.call("orb_queue_publish", host.publishers["vehicle_attitude"], b"x" * 48, 48) == -4
    assert host.report() == ["size at 0 us: vehicle_attitude has 48 bytes; it must have 56"]


def test_a_priority_is_detected(host):
    out = [ctypes.byref(kind()) for kind in (ctypes.c_int32, ctypes.c_int32, ctypes.c_uint32)]
    assert host.call("orb_create_publisher", b"vehicle_attitude", 1, 0, *out) == 0
    assert checks_of(host) == ["priority"]


def test_a_second_handle_and_a_second_destroy_are_detected(host):
    assert host.library.px4_lockstep_create(None) is None
    host.close()
    host.close()
    assert checks_of(host) == ["destroy", "second_handle"]


# -- missions ----------------------------------------------------------------------------------------------------


def test_a_mission_that_is_not_requested_again_is_detected(host):
    host.call("load_mission_qgc_wpl", str(MISSIONS["mission"]).encode())
    assert fed(host, 400, lambda t_s: {"armed": True, "nav_state": MISSION}) == ["mission_start"]


def test_a_restarting_mission_is_detected(host, tmp_path):
    """Above home, then on the ground, always armed."""
    file = tmp_path / "hop.waypoints"
    line = "{}\t0\t3\t{}\t0\t0\t0\t0\t47.397742\t8.545594\t{}\t1\n"
    file.write_text("QGC WPL 110\n" + line.format(0, 22, 5) + line.format(1, 21, 0))
    host.call("load_mission_qgc_wpl", str(file).encode())

    def state(t_s, z, landed, nav_state=MISSION):
        return {"pos_ned": (0.0, 0.0, z), "landed": landed, "armed": True, "nav_state": nav_state}

    fed(host, 20, lambda t_s: state(t_s, 0.0, True))
    fed(host, 20, lambda t_s: state(t_s, 0.0, True, MANUAL), start=20)
    fed(host, 60, lambda t_s: state(t_s, 0.0, False), start=40)
    fed(host, 60, lambda t_s: state(t_s, -5.0, False), start=100)
    assert host.read("mission_result")["seq_current"] == 1
    fed(host, 14, lambda t_s: state(t_s, 0.0, True), start=160)
    assert host.read("mission_result")["finished"]
    assert "mission_end" not in checks_of(host)
    fed(host, 14, lambda t_s: state(t_s, 0.0, True), start=174)
    assert "mission_end" in checks_of(host)
    result = host.read("mission_result")
    assert (result["finished"], result["seq_current"]) == (False, 0)


# -- the report --------------------------------------------------------------------------------------------------


def test_the_report_counts_all_and_keeps_four_of_each(host):
    def change(made):
        made["geofence_status"]["status"] = 0
        made["home_position"]["valid_alt"] = False

    fed(host, 50, change=change)
    assert violations(host.library) == 100
    lines = host.report()
    assert [line.split(" at ")[0] for line in lines] == ["home", "geofence"] * 4
    host.library.px4_double_clear_report()
    assert (host.report(), violations(host.library)) == ([], 0)


def test_strict_stops_the_flight(tmp_path):
    path = build_double(tmp_path)
    load(path).px4_double_misbehave(b"strict")
    host = Host(path)
    fed(host, 2)
    made = messages(2 * TICK_US)
    made["geofence_status"]["status"] = 0
    host.publish_all(made)
    assert host.step(2 * TICK_US) == -3


def test_checks_can_be_disabled(tmp_path):
    path = build_double(tmp_path)
    load(path).px4_double_misbehave(b"unchecked")
    assert fed(Host(path), 3, change=lambda made: made.pop("vehicle_status")) == []
