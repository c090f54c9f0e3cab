"""PX4's flight modes in MAVLink: `custom_mode` of a heartbeat, and the list of modes that a ground station shows.

    custom_mode = main << 16 | sub << 24

Reference: PX4's `px4_custom_mode.h` and `MAV_STANDARD_MODE`; measured on its development version of August 2026.
"""

from typing import NamedTuple

MANUAL, ALTITUDE, POSITION, MISSION, HOLD, RETURN = 0, 1, 2, 3, 4, 5
SLOW, GUIDED_COURSE, ALTITUDE_CRUISE, ACRO, DESCEND, TERMINATION, OFFBOARD, STABILIZED = 6, 7, 8, 10, 12, 13, 14, 15
TAKEOFF, LAND, FOLLOW, PRECISION_LAND, ORBIT, VTOL_TAKEOFF = 17, 18, 19, 20, 21, 22
"""PX4's mode numbers (`nav_state`)."""
EXTERNAL_1, EXTERNALS = 23, 8

CUSTOM_MODES = {MANUAL: (1, 0), ALTITUDE: (2, 0), POSITION: (3, 0), ORBIT: (3, 1), SLOW: (3, 2), ACRO: (5, 0)}
CUSTOM_MODES |= {OFFBOARD: (6, 0), STABILIZED: (7, 0), TERMINATION: (10, 0), ALTITUDE_CRUISE: (11, 0)}
CUSTOM_MODES |= {TAKEOFF: (4, 2), HOLD: (4, 3), MISSION: (4, 4), RETURN: (4, 5), LAND: (4, 6), FOLLOW: (4, 8)}
CUSTOM_MODES |= {PRECISION_LAND: (4, 9), VTOL_TAKEOFF: (4, 10), GUIDED_COURSE: (4, 19), DESCEND: (4, 20)}
CUSTOM_MODES |= {EXTERNAL_1 + i: (4, 11 + i) for i in range(EXTERNALS)}
"""Main and sub mode by `nav_state`; main mode 4 is AUTO. v1.17.0 shows descend as (4, 6), land."""
MODES = {pair: number for number, pair in CUSTOM_MODES.items()}
"""`nav_state` by main and sub mode."""

ARMED, IS_CUSTOM = 128, 1
AUTO_BITS = 28
"""Of `base_mode` in automatic modes: stabilized, guided and auto; offboard, orbit and follow have `GUIDED_BITS`."""
GUIDED_BITS = 16
MANUAL_BITS = {MANUAL: 64, ACRO: 64, STABILIZED: 80, ALTITUDE: 80, POSITION: 80, SLOW: 80, ALTITUDE_CRUISE: 80}
"""Of `base_mode` in modes that follow the sticks: manual input, and stabilized where it is."""

ADVANCED, NOT_SELECTABLE = 1, 2


class ListedMode(NamedTuple):
    """A mode in AVAILABLE_MODES; a standard mode has no name of its own."""

    nav_state: int
    name: str = ""
    standard: int = 0
    properties: int = 0


LISTED = (
    ListedMode(POSITION, standard=1),
    ListedMode(ALTITUDE, standard=4),
    ListedMode(ORBIT, standard=2, properties=ADVANCED),
    ListedMode(RETURN, standard=5, properties=ADVANCED),
    ListedMode(MISSION, standard=6, properties=ADVANCED),
    ListedMode(LAND, standard=7, properties=ADVANCED),
    ListedMode(TAKEOFF, standard=8, properties=ADVANCED),
    ListedMode(HOLD, "Hold", properties=ADVANCED),
    ListedMode(FOLLOW, "Follow Target", properties=ADVANCED),
    ListedMode(OFFBOARD, "Offboard", properties=ADVANCED),
    ListedMode(STABILIZED, "Stabilized", properties=ADVANCED),
    ListedMode(ACRO, "Acro", properties=ADVANCED),
    ListedMode(DESCEND, "Descend", properties=ADVANCED | NOT_SELECTABLE),
    ListedMode(TERMINATION, "Termination", properties=ADVANCED | NOT_SELECTABLE),
)
"""The modes that a served vehicle has."""
STANDARD = {mode.nav_state: mode.standard for mode in LISTED}


def custom_mode(nav_state: int) -> int:
    """Return the mode as in heartbeats; an unknown one is shown as manual."""
    main, sub = CUSTOM_MODES.get(nav_state, CUSTOM_MODES[MANUAL])
    return main << 16 | sub << 24


def base_mode(nav_state: int, is_armed: bool) -> int:
    """Return the `base_mode` of a heartbeat."""
    if nav_state in (OFFBOARD, ORBIT, FOLLOW):
        bits = GUIDED_BITS
    else:
        bits = MANUAL_BITS.get(nav_state, AUTO_BITS)
    return IS_CUSTOM | bits | (ARMED if is_armed else 0)


def nav_state(custom: int) -> int | None:
    """Return the mode's number, given as in heartbeats; None for an unknown one."""
    return MODES.get((custom >> 16 & 0xFF, custom >> 24))
