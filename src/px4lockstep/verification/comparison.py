"""Comparison of integrators: each integrates the plant with the same inputs, against a far more accurate reference.

In open loop, early errors of an integrator are carried along and grow; `local_defect` measures without that effect.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.statistics import Statistics
from px4lockstep.engine.timeline import Timeline
from px4lockstep.errors import SimulationError
from px4lockstep.integrators.solver import Integrator, tolerances
from px4lockstep.log.log import Log
from px4lockstep.reprs import ShortRepr
from px4lockstep.verification.quantities import Array, Quantity, error, quantities_of

Make = Callable[[Integrator, Timeline], Simulation]
"""Returns a simulation of the flight, before its first boundary, with the given integrator and timeline."""

TOLERANCE = 1e-10
"""Absolute and relative tolerance of a reference, for every group of states."""
REPEATS = 3


def tight(integrator: Integrator) -> Integrator:
    """Return the reference variant of an integrator: tolerances of `TOLERANCE`; all states and kinks limit the step."""
    own = tolerances(TOLERANCE, TOLERANCE) | {"kink_tolerance": Integrator().kink_tolerance}
    return integrator.model_copy(update={**own, "plant_error_control": True})


@dataclass(frozen=True)
class IntegratorRun:
    """The result of one integrator."""

    name: str
    statistics: Statistics  # the wall time is the best of `REPEATS`
    errors: Mapping[str, Array]  # difference from the reference at each row of the log, by quantity
    log: Log
    failure: str | None = None  # the error that ended the run early, if any; `errors` then ends there

    def largest(self, name: str) -> float:
        """Return the largest error in a quantity."""
        return float(self.errors[name].max())


@dataclass(frozen=True, repr=False)
class Comparison(ShortRepr):
    """Integrators compared with a reference, in the given order."""

    quantities: tuple[Quantity, ...]
    time_s: Array  # of the rows of the log
    reference: Integrator
    reference_statistics: Statistics
    reference_log: Log
    flown: tuple[IntegratorRun, ...]

    def __getitem__(self, name: str) -> IntegratorRun:
        return next(flown for flown in self.flown if flown.name == name)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for the reference and one per integrator: cost, then the largest error in each quantity."""
        first = {"integrator": "reference", **_cost(self.reference_statistics)}
        rows = [first | {quantity.column: None for quantity in self.quantities} | {"failure": None}]
        for flown in self.flown:
            errors = {quantity.column: flown.largest(quantity.name) for quantity in self.quantities}
            row = {"integrator": flown.name, **_cost(flown.statistics), **errors}
            rows.append(row | {"failure": flown.failure})
        return rows


def compare_integrators(
    make: Make, timeline: Timeline, integrators: Mapping[str, Integrator], reference: Integrator
) -> Comparison:
    """Run the flight with each integrator and with the reference."""
    exact = make(reference, timeline).run()
    quantities = quantities_of(exact)
    runs: dict[str, list[Simulation]] = {name: [] for name in integrators}
    failures: dict[str, str | None] = dict.fromkeys(integrators)
    for _ in range(REPEATS):  # in turn, so that a busy machine affects all of them
        for name, integrator in integrators.items():
            simulation = make(integrator, timeline)
            runs[name].append(simulation)
            try:
                simulation.run()
            except SimulationError as failure:
                failures[name] = str(failure)
    flown = tuple(
        IntegratorRun(
            name,
            min((run.statistics for run in repeats), key=lambda statistics: statistics.wall_s),
            {quantity.name: error(quantity, repeats[0], exact) for quantity in quantities},
            Log.of(repeats[0]),
            failures[name],
        )
        for name, repeats in runs.items()
    )
    time_s = np.asarray(exact.log["time_us"] / 1e6)
    return Comparison(quantities, time_s, reference, exact.statistics, Log.of(exact), flown)


def _cost(statistics: Statistics) -> dict[str, Any]:
    names = ("wall_s", "evaluations", "accepted_steps", "rejected_steps", "forced_steps")
    return {name: getattr(statistics, name) for name in names}
