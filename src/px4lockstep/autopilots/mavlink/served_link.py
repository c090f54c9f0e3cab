"""A vehicle's UDP link to ground stations and applications.

Like PX4, it sends to a fixed port from the start. Unlike PX4, which answers only its first sender, it answers everyone
who sends it a valid frame: what is sent goes to the fixed port and to all of them. A receiver that has gone is noticed,
because the system reports that its port is closed; a sender is then forgotten, and the fixed port gets heartbeats only,
until one of them arrives. Networks lose such reports, so a sender on another machine is also forgotten when it was
silent for a minute: clients send a heartbeat every second.
"""

import socket
import time
from collections.abc import Mapping
from typing import NamedTuple

from px4lockstep.autopilots.mavlink.links import RECEIVED_BYTES, bound
from px4lockstep.autopilots.mavlink.stream import Frame, Stream

Address = tuple[str, int]

MAX_CLIENTS = 16
"""A client beyond this number replaces the one that was silent for longest."""
SILENCE_S = 60.0
"""Wall-clock time after which a silent client on another machine is forgotten."""
LOCAL = "127."
"""Start of the addresses of this machine."""
MAX_DATAGRAM = 1_400
"""Frames are sent together up to this size, which fits every network."""
MAX_READ = 200
"""Datagrams read per call, so that a flood can't stop the vehicle."""
BUFFER_BYTES = 1 << 20
IP_RECVERR, MSG_ERRQUEUE = 11, 0x2000
"""Of Linux: report ICMP errors on a socket that is not connected."""


class Received(NamedTuple):
    """A frame, and who sent it."""

    frame: Frame
    client: Address


class ServedLink:
    """A port of the vehicle, with the clients that it sends to.

    Args:
        host: Address of the interface to bind, and of the fixed receiver.
        port: Port to bind.
        partner: Fixed receiver.
        crc_extra: The known messages.
    """

    def __init__(self, host: str, port: int, partner: Address, crc_extra: Mapping[int, int]) -> None:
        self._socket = bound(socket.SOCK_DGRAM, port, host)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        self._socket.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
        self._crc_extra = crc_extra
        self._partner = partner
        self._is_partner_there = False
        self._clients: dict[Address, float] = {}  # last heard at; the one that was silent for longest comes first
        self._waiting: dict[Address | None, bytearray] = {}
        self.skipped = 0
        """Bytes received that belonged to no frame."""

    @property
    def is_heard(self) -> bool:
        """Whether anyone receives what is sent."""
        return self._is_partner_there or bool(self._clients)

    @property
    def clients(self) -> tuple[Address, ...]:
        """Everyone who has sent something, the last one last."""
        return tuple(self._clients)

    def fileno(self) -> int:
        """Return the file descriptor of the socket, for `select`."""
        return self._socket.fileno()

    def receive(self) -> list[Received]:
        """Return the frames that have arrived."""
        received: list[Received] = []
        for _ in range(MAX_READ):
            try:
                data, client = self._socket.recvfrom(RECEIVED_BYTES)
            except BlockingIOError:
                break
            except OSError:
                self._read_errors()
                continue
            stream = Stream(self._crc_extra)
            frames = stream.take(data)
            self.skipped += stream.skipped
            if frames:
                self._remember(client)
                received += [Received(frame, client) for frame in frames]
        return received

    def send(self, frame: bytes, client: Address | None = None) -> None:
        """Add a frame to what the next `flush` sends: to everyone, or to one client."""
        waiting = self._waiting.get(client)
        if waiting is None:
            waiting = self._waiting[client] = bytearray()
        elif len(waiting) + len(frame) > MAX_DATAGRAM:
            self._send(bytes(waiting), client)
            waiting.clear()
        waiting += frame

    def flush(self) -> None:
        """Send what is waiting."""
        if self._waiting:
            for client, waiting in self._waiting.items():
                self._send(bytes(waiting), client)
            self._waiting.clear()

    def announce(self, frame: bytes) -> None:
        """Send a heartbeat to everyone; also to the fixed receiver if it is not there, to see whether it is by now."""
        self._forget_silent()
        if self._is_partner_there:
            self.send(frame)
            return
        for client in self._clients:
            self.send(frame, client)
        if self._partner not in self._clients:
            self._is_partner_there = True
            self._send_to(frame, self._partner)
            self._read_errors()

    def close(self) -> None:
        """Close the port."""
        self._socket.close()

    def _remember(self, client: Address) -> None:
        self._clients.pop(client, None)
        self._clients[client] = time.monotonic()
        if len(self._clients) > MAX_CLIENTS:
            del self._clients[next(iter(self._clients))]

    def _forget_silent(self) -> None:
        limit_s = time.monotonic() - SILENCE_S
        for client in [client for client, heard_s in self._clients.items() if heard_s < limit_s]:
            if not client[0].startswith(LOCAL):
                del self._clients[client]

    def _send(self, data: bytes, client: Address | None) -> None:
        if client is not None:
            self._send_to(data, client)
            return
        receivers = list(self._clients)
        if self._is_partner_there and self._partner not in self._clients:
            receivers.append(self._partner)
        for receiver in receivers:
            self._send_to(data, receiver)

    def _send_to(self, data: bytes, receiver: Address) -> None:
        for _ in range(2):  # an error of an earlier datagram is reported once, instead of sending
            try:
                self._socket.sendto(data, receiver)
            except BlockingIOError:  # the receiver is slower; a datagram is lost
                return
            except OSError:
                self._read_errors()
                continue
            break

    def _read_errors(self) -> None:
        """Forget receivers whose port is closed."""
        while True:
            try:
                _, _, _, address = self._socket.recvmsg(0, 512, MSG_ERRQUEUE)
            except OSError:
                return
            self._clients.pop(address, None)
            if address == self._partner:
                self._is_partner_there = False
