"""Contact with flat ground at z = 0 (positive down), by penalty forces.

`flat_ground` acts at the centre of mass, without moments:

    N = k z + c max(0, v_z)   for z > 0,   friction −μ N v_t / (|v_t| + v_eps)

`legs` acts at points fixed to the body, with moments; k and c are totals, divided by the number of points. At each
point N is as above, and friction has a static and a kinetic part:

    |v_t| ≤ v_eps   sticks: F = −μ_s N v_t / v_eps
    |v_t| > v_eps   slides: F = −N (μ + (μ_s − μ) (v_eps / |v_t|)²) v_t / |v_t|

limited to κ |v_t|, where κ is the larger of the total damping and 2 √(k m), divided by the number of points. Without
this limit, the large N of an impact would make friction far stiffer than the ground itself.

That alone is a damper, on which a vehicle in the wind would creep. Legs that stick also hold the horizontal load F of
thrust and drag, each in proportion to its normal force and the less, the faster it moves (after Karnopp):

    R_i = −F min(1 / Σ N, μ_s / |F|) N_i max(0, 1 − |v_t,i| / v_eps)

so that a vehicle at rest stays where it is, unless the load exceeds the friction cone or κ v_eps. The sum of both parts
stays within μ_s N, and is continuous. Damping acts on compression only, so the ground never pulls.

Reference: D. Karnopp, Computer simulation of stick-slip friction in mechanical dynamic systems, J. Dyn. Sys. Meas.
Control 107 (1985), 100-103.
"""

import math
from typing import Annotated, Any, ClassVar, Literal

from px4lockstep.jit import inlined_kernel, kernel, record
from px4lockstep.part import KEY, Found, Part, Vector, entry, fill, misfit, spelled
from px4lockstep.plant.layout import MAX_POINTS, REGIME_BITS

NONE, FLAT_GROUND, LEGS = range(3)
KINDS = {"no_contact": NONE, "flat_ground": FLAT_GROUND, "legs": LEGS}
SPELLINGS = dict.fromkeys(("none", "no", "off", "nocontact"), "no_contact") | dict.fromkeys(
    ("flat", "ground"), "flat_ground"
)
"""Other spellings of the kinds, as in files of PX4Lockstep.jl."""

POINT_BITS = 3  # regime bits for flat ground or for each leg: `point_regime`
assert POINT_BITS * MAX_POINTS <= REGIME_BITS, "the contact regime has more bits than one number holds"
TOUCHING = int("1" * MAX_POINTS, 1 << POINT_BITS)
"""The bits of the regime that say which points are in contact."""

CONTACT = record(
    [
        ("kind n_points", "i8"),
        ("stiffness_n_m", "f8"),  # per point
        ("damping_n_s_m", "f8"),
        ("mu", "f8"),  # 0 with friction off
        ("mu_static v_eps_m_s", "f8"),
        ("friction_slope_n_s_m", "f8"),  # κ: limit of friction over sliding speed, per leg
        ("reach_m", "f8"),  # a vehicle higher than this does not touch the ground
        ("points_body_m", "f8", (MAX_POINTS, 3)),
    ]
)


@kernel
def normal_force(contact, depth_m, sink_m_s):
    """Return the normal force at a depth and sink rate [N]."""
    force = contact.stiffness_n_m * depth_m
    return force + contact.damping_n_s_m * sink_m_s if sink_m_s > 0.0 else force


@kernel
def point_regime(contact, vel_n, vel_e, vel_d):
    """Return the regime bits of a point in the ground: in contact (1), sinking (2), sliding (4)."""
    sinks = 2 if vel_d > 0.0 else 0
    slides = 4 if vel_n * vel_n + vel_e * vel_e > contact.v_eps_m_s * contact.v_eps_m_s else 0
    return 1 | sinks | slides


@kernel
def ground_force(contact, depth_m, vel_n, vel_e, vel_d):
    """Return the force of flat ground at the centre of mass, in world axes [N]; 0 above the ground."""
    if depth_m <= 0.0:
        return 0.0, 0.0, 0.0
    normal = normal_force(contact, depth_m, vel_d)
    speed = math.sqrt(vel_n * vel_n + vel_e * vel_e)
    friction = -contact.mu * normal / (speed + contact.v_eps_m_s)
    return friction * vel_n, friction * vel_e, -normal


