"""`px4lockstep run` with a double of stock PX4: folders, two at once, replays, interrupts, kills."""

import json
import os
import signal
import sys

import numpy as np
import pytest
from commands import run_command, start_command
from exported_ulogs import check_ulog
from processes import is_gone, wait_until
from sitl_instances import check_nothing_is_left

from px4lockstep import diff_logs, import_ulog

LONG = "timeline.t_end_s=3600.0"


@pytest.fixture
def begin(sitl_build):
    """Start flights in separate processes; kill those that remain when the test ends."""
    begun = []

    def start(out, *settings, misbehave="", words=("--json",)):
        command = ["run", "iris", "--out", str(out), "--no-plots", *words]
        for word in ("autopilot.kind=px4-sitl", f"px4.sitl.build_dir={sitl_build}", *settings):
            command += ["--set", word]
        begun.append(start_command(*command, env={**os.environ, "PX4_DOUBLE_MISBEHAVE": misbehave}))
        return begun[-1]

    yield start
    for flight in begun:
        if flight.poll() is None:
            flight.kill()  # its PX4 ends with it
        flight.communicate()


def wait_for(out, said):
    """Wait until the PX4 of a flight has printed something; return its process."""
    log = out / "px4.log"
    wait_until(lambda: log.exists() and said in log.read_text())
    return int((out / "px4" / "pid").read_text())


def replayed(out):
    finished = run_command("replay", str(out), "--json")
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def check_own_log(folder):
    """Check PX4's own log: aligned by its clock, the positions differ by the error of its estimate."""
    log = import_ulog(folder / "px4.ulg")
    assert log.report.state_is_estimate
    found = diff_logs(folder, folder / "px4.ulg")
    assert found.alignment.way == "clock"
    differences = {each.name: each for each in found.differences}
    assert 0.0 < differences["pos_ned"].rms < 1.0  # the double has a plain estimator
    assert differences["omega_body"].rms < 0.05
    armed_s = [float(log.time_s[int(np.argmax(log["armed"]))]) for log in (found.first, found.second)]
    assert armed_s[0] == pytest.approx(armed_s[1], abs=0.021)  # a row of the log


@pytest.mark.slow
def test_two_missions_are_flown_at_once_and_replayed(begin, tmp_path):
    """Two processes, two instances, with simulated sensors; each reaches its end and replays bit-identically."""
    folders = [tmp_path / "one", tmp_path / "two"]
    flights = [begin(folders[0], "px4.sitl.ulog=false"), begin(folders[1])]
    said = [flight.communicate(timeout=300) for flight in flights]
    assert [flight.returncode for flight in flights] == [0, 0], said
    ports = set()
    for folder, (printed, _) in zip(folders, said, strict=True):
        summary = json.loads(printed)
        assert summary["outcome"] == "flown"
        assert len(summary["waypoint_times_s"]) == 8
        assert replayed(folder)["digest"] == summary["digest"]
        log = (folder / "px4.log").read_text()
        ports.add(log.partition("connected on TCP port ")[2].split(".")[0])
        assert is_gone(int((folder / "px4" / "pid").read_text()))
        assert not (folder / "INCOMPLETE").exists()
    assert len(ports) == 2
    assert [(folder / "px4.ulg").exists() for folder in folders] == [False, True]


def check_export(folder):
    """Check the ULog of a flight: sensors, no setpoints, and the true state in place of PX4's own estimate."""
    found = check_ulog(folder)
    names = {data.name for data in found.data_list}
    assert {"sensor_combined", "vehicle_air_data", "vehicle_magnetometer", "vehicle_gps_position"} <= names
    assert names.isdisjoint({"vehicle_attitude_setpoint", "trajectory_setpoint", "estimator_status"})
    estimate, truth = (found.get_dataset(f"vehicle_local_position{end}").data["x"] for end in ("", "_groundtruth"))
    assert np.array_equal(estimate, truth)
    assert any("no estimate" in text.message for text in found.logged_messages)
    assert set(found.get_dataset("vehicle_gps_position").data["fix_type"]) == {3}


