"""Motion of the vehicle through the air, from its flat state."""

from px4lockstep.jit import kernel
from px4lockstep.plant.layout import ATT_START, OMEGA_START, VEL_START


@kernel
def attitude(state):
    """Return the attitude quaternion of a state as a tuple."""
    x = state.x
    return x[ATT_START], x[ATT_START + 1], x[ATT_START + 2], x[ATT_START + 3]


@kernel
def velocity(state):
    """Return the ground velocity of a state, in world axes."""
    return state.x[VEL_START], state.x[VEL_START + 1], state.x[VEL_START + 2]


@kernel
def body_rates(state):
    """Return the body rates of a state."""
    return state.x[OMEGA_START], state.x[OMEGA_START + 1], state.x[OMEGA_START + 2]


@kernel
def air_rel_vehicle(state, inputs, dcm):
    """Return `v_air_rel_vehicle`, the velocity of the air relative to the vehicle, in body axes."""
    vel = velocity(state)
    wind = inputs.wind_ned
    an, ae, ad = wind[0] - vel[0], wind[1] - vel[1], wind[2] - vel[2]
    return (
        dcm[0] * an + dcm[3] * ae + dcm[6] * ad,
        dcm[1] * an + dcm[4] * ae + dcm[7] * ad,
        dcm[2] * an + dcm[5] * ae + dcm[8] * ad,
    )


@kernel
def axial_velocity(rotor, v_air_rel_vehicle):
    """Return V_ax, the velocity of the air through the disk of a rotor, against its axis [m/s]."""
    axis = rotor.axis
    return -(v_air_rel_vehicle[0] * axis[0] + v_air_rel_vehicle[1] * axis[1] + v_air_rel_vehicle[2] * axis[2])
