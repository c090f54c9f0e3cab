"""The conformance double in flight, with the simple host of `px4_double_host`, and with misbehaviour."""

import ctypes
import os
import re
import signal
import sys
import time
from pathlib import Path

import numpy as np
import px4_double_host
import pytest
from fleet import iris, octa
from px4_double import OPTIONS, build_double
from px4_double_host import Host, geometry, load, messages, ready
from px4_flights import MISSIONS

from flights import TAKE_OFF

TICK_US = 4_000
FUNCTIONS = {
    "load_mission_qgc_wpl": (b"none",),
    "step_uorb": (ctypes.c_uint64(0),),
    "param_set_i32": (b"CA_ROTOR_COUNT", 4),
    "param_set_f32": (b"MPC_XY_P", ctypes.c_float(1.0)),
    "param_get_i32": (b"CA_ROTOR_COUNT", ctypes.byref(ctypes.c_int32())),
    "param_get_f32": (b"MPC_XY_P", ctypes.byref(ctypes.c_float())),
    "param_notify": (),
    "control_alloc_update_params": (),
    "orb_topic_metadata": (b"vehicle_status", None, None, None, None, None),
    "orb_create_publisher": (b"vehicle_status", 0, 0, ctypes.byref(ctypes.c_int32()), None, None),
    "orb_create_publisher_ex": (b"vehicle_status", 0, 0, -1, ctypes.byref(ctypes.c_int32()), None, None),
    "orb_queue_publish": (0, bytes(168), 168),
    "orb_publisher_instance": (0, ctypes.byref(ctypes.c_int32())),
    "orb_create_subscriber": (b"vehicle_status", 0, ctypes.byref(ctypes.c_int32()), None),
    "orb_check": (0, ctypes.byref(ctypes.c_int32())),
    "orb_copy": (0, ctypes.create_string_buffer(72), 72),
    "orb_unsubscribe": (0,),
}
"""Calls that the functions take well after one step; `load_mission_qgc_wpl` can't find its file, -2."""


def told(tmp_path, text):
    """Return the host of a double with misbehaviour options."""
    path = build_double(tmp_path)
    assert load(path).px4_double_misbehave(text.encode()) == 0
    host = Host(path)
    host.set_params(geometry(iris()))
    return host


def stepped(host, n=1, start=0):
    """Step some ticks at rest; return the codes."""
    codes = []
    for k in range(start, start + n):
        host.publish_all(messages(k * TICK_US))
        codes.append(host.step(k * TICK_US))
    return codes


# -- flights -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "disturbed"),
    [
        ("mission", True),
        *(
            pytest.param(name, disturbed, marks=pytest.mark.slow)
            for name, disturbed in (("mission", False), ("yaw", False), ("yaw", True))
        ),
    ],
)
def test_a_mission_is_flown(tmp_path, name, disturbed):
    sim, autopilot = ready(build_double(tmp_path), MISSIONS[name], disturbed=disturbed)
    sim.run()
    assert autopilot.host.report() == []
    assert autopilot.is_done
    assert not sim.is_crashed
    items = [item for _, _, _, item in autopilot.results]
    count = 8 if name == "mission" else 6
    assert [item for k, item in enumerate(items) if items[k - 1] != item or k == 0] == list(range(count))
    assert autopilot.results[0] == (2_032_000, True, True, 0)  # as real PX4 did
    assert autopilot.results[1] == (2_188_000, True, False, 0)
    assert autopilot.results[-1][1:] == (True, True, count - 1)
    place = (0.0, 0.0) if name == "mission" else (0.0, 7.53)  # of the last item
    assert np.hypot(*(sim.plant["pos"][:2] - place)) < 0.5  # within the vehicle's size
    assert abs(sim.plant["pos"][2]) < 0.05


