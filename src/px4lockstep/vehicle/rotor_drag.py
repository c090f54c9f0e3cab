"""Rotor drag and rolling moment: what a spinning rotor feels of the air that crosses its disk.

    F_i = −c_d (ρ / ρ_nom) |ω_i| u⊥_i,   M_i = −c_r (ρ / ρ_nom) |ω_i| u⊥_i

u⊥_i is the velocity of the hub through the air, perpendicular to the axis of the rotor: u_i = v + Ω × r_i − wind with
the body rates Ω. F_i acts at the hub. In slow flight most of a multirotor's drag is rotor drag, which grows with the
speed itself, not with its square: the advancing blade makes more lift, and flaps the disk back.

Reference: P. Martin, E. Salaün, The true role of accelerometer feedback in quadrotor control, ICRA 2010, 1623-1629.
"""

from px4lockstep.jit import inlined_kernel, kernel, record
from px4lockstep.vehicle.power import rotor_slots

DISK = record(
    [
        ("pos_body_m", "f8", 3),
        ("drag", "f8"),  # c_d / ρ_nom
        ("rolling", "f8"),  # c_r / ρ_nom
    ]
)
"""A rotor's disk in the air."""

NONE, IN_ONE_PLANE, ANY = range(3)
"""Kinds of rotor drag: `IN_ONE_PLANE` if all axes are +z, all hubs have the same z, and c_r / c_d is the same."""


@inlined_kernel
def rotor_drag_wrench(m, state, density_kg_m3, v_air_rel_vehicle, omega_body):
    """Return force [N] and torque [N m] of all rotors in body axes; `m` is the `MULTIROTOR` record."""
    if m.rotor_drag == IN_ONE_PLANE:
        return wrench_in_one_plane(m, state, density_kg_m3, v_air_rel_vehicle, omega_body)
    return wrench_of_any(m, state, density_kg_m3, v_air_rel_vehicle, omega_body)


@inlined_kernel
def wrench_in_one_plane(m, state, density_kg_m3, v_air_rel_vehicle, omega_body):
    """Return the wrench of rotors in one plane: sums over the rotors, so that the vectors are needed only once."""
    p, q, r = omega_body
    i_rotor, n_rotors = rotor_slots(m)
    total, moment_x, moment_y, second = 0.0, 0.0, 0.0, 0.0
    for i in range(n_rotors):
        disk = m.disks[i]
        x, y = disk.pos_body_m[0], disk.pos_body_m[1]
        weight = disk.drag * abs(state.x[i_rotor + i])
        total += weight
        moment_x += weight * x
        moment_y += weight * y
        second += weight * (x * x + y * y)
    z = m.disks[0].pos_body_m[2]
    ux, uy = density_kg_m3 * (v_air_rel_vehicle[0] - q * z), density_kg_m3 * (v_air_rel_vehicle[1] + p * z)
    spin = density_kg_m3 * r
    fx, fy = total * ux + spin * moment_y, total * uy - spin * moment_x
    rolling = m.rolling_per_drag
    torque_z = moment_x * uy - moment_y * ux - spin * second
    return (fx, fy, 0.0), (rolling * fx - z * fy, rolling * fy + z * fx, torque_z)


@kernel
def wrench_of_any(m, state, density_kg_m3, v_air_rel_vehicle, omega_body):
    """Return the wrench of rotors with any axes and places."""
    air_x, air_y, air_z = v_air_rel_vehicle
    p, q, r = omega_body
    i_rotor, n_rotors = rotor_slots(m)
    fx, fy, fz = 0.0, 0.0, 0.0
    tx, ty, tz = 0.0, 0.0, 0.0
    for i in range(n_rotors):
        axis, disk = m.rotors[i].axis, m.disks[i]
        x, y, z = disk.pos_body_m[0], disk.pos_body_m[1], disk.pos_body_m[2]
        ux, uy, uz = air_x - (q * z - r * y), air_y - (r * x - p * z), air_z - (p * y - q * x)
        along = ux * axis[0] + uy * axis[1] + uz * axis[2]
        spin = density_kg_m3 * abs(state.x[i_rotor + i])
        ux, uy, uz = spin * (ux - along * axis[0]), spin * (uy - along * axis[1]), spin * (uz - along * axis[2])
        drag_x, drag_y, drag_z = disk.drag * ux, disk.drag * uy, disk.drag * uz
        fx += drag_x
        fy += drag_y
        fz += drag_z
        tx += y * drag_z - z * drag_y + disk.rolling * ux
        ty += z * drag_x - x * drag_z + disk.rolling * uy
        tz += x * drag_y - y * drag_x + disk.rolling * uz
    return (fx, fy, fz), (tx, ty, tz)
