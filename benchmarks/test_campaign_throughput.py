"""Gain of a second core for a campaign of whole missions. Target: 1.8 times the throughput of one core."""

import os
import sys
import time

import pytest

from px4lockstep.bench.campaign_mission import FILE
from px4lockstep.campaigns.load import load_campaign
from px4lockstep.campaigns.local import LocalExecutor

WARM, RUNS = 10, 100


def runs_per_s(campaign, workers):
    """Return the runs per second of a number of workers after warm-up."""
    with LocalExecutor(campaign, workers) as executor:
        rows = executor.rows((i, campaign.inputs(i)) for i in range(WARM + RUNS * workers))
        for _ in range(WARM):
            next(rows)
        start_s = time.perf_counter()
        count = sum(1 for _ in rows)
        return count / (time.perf_counter() - start_s)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs a second core")
def test_two_cores(tmp_path):
    """The best of two measurements of each, in turn."""
    file = tmp_path / "campaign.toml"
    file.write_text(FILE.format(base="iris", duration_s=68, settings='"plant.integrator" = "RK4"'))
    campaign = load_campaign(file)
    rates = [(runs_per_s(campaign, 1), runs_per_s(campaign, 2)) for _ in range(2)]
    one, two = (max(of_each) for of_each in zip(*rates, strict=True))
    sys.stdout.write(f"\none core {one:.1f} runs/s, two {two:.1f}: {two / one:.2f} times\n")
    assert two > 1.8 * one
