"""Aircraft and their parts as given by a user: layout of the state, and invalid input."""

import math

import numpy as np
import pytest
from fleet import PowerBus, Rotor, diagonal, iris, octa, propulsion, twin
from plant_probe import Probe, evaluate

from px4lockstep.errors import InputError
from px4lockstep.plant.layout import MAX_STATES
from px4lockstep.spec.load import load_spec
from px4lockstep.vehicle.actuators import ActuatorDynamics
from px4lockstep.vehicle.aircraft import Aircraft
from px4lockstep.vehicle.airframe import Airframe, InitialState
from px4lockstep.vehicle.battery import Battery
from px4lockstep.vehicle.contact import Contact
from px4lockstep.vehicle.dispatch import PLANT
from px4lockstep.vehicle.power import Power
from px4lockstep.vehicle.propulsion import Esc, Motor, Propulsion

HERE = (0.0, 0.0, 0.0)

BAD_PARTS = {
    "floor above the curve": (Battery, {"min_voltage_v": 14.0}, "min_voltage_v = 14.0 is above the voltage of the full battery; it must be at most 12.6"),
    "battery model": (Battery, {"model": "lead"}, "model = 'lead' is unknown; allowed: 'ideal', 'thevenin'"),
    "capacity": (Battery, {"capacity_ah": 0.0}, "capacity_ah = 0.0 is out of range; it must be at least 1e-12"),
    "charge": (Battery, {"soc0": 1.01}, "soc0 = 1.01 is out of range; it must be at least 0.0 and at most 1.0"),
    "charge above 1": (Battery, {"ocv_soc": (0.0, 1.5)}, "ocv_soc = [0.0, 1.5] is out of range; states of charge are"),
    "thresholds": (Battery, {"low_thr": 0.05}, "crit_thr = 0.1 is above low_thr = 0.05; emerg_thr ≤ crit_thr ≤ low_thr"),
    "emergency": (Battery, {"emerg_thr": 0.2}, "emerg_thr = 0.2 is above crit_thr = 0.1; emerg_thr ≤ crit_thr ≤ low_thr"),
    "curve lengths": (Battery, {"ocv_v": (11.0,)}, "ocv_v has 1 items, ocv_soc has 2; they must have the same number"),
    "curve empty": (Battery, {"ocv_soc": ()}, "ocv_soc has 0 items; it must have at least 1"),
    "curve too long": (Battery, {"ocv_v": (1.0,) * 17}, "ocv_v has 17 items; it must have at most 16"),
    "curve falls": (Battery, {"ocv_v": (12.6, 10.8)}, "ocv_v = [12.6, 10.8] decreases; no voltage may be below the previous one"),
    "curve stands": (Battery, {"ocv_soc": (0.5, 0.5)}, "ocv_soc = [0.5, 0.5] is not strictly increasing; each value must exceed the"),
    "curve at 0": (Battery, {"ocv_v": (0.0, 0.0)}, "ocv_v = [0.0, 0.0] ends at 0; the last voltage must be above 0"),
    "polarization": (Battery, {"v1_0": math.inf}, "v1_0 = inf is not allowed; it must be a finite number"),
    "mass of air": (Propulsion, {"rho_nom": 0.0}, "rho_nom = 0.0 is out of range; it must be at least 1e-12"),
    "inflow": (Propulsion, {"inflow_kT": math.nan}, "inflow_kT = nan is not allowed; it must be a finite number"),
    "calibration mass": (Propulsion, {"calibration_mass_kg": 0.0}, "calibration_mass_kg = 0.0 is out of range"),
    "direction": (Propulsion, {"rotor_dir": (1, 2, 1, 1)}, "rotor_dir[1] = 2 is not allowed; allowed: -1"),
    "resistance": (Motor, {"r_ohm": -0.1}, "r_ohm = -0.1 is out of range; it must be at least 1e-12"),
    "no-load current": (Motor, {"i0_a": -1.0}, "i0_a = -1.0 is out of range; it must be at least 0.0"),
    "efficiency": (Esc, {"eta": 1.2}, "eta = 1.2 is out of range; it must be above 0.0 and at most 1.0"),
    "efficiency zero": (Esc, {"eta": 0.0}, "eta = 0.0 is out of range; it must be above 0.0 and at most 1.0"),
    "deadzone": (Esc, {"deadzone": 1.5}, "deadzone = 1.5 is out of range; it must be at least 0.0 and at most 1.0"),
    "contact kind": (Contact, {"kind": "sand"}, "kind = 'sand' is unknown; allowed: 'flat_ground', 'no_contact'"),
    "stiffness": (Contact, {"k_n_per_m": 0.0}, "k_n_per_m = 0.0 is out of range; it must be at least 1e-12"),
    "friction": (Contact, {"mu": -0.1}, "mu = -0.1 is out of range; it must be at least 0.0"),
    "static friction": (Contact, {"mu_static": 0.5}, "mu_static = 0.5 is below mu; it must be at least 0.8"),
    "no points": (Contact, {"kind": "legs"}, "points_body_m is missing; contact of kind 'legs' needs the positions of the feet"),
    "nine points": (Contact, {"points_body_m": (HERE,) * 9}, "points_body_m has 9 items; it must have at most 8"),
    "point": (Contact, {"points_body_m": ((0.0, 0.0, math.nan),)}, "points_body_m[0][2] = nan is not allowed"),
    "attitude norm": (InitialState, {"q_bn": (0.0, 0.0, 0.0, 0.0)}, "q_bn = [0.0, 0.0, 0.0, 0.0] has norm 0"),
    "attitude length": (InitialState, {"q_bn": (1.0, 0.0, 0.0)}, "q_bn = [1.0, 0.0, 0.0] is not a quaternion"),
    "position": (InitialState, {"pos_ned": (0.0, math.nan, 0.0)}, "pos_ned[1] = nan is not allowed"),
    "velocity": (InitialState, {"vel_ned": (0.0, 0.0)}, "vel_ned = [0.0, 0.0] is not a vector"),
    "share mode": (Power, {"share_mode": "random"}, "share_mode = 'random' is unknown; allowed: 'inv_r0', 'equal'"),
    "no battery": (Power, {"batteries": ()}, "batteries has 0 items; it must have at least 1"),
    "too many buses": (Power, {"buses": ({"battery_ids": (), "motor_ids": ()},) * 5}, "buses has 5 items; it must have at most 4"),
    "unknown key": (Power, {"batterys": ()}, "batterys = []: unknown key; did you mean 'batteries'?"),
}  # fmt: skip

