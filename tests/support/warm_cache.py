"""Compile the loop for the native and for a generic CPU, side by side, so that the tests' processes find both."""

import os
import subprocess
import sys

CODE = """
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
Simulation(None, Timeline(1, log=Periodic(1)))
"""

if __name__ == "__main__":
    targets = [{}, {"NUMBA_CPU_NAME": "generic"}]
    processes = [subprocess.Popen([sys.executable, "-c", CODE], env={**os.environ, **target}) for target in targets]
    sys.exit(max([process.wait() for process in processes]))
