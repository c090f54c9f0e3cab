"""The PX4 parameters that the built-in autopilot uses; a user's others are rejected, an airframe's are ignored."""

from collections.abc import Mapping

from px4lockstep.errors import InputError

GEOMETRY = ("PX", "PY", "PZ", "AX", "AY", "AZ", "KM", "CT")
USED = frozenset(
    """
    CA_METHOD COM_DISARM_LAND COM_DISARM_PRFLT COM_DLL_EXCEPT COM_DL_LOSS_T COM_FAIL_ACT_T COM_LOW_BAT_ACT
    COM_OBL_RC_ACT COM_OF_LOSS_T COM_RCL_EXCEPT COM_RC_LOSS_T COM_SPOOLUP_TIME FLW_TGT_ALT_M FLW_TGT_DST FLW_TGT_FA
    FLW_TGT_HT FLW_TGT_MAX_VEL FLW_TGT_RS GF_ACTION GF_MAX_HOR_DIST GF_MAX_VER_DIST HTE_ACC_GATE HTE_HT_ERR_INIT
    HTE_HT_NOISE HTE_THR_RANGE IMU_DGYRO_CUTOFF LNDMC_ROT_MAX LNDMC_TRIG_TIME LNDMC_XY_VEL_MAX LNDMC_Z_VEL_MAX
    MAN_DEADZONE MAN_OVERRIDE_SPD MC_ACRO_EXPO MC_ACRO_EXPO_Y MC_ACRO_P_MAX MC_ACRO_R_MAX MC_ACRO_SUPEXPO
    MC_ACRO_SUPEXPOY MC_ACRO_Y_MAX MC_BAT_SCALE_EN MC_MAN_TILT_TAU MC_PITCHRATE_D MC_PITCHRATE_FF MC_PITCHRATE_I
    MC_PITCHRATE_K MC_PITCHRATE_MAX MC_PITCHRATE_P MC_PITCH_P MC_PR_INT_LIM MC_ROLLRATE_D MC_ROLLRATE_FF MC_ROLLRATE_I
    MC_ROLLRATE_K MC_ROLLRATE_MAX MC_ROLLRATE_P MC_ROLL_P MC_RR_INT_LIM MC_YAWRATE_D MC_YAWRATE_FF MC_YAWRATE_I
    MC_YAWRATE_K MC_YAWRATE_MAX MC_YAWRATE_P MC_YAW_P MC_YAW_TQ_CUTOFF MC_YAW_WEIGHT MC_YR_INT_LIM MIS_DIST_1WP
    MIS_MNT_YAW_CTL MIS_TAKEOFF_ALT MIS_YAW_ERR MIS_YAW_TMT MPC_ACC_DECOUPLE MPC_ACC_DOWN_MAX MPC_ACC_HOR MPC_ACC_UP_MAX
    MPC_JERK_AUTO MPC_JERK_MAX MPC_LAND_ALT1 MPC_LAND_ALT2 MPC_LAND_SPEED MPC_MANTHR_MIN MPC_MAN_TILT_MAX MPC_MAN_Y_MAX
    MPC_MAN_Y_TAU MPC_THR_CURVE MPC_THR_HOVER MPC_THR_MAX MPC_THR_MIN MPC_THR_XY_MARG MPC_TILTMAX_AIR MPC_TILTMAX_LND
    MPC_TKO_RAMP_T MPC_TKO_SPEED MPC_USE_HTE MPC_VELD_LP MPC_VEL_LP MPC_VEL_MANUAL MPC_VEL_MAN_BACK MPC_VEL_MAN_SIDE
    MPC_XY_CRUISE MPC_XY_ERR_MAX MPC_XY_P MPC_XY_TRAJ_P MPC_XY_VEL_D_ACC MPC_XY_VEL_I_ACC MPC_XY_VEL_MAX
    MPC_XY_VEL_P_ACC MPC_YAWRAUTO_ACC MPC_YAWRAUTO_MAX MPC_YAW_MODE MPC_Z_P MPC_Z_VEL_D_ACC MPC_Z_VEL_I_ACC
    MPC_Z_VEL_MAX_DN MPC_Z_VEL_MAX_UP MPC_Z_VEL_P_ACC MPC_Z_V_AUTO_DN MPC_Z_V_AUTO_UP NAV_ACC_RAD NAV_DLL_ACT
    NAV_LOITER_RAD NAV_MC_ALT_RAD NAV_RCL_ACT RTL_CONE_ANG RTL_DESCEND_ALT RTL_LAND_DELAY RTL_MIN_DIST RTL_RETURN_ALT
    RTL_TYPE THR_MDL_FAC
    """.split()  # noqa: SIM905 (as a literal it takes 92 lines)
)
"""The parameters that the built-in autopilot uses besides the rotor geometry."""
RTL_TYPES = RETURN_HOME_OR_RALLY, RETURN_RALLY = 0, 5
"""Values of RTL_TYPE that are implemented."""
IMPLEMENTED: Mapping[str, tuple[tuple[int, ...], str]] = {
    "COM_LOW_BAT_ACT": ((0, 1, 2, 3), "is unknown; it must be 0 to 3"),
    "CA_METHOD": ((1, 2), "is not implemented; allowed: 1 and 2 (sequential desaturation)"),
    "RTL_TYPE": (
        RTL_TYPES,
        "is not implemented; allowed: 0 (home or the closest rally point) and 5 (the closest rally point)",
    ),
}
"""Values that are implemented of parameters for which PX4 allows more, and the message for others."""
WITH_OPTION = {"LNDMC_": "set land_detector to 'estimate'", "HTE_": "switch hover_thrust_estimate on"}
"""Remedies for parameters that are used only with an option."""

Params = Mapping[str, float | int]


def used_params(params: Params, land_detector: str, hover_thrust_estimate: bool) -> dict[str, float | int]:
    """Return the PX4 parameters that have an effect with these options."""
    with_options = {"LNDMC_": land_detector == "estimate", "HTE_": hover_thrust_estimate}

    def is_used(name: str) -> bool:
        if name.startswith("CA_ROTOR"):
            return name.rpartition("_")[2] in GEOMETRY
        return name in USED and all(is_on for start, is_on in with_options.items() if name.startswith(start))

    return {name: value for name, value in params.items() if is_used(name)}


def check_use(params: Params, land_detector: str, hover_thrust_estimate: bool) -> None:
    """Reject PX4 parameters that have no effect with these options."""
    used = used_params(params, land_detector, hover_thrust_estimate)
    unused = [name for name in params if name not in used]
    if not unused:
        return
    options = [option for start, option in WITH_OPTION.items() if any(name.startswith(start) for name in unused)]
    them = "it" if len(unused) == 1 else "them"
    raise InputError(
        f"params {', '.join(unused)}: PX4 has {them}, but the built-in autopilot does not use {them}; "
        f"remove {them}, or {' and '.join(options) or 'fly real PX4'}"
    )


def implemented(params: Params) -> dict[str, float | int]:
    """Return parameters without those whose values PX4 allows but the built-in autopilot does not implement."""
    return {name: value for name, value in params.items() if name not in IMPLEMENTED or value in IMPLEMENTED[name][0]}


def check_values(values: Params) -> None:
    """Reject values that PX4 allows but the built-in autopilot does not implement."""
    for name, (allowed, text) in IMPLEMENTED.items():
        if values[name] not in allowed:
            raise InputError(f"{name} = {values[name]} {text}")
