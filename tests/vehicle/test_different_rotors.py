"""Rotors with their own ESC, motor and propeller: `airframe.propulsion.overrides`."""

import numpy as np
import pytest
from fleet import iris, octa, propulsion
from plant_probe import Probe

import px4lockstep
from px4lockstep.autopilots.builtin.control_model import ControlModel
from px4lockstep.autopilots.px4_library.parameters import ca_parameters
from px4lockstep.errors import InputError
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.toml_text import to_toml
from px4lockstep.vehicle.airframe import Airframe
from px4lockstep.vehicle.dispatch import PLANT
from px4lockstep.vehicle.propulsion import Override, Propulsion

WEIGHT_N = 1.5 * 9.80665
BIG = {"rotors": [1, 3], "thrust_ratio": 1.5, "km_m": 0.04, "motor": {"r_ohm": 0.2, "j_kgm2": 3e-5, "i0_a": 0.9}}


def mixed(**override):
    """Return an Iris with an override, by default a stronger motor and propeller on rotors 1 and 3."""
    return iris(propulsion=propulsion(overrides=[override or BIG]))


def plant_bytes(aircraft):
    """Return the parameters of the plant as bytes."""
    plant = np.zeros(1, PLANT)
    aircraft.write(plant[0])
    return plant.tobytes()


def test_all_rotors_together_give_the_calibrated_thrust():
    """ΣT = 2 m g at duty 1, ω from the torque balance by hand, kT in the ratio of the propellers; 1e-12."""
    aircraft, total = mixed(), 0.0
    for i, (unit, kt) in enumerate(zip(aircraft.propulsion_units, aircraft.thrust_constants, strict=True)):
        is_big = i in (0, 2)
        r_ohm, km = (0.2, 0.04) if is_big else (0.25, 0.05)
        assert (unit.motor.r_ohm, unit.km_m) == (r_ohm, km)
        ke = 60.0 / (2.0 * np.pi * 920.0)
        omega = max(np.roots([km * kt * 1.225, 2e-6 + ke * ke / r_ohm, -ke * 12.0 / r_ohm]))
        thrust = kt * 1.225 * omega**2
        assert aircraft.full_thrusts_n[i] == pytest.approx(thrust, rel=1e-12)
        total += thrust
    assert total == pytest.approx(2.0 * WEIGHT_N, rel=1e-12)
    assert aircraft.thrust_constants[0] == 1.5 * aircraft.thrust_constants[1]


def test_a_weaker_motor_with_the_same_propeller_gives_less_thrust():
    """The propellers stay equal, and the other rotors make up for it in the calibration."""
    aircraft = mixed(rotors=[2], motor={"r_ohm": 0.4})
    assert len(set(aircraft.thrust_constants)) == 1
    weak, strong = aircraft.full_thrusts_n[1], aircraft.full_thrusts_n[0]
    assert weak < WEIGHT_N / 2.0 < strong
    assert weak + 3.0 * strong == pytest.approx(2.0 * WEIGHT_N, rel=1e-12)


def test_an_override_with_the_common_values_changes_no_byte():
    """All parameters of the plant are bit-identical."""
    same = {"rotors": [2, 4], "km_m": 0.05, "esc": {"eta": 0.98}, "motor": {"kv_rpm_per_volt": 920.0}}
    assert plant_bytes(mixed(**same)) == plant_bytes(iris())
    assert plant_bytes(mixed()) != plant_bytes(iris())


def test_each_motor_has_its_own_current_and_torque():
    """I = (d V − Ke ω) / R and J ω̇ = Kt (I − I0) − Q − b ω with the values of each rotor, by hand; 1e-12."""
    probe = Probe(mixed(), motors=0.6, rotor=200.0)
    outputs = probe.outputs()
    ke = 60.0 / (2.0 * np.pi * 920.0)
    for i in range(4):
        r_ohm, j, i0 = (0.2, 3e-5, 0.9) if i in (0, 2) else (0.25, 1.2e-5, 0.6)
        current = (0.6 * outputs["bus_voltage_v"][0] - ke * 200.0) / r_ohm
        assert outputs["motor_current_a"][i] == pytest.approx(current, rel=1e-12)
        torque = ke * (current - i0) - outputs["rotor_torque_nm"][i] - 2e-6 * 200.0
        assert probe.derivative("rotor")[i] == pytest.approx(torque / j, rel=1e-12)
    assert outputs["rotor_thrust_n"][0] == pytest.approx(1.5 * outputs["rotor_thrust_n"][1], rel=1e-14)
    assert outputs["rotor_torque_nm"][0] == pytest.approx(0.04 * outputs["rotor_thrust_n"][0], rel=1e-14)
    assert outputs["bus_current_a"][0] == pytest.approx(0.6 * outputs["motor_current_a"][:4].sum() / 0.98, rel=1e-13)


def test_a_deadzone_belongs_to_its_esc():
    """Duty 0.1 passes all ESCs but the one with a deadzone of 0.2."""
    duties = Probe(mixed(rotors=[3], esc={"deadzone": 0.2}), motors=0.1).outputs()["rotor_duty"]
    assert duties[:4].tolist() == [0.1, 0.1, 0.0, 0.1]


