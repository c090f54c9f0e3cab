"""What clients have changed of a served vehicle, and what therefore outlasts a reset, as a reboot of PX4.

Parameters, mission, geofence and rally points are the vehicle's own. The protocols read them here, so that a client
gets what the vehicle has.
"""

from px4lockstep.scenario.commands import ClearMission, FlightCommand, Item, SetFence, SetMission, SetParam, SetRally
from px4lockstep.service.status import Uploads

MISSION, FENCE, RALLY = 0, 1, 2
"""MAV_MISSION_TYPE."""
KINDS = {SetMission: MISSION, SetFence: FENCE, SetRally: RALLY}
UINT32 = 2**32 - 1
"""The ids of uploads in MAVLink have 32 bits."""


class Configuration:
    """Parameters that were set, and lists of items that were uploaded."""

    def __init__(self) -> None:
        self._params: dict[str, SetParam] = {}
        self._lists: dict[int, SetMission | SetFence | SetRally] = {}

    def note(self, command: FlightCommand) -> bool:
        """Note a command that was accepted; return whether it changed the mission."""
        if isinstance(command, SetParam):
            self._params[command.param] = command
        elif isinstance(command, ClearMission):
            self._lists.pop(MISSION, None)
        elif isinstance(command, SetMission | SetFence | SetRally):
            self._lists[KINDS[type(command)]] = command
        return isinstance(command, SetMission | ClearMission)

    def items(self, kind: int) -> tuple[Item, ...]:
        """Return the items of a list."""
        return self._lists[kind].items if kind in self._lists else ()

    @property
    def uploads(self) -> Uploads:
        """The number of mission items, and the ids of all lists."""
        ids = {kind: command.opaque_id & UINT32 for kind, command in self._lists.items()}
        return Uploads(len(self.items(MISSION)), *(ids.get(kind, 0) for kind in (MISSION, FENCE, RALLY)))

    @property
    def commands(self) -> tuple[FlightCommand, ...]:
        """The commands that make another vehicle the same."""
        return (*self._params.values(), *(self._lists[kind] for kind in sorted(self._lists, reverse=True)))
