"""The sensor stage of a simulation: set up, read and stepped from Python, and restored from a checkpoint.

The `SENSORS` record is separate from the other records of the simulation, so a flight without sensors allocates,
compiles, logs and stores nothing for them.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.checkpoints import overlay
from px4lockstep.engine.timeline import Timeline
from px4lockstep.errors import InputError
from px4lockstep.jit import caller, plain, record, view
from px4lockstep.jit.records import limits_of, locked
from px4lockstep.plant.layout import GROUPS, RIGID_BODY_STATES, ROTOR
from px4lockstep.sensors.suite import READINGS, SENSOR_OUT, SENSOR_STATE, SENSORS, SensorSuite, no_sensors

Records = npt.NDArray[Any]

SENSOR_CHECKPOINT = record([("state", SENSOR_STATE), ("out", SENSOR_OUT)])
"""The sensors' part of a checkpoint."""


class SensorStage:
    """The sensors of a running simulation, built from length-1 arrays of their record and of the simulation's."""

    def __init__(self, sensors: Records, core: Records) -> None:
        self.record = sensors
        self._kept: list[Records] = []
        self.out: Any = view(sensors["out"], writable=False)
        """The sensor outputs, `bus.sensors`, read-only."""
        own = plain(sensors)
        self.readings: npt.NDArray[np.float64] = locked(sensors["out"].view(np.uint8)[: 8 * READINGS].view(np.float64))
        """All outputs except the GPS in one array, in the order of MAVLink's HIL_SENSOR."""
        self.true_accel_m_s2: npt.NDArray[np.float64] = locked(own[0]["state"]["imu"]["mean_accel_m_s2"])
        """Specific force at the IMU over the last tick, body axes, without errors and faults."""
        self.repeat = caller(int(own[0]["address"]), core["state"], core["inputs"], sensors)
        """Run one more tick without moving the vehicle, for an autopilot that boots before the flight."""

    def keep(self, checkpoint: int) -> None:
        """Store the state for a checkpoint, counted from 0, and drop the states of later ones."""
        own = np.zeros(1, SENSOR_CHECKPOINT)
        overlay(own, self.record, "sensors")
        self._kept[checkpoint:] = [own]

    def kept(self, checkpoints: int) -> Records:
        """Return the states at the first `checkpoints` checkpoints, `SENSOR_CHECKPOINT` records."""
        return np.concatenate([np.zeros(0, SENSOR_CHECKPOINT), *self._kept[:checkpoints]])


def set_sensors(
    suite: SensorSuite | None, autopilot: Any, core: Records, plant: Any, timeline: Timeline, seed: int
) -> SensorStage | None:
    """Set up the given sensors or those of the autopilot; return None if there are none."""
    own = getattr(autopilot, "sensor_suite", None)
    if suite is not None and own is not None:
        raise InputError("sensors are given to both the simulation and its autopilot; give them to the autopilot only")
    suite = suite if own is None else own
    if suite is None:
        return None
    if timeline.autopilot is None:
        raise InputError("the sensors would never run: the timeline has no autopilot axis")
    if not isinstance(suite, SensorSuite):
        raise InputError(f"sensors = {suite!r} is not a SensorSuite")
    starts, stops = core["plant"]["group_start"][0].tolist(), core["plant"]["group_stop"][0].tolist()
    sizes = [stop - start for start, stop in zip(starts, stops, strict=True)]
    if sizes[:4] != [3, 3, 4, 3]:
        has = ", ".join(f"{size} {name}" for name, size in zip(GROUPS, sizes, strict=True) if size) or "none"
        raise InputError(
            f"sensors need a plant whose first {RIGID_BODY_STATES} states are those of a rigid body (3 pos, 3 vel, "
            f"4 att, 3 omega); this one has {has}. Use an aircraft"
        )
    rotors = slice(starts[ROTOR], stops[ROTOR])
    stage = SensorStage(suite.record(plant, rotors, seed, timeline.autopilot.period_us), core)
    if hasattr(autopilot, "take_sensors"):
        autopilot.take_sensors(stage)
    return stage


def check_same_sensors(ours: Records, theirs: Records | None) -> None:
    """Raise `InputError` unless a snapshot has the same sensors as this simulation."""
    theirs = no_sensors() if theirs is None else theirs
    is_same = theirs.dtype != SENSORS or ours["config"].tobytes() == theirs["config"].tobytes()
    if bool(ours["address"][0]) != has_sensors(theirs) or not is_same:  # a recording has no configuration
        raise InputError("the snapshot is from a simulation with different sensors")


def take_sensors(ours: Records, theirs: Records | None) -> None:
    """Restore the sensors' state from a checkpoint; their configuration stays that of this simulation."""
    if theirs is not None and ours["address"][0] and has_sensors(theirs):
        own = np.zeros(1, SENSOR_CHECKPOINT)
        overlay(own, theirs, "sensors")
        limits_of(SENSOR_CHECKPOINT).check(own, "sensors")
        for name in ("state", "out"):
            ours[name] = own[name]


def has_sensors(found: Records) -> bool:
    """Return whether a simulation has sensors, from its `SENSORS` record or a checkpoint, which has no address."""
    return "address" not in (found.dtype.names or ()) or bool(found["address"][0])
