"""Compile all entry points for all tests: for this CPU, or for the CPU that an argument names."""

import os
import sys

if sys.argv[1:]:
    os.environ["NUMBA_CPU_NAME"] = sys.argv[1]  # before anything imports Numba

from px4lockstep.entry_points import compile_all

if __name__ == "__main__":
    compile_all()
