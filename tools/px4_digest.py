"""Write the digest of the recorded flights of real PX4 with which `px4lockstep verify --px4` compares.

PYTHONPATH=tests/support .venv/bin/python tools/px4_digest.py
"""

import sys

import numpy as np
from px4_flights import load_flight, stacked

from px4lockstep.verification.px4_flights import FLIGHTS, RECORDED, Track

FILES = {"straight": "mission", "yaw": "yaw", "return": "return"}
"""The recorded flight by the name under which it is compared."""


def recorded(name):
    """Return the track of a recorded flight."""
    flight = load_flight(FILES[name])
    columns = {column: flight[column] for column in ("time_us", "armed", "nav_state", "landed")}
    pos_ned = stacked(flight, "truth_pos_n", "truth_pos_e", "truth_pos_d")
    return Track.of(columns | {"pos_ned": pos_ned, "mission_item": flight["mission_seq"]})


def arrays():
    """Return the arrays of the file."""
    return {f"{name}_{field}": np.array(value) for name in FLIGHTS for field, value in vars(recorded(name)).items()}


if __name__ == "__main__":
    np.savez_compressed(RECORDED, **arrays())
    sys.stdout.write(f"{RECORDED}: {RECORDED.stat().st_size} bytes\n")
