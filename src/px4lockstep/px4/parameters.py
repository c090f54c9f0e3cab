"""The parameters of PX4's multicopter stack: names, types, defaults and limits, and parameter sets with overrides.

`parameters.json` next to this file holds PX4's definitions, with two gaps that are filled here: it has the geometry of
rotor 0 only, which PX4 defines for twelve rotors, and it lacks the parameters in `ADDED`. The descriptions in
`parameter_descriptions.json` are our own.

PX4 stores a parameter as an int32 or a float32 and computes with that, so floats are rounded to float32 here, too: 0.15
becomes 0.15000000596046448.
"""

import functools
import json
import math
import numbers
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal

from px4lockstep.errors import InputError, suggestion

ROTORS = 12
"""Number of rotors in PX4's control allocation: CA_ROTOR0_PX to CA_ROTOR11_PX."""
Kind = Literal["int32", "float"]


@dataclass(frozen=True)
class Parameter:
    """A parameter as PX4 defines it; a missing limit is None.

    `default` is the number in PX4's sources; `resolve` returns it rounded to float32, as PX4 uses it.
    """

    name: str
    kind: Kind
    default: float | int
    minimum: float | int | None = None
    maximum: float | int | None = None
    units: str = ""

    @property
    def allowed(self) -> str:
        """Description of the allowed values."""
        words = "a whole number" if self.kind == "int32" else "a number"
        low, high = self.minimum, self.maximum
        if low is not None and high is not None:
            words += f" from {low} to {high}"
        elif low is not None:
            words += f", at least {low}"
        elif high is not None:
            words += f", at most {high}"
        return f"{words} [{self.units}]" if self.units else words


ADDED = (
    # Time from arming to takeoff; the default is that of the recorded flights of real PX4.
    Parameter("COM_SPOOLUP_TIME", "float", 1.0, 0.0, 30.0, "s"),
    Parameter("COM_OBL_RC_ACT", "int32", 0, 0, 7),
    Parameter("COM_DL_LOSS_T", "int32", 10, 5, 300, "s"),
    Parameter("COM_DLL_EXCEPT", "int32", 0, 0, 31),
    Parameter("COM_RC_LOSS_T", "float", 0.5, 0.0, 35.0, "s"),
    Parameter("COM_FAIL_ACT_T", "float", 5.0, 0.0, 25.0, "s"),
    Parameter("COM_RCL_EXCEPT", "int32", 0, 0, 31),
    Parameter("FLW_TGT_ALT_M", "int32", 0, 0, 2),
    Parameter("FLW_TGT_DST", "float", 8.0, 1.0, None, "m"),
    Parameter("FLW_TGT_FA", "float", 180.0, -180.0, 180.0),
    Parameter("FLW_TGT_HT", "float", 8.0, 8.0, None, "m"),
    Parameter("FLW_TGT_MAX_VEL", "float", 5.0, 0.0, 20.0, "m/s"),
    Parameter("FLW_TGT_RS", "float", 0.1, 0.0, 1.0),
    Parameter("MAN_DEADZONE", "float", 0.1, 0.0, 1.0),
    Parameter("MAN_OVERRIDE_SPD", "float", 1.0, -1.0, 10.0, "1/s"),
)

SITL_DEFAULTS: Mapping[str, float | int] = MappingProxyType(
    {"COM_LOW_BAT_ACT": 3, "NAV_ACC_RAD": 2.0, "RTL_DESCEND_ALT": 10.0, "RTL_RETURN_ALT": 30.0}
)
"""Values that PX4's start scripts for a simulated multicopter (rcS, rc.mc_defaults; v1.17) set instead of the defaults
in its sources, as far as the library's modules or the built-in autopilot use the parameters."""


def as_float32(value: float) -> float:
    """Return the nearest float32, with which PX4 computes; raise `OverflowError` if the value is too large."""
    rounded: float = struct.unpack("<f", struct.pack("<f", float(value)))[0]
    return rounded


@functools.cache
def known_parameters() -> Mapping[str, Parameter]:
    """Return all parameters by name, in the order of PX4's modules."""
    text = resources.files("px4lockstep.px4").joinpath("parameters.json").read_text("utf-8")
    table: dict[str, Parameter] = {}
    for name, entry in json.loads(text).items():
        kind: Kind = "int32" if entry["type"] == "Int32" else "float"
        for i in range(ROTORS if name.startswith("CA_ROTOR0_") else 1):
            own = name.replace("ROTOR0", f"ROTOR{i}")
            limits = (entry.get("min"), entry.get("max"))
            table[own] = Parameter(own, kind, entry["default"], *limits, entry.get("units", ""))
    table.update((parameter.name, parameter) for parameter in ADDED)
    return MappingProxyType(table)


@functools.cache
def _descriptions() -> Mapping[str, str]:
    text = resources.files("px4lockstep.px4").joinpath("parameter_descriptions.json").read_text("utf-8")
    return MappingProxyType(json.loads(text))


def description_of(name: str) -> str:
    """Return a short description of a known parameter, in our own words; all rotors share those of rotor 0."""
    return _descriptions()[re.sub(r"^CA_ROTOR\d+_", "CA_ROTOR0_", name)]


def check_known(name: str, value: float | int) -> None:
    """Check the value of a parameter if it is known here; PX4 may have others."""
    if name in known_parameters():
        resolve({name: value})


def resolve(overrides: Mapping[str, float | int]) -> dict[str, float | int]:
    """Return the values of all parameters: the defaults with overrides.

    An int32 is returned as an int, a float as a float rounded to float32.

    Args:
        overrides: Values by name. An integral float, such as 3.0, is accepted for an int32.

    Raises:
        InputError: If a name is unknown, or a value has the wrong type or is out of range; one error lists all of them.
    """
    known = known_parameters()
    report: list[str] = []
    values = dict(_defaults())
    for name, value in overrides.items():
        parameter = known.get(name)
        if parameter is None:
            hint = suggestion(name, known) or "; remove it, or fly real PX4"
            report.append(f"parameter {name!r} is unknown to the built-in autopilot{hint}")
        elif (wrong := problem(parameter, value)) is not None:
            report.append(f"parameter {name} = {value!r} {wrong}; it must be {parameter.allowed}")
        else:
            values[name] = stored(parameter, value)
    if report:
        raise InputError("\n".join(report))
    return values


@functools.cache
def _defaults() -> Mapping[str, float | int]:
    """Return the defaults of all parameters."""
    known = known_parameters()
    return MappingProxyType({name: stored(parameter, parameter.default) for name, parameter in known.items()})


def stored(parameter: Parameter, value: float | int) -> float | int:
    """Return a value as PX4 stores it."""
    return int(value) if parameter.kind == "int32" else as_float32(value)


def problem(parameter: Parameter, value: Any) -> str | None:
    """Return what is wrong with a value, or None if it is valid."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return "is not a number"
    try:
        number = float(value)
        as_float32(number)
    except OverflowError:
        return "is too large"
    if not math.isfinite(number):
        return "is not finite"
    if parameter.kind == "int32":
        if not number.is_integer():
            return "is not a whole number"
        if not -(2**31) <= number < 2**31:
            return "is too large"
    low = -math.inf if parameter.minimum is None else parameter.minimum
    high = math.inf if parameter.maximum is None else parameter.maximum
    return None if low <= number <= high else "is out of range"
