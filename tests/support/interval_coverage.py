"""Exact coverage of confidence intervals for runs with a known pass probability."""

import numpy as np
from scipy import stats

from px4lockstep.campaigns.statistics import wilson_bounds


def wilson_coverage(chances, count, confidence=0.95):
    """Return the coverage of Wilson's interval for each pass probability."""
    passed = np.arange(count + 1)
    low, high = wilson_bounds(passed, count, confidence)
    weights = stats.binom.pmf(passed, count, chances[:, None])
    return (weights * ((low <= chances[:, None]) & (chances[:, None] <= high))).sum(axis=1)


def stopped_coverage(chances, half_width, min_runs, confidence=0.95):
    """Return the coverage of the interval at the stop for each pass probability, and the expected number of runs.

    The distribution of the number of passed runs is propagated from run to run, so the result is exact.
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
