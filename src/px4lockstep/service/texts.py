"""Messages of a served vehicle for ground stations, in the words of PX4: changes from one status to the next."""

from dataclasses import dataclass

from px4lockstep.scenario.commands import CommandRow, Disarm, Sticks
from px4lockstep.service.status import COMPLETE, ON_GROUND, VehicleStatus

EMERGENCY, CRITICAL, WARNING, INFO = 0, 2, 4, 6
"""MAVLink's MAV_SEVERITY."""
BATTERY = {1: "Low battery level", 2: "Critical battery level", 3: "Emergency battery level"}
FAILSAFE = "Failsafe activated"
STATION_LOST, STATION_BACK = "Connection to ground station lost", "GCS connection regained"


@dataclass(frozen=True)
class StatusText:
    """A message; `severity` is MAVLink's MAV_SEVERITY."""

    severity: int
    text: str


def text_of(row: CommandRow) -> StatusText | None:
    """Return the message about a command's result, if it has one."""
    severity = INFO if isinstance(row.command, Sticks) else CRITICAL
    return StatusText(severity, row.result.text) if row.result.text else None


def texts_between(
    before: VehicleStatus, now: VehicleStatus, rows: tuple[CommandRow, ...], *, has_flown: bool
) -> list[StatusText]:
    """Return the messages about what has changed; `rows` are the commands since then."""
    found: list[StatusText] = []
    if now.has_lost_station != before.has_lost_station:
        found.append(StatusText(INFO, STATION_LOST if now.has_lost_station else STATION_BACK))
    if now.armed and not before.armed:
        found.append(StatusText(INFO, "Armed by external command"))
    if before.landed_state == ON_GROUND and now.landed_state != ON_GROUND and now.armed:
        found.append(StatusText(INFO, "Takeoff detected"))
    if before.landed_state != ON_GROUND and now.landed_state == ON_GROUND:
        found.append(StatusText(INFO, "Landing detected"))
    if before.armed and not now.armed:
        is_asked = any(isinstance(row.command, Disarm) and row.result.is_accepted for row in rows)
        by = "external command" if is_asked else "landing" if has_flown else "auto preflight disarming"
        if not is_asked and now.landed_state != ON_GROUND:
            found.append(StatusText(CRITICAL, FAILSAFE))
            by = "failsafe"
        found.append(StatusText(INFO, f"Disarmed by {by}"))
    for one, other in zip(before.batteries, now.batteries, strict=False):
        if other.warning > one.warning:
            found.append(StatusText(CRITICAL, BATTERY[other.warning]))
    if now.failsafe_delay_s > 0.0 and before.failsafe_delay_s == 0.0:
        found.append(StatusText(CRITICAL, f"{FAILSAFE}: entering Hold for {now.failsafe_delay_s:.0f} seconds"))
    elif now.failsafe and (not before.failsafe or before.failsafe_delay_s > 0.0 == now.failsafe_delay_s):
        found.append(StatusText(CRITICAL, FAILSAFE))
    if now.mission.state == COMPLETE and before.mission.state != COMPLETE:
        found.append(StatusText(INFO, "Mission finished"))
    if now.is_crashed and not before.is_crashed:
        found.append(StatusText(EMERGENCY, "Crash detected"))
    return found
