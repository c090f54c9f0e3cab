"""Ctrl-C, SIGTERM, SIGHUP and SIGKILL at every stage of `run` and `branch`: the log is kept and the folder marked."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from campaign_files import write_campaign
from commands import run_command, start_command
from processes import wait_until

import px4lockstep
from px4lockstep.flights.folder import RunFolder, read_log
from px4lockstep.log.log import Log

COMMAND = (sys.executable, "-m", "px4lockstep")
SHORT = ("run", "iris", "--set", "timeline.t_end_s=4.0", "--out", "out")

INTERRUPTED_AT = """
import os, signal, sys, time
from importlib import import_module

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
NUMBER = int(os.environ.get("SENT", signal.SIGINT))
from px4lockstep.cli import main

class Lost:
    def __del__(self):
        os.kill(os.getpid(), NUMBER)  # raised in a finalizer, an exception is lost

def interrupt(home, name, way):
    module, _, owner = home.partition(":")
    owner = getattr(import_module(module), owner) if owner else import_module(module)
    original = getattr(owner, name)

    def interrupted(*arguments, **options):
        if way == "lost":
            Lost()
        elif way == "parent":
            os.kill(os.getppid(), NUMBER)
            time.sleep(60.0)  # the parent stops this process
        else:
            for _ in range(2 if way == "twice" else 1):
                exec("os.kill(os.getpid(), NUMBER)")  # inside an exec, as most of what imports do
        return original(*arguments, **options)

    setattr(owner, name, interrupted)

home, name, way, *arguments = sys.argv[1:]
if os.environ["FORKS"] == "0":
    import_module("px4lockstep.aside").Aside.start = lambda work: None
