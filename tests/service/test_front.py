"""`px4lockstep.serve`: a vehicle in a process of its own, with time control, faults, log and verdict."""

import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import px4lockstep
from px4lockstep.autopilots.mavlink.links import check_is_free
from px4lockstep.errors import InputError, SimulationError, StateError
from px4lockstep.flights.run import read_commands
from px4lockstep.scenario.commands import Arm, Disarm, Land, Takeoff
from px4lockstep.service.endpoint import ports_of

pytestmark = pytest.mark.process


def test_a_vehicle_is_served_controlled_and_judged(tmp_path):
    """Time stands still, is stepped and runs; commands, wind and failures act; the log and the verdict remain."""
    with px4lockstep.serve(
        "x500", instance=61, speed=math.inf, paused=True, record=tmp_path, overrides={"environment.wind": "none"}
    ) as vehicle:
        assert vehicle.status.time_us == vehicle.status.time_us
        assert vehicle.step(0.5) == pytest.approx(0.5, abs=0.01)
        assert (vehicle.port, vehicle.ground_station_port) == (14549, 14550)
        assert vehicle.address.endswith(":14549")
        with pytest.raises(StateError, match="paused"):
            vehicle.submit(Arm())
        vehicle.resume()
        vehicle.wait_until_ready()
        assert vehicle.submit(Arm()).is_accepted
        with pytest.raises(InputError, match="did you mean 'Takeoff'"):
            vehicle.submit("Takeof")
        assert vehicle.submit("Takeoff").is_accepted
        vehicle.pause()
        vehicle.step(12.0)
        assert -vehicle.status.pos_ned[2] == pytest.approx(2.7, abs=0.4)
        vehicle.resume()
        vehicle.set_wind((0.0, 3.0, 0.0))
        assert vehicle.submit(Disarm()).text == "Disarming denied: not landed"
        with pytest.raises(InputError, match="allowed: gps, battery, motor"):
            vehicle.inject("wing", "off")
        with pytest.raises(InputError, match="three numbers"):
            vehicle.set_wind((1.0,))
        assert vehicle.submit(Land()).is_accepted
        vehicle.pause()
        vehicle.step(20.0)
        assert vehicle.status.wind_ned == (0.0, 3.0, 0.0)
        assert not vehicle.status.armed
        assert "Takeoff detected" in vehicle.texts
        with pytest.raises(StateError, match="no results yet"):
            _ = vehicle.outcome
    assert vehicle.outcome == "flown"
    assert vehicle.log["pos_ned"].shape[1] == 3
    [folder] = vehicle.folders
    assert px4lockstep.replay(folder).digest == vehicle.summary["digest"]
    with pytest.raises(StateError, match="`with` block"):
        vehicle.pause()


def test_a_crash_is_told_and_nothing_stays_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with px4lockstep.serve("x500", instance=62, speed=math.inf) as vehicle:
        vehicle.wait_until_ready()
        vehicle.submit(Arm())
        vehicle.submit(Takeoff(600.0))
        vehicle.step(15.0)
        vehicle.resume()
        vehicle.inject("motor", "off")
        vehicle.step(15.0)
        assert vehicle.status.is_crashed
        vehicle.resume()
        vehicle.inject("motor", "ok")
    assert vehicle.outcome == "crashed"
    assert vehicle.folders == []
    assert len(vehicle.log["pos_ned"]) > 100
    assert list(tmp_path.iterdir()) == []


def test_mistakes_are_told_by_the_process_that_serves():
    with pytest.raises(InputError, match="Did you mean 'x500'"), px4lockstep.serve("x50"):
        pass
    with pytest.raises(InputError, match="speed = 0"):
        px4lockstep.serve("x500", speed=0)


def test_another_speed_has_its_own_timeouts(tmp_path):
    """Clients send in wall-clock time. The changes are commands of the flight, so that it can be flown again."""
    with px4lockstep.serve("x500", instance=67, speed=2.0, record=tmp_path) as vehicle:
        vehicle.set_speed(5.0)
        vehicle.step(0.1)
        vehicle.set_speed(0.5)
        vehicle.step(0.1)
    rows = [row.command for row in read_commands(vehicle.folders[0] / "commands.jsonl")]
    assert [row.value for row in rows if row.param == "COM_OF_LOSS_T"] == [5.0, 1.0]


def serve_and_kill(folder):
    """Kill the process of a vehicle."""
    with px4lockstep.serve("x500", instance=63, record=folder) as vehicle:
        os.kill(vehicle._process.process.pid, signal.SIGKILL)


def test_a_vehicle_whose_process_was_killed_is_an_error_not_a_flight(tmp_path):
    with pytest.raises(SimulationError, match=r"has ended: exit code -9; what was logged is in "):
        serve_and_kill(tmp_path)
    [folder] = tmp_path.iterdir()
    assert (folder / "INCOMPLETE").exists()


def test_an_error_of_the_block_itself_is_not_replaced():
    vehicle = px4lockstep.serve("x500", instance=64)
    with pytest.raises(ZeroDivisionError), vehicle:
        os.kill(vehicle._process.process.pid, signal.SIGKILL) or 1 / 0
    with pytest.raises(StateError, match="no results"):
        _ = vehicle.outcome


def arm_with_a_taken_file(vehicle, folder):
    """Arm while the file of the commands can't be created."""
    with vehicle:
        vehicle.wait_until_ready()
        [run_folder] = folder.iterdir()
        (run_folder / "commands.jsonl").touch()
        vehicle.submit(Arm())


def test_a_flight_that_can_not_go_on_is_an_error_with_its_files(tmp_path):
    vehicle = px4lockstep.serve("x500", instance=65, record=tmp_path)
    with pytest.raises(SimulationError, match=r"commands\.jsonl can't be written: File exists"):
        arm_with_a_taken_file(vehicle, tmp_path)
    assert vehicle.folders == list(tmp_path.iterdir())
    assert len(vehicle.log["pos_ned"]) > 1


ABANDONED = """
import os, signal, px4lockstep
with px4lockstep.serve("x500", instance=66) as vehicle:
    print(vehicle._process.process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_vehicle_ends_with_the_process_that_serves_it(tmp_path):
    """Which was killed: the port is free soon, and nothing stays on disk."""
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    killed = subprocess.run([sys.executable, "-c", ABANDONED], env=environment, stdout=subprocess.PIPE, timeout=100)
    assert killed.returncode == -signal.SIGKILL
    folder = Path(f"/proc/{int(killed.stdout)}")
    end_s = time.perf_counter() + 60.0
    while folder.exists() and time.perf_counter() < end_s:
        time.sleep(0.05)
    assert not folder.exists()
    assert list(tmp_path.iterdir()) == []
    check_is_free(ports_of(66)[0].bound)
