"""One source, one result: compiled, interpreted, for this processor and for any."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("bits.py")

SETTINGS = {
    "compiled": {},
    "interpreted": {"NUMBA_DISABLE_JIT": "1"},
    "compiled for any processor": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
}


def test_compiled_and_interpreted_kernels_give_the_same_bits():
    """Every kernel of px4lockstep.math gives one SHA-256, whatever Numba does; no warning is raised on the way."""
    inherited = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    running = {
        name: subprocess.Popen(
            [sys.executable, "-W", "error", str(SCRIPT)],
            env={**inherited, "PX4LOCKSTEP_QUIET": "1", **setting},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, setting in SETTINGS.items()
    }
    hashes = {}
    for name, process in running.items():
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, f"{name}: {errors}"
        hashes[name] = output.split()
    assert len({digest for pair in hashes.values() for digest in pair}) == 1, hashes
