"""The benchmarks: they measure the same plant with the same inputs, and report when they cannot."""

import json
import shutil
import sys

import numpy as np
import pytest

from px4lockstep.bench import c_reference, first_flights, hover, sitl_host_step, starts, suite
from px4lockstep.cli import bench
from px4lockstep.errors import InputError, SimulationError

pytestmark = pytest.mark.process

FLIGHTS = [
    "plant_rk4",
    "plant_rk45",
    "closed_loop",
    "closed_loop_recorded",
    "replay_rk4",
    "replay_rk45",
    "campaign_mission",
    "x500_mission",
]
STARTS = ["start_help", "start_warm", "run_no_plots", "run_with_plots", "cold_compile"]
STARTS += ["first_flight", "first_flight_no_plots"]
NEEDS_COMPILER = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler: the C reference cannot be built")


@pytest.fixture
def short(monkeypatch):
    """Shorten the hover to two seconds, measured twice."""
    monkeypatch.setattr(hover, "DURATION_S", 2)
    monkeypatch.setattr(suite, "MISSION_S", 3)
    monkeypatch.setenv(bench.FRESH, "1")
    monkeypatch.setattr(suite, "REPEATS", 2)
    monkeypatch.setattr(sitl_host_step, "ROUNDS", 3)
    monkeypatch.setattr(starts, "REPEATS", 1)
    monkeypatch.setattr(starts, "YARDSTICK", (sys.executable, "-c", "pass"))
    monkeypatch.setattr(starts, "STARTS", dict.fromkeys(starts.STARTS, (sys.executable, "-c", "print(sum(range(9)))")))
    monkeypatch.setattr(first_flights, "REPEATS", 1)
    monkeypatch.setattr(first_flights, "_environment", lambda _: sys.executable)
    monkeypatch.setattr(first_flights, "_first_flight", lambda *_: starts.ProcessTime(0.5, 0.6))


def test_the_recorded_hover_is_stable():
    """The recorded commands keep the Iris level and near its altitude for the whole minute."""
    plant = hover.aircraft()
    recorded = hover.streams(physics=True)
    sim = suite.Simulation(plant, hover.timeline(True), integrator=suite.Integrator("RK4"), replay=recorded).run()
    assert sim.plant.x[2] == pytest.approx(-10.0, abs=0.5)
    assert abs(sim.plant.x[6]) > 0.999
    assert 0.3 < hover.duties(recorded).mean() < 0.8


@NEEDS_COMPILER
def test_every_benchmark_has_its_fields(short, capsys):
    """`--json` prints a list of objects and nothing else to standard output."""
    assert bench.run_bench(as_json=True) == 0
    measurements = json.loads(capsys.readouterr().out)
    assert [m["name"] for m in measurements] == [*FLIGHTS, "sitl_host_step", *STARTS]
    fields = ["c_ratio", "cpu_s", "import_ratio", "name", "realtime_factor", "tick_us", "wall_s"]
    for m in measurements:
        assert sorted(m) == fields
        assert m["wall_s"] > 0.0
    started, (host_step, *_) = measurements[-len(STARTS) :], measurements[len(FLIGHTS) :]
    assert 0.0 < host_step["tick_us"] < 1000.0
    for m in started:
        assert m["cpu_s"] > 0.0
        assert m["import_ratio"] > 0.0
        assert m["c_ratio"] is None
    for m in measurements[: len(FLIGHTS)]:
        duration_s = 3.0 if m["name"].startswith("replay") or m["name"].endswith("mission") else 2.0
        assert m["realtime_factor"] == pytest.approx(duration_s / m["wall_s"])
        assert m["tick_us"] is None
        assert m["c_ratio"] > 0.0


def test_a_cold_start_is_measured_by_a_fresh_process(monkeypatch):
    """The process that compiles differs from later starts, which load compiled code."""
    started = []

    class Finished:
        returncode = 0

    monkeypatch.setattr(bench.reporter, "compiled_count", 1)
    monkeypatch.setattr(bench.subprocess, "run", lambda command, **options: started.append(command) or Finished)
    assert bench.run_bench(as_json=True) == 0
    assert started[0][1:] == ["-P", "-m", "px4lockstep", "bench", "--json"]


def test_without_a_compiler_a_note_replaces_the_ratio(short, monkeypatch, capsys):
    """It is neither an error nor an invented number."""
    monkeypatch.setattr(c_reference.shutil, "which", lambda name: None)
    assert bench.run_bench(as_json=True) == 0
    printed = capsys.readouterr()
    found = {m["name"]: m["c_ratio"] for m in json.loads(printed.out)}
    assert found == dict.fromkeys([*FLIGHTS, "sitl_host_step", *STARTS])
    assert "note: no ratio to C: no C compiler (cc) on this machine" in printed.err
    assert bench.run_bench(as_json=False) == 0
    assert "plant_rk4" in capsys.readouterr().out


