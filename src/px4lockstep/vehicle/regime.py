"""The regime of the aircraft: which branch of each piecewise law holds, as the bits of one number.

Where it changes along a flight the derivative has a kink or jumps. In flight, with all motors driving their rotors, it
is 0, and costs nothing; who leaves the usual branch writes it down.

Without bits are the corners of a battery's table of voltages, which are passed in seconds, not in a step; a bus at its
lowest voltage, where a flight ends anyway; and kinks that are too small to be found in any flight: the cap of a leg's
friction, a rotor at rest, and the lowest tip speed of a propeller.
"""

from px4lockstep.plant.layout import MAX_MOTORS, MAX_POINTS

MOTOR_BITS = 2  # of each rotor's motor: `propulsion.motor_regime`
POINT_BITS = 3  # of flat ground, or of each leg: `contact.point_regime`
CONTACT_BIT = MOTOR_BITS * MAX_MOTORS
MOTOR_RATE_BIT = CONTACT_BIT + POINT_BITS * MAX_POINTS  # of each rotor's actuator: it is at its rate limit
SERVO_RATE_BIT = MOTOR_RATE_BIT + MAX_MOTORS  # of all servos, which nothing depends on
RANGE_BIT = SERVO_RATE_BIT + 1  # an actuator is beyond its range, where the projection puts it back to
