"""A user's plant: functions called by address, so that the loop is not compiled again for it.

Each one is a plain function that follows the rules for kernels (see `docs/howto/own_plant.md`); `UserPlant` compiles it
with the signature

    rhs(t_s, state, inputs, params, dstate)        writes dstate.x[0:n_x]; pure
    outputs(t_s, state, inputs, params, outputs)   writes outputs.values; pure
    project(state, params) -> int                  moves the state back into its bounds, returns the number of changes
    autopilot_tick(t_us, state, inputs, params)    may change the state once per autopilot tick

A plant in a shared library uses the same signatures in C, with pointers to the records' bytes:

    void rhs(double, const double *x, const void *inputs, const void *params, double *dx);
"""

from typing import Any

from px4lockstep.jit import record
from px4lockstep.plant.inputs import INPUT
from px4lockstep.plant.layout import OUTPUTS, STATE

MAX_PARAMETERS = 64
ADDRESSES = "rhs_address outputs_address project_address autopilot_tick_address"

USER = record([("values", "f8", MAX_PARAMETERS), (ADDRESSES, "i8")], transient=ADDRESSES)

SIGNATURES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "rhs": ("void", ("f8", STATE, INPUT, USER, STATE)),
    "outputs": ("void", ("f8", STATE, INPUT, USER, OUTPUTS)),
    "project": ("i4", (STATE, USER)),
    "autopilot_tick": ("void", ("i8", STATE, INPUT, USER)),
}
