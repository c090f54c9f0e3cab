"""The memory of a simulation: its buffers, checkpoints and snapshots."""

from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.base import Session
from px4lockstep.engine.buffers import Grow
from px4lockstep.engine.bus import BUS_SCHEMA_VERSION
from px4lockstep.engine.checkpoints import branched, difference, put_state, rewind_table, state_of
from px4lockstep.engine.core import OFF, PYTHON, PYTHON_WITH_STATUS, Arrays
from px4lockstep.engine.log_layout import words_of
from px4lockstep.engine.run_results import RunResults
from px4lockstep.engine.scenario_stage import NotingChanges, params_set
from px4lockstep.engine.sensor_stage import check_same_sensors, take_sensors
from px4lockstep.engine.sink_feed import SinkFeed
from px4lockstep.engine.snapshot import Snapshot, load_objects, save_objects
from px4lockstep.engine.stages import Handlers
from px4lockstep.engine.streams import CHANGE, KEPT, STREAMS
from px4lockstep.engine.timeline import Timeline
from px4lockstep.errors import InputError, StateError
from px4lockstep.jit import rows
from px4lockstep.scenario.scenario import Scenario, owner_of
from px4lockstep.sensors.suite import no_sensors

CHECKPOINT_US = 10_000_000
"""Interval between the checkpoints of a recorded run, from which branches start."""

IN_LOOP = tuple(stream.name for stream in STREAMS if stream.is_in_loop)
"""The streams that the loop uses."""
COPIED = tuple(stream.name for stream in STREAMS if stream.name not in ("time_us", "due", "checkpoints"))
"""The streams that a snapshot contains."""


