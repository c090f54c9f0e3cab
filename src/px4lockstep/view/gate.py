"""Who may talk to the server of the viewer: pages that it served itself, to a browser on this machine.

Any website that is open in the browser can send requests to 127.0.0.1. For WebSockets no rule of the browser stops it;
the server must compare the headers that the browser sets and the website can't change:

- `Host` must be this machine. A name that a website made point to 127.0.0.1 (DNS rebinding) is another one.
- `Origin`, the site of the page, must be the same host and port. Programs other than browsers send none.

viser checks neither, and has no option for it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
"""Names of this machine. The port is not compared with that of the server: ssh may forward another one."""
HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",  # a website could lay the page under its own buttons
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


@contextmanager
def guarded() -> Iterator[Callable[[], bool]]:
    """Check every request to a server of viser that is started inside; yield a function that returns whether it works.

    viser has no hook for it. It starts its server by a function of another library, which is replaced meanwhile.
    """
    from websockets.asyncio import server

    serve, is_guarded = server.serve, False

    def guarded_serve(*args: Any, process_request: Callable[..., Any], **options: Any) -> Any:
        nonlocal is_guarded
        is_guarded = True
        return serve(*args, process_request=_checked(process_request), **options)

    server.serve = guarded_serve  # type: ignore[assignment, misc]
    try:
        yield lambda: is_guarded
    finally:
        server.serve = serve  # type: ignore[misc]


def _checked(answer: Callable[..., Any]) -> Callable[..., Any]:
    """Return what answers a request: a refusal, or what viser answers."""

    def respond(connection: Any, request: Any) -> Any:
        reason = refusal(request.headers.get_all("Host"), request.headers.get_all("Origin"))
        if reason:
            return connection.respond(HTTPStatus.FORBIDDEN, f"{reason}\n")
        if "Accept-Encoding" in request.headers:  # viser would spend 50 ms on compressing what is compressed
            del request.headers["Accept-Encoding"]
        response = answer(connection, request)
        if response is not None:
            response.headers.update(HEADERS)
        return response

    return respond


def refusal(hosts: list[str], origins: list[str]) -> str:
    """Return why a request with these headers is refused, or nothing."""
    if len(hosts) != 1 or len(origins) > 1:
        return "one Host and at most one Origin are allowed"
    if _host_of(f"//{hosts[0]}") not in LOCAL_HOSTS:
        return f"the viewer is at 127.0.0.1 or localhost only, not at {hosts[0]}; forward its port to reach it"
    if origins and origins[0] not in (f"http://{hosts[0]}", f"https://{hosts[0]}"):
        return f"pages of {origins[0]} may not use the viewer at {hosts[0]}"
    return ""


def _host_of(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
