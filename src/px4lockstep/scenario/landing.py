"""Landed or crashed or neither, from the true state.

    landed    h <= 0.05 m  and  |v_z| < 0.2 m/s

with the height h of the centre of mass above where it stands: the ground is at z = 0, and legs hold it higher. From
0.5 s after a mission begins (asked for, and armed) until the vehicle has been above 1 m it is forced to false: the
autopilot may begin the take-off on the ground, and its landing is seen later. Not if it has given the mission up.

A crash is to touch the ground faster than 3 m/s, in any direction, at the last boundary before. A drop of half a metre
is none; nothing lands on purpose at more than MPC_Z_VEL_MAX_DN, 1.5 m/s.
"""

from px4lockstep.jit import kernel, record

GROUND_MARGIN_M = 0.05
MAX_VERTICAL_M_S = 0.2
TAKEOFF_GRACE_US = 500_000
TAKEN_OFF_M = 1.0
CRASH_M_S = 3.0
CRASH_ENDS, CRASH_LIES = 1, 2
"""What `bus.scenario.crashed` says of a vehicle that has hit the ground: the run ends there, or goes on."""
MISSION_STATE = 3
"""What an autopilot that flies a mission tells, as PX4 does; one that tells more has given it up."""

LANDING = record(
    [
        ("mission others", "i8"),  # requests at the boundary before
        ("is_asked", "i8"),  # for the mission, and for nothing else since
        ("is_begun", "i8"),  # asked for, and armed
        ("begun_us", "i8"),
        ("has_taken_off", "i8"),  # since then
        ("is_airborne", "i8"),  # at the boundary before
        ("speed2", "f8"),  # squared, at the boundary before [m²/s²]
    ]
)


@kernel
def watch_requests(landing, t_us, out):
    """Note when a mission begins: when it is asked for and the vehicle is armed."""
    if out.return_home + out.land > landing.others or (out.arm == 0 and landing.is_begun != 0):
        landing.is_asked = 0
    if out.mission > landing.mission:
        landing.is_asked = 1
        landing.is_begun = 0
    landing.mission = out.mission
    landing.others = out.return_home + out.land
    if landing.is_asked == 0 or out.arm == 0:
        landing.is_begun = 0
    elif landing.is_begun == 0:
        landing.is_begun = 1
        landing.begun_us = t_us
        landing.has_taken_off = 0


@kernel
def is_landed(landing, t_us, out, nav_state, height_m, down_m_s):
    """Return 1 if the vehicle has landed, else 0; to be asked at every boundary."""
    watch_requests(landing, t_us, out)
    if height_m > TAKEN_OFF_M:
        landing.has_taken_off = 1
    is_waiting = landing.is_begun != 0 and landing.has_taken_off == 0 and nav_state <= MISSION_STATE
    if is_waiting and t_us >= landing.begun_us + TAKEOFF_GRACE_US:
        return 0
    return 1 if height_m <= GROUND_MARGIN_M and abs(down_m_s) < MAX_VERTICAL_M_S else 0


@kernel
def is_crash(landing, state, height_m, i_vel):
    """Return 1 if the vehicle hits the ground, else 0; to be asked at every boundary."""
    vn, ve, vd = state.x[i_vel], state.x[i_vel + 1], state.x[i_vel + 2]
    was_airborne, before = landing.is_airborne, landing.speed2
    is_down = height_m <= 0.0
    landing.is_airborne = 0 if is_down else 1
    landing.speed2 = vn * vn + ve * ve + vd * vd
    return 1 if is_down and was_airborne != 0 and before > CRASH_M_S * CRASH_M_S else 0
