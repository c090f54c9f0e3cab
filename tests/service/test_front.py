"""`px4lockstep.serve`: a vehicle in a process of its own, with time control, faults, log and verdict."""

import math

import pytest

import px4lockstep
from px4lockstep.errors import InputError, StateError
from px4lockstep.scenario.commands import Arm, Disarm, Land, Takeoff

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
    monkeypatch.setenv("TMPDIR", str(tmp_path))
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
    assert not list(tmp_path.glob("px4lockstep-serve-*"))


def test_mistakes_are_told_by_the_process_that_serves():
    with pytest.raises(InputError, match="Did you mean 'x500'"), px4lockstep.serve("x50"):
        pass
    with pytest.raises(InputError, match="speed = 0"):
        px4lockstep.serve("x500", speed=0)
