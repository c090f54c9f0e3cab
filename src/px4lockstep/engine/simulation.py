"""A simulation: the records, the arrays and the user's objects, and the loop that is called on them."""

import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.base import NativeAutopilot, Session, capabilities_of
from px4lockstep.engine import loop, validator
from px4lockstep.engine.builder import Builder
from px4lockstep.engine.bus import BUS_SCHEMA_VERSION
from px4lockstep.engine.checkpoints import CHECKPOINT, branched, check_past, difference, put_state, state_of
from px4lockstep.engine.compilation import compiled_loop
from px4lockstep.engine.core import NATIVE, OFF, PYTHON, PYTHON_WITH_STATUS, SIM, STREAMS, Arrays
from px4lockstep.engine.digest import flight_digest, live_digest, pack_flight, pack_live
from px4lockstep.engine.failure import failure_of
from px4lockstep.engine.protocols import (
    PlantView,
    PythonAutopilot,
    PythonEstimator,
    PythonScenario,
    PythonWind,
    StageInputs,
    TelemetryHook,
)
from px4lockstep.engine.scenario_stage import NotingChanges
from px4lockstep.engine.sensor_stage import check_same_sensors, set_sensors, take_sensors
from px4lockstep.engine.snapshot import Snapshot, load_objects, save_objects
from px4lockstep.engine.stages import (
    Handlers,
    open_autopilot,
    plant_records,
    record_of,
    set_gusts,
    set_hooks,
    set_sources,
    step_warnings,
)
from px4lockstep.engine.statistics import Statistics, Stretch, statistics_of
from px4lockstep.engine.streams import Streams, allocate, locked, with_room
from px4lockstep.engine.timeline import AUTOPILOT, LOG, Timeline
from px4lockstep.environment.gust import Gust
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError, SimulationError, StateError
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.integrators.solver import Integrator
from px4lockstep.jit import plain, rows, view, zeros
from px4lockstep.plant.models import PlantModel
from px4lockstep.scenario.actions import START_MISSION
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.sensors.suite import SensorSuite, no_sensors
from px4lockstep.timebase import check_us

BOUNDARIES_PER_CALL = 20_000
"""Tens of milliseconds of work: after each, an interrupt from the keyboard is seen."""


CHECKPOINT_US = 10_000_000
"""How often a recorded run keeps a checkpoint, for branches."""


