"""Ground contact: forces by hand calculation, drops, tipping, sliding, and energy.

The legs of these tests are four feet 0.1 m below the centre of mass, 0.3 m apart, and above them four points where the
arms end, so that a vehicle that falls over comes to rest on them.
"""

import numpy as np
import pytest
from fleet import iris
from plant_probe import POSES, Probe, fly, rotation

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.integrators.solver import Integrator, tolerances
from px4lockstep.vehicle.contact import Contact

G = 9.80665
MASS = 1.5
CORNERS = [(x, y) for x in (0.15, -0.15) for y in (0.15, -0.15)]
FEET = tuple((x, y, 0.1) for x, y in CORNERS)
BOX = (*FEET, *((x, y, -0.05) for x, y in CORNERS))
LEGS = Contact("legs", points_body_m=FEET)
ROLLING = Contact("legs", points_body_m=BOX)
INTEGRATORS = [("RK4", 1_000), ("RK45", None)]


def resting_iris(contact, **changes):
    """Return the Iris without drag and damping, so that only the ground dissipates energy."""
    return iris(contact=contact, linear_drag=0.0, angular_damping=(0.0, 0.0, 0.0), **changes)


def rolled(angle_deg):
    """Return the attitude of a roll."""
    half = np.radians(angle_deg) / 2.0
    return (float(np.cos(half)), float(np.sin(half)), 0.0, 0.0)


def depths(contact, states):
    """Return the depth of each point in the ground, rows × points."""
    points = np.array(contact.points_body_m if contact.kind == "legs" else [(0.0, 0.0, 0.0)])
    w, x, y, z = states[:, 6:10].T
    # The third row of the rotation matrix: down as seen from each body axis.
    down = np.stack([2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)], axis=1)
    return np.maximum(0.0, states[:, 2:3] + down @ points.T)


def energy(aircraft, states):
    """Return kinetic, potential and spring energy [J] of each row."""
    rates, inertia = states[:, 10:13], np.array(aircraft.airframe.inertia)
    kinetic = 0.5 * MASS * np.sum(states[:, 3:6] ** 2, axis=1) + 0.5 * np.sum(rates @ inertia * rates, axis=1)
    c = aircraft.contact
    stiffness = c.k_n_per_m / (len(c.points_body_m) if c.kind == "legs" else 1)
    return kinetic - MASS * G * states[:, 2] + 0.5 * stiffness * np.sum(depths(c, states) ** 2, axis=1)


# -- forces ------------------------------------------------------------------------------------------------------------


def test_flat_ground_pushes_up_and_against_sliding():
    """N = k z + c v_z, friction −μ N v_t / (|v_t| + v_eps), by hand to 1e-12; no torque."""
    probe = Probe(resting_iris(Contact()), pos=(0.0, 0.0, 0.01), vel=(0.3, -0.4, 0.2), omega=(0.1, 0.2, 0.3))
    normal = 5000.0 * 0.01 + 600.0 * 0.2
    friction = -0.8 * normal / 0.55 * np.array([0.3, -0.4])
    expected = [friction[0] / MASS, friction[1] / MASS, G - normal / MASS]
    assert probe.derivative("vel") == pytest.approx(expected, rel=1e-12)
    airborne = Probe(resting_iris(Contact()), omega=(0.1, 0.2, 0.3))
    assert probe.derivative("omega").tolist() == airborne.derivative("omega").tolist()


@pytest.mark.parametrize("contact", [Contact(), LEGS], ids=["flat ground", "legs"])
def test_the_ground_does_not_pull(contact):
    """When rising, the spring acts and the damper does not; at z = 0 and above there is no force."""
    height = 0.1 if contact.kind == "legs" else 0.0
    rising = Probe(resting_iris(contact), pos=(0.0, 0.0, 0.01 - height), vel=(0.0, 0.0, -5.0))
    assert rising.derivative("vel")[2] == pytest.approx(G - 5000.0 * 0.01 / MASS, rel=1e-12)
    touching = Probe(resting_iris(contact), pos=(0.0, 0.0, -height), vel=(1.0, 1.0, 1.0))
    assert touching.derivative("vel").tolist() == [0.0, 0.0, G]


def test_no_contact_gives_no_ground_force():
    """Free fall at any depth."""
    probe = Probe(resting_iris(Contact("no_contact")), pos=(0.0, 0.0, 3.0), vel=(1.0, 0.0, 1.0))
    assert probe.derivative("vel").tolist() == [0.0, 0.0, G]