BAD_AIRCRAFT = {
    "mass": ({"mass_kg": 0.0}, r"mass_kg = 0\.0"),
    "mass text": ({"mass_kg": "heavy"}, r"mass_kg = 'heavy' is not allowed; it must be a number"),
    "inertia shape": ({"inertia_kgm2": ((1.0, 0.0), (0.0, 1.0))}, r"is not a matrix"),
    "inertia negative": ({"inertia_kgm2": diagonal(1.0, 1.0, -0.1)}, r"not positive definite: .* moments are -0\.1"),
    "axis": ({"rotors": (Rotor(HERE, 1, HERE),)}, r"rotor_axis_body_m\[0\] = .* has length 0"),
    "too many rotors": ({"rotors": (Rotor(HERE, 1),) * 13}, r"rotor_pos_body_m has 13 items; it must have at most 12|channel = 13"),
    "drag area": ({"drag_area_body_m2": (0.1, -0.1, 0.1)}, r"drag_area_body_m2\[1\] = -0\.1"),
    "channel twice": ({"rotors": (Rotor(HERE, 1, channel=2), Rotor(HERE, 1))}, r"motors\[1\]\.channel = 2 is used more than once"),
    "servo twice": ({"servo_channels": (1, 1)}, r"servos\[1\]\.channel = 1 is used more than once; channels must be unique"),
    "motor nowhere": ({"buses": (PowerBus((0,), (0, 1, 2)),)}, r"motor 'motor4' is on no bus; every motor must be on"),
    "unknown motor": ({"buses": (PowerBus((0,), range(5)),)}, r"motor_ids\[4\] = 'motor5' is not in actuation\.motors"),
    "bus without battery": ({"buses": (PowerBus((0,), range(4)), PowerBus((), ()))}, r"buses\[1\]\.battery_ids = \[\] is"),
    "ideal voltages": (
        {"batteries": (Battery(model="ideal"), Battery(model="ideal", ocv_v=(10.0, 12.0)))},
        r"has ideal batteries of different voltages",
    ),
    "height": ({"home_alt_msl_m": math.inf}, r"alt_msl_m = inf"),
}  # fmt: skip


def overrides(part, values):
    """Return the spec keys of some values of a part."""
    where = part.where.replace("batteries", "batteries[0]")
    return {f"{where}.{name}": value for name, value in values.items()}


