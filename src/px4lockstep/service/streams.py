"""Streams of a link: which messages it sends, and how often.

The rates are those of PX4 on its link to ground stations (mode normal) and on that to applications (mode onboard), in
simulated time, as measured on its development version of August 2026.
"""

import math

from px4lockstep.service.telemetry import MESSAGES

SECOND_US = 1_000_000
NORMAL, ONBOARD = 0, 1
"""Kinds of links: to ground stations, and to applications."""

RATES_HZ: dict[str, tuple[float, float]] = {
    "HEARTBEAT": (1, 1),
    "MISSION_CURRENT": (1, 1),
    "SCALED_PRESSURE": (1, 1),
    "BATTERY_STATUS": (0.5, 0.5),
    "HOME_POSITION": (0.5, 0.5),
    "CURRENT_MODE": (0.5, 0.5),
    "SYS_STATUS": (1, 5),
    "EXTENDED_SYS_STATE": (1, 5),
    "GPS_RAW_INT": (5, 5),
    "VFR_HUD": (4, 10),
    "ESTIMATOR_STATUS": (0.5, 1),
    "VIBRATION": (0.1, 0.5),
    "PING": (0.1, 1),
    "ALTITUDE": (1, 10),
    "ESC_INFO": (1, 10),
    "ESC_STATUS": (1, 10),
    "POSITION_TARGET_GLOBAL_INT": (1, 10),
    "ORBIT_EXECUTION_STATUS": (2, 5),
    "ATTITUDE_TARGET": (50, 10),
    "POSITION_TARGET_LOCAL_NED": (50, 10),
    "SERVO_OUTPUT_RAW": (50, 10),
    "ATTITUDE": (50, 100),
    "ATTITUDE_QUATERNION": (50, 50),
    "LOCAL_POSITION_NED": (50, 30),
    "GLOBAL_POSITION_INT": (50, 50),
    "HIGHRES_IMU": (0, 50),
    "ODOMETRY": (0, 30),
    "TIMESYNC": (0, 10),
    "SYSTEM_TIME": (0, 1),
}
"""Rates by message, of a link to ground stations and of one to applications."""
ALL = (*MESSAGES, "PING", "TIMESYNC")
"""Messages that can be streamed."""
OFF = -1


class LinkStreams:
    """The intervals of a link's messages, and when each is due."""

    def __init__(self, kind: int, tick_us: int) -> None:
        self._kind = kind
        self._tick_us = tick_us
        self._intervals_us = {name: self._default_us(name) for name in ALL}
        self._due_us = {name: 0 for name, interval_us in self._intervals_us.items() if interval_us != OFF}
        self.shortest_us = self._shortest_us()
        """The shortest interval."""

    def _default_us(self, name: str) -> int:
        rate_hz = RATES_HZ.get(name, (0, 0))[self._kind]
        return round(SECOND_US / rate_hz) if rate_hz else OFF

    def interval_us(self, name: str) -> int:
        """Return the interval of a message; -1 if it is not streamed."""
        return self._intervals_us[name]

    def _shortest_us(self) -> int:
        return min((value for value in self._intervals_us.values() if value != OFF), default=SECOND_US)

    def set_interval(self, name: str, interval_us: float, time_us: int) -> None:
        """Change the interval of a message: -1 stops it, 0 restores the default; a tick is the shortest."""
        if interval_us == 0.0 or math.isnan(interval_us):
            wanted = self._default_us(name)
        elif interval_us < 0.0:
            wanted = OFF
        else:
            wanted = max(self._tick_us, round(min(interval_us, 1e9)))
        self._intervals_us[name] = wanted
        self.shortest_us = self._shortest_us()
        self._due_us.pop(name, None)
        if wanted != OFF:
            self._due_us[name] = time_us

    def take_due(self, time_us: int) -> list[str]:
        """Return the messages that are due; each is due again an interval later."""
        due = [name for name, at_us in self._due_us.items() if at_us <= time_us]
        for name in due:
            interval_us = self._intervals_us[name]
            # A rate is kept on average; after a gap, what was missed is not sent late.
            next_us = self._due_us[name] + interval_us
            self._due_us[name] = next_us if time_us - next_us < interval_us else time_us + interval_us
        return due
