"""Stock PX4's double behaves as measured with real PX4: each row of the table in docs/howto/px4_sitl.md."""

import signal
import subprocess
import sys
import time

import pytest
from px4_sitl_double import ACCEL, ALL, ARM, BARO, DOUBLE, GYRO, MAG, PATIENCE_S, PlainHost, make_scripts
from pyulog import ULog

ACCEPTED, REJECTED = 0, 1
DENIED = 14
"""Values of MAV_MISSION_RESULT."""


@pytest.fixture
def host(tmp_path):
    with PlainHost(tmp_path) as plain:
        yield plain


def test_it_waits_for_the_clock_and_answers_every_step_with_its_time(host):
    """The first answer comes 32 to 210 ms after the first sensor data; then each step is answered."""
    while host.step(timeout_s=0.03) is None:
        assert host.time_us < 1_300_000
    assert 1_032_000 <= host.answered[0] <= 1_210_000
    first = len(host.answered)
    answers = [host.step() for _ in range(20)]
    assert host.answered[first:] == [host.time_us - 4_000 * i for i in reversed(range(20))]
    assert {(answer.flags, answer.mode) for answer in answers} == {(1, 1)}
    assert set(answers[-1].controls) == {0.0}  # disarmed


@pytest.mark.parametrize(("missing", "version"), [(GYRO, "main"), (GYRO, "1.17"), (ACCEL, "1.17"), (ACCEL, "main")])
def test_without_gyro_or_accelerometer_there_is_no_answer(tmp_path, missing, version):
    """The newer version answers for 1.1 s more without the accelerometer."""
    with PlainHost(tmp_path, version=version) as host:
        host.boot()
        if (missing, version) == (ACCEL, "main"):
            assert all(host.step(ALL & ~missing) for _ in range(275))
        assert [host.step(ALL & ~missing, timeout_s=0.05) for _ in range(5)] == [None] * 5


@pytest.mark.parametrize("step_us", [1_000, 2_000])
def test_with_a_fast_imu_only_every_second_step_is_answered_by_default(tmp_path, step_us):
    """At 500 and 1000 Hz."""
    with PlainHost(tmp_path, step_us=step_us) as host:
        while host.step(timeout_s=0.02) is None:
            assert host.time_us < 2_000_000
        host.answered.clear()
        times_us = []
        for _ in range(8):
            host.send()
            times_us.append(host.time_us)
        assert host.answer() is not None
        assert host.answered == times_us[1::2]


@pytest.mark.parametrize("params", [{"IMU_INTEG_RATE": 1000}, {"SDLOG_BACKEND": 0}])
def test_either_parameter_makes_it_answer_every_step_of_a_fast_imu(tmp_path, params):
    """The integrator at the IMU's rate, or no logger."""
    with PlainHost(tmp_path, step_us=1_000, params=params) as host:
        host.boot(0.5)  # which checks that there is an answer to each


def test_a_step_back_of_8_ms_loses_one_answer(host):
    """The next step is answered."""
    host.boot()
    host.answered.clear()
    host.send(ahead_us=-8_000)
    assert host.step() is not None
    assert host.answered == [host.time_us]


def test_a_step_back_of_1_s_loses_all_answers(host):
    """Permanently."""
    host.boot(1.5)
    assert host.step(ahead_us=-1_000_000, timeout_s=0.1) is None
    assert [host.step(timeout_s=0.05) for _ in range(5)] == [None] * 5


def test_a_pause_is_harmless(host):
    """For 3 s of wall-clock time: the clock is the simulator's."""
    host.boot()
    time.sleep(3.0)
    assert host.step() is not None


OFFBOARD, HOLD = (176, 1.0, 6.0), (176, 1.0, 4.0, 3.0)


def test_in_offboard_mode_without_setpoints_there_is_no_answer(host):
    """While disarmed, until another mode is selected or setpoints arrive; its clock and its API go on."""
    host.boot()
    for end in (lambda: host.ask(*HOLD, timeout_s=0.02)[0] == ACCEPTED, lambda: host.tell(host.setpoint(), 0.02) == []):
        assert host.ask(*OFFBOARD, seconds=0.02, timeout_s=0.02)[0] == ACCEPTED
        assert [host.step(timeout_s=0.02) for _ in range(5)] == [None] * 5
        assert end()
        assert host.step() is not None


def test_after_flight_termination_there_is_no_answer(host):
    """Its clock and its API go on."""
    host.boot()
    assert host.ask(185, 1.0, seconds=0.02, timeout_s=0.02)[0] == ACCEPTED
    assert [host.step(timeout_s=0.02) for _ in range(5)] == [None] * 5
    assert host.ask(*HOLD, seconds=0.02, timeout_s=0.02)[0] == ACCEPTED


def test_a_ping_is_answered_while_the_clock_stands_still(host):
    """At once; everything else waits for a step."""
    host.boot()
    told = host.tell(host.mavlink.ping_encode(7, 3, 0, 0), seconds=0.0)
    host.api.settimeout(PATIENCE_S)
    while not (pongs := [one for one in told if one.get_type() == "PING"]):
        told = host.heard()
    assert [(pong.time_usec, pong.seq, pong.target_system) for pong in pongs] == [(7, 3, 1)]


def test_a_closed_link_is_not_reopened(host):
    """It spins until SIGTERM."""
    host.boot()
    host.link.close()
    host.server.settimeout(0.5)
    with pytest.raises(TimeoutError):
        host.server.accept()
    assert host.process.poll() is None
    host.process.send_signal(signal.SIGTERM)
    assert host.process.wait(20.0) == -signal.SIGTERM


