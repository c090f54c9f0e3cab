"""A simulation: the records, the arrays and the user's objects, and the loop that is called on them."""

import functools
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine import loop
from px4lockstep.engine.bus import BUS_SCHEMA_VERSION
from px4lockstep.engine.core import LOG_ROW, NATIVE, OFF, PYTHON, REPLAY, SIM, STREAMS, Arrays
from px4lockstep.engine.digest import digest_of, pack_estimate, pack_flight
from px4lockstep.engine.failure import failure_of
from px4lockstep.engine.protocols import NativeSource, PlantView, Source, StageInputs, TelemetryHook
from px4lockstep.engine.snapshot import Snapshot, load_object, save_object
from px4lockstep.engine.timeline import AXIS_BITS, Periodic, Timeline
from px4lockstep.engine.validator import LEVELS
from px4lockstep.errors import InputError
from px4lockstep.integrators.solver import Integrator
from px4lockstep.jit import rows, specialize, view
from px4lockstep.plants.models import PlantModel, write_plant

BOUNDARIES_PER_CALL = 20_000
"""Tens of milliseconds of work: after each, an interrupt from the keyboard is seen."""


@functools.cache
def _compiled_loop() -> Callable[..., int]:
    """Compile the loop, or load it; the types of its arrays are the same for every simulation."""
    boundaries = Timeline(1, physics=Periodic(1))
    examples = {"log": np.zeros(0, LOG_ROW), "log_state": np.zeros((0, 0))}
    examples |= {name: np.zeros(0, dtype) for name, dtype in STREAMS.items()}
    arrays = Arrays(core=np.zeros(1, SIM), time_us=boundaries.time_us, due=boundaries.due, **examples)
    return specialize(loop.advance, arrays, 0)


@dataclass(frozen=True)
class Streams:
    """What a replay needs of a run, in memory."""

    commands: npt.NDArray[Any]
    winds: npt.NDArray[Any]
    scenarios: npt.NDArray[Any]


@dataclass(frozen=True)
class Statistics:
    """What a run has cost so far."""

    boundaries: int
    autopilot_ticks: int
    wind_ticks: int
    log_rows: int
    evaluations: int
    accepted_steps: int
    rejected_steps: int
    forced_steps: int
    projected_states: int
    clamped_commands: int
    python_calls: int
    wall_s: float


