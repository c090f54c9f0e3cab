"""All benchmarks: the C reference and ours interleaved, best of several repeats; and the start of commands."""

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.bench import campaign_mission, closed_loop, hover, sitl_host_step
from px4lockstep.bench.c_reference import CReference, NoReferenceError, c_parameters
from px4lockstep.bench.first_flights import FIRST_FLIGHTS, measure_first_flights
from px4lockstep.bench.starts import STARTS, measure_starts
from px4lockstep.engine.simulation import Simulation
from px4lockstep.errors import InputError, LockstepError, SimulationError, did_you_mean
from px4lockstep.integrators.solver import Integrator
from px4lockstep.integrators.tableaux import Method
from px4lockstep.jit import ahead
from px4lockstep.spec.load import load_aircraft

REPEATS = 40
MISSION_S = 68
"""Duration of the whole mission, which the replay and campaign benchmarks use."""
AGREEMENT = 1e-6
"""Maximum difference between C and our RK4 after a minute; above it, they do not simulate the same aircraft."""


@dataclass(frozen=True)
class Measurement:
    """One benchmark: its time, and its ratio to C for a flight of the same duration or to the import of Numba."""

    name: str
    wall_s: float
    realtime_factor: float | None = None  # of a flight in this process
    c_ratio: float | None = None
    tick_us: float | None = None  # cost per tick, for a benchmark of single ticks
    cpu_s: float | None = None  # of a fresh process
    import_ratio: float | None = None  # CPU time relative to that of importing Numba

    def as_dict(self) -> dict[str, object]:
        """Return the measurement in the format of `--json`."""
        return asdict(self)


FLIGHTS: dict[str, Callable[[], Callable[[], float]]] = {
    "plant_rk4": lambda: _plant("RK4"),
    "plant_rk45": lambda: _plant("RK45"),
    "closed_loop": lambda: _closed_loop,
    "closed_loop_recorded": lambda: partial(_closed_loop, record=True),
    "replay_rk4": lambda: _replay("RK4"),
    "replay_rk45": lambda: _replay("RK45"),
    "campaign_mission": lambda: campaign_mission.runs("iris", MISSION_S, '"plant.integrator" = "RK4"'),
    "x500_mission": lambda: campaign_mission.runs("x500", MISSION_S),
}
"""The preparation of each benchmark that is compared with C; it returns the function to measure."""
HOST_STEP = "sitl_host_step"
NAMES = (*FLIGHTS, HOST_STEP, *STARTS, *FIRST_FLIGHTS)


def check_names(names: Sequence[str]) -> None:
    """Raise `InputError` if there is no such benchmark."""
    for name in names:
        if name not in NAMES:
            raise InputError(f"unknown benchmark {name!r}; {did_you_mean(name, NAMES)}benchmarks: {', '.join(NAMES)}")


def measure(names: Sequence[str] = NAMES) -> tuple[list[Measurement], list[str]]:
    """Run the named benchmarks; return the measurements, and notes on those that could not run."""
    notes: list[str] = []
    measurements = _measure_flights([name for name in FLIGHTS if name in names], notes)
    if HOST_STEP in names:
        try:
            tick_us = sitl_host_step.measured()
            wall_s = 1e-6 * tick_us * (hover.DURATION_S * 1_000_000 // hover.TICK_US)  # of an equally long flight
            measurements.append(Measurement(HOST_STEP, wall_s, hover.DURATION_S / wall_s, tick_us=tick_us))
        except LockstepError as error:
            notes.append(f"no {HOST_STEP}: {error}")
    for group, measure_group in ((STARTS, measure_starts), (FIRST_FLIGHTS, measure_first_flights)):
        chosen = [name for name in group if name in names]
        if chosen:
            try:
                yardstick, found = measure_group(chosen)
                measurements += [
                    Measurement(name, took.wall_s, cpu_s=took.cpu_s, import_ratio=took.cpu_s / yardstick.cpu_s)
                    for name, took in found.items()
                ]
            except NoReferenceError as error:
                notes.append(f"no {', '.join(chosen)}: {error}")
    return measurements, notes


def _measure_flights(names: list[str], notes: list[str]) -> list[Measurement]:
    """Measure flights in this process, interleaved with the C reference if there is one."""
    if not names:
        return []
    ours = {name: FLIGHTS[name]() for name in names}
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
        is_mission = name.endswith("mission") or name.startswith("replay")
        wall_s, duration_s = best[name], MISSION_S if is_mission else hover.DURATION_S
        c_ratio = wall_s / best["c"] * hover.DURATION_S / duration_s if references else None
        measurements.append(Measurement(name, wall_s, duration_s / wall_s, c_ratio))
    return measurements


def warm_up() -> None:
    """Compile the loop for this CPU or load it from the cache; a wheel's code for any CPU is slower."""
    os.environ[ahead.VARIABLE] = ahead.NOW
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
