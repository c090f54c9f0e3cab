"""Requests that a later one replaced: whether the vehicle was on its way when it was told otherwise.

A request may be replaced before it is done, so only a clear failure counts. A request failed if

* a failsafe took over before it was done, unless it only reacted to a lack of setpoints; or
* the vehicle had left the setpoints of a mission, a return, a landing or setpoint mode (see `following`); or
* the vehicle never reached the goal of a command (see `guided`), and came no nearer in the last five seconds.

A request lasts until the next one, or until the vehicle is disarmed. A vehicle on the ground has ten seconds to begin.
A mission that was finished, or that is requested again, did not fail.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.requests import OFFBOARD_MODE
from px4lockstep.flights.following import APPROACH_M, STALLED_US, departure, means_before, rows_before
from px4lockstep.flights.guided import GUIDED, PILOT, SLOW, distances, guiding, name_of, row_of, wanted_m_s
from px4lockstep.flights.outcome import NOT_FINISHED, NOT_FOLLOWED, NOT_OBEYED, TAKEOFF_S
from px4lockstep.flights.requested import LOST, MEAN_US, MISSION, REQUESTS, SETPOINTS
from px4lockstep.flights.takeover import Takeover
from px4lockstep.log.changes import raised_rows
from px4lockstep.log.log import Log
from px4lockstep.scenario.commands import CommandRow

GROUNDED_US = round(TAKEOFF_S * 1e6)
"""Time that a vehicle on the ground has to begin."""
CLEARED_US = 1_000_000
"""Time after a request within which a failsafe that was there before is cleared."""
WORDS = {MISSION: NOT_FINISHED, SETPOINTS: NOT_FOLLOWED}
"""Outcomes of requests; that of the others is `NOT_OBEYED`."""

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Missed:
    """A request that failed: the outcome, what was requested and when, and why it failed."""

    word: str
    asked: str
    why: str


def first_missed(
    log: Log,
    commands: Sequence[CommandRow],
    requests: Mapping[str, npt.NDArray[np.int64]],
    takeover_between: Callable[[int, int], Takeover | None],
) -> Missed | None:
    """Return the first request that failed before a later one replaced it.

    Args:
        log: The log of the flight.
        commands: The commands from outside.
        requests: The rows of the log with requests, by their name.
        takeover_between: Returns the failsafe that took over in one row or later, and before another one.
    """
    events = sorted((int(row), name) for name, rows in requests.items() for row in rows)
    if not events or events[0][0] == events[-1][0] or any(each not in log for each in ("armed", "pos_ned", "vel_ned")):
        return None
    given = {row_of(log, row): row for row in guiding(log, commands)}
    in_charge = {row_of(log, row): row.result.failsafe for row in commands if row.result.failsafe}
    for number, (at, name) in enumerate(events):
        until = next((row for row, _ in events[number:] if row > at), None)
        if until is None:
            break
        command = given.get(at) if name == GUIDED else None
        if name == MISSION and any(each == name for _, each in events[number + 1 :]):
            continue
        part = _Segment(log, at, until, name)
        taken = takeover_between(part.judged_from, until)
        if taken is None and until in in_charge:  # there was no row in between
            taken = Takeover(in_charge[until], (), until, 0)
        if name == MISSION and _is_finished(log, at, until if taken is None else taken.row + 1):
            continue
        if why := _why_missed(part, taken, command, commands):
            asked = f"{REQUESTS[name]} was requested" if name in REQUESTS else f"{_name(command)} was commanded"
            return Missed(WORDS.get(name, NOT_OBEYED), f"{asked} at {int(log.time_us[at]) / 1e6:.2f} s", why)
    return None


def _name(command: CommandRow | None) -> str:
    return PILOT if command is None else name_of(command)


def _is_finished(log: Log, at: int, until: int) -> bool:
    ends = raised_rows(log["mission_finished"]) if "mission_finished" in log else np.zeros(0, np.int64)
    return bool(((ends >= at) & (ends < until)).any())


class _Segment:
    """The part of a flight from a request until the next one, in rows of the log in which the vehicle was armed."""

    def __init__(self, log: Log, at: int, until: int, name: str) -> None:
        armed = log["armed"]
        self.log, self.at, self.until, self.name = log, at, until, name
        self.start = at + int(armed[at:until].argmax())
        self.end = self.start + int(np.append(armed[self.start : until], 0).argmin())
        if name == SETPOINTS and "nav_state" in log:
            is_on = log["nav_state"][self.start : self.end] == OFFBOARD_MODE
            self.end = self.start + int(np.append(is_on, False).argmin())

    @property
    def judged_from(self) -> int:
        """The row from which on a change of the mode is not the request's own; stock PX4 clears a failsafe late."""
        failsafes, time_us = self.log.get("failsafe"), self.log.time_us
        if failsafes is None or not failsafes[self.at]:
            return self.at
        return int(np.searchsorted(time_us, int(time_us[self.at]) + CLEARED_US))

    @property
    def end_s(self) -> float:
        """The time of the next request [s]."""
        return int(self.log.time_us[self.until]) / 1e6

    @property
    def rows(self) -> slice:
        return slice(self.start, self.end)

    @property
    def time_us(self) -> npt.NDArray[np.int64]:
        return self.log.time_us[self.rows].astype(np.int64)

    @property
    def is_long(self) -> bool:
        """Whether it lasted long enough to be judged."""
        if self.end <= self.start:
            return False
        is_grounded = "landed" in self.log and bool(self.log["landed"][self.start])
        return int(self.time_us[-1] - self.time_us[0]) >= (GROUNDED_US if is_grounded else STALLED_US)


