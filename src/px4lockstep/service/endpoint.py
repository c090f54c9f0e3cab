"""A vehicle on the network: its links, the protocols behind them, and its telemetry.

Nothing here changes a flight except through the commands that protocols submit to the vehicle.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from px4lockstep.autopilots.mavlink.dialect import Dialect, crc_extras
from px4lockstep.autopilots.mavlink.layouts import layout
from px4lockstep.autopilots.mavlink.links import AUTOPILOT_COMPONENT, HOST
from px4lockstep.autopilots.mavlink.modes import MISSION
from px4lockstep.autopilots.mavlink.served_link import Received, ServedLink
from px4lockstep.scenario.commands import Heartbeat
from px4lockstep.service import command_protocol, mission_protocol, parameter_protocol, setpoint_protocol
from px4lockstep.service.channel import Channel
from px4lockstep.service.command_protocol import CommandProtocol
from px4lockstep.service.mission_protocol import MissionProtocol
from px4lockstep.service.parameter_protocol import ParameterProtocol
from px4lockstep.service.request import Request
from px4lockstep.service.setpoint_protocol import SetpointProtocol
from px4lockstep.service.status import VehicleStatus
from px4lockstep.service.streams import NORMAL, ONBOARD, LinkStreams
from px4lockstep.service.telemetry import MESSAGES, heartbeat
from px4lockstep.service.texts import StatusText
from px4lockstep.service.vehicle import Vehicle

HEARTBEAT, PING, FILE_TRANSFER, TIMESYNC = 0, 4, 110, 111
GROUND_STATION = 6
STEP_US = 10_000
"""Simulated time between two looks at the network; that of the fastest stream, if it is shorter."""
QUIET_STEP_US = 50_000
"""The same while nobody listens."""
REACHED_US = 1_000_000
"""MISSION_ITEM_REACHED is repeated at this interval."""
ALIVE_S = 1.5
"""Longest wall-clock time without a heartbeat; MAVSDK gives up a vehicle after 3 s."""
TEXT_BYTES = 50
MAX_TEXTS = 20
"""Texts that are kept until they are sent; a stream of invalid setpoints makes one each."""
STALE_US = 5_000_000
"""PX4 does not send texts that are older."""
CRITICAL = 2
"""MAV_SEVERITY_CRITICAL."""
MAX_INSTANCE = 200
"""Highest instance: its ports are not those of other links."""
NAK, NOT_SUPPORTED = 129, 7
"""Of MAVLink's file transfer: refusal of a request, and its reason."""


class Ports(NamedTuple):
    """Where a link is bound, and where it sends to."""

    bound: int
    partner: int


def ports_of(instance: int) -> tuple[Ports, Ports]:
    """Return the ports of an instance's links to ground stations and to applications: PX4's."""
    return Ports(18_570 + instance, 14_550), Ports(14_580 + instance, 14_540 + min(instance, 9))


