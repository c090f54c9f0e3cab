"""The regime of the aircraft: which branch of each piecewise law holds, as bits of two numbers.

Where one of them changes along a flight, the derivative has a kink or jumps. `contact_regime` belongs to `contact`,
which divides its bits itself; the bits of `regime` are divided here. In flight, with all motors driving their rotors,
both are 0 and cost nothing: only code that takes an unusual branch sets a bit.

Without bits are the corners of a battery's table of voltages, which are passed in seconds, not in a step; a bus at its
lowest voltage, where a flight ends anyway; and kinks that are too small to be found in any flight: the cap of a leg's
friction, a rotor at rest, and the lowest tip speed of a propeller.
"""

from px4lockstep.plant.layout import MAX_MOTORS, REGIME_BITS

MOTOR_BITS = 2  # of each rotor's motor: `propulsion.motor_regime`
MOTOR_RATE_BIT = MOTOR_BITS * MAX_MOTORS  # of each rotor's actuator: it is at its rate limit
SERVO_RATE_BIT = MOTOR_RATE_BIT + MAX_MOTORS  # of all servos, which nothing depends on
RANGE_BIT = SERVO_RATE_BIT + 1  # an actuator is beyond its range, where the projection puts it back to

assert RANGE_BIT < REGIME_BITS, "the regime needs another number"
