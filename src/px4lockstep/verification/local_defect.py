"""The local defect: the error of an integrator from one row of the log to the next, along a flight.

The reference runs once. The integrator starts each interval between two rows of the log from the reference's state,
with the same held inputs; its error at the end of the interval is the defect. It does not contain earlier errors, so it
is meaningful at any time of the flight, and it decreases with the step size according to the order of the method.

Two runs cover all intervals: one is set to the reference's state at the even rows of the log and shows its defect at
the odd rows, the other one the other way round.

**Step halving.** Where the plant is smooth, a method of order p with a fixed step h has a defect of C h^p over an
interval. Half the step reduces it by 2^p: 16 times for RK4 and 2 times for Euler. The step is the longest one that
divides all periods of the timeline; a physics axis is added if the timeline has longer steps. An interval counts if

* every step in it was halved exactly, which an event between two steps prevents, and
* the defect with half the step is more than `FLOOR` times the larger of the rounding error of the quantity and the
  reference's own defect, also measured with half its steps.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import AXIS_BITS, Periodic, Timeline
from px4lockstep.integrators.solver import Integrator
from px4lockstep.reprs import ShortRepr
from px4lockstep.verification.comparison import Make
from px4lockstep.verification.quantities import Array, Quantity, error, magnitude, quantities_of

FLOOR = 30.0
"""Minimum ratio of a defect to rounding and reference errors, which then change a ratio by about 3 % at most."""
EPSILON = float(np.finfo(np.float64).eps)

Errors = dict[str, Array]


@dataclass(frozen=True)
class Defect:
    """The local defect of one integrator.

    Ratios are NaN in intervals that do not count. There are none for an adaptive integrator, or if the step cannot be
    halved.
    """

    name: str
    errors: Mapping[str, Array]  # the defect at the end of each interval, by quantity
    ratios: Mapping[str, Array] | None = None  # reduction of the defect with half the step, by quantity

    def largest(self, name: str) -> float:
        """Return the largest defect in a quantity."""
        return float(self.errors[name].max())

    def median(self, name: str) -> float:
        """Return the median of the defect in a quantity."""
        return float(np.median(self.errors[name]))

    def ratio(self, name: str) -> float | None:
        """Return the median of the ratios in a quantity, if any interval counts."""
        return float(np.nanmedian(self.ratios[name])) if self.ratios is not None and self.counted(name) else None

    def counted(self, name: str) -> int:
        """Return the number of intervals that count."""
        return 0 if self.ratios is None else int(np.count_nonzero(~np.isnan(self.ratios[name])))


@dataclass(frozen=True, repr=False)
class LocalDefect(ShortRepr):
    """The local defects of integrators along a flight, in the given order."""

    quantities: tuple[Quantity, ...]
    time_s: Array  # of the end of each interval
    step_us: int  # the step that was halved; an odd step cannot be halved
    reference: Integrator
    defects: tuple[Defect, ...]

    def __getitem__(self, name: str) -> Defect:
        return next(defect for defect in self.defects if defect.name == name)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per integrator and quantity: largest and median defect, ratio, and number of intervals."""
        return [
            {
                "integrator": defect.name,
                "quantity": quantity.name,
                "unit": quantity.unit,
                "largest": defect.largest(quantity.name),
                "median": defect.median(quantity.name),
                "halving_ratio": defect.ratio(quantity.name),
                "intervals_counted": defect.counted(quantity.name),
                "intervals": len(self.time_s),
            }
            for defect in self.defects
            for quantity in self.quantities
        ]


