"""Compile loop and sensors for the native and a generic CPU in parallel, so that all tests find them."""

import os
import subprocess
import sys

CODE = """
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.sensors.suite import stage_address
Simulation(None, Timeline(1, log=Periodic(1)))
stage_address()
"""

if __name__ == "__main__":
    targets = [{}, {"NUMBA_CPU_NAME": "generic"}]
    processes = [subprocess.Popen([sys.executable, "-c", CODE], env={**os.environ, **target}) for target in targets]
    sys.exit(max([process.wait() for process in processes]))
