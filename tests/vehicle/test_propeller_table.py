"""Propellers from a test stand: monotone interpolation, and the plant that uses it."""

import math

import numpy as np
import pytest
from fleet import iris
from plant_probe import Probe

from px4lockstep.errors import InputError
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.toml_text import to_toml
from px4lockstep.vehicle.battery import Battery
from px4lockstep.vehicle.dispatch import PLANT
from px4lockstep.vehicle.propeller_table import Table, monotone_slopes
from px4lockstep.vehicle.propulsion import Propulsion

SEA_LEVEL = 101_325.0 / (287.05287 * 288.15)
SPEEDS = (200.0, 350.0, 500.0, 650.0, 800.0, 950.0)
MEASURED = {
    "speed_rad_s": SPEEDS,
    "thrust_n": (0.31, 1.02, 2.05, 3.52, 5.21, 7.4),
    "torque_nm": (0.006, 0.017, 0.034, 0.06, 0.088, 0.13),
}
STAND = MEASURED | {"duty": (0.1, 0.25, 0.42, 0.6, 0.8, 1.0), "current_a": (0.3, 0.9, 2.1, 4.3, 7.6, 12.5)}
MOTOR = {"kv_rpm_per_volt": 900.0, "r_ohm": 0.1, "j_kgm2": 2e-5}


def with_table(table=MEASURED, motor=None, **changes):
    """Return an Iris with a propeller from a table, on an ideal battery of 12 V at sea level."""
    own = Propulsion(table=table, rho_nom=SEA_LEVEL, motor=MOTOR | (motor or {}), **changes)
    return iris(propulsion=own, batteries=(Battery(model="ideal", ocv_v=(12.0, 12.0)),), home_alt_msl_m=0.0)


def test_slopes_of_a_monotone_cubic_by_hand():
    """Fritsch and Carlson: parabolas through three points, 0 at a plateau, limited to the circle of radius 3."""
    assert monotone_slopes((0.0, 1.0, 3.0), (0.0, 1.0, 9.0)) == pytest.approx([0.0, 2.0, 6.0])  # x²: exact
    assert monotone_slopes((0.0, 1.0, 2.0, 3.0), (0.0, 1.0, 1.0, 2.0)) == [1.5, 0.0, 0.0, 1.5]
    steep = monotone_slopes((0.0, 1.0, 2.0), (0.0, 0.1, 10.0), 0.0)
    assert steep[1] == pytest.approx(0.3)  # 5.0 before, 3 times the secant of 0.1 after
    assert monotone_slopes((0.0, 2.0), (1.0, 5.0)) == [2.0, 2.0]


def test_curves_pass_through_the_points_and_never_fall():
    """Exactly at the points; over 4000 speeds between 0 and the last, thrust and torque rise."""
    table = Table(**MEASURED)
    for speed, thrust, torque in zip(SPEEDS, MEASURED["thrust_n"], MEASURED["torque_nm"], strict=True):
        assert table.loads(speed) == pytest.approx((thrust, torque), rel=1e-14)
    loads = np.array([table.loads(speed) for speed in np.linspace(0.0, 1100.0, 1101)])
    assert loads[0].tolist() == [0.0, 0.0]
    assert np.diff(loads, axis=0).min() > 0.0


def test_points_of_a_parabola_give_the_propeller_of_its_constant():
    """T = kT ω², Q = kQ ω²: the plant's derivative is that of kT and kQ to 1e-12, also beyond the last point."""
    kt, kq = 8.5e-6, 1.4e-7
    table = {
        "speed_rad_s": SPEEDS,
        "thrust_n": [kt * speed * speed for speed in SPEEDS],
        "torque_nm": [kq * speed * speed for speed in SPEEDS],
    }
    speeds = (30.0, 333.0, 777.0, 1234.0)
    by_table, by_constants = (
        Probe(iris(propulsion=Propulsion(**keys)), motors=0.6, rotor=speeds, vel=(1.0, 2.0, 3.0))
        for keys in ({"table": table}, {"kT": kt, "kQ": kq})
    )
    assert by_table.derivative() == pytest.approx(by_constants.derivative(), rel=1e-12, abs=1e-12)
    assert by_table.aircraft.thrust_to_weight == pytest.approx(by_constants.aircraft.thrust_to_weight, rel=1e-12)
    assert by_table.aircraft.full_thrusts_n == pytest.approx(by_constants.aircraft.full_thrusts_n, rel=1e-12)


def test_loads_scale_with_the_density():
    """T and Q are those of the table times ρ / ρ_nom at 2000 m; 1e-13."""
    probe = Probe(with_table(), rotor=SPEEDS[1:5], pos=(0.0, 0.0, -2000.0))
    outputs = probe.outputs()
    ratio = outputs["air_density_kg_m3"] / SEA_LEVEL
    assert outputs["rotor_thrust_n"][:4] == pytest.approx(ratio * np.array(MEASURED["thrust_n"][1:5]), rel=1e-13)
    assert outputs["rotor_torque_nm"][:4] == pytest.approx(ratio * np.array(MEASURED["torque_nm"][1:5]), rel=1e-13)


def test_full_thrust_is_the_steady_state_of_the_plant():
    """At the speed of full duty the plant's ω̇ is 0, to 1e-9 of the torque over the inertia."""
    aircraft = with_table()
    omega = aircraft.propulsion.full_speed_rad_s(aircraft.thrust_constants[0])
    probe = Probe(aircraft, motors=1.0, rotor=omega)
    assert np.abs(probe.derivative("rotor")).max() < 1e-9 * 0.1 / 2e-5
    assert aircraft.full_thrusts_n[0] == pytest.approx(probe.outputs()["rotor_thrust_n"][0], rel=1e-12)


