"""Parameters of a vehicle's `.params` file: which of them an autopilot takes, and a report of the others.

A vehicle has 900 parameters and more. Many describe its hardware, or modules that do not run here. Those that an
autopilot can't take have no effect, which is not an error; one warning names them.
"""

from collections.abc import Iterable, Mapping
from itertools import islice

Params = Mapping[str, float | int]

GEOMETRY = ("CA_AIRFRAME", "CA_ROTOR")
"""First letters of the parameters that describe the rotors. The aircraft has its own."""
SHOWN = 4


def without_geometry(params: Params) -> dict[str, float | int]:
    """Return parameters without those that describe the rotors."""
    return {name: value for name, value in params.items() if not name.startswith(GEOMETRY)}


def no_effect(names: Iterable[str], given: int, autopilot: str) -> tuple[str, ...]:
    """Return the warning about parameters of a file that have no effect; none if all have one."""
    ignored = list(names)
    if not ignored:
        return ()
    shown = ", ".join(islice(ignored, SHOWN)) + (", …" if len(ignored) > SHOWN else "")
    has = "has" if len(ignored) == 1 else "have"
    return (f"autopilot.params_file: {len(ignored)} of {given} parameters {has} no effect on {autopilot}: {shown}",)
