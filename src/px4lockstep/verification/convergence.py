"""Orders of convergence: how fast the error of a method falls with its step, adaptivity off.

The oscillator is flown over 10 s with the steps listed for each method: short enough for the leading term to rule, long
enough for rounding (about 1e-14) to be far below. The order is the slope of a straight line through (log h, log error).
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from px4lockstep.integrators.solver import Integrator
from px4lockstep.integrators.tableaux import TABLEAUX, Method
from px4lockstep.verification import solutions
from px4lockstep.verification.reference_cases import LOG_PERIOD_US, OSCILLATOR, TEN_S, fly
from px4lockstep.verification.result import Result

STEPS_US = {
    "Euler": (1_000, 500, 250, 125),
    "RK4": (50_000, 25_000, 12_500, 6_250),
    "RK23": (20_000, 10_000, 5_000, 2_500),
    "RK45": (100_000, 50_000, 25_000, 12_500),
}
ALLOWED = {"Euler": 0.15, "RK4": 0.25, "RK23": 0.25, "RK45": 0.25}


def measured_order(kind: Method) -> float:
    """Return the order of convergence of a method on the oscillator."""
    plant = replace(OSCILLATOR, omega_rad_s=1.0)
    integrator = Integrator(kind, adaptive=False)
    errors = []
    for step_us in STEPS_US[kind]:
        assert LOG_PERIOD_US % step_us == 0
        flown = fly(plant, integrator, TEN_S, step_us)
        exact = solutions.oscillator(1.0, plant.position, plant.velocity, flown.t_s)
        errors.append(float(np.hypot(flown.x[-1, 0] - exact[0][-1], flown.x[-1, 1] - exact[1][-1])))
    return float(np.polyfit(np.log(STEPS_US[kind]), np.log(errors), 1)[0])


def convergence_results() -> Iterator[Result]:
    """Compare each method's measured order with its nominal one."""
    for kind, tableau in TABLEAUX.items():
        yield Result("order of convergence", kind, abs(measured_order(kind) - tableau.order), ALLOWED[kind])
