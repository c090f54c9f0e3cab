"""The record of what acts on a plant."""

from px4lockstep.jit import record
from px4lockstep.plant.faults import FAULTS
from px4lockstep.plant.layout import COMMAND, MAX_MOTORS

INPUT = record(
    [
        ("command", COMMAND),
        ("wind_ned", "f8", 3),
        ("faults", FAULTS),
        ("rotor_duty", "f8", MAX_MOTORS),  # what the ESCs of direct motors apply, snapped at the autopilot tick
    ]
)
"""What acts on a plant, held from one boundary to the next."""
