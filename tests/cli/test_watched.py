"""PX4 crashes, hangs or is stopped: the parent process reports it and leaves no process behind."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from commands import start_command
from processes import PATIENCE_S, children_of, is_gone, wait_until
from px4_double import OPTIONS
from px4_runs import COMMAND, SHORT, run, settings

from px4lockstep.flights.folder import is_incomplete, read_log

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a child ends with its parent on Linux; /proc")

KEYS = {"outcome", "reason", "digest", "duration_s", "wall_s", "realtime_factor", "mission_asked", "mission_finished"}
KEYS |= {"landed", "crashed", "waypoint_times_s", "max_altitude_m", "max_speed_m_s", "battery_used", "final_pos_ned"}
KEYS |= {"tilt_deg", "standing", "distance_to_target_m", "waypoint_items", "autopilot_texts", "ending", "paced_s"}
KEYS |= {"events", "warnings", "px4_rates_hz", "px4_clock_us", "own_parts", "run_dir"}
NAMES = {signal.SIGSEGV: "SIGSEGV (signal 11, segmentation fault)", signal.SIGABRT: "SIGABRT (signal 6, aborted)"}
FLIGHT = ("run", "iris", "--no-plots", "--out", "out")
STARTED = "INFO  [lockstep] conformance double, ABI 3"
SLOW = "sleep_us=20000@100"
"""Delay that makes the rest of a 4 s flight take half a minute."""


@pytest.mark.parametrize("number", NAMES)
@pytest.mark.parametrize("as_json", [False, True])
def test_a_crash_in_flight_is_reported_with_folder_and_remedy(tmp_path, number, as_json):
    """Exit code 1; the signal, the folder, the last output of PX4, the gdb command; the summary as JSON on request."""
    options = ("--json",) if as_json else ()
    told = f"signal={int(number)}@500,print=80@499"
    finished = run(*FLIGHT, *options, *settings(SHORT), cwd=tmp_path, double=told)
    assert finished.returncode == 1
    lines = finished.stderr.splitlines()
    assert lines[0].startswith(f"error: PX4's library crashed: {NAMES[number]} has ended its process, ")
    assert lines[1] == "  out holds the log up to then and is marked INCOMPLETE"
    assert lines[2:4] == ["  last output of PX4 in out/px4.log:", f"    {STARTED}"]
    assert lines[-3] == "    " + 79 * "."
    assert "build PX4 with debug symbols" in lines[-2]
    assert (
        lines[-1].lstrip().startswith(f"gdb -ex 'set follow-fork-mode child' -ex run -ex backtrace --args {COMMAND[0]}")
    )
    assert "-m px4lockstep run iris --no-plots --out out" in lines[-1]
    assert is_incomplete(tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary.keys() == KEYS
    assert (summary["outcome"], f"error: {summary['reason']}") == ("failed", lines[0])
    assert finished.stdout == (json.dumps(summary) + "\n" if as_json else "")


def test_a_crash_keeps_log_and_summary(tmp_path):
    """With times from the log; `plot` and `export` read it, and the folder stays marked."""
    changes = {"timeline.t_end_s": 40.0, "timeline.dt_log_s": 0.004}
    finished = run(*FLIGHT, "--json", *settings(changes), cwd=tmp_path, double="signal=11@7500")  # at 29.996 s
    assert finished.returncode == 1
    summary = json.loads(finished.stdout)
    log = read_log(tmp_path / "out")
    end_s = log.time_s[-1]
    assert end_s == 29.992  # up to the row before
    assert not (tmp_path / "out" / "log.rows").exists()
    assert (tmp_path / "out" / "log.parquet").exists()
    assert summary["reason"].endswith(f", after t = {end_s:.6f} s, the last row of the log")
    assert summary["duration_s"] == pytest.approx(end_s, abs=1e-9)
    assert [summary[name] for name in ("mission_asked", "mission_finished", "landed", "crashed")] == [
        True,
        *3 * [False],
    ]
    assert summary["max_altitude_m"] == -log["pos_ned"][:, 2].min() > 5.0
    assert summary["final_pos_ned"] == log["pos_ned"][-1].tolist()
    assert summary["battery_used"] == pytest.approx(log["soc"][0, 0] - log["soc"][-1, 0], abs=1e-12)
    assert "armed" in [event["label"] for event in summary["events"]]
    for command in ("plot", "export"):
        looked = run(command, "out", cwd=tmp_path)
        assert looked.returncode == 0
        assert "the run in out is incomplete" in looked.stderr
    assert is_incomplete(tmp_path / "out")


@pytest.mark.parametrize("as_json", [False, True])
def test_a_crash_at_the_start_of_px4_leaves_no_folder(tmp_path, as_json):
    """The error has what PX4 printed before; the summary has no values."""
    options = ("--json",) if as_json else ()
    finished = run(*FLIGHT, *options, *settings(SHORT), cwd=tmp_path, double="signal_at_create=11")
    assert finished.returncode == 1
    lines = finished.stderr.splitlines()
    assert lines[0].endswith("segmentation fault) has ended its process, before the flight began")
    assert lines[1:3] == ["  last output of PX4:", f"    {STARTED}"]
    assert list(tmp_path.iterdir()) == []
    if as_json:
        summary = json.loads(finished.stdout)
        assert summary.keys() == KEYS
        assert (summary["outcome"], summary["run_dir"], summary["duration_s"]) == ("failed", None, None)
    else:
        assert finished.stdout == ""


def test_a_crash_after_the_flight_keeps_the_summary(tmp_path):
    """While the library is unloaded: one object on standard output, the folder complete, and the error."""
    finished = run(*FLIGHT, "--json", *settings(SHORT), cwd=tmp_path, double="signal_at_exit=11")
    assert finished.returncode == 1
    assert json.loads(finished.stdout)["outcome"] == "out of time"
    assert "after the flight was over\n  out is complete\n" in finished.stderr
    assert not is_incomplete(tmp_path / "out")


@pytest.mark.parametrize("command", [("uorb", "verify"), ("determinism", "iris")])
def test_other_commands_report_a_crash_of_px4(tmp_path, command):
    """With the remedy; standard output is empty."""
    (library,) = [word.partition("=")[2] for word in settings({}) if word.startswith("px4.libpath=")]
    options = ("--lib", library) if command[0] == "uorb" else settings(SHORT)
    finished = run(*command, *options, cwd=tmp_path, double="signal_at_create=11")
    assert (finished.returncode, finished.stdout) == (1, "")
    assert f"error: PX4's library crashed: {NAMES[signal.SIGSEGV]} has ended its process\n" in finished.stderr
    assert "gdb" in finished.stderr


def test_a_crash_shows_the_cursor_again(tmp_path):
    """Which the progress bar hides; the error starts on a new line."""
    master, terminal = os.openpty()
    command = (*COMMAND, *FLIGHT, *settings(SHORT))
    environment = {**os.environ, OPTIONS: "signal=11@900", "TERM": "xterm"}
    finished = subprocess.run(command, cwd=tmp_path, env=environment, stderr=terminal, timeout=300, check=False)
    shown = os.read(master, 65536).decode()
    for descriptor in (master, terminal):
        os.close(descriptor)
    assert finished.returncode == 1
    assert "\x1b[?25lflying" in shown
    _, there, after = shown.partition("\r\x1b[2K\x1b[?25herror: PX4's library crashed")
    assert there
    assert "\x1b[?25l" not in after


@contextlib.contextmanager
def flying(folder, told):
    """Start a flight in its own process group; yield it with the process that flies; end both."""
    process = start_command(*FLIGHT, *settings(SHORT), cwd=folder, env={**os.environ, OPTIONS: told}, leads=True)
    try:
        wait_until(lambda: (folder / "out" / "px4.log").exists())
        (child,) = children_of(process.pid)
        yield process, child
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.mark.parametrize(
    ("number", "to_all"),
    [
        (signal.SIGINT, True),
        (signal.SIGTERM, False),
        *(
            pytest.param(number, to_all, marks=pytest.mark.slow)
            for number, to_all in ((signal.SIGINT, False), (signal.SIGTERM, True), (signal.SIGHUP, False))
        ),
    ],
)
def test_a_signal_counts_once_whichever_process_gets_it(tmp_path, number, to_all):
    """A terminal sends it to both processes, a script to one: log and summary are written."""
    with flying(tmp_path, SLOW) as (process, child):
        wait_until(lambda: (tmp_path / "out" / "log.rows").exists() and read_log(tmp_path / "out").rows > 0)
        if to_all:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        _, stderr = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 128 + number
        assert "interrupted: out has log and summary but lacks the rest of the flight" in stderr
        assert is_gone(child)
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["outcome"] == "stopped"
    assert is_incomplete(tmp_path / "out")
    assert read_log(tmp_path / "out").rows > 0


def test_the_third_interrupt_ends_a_px4_that_hangs(tmp_path):
    """In one step for an hour, where Python can't handle an interrupt."""
    with flying(tmp_path, "sleep_us=3600000000@100") as (process, child):
        for _ in range(3):
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        _, stderr = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, stderr) == (130, "interrupted\n")
        assert is_gone(child)


