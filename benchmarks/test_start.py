"""How long the first tick takes from a warm start, in a fresh process. Target: 1.0 s."""

import subprocess
import sys

TO_FIRST_TICK = "import px4lockstep; px4lockstep.build(px4lockstep.load_spec('iris')).simulation.run(1)"


def test_warm_start(benchmark):
    def start():
        subprocess.run([sys.executable, "-c", TO_FIRST_TICK], check=True)

    benchmark.pedantic(start, rounds=7, warmup_rounds=1)
    benchmark.extra_info.update(target_s=1.0)
