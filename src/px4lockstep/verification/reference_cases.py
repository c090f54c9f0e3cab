"""Tier 1: each integrator on each reference problem, against the exact solution, its order and another solver.

Euler uses steps of 1 ms and RK4 of 10 ms, with a physics axis; RK23 and RK45 use tolerances of 1e-7 and 1e-9. All run
in the same loop. A bound is about twice the error of the method with that step or tolerance, so a method that loses
accuracy fails. Where the exact error is known (free fall: Euler lags by g h t / 2, the others are exact), it is the
bound.

Orders of convergence are measured with fixed steps: the oscillator runs for 10 s with the steps listed for each method,
short enough for the leading term to dominate, and long enough for rounding (about 1e-14) to be negligible. The order is
the slope of a straight line through (log h, log error).

The other solver is SciPy's DOP853 on the same problems, implemented separately in NumPy, both at tight tolerances.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace

import numpy as np
import numpy.typing as npt

from px4lockstep.constants import STANDARD_GRAVITY_M_S2
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.integrators.solver import Integrator, tolerances
from px4lockstep.integrators.tableaux import TABLEAUX, Method
from px4lockstep.plant import models
from px4lockstep.plant.models import PlantModel
from px4lockstep.verification import solutions

Array = npt.NDArray[np.float64]

ADAPTIVE = {"RK23": Integrator("RK23", **tolerances(1e-7, 1e-7)), "RK45": Integrator("RK45", **tolerances(1e-9, 1e-9))}
STEPS_US = {"Euler": 1_000, "RK4": 10_000}
"""Steps of the methods without adaptive step size."""
TEN_S = 10_000_000
LOG_PERIOD_US = 100_000


@dataclass(frozen=True)
class Result:
    """The error of a case with an integrator, and its bound."""

    case: str
    integrator: str
    error: float
    bound: float

    @property
    def passed(self) -> bool:
        """Whether the error is within the bound; False for NaN."""
        return self.error <= self.bound

    def as_dict(self) -> dict[str, object]:
        """Return the result in the format of `--json`."""
        error = self.error if math.isfinite(self.error) else None  # JSON has no NaN
        return {**asdict(self), "error": error, "passed": self.passed}


@dataclass(frozen=True)
class CaseRun:
    """The data of a run that the cases use: times, states, and the plant's invariants."""

    t_s: Array
    x: Array
    values: Array


def fly(plant: PlantModel, integrator: Integrator, end_us: int, step_us: int | None) -> CaseRun:
    """Run a plant in the loop, with a fixed step if one is given."""
    physics = None if step_us is None else Periodic(step_us)
    timeline = Timeline(end_us, log=Periodic(LOG_PERIOD_US), physics=physics)
    sim = Simulation(plant, timeline, integrator=integrator, validate="paranoid").run()
    return CaseRun(sim.log["time_us"] / 1e6, sim.log_state, sim.log["bus"]["outputs"]["values"])


OSCILLATOR = models.Oscillator(omega_rad_s=2.0, position=1.0, velocity=0.5)
SMALL_PENDULUM = models.Pendulum(omega_rad_s=2.0, angle_rad=1e-3)
LARGE_PENDULUM = models.Pendulum(omega_rad_s=2.0, angle_rad=2.5)
ORBIT = models.KeplerOrbit(mu_m3_s2=4.0, radius_m=2.0, inclination_rad=0.6)
BODY = models.TorqueFreeBody(inertia_kgm2=(1.0, 2.0, 3.0), omega_body=(0.3, 2.0, 0.5))
TURN = models.ConstantRate(rate_body_rad_s=(0.6, -0.8, 2.0))
FALL = models.FreeFall(pos_ned=(1.0, 2.0, -100.0), vel_ned=(3.0, -1.0, -5.0))


def _drift(invariants: Array) -> Array:
    """Return the change of an invariant (or vector of them), relative to its size at the start."""
    return np.asarray((invariants - invariants[0]) / np.linalg.norm(invariants[0]))


def _fall(f: CaseRun) -> tuple[Array, Array]:
    return solutions.free_fall(STANDARD_GRAVITY_M_S2, f.x[0, :3], f.x[0, 3:], f.t_s)


ERRORS: dict[str, Callable[[CaseRun], Array]] = {
    "position of the oscillator": lambda f: f.x[:, 0] - solutions.oscillator(2.0, 1.0, 0.5, f.t_s)[0],
    "small angle": lambda f: f.x[:, 0] / 1e-3 - np.cos(2.0 * f.t_s),
    "large angle": lambda f: f.x[:, 0] - solutions.pendulum(2.0, 2.5, f.t_s),
    "position in orbit": lambda f: f.x[:, :3] - solutions.circular_orbit(4.0, 2.0, 0.6, f.t_s),
    "energy": lambda f: _drift(f.values[:, :1]),
    "momentum": lambda f: _drift(f.values[:, 1:4]),
    "angle turned": lambda f: solutions.angle_between(f.x, solutions.constant_rate((0.6, -0.8, 2.0), f.t_s)),
    "norm": lambda f: np.linalg.norm(f.x[:, :4], axis=1) - 1.0,
    "position in free fall": lambda f: f.x[:, :3] - _fall(f)[0],
    "velocity in free fall": lambda f: f.x[:, 3:] - _fall(f)[1],
}

