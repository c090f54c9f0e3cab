"""Batteries: voltage curve, charge, RC pair, warnings, and a load step in closed form."""

import functools

import numpy as np
import pytest
from fleet import PowerBus, iris, propulsion
from plant_probe import Batch, Probe, fly

from px4lockstep.environment.gravity import Gravity
from px4lockstep.jit import interpreted, view
from px4lockstep.vehicle.battery import BATTERY, Battery, charge_rates
from px4lockstep.vehicle.contact import Contact

CURVE = {"ocv_soc": (0.0, 0.1, 0.35, 0.8, 1.0), "ocv_v": (10.0, 10.9, 11.3, 11.9, 12.6)}

# A load of constant current: each motor at its limit and its rotor too heavy to turn. 4 motors × d I_max / η = 5 A.
HEAVY = {
    "propulsion": propulsion(eta=0.8, max_current_a=2.0, j_kgm2=1e9),
    "contact": Contact("no_contact"),
    "gravity": Gravity(gravity_mps2=0.0),
}


def voltages(battery, soc, v1=0.0):
    """Return the open-circuit bus voltage at states of charge."""
    batch = Batch([iris(batteries=(battery,))], len(soc))
    batch.x[:, 17] = soc
    batch.x[:, 18] = v1
    return batch.evaluate().outputs["bus_voltage_v"][:, 0]


def test_the_curve_is_interpolated_and_held_outside():
    """NumPy's interp to 1e-14; exact at the points and outside."""
    battery = Battery(**CURVE)
    soc = np.linspace(-0.2, 1.2, 1401)
    assert voltages(battery, soc) == pytest.approx(np.interp(soc, CURVE["ocv_soc"], CURVE["ocv_v"]), rel=1e-14)
    assert voltages(battery, CURVE["ocv_soc"]) == pytest.approx(CURVE["ocv_v"], rel=1e-15)
    assert voltages(battery, (-5.0, -1e-9, 0.0)).tolist() == [10.0] * 3
    assert voltages(battery, (1.0, 1.0 + 1e-9, 7.0)).tolist() == [12.6] * 3


def test_the_curve_never_falls():
    """Over 10,000 states of charge, also across its points."""
    assert np.diff(voltages(Battery(**CURVE), np.linspace(0.0, 1.0, 10_000))).min() >= 0.0


def test_a_curve_may_have_one_to_sixteen_points():
    """One point: constant. Sixteen, the maximum: NumPy's interp to 1e-14."""
    assert voltages(Battery(ocv_soc=(0.5,), ocv_v=(11.1,)), (0.0, 0.5, 1.0)).tolist() == [11.1] * 3
    points = tuple((np.arange(16) / 15.0).tolist())
    volts = tuple((10.0 + np.arange(16) ** 1.5 / 20.0).tolist())
    soc = np.linspace(0.0, 1.0, 333)
    assert voltages(Battery(ocv_soc=points, ocv_v=volts), soc) == pytest.approx(
        np.interp(soc, points, volts), rel=1e-14
    )


def test_polarization_lowers_the_voltage_down_to_the_minimum():
    """Exactly OCV − V1, limited to V_min = 9.9."""
    assert voltages(Battery(), (1.0,), 0.3)[0] == pytest.approx(12.3, rel=1e-15)
    assert voltages(Battery(), (1.0,), 4.0)[0] == 9.9


