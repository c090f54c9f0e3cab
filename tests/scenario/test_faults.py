"""Faults of the scenario in a flying plant: each has its specified effect and can be cleared."""

import numpy as np
import pytest
from fleet import Rotor, iris, propulsion
from scenario_flight import simulation

from px4lockstep.scenario.scenario import Scenario
from px4lockstep.vehicle.actuators import ActuatorDynamics

OTHERS = [0, 2, 3]
STILL = propulsion(inflow_kT=0.0, inflow_kQ=0.0)
"""Thrust goes by speed and density alone."""


def aircraft(actuator="direct"):
    """Return the Iris at altitude, with rotors on other channels than their numbers: faults count rotors."""
    rotors = tuple(
        Rotor(r.pos_body_m, r.direction, channel=c) for r, c in zip(iris().rotors, (3, 4, 2, 1), strict=True)
    )
    chosen = ActuatorDynamics(actuator)
    return iris(rotors=rotors, propulsion=STILL, pos_ned=(0.0, 0.0, -50.0), motor_actuator=chosen)


def fly(scenario, end_s=0.06, actuator="direct", **options):
    sim = simulation(scenario, end_s, aircraft=aircraft(actuator), **options).run()
    return sim, sim.log["time_us"].astype(int), sim.log["bus"]["outputs"]


def rotor_speed(sim):
    first = int(sim._core["plant"]["multirotor"]["i_rotor"][0])
    return sim.log_state[:, first : first + 4]


@pytest.mark.parametrize("actuator", ["direct", "second_order"])
def test_a_disabled_motor_has_no_duty_and_coasts(actuator):
    """From its boundary on, duty and current are 0, ω only falls and thrust follows ω² to 1e-12; others run on."""
    sim, time_us, outputs = fly(Scenario().at_us(20_000).disable_motor(2), actuator=actuator, command=0.6)
    is_off = time_us >= 20_000
    assert outputs["rotor_duty"][~is_off, 1][3:].all()
    assert not outputs["rotor_duty"][is_off, 1].any()
    assert not outputs["motor_current_a"][is_off, 1].any()
    assert outputs["rotor_duty"][is_off][:, OTHERS].all()
    speed = rotor_speed(sim)
    assert np.diff(speed[is_off, 1]).max() < 0.0
    thrust_per = outputs["rotor_thrust_n"][is_off, 1] / (outputs["air_density_kg_m3"] * speed[:, 1] ** 2)[is_off]
    assert thrust_per == pytest.approx(np.full(len(thrust_per), thrust_per[0]), rel=1e-12)
    assert outputs["rotor_thrust_n"][is_off, 1][0] > 0.0


@pytest.mark.parametrize("actuator", ["direct", "first_order", "second_order"])
def test_a_stuck_motor_keeps_its_duty(actuator):
    """By default bit-identical to the duty of its ESC at that time; the others follow their commands."""

    def command(time_us):
        return 0.4 if time_us < 40_000 else 0.9

    at_us = 22_500
    sim, time_us, outputs = fly(Scenario().at_us(at_us).stuck_motor(2), actuator=actuator, command=command)
    healthy, _, _ = fly(Scenario().at_us(at_us).arm(), actuator=actuator, command=command)
    is_stuck = time_us > at_us
    duty = outputs["rotor_duty"]
    assert len(set(duty[is_stuck, 1])) == 1
    if actuator == "direct":
        assert duty[-1, 1] == 0.4
    else:
        before, after = duty[~is_stuck, 1][-1], healthy.log["bus"]["outputs"]["rotor_duty"][is_stuck, 1][0]
        assert before < duty[-1, 1] < after
    assert (duty[-1, OTHERS] > duty[-1, 1]).all()
    assert sim.bus.scenario.faults.stuck_duty[1] == duty[-1, 1]


def test_a_motor_can_be_stuck_at_a_given_duty():
    """Full power from its boundary on, even with a command of 0."""
    _, time_us, outputs = fly(Scenario().at_us(20_000).stuck_motor(2, 1.0), command=0.0)
    assert outputs["rotor_duty"][:, 1].tolist() == (time_us >= 20_000).astype(float).tolist()
    assert not outputs["rotor_duty"][:, OTHERS].any()


def test_a_disabled_motor_is_off_even_if_it_is_stuck():
    """In either order; if it sticks by default while it is off, it sticks at 0."""
    disabled = Scenario().at_us(8_000).disable_motor(2)
    for scenario in (disabled.at_us(8_000).stuck_motor(2, 0.9), disabled.at_us(12_000).stuck_motor(2)):
        sim, time_us, outputs = fly(scenario, 0.02)
        assert not outputs["rotor_duty"][time_us >= 8_000, 1].any()
    assert sim.bus.scenario.faults.stuck_duty[1] == 0.0


