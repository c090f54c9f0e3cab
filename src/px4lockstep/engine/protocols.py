"""Protocols for user objects that replace a stage; `docs/explanation/engine.md` has an example of each.

At each event boundary where its stage is due, the engine calls `step` with

* `time_us`, the time as an int,
* `inputs`, a read-only view: `inputs.estimate`, `inputs.scenario` and `inputs.battery`, parts of the bus, `inputs.bus`,
  the whole bus, `inputs.plant`, the true state, `inputs.held`, the inputs that the plant is integrated with,
  `inputs.setpoint`, the autopilot's setpoint of this tick, and `inputs.end_us`, the end of the run or None,
* `outputs`, the part of the bus that this stage writes. Fields that are not written keep their values.

`Simulation.snapshot` copies an object's attributes. An object whose state is elsewhere (in a file or a process)
provides the methods `snapshot()` and `restore(saved)`.
"""

from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from px4lockstep.jit.records import locked, view
from px4lockstep.plant.layout import GROUPS


class PlantView:
    """The true state of the plant, read-only: `plant.x` is the whole state, `plant["pos"]` a group."""

    def __init__(self, x: npt.NDArray[np.float64], plant: Any) -> None:
        self._x = locked(x[: int(plant["n_x"])])
        self._ends = plant["group_start"].tolist(), plant["group_stop"].tolist()
        self.traits = plant["traits"].copy()
        """The model-independent properties of the plant, a `TRAITS` record."""

    @cached_property
    def groups(self) -> dict[str, slice]:
        """The slice of each group in the state."""
        return {name: slice(start, stop) for name, start, stop in zip(GROUPS, *self._ends, strict=True)}

    @cached_property
    def _parts(self) -> dict[str, npt.NDArray[np.float64]]:
        return {name: self._x[part] for name, part in self.groups.items()}

    @property
    def x(self) -> npt.NDArray[np.float64]:
        """The whole state."""
        return self._x

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each state: its group and its index there."""
        return tuple(f"{name}[{i}]" for name, part in self._parts.items() for i in range(len(part)))

    def __getitem__(self, group: str) -> npt.NDArray[np.float64]:
        return self._parts[group]


class StageInputs:
    """Read-only inputs of a user's object: the bus, the true state, and the held inputs of the plant.

    Views of records are created on first use, since most flights have no user objects.
    """

    def __init__(self, core: npt.NDArray[Any], plant: PlantView, end_us: int | None) -> None:
        self._core = core
        self.plant = plant
        self.end_us = end_us
        """The end of the run; None if it ends on request."""
        self.sensors: Any = None

    @cached_property
    def bus(self) -> Any:
        """The whole bus."""
        return view(self._core["bus"], writable=False, sensors=self.sensors)

    @cached_property
    def estimate(self) -> Any:
        """The state estimate: `pos_ned`, `vel_ned`, `q_bn`, `omega_body`, `is_valid`."""
        return self.bus.estimate

    @cached_property
    def scenario(self) -> Any:
        """Requests and faults: `arm`, `mission`, `return_home`, `land`, `landed`."""
        return self.bus.scenario

    @cached_property
    def battery(self) -> Any:
        """The batteries, as measured: `battery[0].voltage_v`."""
        return self.bus.battery

    @cached_property
    def setpoint(self) -> Any:
        """The setpoint of this tick: `setpoint.kind` and its numbers, and `requests`, the count of mode requests."""
        return view(self._core["setpoint"], writable=False)

    @cached_property
    def held(self) -> Any:
        """The inputs that the plant is integrated with."""
        return view(self._core["inputs"], writable=False)


@runtime_checkable
class PythonStage(Protocol):
    """A scenario, wind, estimator or autopilot."""

    def step(self, time_us: int, inputs: StageInputs, outputs: Any) -> None:
        """Write this boundary's outputs."""


class PythonScenario(PythonStage, Protocol):
    """Runs at every boundary; outputs are those of `bus.SCENARIO_OUT`: requests, `landed`, wind, faults.

    Setting `crashed` to 1 ends the run; 2 reports a crash, but the run continues.
    """


class PythonWind(PythonStage, Protocol):
    """Runs on the wind axis; the output is `vel_ned`, the air velocity over ground."""


class PythonEstimator(PythonStage, Protocol):
    """Runs on the autopilot axis; outputs are `pos_ned`, `vel_ned`, `q_bn`, `omega_body` and `is_valid`.

    An estimator that applies `bus.scenario.estimate_faults` declares it with `applies_estimate_faults = True`.
    """


class PythonAutopilot(PythonStage, Protocol):
    """Runs on the autopilot axis; outputs are `motors` in [0, 1] (NaN: not driven) and `servos` in [-1, 1].

    All of the following are optional. `attach(status, plant, period_us, seed)` is called once, before the first
    boundary; the autopilot then reports its status in `status`, which is `bus.autopilot`. `Simulation.close` calls
    `close()`, to release resources. `warnings` are added to the summary, as are `texts`, the autopilot's own messages;
    the reason of a flight that failed quotes them. `capabilities` declares what else the autopilot supports, such as
    `Capabilities(takes_sensor_faults=True)` if its sensors apply `bus.scenario.faults.sensor_fault_mask`, or
    `Capabilities(takes_setpoints=True)` if it follows `inputs.setpoint`.
    `sensor_suite` is a `SensorSuite` that the simulation runs for the autopilot; its outputs are in
    `inputs.bus.sensors`. `take_sensors(stage)` receives the running `SensorStage`. `waited_s`, the wall-clock time for
    which it waited for the user, does not count in `statistics.wall_s`. `max_internal_rate_hz` is the rate of its
    fastest loop: a longer tick is a warning, or an error with `Simulation(strict_rates=True)`.
    """


@runtime_checkable
class RowSink(Protocol):
    """Receives the rows of the log outside the loop: a `px4lockstep.LogSink`, which documents these methods."""

    def rows(self, simulation: Any, start: int, stop: int) -> Any:
        """Return rows of the log in the form that `open` and `write` take."""

    def open(self, log: Any) -> None:
        """Prepare for a run."""

    def write(self, log: Any) -> None:
        """Process the next rows."""

    def close(self) -> None:
        """Finish."""


@runtime_checkable
class TelemetryHook(Protocol):
    """Runs on the axes in `hook_axes`, between estimator and autopilot, with read-only access."""

    def step(self, time_us: int, inputs: StageInputs) -> None:
        """Observe the simulation."""
