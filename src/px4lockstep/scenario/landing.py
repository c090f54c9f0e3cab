"""Detection of landings and crashes from the true state.

    landed    h <= 0.05 m  and  |v_z| < 0.2 m/s

h is the height of the centre of mass above its height at rest: the ground is at z = 0, and legs hold it higher. From
0.5 s after the mission begins (requested and armed) until the vehicle has been above 1 m, `landed` is forced to false,
so that the autopilot can take off from the ground. This does not apply once the autopilot has abandoned the mission.

A crash is a ground contact with a speed above 3 m/s, in any direction, at the last boundary before it. A drop of half a
metre is not a crash; intentional landings are slower than MPC_Z_VEL_MAX_DN, 1.5 m/s.

A run that ends after the landing (`Timeline.ends_after_landing`) ends at the first boundary

    3 s after      the vehicle is on the ground (h and v_z as above) and off: the autopilot has disarmed, or
                   nothing requests arming and no condition of an event is left that could
    60 s after     it is on the ground in any other state: it can't arm, can't take off or does not disarm

without an interruption, and after the last event with a time.
"""

from px4lockstep.jit import kernel, record

GROUND_MARGIN_M = 0.05
MAX_VERTICAL_M_S = 0.2
TAKEOFF_GRACE_US = 500_000
TAKEN_OFF_M = 1.0
CRASH_M_S = 3.0
CRASH_ENDS, CRASH_LIES = 1, 2
"""Values of `bus.scenario.crashed` after a crash: the run ends, or continues."""
OFF_US = 3_000_000
STUCK_US = 60_000_000
IN_FLIGHT, ON_GROUND, OFF = range(3)
"""Values of `landing.rest`."""
MISSION_STATE = 3
"""The navigation state of PX4 in a mission; an autopilot with a higher one has abandoned the mission."""

LANDING = record(
    [
        ("arm mission others", "i8"),  # requests at the previous boundary
        ("was_armed", "i8"),  # whether the autopilot was armed at the previous boundary
        ("is_disarmed", "i8"),  # the autopilot has disarmed, and there was no new request to arm
        ("is_asked", "i8"),  # the mission is the latest request
        ("is_begun", "i8"),  # the mission is requested, and the vehicle is armed
        ("begun_us", "i8"),
        ("has_taken_off", "i8"),  # since the mission began
        ("is_airborne", "i8"),  # at the previous boundary
        ("speed2", "f8"),  # speed squared at the previous boundary [m²/s²]
        ("rest", "i8"),  # where a run that ends after the landing is: `IN_FLIGHT` until all events with a time fired
        ("over_us", "i8"),  # the time from which such a run is over, unless `rest` changes; 0 in flight
    ],
    limits={"rest": OFF},
)


@kernel
def watch_requests(landing, t_us, out, is_armed):
    """Record when a mission begins: when it is requested and the vehicle is armed."""
    if is_armed == 0 and landing.was_armed != 0:
        landing.is_disarmed = 1
    if out.arm != landing.arm:
        landing.is_disarmed = 0
    landing.arm = out.arm
    landing.was_armed = is_armed
    is_off = out.arm == 0 or landing.is_disarmed != 0
    if out.return_home + out.land > landing.others or (is_off and landing.is_begun != 0):
        landing.is_asked = 0
    if out.mission > landing.mission:
        landing.is_asked = 1
        landing.is_begun = 0
    landing.mission = out.mission
    landing.others = out.return_home + out.land
    if landing.is_asked == 0 or is_off:
        landing.is_begun = 0
    elif landing.is_begun == 0:
        landing.is_begun = 1
        landing.begun_us = t_us
        landing.has_taken_off = 0


@kernel
def watch_rest(landing, t_us, is_waiting, n_watched, out, is_armed, height_m, down_m_s):
    """Note when the vehicle came to rest, and from when the run is over; events with a time are `is_waiting`."""
    rest = IN_FLIGHT
    if not is_waiting and height_m <= GROUND_MARGIN_M and abs(down_m_s) < MAX_VERTICAL_M_S:
        is_off = landing.is_disarmed != 0 or (out.arm == 0 and n_watched == 0)
        rest = OFF if is_off and is_armed == 0 else ON_GROUND
    if rest != landing.rest:
        landing.rest = rest
        landing.over_us = 0 if rest == IN_FLIGHT else t_us + (OFF_US if rest == OFF else STUCK_US)


@kernel
def is_landed(landing, t_us, out, autopilot, height_m, down_m_s):
    """Return 1 if the vehicle has landed, else 0; call it at every boundary."""
    watch_requests(landing, t_us, out, autopilot.armed)
    if height_m > TAKEN_OFF_M:
        landing.has_taken_off = 1
    is_waiting = landing.is_begun != 0 and landing.has_taken_off == 0 and autopilot.nav_state <= MISSION_STATE
    if is_waiting and t_us >= landing.begun_us + TAKEOFF_GRACE_US:
        return 0
    return 1 if height_m <= GROUND_MARGIN_M and abs(down_m_s) < MAX_VERTICAL_M_S else 0


@kernel
def is_crash(landing, state, height_m, i_vel):
    """Return 1 if the vehicle crashes into the ground, else 0; call it at every boundary."""
    vn, ve, vd = state.x[i_vel], state.x[i_vel + 1], state.x[i_vel + 2]
    was_airborne, before = landing.is_airborne, landing.speed2
    is_down = height_m <= 0.0
    landing.is_airborne = 0 if is_down else 1
    landing.speed2 = vn * vn + ve * ve + vd * vd
    return 1 if is_down and was_airborne != 0 and before > CRASH_M_S * CRASH_M_S else 0