def test_headings_are_flown(tmp_path):
    """The headings of the yaw mission are held at its waypoints: 90, -135, 180, 0 degrees."""
    sim, autopilot = ready(build_double(tmp_path), MISSIONS["yaw"])
    sim.run()
    changes = {item: time_us for time_us, _, _, item in reversed(autopilot.results)}
    q = sim.log["bus"]["estimate"]["q_bn"]
    for item, heading in ((1, 90.0), (2, -135.0), (3, 180.0), (4, 0.0)):
        row = np.searchsorted(sim.log["time_us"], changes[item + 1]) - 1
        error = np.degrees(px4_double_host.yaw_of(q[row])) - heading
        assert abs((error + 180.0) % 360.0 - 180.0) < 12.0  # MIS_YAW_ERR


@pytest.mark.slow
def test_an_octa_can_be_flown(tmp_path):
    sim, autopilot = ready(build_double(tmp_path), MISSIONS["mission"], octa())
    sim.run()
    assert autopilot.host.report() == []
    assert autopilot.is_done
    assert not sim.is_crashed


def test_return_lands_at_home(tmp_path):
    scenario = TAKE_OFF.at(20.0).return_home()
    params = [("RTL_RETURN_ALT", 15.0), ("RTL_DESCEND_ALT", 5.0)]
    sim, autopilot = ready(build_double(tmp_path), MISSIONS["mission"], scenario=scenario, params=params)
    sim.run()
    assert autopilot.host.report() == []
    assert autopilot.is_done
    assert not sim.is_crashed
    assert -sim.log["bus"]["estimate"]["pos_ned"][:, 2].min() == pytest.approx(15.0, abs=1.0)
    assert np.hypot(*sim.plant["pos"][:2]) < 0.5


@pytest.mark.slow
def test_two_processes_and_a_fork_fly_the_same_flight(tmp_path, python):
    """Equal digests of a flight here, in another process, and in its child, forked in mid-flight."""
    path = build_double(tmp_path)
    sim, _ = ready(path, MISSIONS["mission"])
    here = sim.run().digest()
    script = Path(px4_double_host.__file__)
    printed = python(script, path, MISSIONS["mission"], 30_000_000, PYTHONPATH=os.pathsep.join(sys.path)).stdout
    # Both write to one pipe, also from C, so their lines may be interleaved.
    said = sorted(re.findall(r"(child|parent) (\w{64}) (True|False) (\d+)", printed))
    assert said == [("child", here, "True", "0"), ("parent", here, "True", "0")], printed


# -- misbehaviour ------------------------------------------------------------------------------------------------


def test_invalid_options_are_rejected(tmp_path, capfd):
    library = load(build_double(tmp_path))
    for text in (b"nonsense", b"code.no_function=-1", b"hash.no_topic=1", b"motors=nan@0", b"missing.NO_PARAM"):
        assert library.px4_double_misbehave(text) == -1
        assert library.px4_lockstep_create(None) is None
        assert text.decode() in capfd.readouterr().err
    assert library.px4_double_misbehave(b"") == 0
    assert library.px4_lockstep_create(None) is not None


def test_options_can_be_set_in_the_environment(tmp_path, python):
    code = f"import ctypes; print(ctypes.CDLL({str(build_double(tmp_path))!r}).px4_lockstep_abi_version())"
    assert python("-c", code, **{OPTIONS: "abi_version=2"}).stdout == "2\n"


def test_wrong_version_sizes_handle(tmp_path):
    library = load(build_double(tmp_path))
    library.px4_double_misbehave(b"abi_version=4,sizes=8/16/40,null_handle")
    sizes = [ctypes.c_uint32() for _ in range(3)]
    library.px4_lockstep_sizes(*map(ctypes.byref, sizes))
    assert library.px4_lockstep_abi_version() == 4
    assert [size.value for size in sizes] == [8, 16, 40]
    assert library.px4_lockstep_create(None) is None


