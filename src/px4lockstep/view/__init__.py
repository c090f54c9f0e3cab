"""Show flights in 3D in a browser: runs, campaigns, a live vehicle, and a page that needs no server.

    from px4lockstep.view import replay_html

    text = replay_html([px4lockstep.read_run("latest")])

It needs viser, the extra `view`; importing this package does not import it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from px4lockstep.view.live import LiveView
    from px4lockstep.view.replay import replay_html

__all__ = ["LiveView", "replay_html"]

_HOMES = {"LiveView": "live", "replay_html": "replay"}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f"px4lockstep.view.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'px4lockstep.view' has no attribute {name!r}")
