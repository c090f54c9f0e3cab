"""The regime of the aircraft: the active branch of each piecewise law, as the bits of two numbers.

Where the regime changes during a flight, the derivative has a kink or a jump. `contact_regime` is defined in `contact`;
this module assigns the bits of `regime`. In flight with all motors driving their rotors, both are 0 and cost nothing:
code that takes an unusual branch sets its bit.

Some kinks have no bit: the corners of a battery's voltage curve, which take seconds to pass, not one step; a bus at its
minimum voltage, where a flight ends anyway; and kinks too small to detect in any flight, namely the limit of a leg's
friction, a rotor at rest, and the minimum tip speed of a propeller.
"""

from px4lockstep.plant.layout import MAX_MOTORS, REGIME_BITS

MOTOR_BITS = 2  # per motor: `propulsion.motor_regime`
MOTOR_RATE_BIT = MOTOR_BITS * MAX_MOTORS  # one per motor actuator: at its rate limit
SERVO_RATE_BIT = MOTOR_RATE_BIT + MAX_MOTORS  # one for all servos, because no other state depends on them
RANGE_BIT = SERVO_RATE_BIT + 1  # an actuator is outside its range, until the projection limits it

assert RANGE_BIT < REGIME_BITS, "the regime has more bits than one number holds"
