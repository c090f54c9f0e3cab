"""Compile the loop, once per installation, with two processes that share the cache.

The autopilots take about as long as the other stages together. A second process compiles them (`python -m
px4lockstep.engine.compilation`); this one compiles plant, scenario and estimator, then the loop around all.
If the second process cannot be started, this one compiles everything, with the same result. Other processes that need
the loop wait for the lock. The second process does not take the lock, so the two cannot deadlock.

A flight that uses a wheel's code instead starts a process that compiles in the background (`entry_points.py`).
"""

import contextlib
import functools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np

from px4lockstep.autopilots.native import step_native
from px4lockstep.engine import loop
from px4lockstep.engine.core import SIM, Arrays
from px4lockstep.engine.streams import STREAMS
from px4lockstep.estimation.estimator import step_estimator
from px4lockstep.integrators.integrate import integrate
from px4lockstep.io import NOFOLLOW, lock
from px4lockstep.jit import ahead, compiling_alone, from_cache, specialize
from px4lockstep.jit.cache import cache_root
from px4lockstep.jit.progress import reporter
from px4lockstep.jit.records import locked
from px4lockstep.processes import ending_with
from px4lockstep.scenario.setpoint_rows import SETPOINT_ROW
from px4lockstep.scenario.stage import step_scenario
from px4lockstep.sensors.suite import no_sensors
from px4lockstep.vehicle.dispatch import write_outputs

LOWEST_PRIORITY = 19
"""Of the process that compiles in the background, also while it imports."""
MAX_ATTEMPTS = 3
"""Processes that are started to compile in the background, if each of them is killed."""


def example_arrays() -> Arrays:
    """Return empty arrays of the types that the loop is called with; they are the same for every simulation."""
    examples = {stream.name: stream.empty(0, 0) for stream in STREAMS if stream.is_in_loop}
    examples |= {name: locked(examples[name]) for name in ("time_us", "due")}
    examples |= {"sensors": no_sensors(), "setpoint_rows": np.zeros(0, SETPOINT_ROW)}
    examples |= {"words": np.zeros(0, np.int64), "spans": np.zeros((0, 2), np.int64), "logged": np.zeros(1, np.int64)}
    return Arrays(core=np.zeros(1, SIM), **examples)


def compile_autopilots() -> None:
    """Compile the autopilots."""
    sim = np.zeros(1, SIM)[0]
    specialize(step_native, sim, 0, sim.bus)


def compile_plant() -> None:
    """Compile the integrator, the plant's outputs, the scenario and the estimator."""
    sim = np.zeros(1, SIM)[0]
    specialize(step_estimator, sim.estimator, sim.state, sim.bus.scenario, sim.bus.estimate)
    specialize(integrate, 0, 0, sim.state, sim.inputs, sim.plant, sim.solver, sim.work)
    specialize(write_outputs, 0.0, sim.state, sim.inputs, sim.plant, sim.state, sim.bus.outputs)
    specialize(step_scenario, sim.scenario, 0, 0, 0, sim.state, sim.inputs, sim.plant, sim.bus)


def start_second_process() -> "subprocess.Popen[bytes] | None":
    """Start a process that compiles the autopilots, if the machine has a second core."""
    if (os.cpu_count() or 1) < 2 or not sys.executable:
        return None
    command = [sys.executable, "-P", "-m", "px4lockstep.engine.compilation"]
    try:
        return subprocess.Popen(
            command, env={**os.environ, "PX4LOCKSTEP_QUIET": "1"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None


def start_background() -> None:
    """Start a process that compiles all entry points for this CPU, unless one runs or has failed too often.

    It belongs to no terminal and outlives this process. Nothing that goes wrong here affects the flight.
    """
    is_wanted = ahead.native_policy() == ahead.BACKGROUND and numba.config.CPU_NAME is None
    if not is_wanted or os.name != "posix" or not sys.executable:
        return
    with contextlib.suppress(OSError, RuntimeError):  # without a writable cache there is nothing to compile for
        with background_turn() as is_free:
            if not is_free:
                return
        # The shell ends at once, so that the process is no child of this one, which would have to wait for it.
        program = [sys.executable, "-P", "-m", "px4lockstep.entry_points"]
        command = ["/bin/sh", "-c", f'nice -n {LOWEST_PRIORITY} "$@" &', "sh", *program]
        subprocess.run(
            command,
            env={**os.environ, ahead.VARIABLE: ahead.NOW, "PX4LOCKSTEP_QUIET": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=False,
        )


@contextlib.contextmanager
def background_turn(*, counts: bool = False) -> Iterator[bool]:
    """Hold the lock of the background process; yield whether it is free and attempts are left, and count this one.

    The file belongs to one build of the wheel and one kind of CPU. It has one byte for each attempt.
    """
    path = cache_root() / f"background-{ahead.identity()}"
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | NOFOLLOW, 0o666)
    try:
        is_free = lock(handle) is not False and os.fstat(handle).st_size < MAX_ATTEMPTS
        if is_free and counts:
            os.write(handle, b".")
        yield is_free
    finally:
        os.close(handle)


@functools.cache
def compiled_loop() -> Callable[..., int]:
    """Return the loop, compiled or loaded from the cache or from the wheel."""
    ahead.native_policy()  # a misspelled value is an error, even where it would have no effect
    arrays: Any = example_arrays()
    cached = from_cache(loop.advance, arrays, 0)
    if cached is not None:
        if ahead.was_loaded():
            start_background()
        return cached
    with compiling_alone(), reporter.together("about 20 s on two cores"):  # the wait for the lock is not counted
        cached = from_cache(loop.advance, arrays, 0)  # the process that held the lock may have compiled it
        if cached is not None:
            return cached
        other = start_second_process()
        if other is not None:
            try:
                compile_plant()
            finally:
                other.wait()
        return specialize(loop.advance, arrays, 0)


if __name__ == "__main__":
    ending_with(os.getppid())()
    compile_autopilots()
