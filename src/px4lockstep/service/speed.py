"""Timeouts of a vehicle that is served faster than real time.

Clients send setpoints and heartbeats in wall-clock time, but the vehicle's timeouts are in simulated time. PX4's
simulator multiplies these timeouts by its speed factor, and so does a served vehicle.
"""

from px4lockstep.flights.parameters import parameters_of
from px4lockstep.px4.parameters import known_parameters
from px4lockstep.spec.spec import Spec

TIMEOUTS = ("COM_OF_LOSS_T", "COM_DL_LOSS_T", "COM_RC_LOSS_T", "COM_DISARM_PRFLT")
MAX_FACTOR = 100.0
"""Factor of a vehicle without a pace."""


def timeouts_at(spec: Spec, speed: float) -> dict[str, float | int]:
    """Return the timeouts for a speed, within the parameters' limits; those of the spec at real time or slower."""
    flown, known = parameters_of(spec), known_parameters()
    factor = min(max(speed, 1.0), MAX_FACTOR)
    scaled = {name: flown[name] * factor for name in TIMEOUTS if flown.get(name, 0.0) > 0.0}
    limited = {name: float(min(value, known[name].maximum or value)) for name, value in scaled.items()}
    return {name: value if known[name].kind == "float" else int(value) for name, value in limited.items()}


def speed_overrides(spec: Spec, speed: float) -> dict[str, float | int]:
    """Return the timeouts for a speed as overrides of a spec; none at real time or slower."""
    found = timeouts_at(spec, speed) if speed > 1.0 else {}
    return {f"autopilot.params.{name}": value for name, value in found.items()}
