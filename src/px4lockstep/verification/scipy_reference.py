"""Against another solver: SciPy's DOP853 on the same problems, written anew in NumPy, both at tight tolerances.

SciPy is not a dependency of the package; without it these cases are not run, and the command says so.
"""

import importlib.util
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from px4lockstep.integrators.solver import Integrator, tolerances
from px4lockstep.plant.models import PlantModel
from px4lockstep.verification.reference_cases import BODY, LARGE_PENDULUM, ORBIT, TEN_S, fly
from px4lockstep.verification.result import Result

Array = npt.NDArray[np.float64]

TIGHT = Integrator("RK45", **tolerances(1e-12, 1e-12), h_min=1e-6, h_init=1e-5)
BOUND = 1e-9
"""Both solvers keep 1e-12 per step; over some thousand steps of 10 s that may add up to this."""


def scipy_is_installed() -> bool:
    """Return whether these cases can be run."""
    return importlib.util.find_spec("scipy") is not None


def _pendulum(_t: float, x: Array) -> Array:
    return np.array([x[1], -(LARGE_PENDULUM.omega_rad_s**2) * np.sin(x[0])])


def _orbit(_t: float, x: Array) -> Array:
    return np.concatenate([x[3:], -ORBIT.mu_m3_s2 * x[:3] / np.linalg.norm(x[:3]) ** 3])


def _body(_t: float, x: Array) -> Array:
    w, v, rate = x[0], x[1:4], x[4:]
    inertia = np.array(BODY.inertia_kgm2)
    return np.concatenate(
        [[-0.5 * v @ rate], 0.5 * (w * rate + np.cross(v, rate)), -np.cross(rate, inertia * rate) / inertia]
    )


CASES: tuple[tuple[str, PlantModel, Callable[[float, Array], Array]], ...] = (
    ("pendulum", LARGE_PENDULUM, _pendulum),
    ("kepler", ORBIT, _orbit),
    ("rigid body", BODY, _body),
)


def scipy_results() -> Iterator[Result]:
    """Fly each case with tight RK45 and compare the state at the end with DOP853's."""
    from scipy.integrate import solve_ivp

    for name, plant, rhs in CASES:
        flown = fly(plant, TIGHT, TEN_S, None)
        other = solve_ivp(rhs, (0.0, TEN_S / 1e6), plant.initial_state(), method="DOP853", rtol=1e-13, atol=1e-13)
        error = float(np.abs(flown.x[-1] - other.y[:, -1]).max())
        yield Result(f"{name}, against DOP853", TIGHT.kind, error, BOUND)
