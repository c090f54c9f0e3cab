"""The plant as the loop and the integrators see it: five kernels that dispatch on its kind.

One compilation serves every kind, because the kind is a number in the parameters and not a type.
"""

import math

from px4lockstep.jit import call_i32, call_void, kernel, record
from px4lockstep.plant import reference
from px4lockstep.plant.layout import ATT, GROUPS, MAX_STATES, MULTIROTOR_PLANT, TRAITS, USER_PLANT
from px4lockstep.plant.user import USER
from px4lockstep.vehicle import multirotor

PLANT = record(
    [
        ("kind", "i8"),
        ("n_x", "i8"),
        ("group_start", "i8", len(GROUPS)),  # a group is state.x[group_start:group_stop]; empty if they are equal
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
    """Write the time derivative of the state. Pure: no randomness, no clock, nothing else is written.

    The aircraft writes its regime, too. The reference problems are smooth, and a user's plant does not tell: 0.
    """
    if plant.kind == MULTIROTOR_PLANT:
        multirotor.rhs(state, inputs, plant.multirotor, dstate)
    elif plant.kind == USER_PLANT:
        call_void(plant.user.rhs_address, t_s, state, inputs, plant.user, dstate)
    else:
        reference.rhs(plant.kind, state.x, inputs, plant.reference, dstate.x)


@kernel
def write_outputs(t_s, state, inputs, plant, scratch, outputs):
    """Write what the plant shows besides its state, with the given inputs. Pure but for its scratch, a state's room."""
    if plant.kind == MULTIROTOR_PLANT:
        multirotor.write_outputs(state, inputs, plant.multirotor, scratch, outputs)
    elif plant.kind == USER_PLANT:
        if plant.user.outputs_address != 0:
            call_void(plant.user.outputs_address, t_s, state, inputs, plant.user, outputs)
    else:
        reference.write_invariants(plant.kind, state.x, plant.reference, outputs.values)


@kernel
def project(state, plant):
    """Put the state back into its bounds after an accepted step; return how many states were out of them.

    The quaternion is normalized every time, which does not count.
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
def autopilot_tick(t_us, state, inputs, plant):
    """Apply what changes at once at an autopilot tick; return whether that may be the state itself."""
    if plant.kind == MULTIROTOR_PLANT:
        multirotor.snap_actuators(inputs, plant.multirotor)
    elif plant.kind == USER_PLANT:
        if plant.user.autopilot_tick_address != 0:
            call_void(plant.user.autopilot_tick_address, t_us, state, inputs, plant.user)
        return True
    return False


@kernel
def applied_duty(state, inputs, plant, i):
    """Return what motor i gets now: the duty that its ESC applies, or its command if the plant has no ESCs."""
    if plant.kind == MULTIROTOR_PLANT:
        return multirotor.applied_duty(state, inputs, plant.multirotor, i)
    return inputs.command.motors[i]