class Simulation:
    """One run of a plant through the loop.

    Args:
        plant: What is integrated; None runs the stages alone.
        timeline: The boundaries.
        integrator: How the plant is integrated.
        scenario: Its source, or None for off. A native source runs compiled, any other object by its `step` method.
        wind: Likewise.
        estimator: Likewise.
        autopilot: Likewise.
        hooks: Telemetry hooks, called in this order.
        hook_axes: The axes that hooks run on.
        replay: Streams of an earlier run, which take the place of scenario, wind and autopilot.
        record: Whether to keep the streams for a replay. A command out of range is then an error.
        validate: `off`, `cheap` or `paranoid`: see `validator`.

    Raises:
        InputError: If anything does not fit, before the first boundary.
    """

    def __init__(
        self,
        plant: PlantModel | None,
        timeline: Timeline,
        *,
        integrator: Integrator | None = None,
        scenario: Source | NativeSource | None = None,
        wind: Source | NativeSource | None = None,
        estimator: Source | NativeSource | None = None,
        autopilot: Source | NativeSource | None = None,
        hooks: Sequence[TelemetryHook] = (),
        hook_axes: Sequence[str] = ("log",),
        replay: Streams | None = None,
        record: bool = False,
        validate: str = "cheap",
    ) -> None:
        if validate not in LEVELS:
            raise InputError(f"validate = {validate!r} is unknown; allowed are {', '.join(LEVELS)}")
        self.timeline = timeline
        self.integrator = integrator or Integrator()
        self._sources = {"scenario": scenario, "wind": wind, "estimator": estimator, "autopilot": autopilot}
        self._hooks = tuple(hooks)
        self._thread = threading.get_ident()
        self._failed: Exception | None = None
        self._python_calls = 0
        self._wall_s = 0.0

        self._core = np.zeros(1, SIM)
        sim = self._core[0]
        if plant is not None:
            write_plant(plant, sim["plant"], sim["state"]["x"])
            sim["modes"]["plant"] = NATIVE
            sim["modes"]["outputs"] = NATIVE
        self.integrator.write(sim["solver"])
        sim["validator"]["level"] = LEVELS[validate]
        sim["validator"]["last_time_us"] = -1
        sim["validator"]["last_autopilot_us"] = -1
        sim["modes"]["is_recording"] = record
        sim["modes"]["is_strict"] = record

        self._n_x = int(sim["plant"]["n_x"])
        self._inputs = StageInputs(
            bus=view(self._core["bus"], writable=False),
            plant=PlantView(sim["state"]["x"], sim["plant"]),
            held=view(self._core["inputs"], writable=False),
        )
        self._handlers: dict[int, Callable[[], None]] = {}
        self._set_stages(replay)
        self._set_hooks(hook_axes)
        self._allocate(replay, record)

    # -- building ------------------------------------------------------------------------------------------------

    def _set_stages(self, replay: Streams | None) -> None:
        written_by = {"scenario": "scenario", "wind": "wind", "estimator": "estimate", "autopilot": "command"}
        for name, source in self._sources.items():
            if replay is not None and name != "estimator":
                if source is not None:
                    raise InputError(f"{name} is given and would be replayed too; leave one out")
                mode = REPLAY
            elif source is None:
                mode = OFF
            elif isinstance(source, NativeSource):
                source.write_native(self._core)
                mode = NATIVE
            elif isinstance(source, Source):
                mode = PYTHON
                outputs = view(self._core["bus"][written_by[name]], writable=True)
                self._handlers[loop.STAGE_NAMES.index(name)] = self._handler(source, outputs)
            else:
                raise InputError(
                    f"{name} = {source!r} has no method step(time_us, inputs, outputs); see engine/protocols.py"
                )
            self._core["modes"][name] = mode

    def _set_hooks(self, axes: Sequence[str]) -> None:
        unknown = [axis for axis in axes if axis not in AXIS_BITS]
        if unknown:
            raise InputError(f"hook_axes {unknown} are unknown; allowed are {', '.join(AXIS_BITS)}")
        for hook in self._hooks:
            if not isinstance(hook, TelemetryHook):
                raise InputError(f"hook {hook!r} has no method step(time_us, inputs)")
        if not self._hooks:
            return
        self._core["modes"]["telemetry"] = PYTHON
        for axis in axes:
            self._core["modes"]["telemetry_axes"] |= AXIS_BITS[axis]
        bus_time_us = self._core["bus"]["time_us"].data

        def call() -> None:
            for hook in self._hooks:
                hook.step(bus_time_us[0], self._inputs)

        self._handlers[loop.TELEMETRY] = call

    def _handler(self, source: Source, outputs: Any) -> Callable[[], None]:
        step = source.step
        inputs = self._inputs
        bus_time_us = self._core["bus"]["time_us"].data

        def call() -> None:
            step(bus_time_us[0], inputs, outputs)

        return call

    def _allocate(self, replay: Streams | None, record: bool) -> None:
        timeline = self.timeline
        counts = {"commands": timeline.count("autopilot"), "winds": timeline.count("wind"), "scenarios": len(timeline)}
        self._data: dict[str, npt.NDArray[Any]] = {
            "log": np.zeros(timeline.count("log"), LOG_ROW),
            "log_state": np.zeros((timeline.count("log"), self._n_x)),
        }
        for name, dtype in STREAMS.items():
            if replay is None:
                self._data[name] = np.zeros(counts[name] if record else 0, dtype)
                continue
            stream = getattr(replay, name)
            if stream.dtype != dtype:
                raise InputError(f"replay stream {name!r} has another layout than this version's")
            if len(stream) != counts[name]:
                raise InputError(
                    f"replay stream {name!r} has {len(stream)} rows; the timeline needs {counts[name]}. "
                    "Replay with the timeline of the recording"
                )
            self._data[name] = stream.copy()
        self._arrays = Arrays(
            core=rows(self._core),
            time_us=rows(timeline.time_us),
            due=rows(timeline.due),
            **{name: rows(array) for name, array in self._data.items()},
        )
        self._loop = _compiled_loop()

    # -- running -------------------------------------------------------------------------------------------------

    def run(self, until_us: int | None = None) -> "Simulation":
        """Run to the end, or up to the first boundary at or after `until_us`, whose stages have then not run yet.

        Raises:
            SimulationError: If the run can't go on; the log up to then is intact. It is raised again if called again.
        """
        stop = len(self.timeline) if until_us is None else self.timeline.index_at(until_us)
        while self.boundary < stop:
            self._advance(min(self.boundary + BOUNDARIES_PER_CALL, stop))
        return self

    def _advance(self, k_stop: int) -> None:
        if threading.get_ident() != self._thread:
            raise InputError("a simulation runs in the thread that made it; make one in each thread or process")
        if self._failed is not None:
            raise self._failed
        start_s = time.perf_counter()
        advance, arrays, handlers = self._loop, self._arrays, self._handlers
        stage = advance(arrays, k_stop)
        while stage >= 0:
            self._python_calls += 1
            try:
                handlers[stage]()
            except Exception as error:
                error.add_note(f"raised by the {loop.STAGE_NAMES[stage]} at t = {self.time_us / 1e6:.6f} s")
                self._failed = error
                raise
            stage = advance(arrays, k_stop)
        self._wall_s += time.perf_counter() - start_s
        if stage == loop.FAILED:
            self._failed = failure_of(self._core[0], self.integrator.kind)
            raise self._failed

    # -- looking -------------------------------------------------------------------------------------------------

    @property
    def boundary(self) -> int:
        """The index of the next boundary."""
        return int(self._core["cursor"]["k"][0])

    @property
    def time_us(self) -> int:
        """The time of the next boundary, or of the last one when the run is over."""
        return int(self.timeline.time_us[min(self.boundary, len(self.timeline) - 1)])

    @property
    def is_done(self) -> bool:
        """Whether the end boundary has run."""
        return self.boundary == len(self.timeline)

    @property
    def plant(self) -> PlantView:
        """The true state, read-only; it follows the run."""
        return self._inputs.plant

    @property
    def bus(self) -> Any:
        """The bus, read-only; it follows the run."""
        return self._inputs.bus

    @property
    def log(self) -> npt.NDArray[Any]:
        """The rows of the log so far: time, bus and held inputs."""
        return self._data["log"][: int(self._core["cursor"]["log_rows"][0])]

    @property
    def log_state(self) -> npt.NDArray[np.float64]:
        """The plant state of each row of the log, rows × states."""
        return self._data["log_state"][: int(self._core["cursor"]["log_rows"][0])]

    @property
    def streams(self) -> Streams:
        """What a replay needs, so far.

        Raises:
            InputError: If the run does not record.
        """
        if not self._core["modes"]["is_recording"][0]:
            raise InputError("this run keeps no streams; make the simulation with record=True")
        return Streams(**self._data_so_far(tuple(STREAMS)))

    @property
    def probe_trace(self) -> list[tuple[int, int]]:
        """What order probes wrote down: pairs of their own marker and the one they saw."""
        probe = self._core["probe"][0]
        count = int(probe["count"])
        return list(zip(probe["marker"][:count].tolist(), probe["seen"][:count].tolist(), strict=True))

    @property
    def statistics(self) -> Statistics:
        """What the run has cost so far."""
        sim = self._core[0]
        cursor, solver = sim["cursor"], sim["solver"]
        return Statistics(
            boundaries=int(cursor["k"]),
            autopilot_ticks=int(cursor["autopilot_ticks"]),
            wind_ticks=int(cursor["wind_ticks"]),
            log_rows=int(cursor["log_rows"]),
            evaluations=int(solver["evaluations"]),
            accepted_steps=int(solver["accepted"]),
            rejected_steps=int(solver["rejected"]),
            forced_steps=int(solver["forced"]),
            projected_states=int(solver["projected"]),
            clamped_commands=int(sim["validator"]["clamped_commands"]),
            python_calls=self._python_calls,
            wall_s=self._wall_s,
        )

    def digest(self) -> str:
        """Return the digest of the flight so far: see `digest`."""
        end = pack_flight(self.time_us, self._core["state"]["x"][:, : self._n_x], self._core["inputs"])
        return digest_of(pack_flight(self.log["time_us"], self.log_state, self.log["inputs"]), end)

    def live_digest(self) -> str:
        """Return the digest of what only a live run has: the estimate."""
        end = pack_estimate(self.time_us, self._core["bus"]["estimate"])
        return digest_of(pack_estimate(self.log["time_us"], self.log["bus"]["estimate"]), end)

    # -- snapshots -----------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Copy everything: records, log and streams so far, and the users' objects."""
        return Snapshot(
            schema_version=BUS_SCHEMA_VERSION,
            time_us=self.timeline.time_us,
            core=self._core.copy(),
            arrays={name: array.copy() for name, array in self._data_so_far(tuple(self._data)).items()},
            objects={name: save_object(item) for name, item in self._user_objects()},
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Go back (or on) to a snapshot, of this simulation or of one that was made alike.

        Raises:
            InputError: If the snapshot is of another timeline, plant or set of objects.
        """
        objects = dict(self._user_objects())
        if not np.array_equal(snapshot.time_us, self.timeline.time_us):
            raise InputError("the snapshot is of a simulation with another timeline")
        theirs, ours = snapshot.core["plant"][0], self._core["plant"][0]
        if (theirs["kind"], theirs["n_x"]) != (ours["kind"], ours["n_x"]) or snapshot.objects.keys() != objects.keys():
            raise InputError("the snapshot is of a simulation with another plant or other sources")
        user = ours["user"].copy()  # addresses are this process's
        self._core[:] = snapshot.core
        self._core["plant"]["user"][0] = user
        for name, array in snapshot.arrays.items():
            self._data[name][: len(array)] = array
        for name, item in objects.items():
            load_object(item, snapshot.objects[name])
        self._failed = None

    def _data_so_far(self, names: tuple[str, ...]) -> dict[str, npt.NDArray[Any]]:
        cursor = self._core["cursor"][0]
        lengths = {
            "log": cursor["log_rows"],
            "log_state": cursor["log_rows"],
            "commands": cursor["autopilot_ticks"],
            "winds": cursor["wind_ticks"],
            "scenarios": cursor["k"],
        }
        return {name: self._data[name][: int(lengths[name])] for name in names}

    def _user_objects(self) -> list[tuple[str, Any]]:
        sources = [(name, s) for name, s in self._sources.items() if s is not None and not isinstance(s, NativeSource)]
        return [*sources, *((f"hook {i}", hook) for i, hook in enumerate(self._hooks))]