def test_each_rotor_may_have_its_own_table():
    """Two tables and a ratio in one aircraft; equal tables are stored once."""
    other = MEASURED | {"thrust_n": [1.5 * thrust for thrust in MEASURED["thrust_n"]]}
    overrides = [
        {"rotors": [2], "table": other},
        {"rotors": [3], "thrust_ratio": 0.5},
        {"rotors": [4], "kT": 1e-5, "kQ": 2e-7},
    ]
    probe = Probe(with_table(overrides=overrides), rotor=500.0)
    outputs = probe.outputs()
    assert outputs["rotor_thrust_n"][:4] == pytest.approx([2.05, 3.075, 1.025, 2.5], rel=1e-12)
    assert outputs["rotor_torque_nm"][:4] == pytest.approx([0.034, 0.034, 0.017, 0.05], rel=1e-12)
    assert probe.parameters["table_of"][:4].tolist() == [0, 1, 0, -1]
    assert probe.aircraft.propulsion_units[1].torque_per_thrust_m == pytest.approx(0.13 / 11.1)


def test_first_order_motors_take_speed_and_current_from_the_table():
    """Duty 0.42 commands 500 rad/s; there, 2.1 A at 12 V, scaled with the density; speeding up costs J ω̇ ω / η more."""
    lagged = {"kind": "first_order", "viscous_friction_nm_per_rad_s": 0.0}
    probe = Probe(with_table(STAND, lagged), motors=0.42, rotor=500.0)
    outputs = probe.outputs()
    assert np.abs(probe.derivative("rotor")).max() < 1e-9
    assert outputs["bus_current_a"][0] == pytest.approx(4.0 * 2.1, rel=1e-12)
    assert outputs["motor_current_a"][0] == pytest.approx(0.034 * 2.0 * math.pi * 900.0 / 60.0, rel=1e-12)
    probe["rotor"] = 350.0
    spin = 150.0 / 0.0125
    assert probe.derivative("rotor") == pytest.approx([spin] * 4, rel=1e-12)
    expected = 4.0 * (0.9 + 2e-5 * spin * 350.0 / 0.98 / 12.0)
    assert probe.outputs()["bus_current_a"][0] == pytest.approx(expected, rel=1e-12)
    held = Probe(with_table(STAND, lagged), motors=(0.05, 1.0, 0.0, 0.7), rotor=(200.0, 950.0, 0.0, 0.0))
    assert held.derivative("rotor")[:3] == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)
    assert held.aircraft.full_thrusts_n[0] == pytest.approx(7.4)


def test_a_table_does_not_depend_on_the_mass_and_is_read_again(tmp_path):
    """The same parameters for 1.5 kg and 3 kg; a file written in full has the table and no calibration."""
    plants = np.zeros(2, PLANT)
    for mass_kg, plant in zip((1.5, 3.0), plants, strict=True):
        iris(propulsion=Propulsion(table=MEASURED), mass_kg=mass_kg).write(plant)
    assert plants["multirotor"]["tables"][0].tobytes() == plants["multirotor"]["tables"][1].tobytes()
    path = tmp_path / "stand.toml"
    rows = "\n".join(f"{name} = {list(values)}" for name, values in MEASURED.items())
    path.write_text(f'extends = ["iris"]\n[airframe.propulsion.table]\n{rows}\n')
    spec = load_spec(path)
    assert spec.airframe.propulsion.table == Table(**MEASURED)
    written = tmp_path / "written.toml"
    written.write_text(to_toml(spec))
    assert "km_m" not in written.read_text()
    assert load_spec(written).airframe == spec.airframe


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"table": MEASURED, "kT": 1e-5, "kQ": 1e-7}, r"propulsion\.table = .* is given together with kT"),
        ({"table": MEASURED | {"thrust_n": (1.0, 2.0)}}, r"table\.thrust_n has 2 items, speed_rad_s has 6"),
        ({"table": MEASURED | {"speed_rad_s": SPEEDS[::-1]}}, r"table\.speed_rad_s = .* is not strictly increasing"),
        ({"table": STAND}, r"table\.duty = .* is for motors of kind = 'first_order'; omit it, or choose that kind"),
        ({"table": {"speed_rad_s": SPEEDS}}, r"table\.thrust_n is missing"),
        (
            {"overrides": [{"rotors": [1], "table": MEASURED}]},
            r"overrides\[0\]\.table = .* but airframe\.propulsion is",
        ),
    ],
)
def test_wrong_tables_are_errors_with_their_key(keys, text):
    """With the key, its value and what to do."""
    with pytest.raises(InputError, match=text):
        Propulsion(**keys)


def test_there_are_at_most_four_different_tables():
    """More would need more memory in every aircraft."""
    tables = [MEASURED | {"thrust_n": [k * thrust for thrust in MEASURED["thrust_n"]]} for k in (1.1, 1.2, 1.3, 1.4)]
    overrides = [{"rotors": [k + 1], "table": table} for k, table in enumerate(tables)]
    Propulsion(table=MEASURED, overrides=overrides[:3])
    with pytest.raises(InputError, match="has 5 different tables; there may be at most 4"):
        Propulsion(table=MEASURED, overrides=overrides)
