"""The environment of a flight: wind with its gusts, air and gravity.

Each of the parts that it inherits from writes a record of its own: `environment.only(Wind).write(…)`.
"""

from typing import ClassVar

from px4lockstep.environment.atmosphere import Atmosphere
from px4lockstep.environment.gravity import Gravity
from px4lockstep.environment.gust import MAX_GUSTS, Gust
from px4lockstep.environment.wind import Wind
from px4lockstep.part import entry


class Environment(Gravity, Atmosphere, Wind):  # type: ignore[misc]  # two methods write
    """Air and gravity."""

    stage: ClassVar[str | None] = "wind"

    gusts: tuple[Gust, ...] = entry((), "Steps on top of any wind.", max_length=MAX_GUSTS)
