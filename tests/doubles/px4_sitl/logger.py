"""PX4's logger: a ULog in `log/DATE/TIME.ulg` in the working folder, from boot until disarming.

It is written if SDLOG_BACKEND has bit 0, as in PX4, whose SITL start script selects that time span (SDLOG_MODE 1).
"""

import io
import os
import time

from ulog import Writer

PERIOD_US = 20_000
TOPICS = {
    "vehicle_attitude": [("float", 4, "q")],
    "vehicle_angular_velocity": [("float", 3, "xyz")],
    "vehicle_local_position": [("float", 1, name) for name in ("x", "y", "z", "vx", "vy", "vz")],
    "vehicle_status": [("uint8_t", 1, "arming_state"), ("uint8_t", 1, "nav_state"), ("bool", 1, "failsafe")],
    "actuator_motors": [("float", 12, "control")],
}
NAN = float("nan")


class Logger:
    """The log of one flight; `is_done` after disarming."""

    def __init__(self, parameters):
        self._parameters, self._log, self._path, self._buffer = parameters, None, None, io.BytesIO()
        self._last_us, self._was_armed, self.is_done = -PERIOD_US, False, False

    def step(self, time_us, vehicle, motors):
        """Log the estimate, the status and the motors, if it is time."""
        if self.is_done or not int(self._parameters.get("SDLOG_BACKEND")) & 1:
            return
        if time_us - self._last_us < PERIOD_US and vehicle.is_armed == self._was_armed:
            return
        if self._log is None:
            self._open(time_us)
        self._last_us, now = time_us, vehicle.now
        values = {
            "vehicle_attitude": now.q,
            "vehicle_angular_velocity": now.rates,
            "vehicle_local_position": (*now.pos, *now.vel),
            "vehicle_status": (2 if vehicle.is_armed else 1, vehicle.mode, vehicle.is_failsafe),
            "actuator_motors": (*motors, *[NAN] * (12 - len(motors))),
        }
        for name, numbers in values.items():
            self._log.write(name, time_us, numbers)
        self._append()
        self.is_done = self._was_armed and not vehicle.is_armed
        self._was_armed = vehicle.is_armed

    def _open(self, time_us):
        folder = time.strftime("log/%Y-%m-%d")
        os.makedirs(folder, exist_ok=True)
        self._path = time.strftime(f"{folder}/%H_%M_%S.ulg")
        self._log = Writer(self._buffer, time_us)
        self._log.info("sys_name", "PX4")
        self._log.info("ver_hw", "PX4_SITL")
        for name, fields in TOPICS.items():
            self._log.topic(name, fields)
        self._log.start()

    def _append(self):
        """Write what was logged; the process may be killed at any time."""
        with open(self._path, "ab") as file:
            file.write(self._buffer.getvalue())
        self._buffer.seek(0)
        self._buffer.truncate()
