"""The battery sensor: the measured battery status that the autopilot receives.

    y ← y + (1 − exp(−dt / τ)) (truth − y)      voltage and current, exact for a held input; τ = 0: y = truth
    z = y + σ ξ                                 white noise, addressed by (seed, "battery sensor", tick, battery)

The result is delayed by a whole number of autopilot ticks; before there is a sample that old, the current one is used.
The sensor samples at autopilot boundaries, after faults and wind and before the autopilot, with the state and the
command held until then. Charge and warning are the true ones, with the same delay.
"""

from typing import Any

import numpy as np

from px4lockstep.errors import InputError, TimeError
from px4lockstep.jit import interpreted, kernel, record
from px4lockstep.jit.records import COUNT
from px4lockstep.math.exponential import exp
from px4lockstep.math.philox import normal4, stream_key
from px4lockstep.plant.layout import BATTERY_STATUS
from px4lockstep.timebase import ticks_of
from px4lockstep.vehicle.battery import Battery

MAX_DELAY_TICKS = 64

BATTERY_SENSOR = record(
    [
        ("gain", "f8"),  # 1 − exp(−dt / τ)
        ("voltage_sigma_v current_sigma_a", "f8"),
        ("delay_ticks", "i8"),
        ("key", "u8"),
        ("lane tick", "i8"),
        ("voltage_v current_a", "f8"),  # after the lag
        ("ring", BATTERY_STATUS, MAX_DELAY_TICKS + 1),
    ],
    state="tick voltage_v current_a ring",
    limits={"tick": COUNT},
)


@kernel
def sense_battery(sensor, truth, measured):
    """Run one tick: apply lag, noise and delay to the true status, and write the measured one."""
    if sensor.tick == 0:
        sensor.voltage_v = truth.voltage_v
        sensor.current_a = truth.current_a
    else:
        sensor.voltage_v += sensor.gain * (truth.voltage_v - sensor.voltage_v)
        sensor.current_a += sensor.gain * (truth.current_a - sensor.current_a)
    slot = sensor.ring[sensor.tick % (MAX_DELAY_TICKS + 1)]
    slot.voltage_v = sensor.voltage_v
    slot.current_a = sensor.current_a
    slot.remaining = truth.remaining
    slot.warning = truth.warning
    if sensor.voltage_sigma_v > 0.0 or sensor.current_sigma_a > 0.0:
        noise = normal4(sensor.key, sensor.tick, sensor.lane, np.int64(0))
        slot.voltage_v += sensor.voltage_sigma_v * noise[0]
        slot.current_a += sensor.current_sigma_a * noise[1]
    from_tick = sensor.tick - sensor.delay_ticks if sensor.tick >= sensor.delay_ticks else sensor.tick
    oldest = sensor.ring[from_tick % (MAX_DELAY_TICKS + 1)]
    measured.voltage_v = oldest.voltage_v
    measured.current_a = oldest.current_a
    measured.remaining = oldest.remaining
    measured.warning = oldest.warning
    sensor.tick += 1


def sense_delay_ticks(battery: Battery, lane: int, period_us: int) -> int:
    """Return the sensor delay in autopilot ticks; `lane` is the index of the battery, from 0."""
    try:
        return ticks_of(battery.sense_delay_s, f"power.batteries[{lane}].sense_delay_s", period_us, MAX_DELAY_TICKS)
    except TimeError as error:
        raise InputError(str(error), key=("power", "batteries", lane, "sense_delay_s")) from None


def write_battery_sensor(battery: Battery, rec: Any, lane: int, seed: int, period_us: int) -> None:
    """Write a `BATTERY_SENSOR` record; `lane` is the index of the battery, from 0."""
    rec["delay_ticks"], tau_s = sense_delay_ticks(battery, lane, period_us), battery.sense_tau_s
    rec["gain"] = 1.0 - float(interpreted(exp)(-period_us / 1e6 / tau_s)) if tau_s > 0.0 else 1.0
    rec["voltage_sigma_v"], rec["current_sigma_a"] = battery.sense_voltage_sigma_v, battery.sense_current_sigma_a
    rec["key"], rec["lane"] = stream_key(seed, "battery sensor"), lane
