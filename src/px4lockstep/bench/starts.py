"""The start benchmarks: commands in fresh processes, relative to a process that only imports Numba.

Numba is the largest import of every flight and cannot be avoided, so its import is the yardstick. Ratios are those of
CPU time, which other processes on the machine hardly change. CPU time includes that of child processes.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from px4lockstep.bench.c_reference import NoReferenceError
from px4lockstep.errors import SimulationError
from px4lockstep.jit import ahead

REPEATS = 7
AIRCRAFT = "x500"
COMMAND = (sys.executable, "-P", "-m", "px4lockstep")
YARDSTICK = (sys.executable, "-P", "-c", "import numba")
FIRST_TICK = f"import px4lockstep as p; p.build(p.load_spec({AIRCRAFT!r})).simulation.run(1)"
COLD_COMPILE = "cold_compile"
STARTS: dict[str, tuple[str, ...]] = {
    "start_help": (*COMMAND, "--help"),
    "start_warm": (sys.executable, "-P", "-c", FIRST_TICK),
    "run_no_plots": (*COMMAND, "run", AIRCRAFT, "--no-plots", "--out", "run"),
    "run_with_plots": (*COMMAND, "run", AIRCRAFT, "--out", "run"),
    COLD_COMPILE: (*COMMAND, "run", AIRCRAFT, "--no-plots", "--out", "run"),
}
"""The command of each benchmark. `cold_compile` has an empty compile cache and is measured once."""


@dataclass(frozen=True)
class ProcessTime:
    """Wall time and CPU time of a process, each the best of several."""

    wall_s: float = float("inf")
    cpu_s: float = float("inf")

    def best(self, other: "ProcessTime") -> "ProcessTime":
        """Return the smaller time of each kind."""
        return ProcessTime(min(self.wall_s, other.wall_s), min(self.cpu_s, other.cpu_s))


def measure_starts(names: list[str]) -> tuple[ProcessTime, dict[str, ProcessTime]]:
    """Return the times of the yardstick and of the named benchmarks, measured in turn.

    Raises:
        NoReferenceError: If this system does not tell the CPU time of a process.
        SimulationError: If a command fails.
    """
    yardstick, found = ProcessTime(), dict.fromkeys(names, ProcessTime())
    for _ in range(REPEATS):
        yardstick = yardstick.best(timed(YARDSTICK))
        for name in names:
            if name != COLD_COMPILE:
                found[name] = found[name].best(timed(STARTS[name]))
    if COLD_COMPILE in names:
        with tempfile.TemporaryDirectory() as cache:
            variables = {"PX4LOCKSTEP_CACHE_DIR": cache, ahead.VARIABLE: ahead.NOW}
            found[COLD_COMPILE] = timed(STARTS[COLD_COMPILE], **variables)
    return yardstick, found


def timed(command: tuple[str, ...], **variables: str) -> ProcessTime:
    """Run a command in an empty folder; return its times."""
    children_s = _children_clock()
    # Python uses cached bytecode, as it does for users; without it, every start compiles hundreds of modules.
    # The command line sets one thread for itself, which its children would inherit, also the yardstick.
    ours = ("PYTHONDONTWRITEBYTECODE", "OPENBLAS_NUM_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    with tempfile.TemporaryDirectory() as folder:
        start_s, start_cpu_s = time.perf_counter(), children_s()
        done = subprocess.run(
            command, cwd=Path(folder), env=environment | variables, capture_output=True, text=True, check=False
        )
        wall_s, cpu_s = time.perf_counter() - start_s, children_s() - start_cpu_s
    if done.returncode != 0:
        raise SimulationError(f"{' '.join(command[1:])} exited with {done.returncode}: {done.stderr.strip()[-300:]}")
    return ProcessTime(wall_s, cpu_s)


def _children_clock() -> Callable[[], float]:
    """Return a clock of the CPU time of all child processes that have ended."""
    try:
        import resource
    except ImportError as error:
        raise NoReferenceError("this system does not tell the CPU time of a process") from error

    def children_s() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    return children_s