@kernel
def point_force(contact, depth_m, vel_n, vel_e, vel_d):
    """Return the force of the ground on one leg, in world axes [N]; 0 above the ground."""
    if depth_m <= 0.0:
        return 0.0, 0.0, 0.0
    normal = normal_force(contact, depth_m, vel_d)
    speed = math.sqrt(vel_n * vel_n + vel_e * vel_e)
    if speed <= contact.v_eps_m_s:
        friction = contact.mu_static * normal / contact.v_eps_m_s
    else:
        ratio = contact.v_eps_m_s / speed
        friction = normal * (contact.mu + (contact.mu_static - contact.mu) * ratio * ratio) / speed
    friction = -min(friction, contact.friction_slope_n_s_m)
    return friction * vel_n, friction * vel_e, -normal


@kernel
def legs_wrench(contact, dcm, z_down_m, vel, omega, load, dstate):
    """Return the force in world axes [N] and the torque in body axes [N m] of all legs; set their regime bits.

    `dcm` holds the nine elements of the rotation from body to world, row by row. `load` is the horizontal force of
    everything else, north and east.
    """
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = dcm
    p, q, r = omega
    fn, fe, fd = 0.0, 0.0, 0.0
    tx, ty, tz = 0.0, 0.0, 0.0
    normal, held = 0.0, 0.0
    hx, hy, hz = 0.0, 0.0, 0.0
    for i in range(contact.n_points):
        x, y, z = contact.points_body_m[i, 0], contact.points_body_m[i, 1], contact.points_body_m[i, 2]
        depth = z_down_m + r20 * x + r21 * y + r22 * z
        if depth > 0.0:
            ux, uy, uz = q * z - r * y, r * x - p * z, p * y - q * x
            vn = vel[0] + r00 * ux + r01 * uy + r02 * uz
            ve = vel[1] + r10 * ux + r11 * uy + r12 * uz
            vd = vel[2] + r20 * ux + r21 * uy + r22 * uz
            gn, ge, gd = point_force(contact, depth, vn, ve, vd)
            dstate.contact_regime |= point_regime(contact, vn, ve, vd) << (POINT_BITS * i)
            fn += gn
            fe += ge
            fd += gd
            bx = r00 * gn + r10 * ge + r20 * gd
            by = r01 * gn + r11 * ge + r21 * gd
            bz = r02 * gn + r12 * ge + r22 * gd
            tx += y * bz - z * by
            ty += z * bx - x * bz
            tz += x * by - y * bx
            normal -= gd
            grip = -gd * max(0.0, 1.0 - math.sqrt(vn * vn + ve * ve) / contact.v_eps_m_s)
            held += grip
            hx += grip * x
            hy += grip * y
            hz += grip * z
    push = math.sqrt(load[0] * load[0] + load[1] * load[1])
    if held > 0.0 and push > 0.0 and contact.mu_static > 0.0:
        share = -min(1.0 / normal, contact.mu_static / push)
        gn, ge = share * load[0], share * load[1]  # per newton of grip
        fn += held * gn
        fe += held * ge
        bx, by, bz = r00 * gn + r10 * ge, r01 * gn + r11 * ge, r02 * gn + r12 * ge
        tx += hy * bz - hz * by
        ty += hz * bx - hx * bz
        tz += hx * by - hy * bx
    return (fn, fe, fd), (tx, ty, tz)


@inlined_kernel
def contact_wrench(contact, dcm, z_down_m, vel, omega, load, dstate):
    """Return the ground force in world axes [N] and torque in body axes [N m]; set the regime bits."""
    if z_down_m < -contact.reach_m:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if contact.kind == LEGS:
        return legs_wrench(contact, dcm, z_down_m, vel, omega, load, dstate)
    if z_down_m > 0.0:
        dstate.contact_regime = point_regime(contact, 0.0, 0.0, vel[2])  # its friction law has no branches
    return ground_force(contact, z_down_m, vel[0], vel[1], vel[2]), (0.0, 0.0, 0.0)


