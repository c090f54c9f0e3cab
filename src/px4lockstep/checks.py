"""Checks of user input: an error names the field, the value and what is allowed."""

import math
import numbers
from typing import Any

import numpy as np

from px4lockstep.errors import InputError

Vector3 = tuple[float, float, float]


def check_number(
    field: str, value: Any, minimum: float = -math.inf, maximum: float = math.inf, allowed: str = "a finite number"
) -> float:
    """Return a finite number between two limits, both included, as a float; an error says what is allowed."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(f"{field} = {value!r} is not a number; it must be {allowed}")
    number = float(value)
    if not (math.isfinite(number) and minimum <= number <= maximum):
        raise InputError(f"{field} = {number!r} is out of range; it must be {allowed}")
    return number


def check_positive(field: str, value: Any) -> float:
    """Return a finite number above 0 as a float, or raise `InputError`."""
    # The smallest normal double: below it quotients overflow.
    return check_number(field, value, minimum=2.2250738585072014e-308, allowed="a finite number above 0")


def check_vector(field: str, value: Any) -> Vector3:
    """Return three finite numbers as a tuple, or raise `InputError`."""
    parts = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(parts, list | tuple) or len(parts) != 3:
        raise InputError(f"{field} = {parts!r} is not a vector; it must be three finite numbers")
    allowed = "one of three finite numbers"
    north, east, down = (check_number(f"{field}[{i}]", part, allowed=allowed) for i, part in enumerate(parts))
    return north, east, down