def test_px4_reacts_to_a_sensor_fault_of_the_scenario(begin, tmp_path):
    """Without GPS it descends. Its own log, which it keeps on request, tells the same flight."""
    events = "scenario.events=[{ at_s = 6.0, action = 'sensor_fault', sensor = 'gps' }]"
    flight = begin(tmp_path / "run", events, "timeline.t_end_s=10.0")
    printed, errors = flight.communicate(timeout=120)
    assert flight.returncode == 1, errors  # the mission takes longer
    summary = json.loads(printed)
    after = [event["label"] for event in summary["events"] if event["time_s"] > 6.0]
    assert sorted(after) == ["failsafe: position lost", "mode descend"]
    assert summary["autopilot_texts"] == ["No valid global position", "Failsafe activated"]
    check_own_log(tmp_path / "run")


def test_an_interrupt_ends_px4_and_keeps_the_log(begin, tmp_path, sitl_instance):
    """One interrupt is enough; the folder is marked as incomplete."""
    flight = begin(tmp_path / "run", LONG, f"px4.sitl.instance={sitl_instance}")
    wait_for(tmp_path / "run", "Armed by external command")
    flight.send_signal(signal.SIGINT)
    _, errors = flight.communicate(timeout=60)
    assert flight.returncode == 130, errors
    assert "Traceback" not in errors
    check_nothing_is_left(tmp_path / "run", sitl_instance)
    assert (tmp_path / "run" / "INCOMPLETE").exists()
    assert (tmp_path / "run" / "log.parquet").exists()


def test_a_complete_flight_leaves_no_process_and_shows_the_px4_console(begin, tmp_path, sitl_instance):
    """With -v, on standard error; no process or port remains. It can be exported, but not branched."""
    settings = ("timeline.t_end_s=2.0", f"px4.sitl.instance={sitl_instance}", 'run.exports=["ulog"]')
    _, errors = begin(tmp_path / "run", *settings, words=("-v",)).communicate(timeout=120)
    assert (tmp_path / "run" / "px4.log").read_text() in errors
    assert "Armed by external command" in errors
    check_nothing_is_left(tmp_path / "run", sitl_instance)
    check_export(tmp_path / "run")
    finished = run_command("branch", str(tmp_path / "run"), "--at", "0.5", cwd=tmp_path)
    assert finished.returncode == 2
    assert "stock PX4 can't resume from a checkpoint" in finished.stderr


@pytest.mark.parametrize(
    ("misbehaviour", "settings", "said"),
    [
        ("exit=7@1", (), "error: PX4 exited with code 7"),
        ("never-connect", ("px4.sitl.connect_timeout_s=1.0",), "error: PX4 was started but did not connect to TCP"),
        ("stall@1", ("px4.sitl.answer_timeout_s=0.5",), "error: PX4 did not answer 3 steps in a row"),
    ],
)
def test_an_error_or_timeout_leaves_no_process(begin, tmp_path, sitl_instance, misbehaviour, settings, said):
    """PX4 exits, never connects, or stops responding."""
    settings = ("timeline.t_end_s=1.0", f"px4.sitl.instance={sitl_instance}", *settings)
    flight = begin(tmp_path / "run", *settings, misbehave=f"{misbehaviour},child")
    _, errors = flight.communicate(timeout=120)
    assert flight.returncode == 1
    assert said in errors
    assert "Traceback" not in errors
    check_nothing_is_left(tmp_path / "run", sitl_instance)


def test_a_campaign_has_a_px4_for_each_worker(sitl_build, tmp_path):
    """Two doubles wait for each other, so both run at once, as two instances of two workers."""
    (tmp_path / "campaign.toml").write_text(
        f"""[campaign]
name = "sitl"
base = "iris"
runs = 3
seed = 1

[set]
"autopilot.kind" = "px4-sitl"
"px4.sitl.build_dir" = "{sitl_build}"
"timeline.t_end_s" = 1.0

[[vary]]
key = "airframe.mass_kg"
distribution = "uniform"
low = 1.4
high = 1.6
"""
    )
    (tmp_path / "notes").mkdir()
    env = {**os.environ, "PX4_DOUBLE_MEET": str(tmp_path / "notes")}
    finished = run_command("campaign", "run", "campaign.toml", "--workers", "2", "--json", cwd=tmp_path, env=env)
    said = json.loads(finished.stdout)
    assert said["by_status"] == {"out of time": 3}, finished.stderr
    _, *flown = [path.read_text().split() for path in sorted((tmp_path / "notes").iterdir())]  # rehearsed, then flown
    (instance, worker, _), (other_instance, other_worker, _) = flown[:2]
    assert instance != other_instance
    assert worker != other_worker
    for _, _, pid in flown:
        wait_until(lambda pid=pid: is_gone(int(pid)))