def test_it_arms_with_live_sensors(host):
    """3.2 s after the first sensor data, and not earlier."""
    host.boot(2.0)
    assert host.ask(*ARM)[0] == REJECTED
    host.boot(3.4)
    assert host.ask(*ARM)[0] == ACCEPTED
    assert host.step().mode & 128


def test_it_never_arms_without_noise(host):
    """Values that don't change are stale."""
    host.noise = 0.0
    host.boot(4.0)
    result, texts = host.ask(*ARM)
    assert result == REJECTED
    assert any("Compass" in text for text in texts)


@pytest.mark.parametrize(("fields", "gps"), [(ALL & ~MAG, True), (ALL & ~BARO, True), (ALL, False)])
def test_it_does_not_arm_without_a_sensor(tmp_path, fields, gps):
    """Magnetometer, barometer or GPS."""
    with PlainHost(tmp_path) as host:
        host.boot(4.0, fields=fields, gps=gps)
        assert host.ask(*ARM, fields=fields, gps=gps)[0] == REJECTED


def test_it_arms_without_a_barometer_if_so_configured(tmp_path):
    """By SYS_HAS_BARO."""
    with PlainHost(tmp_path, params={"SYS_HAS_BARO": 0}) as host:
        host.boot(4.0, fields=ALL & ~BARO)
        assert host.ask(*ARM, fields=ALL & ~BARO)[0] == ACCEPTED


def test_it_disarms_automatically_without_takeoff(host):
    """After COM_DISARM_PRFLT, 10 s."""
    host.boot(4.0)
    assert host.ask(*ARM)[0] == ACCEPTED
    end_us = host.time_us + 10_100_000
    while host.time_us < end_us:
        answer = host.step()
    assert not answer.mode & 128


def test_a_second_process_of_the_same_instance_exits_at_once(host, tmp_path):
    """Like PX4, by its lock file."""
    command = [sys.executable, str(DOUBLE), "-i", str(host.instance), "-w", str(tmp_path), str(host.scripts)]
    second = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    assert second.returncode == 255
    assert "already running for instance" in second.stdout


@pytest.mark.parametrize("given", [["etc"], []])
def test_it_exits_without_its_start_script(tmp_path, given):
    """A relative folder is relative to its working folder, wherever it was started."""
    make_scripts(tmp_path)
    (tmp_path / "kept").mkdir()
    command = [sys.executable, str(DOUBLE), "-d", "-i", "0", "-w", str(tmp_path / "kept"), *given]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=20)
    assert run.returncode == 255
    assert "Error opening startup file, does not exist: etc/init.d-posix/rcS" in run.stdout


def test_it_accepts_a_mission_4_s_after_the_first_sensor_data(host):
    """And rejects one before that."""
    count = host.mavlink.mission_count_encode(1, 1, 3)

    def answers():
        told = host.tell(count, seconds=0.3)
        return [one.to_dict() for one in told if one.get_type() in ("MISSION_ACK", "MISSION_REQUEST_INT")]

    host.boot(3.6)
    assert [answer.get("type") for answer in answers()] == [DENIED]
    host.boot(4.0)
    assert [answer.get("seq") for answer in answers()] == [0]


def test_status_texts_need_the_heartbeats_of_a_ground_station(host):
    """Nobody else gets them; long ones come in chunks, and most end with a tab."""
    host.boot(1.0)
    assert host.ask(*ARM, is_station=False) == (REJECTED, [])
    result, texts = host.ask(*ARM)
    assert result == REJECTED
    assert "Preflight Fail: system is booting" in texts
    assert "Arming denied: Resolve system health failures firs" in texts
    assert "t\t" in texts


@pytest.mark.parametrize(("version", "height_m"), [("1.17", 30.0), ("main", 60.0)])
def test_only_v1_17_drops_parameters_that_equal_the_compiled_default(tmp_path, version, height_m):
    """Its airframe file comes after the environment. A parameter can be set later; unknown ones are not answered."""
    with PlainHost(tmp_path, params={"RTL_RETURN_ALT": 60.0}, version=version) as host:
        host.boot(0.3)

        def values(message):
            told = host.tell(message, seconds=0.1)
            return [(one.param_id, one.param_value) for one in told if one.get_type() == "PARAM_VALUE"]

        name = b"RTL_RETURN_ALT"
        assert values(host.mavlink.param_request_read_encode(1, 1, name, -1)) == [("RTL_RETURN_ALT", height_m)]
        assert values(host.mavlink.param_set_encode(1, 1, name, 45.0, 9)) == [("RTL_RETURN_ALT", 45.0)]
        assert values(host.mavlink.param_set_encode(1, 1, name, 50.0, 6)) == []  # of the wrong type
        assert values(host.mavlink.param_request_read_encode(1, 1, b"NO_SUCH", -1)) == []


def test_it_writes_a_log_unless_the_logger_is_off(tmp_path):
    """From boot on, where PX4 does, in PX4's format: pyulog finds no corruption in it."""
    for name, params in (("on", {}), ("off", {"SDLOG_BACKEND": 0})):
        (tmp_path / name).mkdir()
        with PlainHost(tmp_path / name, params=params) as host:
            host.boot(0.5)
    assert list((tmp_path / "off").rglob("*.ulg")) == []
    (path,) = (tmp_path / "on").glob("log/*/*.ulg")
    log = ULog(str(path))
    assert not log.file_corruption
    times_us = log.get_dataset("vehicle_attitude").data["timestamp"]
    assert times_us[0] == 1_000_000
    assert 20 <= len(times_us) <= 27
    assert set(log.get_dataset("vehicle_status").data["arming_state"]) == {1}
