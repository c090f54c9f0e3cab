"""Interface of the plant to the loop and the integrators: seven kernels that dispatch on the kind of the plant.

One compilation serves all kinds, because the kind is a number in the parameters, not a type.
"""

import math

from px4lockstep.jit import call_i32, call_void, kernel, record
from px4lockstep.plant import reference
from px4lockstep.plant.layout import ATT, GROUPS, MAX_STATES, MULTIROTOR_PLANT, TRAITS, USER_PLANT
from px4lockstep.plant.user import USER
from px4lockstep.vehicle import multirotor
from px4lockstep.vehicle.actuators import write_exact_outputs
from px4lockstep.vehicle.contact import NONE as NO_CONTACT

PLANT = record(
    [
        ("kind", "i8"),
        ("n_x", "i8"),
        ("has_closed_forms", "i8"),  # 1: `settle` has something to do
        ("group_start", "i8", len(GROUPS)),  # a group is state.x[group_start:group_stop], possibly empty
        ("group_stop", "i8", len(GROUPS)),
        ("traits", TRAITS),
        ("multirotor", multirotor.MULTIROTOR),
        ("reference", reference.REFERENCE),
        ("user", USER),
    ],
    limits={"n_x group_start group_stop": MAX_STATES},
)


@kernel
def rhs(t_s, state, inputs, plant, dstate):
    """Write the time derivative of the state. Pure: no randomness, no clock, no other writes.

    The aircraft also writes its regime. It stays 0 for the smooth reference problems and for user plants.
    """
    if plant.kind == MULTIROTOR_PLANT:
        multirotor.rhs(state, inputs, plant.multirotor, dstate)
    elif plant.kind == USER_PLANT:
        call_void(plant.user.rhs_address, t_s, state, inputs, plant.user, dstate)
    else:
        reference.rhs(plant.kind, state.x, inputs, plant.reference, dstate.x)


@kernel
def write_outputs(t_s, state, inputs, plant, scratch, outputs):
    """Write the outputs of the plant for a state and inputs. Pure except for `scratch`, a state buffer."""
    if plant.kind == MULTIROTOR_PLANT:
        multirotor.write_outputs(state, inputs, plant.multirotor, scratch, outputs)
    elif plant.kind == USER_PLANT:
        if plant.user.outputs_address != 0:
            call_void(plant.user.outputs_address, t_s, state, inputs, plant.user, outputs)
    else:
        reference.write_invariants(plant.kind, state.x, plant.reference, outputs.values)


@kernel
def settle(h_s, state, inputs, plant, end):
    """Replace states of `end`, a step of `h_s` after `state`, that the plant advances by their closed form."""
    if plant.has_closed_forms != 0:
        m = plant.multirotor
        write_exact_outputs(m.actuation, m, h_s, state, inputs, end)


@kernel
def project(state, plant):
    """Limit the state to its bounds after an accepted step; return the number of states that changed.

    The quaternion is always normalized and not counted.
    """
    x = state.x
    if plant.group_stop[ATT] > plant.group_start[ATT]:
        i = plant.group_start[ATT]
        norm = math.sqrt(x[i] * x[i] + x[i + 1] * x[i + 1] + x[i + 2] * x[i + 2] + x[i + 3] * x[i + 3])
        if norm > 0.0:
            scale = 1.0 / norm
            x[i] *= scale
            x[i + 1] *= scale
            x[i + 2] *= scale
            x[i + 3] *= scale
    if plant.kind == MULTIROTOR_PLANT:
        return multirotor.project(state, plant.multirotor)
    if plant.kind == USER_PLANT and plant.user.project_address != 0:
        return call_i32(plant.user.project_address, state, plant.user)
    return 0


@kernel
def is_clear(state, plant):
    """Return whether the plant is too high to touch the ground, or never reports contact."""
    if plant.kind != MULTIROTOR_PLANT:
        return True
    contact = plant.multirotor.contact
    return contact.kind == NO_CONTACT or state.x[2] < -contact.reach_m


@kernel
def autopilot_tick(t_us, state, inputs, plant, outputs):
    """Apply instantaneous changes at an autopilot tick; return whether the state may have changed.

    `outputs` are those of this tick, if the plant reads them (`traits.reads_outputs`).
    """
    if plant.kind == MULTIROTOR_PLANT:
        multirotor.autopilot_tick(inputs, plant.multirotor, outputs)
    elif plant.kind == USER_PLANT:
        if plant.user.autopilot_tick_address != 0:
            call_void(plant.user.autopilot_tick_address, t_us, state, inputs, plant.user)
        return True
    return False


@kernel
def applied_duty(state, inputs, plant, i):
    """Return the duty that the ESC of motor i applies, or its command if the plant has no ESCs."""
    if plant.kind == MULTIROTOR_PLANT:
        return multirotor.applied_duty(state, inputs, plant.multirotor, i)
    return inputs.command.motors[i]
