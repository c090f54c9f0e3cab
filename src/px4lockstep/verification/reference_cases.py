"""Tier 1: each integrator on each reference problem, against its solution or invariants.

Euler takes steps of 1 ms and RK4 of 10 ms by a physics axis, RK23 and RK45 keep tolerances of 1e-7 and 1e-9; all run
through the one loop. Orders of convergence are proved elsewhere (`convergence`); a bound here is about twice the error
that the method has with that step or tolerance, so that a method that loses accuracy fails. Where the exact error is
known (free fall: Euler lags by g h t / 2, the others are exact) the bound is that.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from px4lockstep.constants import STANDARD_GRAVITY_M_S2
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.integrators.solver import Integrator, tolerances
from px4lockstep.integrators.tableaux import TABLEAUX
from px4lockstep.plant import models
from px4lockstep.plant.models import PlantModel
from px4lockstep.verification import solutions
from px4lockstep.verification.result import Result

Array = npt.NDArray[np.float64]

ADAPTIVE = {
    "RK23": Integrator("RK23", **tolerances(1e-7, 1e-7)),
    "RK45": Integrator("RK45", **tolerances(1e-9, 1e-9)),
}
LOG_PERIOD_US = 100_000


@dataclass(frozen=True)
class CaseRun:
    """A run as a case looks at it: times, states, and the invariants that the plant put out."""

    t_s: Array
    x: Array
    values: Array


def fly(plant: PlantModel, integrator: Integrator, end_us: int, step_us: int | None) -> CaseRun:
    """Run a plant through the loop, with a fixed step if one is given."""
    physics = None if step_us is None else Periodic(step_us)
    timeline = Timeline(end_us, log=Periodic(LOG_PERIOD_US), physics=physics)
    sim = Simulation(plant, timeline, integrator=integrator, validate="paranoid").run()
    return CaseRun(sim.log["time_us"] / 1e6, sim.log_state, sim.log["bus"]["outputs"]["values"])


@dataclass(frozen=True)
class Problem:
    """A plant, how to fly it, how to measure the error, and the bound for each integrator."""

    name: str
    plant: PlantModel
    end_us: int
    error: Callable[[CaseRun], float]
    bounds: dict[str, float]


def _largest(difference: Array) -> float:
    return float(np.abs(difference).max())


def _drift(values: Array) -> float:
    """Return the largest change of an invariant (or vector of them), relative to its size at the start."""
    return float(np.abs(values - values[0]).max() / np.linalg.norm(values[0]))


OSCILLATOR = models.Oscillator(omega_rad_s=2.0, position=1.0, velocity=0.5)
SMALL_PENDULUM = models.Pendulum(omega_rad_s=2.0, angle_rad=1e-3)
LARGE_PENDULUM = models.Pendulum(omega_rad_s=2.0, angle_rad=2.5)
ORBIT = models.KeplerOrbit(mu_m3_s2=4.0, radius_m=2.0, inclination_rad=0.6)
BODY = models.TorqueFreeBody(inertia_kgm2=(1.0, 2.0, 3.0), omega_body=(0.3, 2.0, 0.5))
TURN = models.ConstantRate(rate_body_rad_s=(0.6, -0.8, 2.0))
FALL = models.FreeFall(pos_ned=(1.0, 2.0, -100.0), vel_ned=(3.0, -1.0, -5.0))


def _oscillator(f: CaseRun) -> float:
    return _largest(f.x[:, 0] - solutions.oscillator(2.0, 1.0, 0.5, f.t_s)[0])


def _small_pendulum(f: CaseRun) -> float:
    return _largest(f.x[:, 0] / 1e-3 - np.cos(2.0 * f.t_s))


def _large_pendulum(f: CaseRun) -> float:
    return _largest(f.x[:, 0] - solutions.pendulum(2.0, 2.5, f.t_s)[0])


def _orbit(f: CaseRun) -> float:
    return _largest(f.x[:, :3] - solutions.circular_orbit(4.0, 2.0, 0.6, f.t_s)[0])


def _turn(f: CaseRun) -> float:
    return _largest(solutions.angle_between(f.x, solutions.constant_rate((0.6, -0.8, 2.0), f.t_s)))


def _norm(f: CaseRun) -> float:
    return _largest(np.linalg.norm(f.x[:, :4], axis=1) - 1.0)


def _fall_pos(f: CaseRun) -> float:
    return _largest(f.x[:, :3] - solutions.free_fall(STANDARD_GRAVITY_M_S2, f.x[0, :3], f.x[0, 3:], f.t_s)[0])


def _fall_vel(f: CaseRun) -> float:
    return _largest(f.x[:, 3:] - solutions.free_fall(STANDARD_GRAVITY_M_S2, f.x[0, :3], f.x[0, 3:], f.t_s)[1])


def _energy(f: CaseRun) -> float:
    return _drift(f.values[:, :1])


def _momentum(f: CaseRun) -> float:
    return _drift(f.values[:, 1:4])


def _bounds(euler: float, rk4: float, rk23: float, rk45: float) -> dict[str, float]:
    return {"Euler": euler, "RK4": rk4, "RK23": rk23, "RK45": rk45}


TEN_S = 10_000_000

STEPS_US = {"Euler": 1_000, "RK4": 10_000}
"""Steps of the methods that don't choose their own."""

