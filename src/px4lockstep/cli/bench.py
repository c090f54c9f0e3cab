"""`px4lockstep bench`: all benchmarks, as a table or as JSON."""

import os
import subprocess
import sys
from collections.abc import Sequence

from rich.table import Column, Table

from px4lockstep.bench.suite import NAMES, Measurement, check_names, measure, warm_up
from px4lockstep.cli.console import Console
from px4lockstep.cli.output import print_json, write_err
from px4lockstep.jit.progress import reporter

FRESH = "PX4LOCKSTEP_BENCH_FRESH"


def run_bench(as_json: bool, names: Sequence[str] = ()) -> int:
    """Run the benchmarks, by default all, and print them; return the exit code.

    Code compiled in this process runs some 5 % slower than the same code loaded from the cache. So if anything had to
    be compiled, a fresh process runs the benchmarks.
    """
    check_names(names)
    warm_up()
    if reporter.compiled_count > 0 and FRESH not in os.environ:
        command = [sys.executable, "-P", "-m", "px4lockstep", "bench", *names, *(["--json"] if as_json else [])]
        return subprocess.run(command, env={**os.environ, FRESH: "1"}, check=False).returncode
    if not as_json:
        write_err("measuring; all benchmarks take about seven minutes\n")  # a moving progress line would disturb it
    measurements, notes = measure(names or NAMES)
    if as_json:
        print_json([measurement.as_dict() for measurement in measurements], indent=2)
    else:
        Console().print(_table(measurements))
    for note in notes:
        write_err(f"note: {note}\n")
    return 0


def _table(measurements: list[Measurement]) -> Table:
    numbers = (Column(name, justify="right") for name in (r"time \[ms]", "times real time", "ratio"))
    table = Table("name", *numbers, "ratio to", title="Benchmarks, best of several runs", title_justify="left")
    for m in measurements:
        ratio, unit = "-", "-"
        if m.c_ratio is not None:
            ratio, unit = f"{m.c_ratio:.2f}", "C"
        elif m.tick_us is not None:
            ratio, unit = f"{m.tick_us:.2f}", "1 us per tick"
        elif m.import_ratio is not None:
            ratio, unit = f"{m.import_ratio:.2f}", "import of Numba"
        factor = "-" if m.realtime_factor is None else f"{m.realtime_factor:,.0f}"
        table.add_row(m.name, f"{m.wall_s * 1e3:.1f}", factor, ratio, unit)
    return table
