"""Compile the loop, once per installation, with two processes that share the cache.

Autopilot and estimator take about as long as everything else together. A second process compiles those two
(`python -m px4lockstep.engine.compilation`); this one compiles the plant and the scenario, then the loop around both.
If the second process cannot be started, this one compiles everything, with the same result. Other processes that need
the loop wait for the lock. The second process does not take the lock, so the two cannot deadlock.
"""

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from px4lockstep.autopilots.native import step_native
from px4lockstep.engine import loop
from px4lockstep.engine.core import SIM, Arrays
from px4lockstep.engine.streams import STREAMS
from px4lockstep.estimation.estimator import step_estimator
from px4lockstep.integrators.integrate import integrate
from px4lockstep.jit import compiling_alone, from_cache, specialize
from px4lockstep.jit.progress import reporter
from px4lockstep.jit.records import locked
from px4lockstep.processes import ending_with
from px4lockstep.scenario.setpoint_rows import SETPOINT_ROW
from px4lockstep.scenario.stage import step_scenario
from px4lockstep.sensors.suite import no_sensors
from px4lockstep.vehicle.dispatch import write_outputs


def example_arrays() -> Arrays:
    """Return empty arrays of the types that the loop is called with; they are the same for every simulation."""
    examples = {stream.name: stream.empty(0, 0) for stream in STREAMS if stream.is_in_loop}
    examples |= {name: locked(examples[name]) for name in ("time_us", "due")}
    examples |= {"sensors": no_sensors(), "setpoint_rows": np.zeros(0, SETPOINT_ROW)}
    return Arrays(core=np.zeros(1, SIM), logged=np.zeros(1, np.int64), **examples)


def compile_stages() -> None:
    """Compile the autopilots and the estimator."""
    sim = np.zeros(1, SIM)[0]
    specialize(step_native, sim, 0, sim.bus)
    specialize(step_estimator, sim.estimator, sim.state, sim.bus.scenario, sim.bus.estimate)


def compile_plant() -> None:
    """Compile the integrator, the plant's outputs and the scenario."""
    sim = np.zeros(1, SIM)[0]
    specialize(integrate, 0, 0, sim.state, sim.inputs, sim.plant, sim.solver, sim.work)
    specialize(write_outputs, 0.0, sim.state, sim.inputs, sim.plant, sim.state, sim.bus.outputs)
    specialize(step_scenario, sim.scenario, 0, 0, 0, sim.state, sim.inputs, sim.plant, sim.bus)


def start_second_process() -> "subprocess.Popen[bytes] | None":
    """Start a process that compiles the stages, if the machine has a second core."""
    if (os.cpu_count() or 1) < 2 or not sys.executable:
        return None
    command = [sys.executable, "-P", "-m", "px4lockstep.engine.compilation"]
    try:
        return subprocess.Popen(
            command, env={**os.environ, "PX4LOCKSTEP_QUIET": "1"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None


@functools.cache
def compiled_loop() -> Callable[..., int]:
    """Return the loop, compiled or loaded from the cache."""
    arrays: Any = example_arrays()
    cached = from_cache(loop.advance, arrays, 0)
    if cached is not None:
        return cached
    with compiling_alone(), reporter.together("about 40 s on two cores"):  # the wait for the lock is not counted
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
    compile_stages()
