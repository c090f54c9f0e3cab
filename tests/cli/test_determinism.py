"""`px4lockstep determinism`: table, JSON, exit codes, and no process left behind."""

import functools
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from commands import run_command

from px4lockstep.cli import determinism as command
from px4lockstep.flights.determinism import Determinism, VariantFlight
from px4lockstep.flights.recording.differences import Difference

COMMAND = (sys.executable, "-m", "px4lockstep", "determinism")
SHORT = ("--set", "timeline.t_end_s=0.5")
SAME = VariantFlight("fresh process 1", "a" * 64, "b" * 64, None, 1.0)
OTHER = VariantFlight("JIT off", "c" * 64, "b" * 64, None, 1.0)
FAILED = VariantFlight("generic CPU", None, None, "it broke (exit code 1)", 1.0)
PART = Difference(12_000, "pos[2]", 1.0, 2.0)


def run(*arguments, cwd):
    return run_command("determinism", *arguments, cwd=cwd)


@pytest.mark.slow  # flies with code for another CPU, for which everything is compiled again
def test_json_is_on_standard_output_and_progress_on_standard_error(tmp_path):
    """It leaves no files; an unfinished mission is not a failure here."""
    finished = run("iris", "--runs", "1", *SHORT, "--json", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    told = json.loads(finished.stdout)
    assert sorted(told) == ["first_difference", "identical", "variants"]
    assert told["identical"] is True
    assert told["first_difference"] is None
    names = [variant["name"] for variant in told["variants"]]
    assert len(names) == 7
    assert all(f"{name}: {told['variants'][0]['digest'][:16]}" in finished.stderr for name in names)
    listed = "fresh process 1, JIT off, generic CPU, one worker, two workers"
    assert finished.stderr.startswith(f"flying 7 flights in 5 variants ({listed}); can take several minutes\n")
    assert all(variant["live_digest"] == told["variants"][0]["live_digest"] for variant in told["variants"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("found", "code", "texts"),
    [
        (Determinism((SAME, SAME)), 0, ("identical\n", f"digest {'a' * 64}", f"live digest {'b' * 64}")),
        (
            Determinism((SAME, OTHER), ("fresh process 1", "JIT off"), PART),
            1,
            ("different: fresh process 1 and JIT off first differ at t = 0.012000 s in pos[2]: 1.0 vs 2.0", "c" * 16),
        ),
        (Determinism((SAME, FAILED)), 1, ("generic CPU failed: it broke (exit code 1)",)),
    ],
    ids=["identical", "different", "failed"],
)
def test_the_result_is_printed(monkeypatch, capsys, found, code, texts):
    """A table, the first difference, and the exit code."""
    monkeypatch.setattr(command, "determinism", lambda spec, **_: found)
    assert command.run_determinism("iris", 1, trust=False, as_json=False) == code
    printed = capsys.readouterr().out
    for text in texts:
        assert text in printed
    assert ("identical\n" in printed) == (code == 0)
    assert command.run_determinism("iris", 1, trust=False, as_json=True) == code
    assert json.loads(capsys.readouterr().out)["identical"] == (code == 0)


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (("irsi",), "iris"),
        (("iris", "--runs", "0"), "runs = 0"),
        (("iris", "--set", "environment.wind=gale"), "gale"),
        (("iris", "--set", "run.mode=replay", "--set", "run.recording_in=x.h5"), "replay"),
    ],
)
def test_bad_input_is_exit_code_2(tmp_path, arguments, fragment):
    """With a message, without a traceback."""
    finished = run(*arguments, cwd=tmp_path)
    assert finished.returncode == 2
    assert fragment in finished.stderr
    assert "Traceback" not in finished.stderr


def workers_of(folder):
    """Return the worker processes that fly the spec of a folder."""
    listed = subprocess.run(["ps", "-ww", "-eo", "pid=,args="], capture_output=True, text=True, check=True).stdout
    return [
        line for line in listed.splitlines() if "px4lockstep.flights.determinism_worker" in line and str(folder) in line
    ]


@pytest.mark.parametrize(
    "how",
    [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGKILL],
    ids=lambda how: how.name,
)
def test_no_process_is_left_behind(tmp_path, how):
    """After an interrupt, SIGTERM or a kill, all workers end, and temporary files are removed if possible."""
    process = subprocess.Popen(
        (*COMMAND, "iris", "--runs", "1"),
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # a shell ignores interrupts in background jobs, which children inherit
        preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    try:
        wait_until(lambda: len(workers_of(tmp_path)) == 2)
        process.send_signal(how)
        _, errors = process.communicate(timeout=60)
    finally:
        process.terminate()
    if how == signal.SIGKILL:
        wait_until(lambda: not workers_of(tmp_path))  # each within a simulated second
        return
    assert process.returncode == 128 + how
    assert b"Traceback" not in errors
    assert workers_of(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def wait_until(is_so):
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come to be")
