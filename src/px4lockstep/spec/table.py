"""What the tables of an aircraft file are made of: the base class, the types of values, a key with its unit.

Types are strict: a string is no number, true is no number, 1 will do for 1.0 and 1.0 not for 1. A key that is not known
is an error, and so are nan and inf, unless a key says otherwise.
"""

import sys
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from px4lockstep.errors import TimeError
from px4lockstep.timebase import period_to_us, seconds_to_us

KEY = "{key}"
"""Stands for the dotted key in the text of an error, until the report knows it."""


class Table(BaseModel):
    """A table of the file."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    aliases: ClassVar[dict[str, str]] = {}
    """Other spellings of keys."""
    forms: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Keys that say the same in different ways; what a later file gives replaces what an earlier one gave otherwise."""
    name_key: ClassVar[str | None] = None
    """The key that a plain string in place of the table stands for."""


def entry(default: Any = ..., doc: str = "", unit: str = "", **limits: Any) -> Any:
    """Return a key of a table: its default (`...` if it must be given), what it is, its unit, its limits."""
    description = f"{doc} [{unit}]" if unit else doc
    extra = ({"unit": unit} if unit else {}) | limits.pop("extra", {})
    return Field(default, description=description, json_schema_extra=extra, **limits)


def wrong(text: str) -> PydanticCustomError:
    """Return an error whose text is complete but for the key."""
    return PydanticCustomError("wrong", "{text}", {"text": text})


def _whole_us(value: float) -> float:
    try:
        seconds_to_us(value, KEY)
    except TimeError as error:
        raise wrong(str(error)) from None
    return value


def _whole_period_us(value: float) -> float:
    try:
        period_to_us(value, KEY)
    except TimeError as error:
        raise wrong(str(error)) from None
    return value


def _three(value: Any) -> Any:
    if not isinstance(value, tuple) or len(value) != 3:
        raise wrong(f"{KEY} = {show(value)} is not a vector; it must be three numbers")
    return value


def _four(value: Any) -> Any:
    if not isinstance(value, tuple) or len(value) != 4:
        raise wrong(f"{KEY} = {show(value)} is not a quaternion; it must be four numbers (w, x, y, z)")
    return value


def _rows(value: Any) -> Any:
    """Return nine numbers, or three rows of three, as three rows."""
    if isinstance(value, tuple) and len(value) == 9:
        return value[0:3], value[3:6], value[6:9]
    if isinstance(value, tuple) and len(value) == 3 and all(isinstance(r, tuple) and len(r) == 3 for r in value):
        return value
    raise wrong(f"{KEY} = {show(value)} is not a matrix; it must be three rows of three numbers, or nine numbers")


def _spread(value: Any) -> Any:
    """Return a number as one for each axis."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return value
    if not 0.0 <= value <= sys.float_info.max:
        raise wrong(f"{KEY} = {show(value)} is out of range; it must be a finite number of 0 or more, or three")
    return value, value, value


def _number(value: Any) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not abs(value) <= sys.float_info.max:  # neither nan nor an integer beyond any float
        raise wrong(f"{KEY} = {show(value)} is not allowed; it must be a finite number")
    return value


Number = Annotated[int | float, BeforeValidator(_number)]
"""A number that stays whole if it is."""
NotNegative = Annotated[float, Field(ge=0.0)]
Seconds = Annotated[float, AfterValidator(_whole_us)]
"""A time: 0 or more, in whole microseconds."""
Period = Annotated[float, AfterValidator(_whole_period_us)]
"""A time of at least a microsecond."""
Vector = Annotated[tuple[float, float, float], BeforeValidator(_three)]
NotNegativeVector = Annotated[tuple[NotNegative, NotNegative, NotNegative], BeforeValidator(_three)]
EachAxis = Annotated[
    tuple[NotNegative, NotNegative, NotNegative],
    BeforeValidator(lambda value: _three(_spread(value)), json_schema_input_type=float | tuple[float, float, float]),
]
"""One number for each axis, or one for all three."""
Quaternion = Annotated[tuple[float, float, float, float], BeforeValidator(_four)]
Matrix = Annotated[
    tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]], BeforeValidator(_rows)
]


def show(value: Any, limit: int = 80) -> str:
    """Return a value as a TOML file would have it, cut if it is long."""
    text = _text(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _text(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return repr(value)
        case dict():
            return "{ " + ", ".join(f"{name} = {_text(item)}" for name, item in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(_text(item) for item in value) + "]"
        case BaseModel():
            return _text(value.model_dump(exclude_none=True))
    try:
        return str(value)
    except ValueError:  # an integer of thousands of digits
        return "a number with too many digits"
