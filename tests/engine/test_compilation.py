"""One process compiles the loop; the others wait for it and always continue."""

import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from px4lockstep.engine import compilation
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.plant.models import Oscillator

HOLDER = """
import os, sys
from px4lockstep.jit import compiling_alone

with compiling_alone():
    print("compiling", flush=True)
    sys.stdin.read()
"""
WAITER = """
from px4lockstep.jit import compiling_alone

with compiling_alone():
    print("mine", flush=True)
"""
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


@contextmanager
def interpreter(code, **environment):
    """Run code in a process that is killed at the end of the block."""
    environment = {**os.environ, "PX4LOCKSTEP_QUIET": "0", **environment}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, **PIPES) as process:
        try:
            yield process
        finally:
            process.kill()


def ticks_of(pid):
    """Return the processor time that a process has used, in hundredths of a second."""
    return sum(int(number) for number in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13])


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_second_process_reports_that_it_waits_for_the_compiler(tmp_path, is_killed):
    """It waits without using the processor, and continues when the other process ends or is killed."""
    place = {"PX4LOCKSTEP_CACHE_DIR": str(tmp_path)}
    with interpreter(HOLDER, **place) as holder:
        assert holder.stdout.readline() == "compiling\n"
        with interpreter(WAITER, **place) as waiter:
            waiting = "px4lockstep: waiting for another px4lockstep process that is compiling into"
            assert waiter.stderr.readline().startswith(waiting)
            before = ticks_of(waiter.pid)
            time.sleep(0.5)
            assert waiter.poll() is None
            assert ticks_of(waiter.pid) == before
            if is_killed:
                holder.kill()
            else:
                holder.stdin.close()
            assert waiter.stdout.readline() == "mine\n"
            assert waiter.wait(60) == 0


def test_code_compiled_by_another_process_is_not_compiled_again(monkeypatch):
    """The cache is checked again once the lock is held; no second process is started then."""
    found = iter([None, "the loop"])
    monkeypatch.setattr(compilation, "from_cache", lambda *_: next(found))
    for name in ("start_second_process", "compile_plant", "specialize"):
        monkeypatch.setattr(compilation, name, lambda *_, name=name: pytest.fail(f"{name} was called"))
    assert compilation.compiled_loop.__wrapped__() == "the loop"


def test_a_cache_that_cannot_be_locked_does_not_prevent_compiling(tmp_path, monkeypatch):
    """The cache folder cannot be created."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PX4LOCKSTEP_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with compilation.compiling_alone():
        pass


@pytest.mark.slow
def test_with_an_empty_cache_only_one_of_two_processes_compiles(tmp_path):
    """The other waits, and both fly the same flight. This test takes minutes."""
    code = "import px4lockstep\nprint(px4lockstep.simulate('iris', overrides={'timeline.t_end_s': 1.0}).digest)"
    place = {"PX4LOCKSTEP_CACHE_DIR": str(tmp_path)}
    with interpreter(code, **place) as first, interpreter(code, **place) as second:
        outputs = [process.communicate(timeout=3_000) for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0]
    assert outputs[0][0] == outputs[1][0]
    errors = "".join(text for _, text in outputs)
    assert errors.count("compiling for this machine") == errors.count("waiting for another px4lockstep process") == 1
    assert len(re.findall(r"compiled in [\d.]+ s", errors)) == 1


def test_a_clock_that_runs_backwards_gives_no_negative_wall_time(monkeypatch):
    """Neither for the whole flight nor for its slowest stretch."""
    clock = iter(range(10**6, 0, -1))
    monkeypatch.setattr("px4lockstep.engine.simulation.time.perf_counter", lambda: float(next(clock)))
    simulation = Simulation(Oscillator(), Timeline(100, log=Periodic(10))).run()
    assert simulation.statistics.wall_s == 0.0
    assert simulation.statistics.slowest.wall_s == 0.0
