"""Messages of a served vehicle for ground stations, in the words of PX4: changes from one status to the next."""

from dataclasses import dataclass

from px4lockstep.scenario.commands import Disarm, Result, Row
from px4lockstep.service.status import COMPLETE, ON_GROUND, Status

EMERGENCY, CRITICAL, WARNING, INFO = 0, 2, 4, 6
"""MAVLink's MAV_SEVERITY."""
BATTERY = {1: "Low battery level", 2: "Critical battery level", 3: "Emergency battery level"}


@dataclass(frozen=True)
class Text:
    """A message; `severity` is MAVLink's MAV_SEVERITY."""

    severity: int
    text: str


def text_of_result(result: Result) -> Text | None:
    """Return the message about a command's result, if it has one."""
    return Text(CRITICAL, result.text) if result.text else None


def texts_between(before: Status, now: Status, rows: tuple[Row, ...], *, has_flown: bool) -> list[Text]:
    """Return the messages about what has changed; `rows` are the commands since then."""
    found: list[Text] = []
    if now.armed and not before.armed:
        found.append(Text(INFO, "Armed by external command"))
    if before.landed_state == ON_GROUND and now.landed_state != ON_GROUND and now.armed:
        found.append(Text(INFO, "Takeoff detected"))
    if before.landed_state != ON_GROUND and now.landed_state == ON_GROUND:
        found.append(Text(INFO, "Landing detected"))
    if before.armed and not now.armed:
        is_asked = any(isinstance(row.command, Disarm) and row.result.is_accepted for row in rows)
        by = "external command" if is_asked else "landing" if has_flown else "auto preflight disarming"
        found.append(Text(INFO, f"Disarmed by {by}"))
    for one, other in zip(before.batteries, now.batteries, strict=False):
        if other.warning > one.warning:
            found.append(Text(CRITICAL, BATTERY[other.warning]))
    if now.failsafe and not before.failsafe:
        found.append(Text(CRITICAL, "Failsafe activated"))
    if now.mission.state == COMPLETE and before.mission.state != COMPLETE:
        found.append(Text(INFO, "Mission finished"))
    if now.is_crashed and not before.is_crashed:
        found.append(Text(EMERGENCY, "Crash detected"))
    return found
