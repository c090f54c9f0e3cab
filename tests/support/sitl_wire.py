"""A link to stock PX4's API in memory."""

from pymavlink.dialects.v20 import common, development

from px4lockstep.autopilots.mavlink.stream import Stream
from px4lockstep.autopilots.px4_sitl.api import crc_extra_received


class Wire:
    """A link in memory, with the sent messages and those to be received; heartbeats and requests of rates are apart."""

    is_known = True

    def __init__(self):
        self.sent, self.beats, self.rates = [], [], []
        self._heard = []
        self._px4 = common.MAVLink(None, 7, 1)
        self._stream = Stream(crc_extra_received())

    def send(self, data):
        message = common.MAVLink(None).decode(bytearray(data))
        is_rate = message.get_type() == "COMMAND_LONG" and message.command == 511
        (self.beats if message.get_type() == "HEARTBEAT" else self.rates if is_rate else self.sent).append(message)

    def receive(self):
        heard, self._heard = self._heard, []
        return heard

    def hear(self, name, *fields):
        speaker = development.MAVLink(None, 7, 1)
        self._heard += self._stream.take(bytes(getattr(speaker, f"{name}_encode")(*fields).pack(speaker)))
