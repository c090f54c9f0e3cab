"""First-order motors: step responses, the limit by the bus voltage, and the current from torque times speed."""

import math

import numpy as np
import pytest
from fleet import PowerBus, iris, propulsion
from plant_probe import Batch, Probe, both_ends, fly

from flights import flight
from px4lockstep.errors import InputError
from px4lockstep.flights.summary import summarize
from px4lockstep.log.log import Log
from px4lockstep.vehicle.battery import Battery
from px4lockstep.vehicle.contact import Contact
from px4lockstep.vehicle.motor import Motor
from px4lockstep.vehicle.propulsion import Propulsion

KT, KQ, J, ETA = 8.54858e-6, 0.016 * 8.54858e-6, 2.65e-5, 0.9
KE = 60.0 / (2.0 * math.pi * 700.0)
NO_CONTACT = Contact("no_contact")


def lagged(motor=None, **changes):
    """Return an Iris with first-order motors on four cells without polarization."""
    keys = {"kind": "first_order", "kv_rpm_per_volt": 700.0, "j_kgm2": J} | (motor or {})
    own = Propulsion(kT=KT, kQ=KQ, V_nom=14.8, esc={"eta": ETA}, motor=keys)
    changes = {"batteries": (Battery(cells=4, c1=1e9),), "contact": NO_CONTACT} | changes
    return iris(propulsion=own, **changes)


def test_speeds_follow_their_commands_with_two_time_constants():
    """Up with 12.5 ms and down with 25 ms, in closed form; RK4 at 0.25 ms is within 1e-3 rad/s."""
    sim = fly(lagged(), 0.2, motors=lambda time_us: 0.6 if time_us < 100_000 else 0.2, step_us=250, log_us=1_000)
    t, speed = sim.log["time_us"] / 1e6, sim.log_state[:, 13]
    up = 600.0 * (1.0 - np.exp(-t / 0.0125))
    at_turn = 600.0 * (1.0 - np.exp(-0.1 / 0.0125))
    down = 200.0 + (at_turn - 200.0) * np.exp(-(t - 0.1) / 0.025)
    assert speed == pytest.approx(np.where(t <= 0.1, up, down), abs=1e-3)


def test_an_idle_speed_maps_duties_as_gazebo_does():
    """ω* = 150 + 850 d for d above the deadzone, 0 below it; exactly."""
    motor = {"idle_speed_rad_s": 150.0, "max_speed_rad_s": 1000.0}
    probe = Probe(lagged(motor), motors=(0.0, 0.5, 0.73, 0.01))
    assert probe.derivative("rotor") * 0.0125 == pytest.approx([0.0, 575.0, 770.5, 0.0], rel=1e-14)


def test_the_current_is_that_of_the_torque():
    """I = (J ω̇ + Q) / Kt and V I_bus = Σ (J ω̇ + Q) ω / η by hand, with V = V0 − R0 I_bus; 1e-12."""
    speeds = np.array([500.0, 600.0, 650.0, 700.0])
    probe = Probe(lagged({"viscous_friction_nm_per_rad_s": 1e-6}), motors=0.7, rotor=speeds)
    outputs = probe.outputs()
    pressure = outputs["air_density_kg_m3"] / 1.225 * speeds**2
    spin = (700.0 - speeds) / 0.0125
    torque = J * spin + KQ * pressure + 1e-6 * speeds
    assert probe.derivative("rotor") == pytest.approx(spin, rel=1e-13)
    assert outputs["motor_current_a"][:4] == pytest.approx(torque / KE, rel=1e-12)
    volts, amps = outputs["bus_voltage_v"][0], outputs["bus_current_a"][0]
    assert volts * amps == pytest.approx(torque @ speeds / ETA, rel=1e-12)
    assert volts == pytest.approx(16.8 - 0.02 * amps, rel=1e-14)


def test_a_motor_that_slows_down_draws_no_current():
    """J ω̇ + Q < 0: no current, no regeneration; slightly too fast: it still draws some."""
    probe = Probe(lagged(), motors=0.3, rotor=(700.0, 310.0, 301.0, 300.0))
    outputs = probe.outputs()
    assert outputs["motor_current_a"][0] == 0.0
    assert (outputs["motor_current_a"][2:4] > 0.0).all()
    assert probe.derivative("rotor")[0] == pytest.approx(-400.0 / 0.025, rel=1e-14)


def test_the_bus_voltage_limits_the_speed():
    """ω* = V / Ke below 1000 rad/s; V solves V = V0 − R0 I(V) to 1e-9 V, also where bisection finds it."""
    speeds = np.linspace(300.0, 1000.0, 8)
    batch = Batch([lagged()], 8 * 40)
    batch.x[:, 13:17] = np.tile(speeds, 40)[:, None] * (1.0, 1.05, 0.9, 1.0)
    batch.x[:, 17] = np.repeat(np.linspace(-0.0009, 0.2, 40), 8)
    batch.inputs["command"]["motors"][:, :4] = 1.0
    outputs = batch.evaluate().outputs
    volts, amps = outputs["bus_voltage_v"][:, 0], outputs["bus_current_a"][:, 0]
    rest = Batch([lagged()], 8 * 40)
    rest.x[:, 17] = batch.x[:, 17]
    open_v = rest.evaluate().outputs["bus_voltage_v"][:, 0]
    assert np.abs(volts + 0.02 * amps - open_v).max() < 1e-9
    target = np.minimum(1000.0, volts / KE)[:, None]
    error = target - batch.x[:, 13:17]
    spin = np.where(error > 0.0, error / 0.0125, error / 0.025)
    assert batch.dx[:, 13:17] == pytest.approx(spin, rel=1e-9, abs=1e-6)
    assert (volts / KE < 1000.0).any()
    assert (volts / KE > 1000.0).any()