def test_friction_can_be_switched_off():
    """The lateral force is exactly 0 and the normal force is unchanged."""
    for contact in (Contact(enable_friction=False), Contact("legs", enable_friction=False, points_body_m=FEET)):
        probe = Probe(resting_iris(contact), pos=(0.0, 0.0, 0.01), vel=(1.0, 1.0, 0.0))
        assert probe.derivative("vel")[:2].tolist() == [0.0, 0.0]
        assert probe.derivative("vel")[2] < 0.0


def test_level_legs_give_the_force_of_flat_ground():
    """Four feet share k and c: at equal depth the same force as flat ground to 1e-12, and no torque."""
    legs = Probe(resting_iris(LEGS), pos=(0.0, 0.0, 0.004 - 0.1), vel=(0.0, 0.0, 0.3))
    flat = Probe(resting_iris(Contact()), pos=(0.0, 0.0, 0.004), vel=(0.0, 0.0, 0.3))
    assert legs.derivative("vel") == pytest.approx(flat.derivative("vel"), rel=1e-12)
    assert legs.derivative("omega") == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)


@pytest.mark.parametrize("yaw_deg", [0.0, 77.0])
def test_one_leg_on_the_ground_turns_the_vehicle(yaw_deg):
    """τ = r × R^T F of one foot by hand, sliding and sinking, also at another heading; 1e-12."""
    contact = Contact("legs", points_body_m=((0.2, 0.1, 0.1),), mu_static=1.0)
    half = np.radians(yaw_deg) / 2.0
    heading = np.array([np.cos(half), 0.0, 0.0, np.sin(half)])
    tilt = np.array(rolled(8.0))
    q = np.concatenate([[heading[0] * tilt[0] - heading[1:] @ tilt[1:]], heading[0] * tilt[1:] + tilt[0] * heading[1:]])
    q[1:] += np.cross(heading[1:], tilt[1:])
    rates, vel = np.array([0.4, -0.3, 0.2]), np.array([0.5, 0.2, 0.1])
    probe = Probe(resting_iris(contact), pos=(1.0, 2.0, -0.09), att=q, vel=vel, omega=rates)
    r_bn, point = rotation(q), np.array([0.2, 0.1, 0.1])
    depth = -0.09 + (r_bn @ point)[2]
    foot_vel = vel + r_bn @ np.cross(rates, point)
    normal = 5000.0 * depth + 600.0 * max(foot_vel[2], 0.0)
    speed = np.hypot(foot_vel[0], foot_vel[1])
    assert depth > 0.0
    assert speed > 0.05
    mu = 0.8 + 0.2 * (0.05 / speed) ** 2
    force = np.array([*(-mu * normal * foot_vel[:2] / speed), -normal])
    inertia = np.diag([0.029125, 0.029125, 0.055225])
    torque = np.cross(point, r_bn.T @ force) - np.cross(rates, inertia @ rates)
    assert probe.derivative("vel") == pytest.approx(force / MASS + [0.0, 0.0, G], rel=1e-12)
    assert probe.derivative("omega") == pytest.approx(np.linalg.solve(inertia, torque), rel=1e-12)


@pytest.mark.parametrize("mu_static", [None, 1.2])
def test_friction_of_a_leg_lies_in_its_cone(mu_static):
    """|F_t| ≤ μ_s N everywhere, μ_s N at v_eps, approaching μ N far above, no jump at v_eps beyond 1e-9 relative."""
    contact = Contact("legs", points_body_m=((0.0, 0.0, 0.1),), mu_static=mu_static, c_n_per_mps=2000.0)
    top = 0.8 if mu_static is None else mu_static
    normal = 5000.0 * 0.01

    def friction(speed):
        return -MASS * Probe(resting_iris(contact), pos=(0.0, 0.0, -0.09), vel=(speed, 0.0, 0.0)).derivative("vel")[0]

    speeds = np.geomspace(1e-4, 100.0, 60)
    ratios = np.array([friction(speed) for speed in speeds]) / normal
    assert ratios.max() <= top * (1.0 + 1e-12)
    assert friction(0.05) == pytest.approx(top * normal, rel=1e-12)
    assert friction(0.05 * (1.0 + 1e-10)) == pytest.approx(friction(0.05), rel=1e-9)
    assert ratios[-1] == pytest.approx(0.8, rel=1e-6)
    assert friction(0.025) == pytest.approx(0.5 * top * normal, rel=1e-12)


