"""A failsafe that took over a flight."""

from dataclasses import dataclass

from px4lockstep.autopilots.requests import RETURN_MODE
from px4lockstep.log.events import FAILSAFES, FlightEvent, mode_name

OTHER = 5
"""Number of a failsafe whose reason is unknown."""


@dataclass(frozen=True)
class Takeover:
    """A failsafe that changed the mode: its number, times and numbers of the modes, row of the log, mission item."""

    failsafe: int
    modes: tuple[tuple[int, int], ...]
    row: int
    item: int

    @property
    def time_s(self) -> float:
        """When it took over [s]."""
        return self.modes[0][0] / 1e6

    @property
    def is_return(self) -> bool:
        """Whether it returned, even if it landed at once in the end."""
        return any(mode == RETURN_MODE for _, mode in self.modes)

    @property
    def name(self) -> str:
        """Its name in messages: `a failsafe (battery)`."""
        return "a failsafe" if self.failsafe == OTHER else f"a failsafe ({FAILSAFES.get(self.failsafe, self.failsafe)})"

    @property
    def mode(self) -> str:
        """The names of its modes in messages: `mode hold, then return`."""
        return f"mode {', then '.join(mode_name(mode) for _, mode in self.modes)}"

    def has(self, event: FlightEvent) -> bool:
        """Return whether an event is one of its own: its name, or a change of mode."""
        return event.time_us >= self.modes[0][0] and event.label.startswith(("failsafe: ", "mode "))
