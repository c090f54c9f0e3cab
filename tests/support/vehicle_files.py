"""Parameter files as QGroundControl saves them for a vehicle: known parameters, and hundreds of others."""

import struct

from px4lockstep.px4.parameters import known_parameters

HARDWARE = {
    "SYS_AUTOSTART": 4001,
    "SYS_HITL": 1,
    "CAL_ACC0_ID": 1310988,
    "CAL_GYRO0_XOFF": 0.0125,
    "SENS_BOARD_ROT": 6,
    "MAV_SYS_ID": 7,
    "RC_MAP_ROLL": 1,
    "RC1_MIN": 1000.0,
    "COM_RC_IN_MODE": 0,
    "NAV_DLL_ACT": 2,
    "PWM_MAIN_FUNC1": 104,
    "CBRK_SUPPLY_CHK": 0,
    "BAT1_V_DIV": 18.1,
    "SDLOG_MODE": 2,
}
"""Parameters that would stop a simulated PX4 from flying."""
OTHERS = {"EKF2_HDG_GATE": 2.6, "COM_HOME_EN": 1, **{f"UNUSED_{i}": i for i in range(600)}}
"""Parameters that only stock PX4 may have."""


def line_of(name, value):
    """Return a line as QGroundControl writes it: a float with 18 decimals of its float32."""
    if isinstance(value, int):
        return f"1\t1\t{name}\t{value}\t6"
    return f"1\t1\t{name}\t{struct.unpack('<f', struct.pack('<f', value))[0]:.18f}\t9"


def vehicle_text(**changes):
    """Return a file with all known parameters at their defaults, and more than 600 others, with some changed."""
    values = {name: parameter.default for name, parameter in known_parameters().items()}
    floats = [name for name, parameter in known_parameters().items() if parameter.kind == "float"]
    values |= {**HARDWARE, **OTHERS, **changes}
    values |= {name: float(values[name]) for name in floats}
    head = "# Onboard parameters for Vehicle 1\n#\n# Stack: PX4 Pro\n# Vehicle: Multi-Rotor\n#\n"
    return head + "\n".join(line_of(name, value) for name, value in sorted(values.items())) + "\n"


def write_vehicle(folder, name="vehicle.params", **changes):
    """Write such a file and return its path."""
    path = folder / name
    path.write_text(vehicle_text(**changes), "utf-8")
    return path
