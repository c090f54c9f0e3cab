"""Faults in the plant: motors by rotor number, all batteries at once; at rest and through the loop."""

import numpy as np
import pytest
from fleet import PowerBus, Rotor, iris, octa, propulsion
from plant_probe import Faults, Probe, fly

from px4lockstep.vehicle.actuators import ActuatorDynamics
from px4lockstep.vehicle.battery import Battery
from px4lockstep.vehicle.contact import Contact


def permuted_iris(**changes):
    """Return the Iris with rotors on other channels: rotor 1 on channel 3, and so on."""
    channels = (3, 4, 2, 1)
    rotors = tuple(Rotor(r.pos_body_m, r.direction, channel=c) for r, c in zip(iris().rotors, channels, strict=True))
    return iris(rotors=rotors, **changes)


@pytest.mark.parametrize(
    "actuator", [ActuatorDynamics(), ActuatorDynamics("second_order")], ids=["direct", "second order"]
)
@pytest.mark.parametrize("rotor", range(4))
def test_a_disabled_motor_is_numbered_by_rotor_and_coasts(rotor, actuator):
    """Duty and current are 0 for that rotor only, ω̇ = −(Q + b ω) / J to 1e-12, its thrust is unchanged."""
    values = {"motors": 0.7, "rotor": 500.0}
    aircraft = permuted_iris(motor_actuator=actuator)
    if actuator.kind != "direct":
        values["act"] = 0.7
    healthy, faulty = Probe(aircraft, **values), Probe(aircraft, **values)
    faulty.faults["motor_disabled_mask"] = 1 << rotor
    before, after = healthy.outputs(), faulty.outputs()
    others = [i for i in range(4) if i != rotor]
    assert after["rotor_duty"][rotor] == after["motor_current_a"][rotor] == 0.0
    assert after["rotor_duty"][others].tolist() == [0.7] * 3
    assert (after["motor_current_a"][others] > before["motor_current_a"][others]).all()  # the bus sags less
    assert after["rotor_thrust_n"].tolist() == before["rotor_thrust_n"].tolist()
    spin = faulty.derivative("rotor")
    assert spin[rotor] == pytest.approx(-(after["rotor_torque_nm"][rotor] + 2e-6 * 500.0) / 1.2e-5, rel=1e-12)
    assert (spin[others] > spin[rotor]).all()
    # The command still moves the actuator: the fault acts after it.
    assert np.array_equal(healthy.derivative("act"), faulty.derivative("act"))


def test_bits_beyond_the_rotors_have_no_effect():
    """A mask for twelve rotors on an aircraft with four: bit-identical."""
    healthy, faulty = Probe(iris(), motors=0.7, rotor=500.0), Probe(iris(), motors=0.7, rotor=500.0)
    faulty.faults["motor_disabled_mask"] = 0b1111_1111_0000
    assert healthy.derivative().tolist() == faulty.derivative().tolist()


def test_with_the_battery_off_everything_electrical_is_zero():
    """Voltages and currents exactly 0, SOĊ 0, V̇1 = −V1 / (R1 C1), rotors coast; on all buses."""
    aircraft = octa(
        batteries=(Battery(), Battery()),
        buses=(PowerBus((0,), (0, 1, 2, 3), 15.0), PowerBus((1,), (4, 5, 6, 7))),
    )
    probe = Probe(aircraft, motors=0.8, rotor=400.0, soc=(0.6, 0.5), v1=(0.2, 0.1))
    probe.faults["battery_disconnected"] = 1
    outputs = probe.outputs()
    for name in ("bus_voltage_v", "bus_current_a", "motor_current_a"):
        assert not outputs[name].any(), name
    assert not outputs["battery"]["voltage_v"].any()
    assert not outputs["battery"]["current_a"].any()
    assert outputs["battery"]["remaining"][:2].tolist() == [0.6, 0.5]
    assert probe.derivative("soc").tolist() == [0.0, 0.0]
    assert probe.derivative("v1") == pytest.approx([-0.01, -0.005], rel=1e-14)
    assert probe.derivative("rotor") == pytest.approx(
        -(outputs["rotor_torque_nm"][:8] + 2e-6 * 400.0) / 1.2e-5, rel=1e-12
    )
    assert outputs["rotor_thrust_n"][0] > 0.0


def test_a_battery_lost_in_flight_lets_the_rotors_spin_down():
    """Through the loop, at an odd microsecond: SOC keeps its bits, V1 relaxes with τ = 20 s to 1e-12, ω only falls."""
    off_us = 500_001
    lost = Faults(off_us, battery_disconnected=1)
    aircraft = iris(pos_ned=(0.0, 0.0, -100.0))
    sim = fly(aircraft, 1.5, motors=lambda time_us: 0.6, integrator="RK45", step_us=None, faults=lost)
    is_off = sim.log["time_us"] >= off_us
    rotor, soc, v1 = sim.log_state[:, 13], sim.log_state[:, 17], sim.log_state[:, 18]
    outputs = sim.log["bus"]["outputs"]
    assert outputs["bus_voltage_v"][~is_off, 0][1:].min() > 11.0
    assert not outputs["bus_voltage_v"][is_off].any()
    assert not outputs["bus_current_a"][is_off].any()
    assert set(soc[is_off]) == {soc[-1]}
    assert soc[-1] < 1.0
    t = (sim.log["time_us"][is_off] - sim.log["time_us"][is_off][0]) / 1e6
    assert v1[is_off] == pytest.approx(v1[is_off][0] * np.exp(-t / 20.0), rel=1e-12)
    assert np.diff(rotor[is_off]).max() < 0.0
    assert rotor[-1] < 0.5 * rotor[is_off][0]


def test_the_thrust_of_a_lost_motor_falls_with_its_speed():
    """Through the loop: the thrust of rotor 2 follows its ω² to 1e-12 in still air, and does not drop at once."""
    lost = Faults(200_000, motor_disabled_mask=0b10)
    aircraft = iris(propulsion=propulsion(inflow_kT=0.0, inflow_kQ=0.0), contact=Contact("no_contact"))
    sim = fly(aircraft, 0.6, motors=lambda time_us: 0.5, faults=lost)
    outputs, speed = sim.log["bus"]["outputs"], sim.log_state[:, 14]
    thrust = outputs["rotor_thrust_n"][:, 1]
    at = 20
    assert outputs["motor_current_a"][at:, 1].tolist() == [0.0] * (len(speed) - at)
    assert thrust[at] > 0.9 * thrust[at - 1]
    assert thrust[-1] < 0.5 * thrust[at]
    density = outputs["air_density_kg_m3"]
    assert thrust[1:] / (density * speed**2)[1:] == pytest.approx(
        np.full(len(speed) - 1, thrust[at] / (density[at] * speed[at] ** 2)), rel=1e-12
    )


def test_a_motor_that_is_not_commanded_is_not_driven():
    """NaN means "not driven": duty and current exactly 0 through the loop, the others as commanded."""
    sim = fly(iris(), 0.1, motors=lambda time_us: [0.5, np.nan, 0.5, 0.5, *[0.0] * 8])
    outputs = sim.log["bus"]["outputs"][1:]
    assert not outputs["rotor_duty"][:, 1].any()
    assert not outputs["motor_current_a"][:, 1].any()
    assert outputs["rotor_duty"][:, [0, 2, 3]].tolist() == [[0.5] * 3] * len(outputs)
