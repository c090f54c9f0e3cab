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

from px4lockstep.px4.abi import Config
from px4lockstep.px4.finding import find_library
from px4lockstep.px4.handle import Px4
from px4lockstep.px4.library import Library
from px4lockstep.px4.topics import Publisher, Subscriber
from px4lockstep.px4.uorb import Layout, check_layouts, shipped_layouts

__all__ = [
    "Config",
    "Layout",
    "Library",
    "Publisher",
    "Px4",
    "Subscriber",
    "check_layouts",
    "find_library",
    "shipped_layouts",
]
