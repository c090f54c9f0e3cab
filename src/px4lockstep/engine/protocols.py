"""What a user's object must offer to take a stage's place, with an example each in `docs/explanation/engine.md`.

At each boundary where its stage is due, the engine calls `step` with

* `time_us`, the time as an int,
* `inputs`, a read-only view: `inputs.bus`, everything on the bus, `inputs.plant`, the true state, and `inputs.held`,
  what acts on the plant now,
* `outputs`, the part of the bus that is this stage's to write. What is not written stays as it was.

An object's attributes are copied by `Simulation.snapshot`. One whose state is elsewhere (in a file, a process, slots)
says so by methods of its own, `snapshot()` and `restore(saved)`.
"""

from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from px4lockstep.jit.records import locked, view
from px4lockstep.plant.layout import GROUPS


class PlantView:
    """The true state of the plant, read-only: `plant.x` is all of it, `plant["pos"]` a group of it."""

    def __init__(self, x: npt.NDArray[np.float64], plant: Any) -> None:
        self._x = locked(x[: int(plant["n_x"])])
        ends = zip(plant["group_start"].tolist(), plant["group_stop"].tolist(), strict=True)
        self.groups = {name: slice(start, stop) for name, (start, stop) in zip(GROUPS, ends, strict=True)}
        """Where each group is in the state."""
        self.traits = plant["traits"].copy()
        """What it has, whatever its model: a `TRAITS`."""
        self._parts = {name: self._x[part] for name, part in self.groups.items()}

    @property
    def x(self) -> npt.NDArray[np.float64]:
        """The whole state."""
        return self._x

    @property
    def names(self) -> tuple[str, ...]:
        """What each of the state is called: its group, and its place there."""
        return tuple(f"{name}[{i}]" for name, part in self._parts.items() for i in range(len(part)))

    def __getitem__(self, group: str) -> npt.NDArray[np.float64]:
        return self._parts[group]


class StageInputs:
    """Read-only inputs of a user's object: the bus, the true state, and the inputs that the plant holds now.

    Views of records are made at first use: most flights have no user's object.
    """

    def __init__(self, core: npt.NDArray[Any], plant: PlantView) -> None:
        self._core = core
        self.plant = plant
        self.sensors: Any = None

    @cached_property
    def bus(self) -> Any:
        """Everything on the bus."""
        return view(self._core["bus"], writable=False, sensors=self.sensors)

    @cached_property
    def held(self) -> Any:
        """What acts on the plant now."""
        return view(self._core["inputs"], writable=False)


@runtime_checkable
class PythonStage(Protocol):
    """A scenario, wind, estimator or autopilot."""

    def step(self, time_us: int, inputs: StageInputs, outputs: Any) -> None:
        """Write this boundary's outputs."""


class PythonScenario(PythonStage, Protocol):
    """Runs at every boundary; outputs are those of `bus.SCENARIO_OUT`: requests, `landed`, wind, faults.

    Setting `crashed` to 1 ends the run; 2 says that it has crashed and goes on.
    """


class PythonWind(PythonStage, Protocol):
    """Runs on the wind axis; outputs are `vel_ned`, the velocity of the air over the ground."""


class PythonEstimator(PythonStage, Protocol):
    """Runs on the autopilot axis; outputs are `pos_ned`, `vel_ned`, `q_bn`, `omega_body` and `is_valid`.

    One that applies `bus.scenario.estimate_faults` says so by an attribute `applies_estimate_faults = True`.
    """


class PythonAutopilot(PythonStage, Protocol):
    """Runs on the autopilot axis; outputs are `motors` in [0, 1] (NaN: not driven) and `servos` in [-1, 1].

    One that reports its status has a method `attach(status, plant, period_us, seed)`, called once, before the first
    boundary: `status` is `bus.autopilot`, which it writes from then on. One that holds something open has a method
    `close()`, which `Simulation.close` calls; `warnings`, if it has them, are for the summary. What else it can do it
    declares by an attribute `capabilities`: `Capabilities(takes_sensor_faults=True)` if its sensors apply
    `bus.scenario.faults.sensor_fault_mask`. One that flies by sensors may bring them, a `SensorSuite` in an attribute
    `sensor_suite`: the simulation runs them and they are in `inputs.bus.sensors`. With a method `take_sensors(stage)`
    it is given the running `SensorStage` too.
    """


@runtime_checkable
class TelemetryHook(Protocol):
    """Runs on the axes it was added for, between estimator and autopilot; it can only look."""

    def step(self, time_us: int, inputs: StageInputs) -> None:
        """Look at the simulation."""
