"""Ctrl-C and kill at every stage of `px4lockstep run`: what was logged is kept, and the folder says what it is."""

import json
import os
import subprocess
import sys
import time

import pytest

import px4lockstep
from px4lockstep.flights.folder import RunFolder, read_log
from px4lockstep.log.log import Log

COMMAND = (sys.executable, "-m", "px4lockstep")
SHORT = ("run", "iris", "--set", "timeline.t_end_s=4.0", "--out", "out")

INTERRUPTED_AT = """
import os, signal, sys
from importlib import import_module

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
from px4lockstep.cli import main

class Lost:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)  # raised in a finalizer, an exception is lost

def interrupt(home, name, way):
    module, _, owner = home.partition(":")
    owner = getattr(import_module(module), owner) if owner else import_module(module)
    original = getattr(owner, name)

    def interrupted(*arguments, **options):
        if way == "lost":
            Lost()
        else:
            for _ in range(2 if way == "twice" else 1):
                exec("os.kill(os.getpid(), signal.SIGINT)")  # inside an exec, as most of what imports do
        return original(*arguments, **options)

    setattr(owner, name, interrupted)

home, name, way, *arguments = sys.argv[1:]
interrupt(home, name, way)
sys.argv = ["px4lockstep", *arguments]
main()
"""
"""Runs the command line, with an interrupt as a function is entered."""


