"""The environment of a flight: wind, gusts, atmosphere and gravity.

Each inherited part writes its own record: `environment.only(Wind).write(…)`.
"""

from px4lockstep.environment.atmosphere import Atmosphere
from px4lockstep.environment.gravity import Gravity
from px4lockstep.environment.gust import MAX_GUSTS, Gust
from px4lockstep.environment.wind import Wind
from px4lockstep.part import entry


class Environment(Gravity, Atmosphere, Wind, stage="wind"):  # type: ignore[misc]  # two `write` methods
    """Wind, gusts, atmosphere and gravity."""

    gusts: tuple[Gust, ...] = entry((), "Gusts, added to the wind.", max_length=MAX_GUSTS)
