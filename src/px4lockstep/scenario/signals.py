"""Signals that a condition can watch: time, the true state, batteries as measured, the autopilot's mission item."""

import math

from px4lockstep.jit import kernel
from px4lockstep.math.trigonometry import acos

TIME_S = 0
ALTITUDE_M = 1
SPEED_M_S = 2
BATTERY_REMAINING = 3
BATTERY_VOLTAGE_V = 4
DISTANCE_HOME_M = 5
MISSION_ITEM = 6
TILT_DEG = 7

SIGNALS = {
    "time_s": TIME_S,
    "altitude_m": ALTITUDE_M,  # above the origin, -z
    "speed_m_s": SPEED_M_S,  # over the ground, vertical motion included
    "battery_remaining": BATTERY_REMAINING,  # as measured, of the battery that has least
    "battery_voltage_v": BATTERY_VOLTAGE_V,  # likewise
    "distance_home_m": DISTANCE_HOME_M,  # horizontal, from the origin
    "mission_item": MISSION_ITEM,  # counted from 0
    "tilt_deg": TILT_DEG,  # between the body's z axis and down
}

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
