"""The two links of a simulator to PX4: TCP for the steps, where PX4 is the client, and UDP for its API.

Nothing here waits longer than it is told to, and nothing is open that `close` does not close. Times are kept by the
sockets themselves, which costs half the calls of Python's.
"""

import errno
import socket
import struct
from collections.abc import Mapping
from contextlib import suppress

from px4lockstep.autopilots.px4_sitl.mavlink.stream import Frame, Stream
from px4lockstep.errors import LockstepError, SimulationError

HOST = "127.0.0.1"
RECEIVED_BYTES = 65_536
SEND_S = 10.0
MAX_DATAGRAMS = 500
"""At most so many are taken at a time: a flood must not hold up the steps."""
AUTOPILOT_COMPONENT = 1
"""MAV_COMP_ID_AUTOPILOT1: of all that speaks for a vehicle, the flight controller."""


class PortTakenError(SimulationError):
    """A port that somebody else has."""


class LinkClosedError(LockstepError):
    """A link that the other side has closed."""


class SimulatorLink:
    """The link of the steps: the server that PX4 connects to, once.

    The port stays taken until `close`, so that no other run takes the same instance.
    """

    def __init__(self, port: int, crc_extra: Mapping[int, int]) -> None:
        self._server = _bound(socket.SOCK_STREAM, port)
        self._peer: socket.socket | None = None
        self._stream = Stream(crc_extra)
        self._wait_s: float | None = None

    def accept(self, wait_s: float) -> bool:
        """Wait for PX4 to connect; return whether it has."""
        self._server.settimeout(wait_s)
        try:
            self._peer, _ = self._server.accept()
        except TimeoutError:
            return False
        self._peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._peer.settimeout(None)
        self._peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _timeval(SEND_S))
        return True

    def send(self, data: bytes) -> None:
        """Send frames."""
        assert self._peer is not None
        try:
            self._peer.sendall(data)
        except BlockingIOError as error:
            raise LinkClosedError(f"PX4 has read nothing for {SEND_S:g} s") from error
        except OSError as error:
            raise LinkClosedError("PX4 has closed the link") from error

    def fileno(self) -> int:
        """Return the number of PX4's socket, by which `select` knows it."""
        assert self._peer is not None
        return self._peer.fileno()

    def receive(self, wait_s: float) -> list[Frame] | None:
        """Return frames that came, perhaps none yet; None if nothing came in that time."""
        assert self._peer is not None
        if wait_s != self._wait_s:
            self._peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(wait_s))
            self._wait_s = wait_s
        try:
            data = self._peer.recv(RECEIVED_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        if not data:
            raise LinkClosedError("PX4 has closed the link")
        return self._stream.take(data)

    def close(self) -> None:
        """Close link and port."""
        if self._peer is not None:
            self._peer.close()
        self._server.close()


class ApiLink:
    """The link of commands and telemetry, to the port that PX4 sends to; its own is known when it has spoken.

    Whoever else sends to that port (a camera, a ground station, another vehicle) is not heard, nor spoken to: the first
    system whose flight controller speaks is the one.
    """

    def __init__(self, port: int, crc_extra: Mapping[int, int]) -> None:
        self._socket = _bound(socket.SOCK_DGRAM, port)
        self._socket.setblocking(False)
        self._stream = Stream(crc_extra)
        self._peer: tuple[str, int] | None = None
        self._system: int | None = None

    @property
    def is_known(self) -> bool:
        """Whether PX4 has spoken, so that it can be spoken to."""
        return self._peer is not None

    def send(self, data: bytes) -> None:
        """Send a frame; what can't be sent is lost, as on any such link."""
        if self._peer is not None:
            with suppress(BlockingIOError, ConnectionError):
                self._socket.sendto(data, self._peer)

    def receive(self) -> list[Frame]:
        """Return the frames of PX4's flight controller that are there."""
        frames: list[Frame] = []
        for _ in range(MAX_DATAGRAMS):
            try:
                data, peer = self._socket.recvfrom(RECEIVED_BYTES)
            except (BlockingIOError, ConnectionError):
                break
            for frame in self._stream.take(data):
                if frame.component == AUTOPILOT_COMPONENT and self._system in (None, frame.system):
                    self._system, self._peer = frame.system, peer
                    frames.append(frame)
        return frames

    def close(self) -> None:
        """Close the port."""
        self._socket.close()


def check_is_free(port: int) -> None:
    """Check that nobody has a UDP port."""
    _bound(socket.SOCK_DGRAM, port).close()


def _timeval(wait_s: float) -> bytes:
    """Return a time as the system takes it, at least 1 µs: 0 is for ever."""
    return struct.pack("@ll", *divmod(max(1, round(1e6 * wait_s)), 1_000_000))


def _bound(kind: socket.SocketKind, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, kind)
    try:
        if kind == socket.SOCK_STREAM:  # the link of a flight before may still be closing
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((HOST, port))
        if kind == socket.SOCK_STREAM:  # of two that have bound it, as is allowed, one alone can listen
            made.listen(1)
    except OSError as error:
        made.close()
        name = "TCP" if kind == socket.SOCK_STREAM else "UDP"
        if error.errno == errno.EADDRINUSE:
            raise PortTakenError(f"{name} port {port} is taken") from error
        raise SimulationError(f"{name} port {port} can't be opened: {error.strerror}") from error
    return made
