"""Compile loop, sensors and special rotors for the native and a generic CPU in parallel, for all tests."""

import os
import subprocess
import sys

CODE = """
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.sensors.suite import stage_address
from px4lockstep.vehicle.special_rotor import special_units
Simulation(None, Timeline(1, log=Periodic(1)))
stage_address()
special_units()
"""

if __name__ == "__main__":
    targets = [{}, {"NUMBA_CPU_NAME": "generic"}]
    processes = [subprocess.Popen([sys.executable, "-c", CODE], env={**os.environ, **target}) for target in targets]
    sys.exit(max([process.wait() for process in processes]))
