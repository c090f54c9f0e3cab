"""A recording: a flight, complete enough to be replayed without its autopilot."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.bus import BUS_SCHEMA_VERSION
from px4lockstep.engine.digest import flight_digest, live_digest, pack_live
from px4lockstep.engine.run_memory import COPIED
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.snapshot import Snapshot
from px4lockstep.engine.streams import BOUNDARY, BY_NAME, CHANGE, Streams
from px4lockstep.errors import InputError, SimulationError, StateError
from px4lockstep.reprs import ShortRepr


@dataclass(frozen=True)
class FlightSource:
    """The source of a flight: resolved spec and mission, autopilot, seed, and versions by package name.

    `mission_name` is the file name of the mission in the spec; `autopilot` is its kind and version.
    """

    spec: str
    mission: str | None = None
    mission_name: str | None = None
    autopilot: str = ""
    seed: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Recording(ShortRepr):
    """A flight that has ended: its source, the inputs of the plant, and the plant's response.

    Args:
        source: Source of the flight.
        integrator: Kind of integrator that flew it.
        streams: Inputs of the plant on the timeline: commands, wind, scenario, gusts; the estimate, if it was recorded.
        state_names: Names of the plant's states: `pos[0]`, `rotor[3]`.
        initial_state: Initial state of the plant.
        log: Rows of the log: time, bus and held inputs.
        log_state: Plant state of each row.
        checkpoints: State of the whole simulation every few seconds (see `engine.checkpoints`), in the layout that it
            was recorded with; empty if Python objects were in the loop, since they are not stored.
        fingerprints: Lowest byte of each state at each boundary: see `engine.fingerprints`.
        digest: Digest of the flight.
        live_digest: Digest of the estimate and the autopilot's setpoints.
        log_sensors: Sensor outputs at each row of the log, if sensors were in use.
        sensor_checkpoints: State of the sensors at each checkpoint; empty without sensors.
        commands: Commands from outside, as the text of `commands.jsonl`; empty without any.
        name: Name in error messages: the file, if it was read from one.
    """

    source: FlightSource
    integrator: str
    streams: Streams
    state_names: tuple[str, ...]
    initial_state: npt.NDArray[np.float64]
    log: npt.NDArray[Any]
    log_state: npt.NDArray[np.float64]
    checkpoints: npt.NDArray[Any]
    fingerprints: npt.NDArray[np.uint8]
    digest: str
    live_digest: str
    log_sensors: npt.NDArray[Any] | None = None
    sensor_checkpoints: npt.NDArray[Any] | None = None
    commands: str = ""
    name: str = "the recording"

    @classmethod
    def of(cls, simulation: Simulation, source: FlightSource) -> "Recording":
        """Return the recording of a run, by reference to its arrays.

        Raises:
            StateError: If the run was not recorded, or has not ended.
        """
        if not simulation.is_done:
            raise StateError("a flight has no recording before its end; fly it to the end first")
        same = ("streams", "initial_state", "log", "log_state", "log_sensors", "checkpoints", "fingerprints")
        return cls(
            source,
            integrator=simulation.integrator.kind,
            state_names=simulation.plant.names,
            digest=simulation.digest(),
            live_digest=simulation.live_digest(),
            commands=simulation.given_commands.text,
            **{name: getattr(simulation, name) for name in (*same, "sensor_checkpoints")},
        )

    @property
    def starts_us(self) -> int:
        """Time from which it can be replayed: its start, or for a branch the time at which it left its trunk."""
        return self._time_of(0) if len(self.checkpoints) else int(self.streams.time_us[0])

    def snapshot_before(self, time_us: int) -> Snapshot:
        """Return the last checkpoint at or before a time.

        Raises:
            InputError: If there is none.
        """
        if not len(self.checkpoints):
            raise InputError(
                "this recording has no checkpoints to start from: it was written by an older version, or Python was in "
                "its loop. Fly a new run"
            )
        if time_us < self.starts_us:
            raise InputError(
                f"this recording is a branch that starts at {self.starts_us} us; {time_us} us is before. Use its trunk"
            )
        index = max(i for i in range(len(self.checkpoints)) if self._time_of(i) <= time_us)
        state = self.checkpoints[index : index + 1]
        cursor, streams = state["cursor"][0], self.streams
        rows = {
            "autopilot": int(cursor["autopilot_ticks"]),
            "wind": int(cursor["wind_ticks"]),
            "log": int(cursor["log_rows"]),
            CHANGE: int(cursor["scenario_rows"]),
            BOUNDARY: int(cursor["k"]) + 1,
        }
        arrays = {name: array_of(self, name)[: rows[BY_NAME[name].per]] for name in COPIED if BY_NAME[name].path}
        if self.log_sensors is not None and self.sensor_checkpoints is not None:
            kept = self.sensor_checkpoints[index : index + 1]
            arrays |= {"log_sensors": self.log_sensors[: rows["log"]], "sensors": kept}
        return Snapshot(BUS_SCHEMA_VERSION, streams.time_us, streams.due, state, None, arrays, objects={})

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """Add the recording's name and version to errors of a flight that continues from it unchanged."""
        version = self.source.versions.get("px4lockstep", "?")
        try:
            yield
        except (InputError, SimulationError) as error:
            kind = InputError if isinstance(error, InputError) else SimulationError
            told = f"{self.name} can't be reproduced: {error}"
            raise kind(f"{told}. It was recorded with px4lockstep {version}; use that version") from error

    def _time_of(self, index: int) -> int:
        return int(self.streams.time_us[int(self.checkpoints["cursor"]["k"][index])])

    def check_digests(self) -> None:
        """Check that the log has the stored digests.

        Raises:
            InputError: If it does not.
        """
        end = pack_live(self.log["time_us"][-1:], self.log["bus"][-1:])
        for name, said, found in (
            ("digest", self.digest, flight_digest(self.log, self.log_state)),
            ("live_digest", self.live_digest, live_digest(self.log, end)),
        ):
            if found != said:
                raise InputError(f"its log has the {name} {found}, but the stored {name} is {said}")


def array_of(recording: Recording, name: str) -> npt.NDArray[Any]:
    """Return the array of a stream."""
    array: npt.NDArray[Any] = getattr(recording.streams if hasattr(recording.streams, name) else recording, name)
    return array
