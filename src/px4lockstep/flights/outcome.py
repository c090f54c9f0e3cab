"""What came of a flight, and why, in words.

A flight is flown if it came to its end without a crash, and did what it was asked to: finished its mission, or, if the
scenario ordered a return or a landing instead, stands on the ground.
"""

from dataclasses import dataclass

import numpy as np

from px4lockstep.engine.simulation import Simulation
from px4lockstep.errors import LockstepError
from px4lockstep.log.events import events_of
from px4lockstep.log.log import Log

FLOWN = "flown"
CRASHED = "crashed"
NOT_FINISHED = "mission not finished"
STOPPED = "stopped"
FAILED = "failed"

MAX_CAUSES = 8


@dataclass(frozen=True)
class Outcome:
    """What came of a flight: one of the words above, and the reason if it is not `FLOWN`."""

    word: str
    reason: str | None = None


def outcome_of(simulation: Simulation, log: Log, error: LockstepError | None = None) -> Outcome:
    """Return what came of a flight, from its log with all columns and the error that it could not go on for."""
    time_s, end_s = simulation.time_us / 1e6, simulation.timeline.end_us / 1e6
    if error is not None:
        return Outcome(FAILED, str(error))
    if simulation.is_crashed:
        return Outcome(CRASHED, f"it hit the ground at {time_s:.2f} s{_causes(log)}")
    if not simulation.is_done:
        return Outcome(STOPPED, f"the run was stopped at {time_s:.2f} s of {end_s:.2f} s{_causes(log)}")
    unfinished = _unfinished(simulation, log)
    return Outcome(NOT_FINISHED, f"{unfinished}{_causes(log)}") if unfinished else Outcome(FLOWN)


def _unfinished(simulation: Simulation, log: Log) -> str:
    """Say what was asked for and not done; empty if all was, or if the autopilot tells nothing of itself."""
    told = simulation.bus.autopilot
    if not simulation.asks_for_mission or not simulation.reports_mission:
        return ""
    if told.mission_finished:
        return ""
    if not int(simulation.bus.scenario.mission):
        return "the run ended before the mission was asked for"
    ordered = _ordered_down(log)
    if ordered is not None:
        name, time_us = ordered
        if simulation.bus.scenario.landed:
            return ""
        return f"{name} was ordered at {time_us / 1e6:.2f} s, and the vehicle had not landed when the run ended"
    if not int(told.mission_count):
        return simulation.autopilot.why_no_mission
    return f"the run ended on item {int(told.mission_item)} of a mission with items 0 to {int(told.mission_count) - 1}"


def _ordered_down(log: Log) -> tuple[str, int] | None:
    """Return which of return and landing was ordered last, and when, if the mission was not asked for again after."""
    rises = {
        name: int(rows[-1])
        for name in ("request_mission", "request_return", "request_land")
        if len(rows := np.flatnonzero(np.diff(log[name], prepend=0) > 0))
    }
    downs = {name: row for name, row in rises.items() if name != "request_mission"}
    if not downs or max(downs.values()) < rises.get("request_mission", 0):
        return None
    last = max(downs, key=lambda name: downs[name])
    return "a return" if last == "request_return" else "a landing", int(log.time_us[downs[last]])


def _causes(log: Log) -> str:
    """Tell what went wrong before, and what the autopilot did about it."""
    causes = [
        f"{event.label} {event.time_us / 1e6:.2f} s"
        for event in events_of(log)
        if event.is_fault and event.label != CRASHED
    ]
    if not causes:
        return ""
    more = f" and {len(causes) - MAX_CAUSES} more" if len(causes) > MAX_CAUSES else ""
    return f"; before that: {', '.join(causes[:MAX_CAUSES])}{more}"
