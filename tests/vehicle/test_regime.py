"""The regime of the aircraft: it changes exactly where another law becomes active."""

import pytest
from fleet import iris, octa, propulsion
from plant_probe import Probe

from px4lockstep.plant.layout import MAX_MOTORS, MAX_POINTS, STATE
from px4lockstep.vehicle.actuators import ActuatorDynamics
from px4lockstep.vehicle.contact import POINT_BITS, Contact
from px4lockstep.vehicle.regime import MOTOR_BITS, MOTOR_RATE_BIT, RANGE_BIT, SERVO_RATE_BIT

FEET = tuple((x, y, 0.1) for x in (0.15, -0.15) for y in (0.15, -0.15))
LEGS = Contact("legs", points_body_m=FEET)
SECOND_ORDER = ActuatorDynamics("second_order", omega_n=60.0, rate_limit=5.0)


def speed_at(probe, rotor, current_a):
    """Return the speed of a rotor at which its motor draws a current, others unchanged."""
    low, high = 0.0, 2_000.0
    for _ in range(60):
        probe["rotor"][rotor] = 0.5 * (low + high)
        if probe.outputs()["motor_current_a"][rotor] > current_a:
            low = probe["rotor"][rotor]
        else:
            high = probe["rotor"][rotor]
    return float(probe["rotor"][rotor])


@pytest.mark.parametrize("make", [iris, octa])
def test_each_motor_has_four_regimes(make):
    """At its limit, driving, without torque, without current; no two motors share bits."""
    aircraft = make(propulsion=propulsion(max_current_a=20.0))
    i0 = aircraft.propulsion.motor.i0_a
    found = []
    for rotor in range(len(aircraft.rotors)):
        probe = Probe(aircraft, motors=0.8)
        probe["rotor"] = speed_at(probe, rotor, 5.0)
        usual = probe.regime()
        numbers = []
        for current in (20.0 - 1e-6, i0, 1e-9):
            speed = speed_at(probe, rotor, current)
            for change in (-1e-3, 1e-3):
                probe["rotor"][rotor] = speed + change
                numbers.append(probe.regime())
        limit, driving, still, idle, drawing, off = numbers
        assert driving == still == usual
        assert idle == drawing
        assert len({limit, usual, idle, off}) == 4
        found += [limit, idle, off]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("command", [0.0, 0.01])
def test_a_motor_without_duty_has_its_own_regime(command):
    """Also below the deadzone of its ESC: a motor that is about to spin up is about to pass two kinks."""
    driving = Probe(iris(), motors=0.5).regime()
    one, all_off = Probe(iris(), motors=0.5), Probe(iris(), motors=command)
    one.motors[2] = command
    assert len({driving, one.regime(), all_off.regime()}) == 3


def test_flat_ground_has_three_regimes():
    """In the air, sinking in, and rising; sliding speed has no branches."""
    air, sinking, rising, sliding = (
        Probe(iris(), pos=(0.0, 0.0, z), vel=(north, 0.0, down)).regime()
        for z, north, down in ((-0.01, 0.0, 1.0), (0.01, 0.0, 1.0), (0.01, 0.0, -1.0), (0.01, 9.0, 1.0))
    )
    assert len({air, sinking, rising}) == 3
    assert sliding == sinking


def test_each_foot_has_its_own_regimes():
    """Roll and pitch lift all feet but one, which sinks or rises, sticks or slides."""
    numbers = set()
    for x, y in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        tilt = (0.999, 0.03 * y, -0.03 * x, 0.0)
        for north in (0.0, 1.0):
            for down in (-0.5, 0.5):
                probe = Probe(iris(contact=LEGS), pos=(0.0, 0.0, -0.1), att=tilt, vel=(north, 0.0, down))
                numbers.add(probe.regime())
    assert len(numbers) == 16
    assert Probe(iris(contact=LEGS), pos=(0.0, 0.0, -0.2)).regime() not in numbers


def test_an_actuator_at_its_rate_limit_sets_its_bit():
    """One bit per motor."""
    probe = Probe(iris(motor_actuator=SECOND_ORDER), act=0.5)
    within = probe.regime()
    probe["actdot"][2] = 4.9
    assert probe.regime() == within
    probe["actdot"][2] = -5.0
    one = probe.regime()
    probe["actdot"][0] = 5.0
    assert len({within, one, probe.regime()}) == 3


def test_an_actuator_out_of_range_sets_a_bit():
    """The projection is about to limit it and to set its rate to 0: a jump."""
    probe = Probe(iris(motor_actuator=SECOND_ORDER), act=1.0)
    within = probe.regime()
    probe["act"][1] = 1.0 + 1e-9
    assert probe.regime() != within


def test_every_regime_has_its_own_bit_within_an_int64():
    """A bit beyond the 62nd would be the sign or be lost, and a kink would be missed."""
    motors = [range(MOTOR_BITS * i, MOTOR_BITS * (i + 1)) for i in range(MAX_MOTORS)]
    bits = [bit for own in motors for bit in own]
    bits += [*range(MOTOR_RATE_BIT, MOTOR_RATE_BIT + MAX_MOTORS), SERVO_RATE_BIT, RANGE_BIT]
    assert len(set(bits)) == len(bits)
    assert STATE["regime"] == STATE["contact_regime"] == "i8"
    assert max(bits) <= 62
    assert POINT_BITS * MAX_POINTS <= 62


def test_all_feet_of_the_largest_gear_have_separate_bits():
    """The bits of the last foot do not overlap with others."""
    feet = tuple((0.1 * i, 0.0, 0.1) for i in range(MAX_POINTS))
    numbers = set()
    for i in range(MAX_POINTS):
        deep = tuple((x, y, z if k == i else 0.0) for k, (x, y, z) in enumerate(feet))
        numbers.add(Probe(iris(contact=Contact("legs", points_body_m=deep)), pos=(0.0, 0.0, -0.05)).regime())
    assert len(numbers) == MAX_POINTS
