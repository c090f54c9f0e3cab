"""Rigid body with spinning rotors.

    v̇ = F / m + g
    q̇ = ½ q ⊗ (0, ω)
    I ω̇ = τ − D ω − ω × (I ω + H) − Ḣ,    H = Σ −s_i J_i ω_i a_i

`I` is the full inertia tensor of the vehicle in body axes, `D` a diagonal damping matrix, `H` the angular momentum of
the rotors: a rotor spins against its reaction torque on the body, hence the sign. The centre of mass is fixed in the
body. Reference: Stevens, Lewis, Johnson, Aircraft Control and Simulation, 3rd ed., chapter 1.
"""

from px4lockstep.jit import kernel, record

BODY = record(
    [
        ("mass_kg", "f8"),
        ("inverse_mass", "f8"),
        ("inertia_kgm2", "f8", (3, 3)),
        ("inverse_inertia", "f8", (3, 3)),
        ("angular_damping", "f8", 3),  # [N m s]
    ]
)


@kernel
def angular_acceleration(body, omega, torque, rotor_momentum):
    """Return ω̇ in body axes from body rates, torque (minus Ḣ) and the angular momentum H of the rotors."""
    p, q, r = omega
    inertia = body.inertia_kgm2
    l0 = inertia[0, 0] * p + inertia[0, 1] * q + inertia[0, 2] * r + rotor_momentum[0]
    l1 = inertia[1, 0] * p + inertia[1, 1] * q + inertia[1, 2] * r + rotor_momentum[1]
    l2 = inertia[2, 0] * p + inertia[2, 1] * q + inertia[2, 2] * r + rotor_momentum[2]
    damping = body.angular_damping
    m0 = torque[0] - damping[0] * p - (q * l2 - r * l1)
    m1 = torque[1] - damping[1] * q - (r * l0 - p * l2)
    m2 = torque[2] - damping[2] * r - (p * l1 - q * l0)
    inverse = body.inverse_inertia
    return (
        inverse[0, 0] * m0 + inverse[0, 1] * m1 + inverse[0, 2] * m2,
        inverse[1, 0] * m0 + inverse[1, 1] * m1 + inverse[1, 2] * m2,
        inverse[2, 0] * m0 + inverse[2, 1] * m1 + inverse[2, 2] * m2,
    )