def test_no_process_is_left_when_the_parent_is_killed(tmp_path):
    """At once, whatever PX4 does."""
    with flying(tmp_path, "sleep_us=3600000000@100") as (process, child):
        process.kill()
        process.wait()
        wait_until(lambda: is_gone(child))


def test_a_killed_flight_is_reported_without_blaming_px4(tmp_path):
    """As by the system when memory runs out."""
    with flying(tmp_path, SLOW) as (process, child):
        os.kill(child, signal.SIGKILL)
        _, stderr = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 1
        assert stderr.startswith("error: SIGKILL (signal 9, killed) has ended the process that PX4 ran in: ")
        assert "crash" not in stderr


def test_texts_of_px4_survive_its_process(tmp_path):
    """PX4 runs in a child; the reason in the table and the summary have what it said."""
    fence = {"autopilot.params.GF_MAX_HOR_DIST": 5.0, "timeline.t_end_s": 14.0}
    finished = run(*FLIGHT, *settings(fence), cwd=tmp_path)
    assert finished.returncode == 1, finished.stderr
    said = "Geofence violation for waypoint 2"
    assert f'PX4 said: "{said}"' in " ".join(finished.stdout.replace("│", " ").split())
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert said in summary["autopilot_texts"]
    assert (summary["outcome"], summary["ending"]) == ("never took off", "on the ground")