@pytest.mark.parametrize("fraction", [0.3, 1.0])
def test_thrust_loss_scales_the_thrust_exactly(fraction):
    """At its boundary, with equal states: thrust × (1 − f) bit-identical, torque and current unchanged."""
    _, time_us, weak = fly(Scenario().at_us(20_000).thrust_loss(2, fraction))
    _, _, healthy = fly(Scenario().at_us(20_000).arm())
    at = int(np.flatnonzero(time_us == 20_000)[0])
    expected = healthy["rotor_thrust_n"][at, :4] * np.array([1.0, 1.0 - fraction, 1.0, 1.0])
    assert weak["rotor_thrust_n"][at, :4].tolist() == expected.tolist()
    for name in ("rotor_torque_nm", "motor_current_a", "rotor_duty"):
        assert weak[name][at].tolist() == healthy[name][at].tolist()
    assert weak["rotor_thrust_n"][at - 1].tolist() == healthy["rotor_thrust_n"][at - 1].tolist()


def test_thrust_loss_tips_the_vehicle():
    """Rotor 2, rear left, is weak: the vehicle drops there, that is, it rolls left and pitches up."""
    sim, _, _ = fly(Scenario().at_us(20_000).thrust_loss(2, 0.5))
    roll_rate, pitch_rate = sim.plant["omega"][:2]
    assert roll_rate < -0.1
    assert pitch_rate > 0.1


def test_a_disconnected_battery_gives_0_v_and_0_a_and_returns():
    """Exactly 0 while disconnected, SOC keeps its bits, rotors only slow down; then everything returns."""
    scenario = Scenario().at_us(20_000).disconnect_battery().at_us(40_000).reconnect_battery()
    sim, time_us, outputs = fly(scenario)
    is_off = (time_us >= 20_000) & (time_us < 40_000)
    for name in ("bus_voltage_v", "bus_current_a", "motor_current_a"):
        assert not outputs[name][is_off].any(), name
        assert outputs[name][~is_off][3:, 0].all(), name
    soc = sim.log_state[:, int(sim._core["plant"]["multirotor"]["i_soc"][0])]
    assert len(set(soc[(time_us >= 20_000) & (time_us <= 40_000)])) == 1
    assert soc[-1] < soc[is_off][0]
    assert np.diff(rotor_speed(sim)[is_off], axis=0).max() < 0.0


@pytest.mark.parametrize("fault", [("disable_motor",), ("stuck_motor", 0.0), ("thrust_loss", 0.5)], ids=str)
def test_a_restored_motor_is_as_before(fault):
    """Set and cleared before anything has moved: bit-identical to a healthy flight."""
    name, *arguments = fault
    scenario = getattr(Scenario().at_us(0), name)(2, *arguments).at_us(0).restore_motor(2)
    mended, _, _ = fly(scenario)
    healthy, _, _ = fly(Scenario())
    assert mended.digest() == healthy.digest()
    broken, _, _ = fly(getattr(Scenario().at_us(0), name)(2, *arguments))
    assert broken.digest() != healthy.digest()


def test_restoring_one_motor_keeps_the_faults_of_others():
    """By their bits."""
    scenario = Scenario().at_us(0).disable_motor(1).at_us(0).disable_motor(2).at_us(8_000).restore_motor(1)
    _, time_us, outputs = fly(scenario, 0.02)
    is_mended = time_us >= 8_000
    assert not outputs["rotor_duty"][~is_mended, 0].any()
    assert outputs["rotor_duty"][is_mended, 0].all()
    assert not outputs["rotor_duty"][:, 1].any()


def test_a_wind_step_acts_on_the_vehicle():
    """It adds to the wind of the model: a level vehicle at rest sees the full velocity."""
    sim, time_us, outputs = fly(Scenario().at_us(20_000).wind_step((5.0, 0.0, 0.0)), command=0.0)
    air = outputs["air_vel_body"][:, 0]
    assert not air[time_us < 20_000].any()
    assert air[time_us == 20_000].tolist() == [5.0]
    assert sim.plant["vel"][0] == pytest.approx(0.05 * 5.0 / 1.5 * 0.04, rel=1e-3)  # c u / m over 40 ms


def test_faults_of_the_estimate_reach_the_estimator():
    """Bits and errors are on the bus at the tick of their boundary, before the estimator runs."""
    seen = []

    class Watching:
        applies_estimate_faults = True

        def step(self, time_us, inputs, outputs):
            scenario = inputs.bus.scenario
            faults = scenario.estimate_faults
            seen.append((scenario.faults.sensor_fault_mask, faults.dropout, faults.bias.yaw, faults.drift.pos_ned[1]))

    scenario = (
        Scenario()
        .at_step(1)
        .sensor_fault("estimate")
        .at_step(1)
        .estimate_bias(yaw_rad=0.25)
        .at_step(2)
        .estimate_dropout()
        .at_step(2)
        .estimate_drift(pos_ned=(0.0, 2.0, 0.0))
        .at_step(3)
        .clear_estimate_faults()
        .at_step(4)
        .clear_sensor_fault("estimate")
    )
    fly(scenario, 0.016, estimator=Watching())
    assert seen == [(0, 0, 0.0, 0.0), (32, 0, 0.25, 0.0), (32, 1, 0.25, 2.0), (32, 0, 0.0, 0.0), (0, 0, 0.0, 0.0)]