def local_defect(
    make: Make, timeline: Timeline, integrators: Mapping[str, Integrator], reference: Integrator
) -> LocalDefect:
    """Measure the local defect of each integrator."""
    exact, states = _fly_reference(make(reference, timeline))
    quantities = quantities_of(exact)
    axes = [getattr(timeline, name) for name in AXIS_BITS]
    step_us = math.gcd(*(axis.period_us for axis in axes if isinstance(axis, Periodic)))
    can_halve = step_us > 0 and step_us % 2 == 0
    whole, half, is_halved, doubts = timeline, timeline, np.zeros(0, np.bool_), Errors()

    def measure(integrator: Integrator, on: Timeline) -> Errors:
        return _defects([make(integrator, on) for _ in range(2)], exact, states, quantities)

    if can_halve:
        whole, half = (replace(timeline, physics=Periodic(us)) for us in (step_us, step_us // 2))
        is_halved = _halved_intervals(whole, half, exact.log["time_us"])
        doubts = _doubts(measure(reference, half), exact, quantities)
    defects = []
    for name, integrator in integrators.items():
        errors, ratios = measure(integrator, timeline), None
        if can_halve and not integrator.chooses_steps:
            before = errors if len(whole) == len(timeline) else measure(integrator, whole)
            ratios = _ratios(before, measure(integrator, half), doubts, is_halved)
        defects.append(Defect(name, errors, ratios))
    time_s = np.asarray(exact.log["time_us"][1:] / 1e6)
    return LocalDefect(quantities, time_s, step_us, reference, tuple(defects))


def _fly_reference(simulation: Simulation) -> tuple[Simulation, list[Array]]:
    """Run the reference; return it and its state before each boundary with a row of the log."""
    timeline, states = simulation.timeline, []
    for time_us in timeline.time_us[(timeline.due & np.uint16(AXIS_BITS["log"])) != 0]:
        simulation.run(until_us=int(time_us))
        if simulation.is_done:
            break
        states.append(simulation.plant.x.copy())
    simulation.run()
    return simulation, states


def _defects(
    pair: list[Simulation], exact: Simulation, states: list[Array], quantities: tuple[Quantity, ...]
) -> Errors:
    times_us = exact.log["time_us"].tolist()
    defects = {quantity.name: np.zeros(len(times_us)) for quantity in quantities}
    for first, simulation in enumerate(pair):
        for row in range(first, len(states), 2):
            simulation.run(until_us=times_us[row]).set_state(states[row])
        simulation.run()
        ends = slice(1 - first, None, 2)
        for quantity in quantities:
            defects[quantity.name][ends] = error(quantity, simulation, exact)[ends]
    return {name: values[1:] for name, values in defects.items()}


def _halved_intervals(whole: Timeline, half: Timeline, times_us: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Return for each interval whether every step was split into two equal steps."""
    steps_us = np.diff(whole.time_us)
    middles_us = whole.time_us[:-1] + steps_us // np.uint64(2)
    is_two = np.diff(np.searchsorted(half.time_us, whole.time_us)) == 2
    is_halved = is_two & (steps_us % np.uint64(2) == 0) & np.isin(middles_us, half.time_us)
    first_steps = np.searchsorted(whole.time_us, times_us)
    stop = int(first_steps[-1])
    return np.asarray(np.logical_and.reduceat(is_halved[:stop], first_steps[:-1]))


def _doubts(reference_errors: Errors, exact: Simulation, quantities: tuple[Quantity, ...]) -> Errors:
    """Return the errors that cannot be distinguished from zero: the reference's own, or rounding."""
    doubts = {}
    for quantity in quantities:
        size = np.ones(len(exact.log)) if quantity.source == "att" else magnitude(quantity, exact)
        doubts[quantity.name] = np.maximum(reference_errors[quantity.name], EPSILON * size[1:])
    return doubts


def _ratios(errors: Errors, halved: Errors, doubts: Errors, is_halved: npt.NDArray[np.bool_]) -> Errors:
    ratios = {}
    for name, values in errors.items():
        counts = is_halved & (halved[name] > FLOOR * doubts[name])
        ratios[name] = np.full(len(values), np.nan)
        ratios[name][counts] = values[counts] / halved[name][counts]
    return ratios
