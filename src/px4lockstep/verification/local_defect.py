"""The local defect: what an integrator gets wrong from one row of the log to the next, along a flight.

The reference flies once. The integrator starts each interval between two rows of the log from the reference's state,
with the same inputs held; its error at the end of the interval is the defect. What went wrong earlier is not in it, so
it can be read at any time of the flight, and it falls with the step as the order of the method says.

Two runs give all intervals: one is put on the reference's state at the even rows of the log and shows its defect at the
odd ones, the other the other way round.

**Step halving.** A method of order p with a fixed step h has a defect of C h^p over an interval, where the plant is
smooth: with half the step it is 2^p less, 16 times for RK4 and 2 times for Euler. The step is the longest one that fits
all periods of the timeline, by a physics axis if the timeline has longer ones. The ratio is taken in an interval if

* every step in it was halved exactly, which an event between two steps prevents, and
* the defect with half the step is more than `FLOOR` times what can't be told from zero there: the rounding of the
  quantity itself, and the reference's own defect, measured with half its steps too.
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
from px4lockstep.verification.comparison import Make
from px4lockstep.verification.quantities import Array, Quantity, error, magnitude, quantities_of

FLOOR = 30.0
"""So that what is not the method's own error changes a ratio by some 3 % at most."""
EPSILON = float(np.finfo(np.float64).eps)

Errors = dict[str, Array]


@dataclass(frozen=True)
class Defect:
    """The local defect of one integrator.

    Ratios are NaN in intervals that don't count; there are none for an integrator that chooses its steps, and where no
    step can be halved.
    """

    name: str
    errors: Mapping[str, Array]  # the defect at the end of each interval, by quantity
    ratios: Mapping[str, Array] | None = None  # by what the defect falls with half the step, by quantity

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
        """Return how many intervals count."""
        return 0 if self.ratios is None else int(np.count_nonzero(~np.isnan(self.ratios[name])))


@dataclass(frozen=True)
class LocalDefect:
    """The local defects of integrators along a flight, in the order given."""

    quantities: tuple[Quantity, ...]
    time_s: Array  # of the end of each interval
    step_us: int  # the step that was halved; one that is odd could not be
    reference: Integrator
    defects: tuple[Defect, ...]

    def __getitem__(self, name: str) -> Defect:
        return next(defect for defect in self.defects if defect.name == name)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each integrator and quantity: largest and median defect, ratio, and how many count."""
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
    """Return the reference, flown, and its state before each boundary that the log samples."""
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
    """Return for each interval whether each of its steps became two equal ones."""
    steps_us = np.diff(whole.time_us)
    middles_us = whole.time_us[:-1] + steps_us // np.uint64(2)
    is_two = np.diff(np.searchsorted(half.time_us, whole.time_us)) == 2
    is_halved = is_two & (steps_us % np.uint64(2) == 0) & np.isin(middles_us, half.time_us)
    first_steps = np.searchsorted(whole.time_us, times_us)
    stop = int(first_steps[-1])
    return np.asarray(np.logical_and.reduceat(is_halved[:stop], first_steps[:-1]))


def _doubts(reference_errors: Errors, exact: Simulation, quantities: tuple[Quantity, ...]) -> Errors:
    """Return below what an error can't be told from zero: the reference's own, or rounding."""
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
