"""Cost per tick of the host of real PX4, without the library's own time.

The host opens the conformance double, with its messages, publishers and subscribers. Then the double's functions are
replaced by functions that return at once, as if every topic had been published, and ticks are timed: what remains is
the host, with the calls themselves. PX4 can start only once per process, so this file runs as a script in a separate
process. The double is built from `tests/`.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from px4lockstep.autopilots.px4_library.autopilot import Px4Library
from px4lockstep.autopilots.px4_library.exchange import step_px4
from px4lockstep.autopilots.px4_library.records import PX4_HOST
from px4lockstep.engine.bus import BUS
from px4lockstep.errors import InputError
from px4lockstep.jit import callback, kernel, rows, specialize
from px4lockstep.spec.load import load_aircraft

TICK_US = 4_000
TICKS = 2_000
ROUNDS = 20
SUPPORT = Path(__file__).resolve().parents[1] / "tests" / "support"
BUILD = """
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
import px4_double

Path(sys.argv[2]).write_text(str(px4_double.build_double()))
"""


def return_at_once(handle: int, first: int, second: int, third: int) -> int:
    """Replace a function of the library by one that does nothing."""
    return 0


@kernel
def run_host(hosts, buses, first, ticks):
    """Run PX4 as the loop does; return whether all ticks succeeded."""
    is_sound = True
    for k in range(ticks):
        is_sound = is_sound and step_px4(hosts[0], first + k * TICK_US, buses[0])
    return is_sound


def overhead_us(library: str) -> tuple[float, float]:
    """Return the cost of the host per tick, and the time of a tick with the double [µs]."""
    hosts, buses = np.zeros(1, PX4_HOST), np.zeros(1, BUS)
    buses["estimate"]["q_bn"][:, 0] = 1.0
    buses["estimate"]["is_valid"] = 1.0
    buses["scenario"]["landed"] = 1
    session = Px4Library(library=library).open(hosts, load_aircraft("iris"), TICK_US)
    try:
        arguments = (rows(hosts), rows(buses))
        run = specialize(run_host, *arguments, 0, 0)
        with_double_us = _best_us(run, arguments, 0)
        nothing = callback(return_at_once, "i4", ("i8", "i8", "i8", "i8"))
        for name in ("step_uorb", "orb_queue_publish", "orb_check", "orb_copy"):
            hosts[name] = nothing
        session.pretend_all_is_new()
        return _best_us(run, arguments, ROUNDS * TICKS * TICK_US), with_double_us
    finally:
        session.close(hosts)


def _best_us(run: Any, arguments: tuple[Any, ...], start_us: int) -> float:
    """Return the time of a tick, best of several rounds [µs].

    Raises:
        InputError: If a call fails.
    """
    best_s = float("inf")
    for i in range(ROUNDS):
        start_s = time.perf_counter()
        is_sound = run(*arguments, start_us + i * TICKS * TICK_US, TICKS)
        best_s = min(best_s, time.perf_counter() - start_s)
        if not is_sound:
            raise InputError("a call into the conformance double failed")
    return 1e6 * best_s / TICKS


def measured() -> tuple[float, float]:
    """Build the double and measure in a separate process; return overhead and tick [µs].

    Raises:
        InputError: If the double cannot be built or run.
    """
    with TemporaryDirectory() as folder:
        library, answer = Path(folder) / "library", Path(folder) / "answer"
        for command in (
            [sys.executable, "-c", BUILD, str(SUPPORT), str(library)],
            [sys.executable, __file__, str(library), str(answer)],
        ):
            finished = subprocess.run(command, capture_output=True, text=True, check=False)
            if finished.returncode != 0:
                raise InputError((finished.stderr.strip().splitlines() or ["no answer"])[-1])
        measurements = json.loads(answer.read_text("utf-8"))
    return float(measurements["overhead_us"]), float(measurements["tick_us"])


if __name__ == "__main__":
    found = overhead_us(Path(sys.argv[1]).read_text("utf-8"))
    Path(sys.argv[2]).write_text(json.dumps({"overhead_us": found[0], "tick_us": found[1]}), "utf-8")
