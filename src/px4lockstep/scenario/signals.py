"""Signals that a condition can watch: time, the true state, batteries as measured, the autopilot's mission item."""

import math
from dataclasses import dataclass

from px4lockstep.jit import kernel
from px4lockstep.math.trigonometry import acos

TIME_S, ALTITUDE_M, SPEED_M_S, BATTERY_REMAINING, BATTERY_VOLTAGE_V, DISTANCE_HOME_M, MISSION_ITEM, TILT_DEG = range(8)


@dataclass(frozen=True)
class Signal:
    """A signal: its number in the `EVENT` record, its unit, what it is, and the part of the state that it needs."""

    number: int
    unit: str
    doc: str
    needs: str = ""


SIGNALS = {
    "time_s": Signal(TIME_S, "s", "simulated time"),
    "altitude_m": Signal(ALTITUDE_M, "m", "height above the origin", "position"),
    "speed_m_s": Signal(SPEED_M_S, "m/s", "speed, climbing included", "velocity"),
    "battery_remaining": Signal(BATTERY_REMAINING, "1", "remaining charge as measured, of the battery with least"),
    "battery_voltage_v": Signal(BATTERY_VOLTAGE_V, "V", "voltage as measured, of the battery with least"),
    "distance_home_m": Signal(DISTANCE_HOME_M, "m", "horizontal distance from the origin", "position"),
    "mission_item": Signal(MISSION_ITEM, "1", "present item of the mission, counted from 0"),
    "tilt_deg": Signal(TILT_DEG, "deg", "angle between the body's z axis and down", "attitude"),
}
"""All signals by the name that a condition gives them; metrics have the same names for those of the state."""

DEGREES_PER_RADIAN = 180.0 / math.pi


@kernel
def length(state, i, count):
    """Return the length of a vector in the state."""
    total = 0.0
    for j in range(i, i + count):
        total += state.x[j] * state.x[j]
    return math.sqrt(total)


@kernel
def tilt_deg(x, y):
    """Return the angle between the body's z axis and down, from two components of the attitude."""
    cosine = 1.0 - 2.0 * (x * x + y * y)
    return acos(min(max(cosine, -1.0), 1.0)) * DEGREES_PER_RADIAN


@kernel
def least_of_batteries(scenario, signal, ticks, bus):
    """Return the least remaining charge or voltage of all batteries; NaN before the first measurement."""
    if ticks == 0:
        return math.nan
    least = math.inf
    for j in range(scenario.n_batteries):
        battery = bus.battery[j]
        least = min(least, battery.remaining if signal == BATTERY_REMAINING else battery.voltage_v)
    return least


@kernel
def read_signal(scenario, signal, t_us, ticks, state, bus):
    """Return a signal as it is now; `scenario` says where the parts of the state start."""
    if signal == TIME_S:
        return float(t_us) / 1e6
    elif signal == ALTITUDE_M:
        return -state.x[scenario.i_pos + 2]
    elif signal == SPEED_M_S:
        return length(state, scenario.i_vel, 3)
    elif signal == DISTANCE_HOME_M:
        return length(state, scenario.i_pos, 2)
    elif signal == MISSION_ITEM:
        return float(bus.autopilot.mission_item)
    elif signal == TILT_DEG:
        i = scenario.i_att
        return tilt_deg(state.x[i + 1], state.x[i + 2])
    return least_of_batteries(scenario, signal, ticks, bus)