interrupt(home, name, way)
sys.argv = ["px4lockstep", *arguments]
main()
"""
"""Runs the command line and sends a signal when a function is entered."""


@pytest.fixture
def interrupted(tmp_path, tmp_path_factory):
    """Run the command line so that it sends real signals to itself."""
    home_of_script = tmp_path_factory.mktemp("script")
    script = home_of_script / "interrupted_at.py"
    script.write_text(INTERRUPTED_AT, "utf-8")

    def run(home, name, *arguments, way="once", sent=signal.SIGINT, forks=True):
        environment = {**os.environ, "SENT": str(int(sent)), "FORKS": str(int(forks))}
        finished = run_command(home, name, way, *arguments, cwd=tmp_path, env=environment, script=script)
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
def test_before_the_folder_exists_an_interrupt_is_one_line(tmp_path, interrupted, home, name, way):
    """Nothing is written, even if the exception is lost in a finalizer."""
    finished = interrupted(home, name, *SHORT, way=way)
    assert finished.returncode == 130
    assert (finished.stdout, finished.stderr) == ("", "interrupted\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["compiled_loop", "rehearse"])
def test_a_campaign_stops_at_once_before_its_first_run(tmp_path, interrupted, name):
    """Also while it waits for a process that compiles: there is nothing to finish yet."""
    finished = interrupted(
        "px4lockstep.campaigns.run", name, "campaign", "run", write_campaign(tmp_path), "--out", "out"
    )
    assert finished.returncode == 130
    assert (finished.stdout, finished.stderr) == ("", "interrupted\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("home", "name", "rows"),
    [(f"{FOLDER}:RunFolder", "create", 0), ("px4lockstep.cli.run", "fly", 100), (f"{FOLDER}:RunFolder", "watch", 200)],
)
def test_an_interrupt_in_flight_keeps_the_log(tmp_path, interrupted, home, name, rows):
    """Before the first second, within it and later; with log and summary, marked, and reported once."""
    finished = interrupted(home, name, *SHORT, "--json")
    assert finished.returncode == 130
    assert finished.stderr.count("interrupted") == 1
    assert "lacks the rest of the flight" in finished.stderr
    assert files_in(tmp_path / "out") == ["INCOMPLETE", "log.parquet", "spec.toml", "summary.json"]
    assert read_log(tmp_path / "out").rows == rows
    assert json.loads(finished.stdout)["outcome"] == "stopped"


@pytest.mark.parametrize("name", ["write_recording", "write_parquet", "summary_of"])
def test_an_interrupt_while_writing_lets_the_write_finish(tmp_path, interrupted, name):
    """Recording, log and summary; the figure is omitted and the folder marked if it was requested."""
    finished = interrupted(FOLDER, name, *SHORT)
    assert finished.returncode == 130
    assert "lacks the figure" in finished.stderr
    assert files_in(tmp_path / "out") == ["INCOMPLETE", "log.parquet", "recording.h5", "spec.toml", "summary.json"]
    assert read_log(tmp_path / "out").rows == 401


def test_a_run_with_all_its_files_is_complete(tmp_path, interrupted):
    """An interrupt while the log is written, with no figure to draw."""
    finished = interrupted(FOLDER, "write_parquet", *SHORT, "--no-plots")
    assert finished.returncode == 130
    assert "interrupted: out is complete" in finished.stderr
    assert files_in(tmp_path / "out") == ["log.parquet", "recording.h5", "spec.toml", "summary.json"]


@pytest.mark.parametrize("way", ["once", "parent"])
@pytest.mark.parametrize("name", ["plot_flight", "draw_flight"])
def test_a_figure_being_drawn_is_omitted(tmp_path, interrupted, name, way):
    """Everything else is written. It is drawn by a forked child, or by the process itself if that is not possible."""
    home = "px4lockstep.plots.flight" if name == "plot_flight" else "px4lockstep.flights.figure"
    if way == "parent" and len(os.sched_getaffinity(0)) < 2:
        pytest.skip("without a second core, the figure is not drawn by a child")
    finished = interrupted(home, name, *SHORT, way=way, forks=way == "parent")
    assert finished.returncode == 130
    assert "lacks the figure" in finished.stderr
    assert files_in(tmp_path / "out") == ["INCOMPLETE", "log.parquet", "recording.h5", "spec.toml", "summary.json"]


def test_an_interrupt_while_printing_only_changes_the_exit_code(tmp_path, interrupted):
    """The table is printed."""
    finished = interrupted("px4lockstep.cli.run", "_print_summary", *SHORT)
    assert finished.returncode == 130
    assert "digest" in finished.stdout
    assert files_in(tmp_path / "out") == ["log.parquet", "plots.png", "recording.h5", "spec.toml", "summary.json"]


def test_a_second_interrupt_stops_at_once(tmp_path, interrupted):
    """Whatever is being written; no partial file is left, and the log stays in `log.rows`."""
    finished = interrupted(FOLDER, "write_parquet", *SHORT, way="twice")
    assert finished.returncode == 130
    assert finished.stderr == "interrupted\n"
    assert files_in(tmp_path / "out") == ["INCOMPLETE", "log.rows", "recording.h5", "spec.toml"]
    assert read_log(tmp_path / "out").rows == 401


@pytest.mark.parametrize("seconds", [0, 1, 30, 120])
def test_a_killed_run_loses_nothing_that_was_logged(tmp_path, seconds):
    """Whenever it is killed, each row is complete and bit-identical to that of the uninterrupted flight."""
    long = {"timeline.t_end_s": 5_000.0}
    process = start_command("run", "iris_long", "--out", "out", "--set", "timeline.t_end_s=5000", cwd=tmp_path)
    folder = tmp_path / "out"
    wait_until(lambda: (folder / "log.rows").exists() and read_log(folder).rows >= 50 * seconds)
    process.kill()
    process.communicate()
    assert {"INCOMPLETE", "log.rows"} <= set(files_in(folder))
    log = read_log(folder)
    assert log.rows >= 50 * seconds
    simulation = px4lockstep.build(px4lockstep.load_spec("iris_long", long)).simulation
    whole = Log.of(simulation.run(log.rows * 20_000))
    assert whole.rows == log.rows
    for name in whole:
        assert log[name].tobytes() == whole[name].tobytes(), name


def test_the_log_of_a_killed_run_can_be_plotted_and_exported(tmp_path):
    """With a warning on standard error about how much of the flight there is."""
    flight = px4lockstep.build(px4lockstep.load_spec("iris_long"))
    folder = RunFolder.create(tmp_path / "out", flight, holds_log=True).path
    flight.simulation.run(20_000_000)
    for arguments in (("plot", "out"), ("export", "out", "--columns", "pos_ned")):
        finished = run_command(*arguments, cwd=tmp_path)
        assert finished.returncode == 0, finished.stderr
        assert finished.stderr == "warning: the run in out is incomplete; its log has 19.98 s of the flight\n"
    assert (folder / "plots.png").exists()
    assert (folder / "export.csv").exists()


def test_other_commands_stop_too(interrupted):
    """At once, or at their end if the exception was lost."""
    for way in ("once", "lost"):
        finished = interrupted("px4lockstep.cli.doctor", "diagnose", "doctor", way=way)
        assert finished.returncode == 130
        assert finished.stderr == "interrupted\n"


# -- SIGTERM and SIGHUP ----------------------------------------------------------------------------------------------

CODES = {signal.SIGTERM: 143, signal.SIGHUP: 129}


@pytest.mark.parametrize("sent", CODES, ids=lambda sent: sent.name)
@pytest.mark.parametrize(
    ("home", "name", "rows"),
    [
        ("px4lockstep.spec.load", "checked", None),
        (f"{FOLDER}:RunFolder", "create", 0),
        (f"{FOLDER}:RunFolder", "watch", 200),
        (FOLDER, "write_parquet", 401),
    ],
)
def test_sigterm_and_sighup_stop_a_run_like_an_interrupt(tmp_path, interrupted, home, name, rows, sent):
    """Before the folder exists, in flight, and while the log is written; each with its exit code."""
    finished = interrupted(home, name, *SHORT, "--json", sent=sent)
    assert finished.returncode == CODES[sent], finished.stderr
    assert "interrupted" in finished.stderr
    if rows is None:
        assert list(tmp_path.iterdir()) == []
        return
    recording = ["recording.h5"] if rows == 401 else []
    assert files_in(tmp_path / "out") == ["INCOMPLETE", "log.parquet", *recording, "spec.toml", "summary.json"]
    assert read_log(tmp_path / "out").rows == rows
    assert json.loads(finished.stdout) == json.loads((tmp_path / "out" / "summary.json").read_text())


def test_a_second_sigterm_stops_at_once(tmp_path, interrupted):
    """Like a second interrupt."""
    finished = interrupted(FOLDER, "write_parquet", *SHORT, way="twice", sent=signal.SIGTERM)
    assert (finished.returncode, finished.stderr) == (143, "interrupted\n")
    assert files_in(tmp_path / "out") == ["INCOMPLETE", "log.rows", "recording.h5", "spec.toml"]


@pytest.fixture(scope="module")
def trunk(tmp_path_factory):
    """Return a recorded flight."""
    run = px4lockstep.simulate("iris", overrides={"timeline.t_end_s": 4.0})
    return run.save(tmp_path_factory.mktemp("trunk") / "trunk", plots=False)


@pytest.mark.parametrize("sent", [signal.SIGINT, *CODES], ids=lambda sent: sent.name)
def test_a_stopped_branch_keeps_its_log(tmp_path, interrupted, trunk, sent):
    """With its summary, marked as incomplete; further branches are not flown."""
    arguments = ("branch", trunk, "--at", "1", "--count", "3", "--no-plots", "--out", "out", "--json")
    finished = interrupted(f"{FOLDER}:RunFolder", "watch", *arguments, sent=sent)
    assert finished.returncode == 128 + sent, finished.stderr
    assert "interrupted: out has 1 of 3 branches; the last one ends at the interrupt" in finished.stderr
    assert files_in(tmp_path / "out") == ["branch-1"]
    names = files_in(tmp_path / "out" / "branch-1")
    assert names == ["INCOMPLETE", "log.parquet", "mission.waypoints", "spec.toml", "summary.json"]
    assert (
        read_log(tmp_path / "out" / "branch-1").rows == 300
    )  # it notes the signal after one second, and ends after two
    assert [branch["outcome"] for branch in json.loads(finished.stdout)["branches"]] == ["stopped"]


@pytest.mark.parametrize(("name", "rows"), [("write_recording", 401), ("write_parquet", 401)])
def test_a_branch_killed_while_writing_keeps_its_log(tmp_path, interrupted, trunk, name, rows):
    """Like a run; the rows of its trunk are part of it."""
    arguments = ("branch", trunk, "--at", "1", "--no-plots", "--out", "out")
    finished = interrupted(FOLDER, name, *arguments, sent=signal.SIGKILL)
    assert finished.returncode == -signal.SIGKILL
    assert {"INCOMPLETE", "log.rows"} <= set(files_in(tmp_path / "out"))
    log, whole = read_log(tmp_path / "out"), read_log(trunk)
    assert log.rows == rows
    assert log["pos_ned"].tobytes() == whole["pos_ned"].tobytes()


def test_temporary_files_of_a_killed_run_are_removed_later(tmp_path, interrupted):
    """By the next process that writes into the folder."""
    sealed = "px4lockstep.flights.recording.file"
    interrupted(sealed, "_seal", *SHORT, "--no-plots", sent=signal.SIGKILL)
    assert len([name for name in files_in(tmp_path / "out") if name.endswith(".part")]) == 1
    exported = run_command("export", "out", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    assert files_in(tmp_path / "out") == ["INCOMPLETE", "export.csv", "export.csv.json", "log.rows", "spec.toml"]


def test_closing_the_terminal_keeps_log_and_summary(tmp_path):
    """SIGHUP, with output that goes nowhere: exit code 129, log and summary, marked as incomplete."""
    command = shutil.which("setsid")
    assert command is not None
    master, terminal = os.openpty()
    long = ("run", "iris_long", "--set", "timeline.t_end_s=5000", "--out", "out")
    with subprocess.Popen(
        (command, "--ctty", "--wait", *COMMAND, *long), cwd=tmp_path, stdin=terminal, stdout=terminal, stderr=terminal
    ) as process:
        os.close(terminal)
        for _ in range(12_000):
            if (tmp_path / "out" / "log.rows").exists() and read_log(tmp_path / "out").rows > 500:
                break
            time.sleep(0.005)
        os.close(master)
        assert process.wait(120) == 129
    assert files_in(tmp_path / "out") == ["INCOMPLETE", "log.parquet", "spec.toml", "summary.json"]
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["outcome"] == "stopped"
