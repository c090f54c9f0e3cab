"""Landed or crashed or neither, from the true state.

    landed    z >= -0.05 m  and  |v_z| < 0.2 m/s        (down is positive)

While a mission is requested, it is forced to false from 0.5 s after the request until the vehicle has been above 1 m:
the autopilot may begin the take-off on the ground, and its landing is seen later. The ground is at z = 0.

A crash is to touch the ground faster than 3 m/s, in any direction, at the last boundary before. A drop of half a metre
is none; nothing lands on purpose at more than MPC_Z_VEL_MAX_DN, 1.5 m/s.
"""

from px4lockstep.jit import kernel, record

GROUND_MARGIN_M = 0.05
MAX_VERTICAL_M_S = 0.2
TAKEOFF_GRACE_US = 500_000
TAKEN_OFF_M = 1.0
CRASH_M_S = 3.0

LANDING = record(
    [
        ("mission", "i8"),  # as requested at the boundary before
        ("mission_us", "i8"),  # when it was requested
        ("has_taken_off", "i8"),  # since then
        ("is_airborne", "i8"),  # at the boundary before
        ("speed2", "f8"),  # squared, at the boundary before [m²/s²]
    ]
)


@kernel
def is_landed(landing, t_us, mission, down_m, down_m_s):
    """Return 1 if the vehicle has landed, else 0; to be asked at every boundary."""
    if mission > landing.mission:
        landing.mission_us = t_us
        landing.has_taken_off = 0
    landing.mission = mission
    if down_m < -TAKEN_OFF_M:
        landing.has_taken_off = 1
    if mission != 0 and landing.has_taken_off == 0 and t_us >= landing.mission_us + TAKEOFF_GRACE_US:
        return 0
    return 1 if down_m >= -GROUND_MARGIN_M and abs(down_m_s) < MAX_VERTICAL_M_S else 0


@kernel
def is_crash(landing, state, i_pos, i_vel):
    """Return 1 if the vehicle hits the ground, else 0; to be asked at every boundary."""
    vn, ve, vd = state.x[i_vel], state.x[i_vel + 1], state.x[i_vel + 2]
    was_airborne, before = landing.is_airborne, landing.speed2
    is_down = state.x[i_pos + 2] >= 0.0
    landing.is_airborne = 0 if is_down else 1
    landing.speed2 = vn * vn + ve * ve + vd * vd
    return 1 if is_down and was_airborne != 0 and before > CRASH_M_S * CRASH_M_S else 0