def test_warnings_follow_the_remaining_charge():
    """Below each threshold, not at it, as in PX4: 0.15, 0.10, 0.05 → 1, 2, 3."""
    just_below = [float(np.nextafter(value, 0.0)) for value in (0.15, 0.10, 0.05)]
    soc = [1.0, 0.15, just_below[0], 0.10, just_below[1], 0.05, just_below[2], 0.0]
    batch = Batch([iris()], len(soc))
    batch.x[:, 17] = soc
    status = batch.evaluate().outputs["battery"][:, 0]
    assert status["warning"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert status["remaining"].tolist() == soc


def test_each_battery_has_its_own_warning_thresholds():
    """A half-empty battery is an emergency if so configured."""
    picky = Battery(low_thr=0.9, crit_thr=0.7, emerg_thr=0.6)
    assert Probe(iris(batteries=(picky,)), soc=0.5).outputs()["battery"][0]["warning"] == 3


@pytest.mark.parametrize("v1_0", [0.0, 0.4])
def test_a_load_step_matches_the_closed_form(v1_0):
    """5 A from the start, RK4 at 10 ms for 100 s.

    V1 = V1(0) e^(−t/τ) + I R1 (1 − e^(−t/τ)), τ = R1 C1 = 20 s;  SOC = 1 − I t / Q;  V = OCV(SOC) − V1 − R0 I

    V1 within 1e-12 V (RK4's (h/τ)⁴ is 6e-14), V within 1e-12 relative, SOC within 1e-12 (10,000 roundings of 1e-16).
    """
    aircraft = iris(batteries=(Battery(v1_0=v1_0),), **HEAVY)
    sim = fly(aircraft, 100.0, motors=lambda time_us: 0.5, step_us=10_000, log_us=1_000_000)
    t = sim.log["time_us"] / 1e6
    soc, v1 = sim.log_state[:, 17], sim.log_state[:, 18]
    decay = np.exp(-t / 20.0)
    assert v1 == pytest.approx(v1_0 * decay + 5.0 * 0.01 * (1.0 - decay), abs=1e-12)
    assert soc == pytest.approx(1.0 - 5.0 * t / (5.0 * 3600.0), abs=1e-12)
    outputs = sim.log["bus"]["outputs"][1:]
    assert outputs["bus_current_a"][:, 0] == pytest.approx(np.full(100, 5.0), rel=1e-12)
    expected = 10.8 + 1.8 * soc[1:] - v1[1:] - 0.02 * 5.0
    assert outputs["bus_voltage_v"][:, 0] == pytest.approx(expected, rel=1e-12)
    assert outputs["battery"]["voltage_v"][:, 0].tolist() == outputs["bus_voltage_v"][:, 0].tolist()


def test_5_a_empty_5_ah_in_one_hour():
    """SOC falls by 1 in 3600 s, within 1e-6; then it stays at exactly 0 while V1 and the current continue."""
    sim = fly(iris(**HEAVY), 3700.0, motors=lambda time_us: 0.5, step_us=100_000, log_us=100_000_000)
    soc = sim.log_state[:, 17]
    assert soc[36] == pytest.approx(0.0, abs=1e-6)
    assert soc[18] == pytest.approx(0.5, abs=1e-6)
    assert soc[37] == 0.0
    last = sim.log["bus"]["outputs"][37]
    assert last["bus_current_a"][0] == pytest.approx(5.0, rel=1e-12)
    assert last["bus_voltage_v"][0] == pytest.approx(10.8 - 5.0 * 0.01 - 0.02 * 5.0, rel=1e-9)


def test_an_ideal_battery_keeps_its_voltage_and_counts_its_charge():
    """The last voltage of the curve at any charge and load; SOĊ = −I / Q to 1e-13; no polarization."""
    ideal = iris(batteries=(Battery(model="ideal", **CURVE),), buses=(PowerBus((0,), (0, 1, 2, 3), 30.0),))
    probe = Probe(ideal, motors=1.0, soc=0.2, v1=0.7)
    outputs = probe.outputs()
    assert outputs["bus_voltage_v"][0] == 12.6
    current = 4.0 * (12.6 / 0.25) / 0.98 + 30.0 / 12.6
    assert outputs["bus_current_a"][0] == pytest.approx(current, rel=1e-13)
    assert probe.derivative("soc")[0] == pytest.approx(-current / 18_000.0, rel=1e-13)
    assert probe.derivative("v1")[0] == 0.0


def test_an_empty_battery_gives_no_charge_and_can_be_charged():
    """The rate is -I / Q; at 0 and below, a load removes no more charge, and the polarization continues."""
    rec = np.zeros(1, BATTERY)
    Battery(capacity_ah=2.0).write(rec[0], 0, 1.0)
    rates = functools.partial(interpreted(charge_rates), view(rec, writable=True))
    per_amp = 1.0 / (2.0 * 3600.0)
    assert rates(1e-12, 0.0, 3.0)[0] == pytest.approx(-3.0 * per_amp, rel=1e-14)
    for soc in (0.0, -1e-12):
        assert rates(soc, 0.0, 3.0)[0] == 0.0
        assert rates(soc, 0.0, -3.0)[0] == pytest.approx(3.0 * per_amp, rel=1e-14)
        assert rates(soc, 0.0, 3.0)[1] == pytest.approx(3.0 / 2000.0, rel=1e-14)
