"""A build of PX4 whose program is the double of `tests/px4_sitl/double`, and flights with it."""

import sys
from pathlib import Path

DOUBLE = Path(__file__).resolve().parents[1] / "px4_sitl" / "double" / "double.py"


def make_build(folder):
    """Write the folder of a build; return it."""
    folder = Path(folder)
    (folder / "bin").mkdir(parents=True)
    (folder / "etc").mkdir()
    program = folder / "bin" / "px4"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{DOUBLE}" "$@"\n')
    program.chmod(0o755)
    return folder
