"""Commands to PX4's library in flight.

The library contains no commander, so what PX4 does on a command of a ground station is limited to what the host's
commander has (`commander`): arming, mission, return and landing. Parameters can change, and a mission can be loaded
before the vehicle is armed. Everything else is refused.
"""

import tempfile
from pathlib import Path
from typing import Any

from px4lockstep.autopilots.px4_library.parameters import has, notify
from px4lockstep.autopilots.requests import LAND_MODE, MISSION_MODE, RETURN_MODE
from px4lockstep.errors import InputError
from px4lockstep.px4 import Px4
from px4lockstep.px4.parameters import known_parameters
from px4lockstep.px4.uploaded import uploaded_mission
from px4lockstep.scenario import commands
from px4lockstep.scenario.commands import DENIED, UNSUPPORTED, CommandResult, FlightCommand, refused

HOLD = 4
REQUESTS = {
    commands.StartMission: "mission",
    commands.Return: "return_home",
    commands.Land: "land",
    int(MISSION_MODE): "mission",
    int(RETURN_MODE): "return_home",
    int(LAND_MODE): "land",
}
"""The request in the scenario's part of the bus, by command and by mode."""


def obey(px4: Px4, command: FlightCommand, core: Any) -> CommandResult:
    """Apply a command before a tick."""
    scenario, host = core["bus"]["scenario"], core["px4"]["commander"]
    is_armed, is_landed = bool(host["is_armed"][0]), bool(scenario["landed"][0])
    if isinstance(command, commands.Arm):
        if not is_armed:
            scenario["arm"] += 1
        return CommandResult()
    if isinstance(command, commands.Disarm):
        if is_armed and not is_landed and not command.force:
            return refused("Disarming denied: not landed")
        scenario["arm"] = 0
        return CommandResult()
    if isinstance(command, commands.Heartbeat):
        return CommandResult()  # without a commander, nothing reacts to a lost ground station
    if isinstance(command, commands.SetParam):
        if not has(px4, command.param):
            return CommandResult(DENIED, f"PX4's library has no parameter {command.param}")
        px4.param_set(command.param, command.value)
        notify(px4)
        return CommandResult()
    if isinstance(command, commands.SetMission):
        return _load_mission(px4, command, is_armed=is_armed)
    request = REQUESTS.get(command.nav_state if isinstance(command, commands.SetMode) else type(command))
    if request is None:
        is_idle = isinstance(command, commands.SetMode | commands.Hold) and not is_armed
        is_hold = isinstance(command, commands.Hold) or getattr(command, "nav_state", None) == HOLD
        if is_idle and is_hold:
            return CommandResult()  # it is in Hold until it is armed
        why = "the library has no commander"
        return CommandResult(UNSUPPORTED, f"{command.name} is not supported by real PX4 as a library: {why}")
    if not is_armed:
        return refused("Arm first: real PX4 as a library selects modes only while armed")
    for name, asked in (("mission", "asked_mission"), ("return_home", "asked_return"), ("land", "asked_land")):
        host[asked] = scenario[name]  # an earlier request of this tick does not count
    scenario[request] += 1
    return CommandResult()


def _load_mission(px4: Px4, command: commands.SetMission, *, is_armed: bool) -> CommandResult:
    """Load a mission, which PX4's library reads from a file."""
    if is_armed:
        return refused("real PX4 as a library loads missions only while disarmed")
    try:
        mission = uploaded_mission(command.items)
        if lost := mission.lost_by_library():
            raise InputError("\n".join(lost))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "mission.waypoints"
            path.write_text(mission.library_text(), "utf-8")
            px4.load_mission(path)
    except InputError as error:
        return CommandResult(DENIED, str(error))
    return CommandResult()


def parameters_of(px4: Px4) -> dict[str, float | int]:
    """Return the values of the known parameters that PX4 has."""
    return {name: px4.param_get(name) for name in known_parameters() if has(px4, name)}