def _why_missed(
    part: _Segment, taken: Takeover | None, command: CommandRow | None, commands: Sequence[CommandRow]
) -> str:
    """Return why the request of a part failed; empty if it did not."""
    if command is not None and command.result.goal is None:
        command = None  # there is nothing to reach
    if taken is not None and not (part.name == SETPOINTS and taken.failsafe == LOST):
        part.end = min(part.end, taken.row)
        if command is not None and part.end > part.start and _is_reached(part, command, commands):
            return ""
        when = f"at {taken.time_s:.2f} s with {taken.mode}" if taken.modes else f"before {part.end_s:.2f} s"
        return f"{taken.name} took over {when}"
    if not part.is_long:
        return ""
    if part.name != GUIDED:
        return _departure(part)
    if command is None or _is_reached(part, command, commands):
        return ""
    return _stall(part, command, commands) or _departure(part)


def _departure(part: _Segment) -> str:
    """Return how the vehicle left its setpoints before it was on the ground; empty if it did not."""
    if "landed" in part.log and not (landed := part.log["landed"][part.rows]).all():
        part.end = part.start + int(np.flatnonzero(landed == 0)[-1]) + 1
    return departure(part.log, part.rows, is_streamed=part.name == SETPOINTS) if part.is_long else ""


# -- goals of commands -----------------------------------------------------------------------------------------------


def _is_reached(part: _Segment, command: CommandRow, commands: Sequence[CommandRow]) -> bool:
    _, is_there, is_slow = _approach(part, command, commands)
    return bool((is_there & ~is_slow).any())


def _approach(
    part: _Segment, command: CommandRow, commands: Sequence[CommandRow]
) -> tuple[Numbers, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return the distances from a command's goal, whether it was reached, and whether its circle was flown slowly."""
    goal = command.result.goal
    assert goal is not None
    off_m, is_there = distances(part.log, command, goal, part.rows)
    speeds_m_s = means_before(np.linalg.norm(part.log["vel_ned"][part.rows, :2], axis=1), part.time_us, MEAN_US)
    return off_m, is_there, speeds_m_s < SLOW * wanted_m_s(command, goal, commands)


def _stall(part: _Segment, command: CommandRow, commands: Sequence[CommandRow]) -> str:
    """Return how a vehicle stopped on the way to a goal; empty if it did not."""
    off_m, is_there, _ = _approach(part, command, commands)
    if off_m[-1] < off_m[rows_before(part.time_us)[-1]] - APPROACH_M:
        return ""  # on its way
    end_s = int(part.time_us[-1]) / 1e6
    if is_there[-1]:
        return f"the vehicle had not flown its circle at {end_s:.2f} s"
    return f"the vehicle was {off_m[-1]:.1f} m from its goal at {end_s:.2f} s, and came no nearer"
