"""PX4: its library, uORB messages, missions and parameters. Usable alone: imports neither Numba nor the simulator.

from px4lockstep.px4 import Library

with Library.load().create() as px4:
    attitude = px4.publisher("vehicle_attitude")
    motors = px4.subscriber("actuator_motors")
    message = attitude.layout.zeros()
    message["q"] = 1.0, 0.0, 0.0, 0.0
    attitude.publish(message)
    px4.step(4000)
    if motors.updated():
        motors.copy()["control"]
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from px4lockstep.px4.abi import Config
    from px4lockstep.px4.finding import find_library
    from px4lockstep.px4.handle import Px4
    from px4lockstep.px4.library import Library
    from px4lockstep.px4.mission_items import Command
    from px4lockstep.px4.missions import Mission, load_mission, parse_wpl
    from px4lockstep.px4.parameters import resolve
    from px4lockstep.px4.topics import Publisher, Subscriber
    from px4lockstep.px4.uorb import Layout, check_layouts, shipped_layouts

__all__ = [
    "Command",
    "Config",
    "Layout",
    "Library",
    "Mission",
    "Publisher",
    "Px4",
    "Subscriber",
    "check_layouts",
    "find_library",
    "load_mission",
    "parse_wpl",
    "resolve",
    "shipped_layouts",
]

_HOMES = {
    "Config": "px4lockstep.px4.abi",
    "find_library": "px4lockstep.px4.finding",
    "Px4": "px4lockstep.px4.handle",
    "Library": "px4lockstep.px4.library",
    "Command": "px4lockstep.px4.mission_items",
    "Mission": "px4lockstep.px4.missions",
    "load_mission": "px4lockstep.px4.missions",
    "parse_wpl": "px4lockstep.px4.missions",
    "resolve": "px4lockstep.px4.parameters",
    "Publisher": "px4lockstep.px4.topics",
    "Subscriber": "px4lockstep.px4.topics",
    "Layout": "px4lockstep.px4.uorb",
    "check_layouts": "px4lockstep.px4.uorb",
    "shipped_layouts": "px4lockstep.px4.uorb",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: missions and parameters need no NumPy."""
    if name not in _HOMES:
        raise AttributeError(f"module 'px4lockstep.px4' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return what `dir` shows: also what is not imported yet."""
    return sorted({*globals(), *__all__})
