"""A link of a vehicle with its streams: encodes messages and numbers them."""

from typing import Any

from px4lockstep.autopilots.mavlink.frame import frame
from px4lockstep.autopilots.mavlink.layouts import MessageLayout, layout
from px4lockstep.autopilots.mavlink.links import AUTOPILOT_COMPONENT
from px4lockstep.autopilots.mavlink.served_link import Address, ServedLink
from px4lockstep.service.streams import LinkStreams

GCS_SILENCE_S = 2.5
"""PX4 sends texts to a link from which a ground station was heard within this time."""


class Channel:
    """A link of the vehicle with a system ID."""

    def __init__(self, link: ServedLink, streams: LinkStreams, system: int) -> None:
        self.link = link
        self.streams = streams
        self.system = system
        self._sequence = 0
        self._station_s = -GCS_SILENCE_S

    def hear_station(self, now_s: float) -> None:
        """Take note of a ground station's heartbeat."""
        self._station_s = now_s

    def has_station(self, now_s: float) -> bool:
        """Return whether a ground station is connected."""
        return now_s - self._station_s < GCS_SILENCE_S

    def encode(self, message: MessageLayout, payload: bytes) -> bytes:
        """Return the next frame."""
        sequence, self._sequence = self._sequence, (self._sequence + 1) & 0xFF
        return frame(message.number, message.crc_extra, payload, sequence, self.system, AUTOPILOT_COMPONENT)

    def send_payload(self, name: str, payload: bytes, client: Address | None = None) -> None:
        """Send a payload to everyone on the link, or to one client."""
        self.link.send(self.encode(layout(name), payload), client)

    def send(self, name: str, client: Address | None = None, **fields: Any) -> None:
        """Send a message of fields by name to everyone on the link, or to one client."""
        message = layout(name)
        self.link.send(self.encode(message, message.pack(fields)), client)
