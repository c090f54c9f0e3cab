"""The first-flight benchmarks: `px4lockstep run x500` after installing a wheel with compiled code, with empty caches.

In a checkout, the wheel is built, or the one of `PX4LOCKSTEP_BENCH_WHEEL` is taken, and installed into a new
environment. An installation that has compiled code is measured itself.

CPU time is that of the command and of its child processes. Meanwhile, code for this CPU is compiled in the background,
as it is for users. The CPU time of that process is not counted, but wall time includes what it takes from the command.
It is killed after each flight, before it is done.
"""

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from px4lockstep.bench.c_reference import NoReferenceError
from px4lockstep.bench.starts import AIRCRAFT, REPEATS, ProcessTime, timed
from px4lockstep.jit import ahead

FIRST_FLIGHTS: dict[str, tuple[str, ...]] = {"first_flight": (), "first_flight_no_plots": ("--no-plots",)}
"""The options of each flight."""
WHEEL = "PX4LOCKSTEP_BENCH_WHEEL"
ROOT = Path(__file__).resolve().parents[3]
"""The checkout, if this is one."""


def measure_first_flights(names: list[str]) -> tuple[ProcessTime, dict[str, ProcessTime]]:
    """Return the times of the import of Numba in the environment of the wheel, and of the named flights.

    Raises:
        NoReferenceError: If there is no such wheel and it can't be built, or this system does not tell CPU times.
        SimulationError: If a flight fails.
    """
    yardstick, found = ProcessTime(), dict.fromkeys(names, ProcessTime())
    with tempfile.TemporaryDirectory() as folder:
        python = _environment(Path(folder))
        for _ in range(REPEATS):
            yardstick = yardstick.best(timed((python, "-I", "-c", "import numba")))
            for name in names:
                found[name] = found[name].best(_first_flight(python, FIRST_FLIGHTS[name]))
    return yardstick, found


def _first_flight(python: str, options: tuple[str, ...]) -> ProcessTime:
    """Fly with empty caches, of compiled code and of Matplotlib."""
    with tempfile.TemporaryDirectory() as cache:
        variables = {"PX4LOCKSTEP_CACHE_DIR": cache, "MPLCONFIGDIR": cache, ahead.VARIABLE: ahead.BACKGROUND}
        command = (python, "-I", "-m", "px4lockstep", "run", AIRCRAFT, *options, "--out", "run")
        try:
            return timed(command, **variables)
        finally:
            for process in background_processes(cache):
                with suppress(OSError):
                    os.kill(process, signal.SIGKILL)


def background_processes(cache: str) -> list[int]:
    """Return the processes that compile into a cache folder, on a system with `/proc`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or belongs to somebody else
            is_ours = b"px4lockstep.e" in (folder / "cmdline").read_bytes()
            if is_ours and f"PX4LOCKSTEP_CACHE_DIR={cache}\0".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


def _environment(folder: Path) -> str:
    """Return the interpreter of an environment with a wheel that has compiled code."""
    if not ahead.problem(ahead.FOLDER):
        return sys.executable
    wheel = os.environ.get(WHEEL) or _built(folder)
    python = str(folder / "environment" / "bin" / "python")
    _run(sys.executable, "-m", "venv", str(folder / "environment"))
    _run(python, "-m", "pip", "install", "--quiet", wheel)
    return python


def _built(folder: Path) -> str:
    """Build the wheel of this checkout for this Python, and return its path."""
    if not (ROOT / "packaging" / "ahead_of_time.py").exists():
        raise NoReferenceError(f"this installation has no code compiled ahead of time; set {WHEEL} to a wheel that has")
    setting = "--config-setting=compile=generic"
    _run(sys.executable, "-m", "build", "--wheel", setting, "--outdir", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    return str(wheel)


def _run(*command: str) -> None:
    """Run a command of the preparation."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoReferenceError(f"{' '.join(command[1:])} failed: {(done.stderr or done.stdout).strip()[-300:]}")
