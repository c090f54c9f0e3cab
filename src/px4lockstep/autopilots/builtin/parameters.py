"""The parameters of PX4 that the built-in autopilot uses, and what it says to others."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from px4lockstep.errors import InputError

GEOMETRY = ("PX", "PY", "PZ", "AX", "AY", "AZ", "KM", "CT")
USED = (
    rf"CA_METHOD|CA_ROTOR\d+_({'|'.join(GEOMETRY)})|COM_(DISARM_LAND|LOW_BAT_ACT|SPOOLUP_TIME)"
    r"|GF_(ACTION|MAX_(HOR|VER)_DIST)"
    r"|HTE_(ACC_GATE|HT_ERR_INIT|HT_NOISE|THR_RANGE)|IMU_DGYRO_CUTOFF|LNDMC_(ROT_MAX|TRIG_TIME|(XY|Z)_VEL_MAX)"
    r"|MC_(PITCH|ROLL|YAW)(_P|RATE_([DIKP]|FF|MAX))|MC_[PRY]R_INT_LIM|MC_(BAT_SCALE_EN|YAW_TQ_CUTOFF|YAW_WEIGHT)"
    r"|MIS_(DIST_1WP|YAW_ERR|YAW_TMT)|MPC_ACC_(DECOUPLE|DOWN_MAX|HOR|UP_MAX)|MPC_JERK_AUTO|MPC_LAND_(ALT1|ALT2|SPEED)"
    r"|MPC_THR_(HOVER|MAX|MIN|XY_MARG)|MPC_TILTMAX_(AIR|LND)|MPC_TKO_(RAMP_T|SPEED)|MPC_USE_HTE|MPC_VELD?_LP"
    r"|MPC_XY_(CRUISE|ERR_MAX|TRAJ_P|VEL_MAX)|MPC_(XY|Z)_(P|VEL_[DIP]_ACC)|MPC_YAWRAUTO_(ACC|MAX)|MPC_YAW_MODE"
    r"|MPC_Z_V(EL_MAX|_AUTO)_(DN|UP)|NAV_(ACC_RAD|MC_ALT_RAD)|RTL_(CONE_ANG|DESCEND_ALT|LAND_DELAY|MIN_DIST|RETURN_ALT)"
    r"|THR_MDL_FAC"
)
"""The parameters that the built-in autopilot has a use for, as a pattern; to change another is an error."""
WITH_OPTION = {"LNDMC_": "set land_detector to 'estimate'", "HTE_": "switch hover_thrust_estimate on"}
"""What to do for those that have a use only with an option."""

Params = Mapping[str, float | int]


def copy_parameters(record: Any, p: Params, pairs: str) -> None:
    """Write parameters as they are into the fields of a record: `field=PARAMETER`, with spaces between."""
    for field, name in (pair.split("=") for pair in pairs.split()):
        record[field] = p[name]


def check_use(names: Sequence[str], land_detector: str, hover_thrust_estimate: bool) -> None:
    """Refuse parameters of PX4 that change nothing with these options."""
    with_options = {"LNDMC_": land_detector == "estimate", "HTE_": hover_thrust_estimate}

    def is_used(name: str) -> bool:
        is_on = all(is_on for start, is_on in with_options.items() if name.startswith(start))
        return is_on and re.fullmatch(USED, name) is not None

    unused = [name for name in names if not is_used(name)]
    if not unused:
        return
    options = [option for start, option in WITH_OPTION.items() if any(name.startswith(start) for name in unused)]
    them = "it" if len(unused) == 1 else "them"
    raise InputError(
        f"params {', '.join(unused)}: PX4 has {them}, but the built-in autopilot has no use for {them}; "
        f"leave {them} out, or {' and '.join(options) or 'fly real PX4'}"
    )


def check_values(values: Params) -> None:
    """Refuse values that PX4 allows and the built-in autopilot does not have."""
    if values["COM_LOW_BAT_ACT"] not in (0, 1, 2, 3):
        raise InputError(f"COM_LOW_BAT_ACT = {values['COM_LOW_BAT_ACT']} is unknown; allowed are 0 to 3")
    if values["CA_METHOD"] not in (1, 2):
        raise InputError(
            f"CA_METHOD = {values['CA_METHOD']} is not built in; allowed are 1 and 2 (sequential desaturation)"
        )
