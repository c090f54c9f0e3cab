"""The inputs of run i, a function of the campaign's seed and i only, not of the worker or the order of runs.

    random            Philox at (seed, "campaign", i, dimension): see `math.philox`
    latin_hypercube   row i of a Latin hypercube over all runs, so it depends on the number of runs; by SciPy
    sobol             point i of a scrambled Sobol' sequence, by SciPy; best if the number of runs is a power of two

Grids and lists do not use a dimension of the sample. Run i has combination i of the grids, with the last grid varying
fastest, and entry i of each list. Both start over when they are exhausted.

References:
    M. D. McKay, R. J. Beckman, W. J. Conover, A comparison of three methods for selecting values of input variables in
    the analysis of output from a computer code, Technometrics 21 (1979).
    A. B. Owen, Scrambling Sobol' and Niederreiter-Xing points, J. Complexity 14 (1998).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.campaigns.distributions import SAMPLED, value_of
from px4lockstep.campaigns.file_tables import Vary
from px4lockstep.jit import interpreted
from px4lockstep.math.philox import stream_key, uniform2

BLOCK = 1_024
"""Runs whose points are drawn together, which takes a hundredth of the time; a power of two for Sobol'."""
SEED_BITS = 48
"""Size of the seed of a run; any program that reads the results can represent it exactly."""


class Sampler:
    """Computes the inputs of each run from the seed of the campaign."""

    def __init__(self, vary: Sequence[Vary], sampling: str, seed: int, runs: int) -> None:
        self._vary = tuple(vary)
        self._sampling, self._seed, self._runs = sampling, seed, runs
        self._dimensions = sum(own.distribution in SAMPLED for own in self._vary)
        self._key = stream_key(seed, "campaign")
        self._blocks: dict[int, npt.NDArray[np.float64]] = {}

    def inputs(self, index: int) -> dict[str, Any]:
        """Return the value of each input of a run, by key."""
        points = iter(self.point(index))
        left = combination(index, [len(own.values or ()) for own in self._vary if own.distribution == "grid"])
        inputs: dict[str, Any] = {}
        for own in self._vary:
            if own.distribution in SAMPLED:
                inputs[own.key] = value_of(own, next(points))
                continue
            values = own.values or ()
            inputs[own.key] = values[left.pop(0) if own.distribution == "grid" else index % len(values)]
        return inputs

    def point(self, index: int) -> list[float]:
        """Return the point of a run in the unit cube."""
        if not self._dimensions:
            return []
        size = self._runs if self._sampling == "latin_hypercube" else BLOCK
        block, row = divmod(index, size)
        if block not in self._blocks:
            self._blocks = {block: self._drawn(block)}  # one block suffices, because runs are requested in order
        point: list[float] = self._blocks[block][row].tolist()
        return point

    def _drawn(self, block: int) -> npt.NDArray[np.float64]:
        if self._sampling == "random":
            runs, lanes = np.arange(block * BLOCK, (block + 1) * BLOCK, dtype=np.uint64), range(self._dimensions)
            return np.stack([interpreted(uniform2)(self._key, runs, lane, 0)[0] for lane in lanes], axis=1)
        from scipy.stats import qmc

        if self._sampling == "latin_hypercube":
            return np.asarray(qmc.LatinHypercube(self._dimensions, rng=self._seed).random(self._runs), np.float64)
        sequence = qmc.Sobol(self._dimensions, rng=self._seed)
        if block:
            sequence.fast_forward(block * BLOCK)
        return np.asarray(sequence.random(BLOCK), np.float64)


def combination(index: int, sizes: Sequence[int]) -> list[int]:
    """Return the index of the value of each grid for a run; the last grid varies fastest."""
    places: list[int] = []
    for size in reversed(sizes):
        index, place = divmod(index, size)
        places.insert(0, place)
    return places


def full_length(vary: Sequence[Vary]) -> int | None:
    """Return the number of runs that covers all grid combinations and all list values; None without grids and lists."""
    grids = [len(own.values or ()) for own in vary if own.distribution == "grid"]
    lists = [len(own.values or ()) for own in vary if own.distribution == "list"]
    return max([math.prod(grids) if grids else 1, *lists]) if grids or lists else None


def seed_of_run(seed: int, index: int) -> int:
    """Return the random seed of a run, which determines its wind and noise."""
    return int(stream_key(seed, f"run {index}")) >> (64 - SEED_BITS)