class Endpoint:
    """A vehicle and its links.

    Args:
        vehicle: The vehicle.
        instance: Number of the vehicle; its system ID is one more.
        host: Address of the interface to bind.
    """

    def __init__(self, vehicle: Vehicle, instance: int = 0, host: str = HOST) -> None:
        self.vehicle = vehicle
        self.instance = instance
        self.channels: list[Channel] = []
        partner_host = HOST if host in (HOST, "0.0.0.0", "localhost") else host
        try:
            for kind, ports in zip((NORMAL, ONBOARD), ports_of(instance), strict=True):
                link = ServedLink(host, ports.bound, (partner_host, ports.partner), crc_extras())
                self.channels.append(Channel(link, LinkStreams(kind, vehicle.spec.timeline.tick_us), instance + 1))
        except BaseException:
            self.close()
            raise
        self._dialect = Dialect(instance + 1, AUTOPILOT_COMPONENT)
        self._texts: list[StatusText] = []
        self._missions = {channel: MissionProtocol(vehicle, self._say) for channel in self.channels}
        takers = (
            (command_protocol.NUMBERS, CommandProtocol(vehicle, self._say)),
            (parameter_protocol.NUMBERS, ParameterProtocol(vehicle, self.channels)),
            (setpoint_protocol.NUMBERS, SetpointProtocol(vehicle, self._say)),
        )
        self._takers: dict[int, Any] = {number: taker.take for numbers, taker in takers for number in numbers}
        self._takers |= dict.fromkeys(mission_protocol.NUMBERS, self._take_mission)
        self._takers |= {PING: self._take_ping, TIMESYNC: self._take_timesync, FILE_TRANSFER: self._take_file_transfer}
        self._unsent: dict[Channel, list[tuple[int, StatusText]]] = {channel: [] for channel in self.channels}
        self._text_id = 0
        self._beat_s = 0.0
        self._shown: tuple[int, ...] = ()
        self._reached, self._reached_us = -1, 0
        self._ping = 0
        self._station_us = -1

    @property
    def step_us(self) -> int:
        """Simulated time until the next look at the network."""
        heard = [channel for channel in self.channels if channel.link.is_heard]
        return min((STEP_US, *(channel.streams.shortest_us for channel in heard))) if heard else QUIET_STEP_US

    @property
    def is_heard(self) -> bool:
        """Whether a client is connected."""
        return any(channel.link.is_heard for channel in self.channels)

    def close(self) -> None:
        """Close the ports."""
        for channel in self.channels:
            channel.link.close()

    # -- receive -----------------------------------------------------------------------------------------------------

    def receive(self, now_s: float) -> None:
        """Process what has arrived."""
        for channel in self.channels:
            for received in channel.link.receive():
                self._take(received, channel, now_s)

    def _take(self, received: Received, channel: Channel, now_s: float) -> None:
        frame = received.frame
        if frame.message == HEARTBEAT:
            if frame.payload[4:5] == bytes((GROUND_STATION,)):
                channel.hear_station(now_s)
                self._hear_station()
            self._forward(frame.raw, channel)
            return
        take = self._takers.get(frame.message)
        if take is None:
            return
        message = self._dialect.decode(frame.raw)
        if message is not None:
            sender = (channel, received.client, frame.system, frame.component)
            take(Request(frame.message, message, frame.payload, *sender, now_s))

    def _hear_station(self) -> None:
        """Give a ground station's heartbeat to the vehicle, once between two looks at the network."""
        if self._station_us != self.vehicle.time_us:
            self._station_us = self.vehicle.time_us
            self.vehicle.submit(Heartbeat())

    def _forward(self, raw: bytes, source: Channel) -> None:
        """Send a client's heartbeat to the other links."""
        for channel in self.channels:
            if channel is not source and channel.link.is_heard:
                channel.link.send(raw)

    def _say(self, text: str) -> None:
        """Send a text about a refusal."""
        if len(self._texts) < MAX_TEXTS:
            self._texts.append(StatusText(CRITICAL, text))

    def _take_mission(self, request: Request) -> None:
        self._missions[request.channel].take(request)

    def _take_ping(self, request: Request) -> None:
        message = request.message
        if (message.target_system, message.target_component) == (0, 0):
            request.answer("PING", **request.sender, time_usec=message.time_usec, seq=message.seq)

    def _take_timesync(self, request: Request) -> None:
        if request.message.tc1 == 0:
            request.answer("TIMESYNC", tc1=1000 * self.vehicle.time_us, ts1=request.message.ts1)

    def _take_file_transfer(self, request: Request) -> None:
        """Refuse file transfer: the vehicle has no files."""
        if not request.is_addressed():
            return
        sent = bytes(request.message.payload)
        number = (int.from_bytes(sent[:2], "little") + 1) & 0xFFFF
        refusal = number.to_bytes(2, "little") + bytes((sent[2], NAK, 1, sent[3], 0, 0, 0, 0, 0, 0, NOT_SUPPORTED))
        request.answer("FILE_TRANSFER_PROTOCOL", target_network=0, **request.sender, payload=refusal.ljust(251, b"\0"))

    # -- send --------------------------------------------------------------------------------------------------------

    def send(self, now_s: float) -> None:
        """Prepare what is due at the vehicle's time; `flush` sends it."""
        time_us = self.vehicle.time_us
        status: VehicleStatus | None = None
        payloads: dict[str, bytes | None] = {}
        for channel in self.channels:
            due = channel.streams.take_due(time_us)
            if "HEARTBEAT" in due:
                status = status or self.vehicle.status
                self._announce(channel, status, now_s)
            if not channel.link.is_heard:
                continue
            for name in due:
                if name in payloads:
                    payload = payloads[name]
                else:
                    status = status or self.vehicle.status
                    payload = payloads[name] = self._payload(name, status)
                if payload is not None:
                    channel.send_payload(name, payload)
        self._note_texts(time_us)
        if self.is_heard:
            self._send_events(status or self.vehicle.status, now_s)

    def attend(self, now_s: float) -> None:
        """Do what is due in wall-clock time: requests of mission items, and heartbeats while time stands still."""
        for missions in self._missions.values():
            missions.step(now_s)
        if now_s - self._beat_s > ALIVE_S:
            for channel in self.channels:
                self._announce(channel, self.vehicle.status, now_s)

    def _announce(self, channel: Channel, status: VehicleStatus, now_s: float) -> None:
        self._beat_s = now_s
        channel.link.announce(channel.encode(layout("HEARTBEAT"), heartbeat(status)))

    def flush(self) -> None:
        """Send what is prepared, and the answers that are waiting."""
        for channel in self.channels:
            channel.link.flush()

    def _payload(self, name: str, status: VehicleStatus) -> bytes | None:
        if name == "HEARTBEAT":
            return None  # announced
        if name == "TIMESYNC":
            return layout(name).payload.pack(0, 1000 * status.time_us)
        if name == "PING":
            self._ping += 1
            return layout(name).payload.pack(status.time_us, self._ping & 0xFFFFFFFF, 0, 0)
        return MESSAGES[name](status)

    def _send_events(self, status: VehicleStatus, now_s: float) -> None:
        mission = status.mission
        shown = (mission.current, mission.count, mission.state, mission.mission_id, mission.fence_id, mission.rally_id)
        is_asked = any(missions.is_current_due for missions in self._missions.values())
        if shown != self._shown or is_asked:
            if self._shown or is_asked:
                self._send_all("MISSION_CURRENT", MESSAGES["MISSION_CURRENT"](status))
            self._shown = shown
            for missions in self._missions.values():
                missions.is_current_due = False
        is_new = mission.reached != self._reached
        is_again = status.nav_state == MISSION and status.armed and status.time_us - self._reached_us >= REACHED_US
        if is_new or is_again:
            self._reached, self._reached_us = mission.reached, status.time_us
            if mission.reached >= 0:
                self._send_all("MISSION_ITEM_REACHED", layout("MISSION_ITEM_REACHED").payload.pack(mission.reached))
        self._send_texts(now_s)

    def _send_all(self, name: str, payload: bytes | None) -> None:
        for channel in self.channels:
            if payload is not None and channel.link.is_heard:
                channel.send_payload(name, payload)

    def _send_texts(self, now_s: float) -> None:
        """Send texts to links with a ground station; one that comes back gets the last ones."""
        for channel, unsent in self._unsent.items():
            if unsent and channel.has_station(now_s):
                oldest_us = self.vehicle.time_us - STALE_US
                self._send_chunks(channel, [text for time_us, text in unsent if time_us >= oldest_us])
                unsent.clear()

    def _note_texts(self, time_us: int) -> None:
        """Note the texts of this time for each link."""
        texts = (*self.vehicle.texts(), *self._texts)
        self._texts.clear()
        if texts:
            for unsent in self._unsent.values():
                unsent += [(time_us, text) for text in texts]
                del unsent[:-MAX_TEXTS]

    def _send_chunks(self, channel: Channel, texts: Sequence[StatusText]) -> None:
        """Send texts, long ones in chunks."""
        for text in texts:
            raw = text.text.encode()
            # The last of several chunks must not be full: a full one announces another.
            end = len(raw) + 1 if len(raw) > TEXT_BYTES else len(raw)
            parts = [raw[i : i + TEXT_BYTES] for i in range(0, end, TEXT_BYTES)]
            self._text_id = self._text_id % 0xFFFF + 1 if len(parts) > 1 else self._text_id
            number = self._text_id if len(parts) > 1 else 0
            for chunk, part in enumerate(parts):
                channel.send("STATUSTEXT", severity=text.severity, text=part, id=number, chunk_seq=chunk)