def test_wrong_hash_and_size(tmp_path):
    path = build_double(tmp_path)
    load(path).px4_double_misbehave(b"hash.vehicle_status=0x1234,size.vehicle_status=88")
    host = Host(path, publish=())
    size, message_hash = ctypes.c_uint32(), ctypes.c_uint32()
    out = (None, ctypes.byref(size), None, ctypes.byref(message_hash), None)
    assert host.call("orb_topic_metadata", b"vehicle_status", *out) == -3
    assert (size.value, message_hash.value) == (88, 0x1234)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("code", [-1, -2, -3, -4, -5, -6])
def test_any_code_of_any_function_from_any_call_on(tmp_path, function, code):
    path = build_double(tmp_path)
    host = Host(path)
    stepped(host)
    good = {"load_mission_qgc_wpl": -2, "orb_topic_metadata": -3}.get(function, 0)
    assert host.library.px4_double_misbehave(f"code.{function}={code}@3".encode()) == 0
    codes = [host.call(function, *FUNCTIONS[function]) for _ in range(4)]
    second = -3 if function == "orb_unsubscribe" else good
    assert codes == [good, second, code, code]


@pytest.mark.parametrize("function", ["param_preinit_set_i32", "param_preinit_set_f32"])
def test_codes_of_staging(tmp_path, function):
    library = load(build_double(tmp_path))
    library.px4_double_misbehave(f"code.{function}=-4".encode())
    assert getattr(library, f"px4_lockstep_{function}")(b"MPC_XY_P", ctypes.c_float(1.0)) == -4


def test_a_parameter_can_be_missing(tmp_path):
    path = build_double(tmp_path)
    load(path).px4_double_misbehave(b"missing.CA_ROTOR0_AX")
    host = Host(path)
    assert host.call("param_set_f32", b"CA_ROTOR0_AX", ctypes.c_float(0.0)) == -2
    assert host.call("param_set_f32", b"CA_ROTOR0_AY", ctypes.c_float(0.0)) == 0


@pytest.mark.parametrize(("text", "value"), [("nan", np.nan), ("inf", np.inf), ("1.5", 1.5), ("-0.1", -0.1)])
def test_wrong_motors(tmp_path, text, value):
    host = told(tmp_path, f"motors={text}@3")
    stepped(host, 2)
    assert (host.read("actuator_motors")["control"][:4] == 0.0).all()
    stepped(host, 1, 2)
    motors = host.read("actuator_motors")["control"]
    assert np.array_equal(motors[:4], np.full(4, value, np.float32), equal_nan=True)
    assert np.isnan(motors[4:]).all()


def test_motors_that_are_never_published(tmp_path):
    host = told(tmp_path, "silent.actuator_motors")
    stepped(host, 5)
    assert host.read("actuator_motors") is None
    assert host.read("vehicle_torque_setpoint") is not None


def test_motors_that_are_no_longer_published(tmp_path):
    host = told(tmp_path, "silent.actuator_motors@3")
    stepped(host, 5)
    assert host.read("actuator_motors")["timestamp"] == TICK_US


def test_a_slow_step(tmp_path):
    host = told(tmp_path, "sleep_us=50000@2")
    stepped(host, 1)
    start_s = time.perf_counter()
    stepped(host, 1, 1)
    assert time.perf_counter() - start_s >= 0.05  # a sleep is never shorter


def test_a_lot_of_output(tmp_path, capfd):
    host = told(tmp_path, "print=100000@2")
    stepped(host, 1)
    capfd.readouterr()
    stepped(host, 2, 1)
    assert len(capfd.readouterr().out) == 200_000


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV, signal.SIGKILL])
def test_a_crash_by_signal(tmp_path, python, number):
    code = (
        "import sys; from px4_double_host import Host, messages\n"
        f"host = Host({str(build_double(tmp_path))!r})\n"
        "for k in range(5):\n"
        "    host.publish_all(messages(k * 4000)); host.step(k * 4000); print(k, flush=True)\n"
    )
    environment = {OPTIONS: f"signal={int(number)}@3", "PYTHONPATH": os.pathsep.join(sys.path)}
    finished = python("-c", code, check=False, **environment)
    assert finished.returncode == -number
    assert finished.stdout.split("\n")[-3:] == ["0", "1", ""]
