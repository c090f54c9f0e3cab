"""The whole aircraft through the loop: ballistic flight in closed form, and the energy balance of the battery."""

import numpy as np
import pytest
from fleet import PowerBus, iris, octa, propulsion, twin
from plant_probe import Batch, fly

from px4lockstep.vehicle.battery import Battery
from px4lockstep.vehicle.contact import Contact

G = 9.80665
NO_CONTACT = Contact("no_contact")
INTEGRATORS = [("RK4", 10_000), ("RK45", None)]
KE = 60.0 / (2.0 * np.pi * 920.0)


def check_invariants(aircraft, sim):
    """Check every row: unit quaternion, ω ≥ 0, SOC within [0, 1], finite voltages and currents."""
    states, outputs = sim.log_state, sim.log["bus"]["outputs"]
    rotor, soc = aircraft.offset("rotor"), aircraft.offset("soc")
    assert np.isfinite(states).all()
    assert np.abs(np.linalg.norm(states[:, 6:10], axis=1) - 1.0).max() < 1e-15
    assert states[:, rotor : rotor + len(aircraft.rotors)].min() >= 0.0
    assert 0.0 <= states[:, soc].min() <= states[:, soc].max() <= 1.0
    for name in ("bus_voltage_v", "bus_current_a", "rotor_thrust_n", "motor_current_a", "air_vel_body"):
        assert np.isfinite(outputs[name]).all(), name
    assert outputs["bus_voltage_v"][:, 0].min() > 9.0
    assert not outputs["bus_current_a"].any()


@pytest.mark.parametrize(("integrator", "step_us"), INTEGRATORS, ids=["RK4 10 ms", "RK45"])
@pytest.mark.parametrize("make", [iris, octa, twin])
def test_without_drag_the_aircraft_falls_freely(make, integrator, step_us):
    """v = v0 + g t, z = z0 + v0 t + g t²/2 for 2 s from 10 m, tumbling, to 1e-12: RK methods are exact on it.

    1e-12 is 200 steps times an ulp of 20 m. One bus without avionics, so that no current flows at all.
    """
    aircraft = make(
        linear_drag=0.0,
        contact=NO_CONTACT,
        pos_ned=(1.0, 2.0, -10.0),
        vel_ned=(3.0, -1.0, -2.0),
        omega_body=(0.7, -1.3, 2.1),
        buses=None,
    )
    sim = fly(aircraft, 2.0, motors=lambda time_us: 0.0, integrator=integrator, step_us=step_us)
    t = sim.log["time_us"][:, None] / 1e6
    start, vel, fall = np.array([1.0, 2.0, -10.0]), np.array([3.0, -1.0, -2.0]), np.array([0.0, 0.0, G])
    assert len(t) == 201
    assert np.abs(sim.log_state[:, 3:6] - (vel + fall * t)).max() < 1e-12
    assert np.abs(sim.log_state[:, :3] - (start + vel * t + 0.5 * fall * t**2)).max() < 1e-12
    assert np.ptp(sim.log_state[:, 6:10], axis=0).min() > 0.1
    check_invariants(aircraft, sim)


@pytest.mark.parametrize(("integrator", "step_us"), INTEGRATORS, ids=["RK4 10 ms", "RK45"])
def test_with_linear_drag_the_aircraft_falls_towards_its_terminal_speed(integrator, step_us):
    """v = v∞ + (v0 − v∞) e^(−k t),  x = x0 + v∞ t + (v0 − v∞)(1 − e^(−k t)) / k,  v∞ = (0, 0, m g / c),  k = c / m.

    Drag of 1.5 N s/m, so k = 1 /s, for 5 s. RK4: 1e-9 from h⁵ k⁵/120 × 500 steps × v∞ = 4e-9 at most; RK45: its
    tolerance of 1e-6 per step, 1e-5 over all.
    """
    aircraft = iris(linear_drag=1.5, contact=NO_CONTACT, vel_ned=(4.0, -3.0, -2.0), omega_body=(0.7, -1.3, 2.1))
    sim = fly(aircraft, 5.0, motors=lambda time_us: 0.0, integrator=integrator, step_us=step_us)
    t = sim.log["time_us"][:, None] / 1e6
    start, final = np.array([4.0, -3.0, -2.0]), np.array([0.0, 0.0, G])
    vel = final + (start - final) * np.exp(-t)
    pos = final * t + (start - final) * (1.0 - np.exp(-t))
    tolerance = 4e-9 if integrator == "RK4" else 1e-5
    assert np.abs(sim.log_state[:, 3:6] - vel).max() < tolerance
    assert np.abs(sim.log_state[:, :3] - pos).max() < tolerance
    check_invariants(aircraft, sim)