class Contact(Part, where="plant.contact"):
    """Ground contact model."""

    aliases: ClassVar[dict[str, str]] = {"μ": "mu"}
    name_key: ClassVar[str | None] = "kind"

    kind: Annotated[Literal["flat_ground", "no_contact", "legs"], spelled(KINDS, SPELLINGS)] = entry(
        "flat_ground", "Contact at the centre of mass (`flat_ground`), at feet (`legs`), or none (`no_contact`)."
    )
    k_n_per_m: float = entry(5000.0, "Ground stiffness, in total for all legs.", "N/m", gt=0.0)
    c_n_per_mps: float = entry(600.0, "Ground damping, in total for all legs.", "N s/m", ge=0.0)
    mu: float = entry(0.8, "Friction coefficient; kinetic friction for `legs`. Alias: `μ`.", ge=0.0)
    v_eps: float = entry(
        0.05,
        "Sliding speed at which friction is half its maximum (`flat_ground`), or below which a foot sticks (`legs`).",
        "m/s",
        gt=0.0,
    )
    enable_friction: bool = entry(True, "Whether the ground has friction.")
    points_body_m: tuple[Vector, ...] = entry((), "Positions of the feet of `legs`.", "m", max_length=MAX_POINTS)
    mu_static: float | None = entry(
        None, "Static friction coefficient of `legs`, at least `mu`. Default: `mu`.", ge=0.0
    )

    def check(self) -> Found:
        """Check that legs have feet and static friction is not below kinetic friction."""
        if self.kind == "legs" and not self.points_body_m:
            yield ("points_body_m",), f"{KEY} is missing; contact of kind 'legs' needs the positions of the feet"
        if self.mu_static is not None and self.mu_static < self.mu:
            yield misfit("mu_static", self.mu_static, f"is below mu; it must be at least {self.mu}")

    @property
    def rest_height_m(self) -> float:
        """Height of the centre of mass when the vehicle stands on the ground."""
        return max(point[2] for point in self.points_body_m) if self.kind == "legs" else 0.0

    def time_constant_s(self, mass_kg: float, smallest_inertia_kgm2: float) -> float:
        """Return the shortest time constant of the vehicle on the ground; infinity without contact.

        On legs the vehicle can also rock, which is faster if the feet are far apart. It stands on the points below its
        centre of mass, or lies on those above.
        """
        k, c = self.k_n_per_m, self.c_n_per_mps
        if self.kind == "no_contact":
            return math.inf
        if self.kind == "flat_ground":
            return _oscillator_time_s(mass_kg, k, c)
        below = [point for point in self.points_body_m if point[2] >= 0.0]
        shortest_s = math.inf
        for points in (below, [point for point in self.points_body_m if point[2] < 0.0]):
            levers = [0.0, 0.0]
            for x, y, _ in points:
                levers = [levers[0] + x * x, levers[1] + y * y]
            for mass, of_all in ((mass_kg, len(points)), (smallest_inertia_kgm2, max(levers))):
                share = of_all / len(self.points_body_m)
                if share > 0.0:
                    shortest_s = min(shortest_s, _oscillator_time_s(mass, share * k, share * c))
        return shortest_s

    def write(self, rec: Any, mass_kg: float) -> None:
        """Write a `CONTACT` record."""
        count = len(self.points_body_m)
        divisor = count if self.kind == "legs" else 1
        reach_m = max((math.hypot(*point) for point in self.points_body_m), default=0.0)
        friction_slope = max(self.c_n_per_mps, 2.0 * math.sqrt(self.k_n_per_m * mass_kg))  # in total for all legs
        fill(
            rec,
            self,
            kind=KINDS[self.kind],
            n_points=count,
            reach_m=1.001 * reach_m,  # the rotation matrix may be off by rounding
            stiffness_n_m=self.k_n_per_m / divisor,
            damping_n_s_m=self.c_n_per_mps / divisor,
            mu=self.mu if self.enable_friction else 0.0,
            mu_static=(self.mu if self.mu_static is None else self.mu_static) if self.enable_friction else 0.0,
            v_eps_m_s=self.v_eps,
            friction_slope_n_s_m=friction_slope / divisor,
        )


def _oscillator_time_s(mass: float, stiffness: float, damping: float) -> float:
    """Return the shortest time constant of m s² + c s + k: 1 / |s| of the faster root."""
    natural = math.sqrt(stiffness / mass)
    half_damping = damping / (2.0 * mass)
    return 1.0 / max(natural, half_damping + math.sqrt(max(0.0, half_damping * half_damping - natural * natural)))