def test_an_interrupt_stops_the_wait_for_px4(begin, tmp_path, sitl_instance):
    """A PX4 that never connects has no end to wait for."""
    flight = begin(tmp_path / "run", f"px4.sitl.instance={sitl_instance}", misbehave="never-connect")
    wait_for(tmp_path / "run", "Waiting for simulator")
    flight.send_signal(signal.SIGINT)
    flight.communicate(timeout=60)
    assert flight.returncode == 130
    check_nothing_is_left(tmp_path / "run", sitl_instance)


def test_instructions_to_start_px4_are_printed_once(begin, tmp_path, sitl_instance):
    """On standard error, when the wait begins."""
    wait = ("px4.sitl.wait_for_user=true", "px4.sitl.connect_timeout_s=0.5", f"px4.sitl.instance={sitl_instance}")
    flight = begin(tmp_path / "run", *wait)
    _, errors = flight.communicate(timeout=60)
    assert flight.returncode == 1
    assert errors.startswith(
        f"waiting for PX4 to connect to TCP port {4560 + sitl_instance}; start it in its build folder"
    )
    assert errors.count("PX4_SYS_AUTOSTART=10016 PX4_PARAM_SDLOG_BACKEND=0") == 1
    check_nothing_is_left(tmp_path / "run", sitl_instance)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a PX4 that lost its parent goes on")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_px4_ends_if_the_command_is_killed(begin, tmp_path, sitl_instance, number):
    """The operating system ends it after SIGKILL; after SIGTERM there are log and summary."""
    flight = begin(tmp_path / "run", LONG, f"px4.sitl.instance={sitl_instance}")
    assert not is_gone(wait_for(tmp_path / "run", "Simulator connected"))
    flight.send_signal(number)
    flight.communicate(timeout=60)
    assert flight.returncode == (143 if number == signal.SIGTERM else -number)
    assert (tmp_path / "run" / "summary.json").exists() == (number == signal.SIGTERM)
    check_nothing_is_left(tmp_path / "run", sitl_instance)


def test_a_px4_that_is_killed_is_an_error(begin, tmp_path, sitl_instance):
    """Exit code 1, the last output of PX4, and the log up to then."""
    flight = begin(tmp_path / "run", LONG, f"px4.sitl.instance={sitl_instance}")
    os.kill(wait_for(tmp_path / "run", "Armed by external command"), signal.SIGKILL)
    printed, errors = flight.communicate(timeout=60)
    assert flight.returncode == 1
    assert "error: PX4 was killed by SIGKILL\n  last output of PX4:" in errors
    assert "Traceback" not in errors
    assert json.loads(printed)["outcome"] == "failed"
    assert (tmp_path / "run" / "log.parquet").exists()
    check_nothing_is_left(tmp_path / "run", sitl_instance)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["determinism", "iris"], "is not bit-reproducible"),
        (["spec", "check", "iris"], "lacks bin/px4 and etc"),
        (["run", "iris"], "lacks bin/px4 and etc"),
    ],
)
def test_bad_input_is_an_error_before_the_flight(tmp_path, command, said):
    """Exit code 2, and no folder."""
    words = ["--set", "autopilot.kind=px4-sitl", "--set", f"px4.sitl.build_dir={tmp_path}"]
    finished = run_command(*command, *words, cwd=tmp_path)
    assert finished.returncode == 2
    assert said in finished.stderr
    assert list(tmp_path.iterdir()) == []
