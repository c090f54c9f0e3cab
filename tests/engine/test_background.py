"""Compilation in the background: once, detached, and without effect on the flight that starts it."""

import os
import signal
import subprocess
import sys
import time

import numba
import pytest

from px4lockstep.engine import compilation
from px4lockstep.jit import ahead

pytestmark = [pytest.mark.process, pytest.mark.skipif(os.name != "posix", reason="needs a shell")]

TELLS = """#!/bin/sh
{{ echo "$@"; echo "$PX4LOCKSTEP_NATIVE $PX4LOCKSTEP_QUIET $PPID"; }} > {told}.part
mv {told}.part {told}
"""
HOLDS = """
import sys, time
from pathlib import Path
from px4lockstep.engine.compilation import background_turn
from px4lockstep.jit import ahead

ahead.FOLDER = Path(sys.argv[1])
with background_turn(counts=True) as is_free:
    print(is_free, flush=True)
    time.sleep(600)
"""


def eventually(holds, limit_s=120.0):
    """Wait until something holds, on a machine that may be busy."""
    end_s = time.monotonic() + limit_s
    while not holds() and time.monotonic() < end_s:
        time.sleep(0.05)
    return holds()


@pytest.fixture
def told(tmp_path, monkeypatch):
    """Install a wheel's code and an interpreter that writes how it was started to a file; return the file."""
    (tmp_path / "ahead").mkdir()
    (tmp_path / "ahead" / ahead.ABOUT).write_text("{}")
    monkeypatch.setattr(ahead, "FOLDER", tmp_path / "ahead")
    monkeypatch.setenv("PX4LOCKSTEP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PX4LOCKSTEP_NATIVE", "background")
    python = tmp_path / "python"
    python.write_text(TELLS.format(told=tmp_path / "told"))
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    return tmp_path / "told"


def test_the_process_is_detached_and_compiles_for_this_cpu(told):
    """It is quiet, and no child of this process."""
    compilation.start_background()
    assert eventually(told.exists)
    arguments, variables = told.read_text().splitlines()
    assert arguments == "-P -m px4lockstep.entry_points"
    assert variables.startswith("now 1 ")
    assert int(variables.split()[2]) != os.getpid()
    with pytest.raises(ChildProcessError):
        os.waitpid(int(variables.split()[2]), os.WNOHANG)


def count_attempts(number):
    """Use up attempts."""
    for _ in range(number):
        with compilation.background_turn(counts=True) as is_free:
            assert is_free


@pytest.mark.parametrize("reason", ["off", "CI", "generic", "attempts", "locked", "unwritable"])
def test_no_process_is_started_in_vain(told, monkeypatch, tmp_path, reason):
    """Switched off, in CI, for a chosen CPU, after three kills, while one compiles, without a folder to write to."""
    if reason == "off":
        monkeypatch.setenv("PX4LOCKSTEP_NATIVE", "off")
    elif reason == "CI":
        monkeypatch.delenv("PX4LOCKSTEP_NATIVE")
        monkeypatch.setenv("CI", "true")
    elif reason == "generic":
        monkeypatch.setattr(numba.config, "CPU_NAME", "generic")
    elif reason == "attempts":
        count_attempts(compilation.MAX_ATTEMPTS)
    elif reason == "unwritable":
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("PX4LOCKSTEP_CACHE_DIR", str(tmp_path / "file"))
    started = []
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **_: started.append(arguments))
    if reason == "locked":
        with compilation.background_turn():
            compilation.start_background()
    else:
        compilation.start_background()
    assert started == []


def test_another_build_of_the_wheel_has_its_own_attempts(told):
    """An update that can be compiled is not blocked by an earlier version."""
    count_attempts(compilation.MAX_ATTEMPTS)
    (ahead.FOLDER / ahead.ABOUT).write_text('{"px4lockstep": "another"}')
    count_attempts(1)


def test_a_killed_process_releases_its_turn(told, monkeypatch):
    """One compiles at a time; after a kill the next flight starts another."""
    monkeypatch.undo()
    place = {**os.environ, "PX4LOCKSTEP_CACHE_DIR": str(told.parent / "cache")}
    start = [sys.executable, "-c", HOLDS, str(told.parent / "ahead")]

    def turn():
        return subprocess.Popen(start, env=place, stdout=subprocess.PIPE, text=True)

    for expected in ("True", "True", "True", "False"):
        with turn() as first:
            assert first.stdout.readline().strip() == expected
            with turn() as second:
                assert second.stdout.readline().strip() == "False"
                second.kill()
            first.send_signal(signal.SIGKILL)