def test_only_the_named_benchmarks_run(short, capsys):
    """In the order of all benchmarks; an unknown name is an error before anything is measured."""
    assert bench.run_bench(as_json=True, names=["run_no_plots", "start_help"]) == 0
    assert [m["name"] for m in json.loads(capsys.readouterr().out)] == ["start_help", "run_no_plots"]
    with pytest.raises(InputError, match="unknown benchmark 'start_hel'; did you mean 'start_help'"):
        bench.run_bench(as_json=True, names=["start_hel"])


def test_the_start_benchmarks_measure_processes(tmp_path, monkeypatch):
    """CPU time counts, waiting does not; only the cold compile has a compile cache of its own, which is empty."""
    monkeypatch.setenv("PX4LOCKSTEP_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(starts, "REPEATS", 2)
    code = (
        "import os, time\nfolder = os.environ['PX4LOCKSTEP_CACHE_DIR']\n"
        f"assert not os.listdir(folder)\nopen({str(tmp_path.parent / 'seen')!r}, 'a').write(folder + '\\n')\n"
        "time.sleep(0.5)"
    )
    monkeypatch.setattr(starts, "STARTS", dict.fromkeys(["start_help", "cold_compile"], (sys.executable, "-c", code)))
    yardstick, found = starts.measure_starts(["start_help", "cold_compile"])
    assert found["start_help"].wall_s > 0.5
    assert 0.0 < found["start_help"].cpu_s < 0.5
    assert yardstick.cpu_s > 0.0
    *warm, first = (tmp_path.parent / "seen").read_text().split()
    assert warm == [str(tmp_path)] * 2
    assert first != str(tmp_path)


def test_first_flights_are_those_of_a_new_environment(tmp_path, monkeypatch):
    """With the wheel that is given, or the one of this checkout; an installation with compiled code is used itself."""
    commands = []
    monkeypatch.setattr(first_flights, "_run", lambda *command: commands.append(command))
    monkeypatch.setenv(first_flights.WHEEL, "given.whl")
    python = first_flights._environment(tmp_path)
    assert python == str(tmp_path / "environment/bin/python")
    assert [command[1:3] for command in commands] == [("-m", "venv"), ("-m", "pip")]
    assert commands[-1][0] == python
    assert commands[-1][-1] == "given.whl"
    monkeypatch.delenv(first_flights.WHEEL)
    (tmp_path / "px4lockstep.whl").touch()
    first_flights._environment(tmp_path)
    assert "--config-setting=compile=generic" in commands[2]
    assert commands[-1][-1] == str(tmp_path / "px4lockstep.whl")
    monkeypatch.setattr(first_flights.ahead, "problem", lambda _: "")
    assert first_flights._environment(tmp_path) == sys.executable


def test_first_flights_need_a_wheel(tmp_path, monkeypatch):
    """Without a checkout, the note says what to set; a wheel that can't be installed is named."""
    monkeypatch.delenv(first_flights.WHEEL, raising=False)
    monkeypatch.setattr(first_flights, "ROOT", tmp_path)
    measurements, notes = suite.measure(["first_flight"])
    assert not measurements
    assert notes[0].startswith("no first_flight: this installation has no code compiled ahead of time; set PX4LOCKSTEP")
    with pytest.raises(c_reference.NoReferenceError, match=r"-c raise SystemExit\('broken'\) failed: broken"):
        first_flights._run(sys.executable, "-c", "raise SystemExit('broken')")


def test_a_command_that_fails_is_not_measured(short, monkeypatch):
    """An error is not a fast start."""
    monkeypatch.setitem(starts.STARTS, "start_help", (sys.executable, "-c", "raise SystemExit('no such thing')"))
    with pytest.raises(SimulationError, match="exited with 1: no such thing"):
        starts.measure_starts(["start_help"])


@NEEDS_COMPILER
def test_a_c_reference_of_another_aircraft_is_refused(short, monkeypatch, tmp_path):
    """A ratio to another aircraft would be meaningless."""
    heavier = c_reference.c_parameters(hover.aircraft())
    heavier[0] *= 1.01
    monkeypatch.setattr(suite, "c_parameters", lambda aircraft: heavier)
    with pytest.raises(suite.SimulationError, match="they do not simulate the same aircraft"):
        suite._reference(tmp_path)


@NEEDS_COMPILER
def test_the_c_reference_agrees_with_the_plant(tmp_path):
    """A minute of hover in C and in the loop differs by at most 1e-9, from rounding alone."""
    plant = hover.aircraft()
    recorded = hover.streams(physics=True)
    state = plant.initial_state()
    reference = c_reference.CReference(tmp_path)
    reference.run(c_reference.c_parameters(plant), state, hover.duties(recorded), 4, 1e-3)
    sim = suite.Simulation(plant, hover.timeline(True), integrator=suite.Integrator("RK4"), replay=recorded).run()
    assert np.abs(sim.plant.x - state).max() < 1e-9
