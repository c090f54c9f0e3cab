"""Modules of a user for tests: the documented controller, a wind and an estimator, and a spec that names them."""

import sys
from pathlib import Path

HOLD = Path(__file__).parents[2] / "examples" / "own_controller" / "hold.py"
sys.path.append(str(HOLD.parent))

WIND = """class Steps:
    def __init__(self, speed_m_s=4.0, times_s=(2.0,)):
        self.speed_m_s, self.times_s = speed_m_s, times_s

    def step(self, time_us, inputs, outputs):
        outputs.vel_ned[0] = self.speed_m_s * sum(time_us >= 1e6 * time_s for time_s in self.times_s)
"""
ESTIMATOR = """class Truth:
    def step(self, time_us, inputs, outputs):
        plant = inputs.plant
        outputs.pos_ned[:], outputs.vel_ned[:] = plant["pos"], plant["vel"]
        outputs.q_bn[:], outputs.omega_body[:] = plant["att"], plant["omega"]
        outputs.is_valid = 1.0
"""
SPEC = """extends = ["x500"]

[autopilot]
kind = "python:hold:Hold"
options = { height_m = 3.0 }

[environment]
wind = "python:my_wind:Steps"
wind_options = { speed_m_s = 5.0, times_s = [1.5, 2.5] }

[estimator]
kind = "python:my_estimator:Truth"

[timeline]
t_end_s = 4.0
"""


def write_own(folder: Path, spec: str = SPEC) -> Path:
    """Write a spec with the modules that it names beside it; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hold.py").write_bytes(HOLD.read_bytes())
    (folder / "my_wind.py").write_text(WIND)
    (folder / "my_estimator.py").write_text(ESTIMATOR)
    (folder / "own.toml").write_text(spec)
    return folder / "own.toml"