def test_the_regime_tells_where_the_law_of_a_motor_changes():
    """0 speeding up, 1 limited by voltage, 2 slowing down, 3 without torque: two bits per motor."""
    probe = Probe(lagged(), motors=(0.7, 0.7, 0.3, 0.7), rotor=(600.0, 701.0, 700.0, 600.0))
    assert probe.regime()[0] == 0b00_11_10_00
    low = Probe(lagged(), motors=1.0, rotor=500.0, soc=0.0)
    assert low.regime()[0] == 0b01_01_01_01


def test_the_energy_of_the_battery_is_balanced():
    """∫ OCV dQ = ∫ V I + R0 I², and ∫ η V I = shaft work + spin where current flows, within 1e-4 over 2 s."""
    battery = Battery(cells=4, c1=1e9, capacity_ah=0.2, soc0=0.5)
    aircraft = lagged(batteries=(battery,), buses=(PowerBus((0,), (0, 1, 2, 3), 15.0),))

    def throttle(time_us):
        return (0.5, 0.8, 1.0, 0.7)[(time_us // 250_000) % 4]

    sim = fly(aircraft, 2.0, motors=throttle, step_us=250, log_us=250)
    states = sim.log_state
    batch = both_ends(aircraft, sim)
    outputs = batch.outputs
    volts, amps = outputs["bus_voltage_v"][:, 0], outputs["bus_current_a"][:, 0]
    drawn_j = 0.125e-3 * float(np.sum(volts * amps + 0.02 * amps * amps))
    soc = np.linspace(states[-1, 17], 0.5, 2)
    knots = np.array([soc[0], *(x for x in (0.2, 0.3, 0.4) if x > soc[0]), 0.5])
    table = np.interp(knots, (0.1, 0.2, 0.3, 0.4, 0.5), (3.69, 3.73, 3.77, 3.79, 3.84))
    assert drawn_j == pytest.approx(720.0 * 4.0 * float(np.trapezoid(table, knots)), rel=1e-4)
    shaft = outputs["motor_current_a"][:, :4] * KE * batch.x[:, 13:17]
    avionics = 15.0 * volts / (volts + 0.02 * amps)
    assert ETA * (volts * amps - avionics) == pytest.approx(shaft.sum(axis=1), rel=1e-9, abs=1e-9)


def test_full_thrust_and_time_constant_are_those_of_the_speed():
    """1000 rad/s at V_nom, or V_nom / Ke if that is less; the time constant is the shorter one."""
    aircraft = lagged()
    assert aircraft.full_thrusts_n[0] == pytest.approx(KT * 1e6, rel=1e-14)
    assert aircraft.time_constants_s()["motors"] == 0.0125
    slow = lagged({"kv_rpm_per_volt": 500.0})
    assert slow.full_thrusts_n[0] == pytest.approx(KT * (14.8 * 500.0 * math.pi / 30.0) ** 2, rel=1e-13)
    calibrated = iris(propulsion=propulsion(kind="first_order", kv_rpm_per_volt=1500.0))
    assert calibrated.full_thrusts_n[0] == pytest.approx(2.0 * 1.5 * 9.80665 / 4.0, rel=1e-13)
    assert calibrated.within_reach() is calibrated


def test_a_mission_is_flown_with_first_order_motors():
    """The built-in autopilot flies it, with the hover thrust of a speed proportional to the duty."""
    aircraft = iris(
        propulsion=Propulsion(
            kT=KT, kQ=KQ, V_nom=14.8, motor={"kind": "first_order", "kv_rpm_per_volt": 700.0, "j_kgm2": J}
        ),
        batteries=(Battery(cells=4),),
    )
    sim = flight(aircraft=aircraft, end_s=72, params={"MPC_THR_HOVER": 0.66}).run()
    assert summarize(sim).mission_finished
    log = Log.of(sim)
    hover = np.median(log["rotor_speed_rad_s"][1_000:3_000])
    assert hover == pytest.approx(math.sqrt(1.5 * 9.80665 / 4.0 / KT / 0.954), rel=0.02)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"idle_speed_rad_s": 1200.0}, r"motor\.idle_speed_rad_s = 1200.0 is above max_speed_rad_s = 1000.0"),
        ({"kind": "magic"}, r"motor\.kind = 'magic'"),
        ({"tau_up_s": 0.0}, r"motor\.tau_up_s = 0.0 is out of range"),
    ],
)
def test_impossible_motors_are_errors(keys, text):
    """With key, value and what is allowed."""
    with pytest.raises(InputError, match=text):
        Motor(**keys)
    with pytest.raises(InputError, match=r"overrides\[0\]\.motor\.idle_speed_rad_s = 1200.0 is above"):
        Propulsion(overrides=[{"rotors": [1], "motor": {"idle_speed_rad_s": 1200.0}}])


def test_only_aircraft_with_special_rotors_compile_them():
    """The functions for first-order motors have addresses; those of an Iris are 0, so nothing was compiled for it."""
    for aircraft, is_special in ((lagged(), True), (iris(), False)):
        parameters = Probe(aircraft).parameters
        addresses = [int(parameters[name]) for name in ("special_rates_address", "special_outputs_address")]
        assert [address != 0 for address in addresses] == [is_special] * 2
