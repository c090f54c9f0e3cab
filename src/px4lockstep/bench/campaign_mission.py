"""The campaign benchmarks: runs of a mission with wind, noise and metrics, from inputs to result row."""

import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from px4lockstep.campaigns.flyer import flyer_of
from px4lockstep.campaigns.load import load_campaign
from px4lockstep.campaigns.result_rows import ERROR
from px4lockstep.errors import SimulationError

RUNS_AT_ONCE = 4
"""A measurement is the mean of this many runs, the sustained rate of a campaign."""

FILE = """
vary = [
  {{key = "environment.wind_mean_ned[0]", distribution = "uniform", low = -3.0, high = 3.0}},
  {{key = "power.batteries[0].soc0", distribution = "uniform", low = 0.7, high = 1.0}},
]
metric = [
  {{name = "tracking_rms_m", kind = "tracking_rms"}},
  {{name = "energy_wh", kind = "energy_wh"}},
  {{name = "touchdown_speed_m_s", kind = "touchdown_speed"}},
  {{name = "tilted_s", kind = "time_over", signal = "tilt_deg", limit = 20.0}},
]
pass = [{{metric = "tracking_rms_m", at_most = 1.0}}]
[campaign]
base = "{base}"
runs = 100000
[set]
"timeline.t_end_s" = {duration_s}.0
{settings}
"""


def runs(base: str, duration_s: int, settings: str = "") -> Callable[[], float]:
    """Return a function that flies some runs of a campaign in this process and returns the mean time per run.

    `settings` are further lines of the table `[set]`.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "campaign.toml"
        file.write_text(FILE.format(base=base, duration_s=duration_s, settings=settings), "utf-8")
        campaign = load_campaign(file)
    flyer, indexes = flyer_of(campaign.sent), count()

    def run() -> float:
        start_s = time.perf_counter()
        for _ in range(RUNS_AT_ONCE):
            index = next(indexes)
            row = flyer.fly(index, campaign.inputs(index))
            if row.status == ERROR:
                raise SimulationError(f"run {index} of the campaign: {row.error}")
        return (time.perf_counter() - start_s) / RUNS_AT_ONCE

    return run
