"""The links to PX4, over real sockets."""

import socket
import time

import pytest
from pymavlink.dialects.v20 import common

from px4lockstep.autopilots.mavlink import links
from px4lockstep.autopilots.mavlink.dialect import crc_extras
from px4lockstep.autopilots.mavlink.links import ApiLink, LinkClosedError, PortTakenError, SimulatorLink
from px4lockstep.errors import SimulationError


def free_port(kind):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def heartbeat(system=1, component=1):
    return bytes(common.MAVLink_heartbeat_message(2, 12, 0, 0, 3, 3).pack(common.MAVLink(None, system, component)))


def is_kept(timeout_s, is_over):
    """Return whether a wait takes its time: never less, and not more in at least one of three attempts."""
    for _ in range(3):
        start_s = time.perf_counter()
        assert is_over()
        took_s = time.perf_counter() - start_s
        assert took_s > 0.9 * timeout_s
        if took_s < timeout_s + 0.5:
            return True
    return False


def send_often(link, data):
    for _ in range(1000):
        link.send(data)


@pytest.fixture
def server():
    port = free_port(socket.SOCK_STREAM)
    link = SimulatorLink(port, crc_extras())
    link.port = port
    yield link
    link.close()


@pytest.fixture
def both(server):
    """Provide a link to which PX4 has connected, and PX4's end of it."""
    with socket.create_connection(("127.0.0.1", server.port)) as px4:
        assert server.accept(1.0)
        yield server, px4


def test_accept_times_out(server):
    """The wait takes exactly its timeout."""
    assert is_kept(0.1, lambda: not server.accept(0.1))


def test_frames_are_exchanged_in_both_directions(both):
    """None after the timeout if no data arrived."""
    server, px4 = both
    assert server.receive(0.01) is None
    px4.sendall(heartbeat()[:5])
    assert server.receive(1.0) == []
    px4.sendall(heartbeat()[5:])
    assert [frame.message for frame in server.receive(1.0)] == [0]
    server.send(heartbeat())
    assert px4.recv(100) == heartbeat()


def test_frames_are_sent_immediately(both):
    """TCP_NODELAY: otherwise a small frame would wait until the previous one is acknowledged."""
    with socket.socket(fileno=socket.dup(both[0].fileno())) as ours:
        assert ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


@pytest.mark.parametrize("timeout_s", [0.025, 1.25])
def test_timeouts_are_exact(both, timeout_s):
    """Including fractions of a second, and consecutive different ones."""
    assert is_kept(timeout_s, lambda: both[0].receive(timeout_s) is None)


def test_a_short_timeout_is_shorter_than_a_tick_of_the_kernel(both):
    """The sockets' own timeouts would take 4 ms or more on many kernels; the shortest of 50 waits of 2 ms counts."""
    waits_s = []
    for _ in range(50):
        start_s = time.perf_counter()
        assert both[0].receive(0.002) is None
        waits_s.append(time.perf_counter() - start_s)
    assert 0.0019 < min(waits_s) < 0.0035


def test_a_closed_link_is_an_error(both):
    """When reading and when writing."""
    server, px4 = both
    px4.close()
    with pytest.raises(LinkClosedError, match="PX4 has closed the link"):
        server.receive(1.0)
    with pytest.raises(LinkClosedError, match="PX4 has closed the link"):
        send_often(server, heartbeat())  # the system notices it with the first


def test_a_px4_that_does_not_read_is_an_error(server, monkeypatch):
    """When the system's buffers are full."""
    monkeypatch.setattr(links, "SEND_S", 0.1)
    with socket.create_connection(("127.0.0.1", server.port)):
        assert server.accept(1.0)
        with pytest.raises(LinkClosedError, match=r"PX4 has not read from the link for 0\.1 s"):
            send_often(server, bytes(100_000))


def test_a_port_is_exclusive_and_free_after_close(server):
    """Even if the link was used, and PX4's end is still open."""
    with pytest.raises(PortTakenError, match=f"TCP port {server.port} is in use"):
        SimulatorLink(server.port, {})
    with socket.create_connection(("127.0.0.1", server.port)):
        server.accept(1.0)
        server.close()
        SimulatorLink(server.port, {}).close()


def test_a_port_without_permission_is_an_error(monkeypatch):
    """With the system's reason."""

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(SimulationError, match="can't open UDP port 14540: Permission denied"):
        ApiLink(14540, {})


@pytest.mark.parametrize("other", [(1, 100), (255, 190), (2, 1)])
def test_the_api_communicates_only_with_the_flight_controller(other):
    """Not with a camera, a ground station or another vehicle, in any order of messages."""
    port = free_port(socket.SOCK_DGRAM)
    link = ApiLink(port, crc_extras())
    stranger, px4 = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    try:
        if other[1] != 1:
            stranger.sendto(heartbeat(*other), ("127.0.0.1", port))
            assert link.receive() == []
            assert not link.is_known
        px4.sendto(heartbeat(), ("127.0.0.1", port))
        stranger.sendto(heartbeat(*other), ("127.0.0.1", port))
        assert [(frame.system, frame.component) for frame in link.receive()] == [(1, 1)]
        link.send(heartbeat(245, 190))
        px4.settimeout(1.0)
        assert px4.recv(100) == heartbeat(245, 190)
    finally:
        for made in (link, stranger, px4):
            made.close()


def test_the_api_sends_only_after_px4s_first_frame():
    """An invalid datagram does not count."""
    port = free_port(socket.SOCK_DGRAM)
    link = ApiLink(port, crc_extras())
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as px4:
            px4.settimeout(1.0)
            link.send(heartbeat())
            px4.sendto(b"no frame", ("127.0.0.1", port))
            assert link.receive() == []
            assert not link.is_known
            px4.sendto(heartbeat(), ("127.0.0.1", port))
            assert [frame.message for frame in link.receive()] == [0]
            assert link.is_known
            link.send(heartbeat())
            assert px4.recv(100) == heartbeat()
        link.send(heartbeat())  # nobody receives it any more: lost, like any datagram
        assert link.receive() == []
        link.send(heartbeat())
    finally:
        link.close()


def test_a_flood_is_read_in_parts(monkeypatch):
    """Otherwise it would delay the steps."""
    monkeypatch.setattr(links, "MAX_DATAGRAMS", 10)
    port = free_port(socket.SOCK_DGRAM)
    link = ApiLink(port, crc_extras())
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as px4:
            for _ in range(25):
                px4.sendto(heartbeat(), ("127.0.0.1", port))
            assert [len(link.receive()) for _ in range(4)] == [10, 10, 5, 0]
    finally:
        link.close()