@pytest.fixture
def interrupted(tmp_path, tmp_path_factory):
    """Run the command line with real signals to itself."""
    home_of_script = tmp_path_factory.mktemp("script")
    (home_of_script / "interrupted_at.py").write_text(INTERRUPTED_AT, "utf-8")
    paths = os.pathsep.join([str(home_of_script), *filter(None, [os.environ.get("PYTHONPATH")])])

    def run(home, name, *arguments, way="once"):
        finished = subprocess.run(
            (sys.executable, "-m", "interrupted_at", home, name, way, *arguments),
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert "Traceback" not in finished.stderr
        return finished

    return run


FOLDER = "px4lockstep.flights.folder"


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("way", ["once", "lost"])
@pytest.mark.parametrize(
    ("home", "name"), [("px4lockstep.spec.load", "checked"), ("px4lockstep.spec.build", "build_aircraft")]
)
def test_before_there_is_a_folder_it_is_one_line(tmp_path, interrupted, home, name, way):
    """Nothing is written; also if the exception is lost in a finalizer."""
    finished = interrupted(home, name, *SHORT, way=way)
    assert finished.returncode == 130
    assert (finished.stdout, finished.stderr) == ("", "interrupted\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("home", "name", "rows"),
    [(f"{FOLDER}:RunFolder", "create", 0), ("px4lockstep.cli.run", "fly", 100), (f"{FOLDER}:RunFolder", "watch", 200)],
)
def test_in_flight_the_log_so_far_is_kept(tmp_path, interrupted, home, name, rows):
    """Before the first second, within it and later; with a log and a summary, and the mark."""
    finished = interrupted(home, name, *SHORT, "--json")
    assert finished.returncode == 130
    assert "interrupted" in finished.stderr
    assert "lacks the rest of the flight" in finished.stderr
    assert files_in(tmp_path / "out") == ["INCOMPLETE", "log.parquet", "spec.toml", "summary.json"]
    assert read_log(tmp_path / "out").rows == rows
    assert json.loads(finished.stdout)["outcome"] == "stopped"


@pytest.mark.parametrize("name", ["write_recording", "write_parquet", "summary_of"])
def test_what_is_being_written_is_finished(tmp_path, interrupted, name):
    """Recording, log and summary; the picture is left out, and the folder marked, if one was asked for."""
    finished = interrupted(FOLDER, name, *SHORT)
    assert finished.returncode == 130
    assert "lacks its picture" in finished.stderr
    assert files_in(tmp_path / "out") == ["INCOMPLETE", "log.parquet", "recording.h5", "spec.toml", "summary.json"]
    assert read_log(tmp_path / "out").rows == 401


def test_a_run_that_has_all_it_was_asked_for_is_complete(tmp_path, interrupted):
    """An interrupt while the log is written, without a picture to draw."""
    finished = interrupted(FOLDER, "write_parquet", *SHORT, "--no-plots")
    assert finished.returncode == 130
    assert "interrupted: out is complete" in finished.stderr
    assert files_in(tmp_path / "out") == ["log.parquet", "recording.h5", "spec.toml", "summary.json"]


@pytest.mark.parametrize("name", ["plot_flight", "draw_flight"])
def test_a_picture_that_is_being_drawn_is_left_out(tmp_path, interrupted, name):
    """It takes the longest; all else is there."""
    home = "px4lockstep.flights.figure" if name == "plot_flight" else "px4lockstep.flights.run"
    finished = interrupted(home, name, *SHORT)
    assert finished.returncode == 130
    assert "lacks its picture" in finished.stderr
    assert files_in(tmp_path / "out") == ["INCOMPLETE", "log.parquet", "recording.h5", "spec.toml", "summary.json"]


def test_the_table_is_printed_before_the_end(tmp_path, interrupted):
    """An interrupt then changes nothing but the exit code."""
    finished = interrupted("px4lockstep.cli.run", "_print_summary", *SHORT)
    assert finished.returncode == 130
    assert "digest" in finished.stdout
    assert files_in(tmp_path / "out") == ["log.parquet", "plots.png", "recording.h5", "spec.toml", "summary.json"]


def test_a_second_interrupt_stops_at_once(tmp_path, interrupted):
    """Whatever is being written; nothing half-written is left, and the log is where it was in flight."""
    finished = interrupted(FOLDER, "write_parquet", *SHORT, way="twice")
    assert finished.returncode == 130
    assert finished.stderr == "interrupted\n"
    assert files_in(tmp_path / "out") == ["INCOMPLETE", "log.rows", "recording.h5", "spec.toml"]
    assert read_log(tmp_path / "out").rows == 401


@pytest.mark.parametrize("seconds", [0, 1, 30, 300])
def test_a_killed_run_loses_nothing_that_was_logged(tmp_path, seconds):
    """Whenever it is killed, each row is whole, that of the flight that was not: to the bit."""
    long = {"timeline.t_end_s": 5_000.0}
    command = (*COMMAND, "run", "iris_long", "--out", "out", "--set", "timeline.t_end_s=5000")
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    folder = tmp_path / "out"
    for _ in range(24_000):
        if (folder / "log.rows").exists() and read_log(folder).rows >= 50 * seconds:
            break
        time.sleep(0.002)
    process.kill()
    process.wait()
    assert {"INCOMPLETE", "log.rows"} <= set(files_in(folder))
    log = read_log(folder)
    assert log.rows >= 50 * seconds
    simulation = px4lockstep.build(px4lockstep.load_spec("iris_long", long)).simulation
    whole = Log.of(simulation.run(log.rows * 20_000))
    assert whole.rows == log.rows
    for name in whole:
        assert log[name].tobytes() == whole[name].tobytes(), name


def test_what_a_killed_run_has_logged_can_be_drawn_and_exported(tmp_path):
    """With a line on standard error that says how much of the flight it is."""
    flight = px4lockstep.build(px4lockstep.load_spec("iris_long"))
    folder = RunFolder.create(tmp_path / "out", flight, holds_log=True).path
    flight.simulation.run(20_000_000)
    for arguments in (("plot", "out"), ("export", "out", "--columns", "pos_ned")):
        finished = subprocess.run((*COMMAND, *arguments), cwd=tmp_path, capture_output=True, text=True, check=False)
        assert finished.returncode == 0, finished.stderr
        assert finished.stderr == "warning: the run in out is incomplete; its log has 19.98 s of the flight\n"
    assert (folder / "plots.png").exists()
    assert (folder / "export.csv").exists()


def test_other_commands_are_stopped_too(interrupted):
    """At once, or at their end if the exception was lost."""
    for way in ("once", "lost"):
        finished = interrupted("px4lockstep.cli.doctor", "diagnose", "doctor", way=way)
        assert finished.returncode == 130
        assert finished.stderr == "interrupted\n"
