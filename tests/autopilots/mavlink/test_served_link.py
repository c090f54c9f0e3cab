"""A vehicle's link to ground stations: it answers every sender, and notices who has gone."""

import socket

import pytest

from px4lockstep.autopilots.mavlink.dialect import Dialect, crc_extras
from px4lockstep.autopilots.mavlink.links import HOST, PortTakenError
from px4lockstep.autopilots.mavlink.served_link import MAX_CLIENTS, MAX_DATAGRAM, SILENCE_S, ServedLink

BEAT = Dialect(1, 1).encode("heartbeat", 2, 12, 29, 0, 3)
CLIENT_BEAT = Dialect(255, 190).encode("heartbeat", 6, 8, 0, 0, 4)
WAIT_S = 20.0
"""For what must arrive; datagrams on the loopback are there at once."""


def open_port():
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((HOST, 0))
    made.settimeout(WAIT_S)
    return made


def free_port():
    with open_port() as probe:
        return probe.getsockname()[1]


@pytest.fixture
def partner():
    with open_port() as made:
        yield made


@pytest.fixture
def link(partner):
    made = ServedLink(HOST, free_port(), partner.getsockname(), crc_extras())
    yield made
    made.close()


def address(link):
    return link._socket.getsockname()


def is_silent(client):
    client.setblocking(False)
    try:
        client.recv(2000)
    except BlockingIOError:
        return True
    finally:
        client.settimeout(WAIT_S)
    return False


def test_the_fixed_port_gets_everything_from_the_first_heartbeat_on(link, partner):
    assert not link.is_heard
    link.announce(BEAT)
    assert link.is_heard
    link.send(BEAT)
    link.flush()
    assert [partner.recv(2000), partner.recv(2000)] == [BEAT, BEAT]


def test_every_sender_is_answered(link, partner):
    with open_port() as first, open_port() as second:
        for client in (first, second):
            client.sendto(CLIENT_BEAT, address(link))
        assert [item.frame.system for item in link.receive()] == [255, 255]
        link.announce(BEAT)
        link.flush()
        assert [client.recv(2000) for client in (partner, first, second)] == [BEAT] * 3


def test_an_answer_to_one_client_reaches_no_other(link, partner):
    with open_port() as first, open_port() as second:
        for client in (first, second):
            client.sendto(CLIENT_BEAT, address(link))
        link.receive()
        link.send(BEAT, second.getsockname())
        link.flush()
        assert second.recv(2000) == BEAT
        assert is_silent(first)


def test_a_client_that_has_gone_is_forgotten(link):
    with open_port() as client:
        client.sendto(CLIENT_BEAT, address(link))
        link.receive()
    assert len(link.clients) == 1
    for _ in range(2):
        link.send(BEAT)
        link.flush()
    assert link.clients == ()


def test_a_fixed_port_without_a_listener_gets_heartbeats_only(link, partner):
    receiver = partner.getsockname()
    partner.close()
    link.announce(BEAT)
    assert not link.is_heard
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as again:
        again.settimeout(WAIT_S)
        again.bind(receiver)
        link.send(BEAT)
        link.flush()
        assert is_silent(again)
        link.announce(BEAT)
        assert again.recv(2000) == BEAT
        assert link.is_heard


def test_what_is_no_frame_makes_no_client(link):
    with open_port() as client:
        client.sendto(b"garbage \xfd\x00", address(link))
        client.sendto(b"", address(link))
        assert link.receive() == []
    assert link.clients == ()


def test_a_client_beyond_the_limit_replaces_the_one_that_was_silent_for_longest(link):
    clients = [open_port() for _ in range(MAX_CLIENTS + 1)]
    for client in clients:
        client.sendto(CLIENT_BEAT, address(link))
        link.receive()
    assert link.clients == tuple(client.getsockname() for client in clients[1:])
    for client in clients:
        client.close()


def test_frames_are_sent_together_up_to_the_size_of_a_datagram(link, partner):
    link.announce(BEAT)
    partner.recv(2000)
    for _ in range(100):
        link.send(BEAT)
    link.flush()
    sizes = []
    while sum(sizes) < 100 * len(BEAT):
        sizes.append(len(partner.recv(2000)))
    assert max(sizes) <= MAX_DATAGRAM
    assert len(sizes) == -(-100 * len(BEAT) // (MAX_DATAGRAM // len(BEAT) * len(BEAT)))


def test_a_port_in_use_is_an_error_that_names_it(link):
    with pytest.raises(PortTakenError, match=f"UDP port {address(link)[1]} is in use"):
        ServedLink(HOST, address(link)[1], (HOST, 14550), crc_extras())


def test_a_silent_client_of_another_machine_is_forgotten_after_a_minute(link, monkeypatch):
    """One on this machine is not: its port would be reported as closed."""
    now_s = 1_000.0
    monkeypatch.setattr("px4lockstep.autopilots.mavlink.served_link.time.monotonic", lambda: now_s)
    monkeypatch.setattr(link, "_send_to", lambda *_: None)
    for client in (("192.0.2.1", 14_550), ("192.0.2.2", 14_550), (HOST, 14_551)):
        link._remember(client)
    now_s += SILENCE_S
    link._remember(("192.0.2.2", 14_550))
    link.announce(BEAT)
    assert len(link.clients) == 3
    now_s += 1.0
    link.announce(BEAT)
    assert link.clients == ((HOST, 14_551), ("192.0.2.2", 14_550))
