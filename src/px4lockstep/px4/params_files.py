"""Read and write parameter files (`.params`) as QGroundControl does.

A line holds five columns, separated by tabs: vehicle ID, component ID, name, value, type. The type is 6 for an int32
and 9 for a float, as in MAVLink (MAV_PARAM_TYPE). Lines that begin with `#` are comments.

    # Vehicle-Id Component-Id Name Value Type
    1	1	MPC_XY_CRUISE	5	9

QGroundControl saves the parameters of all components of a vehicle. Those of the autopilot, component 1, are used.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike

from px4lockstep.errors import ErrorLines, InputError
from px4lockstep.px4.parameters import Kind, as_float32, known_parameters, problem
from px4lockstep.reading import read_text

WHAT = "a parameter file (.params)"
MAX_BYTES = 2_000_000
MAX_PARAMETERS = 20_000
COLUMNS = ("vehicle ID", "component ID", "name", "value", "type")
AUTOPILOT = 1
"""MAV_COMP_ID_AUTOPILOT1."""
MAX_ID = 255
TYPES: Mapping[str, Kind] = {"6": "int32", "9": "float"}
CODES: Mapping[Kind, str] = {kind: code for code, kind in TYPES.items()}
HEADER = "# Vehicle-Id Component-Id Name Value Type"
NAME = re.compile(r"[A-Z0-9_]{1,16}", re.ASCII)
ID = re.compile(r"\d{1,3}", re.ASCII)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
MAX_NUMBER = 60
"""Characters of a number. QGroundControl writes up to 18 decimals."""
DIGITS = range(6, 10)
"""Significant digits of a float32: 6 are always kept, 9 always suffice."""


@dataclass(frozen=True)
class ParamsFile:
    """Parameters of a file."""

    source: str
    values: Mapping[str, float | int]
    """Values of the autopilot's parameters, by name, in the order of the file."""
    lines: Mapping[str, int] = field(default_factory=dict)
    """Line number of each parameter."""
    others: int = 0
    """Number of parameters of other components, such as cameras."""


def load_params(path: str | PathLike[str]) -> ParamsFile:
    """Load a parameter file (`.params`) of QGroundControl.

    Args:
        path: Its path.

    Returns:
        The parameters of the autopilot, component 1. Parameters that are not known here are not checked.

    Raises:
        InputError: If the file can't be read, a line is malformed, or a known parameter has another type in PX4 or is
            out of PX4's range. One report lists all errors with their line numbers.
    """
    return parse_params(read_text(path, MAX_BYTES, WHAT), str(path))


def parse_params(text: str, source: str) -> ParamsFile:
    """Parse the text of a parameter file; errors name the source and the line."""
    report = ErrorLines()
    values: dict[str, float | int] = {}
    lines: dict[str, int] = {}
    others = 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            words = _words_of(line)
            if int(words[1]) != AUTOPILOT:
                others += 1
                continue
            name, value = _parsed(*words[2:])
            if name in values and values[name] != value:
                raise InputError(f"{name} = {value} differs from line {lines[name]}, {values[name]}; remove one")
        except InputError as error:
            report.append(f"{source} line {number}: {error}")
            continue
        values.setdefault(name, value)
        lines.setdefault(name, number)
        if len(values) > MAX_PARAMETERS:
            raise InputError(f"{source} has more than {MAX_PARAMETERS:,} parameters, the limit for {WHAT}")
    if report:
        raise InputError("\n".join(report.shown()))
    if not values:
        raise InputError(f"{source} has no parameters of an autopilot (component {AUTOPILOT}); it must be {WHAT}")
    return ParamsFile(source, values, lines, others)


def _words_of(line: str) -> list[str]:
    """Return the columns of a line, of which those of vehicle and component are valid."""
    words = line.split()
    if len(words) != len(COLUMNS):
        columns = "1 column" if len(words) == 1 else f"{len(words)} columns"
        raise InputError(f"{columns}; there must be {len(COLUMNS)}: {', '.join(COLUMNS)}")
    for what, word in zip(COLUMNS[:2], words[:2], strict=True):
        if not ID.fullmatch(word) or int(word) > MAX_ID:
            raise InputError(f"{what} {word:.40} must be a whole number from 0 to {MAX_ID}")
    return words


def _parsed(name: str, text: str, code: str) -> tuple[str, float | int]:
    """Return name and value of a parameter of the autopilot; other components have other names and types."""
    if not NAME.fullmatch(name):
        raise InputError(f"{name:.40} is not a parameter name: it must have 1 to 16 characters, A to Z, 0 to 9 or _")
    if code not in TYPES:
        raise InputError(f"{name} has type {code:.40}; PX4 has types 6 (int32) and 9 (float)")
    return name, _value(name, text, TYPES[code])


def _value(name: str, text: str, kind: Kind) -> float | int:
    """Return the value of a parameter, checked against PX4's definition if it has one here."""
    parameter = known_parameters().get(name)
    allowed = "a whole number" if kind == "int32" else "a number"
    if parameter is not None:
        allowed = parameter.allowed
        if kind != parameter.kind:
            own = f"{CODES[parameter.kind]} ({parameter.kind})"
            raise InputError(f"{name} has type {CODES[kind]} ({kind}), but in PX4 type {own}")
    if not NUMBER.fullmatch(text) or len(text) > MAX_NUMBER:
        raise InputError(f"{name} = {text:.40} is not a number; it must be {allowed}")
    number = float(text)
    wrong = _misfit(number, kind) if parameter is None else problem(parameter, number)
    if wrong is not None:
        raise InputError(f"{name} = {text:.40} {wrong}; it must be {allowed}")
    return int(number) if kind == "int32" else shortest(number)


def _misfit(number: float, kind: Kind) -> str | None:
    """Return what is wrong with the value of a parameter of this type, or None."""
    if kind == "int32":
        if not number.is_integer():
            return "is not a whole number"
        return None if -(2**31) <= number < 2**31 else "is too large"
    try:
        return None if math.isfinite(as_float32(number)) else "is too large"
    except OverflowError:
        return "is too large"


def shortest(value: float) -> float:
    """Return the float with the fewest digits that is the same float32: 0.15 for 0.15000000596046448."""
    rounded = as_float32(value)
    candidates = (float(f"{rounded:.{digits}g}") for digits in DIGITS)
    return next(candidate for candidate in candidates if as_float32(candidate) == rounded)


def format_params(values: Mapping[str, float | int], comments: Iterable[str] = ()) -> str:
    """Return the text of a parameter file, which QGroundControl can load.

    Args:
        values: Values by name. A parameter that is not known here is written as an int32 if its value is an int.
        comments: Lines for the head of the file.

    Returns:
        One line for each parameter, sorted by name.
    """
    known = known_parameters()
    lines = [*(f"# {' '.join(comment.split())}" for comment in comments), HEADER]
    for name, value in sorted(values.items()):
        parameter = known.get(name)
        kind: Kind = parameter.kind if parameter is not None else "int32" if isinstance(value, int) else "float"
        text = str(int(value)) if kind == "int32" else f"{shortest(value):.9g}"
        lines.append("\t".join(("1", str(AUTOPILOT), name, text, CODES[kind])))
    return "\n".join(lines) + "\n"
