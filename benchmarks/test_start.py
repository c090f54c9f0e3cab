"""Time to the first tick from a warm start, in a fresh process. Target: 1.0 s."""

import os
import subprocess
import sys

TO_FIRST_TICK = "import px4lockstep; px4lockstep.build(px4lockstep.load_spec('iris')).simulation.run(1)"


def test_warm_start(benchmark):
    # Let Python use cached bytecode, as it does for users; without it, 170 modules are compiled on every start.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def start():
        subprocess.run([sys.executable, "-c", TO_FIRST_TICK], env=environment, check=True)

    benchmark.pedantic(start, rounds=7, warmup_rounds=1)
    benchmark.extra_info.update(target_s=1.0)
