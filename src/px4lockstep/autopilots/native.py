"""The compiled autopilots: their records in a simulation, and the kernel that steps the active one."""

from px4lockstep.autopilots.builtin.stack import BUILTIN, step_builtin
from px4lockstep.autopilots.px4_library.exchange import step_px4
from px4lockstep.autopilots.px4_library.records import PX4_HOST
from px4lockstep.jit import kernel

RECORDS = [("builtin", BUILTIN), ("px4", PX4_HOST)]
"""Fields of the simulation record; the records of inactive autopilots are zero."""


@kernel
def step_native(sim, t_us, bus):
    """Run the compiled autopilot for one tick; return whether it succeeded."""
    if sim.px4.handle != 0:
        return step_px4(sim.px4, t_us, bus)
    step_builtin(sim.builtin, t_us, bus, sim.setpoint)
    return True