def test_faults_act_on_rotors_with_overrides():
    """A disabled motor draws no current, a thrust loss halves its own rotor's thrust and leaves its torque."""
    probe = Probe(mixed(), motors=0.6, rotor=200.0)
    before = {name: probe.outputs()[name].copy() for name in ("rotor_thrust_n", "rotor_torque_nm")}
    faults = probe.inputs["faults"]
    faults["motor_disabled_mask"], faults["motor_weak_mask"] = 0b0001, 0b0100
    faults["thrust_loss"][2] = 0.5
    outputs = probe.outputs()
    assert outputs["motor_current_a"][0] == 0.0
    assert outputs["rotor_thrust_n"][2] == 0.5 * before["rotor_thrust_n"][2]
    assert outputs["rotor_torque_nm"][2] == before["rotor_torque_nm"][2]


def test_autopilots_get_the_torque_ratio_and_thrust_of_each_rotor():
    """CA_ROTORi_KM from each propeller; CA_ROTORi_CT in the ratio of the full thrusts, only where they differ."""
    aircraft = mixed()
    found = ca_parameters(aircraft)
    assert [found[f"CA_ROTOR{i}_KM"] for i in range(4)] == [0.04, 0.05, -0.04, -0.05]
    thrusts = [found[f"CA_ROTOR{i}_CT"] for i in range(4)]
    assert thrusts == pytest.approx([6.5 * 4.0 * t / (2.0 * WEIGHT_N) for t in aircraft.full_thrusts_n], rel=1e-12)
    assert ControlModel.of(aircraft).thrust_shares == pytest.approx([t / 6.5 for t in thrusts], rel=1e-14)
    assert not [name for name in ca_parameters(iris()) if name.endswith("CT")]
    assert ControlModel.of(octa()).thrust_shares == (1.0,) * 8


def test_the_time_constant_is_that_of_the_fastest_motor():
    """A rotor with a tenth of the inertia has a tenth of the time constant."""
    whole = iris().time_constants_s()["motors"]
    assert mixed(rotors=[4], motor={"j_kgm2": 1.2e-6}).time_constants_s()["motors"] == pytest.approx(whole / 10.0)


def test_overrides_are_the_same_from_a_file_and_from_python(tmp_path):
    """Through the public names, and again after the spec was written out in full."""
    path = tmp_path / "mixed.toml"
    path.write_text(
        'extends = ["iris"]\n[[airframe.propulsion.overrides]]\nrotors = [1, 3]\nthrust_ratio = 1.5\nkm_m = 0.04\n'
        "motor = { r_ohm = 0.2, j_kgm2 = 3e-5, i0_a = 0.9 }\n"
    )
    spec = load_spec(path)
    assert spec.airframe.propulsion.overrides == (Override(**BIG),)
    written = tmp_path / "written.toml"
    written.write_text(to_toml(spec))
    assert load_spec(written).airframe == spec.airframe
    built = px4lockstep.Aircraft(
        airframe=px4lockstep.Airframe(
            mass_kg=1.5,
            inertia_diag_kgm2=(0.03, 0.03, 0.06),
            rotor_pos_body_m=[rotor.pos_body_m for rotor in iris().rotors],
            propulsion=px4lockstep.Propulsion(overrides=[BIG]),
        )
    )
    assert built.thrust_constants == mixed().thrust_constants


@pytest.mark.parametrize(
    ("overrides", "text"),
    [
        ([{"rotors": [5]}], r"overrides\[0\]\.rotors\[0\] = 5 does not exist; airframe\.rotor_pos_body_m has 4 rotors"),
        ([{"rotors": [0]}], r"overrides\[0\]\.rotors = \[0\] is out of range"),
        ([{"rotors": []}], r"overrides\[0\]\.rotors"),
        ([{"rotors": [1, 2]}, {"rotors": [2]}], r"overrides\[1\]\.rotors\[0\] = 2 is used more than once"),
        ([{"rotors": [1], "motor": {"kv": 1.0}}], r"overrides\[0\]\.motor\.kv"),
    ],
)
def test_wrong_overrides_are_errors_with_their_key(overrides, text):
    """Unknown rotors, two overrides of one rotor, unknown keys."""
    with pytest.raises(InputError, match=text):
        Airframe(
            mass_kg=1.5,
            inertia_diag_kgm2=(0.03, 0.03, 0.06),
            rotor_pos_body_m=[rotor.pos_body_m for rotor in iris().rotors],
            propulsion={"overrides": overrides},
        )


def test_an_unreachable_total_thrust_is_an_error_with_the_maximum():
    """At the sum of Kt V / (R km) of all rotors and above; just below it there are thrust constants."""
    drive = Propulsion(thrust_calibration_mult=1.0, overrides=[{"rotors": [1], "km_m": 0.1}])
    torque = 60.0 / (2.0 * np.pi * 920.0) * 12.0 / 0.25
    mean = (torque / 0.1 + 3.0 * torque / 0.05) / 4.0
    with pytest.raises(InputError, match=rf"with these motors the maximum is {mean:.3f} N on average\. Use a motor"):
        drive.thrust_constants(1.001 * mean, 4)
    assert min(drive.thrust_constants(0.999 * mean, 4)) > 0.0
