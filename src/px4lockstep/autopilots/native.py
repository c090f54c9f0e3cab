"""The compiled autopilots: their records in a simulation, and the kernel that steps the active one.

The exchange with real PX4 is called by address, and compiled when the first flight needs it.
"""

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.builtin.stack import BUILTIN, step_builtin
from px4lockstep.autopilots.px4_library.exchange import step_px4
from px4lockstep.autopilots.px4_library.records import PX4_HOST
from px4lockstep.jit import call_i32, callback, kernel
from px4lockstep.jit.progress import reporter

RECORDS = [("builtin", BUILTIN), ("px4", PX4_HOST)]
"""Fields of the simulation record; the records of inactive autopilots are zero."""


@kernel
def step_native(sim, t_us, bus):
    """Run the compiled autopilot for one tick; return whether it succeeded."""
    if sim.px4.handle != 0:
        return call_i32(sim.px4.step_address, sim.px4, t_us, bus) != 0
    step_builtin(sim.builtin, t_us, bus, sim.setpoint)
    return True


@functools.cache
def exchange_address(bus: np.dtype[Any]) -> int:
    """Return the address of the exchange with real PX4, for the layout of the bus."""
    with reporter.together():
        return callback(step_px4, "i4", (PX4_HOST, "i8", bus))


def write_addresses(core: npt.NDArray[Any]) -> None:
    """Write the addresses of functions that the autopilot of a simulation needs."""
    if core["px4"]["handle"][0]:
        core["px4"]["step_address"] = exchange_address(core.dtype["bus"])
