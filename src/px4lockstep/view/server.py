"""The server of the viewer: viser on 127.0.0.1, which has threads of its own.

viser answers the browser in its threads. Code of this package runs in the thread that created the view: callbacks of
viser only put what the user did into a queue (`page.Inbox`).
"""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from px4lockstep.errors import InputError
from px4lockstep.view.gate import guarded

HOST = "127.0.0.1"
DEFAULT_PORT = 8080
ANY_PORT = 0


def start_server(port: int = ANY_PORT, title: str = "px4lockstep") -> Any:
    """Start viser on this machine; by default on a free port.

    Raises:
        InputError: If viser is not installed, or the port is invalid or in use.
    """
    if not 0 <= port <= 65_535:
        raise InputError(f"port {port} is out of range; it must be 1 to 65535, or 0 for any free port")
    try:
        import viser
    except ImportError as error:
        raise InputError(
            "the viewer needs viser, which is not installed; install it: pip install 'px4lockstep[view]'"
        ) from error
    _check_free(port)
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)  # or it prints tracebacks of broken connections
    with _quiet_rich(), guarded() as is_guarded:
        server = viser.ViserServer(host=HOST, port=port, label=title, verbose=False)
    if not is_guarded():
        stop_server(server)
        raise InputError(f"viser {viser.__version__} can't be guarded against other websites; install viser 1.1")
    if port != ANY_PORT and server.get_port() != port:  # taken since it was checked; viser then takes another
        stop_server(server)
        raise _in_use(port)
    # Without a graphics card, an image of surroundings and shadows cost most of the time of a frame.
    server.scene.configure_environment_map(None)
    server.scene.configure_default_lights(cast_shadow=False)
    server.gui.configure_theme(show_logo=False, show_share_button=False)  # sharing would publish the page
    return server


def stop_server(server: Any) -> None:
    """Stop the server and its threads."""
    with _quiet_rich():
        server.stop()


def _check_free(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except PermissionError as error:
            raise InputError(f"port {port} needs privileges; use --port with a number from 1024 on") from error
        except OSError as error:
            raise _in_use(port) from error


def _in_use(port: int) -> InputError:
    return InputError(f"port {port} of {HOST} is in use; stop what uses it, or choose another port with --port")


@contextmanager
def _quiet_rich() -> Iterator[None]:
    """Silence the messages that viser prints through rich when it starts and stops."""
    import rich

    console = rich.get_console()
    was_quiet, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = was_quiet
