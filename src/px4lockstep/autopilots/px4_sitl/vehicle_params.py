"""Parameters of a vehicle that stock PX4 does not get from a `.params` file, because they describe its hardware.

With them, PX4 would look for sensors, links and outputs that the simulation does not have, and would not arm or not
even start. A user who wants one of them sets it in `autopilot.params`.
"""

import re
from collections.abc import Mapping

HELD_BACK: Mapping[str, tuple[str, ...]] = {
    "start and airframe, which `px4.sitl.airframe` selects": ("SYS_*",),
    "calibration and drivers of sensors": (
        *("CAL_*", "SENS_*", "TC_*", "IMU_INTEG_RATE", "IMU_GYRO_RATEMAX", "EKF2_MULTI_*", "EKF2_GPS_DELAY"),
        "GPS_*",
    ),
    "sensors that are not simulated": ("EKF2_EV_*", "EKF2_OF_*", "EKF2_RNG_*", "EKF2_HGT_REF", "EKF2_AID_MASK"),
    "links and remote control": (
        *("MAV_*", "SER_*", "UXRCE_*", "UAVCAN_*", "CANNODE_*", "RC_*", "RC#*", "COM_RC*", "NAV_RCL_ACT"),
        *("NAV_DLL_ACT", "COM_DL_*"),
    ),
    "outputs": ("PWM_*", "DSHOT_*", "HIL_ACT_*"),
    "power supply and its measurement": (
        *("CBRK_*", "COM_POWER_COUNT", "BAT#_SOURCE", "BAT#_V_DIV", "BAT#_A_PER_V", "BAT#_V_CHANNEL"),
        *("BAT#_I_CHANNEL", "INA*", "SIM_*"),
    ),
    "checks of hardware before arming": (
        *("COM_ARM_CHK_ESCS", "COM_ARM_HFLT_CHK", "COM_ARM_ODID", "COM_ARM_SDCARD", "COM_CPU_MAX", "COM_RAM_MAX"),
        *("COM_PREARM_MODE", "FD_ESCS_EN", "FD_EXT_ATS_EN"),
    ),
    "PX4's log": ("SDLOG_*",),
}
"""Reasons and names; `*` stands for the rest of a name, `#` for a digit."""
_PATTERN = re.compile(
    "|".join(name.replace("*", ".*").replace("#", r"\d") for names in HELD_BACK.values() for name in names)
)


def is_held_back(name: str) -> bool:
    """Return whether a parameter of a file describes hardware that stock PX4 does not have here."""
    return _PATTERN.fullmatch(name) is not None
