"""PX4's library, uORB messages, missions and parameters. Usable on its own: imports neither Numba nor the simulator.

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
    from px4lockstep.px4.commands import Command
    from px4lockstep.px4.finding import find_library
    from px4lockstep.px4.handle import Px4
    from px4lockstep.px4.library import Library
    from px4lockstep.px4.missions import Mission, load_mission, parse_wpl
    from px4lockstep.px4.parameters import resolve
    from px4lockstep.px4.params_files import ParamsFile, format_params, load_params
    from px4lockstep.px4.topics import Publisher, Subscriber
    from px4lockstep.px4.ulog import LoggedTopic, UlogWriter
    from px4lockstep.px4.uorb import Layout, check_layouts, shipped_layouts

__all__ = [
    "Command",
    "Config",
    "Layout",
    "Library",
    "LoggedTopic",
    "Mission",
    "ParamsFile",
    "Publisher",
    "Px4",
    "Subscriber",
    "UlogWriter",
    "check_layouts",
    "find_library",
    "format_params",
    "load_mission",
    "load_params",
    "parse_wpl",
    "resolve",
    "shipped_layouts",
]

_HOMES = {
    "abi": ("Config",),
    "commands": ("Command",),
    "finding": ("find_library",),
    "handle": ("Px4",),
    "library": ("Library",),
    "missions": ("Mission", "load_mission", "parse_wpl"),
    "parameters": ("resolve",),
    "params_files": ("ParamsFile", "format_params", "load_params"),
    "topics": ("Publisher", "Subscriber"),
    "ulog": ("LoggedTopic", "UlogWriter"),
    "uorb": ("Layout", "check_layouts", "shipped_layouts"),
}


def __getattr__(name: str) -> Any:
    """Import names on first use, because missions and parameters do not need NumPy."""
    from importlib import import_module

    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module 'px4lockstep.px4' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return all names, including those that are not imported yet."""
    return sorted({*globals(), *__all__})
