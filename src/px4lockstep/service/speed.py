"""Timeouts of a vehicle that is served faster than real time.

Clients send setpoints and heartbeats in wall-clock time, but the vehicle's timeouts are in simulated time. PX4's
simulator multiplies these timeouts by its speed factor, and so does a served vehicle.
"""

from px4lockstep.flights.parameters import flown_parameters
from px4lockstep.px4.parameters import known_parameters
from px4lockstep.spec.spec import Spec

TIMEOUTS = ("COM_OF_LOSS_T", "COM_RC_LOSS_T", "COM_DISARM_PRFLT")
"""PX4's also has COM_DL_LOSS_T, the loss of the ground station, to which a served vehicle does not react."""
MAX_FACTOR = 100.0
"""Factor of a vehicle without a pace."""