@pytest.mark.parametrize(("part", "values", "words"), BAD_PARTS.values(), ids=BAD_PARTS)
def test_python_and_files_give_the_same_errors(part, values, words):
    """With the key, the value and what is allowed; the file adds the index of the battery."""
    with pytest.raises(InputError) as made:
        part(**values)
    with pytest.raises(InputError) as loaded:
        load_spec("iris", overrides(part, values))
    lines = str(made.value).splitlines()
    assert any(line.startswith(f"{part.where}.{words}") for line in lines)
    for line in lines:
        assert line.replace("power.batteries.", "power.batteries[0].") in str(loaded.value)
    assert made.value.key[:2] == tuple(part.where.split("."))[:2] or part is Power


@pytest.mark.parametrize(("changes", "message"), BAD_AIRCRAFT.values(), ids=BAD_AIRCRAFT)
def test_inconsistent_parts_are_rejected(changes, message):
    """With an `InputError` that says what is allowed."""
    with pytest.raises(InputError, match=message):
        iris(**changes)


def test_all_inconsistencies_are_reported_together():
    """With the key of the first."""
    buses = (PowerBus((0,), (0, 1, 2)),)
    with pytest.raises(InputError) as caught:
        iris(buses=buses, home_alt_msl_m=math.nan)
    assert len(str(caught.value).splitlines()) == 2
    assert caught.value.key == ("power", "buses")


def test_an_aircraft_needs_inertia_in_one_form():
    """In Python as in a file."""
    with pytest.raises(InputError, match=r"airframe\.inertia_diag_kgm2 is missing; give it or airframe\."):
        Airframe(mass_kg=1.0, rotor_pos_body_m=[HERE])


def test_omitted_values_are_filled_in():
    """Axes, signs, attitude, motors, names and one bus, in Python as in a loaded file."""
    made = Aircraft(Airframe(mass_kg=1.0, inertia_diag_kgm2=(0.1, 0.1, 0.1), rotor_pos_body_m=[HERE] * 3))
    assert [rotor.direction for rotor in made.rotors] == [1, -1, 1]
    assert {rotor.axis_body for rotor in made.rotors} == {(0.0, 0.0, 1.0)}
    assert made.motor_channels == (1, 2, 3)
    assert made.buses[0].motor_ids == ("motor1", "motor2", "motor3")
    assert made.batteries[0].id == "bat1"
    assert made.initial_state()[6:10].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_values_that_overflow_are_rejected_at_creation():
    """With their table, not only by a flight that becomes non-finite."""
    for make, where in (
        (lambda: Battery(capacity_ah=5e-324), "power.batteries"),
        (lambda: Battery(r1=1e-200, c1=1e-200), "power.batteries"),
        (lambda: ActuatorDynamics("first_order", tau_s=5e-324), "tau_s"),
        (lambda: iris(mass_kg=5e-324), "airframe"),
    ):
        with pytest.raises(InputError, match=r"is out of range; it must be at least 1e-12 and") as caught:
            make()
        assert str(caught.value).startswith(where)


def test_the_state_has_only_the_groups_that_are_needed():
    """13 + rotors + 2 per battery with direct actuators; a lag adds 1 per channel, second order 2."""
    assert dict(iris().groups) == {
        "pos": 3, "vel": 3, "att": 4, "omega": 3, "act": 0, "actdot": 0, "rotor": 4, "soc": 1, "v1": 1
    }  # fmt: skip
    assert len(octa().initial_state()) == 13 + 8 + 2
    assert len(twin().initial_state()) == 13 + 2 + 2
    servos = {"servo_channels": (1, 2, 3)}
    lagging = iris(
        motor_actuator=ActuatorDynamics("first_order"), servo_actuator=ActuatorDynamics("second_order"), **servos
    )
    assert len(lagging.initial_state()) == 13 + 4 + 3 + 3 + 4 + 2


def test_the_largest_aircraft_fits():
    """12 rotors, 8 servos, all of second order, 4 batteries: 73 of the 80 states, all finite."""
    second = ActuatorDynamics("second_order")
    giant = octa(
        rotors=tuple(Rotor((0.1 * i, 0.0, 0.0), 1) for i in range(12)),
        batteries=(Battery(),) * 4,
        buses=tuple(PowerBus((b,), (3 * b, 3 * b + 1, 3 * b + 2)) for b in range(4)),
        motor_actuator=second,
        servo_actuator=second,
        servo_channels=tuple(range(1, 9)),
    )
    probe = Probe(giant, motors=0.5, act=0.5)
    assert len(probe.x) == 13 + 2 * 20 + 12 + 8 <= MAX_STATES
    assert np.isfinite(probe.derivative()).all()
    assert probe.outputs()["bus_voltage_v"].min() > 9.0