class Simulation:
    """One run of a plant through the loop.

    Args:
        plant: What is integrated; None runs the stages alone.
        timeline: The boundaries.
        integrator: How the plant is integrated.
        scenario: Its source: a `Scenario`, an object with a method `step` (see `protocols`), or None for off.
        wind: Likewise, or a `Wind`, which runs compiled.
        estimator: Likewise, or an `Estimator`, which runs compiled.
        autopilot: Likewise, or a `NativeAutopilot`, which runs compiled, or the `Session` of one that runs already.
        sensors: Sensors, which run compiled and write `bus.sensors`; None for off, unless the autopilot has its own.
        hooks: Telemetry hooks, called in this order.
        hook_axes: The axes that the hooks run on.
        gusts: Gusts on top of any wind; their edges must be boundaries.
        replay: Streams of an earlier run, which take the place of scenario, wind and autopilot.
        record: Whether to keep the streams for a replay. A command out of range is then an error.
        validate: `off`, `cheap` or `paranoid`: see `validator`.
        seed: Of all randomness that is native.
        builder: Makes the parts and writes the records; left out, all anew.

    Raises:
        InputError: If anything does not fit, before the first boundary.
    """

    def __init__(
        self,
        plant: PlantModel | None,
        timeline: Timeline,
        *,
        integrator: Integrator | None = None,
        scenario: PythonScenario | Scenario | None = None,
        wind: PythonWind | Wind | None = None,
        estimator: PythonEstimator | Estimator | None = None,
        autopilot: PythonAutopilot | NativeAutopilot | Session | None = None,
        sensors: SensorSuite | None = None,
        hooks: Sequence[TelemetryHook] = (),
        hook_axes: Sequence[str] = ("log",),
        gusts: Sequence[Gust] = (),
        replay: Streams | None = None,
        record: bool = False,
        validate: str = "cheap",
        seed: int = 0,
        builder: Builder | None = None,
    ) -> None:
        if validate not in validator.LEVELS:
            raise InputError(f"validate = {validate!r} is unknown; allowed are {', '.join(validator.LEVELS)}")
        self.timeline = timeline
        self.integrator = integrator or Integrator()
        self._sources = {"scenario": scenario, "wind": wind, "estimator": estimator, "autopilot": autopilot}
        self._hooks = tuple(hooks)
        self._thread = threading.get_ident()
        self._failed: BaseException | None = None
        self._raised_in_plant: BaseException | None = None
        self._python_calls = 0
        self._wall_s = 0.0
        self._slowest = Stretch()
        self._flown_us = 0

        self._core = zeros(SIM)
        sim = plain(self._core)[0]
        builder = builder or Builder()
        sim["bus"]["estimate"]["q_bn"][0] = 1.0
        sim["bus"]["estimate"]["is_valid"] = 1.0  # unless an estimator writes otherwise
        if plant is not None:
            builder.write(self._core, ("plant", "state"), plant_records, plant)
            sim["modes"]["plant"] = NATIVE
            # Nobody looks at outputs between two rows of the log if the autopilot is replayed and nothing estimates.
            is_unwatched = replay is not None and estimator is None
            sim["modes"]["outputs_axes"] = LOG if is_unwatched else LOG | AUTOPILOT
            for name in ("voltage_v", "current_a", "remaining"):
                sim["bus"]["battery"][name] = np.nan if is_unwatched else 0.0  # not measured is not 0
            sim["battery_sensors"]["gain"] = 1.0  # a plant without sensors shows its batteries as they are
            if hasattr(plant, "write_sensors") and timeline.autopilot is not None:
                plant.write_sensors(sim["battery_sensors"], seed, timeline.autopilot.period_us)
        builder.write(self._core, ("solver",), record_of, self.integrator)
        sim["validator"]["level"] = validator.LEVELS[validate]
        sim["validator"]["last_time_us"] = -1
        sim["validator"]["last_autopilot_us"] = -1
        sim["modes"]["is_recording"] = record
        sim["modes"]["is_strict"] = record

        self._n_x = int(sim["plant"]["n_x"])
        self._inputs = StageInputs(
            bus=view(self._core["bus"], writable=False, sensors=None),
            plant=PlantView(sim["state"]["x"], sim["plant"]),
            held=view(self._core["inputs"], writable=False),
        )
        self._handlers: Handlers = set_sources(
            self._core, timeline, self._sources, self._inputs, plant, replay, seed, builder
        )
        self._sensors = set_sensors(sensors, autopilot, self._core, plant, timeline, seed)
        if self._sensors is not None:
            self._inputs.bus.sensors = self._sensors.out
        self._handlers |= set_hooks(self._core, timeline, self._hooks, hook_axes, self._inputs)
        set_gusts(self._core, timeline, gusts, replay)
        self._allocate(replay, record)
        self._initial_state: npt.NDArray[np.float64] = sim["state"]["x"][: self._n_x].copy()
        self._keeps_checkpoints = record and not self._user_objects() and capabilities_of(autopilot).is_copyable
        most = 1 + (self.timeline.end_us - self.timeline.start_us) // CHECKPOINT_US if self._keeps_checkpoints else 0
        self._checkpoints = np.zeros(most, CHECKPOINT)
        self._n_checkpoints = 0
        self._step_warnings = step_warnings(plant, timeline, self.integrator)
        self.autopilot: Session = open_autopilot(autopilot, self._core, plant, timeline, builder)
        """The autopilot while it flies."""
        self._autopilot_record = self._core[self.autopilot.record] if self.autopilot.record else self._core

    # -- building ------------------------------------------------------------------------------------------------

    def _allocate(self, replay: Streams | None, record: bool) -> None:
        sensors = no_sensors() if self._sensors is None else self._sensors.record
        self._data = allocate(self.timeline, self._n_x, replay, record, sensors)
        self._arrays = Arrays(
            core=rows(self._core),
            time_us=rows(self.timeline.time_us),
            due=rows(self.timeline.due),
            **{name: rows(array) for name, array in self._data.items()},
        )
        self._loop = compiled_loop()

    def _make_room(self, changes: int) -> None:
        """Let the scenario's stream have room for so many changes."""
        self._write_to({name: with_room(self._data[name], changes) for name in ("scenarios", "scenario_at")})

    def move_to(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Let the loop write to other arrays, a file's, say; what it has written so far comes along.

        Args:
            arrays: By name, some of `room`; of the same type and shape.
        """
        for name, array in arrays.items():
            so_far = self._data_so_far(name)
            array[: len(so_far)] = so_far
        self._write_to(arrays)

    def _write_to(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self._data.update(arrays)
        self._arrays = self._arrays._replace(**{name: rows(array) for name, array in arrays.items()})

    # -- running -------------------------------------------------------------------------------------------------

    def run(self, until_us: int | None = None) -> "Simulation":
        """Run to the end, or up to the first boundary at or after `until_us`, whose stages have then not run yet.

        Raises:
            SimulationError: If the run can't go on; the log up to then is intact. It is raised again if called again.
        """
        stop = len(self.timeline)
        if until_us is not None:
            stop = self.timeline.index_at(check_us("until_us", until_us))
        if self._failed is not None:
            raise self._failed
        if not self.is_done:
            self.autopilot.check_ready(self._autopilot_record)
        while self.boundary < stop and not self.is_crashed:
            next_checkpoint = self._keep_checkpoint()
            self._advance(min(self.boundary + BOUNDARIES_PER_CALL, stop, next_checkpoint))
        return self

    def set_state(self, x: npt.ArrayLike) -> None:
        """Put the plant into another state, from which the run goes on at its next boundary.

        The state is taken as it is: a quaternion is normalized only by the next step. An adaptive integrator keeps the
        step that it has come to.

        Raises:
            InputError: If it is not a finite number for each state.
            StateError: If the run is recorded: a replay would not set the state.
        """
        if self._core["modes"]["is_recording"][0]:
            raise StateError("the state of a run that is recorded can't be set: a replay would not do the same")
        state = np.array(x, np.float64)
        if state.shape != (self._n_x,):
            raise InputError(f"a state of shape {state.shape} does not fit: the plant has {self._n_x} states, in a row")
        wrong = np.flatnonzero(~np.isfinite(state))
        if len(wrong):
            raise InputError(f"state {self.plant.names[wrong[0]]} = {state[wrong[0]]} must be a finite number")
        self._core["state"]["x"][0, : self._n_x] = state

    def _keep_checkpoint(self) -> int:
        """Keep the records if it is time to; return the boundary where it will be again."""
        if not self._keeps_checkpoints:
            return len(self.timeline)
        if not self._n_checkpoints or self.boundary >= self._after_checkpoint():
            self._checkpoints[self._n_checkpoints] = state_of(self._core)[0]
            if self._sensors is not None:
                self._sensors.keep(self._n_checkpoints)
            self._n_checkpoints += 1
        return self._after_checkpoint()

    def _after_checkpoint(self) -> int:
        """Return the boundary of the next checkpoint."""
        last = self._boundary_of(self._n_checkpoints - 1)
        return self.timeline.index_at(int(self.timeline.time_us[last]) + CHECKPOINT_US)

    def _boundary_of(self, checkpoint: int) -> int:
        return int(self._checkpoints["cursor"]["k"][checkpoint])

    def _advance(self, k_stop: int) -> None:
        """Run the loop and the Python stages up to a boundary; whatever is raised in between ends the run for good."""
        if threading.get_ident() != self._thread:
            raise StateError("a simulation runs in the thread that made it; make one in each thread or process")
        advance, handlers = self._loop, self._handlers
        start_s, start_us = time.perf_counter(), self.time_us
        ticks_before = int(self._core["cursor"]["autopilot_ticks"][0])
        hook_before = sys.unraisablehook
        sys.unraisablehook = self._note_unraisable
        stage = loop.DONE
        try:
            stage = advance(self._arrays, k_stop)
            while stage >= 0:
                self._python_calls += 1
                if stage == loop.FULL:
                    self._make_room(len(self._data["scenarios"]) + 1)
                else:
                    handlers[stage]()
                stage = advance(self._arrays, k_stop)
            if stage == loop.FAILED:
                raise self._failure()
        except BaseException as error:
            if stage >= 0:
                time_s = int(self._core["bus"]["time_us"][0]) / 1e6
                error.add_note(f"raised by the {loop.STAGE_NAMES[stage]} at t = {time_s:.6f} s")
            self._failed = error
            raise
        finally:
            sys.unraisablehook = hook_before
            wall_s = time.perf_counter() - start_s
            self._wall_s += wall_s
            self._flown_us += self.time_us - start_us
            if wall_s > self._slowest.wall_s:
                ticks = int(self._core["cursor"]["autopilot_ticks"][0]) - ticks_before
                self._slowest = Stretch(wall_s, start_us, ticks)

    def _note_unraisable(self, unraisable: Any) -> None:
        """Note of an exception in a user's compiled function, which can't raise: the loop stops at its next check."""
        if self._raised_in_plant is None:
            self._raised_in_plant = unraisable.exc_value
        noted = self._core["validator"][0]
        noted["code"] = validator.USER_FUNCTION_RAISED
        noted["time_us"] = self._core["bus"]["time_us"][0]

    def close(self) -> None:
        """End the autopilot, or let one of the user's close what it has open; the log stays.

        A second time does nothing.
        """
        has_ended = self.autopilot.close(self._autopilot_record)
        if has_ended and not self.is_done and self._failed is None:
            name = self.autopilot.capabilities.name
            self._failed = SimulationError(f"{name} was ended before the run was; the log is intact")

    def _failure(self) -> SimulationError:
        noted = self._core["validator"][0]
        if noted["code"] == validator.AUTOPILOT_FAILED:
            return SimulationError(self.autopilot.explain(self._autopilot_record, int(noted["time_us"])))
        error = failure_of(self._core[0], self.integrator.kind, self.autopilot)
        if self._raised_in_plant is not None:
            error.__cause__ = self._raised_in_plant
        return error

    # -- looking -------------------------------------------------------------------------------------------------

    @property
    def boundary(self) -> int:
        """The index of the next boundary."""
        return int(self._core["cursor"]["k"][0])

    @property
    def time_us(self) -> int:
        """The time of the next boundary, or of the last one when the run is over."""
        return int(self.timeline.time_us[self.boundary - 1 if self.is_done else self.boundary])

    @property
    def flown_us(self) -> int:
        """How much was flown here: all of it, or what came after the checkpoint that was resumed."""
        return self._flown_us

    @property
    def is_crashed(self) -> bool:
        """Whether a crash has ended the run; the last row of the log is the crash."""
        return bool(self._core["bus"]["scenario"]["crashed"][0])

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know: of the steps, and of an autopilot that has warnings of its own."""
        return (*self._step_warnings, *self.autopilot.warnings)

    @property
    def is_done(self) -> bool:
        """Whether the run is over: the end boundary has run, or a crash has ended it."""
        return self.is_crashed or self.boundary == len(self.timeline)

    @property
    def is_recording(self) -> bool:
        """Whether it keeps the streams for a replay."""
        return bool(self._core["modes"]["is_recording"][0])

    @property
    def reports_mission(self) -> bool:
        """Whether it is known how far the mission was flown: not of an autopilot in Python without a status."""
        return int(self._core["modes"]["autopilot"][0]) in (NATIVE, PYTHON_WITH_STATUS, OFF)

    @property
    def asks_for_mission(self) -> bool:
        """Whether the scenario asks for the mission, be it that the time for it has not come."""
        events = self._core["scenario"]["events"][0, : int(self._core["scenario"]["count"][0])]
        return int(self.bus.scenario.mission) > 0 or bool((events["action"] == START_MISSION).any())

    @property
    def plant(self) -> PlantView:
        """The true state, read-only; it follows the run."""
        return self._inputs.plant

    @property
    def bus(self) -> Any:
        """The bus, read-only; it follows the run."""
        return self._inputs.bus

    @property
    def core(self) -> Any:
        """All records of the simulation, a `SIM`, read-only; it follows the run."""
        return locked(self._core)[0]

    @property
    def room(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that the loop writes to, by name, with room for the whole run; read-only."""
        return {name: locked(array) for name, array in self._data.items()}

    @property
    def log(self) -> npt.NDArray[Any]:
        """The rows of the log so far: time, bus and held inputs; read-only."""
        return locked(self._data_so_far("log"))

    @property
    def log_state(self) -> npt.NDArray[np.float64]:
        """The plant state of each row of the log, rows × states; read-only."""
        return locked(self._data_so_far("log_state"))

    @property
    def log_sensors(self) -> npt.NDArray[Any] | None:
        """What the sensors reported at each row of the log, `SENSOR_OUT` records; read-only. None without sensors."""
        return None if self._sensors is None else locked(self._data_so_far("log_sensors"))

    @property
    def streams(self) -> Streams:
        """What a replay needs, so far; read-only, and it follows the run.

        Raises:
            StateError: If the run does not record.
        """
        if not self._core["modes"]["is_recording"][0]:
            raise StateError("this run keeps no streams; make the simulation with record=True")
        streams = {name: locked(self._data_so_far(name)) for name in STREAMS}
        covered = self.boundary
        if self.is_crashed:  # nothing more is read of them, but a replay has the timeline's full length
            covered = len(self.timeline)
            streams |= {name: locked(self._data[name]) for name in ("commands", "winds")}
        streams["scenario_at"] = np.append(streams["scenario_at"], covered)
        gusts = self._core["gusts"].copy()
        return Streams(time_us=self.timeline.time_us, due=self.timeline.due, gusts=gusts, **streams)

    def release_streams(self) -> None:
        """Give the memory of the streams back, once they are in a file; the run then counts as one without a recording.

        Raises:
            StateError: If the run has not ended.
        """
        if not self.is_done:
            raise StateError("a run that has not ended needs its streams")
        self._core["modes"]["is_recording"] = 0
        self._checkpoints, self._n_checkpoints = np.zeros(0, CHECKPOINT), 0
        self._write_to({name: self._data[name][:0].copy() for name in (*STREAMS, "fingerprints")})

    @property
    def initial_state(self) -> npt.NDArray[np.float64]:
        """The state of the plant before the first boundary."""
        return self._initial_state.copy()

    @property
    def checkpoints(self) -> npt.NDArray[Any]:
        """The state of all records every `CHECKPOINT_US`: see `checkpoints`.

        A run keeps them if it records and no Python is in its loop: they don't hold the state of users' objects.
        """
        return locked(self._checkpoints[: self._n_checkpoints])

    @property
    def sensor_checkpoints(self) -> npt.NDArray[Any] | None:
        """The state of the sensors at each checkpoint; None without sensors."""
        return None if self._sensors is None else self._sensors.kept(self._n_checkpoints)

    @property
    def fingerprints(self) -> npt.NDArray[np.uint8]:
        """The fingerprint of the state that the plant reached each boundary with, boundaries × states.

        Those of the first boundary are zero, and there are none unless the run records.
        """
        return locked(self._data_so_far("fingerprints"))

    @property
    def statistics(self) -> Statistics:
        """What the run has cost so far."""
        return statistics_of(self._core[0], self._python_calls, self._wall_s, self._slowest)

    def digest(self) -> str:
        """Return the digest of the flight so far: see `digest`."""
        end = pack_flight(self.time_us, self._core["state"]["x"][:, : self._n_x], self._core["inputs"])
        return flight_digest(self.log, self.log_state, end)

    def live_digest(self) -> str:
        """Return the digest of what only a live run has: the estimate and the autopilot's setpoints."""
        return live_digest(self.log, pack_live(self.time_us, self._core["bus"]))

    # -- snapshots -----------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Copy everything: records, log and streams so far, and the users' objects.

        Raises:
            StateError: If the run has failed, or real PX4 flies, whose state is in its library.
        """
        self.autopilot.check_copyable("copied")
        if self._failed is not None:
            raise StateError("a run that failed can't be copied; go back to a snapshot from before")
        return self.copied()

    def copied(self) -> Snapshot:
        """Copy everything but what an autopilot keeps outside its record: for a copy of this process, which has it."""
        return Snapshot(
            schema_version=BUS_SCHEMA_VERSION,
            time_us=self.timeline.time_us,
            due=self.timeline.due,
            state=state_of(self._core),
            records=self._core.copy(),
            arrays={name: self._data_so_far(name).copy() for name in self._data},
            objects=save_objects(self._user_objects()),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Go back (or on) to a snapshot, of this simulation or of one that was made alike.

        Raises:
            InputError: If the snapshot is of another version, timeline, plant, integrator or set of objects. Nothing
                has changed then.
        """
        self.autopilot.check_copyable("put back")
        if snapshot.schema_version != BUS_SCHEMA_VERSION:
            raise InputError(f"the snapshot has schema version {snapshot.schema_version}, not {BUS_SCHEMA_VERSION}")
        is_same_time = np.array_equal(snapshot.time_us, self.timeline.time_us)
        if not is_same_time or not np.array_equal(snapshot.due, self.timeline.due):
            raise InputError("the snapshot is of a simulation with another timeline")
        objects = self._user_objects()
        if snapshot.objects.keys() != objects.keys():
            raise InputError(f"the snapshot has the objects {list(snapshot.objects)}, this simulation {list(objects)}")
        other = None if snapshot.records is None else difference(self._core, snapshot.records)
        if other is not None:
            raise InputError(f"the snapshot is of a simulation with another {other}")
        check_same_sensors(self._data["sensors"], snapshot.arrays.get("sensors"))
        core = self._core.copy()
        put_state(core, snapshot.state)
        self._take(core, snapshot)

    def continue_from(self, snapshot: Snapshot, start: Snapshot) -> None:
        """Resume, before the first boundary, a snapshot of a simulation with a different configuration.

        Args:
            snapshot: Where that simulation had come to.
            start: A snapshot of it before its first boundary.

        Raises:
            InputError: If it can't be resumed with this configuration: see `checkpoints`.
            StateError: If this simulation has run, or has users' objects, whose past is not in a snapshot.
        """
        if self.boundary or self._user_objects() or snapshot.objects:
            raise StateError("only a new simulation without Python in its loop can go on from another's snapshot")
        check_past(self.timeline, snapshot)
        assert start.records is not None
        at_us = int(self.timeline.time_us[int(snapshot.state["cursor"]["k"][0])])
        core = branched(start.records, snapshot.state, self._core, at_us)
        name = self.autopilot.record
        if name is not None and snapshot.records is not None:
            self.autopilot.resume(snapshot.records[name], core[name], self._core[name])
        self._take(core, snapshot)
        if name is not None and not self._keeps_checkpoints and self._core["modes"]["is_recording"][0]:
            # Not to resume, which takes the autopilot, but to replay from: what came before had another configuration.
            self._checkpoints, self._n_checkpoints = state_of(self._core), 1

    def _take(self, core: npt.NDArray[Any], snapshot: Snapshot) -> None:
        """Take over records, and the arrays and objects of a snapshot."""
        self._core[:] = core
        if len(snapshot.arrays["scenarios"]) > len(self._data["scenarios"]):
            self._make_room(len(snapshot.arrays["scenarios"]))
        take_sensors(self._data["sensors"], snapshot.arrays.get("sensors"))
        for name, array in snapshot.arrays.items():
            if name == "sensors":
                continue
            rows = min(len(array), len(self._data[name]))  # one that does not record has no room for streams
            self._data[name][:rows] = array[:rows]
        load_objects(self._user_objects(), snapshot.objects)
        for handler in self._handlers.values():
            if isinstance(handler, NotingChanges):
                handler.forget()
        while self._n_checkpoints and self._boundary_of(self._n_checkpoints - 1) > self.boundary:
            self._n_checkpoints -= 1
        self._failed = None
        self._raised_in_plant = None

    def _data_so_far(self, name: str) -> npt.NDArray[Any]:
        cursor = self._core["cursor"][0]
        lengths = {
            "log": cursor["log_rows"],
            "log_state": cursor["log_rows"],
            "logged": 1,
            "commands": cursor["autopilot_ticks"],
            "winds": cursor["wind_ticks"],
            "scenarios": cursor["scenario_rows"],
            "scenario_at": cursor["scenario_rows"],
            "sensors": 1,
            "log_sensors": cursor["log_rows"],
            "fingerprints": cursor["k"] + 1,  # those of the boundary to go on at are known
        }
        return self._data[name][: int(lengths[name])]

    def _user_objects(self) -> dict[str, Any]:
        modes = self._core["modes"]
        sources = {
            name: self._sources[name] for name in self._sources if modes[name][0] in (PYTHON, PYTHON_WITH_STATUS)
        }
        if isinstance(self._sources["scenario"], Scenario):
            sources |= self._sources["scenario"].python_objects()
        return sources | {f"hook {i}": hook for i, hook in enumerate(self._hooks)}
