"""The simulator's two links to PX4: TCP for the steps, with PX4 as the client, and UDP for its API.

No call blocks longer than its timeout, and `close` closes everything that is open. Timeouts are set in the sockets
themselves, which halves the number of system calls compared with Python's timeouts.
"""

import errno
import select
import socket
import struct
from collections.abc import Mapping
from contextlib import suppress

from px4lockstep.autopilots.mavlink.stream import Frame, Stream
from px4lockstep.errors import LockstepError, SimulationError

HOST = "127.0.0.1"
RECEIVED_BYTES = 65_536
SEND_S = 10.0
TICK_S = 0.01
"""Resolution of the sockets' own timeouts on common kernels; shorter ones need an additional system call."""
MAX_DATAGRAMS = 500
"""Maximum number of datagrams read per call, so that a flood can't delay the steps."""
AUTOPILOT_COMPONENT = 1
"""MAV_COMP_ID_AUTOPILOT1: the flight controller, among the components of a vehicle."""


class PortTakenError(SimulationError):
    """The port is in use."""


class LinkClosedError(LockstepError):
    """The other side has closed the link."""


class SimulatorLink:
    """The link for the steps: a server to which PX4 connects once.

    The port stays bound until `close`, so that no other run uses the same instance.
    """

    def __init__(self, port: int, crc_extra: Mapping[int, int]) -> None:
        self._server = bound(socket.SOCK_STREAM, port)
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
            raise LinkClosedError(f"PX4 has not read from the link for {SEND_S:g} s") from error
        except OSError as error:
            raise LinkClosedError("PX4 has closed the link") from error

    def fileno(self) -> int:
        """Return the file descriptor of PX4's socket, for `select`."""
        assert self._peer is not None
        return self._peer.fileno()

    def receive(self, wait_s: float) -> list[Frame] | None:
        """Return the complete frames received, possibly none; None if no data arrived in time."""
        assert self._peer is not None
        if wait_s < TICK_S and not select.select([self._peer], [], [], wait_s)[0]:
            return None
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
        """Close the link and the port."""
        if self._peer is not None:
            self._peer.close()
        self._server.close()


class ApiLink:
    """The link for commands and telemetry, on the port that PX4 sends to; PX4's address is known from its first frame.

    The first system whose flight controller sends a frame is taken as PX4. Frames from any other sender (a camera, a
    ground station, another vehicle) are ignored, and nothing is sent to it.
    """

    def __init__(self, port: int, crc_extra: Mapping[int, int]) -> None:
        self._socket = bound(socket.SOCK_DGRAM, port)
        self._socket.setblocking(False)
        self._stream = Stream(crc_extra)
        self._peer: tuple[str, int] | None = None
        self._system: int | None = None

    @property
    def is_known(self) -> bool:
        """Whether PX4's address is known."""
        return self._peer is not None

    def send(self, data: bytes) -> None:
        """Send a frame; like any datagram, it may be lost."""
        if self._peer is not None:
            with suppress(BlockingIOError, ConnectionError):
                self._socket.sendto(data, self._peer)

    def receive(self) -> list[Frame]:
        """Return the frames that have arrived from PX4's flight controller."""
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


def check_is_free(port: int, host: str = HOST) -> None:
    """Check that a UDP port is free."""
    bound(socket.SOCK_DGRAM, port, host).close()


def _timeval(wait_s: float) -> bytes:
    """Return a timeout as a C `timeval`, at least 1 µs, because 0 means no timeout."""
    return struct.pack("@ll", *divmod(max(1, round(1e6 * wait_s)), 1_000_000))


def bound(kind: socket.SocketKind, port: int, host: str = HOST) -> socket.socket:
    """Return a socket that is bound to a port, and for TCP listens on it."""
    made = socket.socket(socket.AF_INET, kind)
    try:
        if kind == socket.SOCK_STREAM:  # the link of a previous flight may still be closing
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        if kind == socket.SOCK_STREAM:  # two processes may bind the port, but only one can listen
            made.listen(1)
    except OSError as error:
        made.close()
        name = "TCP" if kind == socket.SOCK_STREAM else "UDP"
        if error.errno == errno.EADDRINUSE:
            raise PortTakenError(f"{name} port {port} is in use") from error
        where = "" if host == HOST else f" of {host}"
        raise SimulationError(f"can't open {name} port {port}{where}: {error.strerror}") from error
    return made
