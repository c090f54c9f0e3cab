"""Read access to a simulation: its position, log, streams and digests."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.buffers import Buffers
from px4lockstep.engine.command_stage import CommandStage
from px4lockstep.engine.core import NATIVE, OFF, PYTHON_WITH_STATUS
from px4lockstep.engine.digest import flight_digest, live_digest, pack_flight, pack_live
from px4lockstep.engine.given_commands import GivenCommands
from px4lockstep.engine.log_layout import RowLayout
from px4lockstep.engine.protocols import PlantView, StageInputs
from px4lockstep.engine.sensor_stage import SensorStage
from px4lockstep.engine.streams import BOUNDARY, BY_NAME, CHANGE, KEPT, REPLAYED, STREAMS, Streams
from px4lockstep.errors import StateError
from px4lockstep.jit.records import locked
from px4lockstep.scenario.actions import FAULTLESS, START_MISSION
from px4lockstep.scenario.landing import CRASH_LIES

CURSORS = {
    "log": "log_rows",
    "autopilot": "autopilot_ticks",
    "wind": "wind_ticks",
    CHANGE: "scenario_rows",
    BOUNDARY: "k",
}
"""The field of the loop's cursor that counts the rows of a stream, by what it has a row for."""


class RunResults:
    """The part of a simulation that gives read-only access to its records and arrays."""

    _core: npt.NDArray[Any]
    _plain: Any  # the same memory, faster by field
    _buffers: Buffers
    _row_layout: RowLayout
    _inputs: StageInputs
    _sensors: SensorStage | None
    _initial_state: npt.NDArray[np.float64]
    _n_x: int
    _commands: CommandStage
    _position: Sequence[int]  # memoryviews of two fields: reading one takes 50 ns, indexing the records 500 ns
    _crashed: Sequence[int]
    _n_checkpoints: int
    _is_resumed: bool

    @property
    def boundary(self) -> int:
        """The index of the next boundary."""
        return self._position[0]

    @property
    def time_us(self) -> int:
        """The time of the next boundary, or of the last one when the run is over."""
        return int(self._buffers.time_us[self.boundary - 1 if self.is_done else self.boundary])

    @property
    def is_crashed(self) -> bool:
        """Whether a crash has ended the run; the last row of the log is the crash."""
        return self._crashed[0] not in (0, CRASH_LIES)

    @property
    def is_done(self) -> bool:
        """Whether the run is over: it reached its end, fixed or requested, or a crash ended it."""
        return self.is_crashed or (self._buffers.is_complete and self._position[0] == len(self._buffers.time_us))

    @property
    def is_recording(self) -> bool:
        """Whether the run records the streams for a replay."""
        return bool(self._plain["modes"]["is_recording"])

    @property
    def reports_mission(self) -> bool:
        """Whether mission progress is known; a Python autopilot without a status does not report it."""
        return int(self._plain["modes"]["autopilot"]) in (NATIVE, PYTHON_WITH_STATUS, OFF)

    @property
    def asks_for_mission(self) -> bool:
        """Whether the scenario starts the mission, even if the event has not fired yet."""
        return int(self._plain["bus"]["scenario"]["mission"]) > 0 or START_MISSION in self._actions

    @property
    def may_have_faults(self) -> bool:
        """Whether anything may have set a fault of the plant, a sensor or the estimate.

        False if a `Scenario` ran from the first boundary, none of its events could, and no command was given.
        """
        is_whole = int(self._plain["modes"]["scenario"]) == NATIVE and not self._is_resumed
        if not is_whole or self._commands.given or not self.plant.traits["is_vehicle"]:
            return True
        return any(action not in FAULTLESS for action in self._actions)

    @property
    def _actions(self) -> list[int]:
        """The actions of all events of the scenario."""
        scenario = self._plain["scenario"]
        actions: list[int] = scenario["events"]["action"][: int(scenario["count"])].tolist()
        return actions

    @property
    def asks_for_setpoints(self) -> bool:
        """Whether the flight has setpoints, even if none was due yet."""
        return int(self._plain["modes"]["setpoints"]) != OFF or len(self._buffers.arrays["setpoints"]) > 0

    @property
    def setpoint_given(self) -> npt.NDArray[Any]:
        """The autopilot's current `SETPOINT_IN` record, in a length-1 array; in a replay, that of the recording."""
        given, ticks = self._buffers.arrays["setpoints"], int(self._plain["cursor"]["autopilot_ticks"])
        found: npt.NDArray[Any] = given[ticks - 1 : ticks] if len(given) >= ticks > 0 else self._core["setpoint"]
        return found

    @property
    def given_commands(self) -> GivenCommands:
        """The commands from outside up to now, with their results; it follows the run."""
        return self._commands.given

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
    def records(self) -> npt.NDArray[Any]:
        """All records in a length-1 array, which methods of the autopilot's session read; do not change them."""
        return self._core

    @property
    def buffers(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that the loop writes to, by stream name, including rows not written yet; read-only."""
        return {name: locked(array) for name, array in self._buffers.arrays.items()}

    @property
    def log(self) -> npt.NDArray[Any]:
        """The rows of the log written up to now: time, bus and held inputs (see `log_layout`); read-only."""
        return locked(self._row_layout.rows(self._so_far("log")))

    @property
    def log_state(self) -> npt.NDArray[np.float64]:
        """The plant state of each row of the log, rows × states; read-only."""
        return locked(self._so_far("log_state"))

    @property
    def log_sensors(self) -> npt.NDArray[Any] | None:
        """The sensor outputs of each row of the log, `SENSOR_OUT` records; read-only. None without sensors."""
        return None if self._sensors is None else locked(self._so_far("log_sensors"))

    @property
    def streams(self) -> Streams:
        """The streams recorded up to now, for a replay; read-only.

        Raises:
            StateError: If the run is not recorded.
        """
        if not self._core["modes"]["is_recording"][0]:
            raise StateError("this run is not recorded and has no streams; create the simulation with record=True")
        streams = {stream.name: locked(self._so_far(stream.name)) for stream in REPLAYED}
        streams["scenario_at"] = np.append(streams["scenario_at"], self.boundary)
        known = self.boundary if self.is_done else len(self._buffers)
        time_us, due = self._buffers.time_us[:known], self._buffers.due[:known]
        return Streams(time_us=time_us, due=due, gusts=self._core["gusts"].copy(), **streams)

    @property
    def initial_state(self) -> npt.NDArray[np.float64]:
        """The state of the plant before the first boundary."""
        return self._initial_state.copy()

    @property
    def checkpoints(self) -> npt.NDArray[Any]:
        """The state of all records every `CHECKPOINT_US`: see `checkpoints`.

        Only a recorded run without Python in its loop has them, since they do not contain the state of users' objects.
        """
        return locked(self._so_far("checkpoints"))

    @property
    def sensor_checkpoints(self) -> npt.NDArray[Any] | None:
        """The state of the sensors at each checkpoint; None without sensors."""
        return None if self._sensors is None else self._sensors.kept(self._n_checkpoints)

    @property
    def fingerprints(self) -> npt.NDArray[np.uint8]:
        """The state fingerprints, boundaries × states: the state with which the plant reached each boundary.

        The first row is zero. A run that is not recorded has none.
        """
        return locked(self._so_far("fingerprints"))

    def digest(self) -> str:
        """Return the digest of the flight up to now: see `digest`."""
        end = pack_flight(self.time_us, self._core["state"]["x"][:, : self._n_x], self._core["inputs"])
        return flight_digest(self.log, self.log_state, end)

    def live_digest(self) -> str:
        """Return the digest of the data that only a live run has: the estimate and the autopilot's setpoints."""
        return live_digest(self.log, pack_live(self.time_us, self._core["bus"]))

    def _used(self) -> dict[str, int]:
        """Return the number of rows written, by stream."""
        return {stream.name: self._rows_of(stream.per) for stream in STREAMS}

    def _rows_of(self, per: str) -> int:
        """Return the number of rows written to streams with a row per log row, tick and so on."""
        if per == KEPT:
            return self._n_checkpoints
        rows = int(self._plain["cursor"][CURSORS[per]])
        return rows + (not self.is_done) if per == BOUNDARY else rows  # the next boundary already has its fingerprint

    def _so_far(self, name: str) -> npt.NDArray[Any]:
        return self._buffers.arrays[name][: self._rows_of(BY_NAME[name].per)]
