"""Batteries: an ideal source, or a Thevenin model with one RC pair.

    E = OCV(SOC) − V1,   V = max(V_min, E − R0 I)
    V̇1 = −V1 / (R1 C1) + I / C1,   SOĊ = −I / Q

OCV is interpolated linearly between points and held beyond the first and the last. SOC stays at 0 once it is there. An
ideal battery keeps the last voltage of its curve whatever the current; its charge is counted all the same.
The warning comes from the remaining charge: low 0.15, critical 0.10, emergency 0.05 by default.
"""

from px4lockstep.jit import inlined_kernel, kernel, record

IDEAL = 0
THEVENIN = 1
MODELS = {"ideal": IDEAL, "thevenin": THEVENIN}

MAX_OCV_POINTS = 16

BATTERY = record(
    [
        ("model", "i8"),
        ("bus", "i8"),
        ("share", "f8"),  # of the bus's current
        ("inverse_capacity", "f8"),  # [1/C]
        ("ocv_points", "i8"),
        ("ocv_soc", "f8", MAX_OCV_POINTS),
        ("ocv_v", "f8", MAX_OCV_POINTS),
        ("ocv_slope_v", "f8", MAX_OCV_POINTS),
        ("r0_ohm", "f8"),
        ("conductance", "f8"),  # 1 / R0
        ("inverse_r1c1", "f8"),
        ("inverse_c1", "f8"),
        ("min_voltage_v", "f8"),
        ("low_threshold", "f8"),
        ("critical_threshold", "f8"),
        ("emergency_threshold", "f8"),
    ]
)


@inlined_kernel
def open_circuit_voltage(battery, soc):
    """Return OCV by clamped linear interpolation [V]."""
    last = battery.ocv_points - 1
    if soc >= battery.ocv_soc[last]:
        return battery.ocv_v[last]
    if soc <= battery.ocv_soc[0]:
        return battery.ocv_v[0]
    i = 0
    while soc > battery.ocv_soc[i + 1]:
        i += 1
    return battery.ocv_v[i] + battery.ocv_slope_v[i] * (soc - battery.ocv_soc[i])


@inlined_kernel
def source_voltage(battery, soc, v1):
    """Return the voltage behind the series resistance [V]."""
    if battery.model == IDEAL:
        return battery.ocv_v[battery.ocv_points - 1]
    return max(battery.min_voltage_v, open_circuit_voltage(battery, soc) - v1)


@kernel
def charge_rates(battery, soc, v1, current_a):
    """Return SOĊ and V̇1 at a current [A]; an empty battery does not go below 0."""
    soc_rate = -current_a * battery.inverse_capacity
    if soc <= 0.0 and soc_rate < 0.0:
        soc_rate = 0.0
    if battery.model == IDEAL:
        return soc_rate, 0.0
    return soc_rate, -v1 * battery.inverse_r1c1 + current_a * battery.inverse_c1


@kernel
def warning_of(battery, remaining):
    """Return 0 none, 1 low, 2 critical, 3 emergency."""
    if remaining < battery.emergency_threshold:
        return 3
    if remaining < battery.critical_threshold:
        return 2
    if remaining < battery.low_threshold:
        return 1
    return 0
