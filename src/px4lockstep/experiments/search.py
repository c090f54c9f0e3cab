"""Search the parameter set with the least cost, by differential evolution (SciPy).

A generation is evaluated as one batch, whose flights run in parallel, so the result does not depend on the number of
workers. The first generation is a Latin hypercube with the starting values in it. All values are places from 0 to 1 on
the scale of their range.

Reference:
    R. Storn, K. Price, Differential evolution, a simple and efficient heuristic for global optimization over continuous
    spaces, J. Global Optimization 11 (1997).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from px4lockstep.errors import InputError, LockstepError
from px4lockstep.experiments.evaluations import Evaluation, Evaluator, SearchStoppedError, Values

MIN_POPULATION, POPULATION_PER_INPUT = 6, 4
MIN_BUDGET = 2 * MIN_POPULATION
MAX_BUDGET = 100_000
MUTATION, RECOMBINATION = (0.4, 0.9), 0.8


class _SearchEndedError(Exception):
    """Ends SciPy's search."""


def population_of(inputs: int, budget: int) -> int:
    """Return the size of a generation: a few sets per input, and small enough for four generations."""
    return max(MIN_POPULATION, min(POPULATION_PER_INPUT * inputs + 2, budget // 4))


def check_budget(budget: int) -> None:
    """Raise if a budget is too small for two generations, or too large."""
    if not MIN_BUDGET <= budget <= MAX_BUDGET:
        raise InputError(f"budget = {budget} is out of range; it must be {MIN_BUDGET} to {MAX_BUDGET:,}")


def search(evaluator: Evaluator, start: Values, seeds: Sequence[int], budget: int, rng: int) -> list[Evaluation]:
    """Evaluate up to `budget` parameter sets; return them in order, the starting values first."""
    from scipy.optimize import differential_evolution
    from scipy.stats import qmc

    ranges = evaluator.ranges
    history = {start: evaluator.evaluate([start], seeds)[0]}
    problems: list[BaseException] = []

    def ranks(places: Any) -> Any:
        sets = [tuple(own.value(float(u)) for own, u in zip(ranges, column, strict=True)) for column in places.T]
        room = budget - len(history)
        new = [own for own in dict.fromkeys(sets) if own not in history][: max(room, 0)]
        try:
            history.update(zip(new, evaluator.evaluate(new, seeds), strict=True))
        except (LockstepError, SearchStoppedError) as error:
            problems.append(error)
            raise _SearchEndedError from error  # SciPy turns errors that are ValueErrors into its own
        return np.array([history[own].rank if own in history else np.inf for own in sets])

    size = population_of(len(ranges), budget)
    first = np.asarray(qmc.LatinHypercube(len(ranges), rng=rng).random(size), np.float64)
    first[0] = [own.scale.place(float(value)) for own, value in zip(ranges, start, strict=True)]
    try:
        differential_evolution(
            ranks,
            [(0.0, 1.0)] * len(ranges),
            init=first,
            maxiter=max(1, -(-(budget - size) // size)),
            mutation=MUTATION,
            recombination=RECOMBINATION,
            tol=0.0,
            polish=False,
            updating="deferred",
            vectorized=True,
            rng=rng,
        )
    except _SearchEndedError:
        raise problems[0] from None
    return list(history.values())
