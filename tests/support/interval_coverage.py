"""How often intervals contain the truth, exactly, for runs that pass with a known probability."""

import numpy as np
from scipy import stats

from px4lockstep.campaigns.statistics import wilson_bounds


def wilson_coverage(chances, count, confidence=0.95):
    """Return how often Wilson's interval of so many runs contains each chance."""
    passed = np.arange(count + 1)
    low, high = wilson_bounds(passed, count, confidence)
    weights = stats.binom.pmf(passed, count, chances[:, None])
    return (weights * ((low <= chances[:, None]) & (chances[:, None] <= high))).sum(axis=1)


def stopped_coverage(chances, half_width, min_runs, confidence=0.95):
    """Return how often the interval at which a campaign stops contains each chance, and how many runs it takes.

    The chance of every number of passed runs is carried from run to run, less what has stopped: no noise.
    """
    p = chances[:, None]
    weights = stats.binom.pmf(np.arange(min_runs + 1), min_runs, p)
    coverage, runs = np.zeros(len(chances)), np.zeros(len(chances))
    count = min_runs
    while weights.any():
        low, high = wilson_bounds(np.arange(count + 1), count, confidence)
        is_enough = 0.5 * (high - low) <= half_width
        stopped = weights * is_enough
        coverage += (stopped * ((low <= p) & (p <= high))).sum(axis=1)
        runs += count * stopped.sum(axis=1)
        left = weights * ~is_enough
        weights = np.pad(left * (1.0 - p), ((0, 0), (0, 1))) + np.pad(left * p, ((0, 0), (1, 0)))
        count += 1
    return coverage, runs