PROBLEMS = (
    Problem("oscillator, position", OSCILLATOR, TEN_S, _oscillator, _bounds(3e-2, 4e-8, 6e-6, 1e-8)),
    Problem("oscillator, energy", OSCILLATOR, TEN_S, _energy, _bounds(6e-2, 2e-9, 1e-5, 2e-8)),
    Problem("pendulum, small angle", SMALL_PENDULUM, TEN_S, _small_pendulum, _bounds(3e-2, 2e-6, 3e-3, 4e-6)),
    Problem("pendulum, large angle", LARGE_PENDULUM, TEN_S, _large_pendulum, _bounds(7e-1, 4e-8, 1e-5, 1e-7)),
    Problem("pendulum, energy", LARGE_PENDULUM, TEN_S, _energy, _bounds(3e-2, 3e-9, 1e-6, 5e-9)),
    Problem("kepler, position", ORBIT, TEN_S, _orbit, _bounds(1.5e-1, 2e-9, 1.5e-5, 3e-8)),
    Problem("kepler, energy", ORBIT, TEN_S, _energy, _bounds(2e-2, 1e-11, 2e-6, 1e-8)),
    Problem("kepler, momentum", ORBIT, TEN_S, _momentum, _bounds(1e-2, 4e-12, 1e-6, 4e-9)),
    Problem("rigid body, energy", BODY, TEN_S, _energy, _bounds(2e-2, 3e-10, 1e-6, 4e-10)),
    Problem("rigid body, momentum", BODY, TEN_S, _momentum, _bounds(1e-2, 3e-9, 5e-7, 1e-9)),
    Problem("constant rate, angle", TURN, TEN_S, _turn, _bounds(3e-5, 6e-9, 4e-8, 5e-10)),
    Problem("constant rate, norm", TURN, TEN_S, _norm, _bounds(1e-12, 1e-12, 1e-12, 1e-12)),
    Problem("free fall, position", FALL, 1_000_000, _fall_pos, _bounds(5e-3, 1e-12, 1e-12, 1e-12)),
    Problem("free fall, velocity", FALL, 1_000_000, _fall_vel, _bounds(1e-12, 1e-12, 1e-12, 1e-12)),
)


def reference_results() -> Iterator[Result]:
    """Fly every problem with every integrator."""
    for problem in PROBLEMS:
        for kind in TABLEAUX:
            integrator = ADAPTIVE.get(kind, Integrator(kind))
            flown = fly(problem.plant, integrator, problem.end_us, STEPS_US.get(kind))
            yield Result(problem.name, kind, problem.error(flown), problem.bounds[kind])
