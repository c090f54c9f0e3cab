"""The environment of a flight: wind with its gusts, air and gravity.

Each of the parts that it inherits from writes a record of its own: `environment.only(Wind).write(…)`.
"""

from px4lockstep.environment.atmosphere import Atmosphere
from px4lockstep.environment.gravity import Gravity
from px4lockstep.environment.gust import MAX_GUSTS, Gust
from px4lockstep.environment.wind import Wind
from px4lockstep.part import entry


class Environment(Gravity, Atmosphere, Wind, stage="wind"):  # type: ignore[misc]  # two methods write
    """Air and gravity."""

    gusts: tuple[Gust, ...] = entry((), "Steps on top of any wind.", max_length=MAX_GUSTS)