def throttle(time_us):
    """Spool up, full throttle, cut to where the rotors overrun the motors, and up again."""
    for until_us, duty in ((300_000, 0.5), (800_000, 1.0), (1_200_000, 0.15), (1_600_000, 0.7)):
        if time_us < until_us:
            return duty
    return 0.05


def energies_j(aircraft, sim):
    """Return all energy terms by name, and the energy that a regenerative motor would have returned."""
    states = sim.log_state
    # Inputs are held over each interval: both of its ends are evaluated with them, and the mean is taken.
    batch = Batch([aircraft], 2 * (len(states) - 1))
    batch.x[:, : states.shape[1]] = np.concatenate([states[:-1], states[1:]])
    batch.inputs[:] = np.concatenate([sim.log["inputs"][:-1]] * 2)
    outputs = batch.evaluate().outputs
    speed, v1 = batch.x[:, 13:17], batch.x[:, 18]
    volts, total = outputs["bus_voltage_v"][:, :1], outputs["bus_current_a"][:, 0]
    duty, current = outputs["rotor_duty"][:, :4], outputs["motor_current_a"][:, :4]
    powers = {
        "battery, series resistance": 0.02 * total**2,
        "battery, RC pair": v1**2 / 0.01,
        "avionics": np.full(len(v1), aircraft.buses[0].avionics_load_w),
        "ESC": (1.0 / 0.98 - 1.0) * duty * volts * current,
        "ESC, current limit": (duty * volts - KE * speed - 0.25 * current) * current,
        "motor, copper": 0.25 * current**2,
        "motor, no-load current": KE * speed * np.minimum(current, 0.6),
        "motor, friction": 2e-6 * speed**2,
        "shaft work into the air": outputs["rotor_torque_nm"][:, :4] * speed,
    }
    refused = duty * volts * np.maximum(0.0, KE * speed - duty * volts) / 0.25
    joules = {name: 0.5e-3 * float(np.sum(power)) for name, power in powers.items()}
    first, last = states[0], states[-1]
    joules["rotor spin"] = 0.5 * 1.2e-5 * float(np.sum(last[13:17] ** 2 - first[13:17] ** 2))
    joules["battery, RC pair, stored"] = 0.5 * 2000.0 * float(last[18] ** 2 - first[18] ** 2)
    return joules, 0.5e-3 * float(np.sum(refused))


@pytest.mark.parametrize("watts", [0.0, 20.0], ids=["motors", "motors and avionics"])
@pytest.mark.parametrize("amps", [60.0, 8.0], ids=["free", "at the current limit"])
def test_the_energy_of_the_battery_is_balanced(watts, amps):
    """Chemical energy out = heat + stored + shaft work + avionics, within 0.1 %; 1.6e-5 remains from means over 1 ms.

    Battery, I its current:    OCV I = V I + R0 I² + V1 I,   V1 I = V1²/R1 + d/dt (C1 V1²/2)   (C1 V̇1 = I − V1/R1)
    Bus:                       V I = P + Σ V d i/η
    ESC of each motor:         V d i/η = d V i + (1/η − 1) d V i
    Motor, i its current:      d V i = R i² + Ke ω i + (d V − Ke ω − R i) i
    Rotor:                     Ke ω i = ω J ω̇ + Q ω + b ω² + Ke ω min(i, I0)

    (d V − Ke ω − R i) i is 0 except at the current limit, where the ESC drops that voltage. Where d V < Ke ω, i is 0
    and so is every term: an overrunning motor neither brakes nor feeds back. The sink "no regeneration" is therefore
    empty in this model. The test checks that ∫ d V (Ke ω − d V)/R, which a bidirectional ESC would return, is not 0.
    Q ω and Ke ω I0 are sinks. The bus solver uses P/V0 for the avionics, so V = OCV − V1 − R0 I is off by
    R0 (P/V − P/V0): 4.7e-4 with 20 W.

    The left side is computed from the charge only, Q ∫ OCV dSOC in closed form; stored energies from the states.
    """
    aircraft = iris(
        propulsion=propulsion(max_current_a=amps),
        batteries=(Battery(capacity_ah=1.0),),
        buses=(PowerBus((0,), (0, 1, 2, 3), watts),),
        contact=NO_CONTACT,
    )
    sim = fly(aircraft, 2.0, motors=throttle, step_us=1_000, log_us=1_000)
    joules, refused_j = energies_j(aircraft, sim)
    first, last = sim.log_state[0, 17], sim.log_state[-1, 17]
    chemical_j = 3600.0 * (first - last) * (10.8 + 1.8 * 0.5 * (first + last))
    assert chemical_j > 300.0
    assert refused_j > 0.1
    assert (joules["ESC, current limit"] > 1.0) == (amps == 8.0)
    assert min(joules.values()) > -1e-9
    assert sum(joules.values()) == pytest.approx(chemical_j, rel=1e-3)
