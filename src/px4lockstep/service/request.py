"""A message from a client, and the way back to it."""

from typing import Any, NamedTuple

from px4lockstep.autopilots.mavlink.links import AUTOPILOT_COMPONENT
from px4lockstep.autopilots.mavlink.served_link import Address
from px4lockstep.service.channel import Channel


class Request(NamedTuple):
    """A decoded message: its number, its fields as attributes, and its sender."""

    number: int
    message: Any
    payload: bytes
    channel: Channel
    client: Address
    system: int
    component: int
    now_s: float
    """Wall-clock time."""

    @property
    def sender(self) -> dict[str, int]:
        """The sender as the target of an answer."""
        return {"target_system": self.system, "target_component": self.component}

    def is_addressed(self, *, may_be_broadcast: bool = True) -> bool:
        """Return whether a message with a target is meant for this vehicle's flight controller."""
        systems = (0, self.channel.system) if may_be_broadcast else (self.channel.system,)
        component = getattr(self.message, "target_component", 0)
        return self.message.target_system in systems and component in (0, AUTOPILOT_COMPONENT)

    def answer(self, name: str, **fields: Any) -> None:
        """Send a message to the sender only."""
        self.channel.send(name, self.client, **fields)
