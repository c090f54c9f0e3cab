"""What only shows when the parts of a flight are built. Each check yields the key and what is wrong with it.

A file may be loaded without them: not every aircraft that can be described can fly.
"""

from collections.abc import Callable

import numpy as np

from px4lockstep.autopilots.builtin.autopilot import Builtin
from px4lockstep.autopilots.builtin.control_model import KnownAircraft
from px4lockstep.autopilots.builtin.stack import BUILTIN
from px4lockstep.part import Found, Key
from px4lockstep.spec.build_aircraft import PlacedError, at, build_aircraft
from px4lockstep.spec.flight_checks import us
from px4lockstep.spec.parts import build_autopilot
from px4lockstep.spec.spec import Spec
from px4lockstep.vehicle.dispatch import PLANT

AIRCRAFT = ("aircraft", "home", "plant", "environment", "airframe", "actuation", "power")
"""The tables that an aircraft is made of."""


def check_aircraft(spec: Spec) -> Found:
    """Numbers that can be computed with, motors that can lift it."""
    try:
        aircraft = build_aircraft(spec)
        with at(()):
            aircraft.write(np.zeros(1, PLANT)[0])
    except PlacedError as error:
        yield error.key, str(error)


def check_autopilot(spec: Spec) -> Found:
    """An autopilot that is there, an aircraft that it can fly, a mission that begins near home."""
    try:
        with at(("px4", "mission_path")):
            mission = spec.mission
        autopilot = build_autopilot(spec.autopilot, spec.px4, spec.home, mission)
    except PlacedError as error:
        yield error.key, str(error)
        return
    if not isinstance(autopilot, Builtin):  # real PX4 says what it does not like when it is started
        return
    try:
        aircraft = build_aircraft(spec)
    except PlacedError:
        return  # which is an error of its own
    try:
        with at(("autopilot",)):
            autopilot.write(np.zeros(1, BUILTIN)[0], KnownAircraft.of(aircraft), us(spec.timeline.dt_autopilot_s))
    except PlacedError as error:
        yield error.key, str(error)


def related(key: Key, needed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tables whose values may be to blame for an error of a key."""
    table = str(key[0]) if key else ""
    return {
        "": needed,
        "px4": ("px4", "home", "autopilot"),  # a mission that begins elsewhere
        "autopilot": ("autopilot", "airframe"),  # rotors that can't steer
    }.get(table, (table,))


BUILD_CHECKS: tuple[tuple[Callable[[Spec], Found], tuple[str, ...]], ...] = (
    (check_aircraft, AIRCRAFT),
    (check_autopilot, (*AIRCRAFT, "px4", "autopilot", "timeline")),
)
"""All of them, each with the tables that it needs."""
