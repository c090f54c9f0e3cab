"""The record of a plant's inputs."""

from px4lockstep.jit import record
from px4lockstep.plant.faults import FAULTS
from px4lockstep.plant.layout import COMMAND, MAX_MOTORS

INPUT = record(
    [
        ("command", COMMAND),
        ("wind_ned", "f8", 3),
        ("faults", FAULTS),
        ("rotor_duty", "f8", MAX_MOTORS),  # duty that the ESCs of direct motors apply, sampled at the autopilot tick
    ]
)
"""The inputs of a plant, held from one event boundary to the next."""
