"""Compile loop, sensors and special rotors for all tests: for this CPU, or for the CPU that an argument names."""

import os
import sys

if sys.argv[1:]:
    os.environ["NUMBA_CPU_NAME"] = sys.argv[1]  # before anything imports Numba

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.sensors.suite import stage_address
from px4lockstep.vehicle.special_rotor import special_units

if __name__ == "__main__":
    Simulation(None, Timeline(1, log=Periodic(1)))
    stage_address()
    special_units()
