"""Mass, centre of mass and inertia of an airframe with a payload and an offset of its centre of gravity.

Positions in a spec are relative to the nominal centre of mass. The body, with mass m and inertia J about its own centre
of mass, has that centre at c, the offset. The payload is a point mass m_p at p.

    M = m + m_p,    g = (m c + m_p p) / M
    J_g = J + m S(c − g) + m_p S(p − g),    S(r) = |r|² 1 − r rᵀ    (parallel axes)

The plant moves about g: rotors, feet and the IMU are at their positions minus g. The autopilot's geometry stays
nominal, because an autopilot does not know g.
"""

from typing import NamedTuple

from px4lockstep.checks import Vector3

Matrix3 = tuple[Vector3, Vector3, Vector3]

NOMINAL: Vector3 = (0.0, 0.0, 0.0)


class Loading(NamedTuple):
    """Mass [kg], centre of mass relative to the nominal one [m], and inertia about it [kg m²]."""

    mass_kg: float
    centre_body_m: Vector3
    inertia_kgm2: Matrix3

    def placed(self, pos_body_m: Vector3) -> Vector3:
        """Return a position relative to the centre of mass."""
        return pos_body_m if self.centre_body_m == NOMINAL else minus(pos_body_m, self.centre_body_m)


def loading_of(
    mass_kg: float, inertia_kgm2: Matrix3, offset_m: Vector3, payload_kg: float, payload_pos_m: Vector3
) -> Loading:
    """Return the loading of a body with an offset of its centre of mass and a payload."""
    if payload_kg == 0.0 and offset_m == NOMINAL:
        return Loading(mass_kg, NOMINAL, inertia_kgm2)
    total_kg = mass_kg + payload_kg
    x, y, z = (
        (mass_kg * own + payload_kg * added) / total_kg for own, added in zip(offset_m, payload_pos_m, strict=True)
    )
    centre = (x, y, z)
    shifted = _added(inertia_kgm2, mass_kg, minus(offset_m, centre))
    return Loading(total_kg, centre, _added(shifted, payload_kg, minus(payload_pos_m, centre)))


def minus(a: Vector3, b: Vector3) -> Vector3:
    """Return the difference of two vectors."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def _added(inertia: Matrix3, mass_kg: float, arm_m: Vector3) -> Matrix3:
    """Return an inertia plus that of a point mass at an arm."""
    x, y, z = arm_m
    xx, yy, zz = mass_kg * (y * y + z * z), mass_kg * (x * x + z * z), mass_kg * (x * x + y * y)
    xy, xz, yz = -mass_kg * x * y, -mass_kg * x * z, -mass_kg * y * z
    (axx, axy, axz), (ayx, ayy, ayz), (azx, azy, azz) = inertia
    return (axx + xx, axy + xy, axz + xz), (ayx + xy, ayy + yy, ayz + yz), (azx + xz, azy + yz, azz + zz)
