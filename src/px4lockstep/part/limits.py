"""Physical limits by unit. They apply to every number of a part, unless its key defines other limits.

A value beyond them is a mistake, such as a wrong unit or a wrong sign of the exponent, and would eventually overflow.
"""

import math
import operator
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, get_args

from pydantic.fields import FieldInfo
from pydantic_core import PydanticKnownError, core_schema

SMALLEST = 1e-12
"""The smallest value of a quantity that must be positive, in any unit."""
LARGEST = {
    "": 1e6,
    "1/s": 1e6,
    "A": 1e5,
    "Ah": 1e5,
    "F": 1e9,
    "N": 1e6,
    "N m": 1e6,
    "N m s": 1e6,
    "N m s²": 1e3,
    "N s²": 1e3,
    "N s²/m": 1e3,
    "N s/m": 1e9,
    "N/m": 1e9,
    "Pa": 1e7,
    "V": 1e4,
    "W": 1e6,
    "gauss": 1e3,
    "kg": 1e4,
    "kg m²": 1e9,
    "kg/m³": 1e3,
    "m": 1e6,
    "m/s": 1e3,
    "m/s²": 1e4,
    "m/s²/√Hz": 1e4,
    "m/s²/√s": 1e4,
    "m²": 1e4,
    "m³/s²": 1e21,
    "rad": 1e3,
    "rad/s": 1e4,
    "rad/s/√Hz": 1e4,
    "rad/s/√s": 1e4,
    "rpm/V": 1e6,
    "s": 1e7,
    "°": 1e5,
    "Ω": 1e6,
}
"""The largest magnitude of a number, by unit."""
WIND_LIMITS: dict[str, Any] = {"ge": -150.0, "le": 150.0}
"""Limits of each wind component [m/s]. The strongest gust measured near the ground is 113 m/s (Barrow Island, 1996)."""
ANY_UNIT: dict[str, Any] = {"ge": -1e19, "le": 1e19}
"""Limits of a number whose unit depends on another key."""
FLOAT32: dict[str, Any] = {"ge": -3.4028235e38, "le": 3.4028235e38}
"""Limits of PX4 parameters."""
INT32: dict[str, Any] = {"ge": -(2**31), "lt": 2**31}
BOUNDS: dict[str, tuple[Any, Any, str]] = {
    "gt": (operator.gt, "greater_than", "exclusiveMinimum"),
    "ge": (operator.ge, "greater_than_equal", "minimum"),
    "lt": (operator.lt, "less_than", "exclusiveMaximum"),
    "le": (operator.le, "less_than_equal", "maximum"),
}
"""The comparison, pydantic error type and JSON schema keyword of each bound."""


@dataclass(frozen=True)
class Limits:
    """Limits of the value of a key; in an array or table, of each number."""

    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None
    allows_nan: bool = False

    @classmethod
    def of(cls, unit: str, given: dict[str, Any], allows_nan: bool = False) -> "Limits":
        """Return the given limits, completed by those of the unit; times have their own lower limit."""
        largest = LARGEST.get(unit)
        if largest is not None and not {"lt", "le"} & given.keys():
            if given.get("gt") == 0.0:
                given = {"ge": SMALLEST}
            given = given | {"le": largest}
        if largest is not None and not {"gt", "ge"} & given.keys() and unit != "s":
            given = given | {"ge": -largest}
        return cls(**given, allows_nan=allows_nan)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        found: dict[str, Any] = handler(schema)
        self._add_to(found)
        return found

    def _add_to(self, schema: Any) -> None:
        """Add the limits to each number in a JSON schema."""
        if isinstance(schema, list):
            for item in schema:
                self._add_to(item)
        elif isinstance(schema, dict):
            if schema.get("type") in ("number", "integer"):
                for name, bound, _ in self.given:
                    schema.setdefault(BOUNDS[name][2], bound)
            for name in ("anyOf", "items", "prefixItems", "additionalProperties"):
                self._add_to(schema.get(name))

    def _checked(self, value: Any) -> Any:
        """Return the value if its numbers are within the limits; nan is, where a key allows it."""
        for number in (value,) if type(value) is float else _numbers(value):
            for name, bound, is_within in self.given:
                if not is_within(number, bound) and not (self.allows_nan and math.isnan(number)):
                    raise PydanticKnownError(BOUNDS[name][1], {name: bound})
        return value

    @cached_property
    def given(self) -> tuple[tuple[str, float, Any], ...]:
        """The finite bounds that are given: name, value and comparison."""
        given = [(name, getattr(self, name), is_within) for name, (is_within, _, _) in BOUNDS.items()]
        return tuple(bound for bound in given if bound[1] is not None and math.isfinite(bound[1]))


def _numbers(value: Any) -> Iterator[float]:
    """Yield the numbers in a value."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _numbers(item)


def move_limits(namespace: dict[str, Any]) -> None:
    """Move the limits of a part, whose class is being created, from its keys to their types.

    So they apply after the validators of the types.
    """
    annotations = _annotations(namespace)
    for key, annotation in annotations.items():
        field = namespace.get(key)
        if isinstance(field, FieldInfo) and field.metadata and isinstance(field.metadata[-1], Limits):
            limits = field.metadata.pop()
            annotations[key] = Annotated[annotation, limits] if has_numbers(annotation) else annotation
    namespace["__annotations__"] = annotations


def _annotations(namespace: dict[str, Any]) -> dict[str, Any]:
    """Return the annotations of a class that is being created; since Python 3.14 they are evaluated on demand."""
    if sys.version_info >= (3, 14) and "__annotations__" not in namespace:
        import annotationlib

        annotate = annotationlib.get_annotate_from_class_namespace(namespace)
        if annotate is not None:
            return annotationlib.call_annotate_function(annotate, annotationlib.Format.FORWARDREF)
    found: dict[str, Any] = namespace.get("__annotations__", {})
    return found


def has_numbers(annotation: Any) -> bool:
    """Return whether values of a type are numbers, or arrays or tables of numbers."""
    return annotation in (int, float) or any(has_numbers(part) for part in get_args(annotation))
