"""Signals for conditions: time, the true state, measured batteries, and the autopilot's mission item."""

import math
from dataclasses import dataclass

from px4lockstep.jit import kernel
from px4lockstep.math.trigonometry import acos

TIME_S, ALTITUDE_M, SPEED_M_S, BATTERY_REMAINING, BATTERY_VOLTAGE_V, DISTANCE_HOME_M, MISSION_ITEM, TILT_DEG = range(8)


@dataclass(frozen=True)
class Signal:
    """A signal: its number in the `EVENT` record, unit, description, and the part of the state that it needs."""

    number: int
    unit: str
    doc: str
    needs: str = ""


SIGNALS = {
    "time_s": Signal(TIME_S, "s", "simulated time"),
    "altitude_m": Signal(ALTITUDE_M, "m", "height above the origin", "position"),
    "speed_m_s": Signal(SPEED_M_S, "m/s", "3D speed", "velocity"),
    "battery_remaining": Signal(BATTERY_REMAINING, "1", "lowest measured state of charge of all batteries"),
    "battery_voltage_v": Signal(BATTERY_VOLTAGE_V, "V", "lowest measured voltage of all batteries"),
    "distance_home_m": Signal(DISTANCE_HOME_M, "m", "horizontal distance from the origin", "position"),
    "mission_item": Signal(MISSION_ITEM, "1", "current mission item, counted from 0"),
    "tilt_deg": Signal(TILT_DEG, "deg", "angle between the body's z axis and down", "attitude"),
}
"""All signals by name; metrics use the same names for signals of the state."""

DEGREES_PER_RADIAN = 180.0 / math.pi


@kernel
def length(state, i, count):
    """Return the length of a vector in a state."""
    total = 0.0
    for j in range(i, i + count):
        total += state.x[j] * state.x[j]
    return math.sqrt(total)


@kernel
def tilt_deg(x, y):
    """Return the angle between the body's z axis and down from the quaternion components x and y."""
    cosine = 1.0 - 2.0 * (x * x + y * y)
    return acos(min(max(cosine, -1.0), 1.0)) * DEGREES_PER_RADIAN


@kernel
def least_of_batteries(scenario, signal, ticks, bus):
    """Return the lowest remaining charge or voltage of all batteries; NaN before the first measurement."""
    if ticks == 0:
        return math.nan
    least = math.inf
    for j in range(scenario.n_batteries):
        battery = bus.battery[j]
        least = min(least, battery.remaining if signal == BATTERY_REMAINING else battery.voltage_v)
    return least


@kernel
def read_signal(scenario, signal, t_us, ticks, state, bus):
    """Return the current value of a signal; `scenario` has the start indices of the parts of the state."""
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
