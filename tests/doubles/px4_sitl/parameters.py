"""PX4's parameters: compiled defaults, those of the airframe, and the values that somebody has set.

`param set` does nothing if the parameter already has the value. v1.17.0's start script applies the environment before
the airframe's file, so a value that equals the compiled default is dropped, and the airframe's default takes effect.
Newer scripts apply the environment after the airframe's file.
"""

import json
import struct

KNOWN = ("CA_", "COM_", "EKF2_", "GF_", "IMU_", "MAV_", "MC_", "MIS_", "MPC_", "NAV_", "PWM_MAIN_", "RTL_", "SDLOG_")
KNOWN += ("SENS_", "SIM_", "SYS_")
RENAMED = {True: ("SIM_BAT_DRAIN", "SENS_GPS0_DELAY"), False: ("SIM_BAT_ENABLE", "EKF2_GPS_DELAY")}
"""Parameters that a version lacks: the old one, v1.17.0, and the new one."""
INTEGERS = ("CA_AIRFRAME", "CA_ROTOR_COUNT", "COM_LOW_BAT_ACT", "IMU_INTEG_RATE", "NAV_RCL_ACT", "PWM_MAIN_FUNC")
INTEGERS += ("GF_ACTION", "MAV_SYS_ID", "SDLOG_", "SIM_BAT_ENABLE", "SYS_")
FLOAT, INT32 = 9, 6
"""MAV_PARAM_TYPE."""

COMPILED = {"IMU_INTEG_RATE": 200, "RTL_RETURN_ALT": 60.0, "SDLOG_BACKEND": 1, "SYS_HAS_BARO": 1, "MPC_THR_HOVER": 0.5}
COMPILED |= {"GF_ACTION": 2, "SIM_BAT_ENABLE": 1, "SIM_BAT_DRAIN": 60.0}
COMPILED |= {f"CA_ROTOR{i}_KM": 0.05 for i in range(12)}
"""Compiled defaults that are not 0."""
AIRFRAME = {"RTL_RETURN_ALT": 30.0, "COM_LOW_BAT_ACT": 3, "CA_ROTOR_COUNT": 4}
AIRFRAME |= {"CA_ROTOR0_PX": 0.1515, "CA_ROTOR0_PY": 0.245, "CA_ROTOR1_PX": -0.1515, "CA_ROTOR1_PY": -0.1875}
AIRFRAME |= {"CA_ROTOR2_PX": 0.1515, "CA_ROTOR2_PY": -0.245, "CA_ROTOR3_PX": -0.1515, "CA_ROTOR3_PY": 0.1875}
AIRFRAME |= {"CA_ROTOR2_KM": -0.05, "CA_ROTOR3_KM": -0.05} | {f"PWM_MAIN_FUNC{i}": 100 + i for i in range(1, 5)}
"""Defaults of the start scripts for airframe 10016, `none_iris`."""


class Parameters:
    """The parameters of a running PX4; `stored.json` in its folder has those that were set."""

    def __init__(self, environment, say, is_old):
        self._set = {}
        self._defaults = {} if is_old else AIRFRAME
        self._say, self._is_old = say, is_old
        for name, text in environment.items():
            if not self.has(name):
                say(f"ERROR [param] Parameter {name} not found.")
                continue
            value = int(float(text)) if self.kind(name) == INT32 else as_float32(float(text))
            if value != self.get(name):
                self.set(name, value)
        self._defaults = AIRFRAME
        self._store()

    def get(self, name):
        for values in (self._set, self._defaults, COMPILED):
            if name in values:
                return values[name] if self.kind(name) == INT32 else as_float32(values[name])
        return 0

    def set(self, name, value):
        self._say(f"INFO  [param] {name} = {value:.9g}")
        self._set[name] = value
        self._store()

    def has(self, name):
        return name.startswith(KNOWN) and name not in RENAMED[self._is_old]

    @property
    def takes_batteries(self):
        """Whether it listens to BATTERY_STATUS, because it does not simulate a battery."""
        return self.get("SIM_BAT_ENABLE" if self._is_old else "SIM_BAT_DRAIN") == 0

    def kind(self, name):
        return INT32 if name.startswith(INTEGERS) else FLOAT

    def _store(self):
        with open("stored.json", "w") as file:
            json.dump(self._set, file)


def as_float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def bits(kind, value):
    """Return the value of PARAM_VALUE, in which an integer is transmitted by its bytes."""
    return struct.unpack("<f", struct.pack("<i", value))[0] if kind == INT32 else value


def number(kind, value):
    """Return the number in PARAM_SET."""
    return struct.unpack("<i", struct.pack("<f", value))[0] if kind == INT32 else value
