"""Aircraft and their parts as a user gives them: layout of the state, and what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
from plant_probe import Probe, evaluate

from px4lockstep.errors import InputError
from px4lockstep.plant.layout import MAX_STATES
from px4lockstep.vehicle.dispatch import PLANT
from px4lockstep.vehicle.fleet import diagonal, iris, octa, twin
from px4lockstep.vehicle.parts import Actuator, Battery, Contact, PowerBus, Propulsion, Rotor

HERE = (0.0, 0.0, 0.0)
ONE_BUS = (PowerBus((0,), (0, 1, 2, 3)),)

BAD_PARTS = {
    "axis length": (lambda: Rotor(HERE, 1, (0.0, 0.0, 1.1)), r"rotor_axis_body_m = .* has length 1\.1; it must be 1"),
    "axis zero": (lambda: Rotor(HERE, 1, HERE), r"has length 0"),
    "axis not finite": (lambda: Rotor(HERE, 1, (0.0, math.nan, 1.0)), r"rotor_axis_body_m\[1\] = nan"),
    "position": (lambda: Rotor((0.0, math.inf, 0.0), 1), r"rotor_pos_body_m\[1\] = inf"),
    "direction": (lambda: Rotor(HERE, 2), r"rotor_dir = 2 must be \+1 or -1"),
    "floor above the curve": (
        lambda: Battery(min_voltage_v=14.0),
        r"min_voltage_v = 14\.0 is above the full",
    ),
    "mass of air": (lambda: Propulsion(rho_nom=0.0), r"propulsion\.rho_nom = 0\.0 is out of range"),
    "resistance": (lambda: Propulsion(r_ohm=-0.1), r"motor\.r_ohm = -0\.1"),
    "efficiency": (lambda: Propulsion(eta=1.2), r"esc\.eta = 1\.2 .* above 0 and at most 1"),
    "efficiency zero": (lambda: Propulsion(eta=0.0), r"esc\.eta = 0\.0"),
    "deadzone": (lambda: Propulsion(deadzone=1.5), r"esc\.deadzone = 1\.5 .* between 0 and 1"),
    "no-load current": (lambda: Propulsion(i0_a=-1.0), r"motor\.i0_a = -1\.0"),
    "inflow": (lambda: Propulsion(inflow_kt=math.nan), r"inflow_kt = nan"),
    "actuator kind": (lambda: Actuator("third_order"), r"'third_order' is unknown; allowed are direct, first_order"),
    "time constant": (lambda: Actuator("first_order", tau_s=0.0), r"tau_s = 0\.0"),
    "damping": (lambda: Actuator("second_order", zeta=-0.1), r"zeta = -0\.1"),
    "rate limit": (lambda: Actuator("second_order", rate_limit=0.0), r"rate_limit = 0\.0 must be above 0, or inf"),
    "rate limit NaN": (lambda: Actuator("second_order", rate_limit=math.nan), r"rate_limit = nan"),
    "battery model": (lambda: Battery("lead"), r"'lead' is unknown; allowed are ideal, thevenin"),
    "capacity": (lambda: Battery(capacity_ah=0.0), r"capacity_ah = 0\.0"),
    "charge": (lambda: Battery(soc0=1.01), r"soc0 = 1\.01 .* between 0 and 1"),
    "thresholds": (lambda: Battery(low_thr=0.05, crit_thr=0.1), r"emerg_thr = 0\.05, crit_thr = 0\.1, low_thr = 0\.05"),
    "curve lengths": (lambda: Battery(ocv_v=(11.0,)), r"ocv_soc has 2 points and ocv_v 1; they must be as many"),
    "curve empty": (lambda: Battery(ocv_soc=(), ocv_v=()), r"ocv_soc has 0 points"),
    "curve too long": (
        lambda: Battery(ocv_soc=tuple(i / 17 for i in range(17)), ocv_v=tuple(range(10, 27))),
        r"ocv_soc has 17 points .* 1 to 16",
    ),
    "curve falls": (lambda: Battery(ocv_v=(12.6, 10.8)), r"ocv_v = \[12\.6, 10\.8\] must rise"),
    "curve stands": (lambda: Battery(ocv_soc=(0.5, 0.5)), r"ocv_soc = \[0\.5, 0\.5\] must rise"),
    "curve at 0": (lambda: Battery(ocv_v=(0.0, 0.0)), r"ocv_v = \[0\.0, 0\.0\] must end above 0"),
    "polarization": (lambda: Battery(v1_0=math.inf), r"v1_0 = inf"),
    "avionics": (lambda: PowerBus((0,), (0,), -5.0), r"avionics_load_w = -5\.0"),
    "contact kind": (lambda: Contact("sand"), r"'sand' is unknown; allowed are no_contact, flat_ground, legs"),
    "stiffness": (lambda: Contact(k_n_per_m=0.0), r"k_n_per_m = 0\.0"),
    "friction": (lambda: Contact(mu=-0.1), r"contact\.mu = -0\.1"),
    "static friction": (lambda: Contact(mu_static=0.5), r"mu_static = 0\.5 .* at least mu = 0\.8"),
    "no points": (lambda: Contact("legs"), r"has 0 points; legs need 1 to 8"),
    "nine points": (lambda: Contact("legs", points_body_m=(HERE,) * 9), r"has 9 points; legs need 1 to 8"),
    "point": (lambda: Contact("legs", points_body_m=((0.0, 0.0, math.nan),)), r"points_body_m\[2\] = nan"),
}

BAD_AIRCRAFT = {
    "mass": ({"mass_kg": 0.0}, r"mass_kg = 0\.0"),
    "mass text": ({"mass_kg": "heavy"}, r"mass_kg = 'heavy' is not a number"),
    "inertia shape": ({"inertia_kgm2": ((1.0, 0.0), (0.0, 1.0))}, r"must be 3 x 3 finite numbers"),
    "inertia skew": (
        {"inertia_kgm2": ((1.0, 0.1, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))},
        r"inertia_kgm2 = .* must be symmetric",
    ),
    "inertia negative": ({"inertia_kgm2": diagonal(1.0, 1.0, -0.1)}, r"not positive definite: .* moments are \[-0\.1"),
    "inertia flat": ({"inertia_kgm2": diagonal(1.0, 1.0, 0.0)}, r"not positive definite"),
    "no rotor": ({"rotors": (), "buses": (PowerBus((0,), ()),)}, r"has 0 rotors; allowed are 1 to 12"),
    "too many rotors": ({"rotors": (Rotor(HERE, 1),) * 13}, r"has 13 rotors; allowed are 1 to 12"),
    "no battery": ({"batteries": ()}, r"has 0 batteries; allowed are 1 to 4"),
    "too many batteries": ({"batteries": (Battery(),) * 5}, r"has 5 batteries; allowed are 1 to 4"),
    "too many buses": ({"buses": ONE_BUS * 5}, r"has 5 buses; allowed are 1 to 4"),
    "drag kind": ({"drag_kind": "cubic"}, r"'cubic' is unknown; allowed are linear, body_quadratic"),
    "drag": ({"linear_drag": -1.0}, r"linear_drag = -1\.0"),
    "drag area": ({"drag_area_body_m2": (0.1, -0.1, 0.1)}, r"drag_area_body_m2\[1\] = -0\.1"),
    "damping": ({"angular_damping": (0.0, 0.0, -0.1)}, r"angular_damping\[2\] = -0\.1"),
    "share mode": ({"share_mode": "random"}, r"share_mode = 'random' is unknown; allowed are inv_r0, equal"),
    "channel": (
        {"rotors": (Rotor(HERE, 1, channel=13),)},
        r"motors channel 13 is not one; allowed are the int",
    ),
    "channel twice": (
        {"rotors": (Rotor(HERE, 1, channel=2), Rotor(HERE, 1))},
        r"motors channels \[2, 2\] must be different",
    ),
    "channel that is no integer": ({"rotors": (Rotor(HERE, 1, channel=2.7),)}, r"motors channel 2\.7 is not one"),
    "servo channel": ({"servo_channels": (9,)}, r"servos channel 9 is not one; allowed are the integers 1 to 8"),
    "servo twice": ({"servo_channels": (1, 1)}, r"servos channels \[1, 1\] must be different"),
    "motor nowhere": ({"buses": (PowerBus((0,), (0, 1, 2)),)}, r"motor 4 is on no bus; every motor must be on exactly"),
    "motor twice": (
        {"batteries": (Battery(),) * 2, "buses": (PowerBus((0,), (0, 1, 2, 3)), PowerBus((1,), (3,)))},
        r"motor 4 is on buses \[0, 1\]",
    ),
    "unknown motor": ({"buses": (PowerBus((0,), (0, 1, 2, 3, 4)),)}, r"rotors names motor 5, which is not there"),
    "battery named twice": ({"buses": (PowerBus((0, 0), (0, 1, 2, 3)),)}, r"names battery 1, .* or is named twice"),
    "battery nowhere": ({"batteries": (Battery(),) * 2, "buses": ONE_BUS}, r"battery 2 is on no bus"),
    "bus without battery": ({"buses": (*ONE_BUS, PowerBus((), ()))}, r"buses\[1\] has no battery"),
    "mixed batteries": (
        {"batteries": (Battery("ideal"), Battery())},
        r"batteries of models \['ideal', 'thevenin'\]; on one bus they must be the same",
    ),
    "ideal voltages": (
        {"batteries": (Battery("ideal"), Battery("ideal", ocv_v=(10.0, 12.0)))},
        r"ideal batteries of different voltages",
    ),
    "attitude norm": ({"q_bn": (1.0, 0.1, 0.0, 0.0)}, r"q_bn = .* has norm 1\.00498756; it must be 1 within 1e-6"),
    "attitude length": ({"q_bn": (1.0, 0.0, 0.0)}, r"q_bn = .* must be four finite numbers"),
    "position": ({"pos_ned": (0.0, math.nan, 0.0)}, r"x0\.pos_ned\[1\] = nan"),
    "velocity": ({"vel_ned": (0.0, 0.0)}, r"x0\.vel_ned = .* is not a vector"),
    "height": ({"home_alt_msl_m": math.inf}, r"alt_msl_m = inf"),
}


@pytest.mark.parametrize(("make", "message"), BAD_PARTS.values(), ids=BAD_PARTS)
def test_a_bad_part_is_refused_with_field_and_value(make, message):
    """`InputError`, before anything flies."""
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(("changes", "message"), BAD_AIRCRAFT.values(), ids=BAD_AIRCRAFT)
def test_parts_that_do_not_fit_together_are_refused(changes, message):
    """`InputError`, with what is allowed."""
    with pytest.raises(InputError, match=message):
        iris(**changes)


def test_the_state_holds_only_what_the_aircraft_has():
    """Direct actuators, ideal or not: 13 + rotors + 2 per battery; a lag adds 1 per channel, a second order 2."""
    assert dict(iris().groups) == {
        "pos": 3, "vel": 3, "att": 4, "omega": 3, "act": 0, "actdot": 0, "rotor": 4, "soc": 1, "v1": 1
    }  # fmt: skip
    assert len(octa().initial_state()) == 13 + 8 + 2
    assert len(twin().initial_state()) == 13 + 2 + 2
    servos = {"servo_channels": (1, 2, 3)}
    lagging = iris(motor_actuator=Actuator("first_order"), servo_actuator=Actuator("second_order"), **servos)
    assert len(lagging.initial_state()) == 13 + 4 + 3 + 3 + 4 + 2


def test_the_largest_aircraft_fits():
    """12 rotors, 8 servos, all of second order, 4 batteries: 73 of the 80 places, finite everywhere."""
    second = Actuator("second_order")
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


def test_the_initial_state_is_what_was_given():
    """Position, velocity, attitude normalized, rates, charge and polarization; actuators and rotors at rest."""
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
    rotor = Rotor(HERE, 1, (0.0, 0.6, 0.8 + 5e-7))
    assert np.linalg.norm(rotor.axis_body) == pytest.approx(1.0, abs=2e-16)


def test_a_batch_of_aircraft_is_one_compilation():
    """From 1 to 12 rotors, 1 to 4 batteries and buses, all kinds: the driver of these tests has one compiled form."""
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


def test_time_constants_name_what_a_step_should_be_short_against():
    """By hand: τ of a lag, 1 / ωn, J / (b + Kt Ke / R + 2 kQ ρ ω), the faster root of m s² + c s + k for contact."""
    aircraft = iris(
        motor_actuator=Actuator("first_order", tau_s=0.03), servo_actuator=Actuator("second_order", omega_n=80.0)
    )
    constants = aircraft.time_constants_s()
    ke = 60.0 / (2.0 * np.pi * 920.0)
    assert constants["motor actuators"] == 0.03
    assert constants["servo actuators"] == math.inf  # none is mapped
    thrust = 1.5 * 9.80665 / 4
    kt = aircraft.propulsion.thrust_constant(thrust)
    propeller = 2.0 * 0.05 * kt * 1.225 * np.sqrt(thrust / (kt * 1.225))
    assert constants["motors"] == pytest.approx(1.2e-5 / (2e-6 + ke * ke / 0.25 + propeller), rel=1e-12)
    assert constants["motors"] == pytest.approx(5.56e-3, rel=0.01)
    assert constants["contact"] == pytest.approx(-1.0 / np.roots([1.5, 600.0, 5000.0]).min(), rel=1e-12)
    assert iris(contact=Contact("no_contact")).time_constants_s()["contact"] == math.inf


def test_motors_that_are_calibrated_to_another_mass_stay_when_the_aircraft_is_heavier():
    """Left out, a heavier aircraft has stronger motors."""

    def thrust_constant(mass_kg, calibration_mass_kg):
        propulsion = Propulsion(calibration_mass_kg=calibration_mass_kg)
        plant = np.zeros(1, PLANT)
        replace(iris(), mass_kg=mass_kg, propulsion=propulsion).write(plant[0])
        return float(plant["multirotor"]["propulsion"]["kt"][0])

    assert thrust_constant(1.8, 1.5) == thrust_constant(1.5, None)
    assert thrust_constant(1.8, None) == thrust_constant(1.8, 1.8) > thrust_constant(1.8, 1.5)
    with pytest.raises(InputError, match=r"airframe\.propulsion\.calibration_mass_kg = 0"):
        Propulsion(calibration_mass_kg=0.0)