# Case, plant, time, error, and the bounds of the methods in the order of `TABLEAUX`.
PROBLEMS: tuple[tuple[str, PlantModel, int, str, tuple[float, ...]], ...] = (
    ("oscillator, position", OSCILLATOR, TEN_S, "position of the oscillator", (3e-2, 4e-8, 6e-6, 1e-8)),
    ("oscillator, energy", OSCILLATOR, TEN_S, "energy", (6e-2, 2e-9, 1e-5, 2e-8)),
    ("pendulum, small angle", SMALL_PENDULUM, TEN_S, "small angle", (3e-2, 2e-6, 3e-3, 4e-6)),
    ("pendulum, large angle", LARGE_PENDULUM, TEN_S, "large angle", (7e-1, 4e-8, 1e-5, 1e-7)),
    ("pendulum, energy", LARGE_PENDULUM, TEN_S, "energy", (3e-2, 3e-9, 1e-6, 5e-9)),
    ("kepler, position", ORBIT, TEN_S, "position in orbit", (1.5e-1, 2e-9, 1.5e-5, 3e-8)),
    ("kepler, energy", ORBIT, TEN_S, "energy", (2e-2, 1e-11, 2e-6, 1e-8)),
    ("kepler, momentum", ORBIT, TEN_S, "momentum", (1e-2, 4e-12, 1e-6, 4e-9)),
    ("rigid body, energy", BODY, TEN_S, "energy", (2e-2, 3e-10, 1e-6, 4e-10)),
    ("rigid body, momentum", BODY, TEN_S, "momentum", (1e-2, 3e-9, 5e-7, 1e-9)),
    ("constant rate, angle", TURN, TEN_S, "angle turned", (3e-5, 6e-9, 4e-8, 5e-10)),
    ("constant rate, norm", TURN, TEN_S, "norm", (1e-12, 1e-12, 1e-12, 1e-12)),
    ("free fall, position", FALL, 1_000_000, "position in free fall", (5e-3, 1e-12, 1e-12, 1e-12)),
    ("free fall, velocity", FALL, 1_000_000, "velocity in free fall", (1e-12, 1e-12, 1e-12, 1e-12)),
)


def reference_results() -> Iterator[Result]:
    """Run every problem with every integrator."""
    for case, plant, end_us, error, bounds in PROBLEMS:
        for kind, bound in zip(TABLEAUX, bounds, strict=True):
            flown = fly(plant, ADAPTIVE.get(kind, Integrator(kind)), end_us, STEPS_US.get(kind))
            yield Result(case, kind, float(np.abs(ERRORS[error](flown)).max()), bound)


CONVERGENCE_STEPS_US = {
    "Euler": (1_000, 500, 250, 125),
    "RK4": (50_000, 25_000, 12_500, 6_250),
    "RK23": (20_000, 10_000, 5_000, 2_500),
    "RK45": (100_000, 50_000, 25_000, 12_500),
}
ALLOWED = {"Euler": 0.15, "RK4": 0.25, "RK23": 0.25, "RK45": 0.25}


def measured_order(kind: Method) -> float:
    """Return the order of convergence of a method on the oscillator."""
    plant, steps_us, errors = replace(OSCILLATOR, omega_rad_s=1.0), CONVERGENCE_STEPS_US[kind], []
    for step_us in steps_us:
        assert LOG_PERIOD_US % step_us == 0
        flown = fly(plant, Integrator(kind, adaptive=False), TEN_S, step_us)
        exact = solutions.oscillator(1.0, plant.position, plant.velocity, flown.t_s)
        errors.append(float(np.hypot(flown.x[-1, 0] - exact[0][-1], flown.x[-1, 1] - exact[1][-1])))
    return float(np.polyfit(np.log(steps_us), np.log(errors), 1)[0])


def convergence_results() -> Iterator[Result]:
    """Compare the measured order of each method with its nominal order."""
    for kind, tableau in TABLEAUX.items():
        yield Result("order of convergence", kind, abs(measured_order(kind) - tableau.order), ALLOWED[kind])


TIGHT = Integrator("RK45", **tolerances(1e-12, 1e-12), h_min=1e-6, h_init=1e-5)
TIGHT_BOUND = 1e-9
"""Both solvers have an error of 1e-12 per step, which may add up to this over some thousand steps in 10 s."""


def _pendulum(_t: float, x: Array) -> Array:
    return np.array([x[1], -(LARGE_PENDULUM.omega_rad_s**2) * np.sin(x[0])])


def _orbit(_t: float, x: Array) -> Array:
    return np.concatenate([x[3:], -ORBIT.mu_m3_s2 * x[:3] / np.linalg.norm(x[:3]) ** 3])


def _body(_t: float, x: Array) -> Array:
    w, v, rate, inertia = x[0], x[1:4], x[4:], np.array(BODY.inertia_kgm2)
    turn = 0.5 * (w * rate + np.cross(v, rate))
    return np.concatenate([[-0.5 * v @ rate], turn, -np.cross(rate, inertia * rate) / inertia])


def scipy_results() -> Iterator[Result]:
    """Run each case with tight RK45 and compare the final state with that of DOP853."""
    from scipy.integrate import solve_ivp

    cases: tuple[tuple[str, PlantModel, Callable[[float, Array], Array]], ...]
    cases = (("pendulum", LARGE_PENDULUM, _pendulum), ("kepler", ORBIT, _orbit), ("rigid body", BODY, _body))
    for name, plant, rhs in cases:
        flown = fly(plant, TIGHT, TEN_S, None)
        other = solve_ivp(rhs, (0.0, TEN_S / 1e6), plant.initial_state(), method="DOP853", rtol=1e-13, atol=1e-13)
        error = float(np.abs(flown.x[-1] - other.y[:, -1]).max())
        yield Result(f"{name}, against DOP853", TIGHT.kind, error, TIGHT_BOUND)
