"""The control loops that an experiment can excite: names, units, setpoints and responses.

A setpoint of a loop leaves the inner loops closed and opens the outer ones: body rates and attitudes replace position
control, with the thrust of a hover; a velocity replaces the position of its axes. No trajectory smooths it.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError, did_you_mean
from px4lockstep.log.angles import euler_angles
from px4lockstep.log.log import Log

Array = npt.NDArray[np.float64]

RATE, ATTITUDE, VELOCITY, POSITION = "body rate", "attitude", "velocity", "position"
KEYS = {RATE: "omega_body", ATTITUDE: "attitude_rad", VELOCITY: "vel_ned", POSITION: "pos_ned"}
"""The key of the setpoint table for each kind of loop."""
RESPONSES = {RATE: "omega_body", ATTITUDE: "euler_bn", VELOCITY: "vel_ned", POSITION: "pos_ned"}
"""The column of the log that responds."""
ESTIMATES = {RATE: "est_omega_body", VELOCITY: "est_vel_ned", POSITION: "est_pos_ned"}
"""The column of the log with the estimate of it; attitudes are computed from `est_q_bn`."""


@dataclass(frozen=True)
class ChirpRange:
    """Defaults of a chirp: from and to [Hz], duration [s] and amplitude, in the loop's unit."""

    start_hz: float
    end_hz: float
    duration_s: float
    amplitude: float


@dataclass(frozen=True)
class Loop:
    """A control loop."""

    name: str
    title: str
    kind: str
    axis: int
    unit: str
    size: float  # default step
    watched_s: float  # how long a step is watched
    chirp: ChirpRange
    sign: float = 1.0  # -1: the response is minus the component, such as a height

    @property
    def scale(self) -> float:
        """Loop's unit per unit of the setpoint table and the log, with its sign."""
        return self.sign * (float(np.degrees(1.0)) if self.has_angles else 1.0)

    @property
    def has_angles(self) -> bool:
        """Whether it is a body rate or an attitude, in degrees here and in radians elsewhere."""
        return self.kind in (RATE, ATTITUDE)

    @property
    def key(self) -> str:
        """The key of its setpoint in a setpoint table."""
        return KEYS[self.kind]

    def response(self, log: Log) -> Array:
        """Return the true response, in the loop's unit."""
        values = np.asarray(log[RESPONSES[self.kind]], np.float64)[:, self.axis]
        return self.scale * (np.unwrap(values) if self.kind == ATTITUDE else values)

    def feedback(self, log: Log) -> Array:
        """Return the estimate that the controller gets, in the loop's unit; the true response without an estimator."""
        if self.kind == ATTITUDE and "est_q_bn" in log:
            return self.scale * np.unwrap(euler_angles(log["est_q_bn"])[:, self.axis])
        name = ESTIMATES.get(self.kind, "")
        return self.scale * np.asarray(log[name], np.float64)[:, self.axis] if name in log else self.response(log)


_FAST, _YAW_RATE = ChirpRange(0.5, 50.0, 20.0, 10.0), ChirpRange(0.2, 40.0, 20.0, 20.0)
_TILT, _YAW = ChirpRange(0.1, 10.0, 30.0, 5.0), ChirpRange(0.1, 10.0, 30.0, 10.0)
_SPEED, _PLACE = ChirpRange(0.05, 5.0, 60.0, 0.5), ChirpRange(0.03, 2.0, 120.0, 0.5)

LOOPS = {
    loop.name: loop
    for loop in (
        Loop("roll_rate", "roll rate", RATE, 0, "°/s", 30.0, 1.0, _FAST),
        Loop("pitch_rate", "pitch rate", RATE, 1, "°/s", 30.0, 1.0, _FAST),
        Loop("yaw_rate", "yaw rate", RATE, 2, "°/s", 30.0, 5.0, _YAW_RATE),
        Loop("roll", "roll", ATTITUDE, 0, "°", 10.0, 2.0, _TILT),
        Loop("pitch", "pitch", ATTITUDE, 1, "°", 10.0, 2.0, _TILT),
        Loop("yaw", "yaw", ATTITUDE, 2, "°", 30.0, 5.0, _YAW),
        Loop("vel_north", "velocity north", VELOCITY, 0, "m/s", 1.0, 10.0, _SPEED),
        Loop("vel_east", "velocity east", VELOCITY, 1, "m/s", 1.0, 10.0, _SPEED),
        Loop("vel_down", "velocity down", VELOCITY, 2, "m/s", 0.5, 10.0, _SPEED),
        Loop("pos_north", "position north", POSITION, 0, "m", 1.0, 10.0, _PLACE),
        Loop("pos_east", "position east", POSITION, 1, "m", 1.0, 10.0, _PLACE),
        Loop("height", "height", POSITION, 2, "m", 1.0, 10.0, _PLACE, -1.0),
    )
}
"""All loops by name, from the inside out."""


def loop_of(name: str) -> Loop:
    """Return a loop by name."""
    if name not in LOOPS:
        raise InputError(f"unknown loop {name!r}; {did_you_mean(name, LOOPS)}allowed: {', '.join(LOOPS)}")
    return LOOPS[name]
