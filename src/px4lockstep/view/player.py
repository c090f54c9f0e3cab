"""The clock of a replay: play, pause, speed, steps and jumps, in microseconds. It knows nothing of the browser."""

from collections.abc import Sequence

import numpy as np

from px4lockstep.log.events import FlightEvent
from px4lockstep.view.flown import ViewedFlight

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
PREVIOUS_US = 500_000
"""A jump back from shortly after an event goes to the event before it, so that two jumps during play go further."""


class Player:
    """The current time of a replay.

    Args:
        flights: The flights, of which the first gives the rows to step by.
    """

    def __init__(self, flights: Sequence[ViewedFlight]) -> None:
        self._rows_us = flights[0].time_us
        self.first_us = min(int(flight.time_us[0]) for flight in flights)
        self.last_us = max(int(flight.time_us[-1]) for flight in flights)
        events = [event for flight in flights for event in flight.events]
        self.events: tuple[FlightEvent, ...] = tuple(sorted(events, key=lambda event: event.time_us))
        self.time_us = self.first_us
        self.is_playing = False
        self.speed = 1.0
        self.seeks = 0
        """How often the time was set, rather than passed."""
        self._left_us = 0.0

    def toggle(self) -> None:
        """Play or pause; at the end, play again from the start."""
        if not self.is_playing and self.time_us >= self.last_us:
            self.seek(self.first_us)
        self.is_playing = not self.is_playing

    def seek(self, time_us: int) -> None:
        """Go to a time; one outside the flight is its start or end."""
        self.time_us, self._left_us = min(max(int(time_us), self.first_us), self.last_us), 0.0
        self.seeks += 1

    def advance(self, elapsed_s: float) -> None:
        """Let the time of a clock on the wall pass, if it plays; pause at the end."""
        if not self.is_playing:
            return
        exact_us = self._left_us + 1e6 * elapsed_s * self.speed
        whole_us = int(exact_us)
        self._left_us = exact_us - whole_us
        self.time_us = min(self.time_us + whole_us, self.last_us)
        if self.time_us == self.last_us:
            self.is_playing = False

    def step_rows(self, count: int) -> None:
        """Pause, and go to a row of the log after or before this time."""
        self.is_playing = False
        if count > 0:
            row = int(np.searchsorted(self._rows_us, self.time_us, side="right")) + count - 1
        else:
            row = int(np.searchsorted(self._rows_us, self.time_us, side="left")) + count
        self.seek(int(self._rows_us[min(max(row, 0), len(self._rows_us) - 1)]))

    def step_us(self, count_us: int) -> None:
        """Go forward or back by some time."""
        self.seek(self.time_us + count_us)

    def jump(self, direction: int) -> FlightEvent | None:
        """Go to the next event, or to the one before; return it, or None if there is none."""
        if direction > 0:
            found = next((event for event in self.events if event.time_us > self.time_us), None)
        else:
            before_us = self.time_us - (PREVIOUS_US if self.is_playing else 0)
            found = next((event for event in reversed(self.events) if event.time_us < before_us), None)
        if found is not None:
            self.seek(found.time_us)
        return found

    def faster(self, direction: int) -> None:
        """Choose the next higher or lower speed."""
        nearest = min(range(len(SPEEDS)), key=lambda i: abs(SPEEDS[i] - self.speed))
        self.speed = SPEEDS[min(max(nearest + direction, 0), len(SPEEDS) - 1)]
