"""The sensor stage of a simulation: set up, read and stepped from Python, and restored from a checkpoint.

The record of the sensors, a `SENSORS`, lies beside the records of the simulation: a flight without sensors allocates,
compiles, logs and stores nothing of them.
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
"""What a checkpoint has of the sensors."""


class SensorStage:
    """The sensors of a running simulation, from their record and the simulation's, in arrays of one."""

    def __init__(self, sensors: Records, core: Records) -> None:
        self.record = sensors
        self._kept: list[Records] = []
        self.out: Any = view(sensors["out"], writable=False)
        """What the sensors report: `bus.sensors`, read-only."""
        own = plain(sensors)
        self.readings: npt.NDArray[np.float64] = locked(sensors["out"].view(np.uint8)[: 8 * READINGS].view(np.float64))
        """All reported numbers but those of the GPS, in one array, in the order of MAVLink's HIL_SENSOR."""
        self.true_accel_m_s2: npt.NDArray[np.float64] = locked(own[0]["state"]["imu"]["mean_accel_m_s2"])
        """Specific force at the IMU over the last tick, body axes, without errors and faults."""
        self.repeat = caller(int(own[0]["address"]), core["state"], core["inputs"], sensors)
        """Run one more tick with the vehicle where it is, for an autopilot that boots before the flight."""

    def keep(self, checkpoint: int) -> None:
        """Keep the state as that of a checkpoint, counted from 0; later ones are dropped."""
        own = np.zeros(1, SENSOR_CHECKPOINT)
        overlay(own, self.record, "sensors")
        self._kept[checkpoint:] = [own]

    def kept(self, checkpoints: int) -> Records:
        """Return the state at each of the first checkpoints, `SENSOR_CHECKPOINT` records."""
        return np.concatenate([np.zeros(0, SENSOR_CHECKPOINT), *self._kept[:checkpoints]])


def set_sensors(
    suite: SensorSuite | None, autopilot: Any, core: Records, plant: Any, timeline: Timeline, seed: int
) -> SensorStage | None:
    """Set up the sensors: those given, or those that the autopilot flies by. None if nothing reads any."""
    own = getattr(autopilot, "sensor_suite", None)
    if suite is not None and own is not None:
        raise InputError("sensors are given twice: to the simulation and to its autopilot. Give them to the autopilot")
    suite = suite if own is None else own
    if suite is None:
        return None
    if timeline.autopilot is None:
        raise InputError("sensors are given and would never run: the timeline has no autopilot axis")
    if not isinstance(suite, SensorSuite):
        raise InputError(f"sensors = {suite!r} is not allowed; give a SensorSuite")
    starts, stops = core["plant"]["group_start"][0].tolist(), core["plant"]["group_stop"][0].tolist()
    sizes = [stop - start for start, stop in zip(starts, stops, strict=True)]
    if sizes[:4] != [3, 3, 4, 3]:
        has = ", ".join(f"{size} {name}" for name, size in zip(GROUPS, sizes, strict=True) if size) or "none"
        raise InputError(
            f"sensors need a plant whose first {RIGID_BODY_STATES} states are a rigid body's (3 pos, 3 vel, 4 att, 3 "
            f"omega); this one has {has}; use an aircraft"
        )
    rotors = slice(starts[ROTOR], stops[ROTOR])
    stage = SensorStage(suite.record(plant, rotors, seed, timeline.autopilot.period_us), core)
    if hasattr(autopilot, "take_sensors"):
        autopilot.take_sensors(stage)
    return stage


def check_same_sensors(ours: Records, theirs: Records | None) -> None:
    """Check that a checkpoint has the sensors of this simulation."""
    theirs = no_sensors() if theirs is None else theirs
    is_same = theirs.dtype != SENSORS or ours["config"].tobytes() == theirs["config"].tobytes()
    if bool(ours["address"][0]) != has_sensors(theirs) or not is_same:  # a recording has no configuration
        raise InputError("the snapshot is of a simulation with other sensors")


def take_sensors(ours: Records, theirs: Records | None) -> None:
    """Go on from the state of a checkpoint's sensors; their configuration stays this simulation's."""
    if theirs is not None and ours["address"][0] and has_sensors(theirs):
        own = np.zeros(1, SENSOR_CHECKPOINT)
        overlay(own, theirs, "sensors")
        limits_of(SENSOR_CHECKPOINT).check(own, "sensors")
        for name in ("state", "out"):
            ours[name] = own[name]


def has_sensors(found: Records) -> bool:
    """Return whether sensors were on in a simulation, from its `SENSORS` or from a checkpoint, which has no address."""
    return "address" not in (found.dtype.names or ()) or bool(found["address"][0])
