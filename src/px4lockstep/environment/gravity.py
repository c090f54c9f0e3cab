"""Gravity, along the down axis.

    uniform      g = constant
    spherical    g = mu / (r0 - z)**2,    z = position down from the origin, r0 = distance of the origin from the centre

Uniform gravity is 0.3 % too strong at 10 km. The spherical law has no oblateness and no rotation of the Earth, so that
it gives 9.820 m/s^2 at its default radius, not the standard's 9.80665 (which contains the centrifugal part at 45°).
The direction is down everywhere: 1 km to the side, the true vertical leans by 0.009°.

References:
    9.80665 m/s^2: standard gravity, 3rd CGPM (1901). mu: WGS 84 (NIMA TR8350.2).
    r0: the mean radius of the Earth that PX4 uses too.
"""

from dataclasses import dataclass
from typing import Any

from px4lockstep.checks import check_kind, check_number, check_positive
from px4lockstep.jit import kernel, record

UNIFORM = 0
SPHERICAL = 1

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
        # At the centre of the Earth there is no direction to fall in.
        if radius_squared_m2 == 0.0:
            return 0.0
        return gravity.mu_m3_s2 / radius_squared_m2
    return gravity.gravity_m_s2


@dataclass(frozen=True)
class Gravity:
    """Gravity as a user chooses it.

    Args:
        kind: `uniform` or `spherical`.
        gravity_m_s2: The acceleration of the uniform kind, 0 or more.
        mu_m3_s2: The gravitational parameter of the spherical kind.
        r0_m: The distance of the origin (home) from the centre of the Earth.

    Raises:
        InputError: If the kind is unknown or a value out of range.
    """

    kind: str = "uniform"
    gravity_m_s2: float = 9.80665
    mu_m3_s2: float = 3.986004418e14
    r0_m: float = 6_371_000.0

    def __post_init__(self) -> None:
        """Check the kind and the ranges."""
        check_kind("gravity.kind", self.kind, KINDS)
        check_number("gravity.gravity_m_s2", self.gravity_m_s2, minimum=0.0, allowed="finite and 0 or more")
        check_positive("gravity.mu_m3_s2", self.mu_m3_s2)
        check_positive("gravity.r0_m", self.r0_m)

    def write(self, rec: Any) -> None:
        """Write kind and parameters into a `GRAVITY` record."""
        rec["kind"] = KINDS[self.kind]
        rec["gravity_m_s2"] = self.gravity_m_s2
        rec["mu_m3_s2"] = self.mu_m3_s2
        rec["r0_m"] = self.r0_m
