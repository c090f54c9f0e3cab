"""Gravity along the down axis.

    uniform      g = constant
    spherical    g = mu / (r0 - z)**2,    z = position down from the origin, r0 = distance of the origin from the centre

Uniform gravity is 0.3 % too strong at 10 km. The spherical law neglects the oblateness and rotation of the Earth, so
it gives 9.820 m/s^2 at its default radius, not the standard 9.80665 (which includes the centrifugal part at 45°). The
direction is down everywhere; 1 km to the side, the true vertical differs by 0.009°.

References:
    9.80665 m/s^2: standard gravity, 3rd CGPM (1901). mu: WGS 84 (NIMA TR8350.2).
    r0: mean radius of the Earth, as in PX4.
"""

from typing import Annotated, Any, Literal

from px4lockstep.constants import STANDARD_GRAVITY_M_S2
from px4lockstep.jit import kernel, record
from px4lockstep.part import Part, entry, spelled

UNIFORM, SPHERICAL = range(2)
KINDS = {"uniform": UNIFORM, "spherical": SPHERICAL}

GRAVITY = record(
    [
        ("kind", "i8"),
        ("gravity_m_s2", "f8"),  # uniform
        ("mu_m3_s2", "f8"),  # spherical
        ("r0_m", "f8"),
    ]
)


@kernel
def gravity_down_m_s2(gravity, z_down_m):
    """Return the acceleration of gravity [m/s^2], positive down, at a position down from the origin."""
    if gravity.kind == SPHERICAL:
        radius_m = gravity.r0_m - z_down_m
        radius_squared_m2 = radius_m * radius_m
        # At the centre of the Earth the direction is undefined.
        if radius_squared_m2 == 0.0:
            return 0.0
        return gravity.mu_m3_s2 / radius_squared_m2
    return gravity.gravity_m_s2


class Gravity(Part, where="environment", stage="plant"):
    """User parameters of gravity."""

    gravity: Annotated[Literal["uniform", "spherical"], spelled(KINDS)] = entry("uniform", "Gravity model.")
    gravity_mps2: float = entry(STANDARD_GRAVITY_M_S2, "Acceleration of `uniform` gravity.", "m/s²", ge=0.0)
    gravity_mu: float = entry(3.986004418e14, "Gravitational parameter of `spherical` gravity.", "m³/s²", gt=0.0)
    gravity_r0_m: float = entry(
        6_371_000.0, "Distance of home from the centre of the Earth, for `spherical` gravity.", "m", ge=1.0, le=1e10
    )

    @property
    def at_home_m_s2(self) -> float:
        """The acceleration at home."""
        if self.gravity == "uniform":
            return self.gravity_mps2
        return self.gravity_mu / (self.gravity_r0_m * self.gravity_r0_m)

    def write(self, rec: Any) -> None:
        """Write a `GRAVITY` record."""
        rec["kind"] = KINDS[self.gravity]
        rec["gravity_m_s2"] = self.gravity_mps2
        rec["mu_m3_s2"] = self.gravity_mu
        rec["r0_m"] = self.gravity_r0_m
