"""All benchmarks: the C reference and ours interleaved, best of several repeats."""

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.bench import campaign_mission, closed_loop, hover, sitl_host_step
from px4lockstep.bench.c_reference import CReference, NoReferenceError, c_parameters
from px4lockstep.engine.simulation import Simulation
from px4lockstep.errors import LockstepError, SimulationError
from px4lockstep.integrators.solver import Integrator
from px4lockstep.integrators.tableaux import Method
from px4lockstep.spec.load import load_aircraft

REPEATS = 40
MISSION_S = 68
"""Duration of the whole mission, which the replay and campaign benchmarks use."""
AGREEMENT = 1e-6
"""Maximum difference between C and our RK4 after a minute; above it, they do not simulate the same aircraft."""


@dataclass(frozen=True)
class Measurement:
    """One benchmark: its wall time, real-time factor, and ratio to C for a flight of the same duration."""

    name: str
    wall_s: float
    realtime_factor: float
    c_ratio: float | None
    tick_us: float | None = None  # cost per tick, for a benchmark of single ticks

    def as_dict(self) -> dict[str, object]:
        """Return the measurement in the format of `--json`."""
        return asdict(self)


def measure() -> tuple[list[Measurement], list[str]]:
    """Run all benchmarks; return the measurements, and notes on those that could not run."""
    ours: dict[str, Callable[[], float]] = {
        "plant_rk4": _plant("RK4"),
        "plant_rk45": _plant("RK45"),
        "closed_loop": _closed_loop,
        "closed_loop_recorded": partial(_closed_loop, record=True),
        "replay_rk4": _replay("RK4"),
        "replay_rk45": _replay("RK45"),
        "campaign_mission": campaign_mission.runs("iris", MISSION_S, '"plant.integrator" = "RK4"'),
        "x500_mission": campaign_mission.runs("x500", MISSION_S),
    }
    notes: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        references: dict[str, Callable[[], float]] = {}
        try:
            references = {"c": _reference(Path(folder))}
        except NoReferenceError as error:
            notes.append(f"no ratio to C: {error}")
        best = dict.fromkeys([*references, *ours], float("inf"))
        for _ in range(REPEATS):
            for name, run in (references | ours).items():
                best[name] = min(best[name], run())
    measurements = []
    for name in ours:
        wall_s, duration_s = (
            best[name],
            MISSION_S if name.endswith("mission") or name.startswith("replay") else hover.DURATION_S,
        )
        c_ratio = wall_s / best["c"] * hover.DURATION_S / duration_s if references else None
        measurements.append(Measurement(name, wall_s, duration_s / wall_s, c_ratio))
    try:
        tick_us = sitl_host_step.measured()
        wall_s = 1e-6 * tick_us * (hover.DURATION_S * 1_000_000 // hover.TICK_US)  # of an equally long flight
        measurements.append(Measurement("sitl_host_step", wall_s, hover.DURATION_S / wall_s, None, tick_us))
    except LockstepError as error:
        notes.append(f"no sitl_host_step: {error}")
    return measurements, notes


def warm_up() -> None:
    """Compile the loop or load it from the cache."""
    Simulation(hover.aircraft(), hover.timeline(physics=True))


def _plant(kind: Method) -> Callable[[], float]:
    """Return a run of the plant alone in the loop, with recorded commands."""
    physics = not Integrator(kind).chooses_steps
    replay = {"replay": hover.streams(physics), "validate": "off"}
    return partial(_flown_s, hover.aircraft(), hover.timeline(physics), integrator=Integrator(kind), **replay)


def _flown_s(*arguments: Any, **options: Any) -> float:
    """Return the wall time of a simulation, without its construction."""
    return Simulation(*arguments, **options).run().statistics.wall_s


def _closed_loop(record: bool = False) -> float:
    """Fly with all stages on, with or without recording."""
    return closed_loop.simulation(record).run().statistics.wall_s


def _replay(kind: Method) -> Callable[[], float]:
    """Return a replay of the whole mission from its streams."""
    flown = closed_loop.simulation(record=True, duration_s=MISSION_S).run()
    return partial(_flown_s, load_aircraft("iris"), flown.timeline, integrator=Integrator(kind), replay=flown.streams)


def _reference(folder: Path) -> Callable[[], float]:
    """Return a run of the C plant with the same inputs, after checking that its final state agrees with ours."""
    reference = CReference(folder)
    plant = hover.aircraft()
    parameters = c_parameters(plant)
    recorded = hover.streams(physics=True)
    commands = hover.duties(recorded)
    steps = hover.TICK_US // hover.STEP_US

    def run_from(state: npt.NDArray[np.float64]) -> float:
        return reference.run(parameters, state, commands, steps, hover.STEP_US / 1e6)

    end = plant.initial_state()
    run_from(end)
    own = Simulation(plant, hover.timeline(True), integrator=Integrator("RK4"), replay=recorded).run()
    apart = float(np.abs(own.plant.x - end).max())
    if not apart < AGREEMENT:
        raise SimulationError(f"the C plant's final state differs by {apart}; they do not simulate the same aircraft")

    return lambda: run_from(plant.initial_state())
