"""Who may talk to the server of the viewer: not websites that are open in the same browser."""

import http.client

import pytest
import viser
from viewed import served
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from px4lockstep import InputError, load_spec
from px4lockstep.view import LiveView
from px4lockstep.view.gate import refusal
from px4lockstep.view.server import start_server

PROTOCOL = f"viser-v{viser.__version__}"


@pytest.mark.parametrize(
    ("hosts", "origins"),
    [
        (["127.0.0.1:8080"], []),  # a program
        (["127.0.0.1:8080"], ["http://127.0.0.1:8080"]),
        (["localhost:9000"], ["http://localhost:9000"]),  # a forwarded port
        (["[::1]:8080"], ["http://[::1]:8080"]),
    ],
)
def test_the_own_page_is_let_in(hosts, origins):
    """By any name of this machine, and by any port, because ssh may forward another one."""
    assert refusal(hosts, origins) == ""


@pytest.mark.parametrize(
    ("hosts", "origins", "reason"),
    [
        (["127.0.0.1:8080"], ["https://evil.example"], "pages of https://evil.example may not use the viewer"),
        (["127.0.0.1:8080"], ["http://127.0.0.1:3000"], "pages of http://127.0.0.1:3000 may not use"),
        (["127.0.0.1:8080"], ["http://localhost:8080"], "pages of http://localhost:8080 may not use"),
        (["127.0.0.1:8080"], ["null"], "pages of null may not use"),
        (["127.0.0.1:8080"], ["http://127.0.0.1:8080.evil.example"], "may not use"),
        (["evil.example:8080"], ["http://evil.example:8080"], "not at evil.example:8080"),  # DNS rebinding
        (["127.0.0.1.evil.example:8080"], [], "127.0.0.1 or localhost only"),
        (["x@127.0.0.1:8080", "evil.example"], [], "one Host"),
        (["[127.0.0.1"], [], "127.0.0.1 or localhost only"),
        ([], [], "one Host"),
        (["127.0.0.1"], ["http://127.0.0.1", "http://127.0.0.1"], "at most one Origin"),
    ],
)
def test_other_sites_are_refused_with_the_reason(hosts, origins, reason):
    """Other sites, other ports of this machine, files, and names that a website made point here."""
    assert reason in refusal(hosts, origins)


@pytest.mark.long
def test_a_website_can_neither_press_buttons_nor_read_flights():
    """The handshake of its WebSocket is refused; that of the own page is not."""
    with served() as server:
        address = f"127.0.0.1:{server.get_port()}"
        for headers in ({"origin": "https://evil.example"}, {"additional_headers": {"Host": "evil.example"}}):
            with (
                pytest.raises(InvalidStatus) as refused,
                connect(f"ws://{address}", subprotocols=[PROTOCOL], **headers),
            ):
                pass
            assert refused.value.response.status_code == 403
        with connect(f"ws://{address}", subprotocols=[PROTOCOL], origin=f"http://{address}") as own:
            assert own.recv(timeout=60)


@pytest.mark.long
def test_a_live_view_is_guarded_too():
    """It is the page of `serve --view`."""
    view = LiveView(load_spec("x500"), port=0)
    try:
        with pytest.raises(InvalidStatus), connect(view.url.replace("http", "ws"), origin="https://evil.example"):
            pass
    finally:
        view.close()


@pytest.mark.long
def test_the_page_can_not_be_framed_or_read_by_other_sites():
    """A website could lay the page under its own buttons; and a name of the website's is refused."""
    with served() as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.get_port(), timeout=60)
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert answer.status == 200
        assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert b"<html" in answer.read(500)
        connection.close()
        connection.request("GET", "/", headers={"Host": "evil.example"})
        answer = connection.getresponse()
        assert answer.status == 403
        assert b"127.0.0.1 or localhost only" in answer.read()
        connection.close()


@pytest.mark.long
def test_a_viser_that_goes_around_the_checks_is_stopped(monkeypatch):
    """A later version may start its server in another way."""
    from contextlib import nullcontext

    monkeypatch.setattr("px4lockstep.view.server.guarded", lambda: nullcontext(lambda: False))
    with pytest.raises(InputError, match="can't be guarded against other websites"):
        start_server()