@pytest.mark.parametrize("pose", POSES[1:])
def test_leg_forces_turn_with_the_heading(pose):
    """By 50° of heading: the force turns, torque and depth stay; 1e-11."""
    turn = np.array([np.cos(0.5), 0.0, 0.0, np.sin(0.5)])
    world = rotation(turn)
    q = np.concatenate([[turn[0] * pose[0] - turn[3] * pose[3]], turn[0] * np.array(pose[1:]) + pose[0] * turn[1:]])
    q[1:] += np.cross(turn[1:], pose[1:])
    vel, rates = np.array([0.4, -0.7, 0.2]), (0.5, -0.2, 0.9)
    one = Probe(resting_iris(ROLLING), att=pose, pos=(0.0, 0.0, 0.02), vel=vel, omega=rates)
    other = Probe(resting_iris(ROLLING), att=q, pos=(0.0, 0.0, 0.02), vel=world @ vel, omega=rates)
    assert one.derivative("vel")[2] < G - 1.0
    assert other.derivative("vel") == pytest.approx(world @ one.derivative("vel"), rel=1e-11, abs=1e-11)
    assert other.derivative("omega") == pytest.approx(one.derivative("omega"), rel=1e-11)


# -- runs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("integrator", "step_us"), INTEGRATORS, ids=["RK4 1 ms", "RK45"])
@pytest.mark.parametrize("contact", [Contact(), LEGS], ids=["flat ground", "legs"])
def test_a_drop_from_one_metre_comes_to_rest(contact, integrator, step_us):
    """All finite, at most 12 mm deep, at rest after 2 s where the spring carries the weight.

    The damper alone would stop the fall of v = √(2 g 1 m) within m v / c = 11.1 mm; the spring helps, and the weight
    adds at most m g t / c = 0.02 mm in the 0.7 ms until the spring carries it: 11.2 mm, which RK45 does not exceed. In
    the step that enters the ground (v h = 4.4 mm), RK4's first stages see no damper: 12 mm.
    """
    height = 0.1 if contact.kind == "legs" else 0.0
    aircraft = resting_iris(contact, pos_ned=(0.0, 0.0, -1.0 - height))
    sim = fly(aircraft, 2.5, integrator=integrator, step_us=step_us, log_us=1_000)
    states = sim.log_state
    depth = depths(contact, states).max()
    assert np.isfinite(states).all()
    assert 0.004 < depth < (0.012 if integrator == "RK4" else 0.0112)
    rest = MASS * G / 5000.0
    assert depths(contact, states[-1:])[0] == pytest.approx(np.full(4 if height else 1, rest), rel=1e-6)
    assert np.abs(states[-1, 3:6]).max() < 1e-6
    assert np.abs(states[-1, 10:13]).max() < 1e-9


def settled(angle_deg, integrator="RK4", step_us=1_000, contact=ROLLING):
    """Drop a rolled vehicle by 0.1 m; return the aircraft and its states every 1 ms for 4 s."""
    q = rolled(angle_deg)
    lowest = max((rotation(q) @ np.array(point))[2] for point in BOX)
    aircraft = resting_iris(contact, q_bn=q, pos_ned=(0.0, 0.0, -lowest - 0.1))
    return aircraft, fly(aircraft, 4.0, integrator=integrator, step_us=step_us, log_us=1_000).log_state


@pytest.mark.parametrize(("integrator", "step_us"), INTEGRATORS, ids=["RK4 1 ms", "RK45"])
@pytest.mark.parametrize(("angle_deg", "way_up"), [(20.0, 1.0), (50.0, 1.0), (60.0, -1.0), (120.0, -1.0)])
def test_a_tilted_drop_on_legs_settles_level_or_tips_over(integrator, step_us, angle_deg, way_up):
    """Up to atan(0.15 / 0.1) = 56.3°, with the centre of mass above the feet's edge, it rights itself; beyond, it tips.

    Either way it ends flat, within 1e-6 of cos 0 or cos 180°, and at rest: all speeds below 1e-6 m/s and rad/s.
    """
    _, states = settled(angle_deg, integrator, step_us)
    assert np.isfinite(states).all()
    assert rotation(states[-1, 6:10])[2, 2] == pytest.approx(way_up, abs=1e-6)
    assert np.abs(states[-1, 3:6]).max() < 1e-6
    assert np.abs(states[-1, 10:13]).max() < 1e-6


