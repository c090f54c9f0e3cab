"""A failsafe that took over a flight."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.requests import MISSION_MODE, OFFBOARD_MODE, RETURN_MODE
from px4lockstep.log.changes import changed_rows
from px4lockstep.log.events import FAILSAFES, FlightEvent, mode_name
from px4lockstep.log.log import Log

OTHER = 5
"""Number of a failsafe whose reason is unknown."""


STATUS = ("nav_state", "failsafe", "armed", "mission_item")
"""Columns of the log that show whether a failsafe took over."""


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


def mode_changes(log: Log) -> npt.NDArray[np.int64]:
    """Return the rows in which the mode of an armed vehicle changed; none if the log does not show failsafes."""
    if any(name not in log for name in STATUS):
        return np.zeros(0, np.int64)
    rows = changed_rows(log["nav_state"])
    found: npt.NDArray[np.int64] = rows[log["armed"][rows] != 0]
    return found


def last_takeover(
    log: Log, changes: Sequence[int], until: int, is_end_of_mission: Callable[[int], bool]
) -> Takeover | None:
    """Return the last failsafe that took over; None if there was none, or if it is over.

    Args:
        log: The log of the flight.
        changes: Rows in which the mode changed; earlier and later ones do not count.
        until: The row at which this ends.
        is_end_of_mission: Returns whether the mission itself changed the mode in a row.
    """
    if not len(changes):
        return None
    modes, failsafes = log["nav_state"], log["failsafe"]
    found: list[int] = []
    for row in changes:
        if modes[row] in (MISSION_MODE, OFFBOARD_MODE):
            found = []
        elif failsafes[row] and not is_end_of_mission(row):
            found.append(row)
    if not found:
        return None
    since = failsafes[found[0] : until]
    named = since[(since != 0) & (since != OTHER)]  # stock PX4 may give the reason later
    number = int(named[0]) if len(named) else OTHER
    entered = tuple((int(log.time_us[row]), int(modes[row])) for row in found)
    return Takeover(number, entered, found[0], int(log["mission_item"][found[0]]))