def test_the_initial_state_has_the_given_values():
    """Position, velocity, normalized attitude, rates, charge and polarization; actuators and rotors at rest."""
    aircraft = iris(
        pos_ned=(1.0, 2.0, 3.0),
        vel_ned=(4.0, 5.0, 6.0),
        q_bn=(0.6, 0.0, 0.8 + 4e-7, 0.0),
        omega_body=(7.0, 8.0, 9.0),
        batteries=(Battery(soc0=0.5, v1_0=0.1),),
    )
    x = aircraft.initial_state()
    assert x[:6].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert np.linalg.norm(x[6:10]) == pytest.approx(1.0, abs=1e-15)
    assert x[6:10] == pytest.approx([0.6, 0.0, 0.8, 0.0], abs=1e-6)
    assert x[10:].tolist() == [7.0, 8.0, 9.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.1]


def test_an_axis_is_normalized():
    """To unit length within an ulp, if it was close."""
    (rotor,) = iris(rotors=(Rotor(HERE, 1, (0.0, 0.6, 0.8 + 5e-7)),)).rotors
    assert np.linalg.norm(rotor.axis_body) == pytest.approx(1.0, abs=2e-16)


def test_all_aircraft_share_one_compilation():
    """1 to 12 rotors, 1 to 4 batteries and buses, all kinds: the test driver is compiled once."""
    for rotors in (1, 5, 12):
        for batteries in (1, 4):
            one = octa(
                mass_kg=0.2,
                rotors=tuple(Rotor((0.1, 0.0, 0.0), 1) for _ in range(rotors)),
                batteries=(Battery(),) * batteries,
                buses=None,
            )
            assert np.isfinite(Probe(one, motors=0.5).derivative()).all()
    assert len(getattr(evaluate, "overloads", [evaluate])) == 1


def test_time_constants_match_hand_calculations():
    """τ of a lag, 1 / ωn, J / (b + Kt Ke / R + 2 kQ ρ ω), the faster root of m s² + c s + k for contact."""
    aircraft = iris(
        motor_actuator=ActuatorDynamics("first_order", tau_s=0.03),
        servo_actuator=ActuatorDynamics("second_order", omega_n=80.0),
    )
    constants = aircraft.time_constants_s()
    ke = 60.0 / (2.0 * np.pi * 920.0)
    assert constants["motor actuators"] == 0.03
    assert constants["servo actuators"] == math.inf  # no servo is mapped
    thrust = 1.5 * 9.80665 / 4
    kt = aircraft.propulsion.thrust_constant(thrust)
    propeller = 2.0 * 0.05 * kt * 1.225 * np.sqrt(thrust / (kt * 1.225))
    assert constants["motors"] == pytest.approx(1.2e-5 / (2e-6 + ke * ke / 0.25 + propeller), rel=1e-12)
    assert constants["motors"] == pytest.approx(5.56e-3, rel=0.01)
    assert constants["contact"] == pytest.approx(-1.0 / np.roots([1.5, 600.0, 5000.0]).min(), rel=1e-12)
    assert iris(contact=Contact("no_contact")).time_constants_s()["contact"] == math.inf
    # On legs it heaves and rocks on the feet, or on its back on the arms; here the arms' rocking is the fastest.
    points = [(x, y, z) for x in (0.1, -0.1) for y in (0.2, -0.2) for z in (0.1, -0.05)]
    points = [(x, y * (1.5 if z < 0.0 else 1.0), z) for x, y, z in points]
    legs = iris(contact=Contact("legs", points_body_m=points, k_n_per_m=4000.0, c_n_per_mps=60.0))
    rocking = np.roots([0.029125, 30.0 * 0.3**2, 2000.0 * 0.3**2])
    assert legs.time_constants_s()["contact"] == pytest.approx(1.0 / np.abs(rocking).max(), rel=1e-12)


def test_a_calibration_mass_fixes_the_motors():
    """Without it, a heavier aircraft has stronger motors."""

    def thrust_constant(mass_kg, calibration_mass_kg):
        plant = np.zeros(1, PLANT)
        iris(mass_kg=mass_kg, propulsion=propulsion(calibration_mass_kg=calibration_mass_kg)).write(plant[0])
        return float(plant["multirotor"]["rotors"]["propulsion"]["kt"][0, 0])

    assert thrust_constant(1.8, 1.5) == thrust_constant(1.5, None)
    assert thrust_constant(1.8, None) == thrust_constant(1.8, 1.8) > thrust_constant(1.8, 1.5)