@pytest.mark.parametrize(("integrator", "step_us"), INTEGRATORS, ids=["RK4 1 ms", "RK45"])
def test_a_slide_on_legs_stops_by_friction_and_then_stays(integrator, step_us):
    """From 2 m/s within 3 % of (v² + v_eps²) / (2 μ g) = 0.255 m, then no more than 1e-8 m in 4 s.

    Constant friction μ m g down to v_eps, then v decays with μ g / v_eps = 157 /s. The vehicle noses down meanwhile,
    which shifts load between feet but not its sum; that transient decays with k / c = 8.3 /s and is gone after 2 s.
    """
    aircraft = resting_iris(LEGS, pos_ned=(0.0, 0.0, -0.1 + MASS * G / 5000.0), vel_ned=(2.0, 0.0, 0.0))
    states = fly(aircraft, 6.0, integrator=integrator, step_us=step_us, log_us=10_000).log_state
    assert states[-1, 0] == pytest.approx((2.0**2 + 0.05**2) / (2.0 * 0.8 * G), rel=0.03)
    assert np.abs(states[200:, :2] - states[200, :2]).max() < 1e-8
    assert np.abs(states[200:, 3:5]).max() < 1e-6  # the tolerance of RK45
    assert rotation(states[-1, 6:10])[2, 2] > 1.0 - 1e-9


@pytest.mark.parametrize(("integrator", "step_us"), INTEGRATORS, ids=["RK4 1 ms", "RK45"])
@pytest.mark.parametrize("angle_deg", [0.0, 20.0, 60.0])
def test_the_ground_creates_no_energy(integrator, step_us, angle_deg):
    """Kinetic + potential + spring energy never rises by more than 1e-12 of the initial energy: rounding only.

    Spring forces are conservative; damping and friction only dissipate.
    """
    aircraft, states = settled(angle_deg, integrator, step_us)
    total = energy(aircraft, states)
    fallen = total[0] - total.min()
    assert fallen > 1.0
    assert (total - np.minimum.accumulate(total)).max() < 1e-12 * fallen


@pytest.mark.parametrize(("integrator", "step_us"), INTEGRATORS, ids=["RK4 1 ms", "RK45"])
def test_a_bouncing_vehicle_gains_no_energy(integrator, step_us):
    """With 1/30 of the damping and no friction it bounces for seconds; energy rises by less than 1e-4 of the initial.

    The rise comes from steps in which a foot enters or leaves the ground, where the force has a kink.
    """
    springy = Contact("legs", c_n_per_mps=20.0, mu=0.0, points_body_m=BOX)
    aircraft, states = settled(20.0, integrator, step_us, springy)
    total = energy(aircraft, states)
    bounces = np.count_nonzero(np.diff(np.sign(states[:, 5])) < 0)
    fallen = total[0] - total.min()
    assert bounces > 5
    assert (total - np.minimum.accumulate(total)).max() < 1e-4 * fallen


SPLIT = [
    # method, step, damping, factor by which the split reduces the error of the rebound
    ("RK4", 1_000, 0.0, 1_000.0),
    ("RK4", 1_000, 20.0, 500.0),
    ("RK4", 1_000, 600.0, 500.0),
    ("Euler", 1_000, 600.0, 4.0),
    ("Euler", 2_000, 600.0, 10.0),
]


@pytest.mark.parametrize(("kind", "step_us", "damping", "factor"), SPLIT)
def test_a_step_that_ends_at_the_ground_improves_the_rebound(kind, step_us, damping, factor):
    """Drop from 1 m: height and speed after the rebound against RK45 at 1e-12, with and without the split.

    Damping acts on compression only; its kink at the lowest point is not split.
    """
    ball = resting_iris(Contact(c_n_per_mps=damping, mu=0.0), pos_ned=(0.0, 0.0, -1.0))
    exact = fly(ball, 0.9, integrator=Integrator("RK45", **tolerances(1e-12, 1e-12)), step_us=None)
    errors = []
    for split in (False, True):
        sim = fly(ball, 0.9, integrator=Integrator(kind, split_at_contact=split), step_us=step_us)
        errors.append(np.abs(sim.plant.x - exact.plant.x)[[2, 5]])
        splits = sim.statistics.accepted_steps - 900_000 // step_us
        assert splits >= 4 if split else splits == 0  # two more steps where it touches and where it leaves the ground
    assert np.all(errors[0] > factor * errors[1])


