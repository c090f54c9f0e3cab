"""`px4lockstep run` without an end: clients fly a double of stock PX4 until a signal ends the run."""

import json
import signal
import socket
import time
from contextlib import suppress

import pytest
from commands import run_command, start_command
from processes import wait_until
from px4_sitl_double import ask_arm, ask_mode, setpoint
from pymavlink.dialects.v20 import common
from sitl_instances import check_nothing_is_left

from px4lockstep.cli.interrupts import interrupts
from px4lockstep.cli.run import end_if_asked
from px4lockstep.engine.pace import Pace
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.flights.folder import read_log
from px4lockstep.plant.models import Oscillator

ENDLESS = ("timeline.t_end_s=none", "px4.mission_path=none")
FILES = ["log.parquet", "recording.h5", "spec.toml", "summary.json"]
PATIENCE_S = 120.0
TURN_S = 0.02


@pytest.fixture
def begin():
    """Start runs in separate processes; kill those that remain when the test ends."""
    begun = []

    def start(out, *settings, words=("--json",)):
        command = ["run", "iris", "--out", str(out), "--no-plots", *words]
        for word in (*ENDLESS, *settings):
            command += ["--set", word]
        begun.append(start_command(*command))
        return begun[-1]

    yield start
    for run in begun:
        if run.poll() is None:
            run.kill()
        run.communicate()


def end(run, number):
    """End a run by a signal; return its summary."""
    run.send_signal(number)
    printed, errors = run.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in errors
    assert "the run has no end; Ctrl-C or SIGTERM ends it" in errors
    return json.loads(printed)


def replayed(out):
    finished = run_command("replay", str(out), "--json")
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def logs(out):
    """Return whether a run has begun to log."""
    return (out / "log.rows").exists() and read_log(out).rows > 200


class Station:
    """A ground station that talks to the double in wall-clock time."""

    def __init__(self, instance):
        self._mavlink = common.MAVLink(None, 255, 190)
        self._peer = ("127.0.0.1", 18570 + instance)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.settimeout(TURN_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def until(self, *makes, heard):
        """Send messages repeatedly until a received message satisfies `heard`; return it."""
        end_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < end_s:
            for make in makes:
                self._socket.sendto(make(self._mavlink).pack(self._mavlink), self._peer)
            turn_s = time.monotonic() + TURN_S  # then send again, however many messages arrive
            with suppress(TimeoutError):
                while time.monotonic() < turn_s:
                    for message in common.MAVLink(None).parse_buffer(self._socket.recv(65536)) or []:
                        if heard(message):
                            return message
        raise AssertionError("the double did not answer")


def hello(mavlink):
    return mavlink.heartbeat_encode(6, 8, 0, 0, 0)


def mode(main, armed=None):
    """Return a condition: a heartbeat shows a main mode, and armed or not."""

    def holds(message):
        if message.get_type() != "HEARTBEAT" or message.custom_mode >> 16 & 0xFF != main:
            return False
        return armed is None or bool(message.base_mode & 128) == armed

    return holds


@pytest.mark.slow  # PX4 leaves offboard mode if the client does not keep up in wall-clock time
def test_a_client_flies_until_a_signal_ends_the_run(begin, sitl_build, tmp_path, sitl_instance):
    """It selects offboard mode before it sends setpoints, arms and climbs; the run folder is complete."""
    out = tmp_path / "run"
    sitl = ("autopilot.kind=px4-sitl", f"px4.sitl.build_dir={sitl_build}", f"px4.sitl.instance={sitl_instance}")
    run = begin(out, *sitl, "run.realtime_factor=10.0", "px4.sitl.answer_timeout_s=0.5")
    with Station(sitl_instance) as station:
        station.until(hello, heard=lambda message: message.get_type() == "GLOBAL_POSITION_INT")
        station.until(ask_mode(6), heard=mode(6, armed=False))
        up = setpoint(0.0, 0.0, -5.0)
        station.until(up, ask_arm, heard=mode(6, armed=True))
        station.until(
            up, heard=lambda message: message.get_type() == "GLOBAL_POSITION_INT" and message.relative_alt > 4_000
        )
    summary = end(run, signal.SIGTERM)
    assert run.returncode == 0
    assert sorted(path.name for path in out.iterdir() if path.suffix) == sorted([*FILES, "px4.log", "px4.ulg"])
    assert (summary["outcome"], summary["mission_asked"]) == ("flown", False)
    assert summary["max_altitude_m"] > 4.0
    assert any("as in offboard mode without setpoints" in warning for warning in summary["warnings"])
    assert summary["paced_s"] > 0.0
    again = replayed(out)
    assert (again["digest"], again["outcome"]) == (summary["digest"], "flown")
    check_nothing_is_left(out, sitl_instance)


def test_a_crash_is_the_outcome_of_a_run_that_went_on(begin, tmp_path):
    """With the built-in autopilot, in a mission that a broken motor ends; exit code 1."""
    event = "scenario.events=[{ at_s = 10.0, action = 'disable_motor', motor = 1 }]"
    run = begin(tmp_path / "run", "px4.mission_path=simple", "run.realtime_factor=20.0", event)
    wait_until(lambda: logs(tmp_path / "run") and read_log(tmp_path / "run")["crashed"][-1])
    rows = read_log(tmp_path / "run").rows
    wait_until(lambda: read_log(tmp_path / "run").rows > rows + 100)
    summary = end(run, signal.SIGINT)
    assert run.returncode == 1
    assert (summary["outcome"], summary["crashed"]) == ("crashed", True)
    assert not (tmp_path / "run" / "INCOMPLETE").exists()
    assert replayed(tmp_path / "run")["digest"] == summary["digest"]


class Interrupts:
    """A hook that notes a signal at a given time."""

    def __init__(self, monkeypatch, time_us):
        self._note, self._time_us = lambda: monkeypatch.setattr(interrupts, "number", signal.SIGTERM), time_us

    def step(self, time_us, inputs):
        if time_us == self._time_us:
            self._note()

    def snapshot(self):
        return None

    def restore(self, saved):
        pass


def oscillator(hook, *, has_end):
    timeline = Timeline(1_000_000, log=Periodic(1_000), has_end=has_end)
    return Simulation(Oscillator(), timeline, hooks=[hook])


@pytest.mark.fast
def test_a_slow_pace_does_not_delay_the_end(monkeypatch):
    """A simulated second takes 100 s here; the run ends within a slice of the pace."""
    simulation = oscillator(Interrupts(monkeypatch, 3_000), has_end=False)
    pace = Pace(0.01)
    while not simulation.is_done:
        simulation.run(simulation.time_us + pace.slice_us)
        pace.wait(1_000, lambda: end_if_asked(simulation))
    assert 3_000 < simulation.time_us <= 5_000


@pytest.mark.fast
@pytest.mark.parametrize(("has_end", "begun"), [(True, True), (True, False), (False, False)])
def test_a_signal_stops_other_runs_and_those_that_have_not_begun(monkeypatch, has_end, begun):
    """A run with an end has not reached it; a run without an end that has not begun has nothing to write."""
    simulation = oscillator(Interrupts(monkeypatch, -1), has_end=has_end)
    if begun:
        simulation.run(10_000)
    assert not end_if_asked(simulation)
    monkeypatch.setattr(interrupts, "number", signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        end_if_asked(simulation)
