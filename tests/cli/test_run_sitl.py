"""`px4lockstep run` with stock PX4's double: folders, two at once, replays, interrupts, kills."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from px4_sitl_double import is_alive, is_gone, make_build

COMMAND = [sys.executable, "-m", "px4lockstep"]


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return make_build(tmp_path_factory.mktemp("px4") / "build")


def start(build, out, *settings, misbehave="", **options):
    """Begin a flight in a process of its own."""
    words = ["autopilot.kind=px4-sitl", f"px4.sitl.build_dir={build}", *settings]
    command = [*COMMAND, "run", "iris", "--out", str(out), "--no-plots", "--json"]
    for word in words:
        command += ["--set", word]
    env = {**os.environ, "PX4_DOUBLE_MISBEHAVE": misbehave}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, **options)


def px4_of(out):
    """The process of a flight's PX4, when it has one."""
    end_s = time.monotonic() + 120.0
    while not (out / "px4.log").exists() or "Simulator connected" not in (out / "px4.log").read_text():
        assert time.monotonic() < end_s
        time.sleep(0.05)
    return int((out / "px4" / "pid").read_text())


def replayed(out):
    finished = subprocess.run([*COMMAND, "replay", str(out), "--json"], capture_output=True, text=True, check=True)
    return json.loads(finished.stdout)


def test_two_missions_are_flown_at_once_and_replayed(build, tmp_path):
    """Two processes, two instances, the simulator's own sensors; each flown to its end, replayed to the bit."""
    folders = [tmp_path / "one", tmp_path / "two"]
    flights = [start(build, folder) for folder in folders]
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


@pytest.mark.parametrize(("sensor", "mode"), [("gps", "mode land"), ("mag", None), ("baro", None)])
def test_a_sensor_fault_of_the_scenario_is_seen_by_px4(build, tmp_path, sensor, mode):
    """Without GPS it descends; without magnetometer or barometer it goes on."""
    events = f"scenario.events=[{{ at_s = 10.0, action = 'sensor_fault', sensor = '{sensor}' }}]"
    flight = start(build, tmp_path / "run", events, "timeline.t_end_s=16.0")
    printed, errors = flight.communicate(timeout=120)
    assert flight.returncode == 1, errors  # the mission takes longer
    after = [event["label"] for event in json.loads(printed)["events"] if event["time_s"] > 10.0]
    assert after == ([] if mode is None else [mode])


def test_an_interrupt_ends_px4_and_keeps_the_log(build, tmp_path):
    """Once is enough: the folder says that it is incomplete."""
    flight = start(build, tmp_path / "run", "timeline.t_end_s=3600.0")
    process_id = px4_of(tmp_path / "run")
    time.sleep(1.5)
    flight.send_signal(signal.SIGINT)
    _, errors = flight.communicate(timeout=60)
    assert flight.returncode == 130, errors
    assert "Traceback" not in errors
    assert is_gone(process_id)
    assert (tmp_path / "run" / "INCOMPLETE").exists()
    assert (tmp_path / "run" / "log.parquet").exists()


def test_verbose_shows_what_px4_prints(build, tmp_path):
    """On standard error, while it flies."""
    command = [*COMMAND, "run", "iris", "-v", "--no-plots", "--out", str(tmp_path / "run")]
    for word in ("autopilot.kind=px4-sitl", f"px4.sitl.build_dir={build}", "timeline.t_end_s=2.0"):
        command += ["--set", word]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (tmp_path / "run" / "px4.log").read_text() in finished.stderr
    assert "Armed by external command" in finished.stderr


def test_a_campaign_has_a_px4_for_each_worker(build, tmp_path):
    """Each flight an instance of its own, and none is left over."""
    (tmp_path / "campaign.toml").write_text(
        f"""[campaign]
name = "sitl"
base = "iris"
runs = 4
seed = 1

[set]
"autopilot.kind" = "px4-sitl"
"px4.sitl.build_dir" = "{build}"
"timeline.t_end_s" = 4.0

[[vary]]
key = "airframe.mass_kg"
distribution = "uniform"
low = 1.4
high = 1.6
"""
    )
    command = [*COMMAND, "campaign", "run", "campaign.toml", "--workers", "2", "--json"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    said = json.loads(finished.stdout)
    assert said["by_status"] == {"mission not finished": 4}, finished.stderr


def test_an_interrupt_is_seen_while_px4_is_waited_for(build, tmp_path):
    """Of a PX4 that does not come there is no end to see."""
    flight = start(build, tmp_path / "run", misbehave="never-connect")
    end_s = time.monotonic() + 60.0
    while not (tmp_path / "run" / "px4" / "pid").exists():
        assert time.monotonic() < end_s
        time.sleep(0.05)
    flight.send_signal(signal.SIGINT)
    flight.communicate(timeout=20)
    assert flight.returncode == 130
    assert is_gone(int((tmp_path / "run" / "px4" / "pid").read_text()))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a PX4 that lost its parent goes on")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_px4_ends_if_we_are_killed(build, tmp_path, number):
    """Nobody can clean up then; the system does."""
    flight = start(build, tmp_path / "run", "timeline.t_end_s=3600.0")
    process_id = px4_of(tmp_path / "run")
    assert is_alive(process_id)
    flight.send_signal(number)
    flight.communicate(timeout=20)
    assert is_gone(process_id)


def test_a_px4_that_is_killed_is_an_error(build, tmp_path):
    """Exit code 1, what it printed last, and the log up to then."""
    flight = start(build, tmp_path / "run", "timeline.t_end_s=3600.0")
    process_id = px4_of(tmp_path / "run")
    time.sleep(1.5)
    os.kill(process_id, signal.SIGKILL)
    printed, errors = flight.communicate(timeout=60)
    assert flight.returncode == 1
    assert "error: SIGKILL has ended PX4\n  PX4 printed last:" in errors
    assert "Traceback" not in errors
    assert json.loads(printed)["outcome"] == "failed"
    assert (tmp_path / "run" / "log.parquet").exists()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["determinism", "iris"], "no two of its flights are the same"),
        (["spec", "check", "iris"], "has no bin/px4 and etc"),
        (["run", "iris"], "has no bin/px4 and etc"),
    ],
)
def test_what_can_not_be_is_an_error_before_the_flight(tmp_path, command, said):
    """Exit code 2, and no folder."""
    words = ["--set", "autopilot.kind=px4-sitl", "--set", f"px4.sitl.build_dir={tmp_path}"]
    finished = subprocess.run([*COMMAND, *command, *words], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert finished.returncode == 2
    assert said in finished.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_branch_is_refused(build, tmp_path):
    """PX4 can't be copied in flight."""
    settings = ("timeline.t_end_s=1.0", "px4.sitl.boot_s=1.0", "px4.mission_path=simple")
    flight = start(build, tmp_path / "run", *settings)
    flight.communicate(timeout=120)
    command = [*COMMAND, "branch", str(tmp_path / "run"), "--at", "0.5"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert finished.returncode == 2
    assert "stock PX4 can't go on from a recorded moment" in finished.stderr
