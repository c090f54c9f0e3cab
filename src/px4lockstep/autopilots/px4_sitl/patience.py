"""How long the simulator waits for PX4's answer to a step, and when it gives up.

PX4 answers a step when it publishes motor commands. In some states it publishes none, although it runs: in offboard
mode without setpoints, or after flight termination. Its clock then follows the sensor data, and it answers again as
soon as it leaves that state. A client of PX4 can cause this at any time, so it must not end the run:

* A missed step is first waited for with the full timeout. Three in a row, or one while disarmed, are called silence if
  PX4 answers a MAVLink ping, which needs no simulated time. Steps then wait only `SILENT_S`.
* During silence, a ping every two simulated seconds shows whether PX4 still runs. One that does not answer it hangs.
* A run with an end gives up after a minute of silence, a run without an end never does.
* An answer to an earlier step shows that PX4 is catching up, so that step waits for the full timeout again.
"""

from dataclasses import dataclass

MISS, ANSWER, STALLED, MOST = 4, 1, 12, 16
"""A missed step adds 4 to the score, an answered one subtracts 1, and PX4 counts as stalled from 12 on: after three
missed steps in a row, or after four if every second step is missed. The score is at most 16."""
SILENT_S = 0.002
"""Wait for the answer to a step during silence; PX4 normally takes 0.2 ms."""
PING_US = 2_000_000
"""Simulated time between two pings during silence."""
GIVE_UP_US = 60_000_000
LONG_US = 100_000
"""Silence of this length is described in the warning."""


@dataclass
class Patience:
    """Counts missed steps, and selects the time to wait for an answer."""

    answer_timeout_s: float
    period_us: int = 0
    missed: int = 0
    in_a_row: int = 0
    is_silent: bool = False
    """Whether PX4 runs but answers no steps."""
    longest: int = 0
    longest_us: int = 0
    _score: int = 0
    _ping_us: int = 0

    @property
    def timeout_s(self) -> float:
        """How long to wait for the answer to the next step."""
        return min(SILENT_S, self.answer_timeout_s) if self.is_silent else self.answer_timeout_s

    @property
    def is_stalled(self) -> bool:
        """Whether so many steps were missed that the cause must be found."""
        return self._score >= STALLED

    @property
    def is_row(self) -> bool:
        """Whether three or more steps were missed in a row."""
        return self.in_a_row * MISS >= STALLED

    def is_over(self, has_end: bool) -> bool:
        """Return whether the silence is too long."""
        return has_end and self.in_a_row * self.period_us > GIVE_UP_US

    def answered(self) -> None:
        """Count an answered step."""
        self._score = max(0, self._score - ANSWER)
        self.in_a_row = 0
        if not self.is_stalled:
            self.is_silent = False

    def miss(self, time_us: int) -> None:
        """Count a missed step."""
        self.missed += 1
        self.in_a_row += 1
        self._score = min(MOST, self._score + MISS)
        if self.in_a_row > self.longest:
            self.longest, self.longest_us = self.in_a_row, time_us - (self.in_a_row - 1) * self.period_us

    def needs_ping(self, time_us: int, is_armed: bool) -> bool:
        """Return whether a ping must show that PX4 runs, after a missed step."""
        if self.is_silent:
            return time_us >= self._ping_us
        return self.is_stalled or not is_armed

    def runs(self, time_us: int) -> None:
        """Take note that PX4 has answered a ping."""
        self.is_silent = True
        self._ping_us = time_us + PING_US

    def warning(self, ticks: int, start_us: int) -> str:
        """Return a warning about the missed steps of a number of ticks, for a flight that began at `start_us`."""
        text = f"PX4 did not answer {self.missed} of {ticks} steps in time; motor commands were held"
        if self.longest * self.period_us < LONG_US:
            return text
        since_s, lasted_s = max(0, self.longest_us - start_us) / 1e6, self.longest * self.period_us / 1e6
        silent = f"it sent none for {lasted_s:.1f} s from {since_s:.1f} s on"
        return f"{text}; {silent}, as in offboard mode without setpoints or after flight termination"
