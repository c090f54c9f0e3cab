"""Inputs of experiments: PX4 parameters or keys of the spec, with their values or ranges.

MC_ROLLRATE_P=0.1:0.2:5          five values, evenly spaced, both ends included
MC_ROLLRATE_P=0.01:1:5:log       evenly spaced logarithms
airframe.payload_kg=0,0.2,0.5    these values
MC_ROLLRATE_P=0.05:0.3           a range to search; 0.05:0.3:log searches its logarithm
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from px4lockstep.campaigns.distributions import in_time
from px4lockstep.errors import InputError
from px4lockstep.part import freeze, show
from px4lockstep.spec.overrides import parse_override

PARAMETER = re.compile(r"[A-Z][A-Z0-9_]{0,15}", re.ASCII)
PARAMS = "autopilot.params."
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
STARTS_WITH_NUMBER = re.compile(rf"{NUMBER}:")
RANGE = re.compile(rf"({NUMBER}):({NUMBER}):(\d{{1,6}})(:log)?", re.ASCII)
LIMITS = re.compile(rf"({NUMBER}):({NUMBER})(:log)?", re.ASCII)
LIST = re.compile(r"""(?:[^,\["']|\[[^\]]*\]|"[^"]*"|'[^']*')+""")
FORMS = "A:B:N for N evenly spaced values, A:B:N:log for evenly spaced logarithms"
MAX_VALUES = 10_000
DIGITS = 12
"""Significant digits of computed values: 0.15, not 0.15000000000000002."""
SEARCH_DIGITS = 6
"""Significant digits of searched values, so that a file has exactly what was flown."""


def key_of(name: str) -> str:
    """Return the key of the spec: that of a PX4 parameter, or the key itself."""
    return f"{PARAMS}{name}" if PARAMETER.fullmatch(name) else name


def label_of(key: str) -> str:
    """Return the short name of a key: that of a PX4 parameter, or the key itself."""
    name = key.removeprefix(PARAMS)
    return name if PARAMETER.fullmatch(name) else key


def split_input(text: str) -> tuple[str, str]:
    """Split `KEY=VALUES`."""
    name, sign, values = (part.strip() for part in text.partition("="))
    if not sign or not name or not values:
        raise InputError(f"{text!r} is not KEY=VALUES; write for example MC_ROLLRATE_P=0.1:0.2:5")
    return name, values


def by_name(texts: Iterable[str]) -> dict[str, str]:
    """Return the values of `KEY=VALUES` arguments by key."""
    found: dict[str, str] = {}
    for text in texts:
        name, values = split_input(text)
        if name in found:
            raise InputError(f"{name} is given twice; give all its values in one argument")
        found[name] = values
    return found


def values_of(name: str, values: str | Sequence[Any]) -> tuple[Any, ...]:
    """Return the values of an input: a sequence, or text in the form of the command line."""
    if not isinstance(values, str):
        try:
            found = freeze(list(values))
        except TypeError:
            raise InputError(
                f"{name} = {values!r:.80} is not a sequence of values or text such as '0.1:0.2:5'"
            ) from None
    elif STARTS_WITH_NUMBER.match(values):
        found = _spaced(name, values)
    else:
        found = freeze([_listed(name, part.strip()) for part in LIST.findall(values)])
    if not 1 <= len(found) <= MAX_VALUES:
        raise InputError(f"{name} has {len(found):,} values; there must be 1 to {MAX_VALUES:,}")
    repeated = next((value for i, value in enumerate(found) if value in found[:i]), None)
    if repeated is not None:
        raise InputError(f"{name} has the value {show(repeated)} twice; remove one")
    return tuple(found)


def _listed(name: str, text: str) -> Any:
    """Return a value of a list."""
    try:
        return parse_override(f"{key_of(name)}={text}")[1]
    except InputError as error:
        raise InputError(f"{error}; for a range, write {FORMS}") from None


def _spaced(name: str, text: str) -> tuple[float | int, ...]:
    """Return the values of a range A:B:N or A:B:N:log."""
    found = RANGE.fullmatch(text)
    if found is None:
        raise InputError(f"{name} = {text!r} is not a range; write {FORMS}, or values a,b,c")
    first, last, count, is_log = float(found[1]), float(found[2]), int(found[3]), found[4] is not None
    if not 2 <= count <= MAX_VALUES:
        raise InputError(f"{name} = {text!r} has {count:,} values; there must be 2 to {MAX_VALUES:,}")
    if not math.isfinite(first) or not math.isfinite(last) or first == last:
        raise InputError(f"{name} = {text!r}: both ends must be different finite numbers")
    _check_log(name, text, is_log, first, last)
    scale = Scale(first, last, is_log)
    values = [scale.value(i / (count - 1)) for i in range(count)]
    values = [in_time(name, float(f"{value:.{DIGITS}g}")) for value in values]
    are_whole = all(re.fullmatch(r"[+-]?\d+", end) for end in found.group(1, 2))
    return tuple(map(int, values)) if are_whole and all(value.is_integer() for value in values) else tuple(values)


def _check_log(name: str, text: str, is_log: bool, *ends: float) -> None:
    if is_log and min(ends) <= 0.0:
        raise InputError(f"{name} = {text!r}: both ends of a logarithmic range must be above 0")


@dataclass(frozen=True)
class Scale:
    """Maps 0 to 1 to the values between two ends, linearly or by their logarithms."""

    low: float
    high: float
    is_log: bool = False

    def value(self, u: float) -> float:
        """Return the value at a place from 0 to 1; the ends are exact."""
        if u in (0.0, 1.0):
            return self.high if u else self.low
        if self.is_log:
            return self.low * math.exp(u * math.log(self.high / self.low))
        return self.low + u * (self.high - self.low)

    def place(self, value: float) -> float:
        """Return the place of a value, limited to 0 to 1."""
        inside = min(max(value, self.low), self.high)
        if self.is_log:
            return math.log(inside / self.low) / math.log(self.high / self.low)
        return (inside - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Range:
    """An input to search, with its limits."""

    key: str
    scale: Scale
    is_whole: bool = False

    @property
    def label(self) -> str:
        """Short name."""
        return label_of(self.key)

    def value(self, u: float) -> float | int:
        """Return the value to fly at a place from 0 to 1, rounded and within the limits."""
        value = self.scale.value(min(max(u, 0.0), 1.0))
        if 0.0 < u < 1.0:
            rounded = in_time(self.key, float(f"{value:.{SEARCH_DIGITS}g}"))
            value = min(max(rounded, self.scale.low), self.scale.high)
        return round(value) if self.is_whole else value


def ranges_of(inputs: Mapping[str, Any], whole: Iterable[str] = ()) -> tuple[Range, ...]:
    """Return the inputs to search: limits `(low, high)`, or text in the form of the command line."""
    wholes, found = tuple(whole), []
    for name, given in inputs.items():
        ends = given if isinstance(given, Iterable) else (given,)
        text = given if isinstance(given, str) else ":".join(str(end) for end in freeze(list(ends)))
        parts = LIMITS.fullmatch(text)
        if parts is None:
            raise InputError(
                f"{name} = {text!r} is not a range to search; write LOW:HIGH, such as 0.05:0.3, or LOW:HIGH:log"
            )
        low, high, is_log = float(parts[1]), float(parts[2]), parts[3] is not None
        if not low < high or not math.isfinite(high - low):
            raise InputError(f"{name} = {text!r} is not a range to search; the low end must be below the high end")
        _check_log(name, text, is_log, low)
        found.append(Range(key_of(name), Scale(low, high, is_log), key_of(name) in wholes))
    return tuple(found)
