"""Ground effect: near the ground, a rotor has more thrust at the same speed and torque.

    T / T∞ = 1 / (1 − (R / 4z)²),   z = max(height of the hub, R / 2)

R is the radius of the rotor. The limit of z, below which the theory does not hold, limits the gain to 4/3. A rotor that
is two diameters above the ground gains 0.4 %. The ground is flat, at z = 0; rotors do not influence each other.

Reference: I. C. Cheeseman, W. E. Bennett, The effect of the ground on a helicopter rotor in forward flight, ARC R&M
3021, 1955.
"""

from px4lockstep.jit import kernel


@kernel
def thrust_gain(pos_body_m, radius_m, dcm, z_down_m):
    """Return T / T∞ of a rotor; `dcm` is the rotation from body to world, `z_down_m` that of the centre of mass."""
    height = -(z_down_m + dcm[6] * pos_body_m[0] + dcm[7] * pos_body_m[1] + dcm[8] * pos_body_m[2])
    height = max(height, 0.5 * radius_m)
    four_heights_squared = 16.0 * height * height
    return four_heights_squared / (four_heights_squared - radius_m * radius_m)