class RunMemory(RunResults):
    """The part of a simulation that stores its history and restores it."""

    timeline: Timeline
    autopilot: Session
    _autopilot_record: npt.NDArray[Any]
    _arrays: Arrays
    _logged: npt.NDArray[np.int64]
    _sources: dict[str, Any]
    _hooks: tuple[Any, ...]
    _feed: SinkFeed | None
    _handlers: Handlers
    _failed: BaseException | None
    _raised_in_plant: BaseException | None
    _is_end_requested: bool
    _keeps_checkpoints: bool
    _setpoint_rows: npt.NDArray[Any]
    _setpoint_function: Any

    @property
    def _has_setpoints(self) -> bool:
        """Whether the autopilot flies setpoints in this run."""
        return bool(self._core["modes"]["setpoints"][0] != OFF)

    @property
    def _sensor_record(self) -> npt.NDArray[Any]:
        """The record of the sensors; an empty one without sensors."""
        return no_sensors() if self._sensors is None else self._sensors.record

    # -- buffers -------------------------------------------------------------------------------------------------

    def use_buffers(self, grow: Grow, logged: npt.NDArray[np.int64] | None = None) -> None:
        """Move the buffers of the run, with the rows already written, for example to files.

        `grow` (see `buffers.Grow`) is called for each array now, and whenever one is full. The loop stores the number
        of complete rows of the log in `logged`, a length-1 array.
        """
        self._buffers.use(grow, self._used())
        self.autopilot.use_buffers(self._autopilot_record, grow)
        if logged is not None:
            logged[0] = self._logged[0]
            self._logged = logged
        self._hand_over()

    def _hand_over(self) -> None:
        """Pass the current arrays to the loop."""
        buffers = self._buffers
        arrays = {name: rows(buffers.arrays[name]) for name in IN_LOOP}
        arrays |= {"time_us": rows(buffers.time_us), "due": rows(buffers.due)}
        arrays |= {"sensors": rows(self._sensor_record), "logged": rows(self._logged)}
        arrays |= {"setpoint_rows": rows(self._setpoint_rows)}
        arrays |= {"words": rows(words_of(self._core)), "spans": rows(self._row_layout.spans)}
        self._arrays = Arrays(core=rows(self._core), **arrays)

    def _extend(self) -> None:
        """Generate further boundaries."""
        self._buffers.check_memory()
        self._buffers.extend(self._used())
        self._hand_over()

    def _known_index(self, time_us: int) -> int:
        """Return the index of the first boundary at or after a time, generating boundaries as needed."""
        buffers = self._buffers
        while not buffers.is_complete and int(buffers.time_us[-1]) <= time_us:
            self._extend()
        return int(np.searchsorted(buffers.time_us, np.uint64(time_us)))

    def release_streams(self) -> None:
        """Free the memory of the streams once they are in a file; the run is then treated as not recorded."""
        if not self.is_done:
            raise StateError("the streams cannot be released before the run has ended")
        self._core["modes"]["is_recording"] = 0
        self._n_checkpoints = 0
        self._buffers.release()
        self._hand_over()

    # -- checkpoints -----------------------------------------------------------------------------------------------

    def _keep_checkpoint(self) -> int:
        """Store a checkpoint if one is due; return the boundary where the next is due, at most the number known."""
        if not self._keeps_checkpoints:
            return len(self._buffers)
        time_us, kept = self._buffers.time_us, self._n_checkpoints
        last_us = int(time_us[self._boundary_of(kept - 1)]) if kept else -CHECKPOINT_US
        if int(time_us[self.boundary]) >= last_us + CHECKPOINT_US:
            self._add_checkpoint()
            last_us = int(time_us[self.boundary])
        return int(np.searchsorted(time_us, np.uint64(last_us + CHECKPOINT_US)))

    def checkpoint(self) -> npt.NDArray[Any]:
        """Return a checkpoint of the current state."""
        return state_of(self._core)

    def _add_checkpoint(self) -> None:
        self._buffers.reserve(KEPT, self._n_checkpoints + 1, self._used())
        self._buffers.arrays["checkpoints"][self._n_checkpoints] = state_of(self._core)[0]
        if self._sensors is not None:
            self._sensors.keep(self._n_checkpoints)
        self._n_checkpoints += 1

    def _boundary_of(self, checkpoint: int) -> int:
        return int(self._buffers.arrays["checkpoints"]["cursor"]["k"][checkpoint])

    # -- snapshots -----------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Copy everything: records, log, streams and the users' objects.

        Raises:
            StateError: If the run has failed, or if it flies real PX4, whose state is in its library.
        """
        self.autopilot.check_copyable("copied")
        if self._failed is not None:
            raise StateError("a run that failed cannot be copied; restore a snapshot from before the failure")
        return self.copied()

    def copied(self) -> Snapshot:
        """Copy everything except autopilot state outside its record; a fork of this process has that state already."""
        return Snapshot(
            schema_version=BUS_SCHEMA_VERSION,
            time_us=self._buffers.time_us,
            due=self._buffers.due,
            state=state_of(self._core),
            records=self._core.copy(),
            arrays={name: self._so_far(name).copy() for name in COPIED} | {"sensors": self._sensor_record.copy()},
            objects=save_objects(self._user_objects()),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot of this simulation or of one with the same configuration.

        Raises:
            InputError: If the snapshot has another version, timeline, configuration or set of objects. Nothing
                changes then.
            StateError: If log sinks have rows of a later time.
        """
        if self._feed is not None:
            self._feed.check_rows(int(snapshot.state["cursor"]["log_rows"][0]))
        self.autopilot.check_copyable("restored")
        if snapshot.schema_version != BUS_SCHEMA_VERSION:
            raise InputError(f"the snapshot has schema version {snapshot.schema_version}, not {BUS_SCHEMA_VERSION}")
        if not self._has_boundaries(snapshot, len(snapshot.time_us)):
            raise InputError("the snapshot is from a simulation with a different timeline")
        objects = self._user_objects()
        if snapshot.objects.keys() != objects.keys():
            raise InputError(f"the snapshot has the objects {list(snapshot.objects)}, this simulation {list(objects)}")
        ours = self._core.copy()
        name = self.autopilot.record
        if name is not None and snapshot.records is not None and self.autopilot.has_set_parameters:
            ours[name] = snapshot.records[name]  # `_take` writes the parameters of that time
        other = None if snapshot.records is None else difference(ours, snapshot.records)
        if other is not None:
            raise InputError(f"the snapshot is from a simulation with a different configuration: {other}")
        check_same_sensors(self._sensor_record, snapshot.arrays.get("sensors"))
        core = self._core.copy()
        put_state(core, snapshot.state)
        self._take(core, snapshot)

    def continue_from(self, snapshot: Snapshot, start: Snapshot) -> None:
        """Resume, before the first boundary, a snapshot of a simulation with a different configuration.

        `start` is a snapshot of that simulation before its first boundary. See `checkpoints` for what may differ.
        """
        if self.boundary:
            raise StateError("only a new simulation can resume a snapshot of another one")
        ours, theirs = list(self._user_objects()), list(snapshot.objects)
        if ours != theirs:
            raise InputError(
                f"the parts in Python were changed: the checkpoint to resume has {', '.join(theirs) or 'none'}, this "
                f"flight has {', '.join(ours) or 'none'}"
            )
        assert start.records is not None
        k = int(snapshot.state["cursor"]["k"][0])
        at_us = int(snapshot.time_us[k])
        if self.timeline.end_us <= at_us:
            raise InputError(f"the end, {self.timeline.end_us} us, is not after the checkpoint to resume, {at_us} us")
        if not self._has_boundaries(snapshot, k + 1):
            raise InputError("a period, or the time of an event or gust before the checkpoint to resume, was changed")
        core = branched(start.records, snapshot.state, self._core, at_us)
        rewind_table(core, self._setpoint_rows, at_us)
        name = self.autopilot.record
        if name is not None and snapshot.records is not None:
            self.autopilot.resume(snapshot.records[name], core[name], self._core[name])
        self._take(core, snapshot)
        if (name is not None or ours) and not self._keeps_checkpoints and self._core["modes"]["is_recording"][0]:
            # A start for replays only (resuming needs the objects): the past had another configuration.
            self._n_checkpoints = 0
            self._add_checkpoint()

    def _has_boundaries(self, snapshot: Snapshot, count: int) -> bool:
        """Return whether the first boundaries of a snapshot match this timeline; the last one may be an end."""
        ours = self._buffers
        ours.take_back_end()
        self._known_index(int(snapshot.time_us[count - 1]))
        is_same_time = np.array_equal(ours.time_us[:count], snapshot.time_us[:count])
        return is_same_time and np.array_equal(ours.due[: count - 1], snapshot.due[: count - 1])

    def _take(self, core: npt.NDArray[Any], snapshot: Snapshot) -> None:
        """Replace the records, and the arrays and objects by those of a snapshot."""
        self._core[:] = core
        self._is_resumed = True
        self._is_end_requested = False
        self._buffers.reserve(CHANGE, len(snapshot.arrays["scenarios"]), {})
        take_sensors(self._sensor_record, snapshot.arrays.get("sensors"))
        for name in COPIED:
            target = self._buffers.arrays[name]
            array = snapshot.arrays.get(name, target[:0])  # a recording lacks some
            array = self._row_layout.words_of(array) if array.dtype.names and name == "log" else array
            rows = min(len(array), len(target))  # an unrecorded run has no buffers for streams
            target[:rows] = array[:rows]
        ticks = int(self._core["cursor"]["autopilot_ticks"][0])
        if self._core["modes"]["records_estimate"][0] and len(snapshot.arrays.get("estimates", ())) < ticks:
            self._core["modes"]["records_estimate"] = 0  # the past estimate is not known
            self._buffers.discard("estimates")
        given = self._buffers.arrays["setpoints"]
        if len(given) and len(snapshot.arrays.get("setpoints", ())) < ticks:
            given[:ticks] = np.zeros(1, given.dtype)  # the past had no setpoints
        self._logged[0] = self._core["cursor"]["log_rows"][0]
        self._hand_over()
        self.autopilot.restore_parameters(params_set(self._sources["scenario"], self._core))
        self._commands.rewind(self.autopilot, self.time_us)
        load_objects(self._user_objects(), snapshot.objects)
        for handler in self._handlers.values():
            if isinstance(handler, NotingChanges):
                handler.forget()
        while self._n_checkpoints and self._boundary_of(self._n_checkpoints - 1) > self.boundary:
            self._n_checkpoints -= 1
        self._failed = None
        self._raised_in_plant = None

    def _user_objects(self) -> dict[str, Any]:
        modes = self._core["modes"]
        sources = {
            name: self._sources[name] for name in self._sources if modes[name][0] in (PYTHON, PYTHON_WITH_STATUS)
        }
        if isinstance(self._sources["scenario"], Scenario):
            sources |= self._sources["scenario"].python_objects()
        if self._setpoint_function is not None:
            sources["setpoints"] = owner_of(self._setpoint_function) or self._setpoint_function
        return sources | {f"hook {i}": hook for i, hook in enumerate(self._hooks)}