@pytest.mark.parametrize(("kind", "evaluations"), [("RK4", 5), ("Euler", 2)])
def test_a_split_step_ends_at_the_last_microsecond_above_the_ground(kind, evaluations):
    """One interval across the ground, from 1 m or at constant speed; bisection takes 19 attempts.

    The step to the ground, one of a microsecond, and the rest: no long step has a slope on both sides.
    """
    falls = kind == "RK4"  # exact for a parabola; Euler is exact for its first step at constant speed
    start = {"pos_ned": (0.0, 0.0, -1.0), "vel_ned": (0.0, 0.0, 0.0 if falls else 2.5)}
    crossing_us = np.sqrt(2.0 / G) * 1e6 if falls else 1e6 / 2.5
    end_us = 452_000 if falls else 401_000
    timeline = Timeline(end_us, log=Periodic(end_us))
    integrator = Integrator(kind, split_at_contact=True)
    sim = Simulation(resting_iris(Contact(), **start), timeline, integrator=integrator).run()
    assert sim.statistics.accepted_steps == 3
    assert int(sim.core["solver"]["last_offset_us"]) == int(np.floor(crossing_us)) + 1
    assert sim.statistics.evaluations < 24 * evaluations


def test_a_flight_without_contact_is_not_split():
    """The same bytes and evaluations with and without the option, in the air; adaptive steps ignore it."""
    high = resting_iris(Contact(), pos_ned=(0.0, 0.0, -100.0))
    for kind, step_us in (("Euler", 1_000), ("RK4", 1_000), ("RK45", None)):
        with_option, without = (
            fly(high, 0.5, integrator=Integrator(kind, split_at_contact=split), step_us=step_us)
            for split in (True, False)
        )
        assert with_option.log_state.tobytes() == without.log_state.tobytes()
        assert with_option.statistics.evaluations == without.statistics.evaluations


def test_a_stiff_drop_comes_to_rest():
    """Ten times the stiffness and damping, RK45: still finite, at rest, and at most m v / c = 1.1 mm deep."""
    stiff = Contact("legs", k_n_per_m=50_000.0, c_n_per_mps=6_000.0, points_body_m=FEET)
    aircraft = resting_iris(stiff, pos_ned=(0.0, 0.0, -1.1))
    states = fly(aircraft, 2.0, integrator=Integrator("RK45"), step_us=None, log_us=1_000).log_state
    assert depths(stiff, states).max() < 1.12e-3
    assert np.abs(states[-1, 3:6]).max() < 1e-6


@pytest.mark.parametrize(("damping", "slope"), [(600.0, 600.0), (0.0, 2.0 * np.sqrt(5000.0 * MASS))])
def test_friction_of_a_leg_is_no_stiffer_than_the_ground(damping, slope):
    """Deep in the ground the cone is wide; friction then grows with speed by at most c or 2 √(k m)."""
    contact = Contact("legs", points_body_m=((0.0, 0.0, 0.1),), c_n_per_mps=damping)
    probe = Probe(resting_iris(contact), pos=(0.0, 0.0, 0.1), vel=(0.01, 0.0, 0.0))  # N = 1000 N, μ N / v_eps = 16,000
    assert -MASS * probe.derivative("vel")[0] == pytest.approx(slope * 0.01, rel=1e-12)


@pytest.mark.parametrize("step_us", [1_000, 500, 250])
def test_an_impact_does_not_amplify_a_sideways_motion(step_us):
    """A drop from 1 m on legs with 1e-6 m/s sideways: at most 1e-5 m/s and rad/s after it, at each of these steps."""
    start = {"pos_ned": (0.0, 0.0, -1.2), "vel_ned": (1e-6, 0.0, 0.0)}
    sim = fly(iris(contact=LEGS, **start), 2.0, integrator="RK4", step_us=step_us)
    assert np.abs(sim.log_state[:, 3:5]).max() < 1e-5
    assert np.abs(sim.log_state[:, 10:13]).max() < 1e-5
