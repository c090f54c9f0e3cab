"""A user's plant: functions behind addresses, so that the loop need not be compiled again for it.

Each is a plain function, written as a kernel is (see `docs/howto/own_plant.md`), and compiled by `UserPlant` with the
signature

    rhs(t_s, state, inputs, params, dstate)        writes dstate.x[0:n_x]; pure
    outputs(t_s, state, inputs, params, outputs)   writes outputs.values; pure
    project(state, params) -> int                  puts the state back into its bounds, returns how many it moved
    autopilot_tick(t_us, state, inputs, params)    may change the state once per autopilot tick

The same signatures in C, for a plant in a shared library, with pointers to the records' bytes:

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
