"""Exact conversion of seconds to whole microseconds.

Simulated time is an integer number of microseconds. Users write seconds, which are converted here, once, when a
simulation is built. A value that is not a whole number of microseconds is an error; it is never rounded.
"""

import math
import numbers
from typing import Any

from px4lockstep.errors import TimeError

MAX_US = 2**53  # 285 years: every count up to here is exact as a float64 too


def seconds_to_us(value_s: Any, field: str, least_us: int = 0) -> int:
    """Convert a finite, non-negative number of seconds to a whole number of microseconds.

    Rounding errors of up to 1e-12 s or 2 ulp, whichever is larger, are tolerated, so `3 * 0.1` is 300,000. Error
    messages suggest the nearest values that are at least `least_us`.
    """
    if isinstance(value_s, bool) or not isinstance(value_s, (float, numbers.Real)):  # a float is a quick test
        raise TimeError(f"{field} = {value_s!r} is not a number of seconds")
    seconds = float(value_s)
    if not math.isfinite(seconds):
        raise TimeError(f"{field} = {seconds} is not finite; give a number of seconds")
    if seconds < 0.0:
        raise TimeError(f"{field} = {seconds} is negative; times and periods are 0 or more")
    if seconds * 1e6 > MAX_US:
        raise TimeError(f"{field} = {seconds} is too long; the limit is {MAX_US / 1e6:.0f} seconds (285 years)")
    whole_us = round(seconds * 1e6)
    if abs(whole_us / 1e6 - seconds) > max(1e-12, 2.0 * math.ulp(seconds)):
        below_us = math.floor(seconds * 1e6)
        raise TimeError(
            f"{field} = {seconds!r} is not a whole number of microseconds; "
            f"use {f'{_show(below_us)} or ' if below_us >= least_us else ''}{_show(below_us + 1)}"
        )
    return whole_us


def period_to_us(value_s: Any, field: str) -> int:
    """Convert a period in seconds to microseconds, like `seconds_to_us`, but at least one microsecond."""
    whole_us = seconds_to_us(value_s, field, 1)
    if whole_us == 0:
        raise TimeError(f"{field} = {value_s!r} is not a period; the shortest is 0.000001")
    return whole_us


def ticks_of(value_s: Any, field: str, tick_us: int, most: int | None = None) -> int:
    """Convert seconds to a whole number of autopilot ticks, at most `most`; errors suggest the nearest times."""
    ticks, rest_us = divmod(seconds_to_us(value_s, field), tick_us)
    if rest_us:
        nearest = f"{_show(ticks * tick_us)} or {_show((ticks + 1) * tick_us)}"
        raise TimeError(f"{field} = {value_s} is not a whole number of ticks of {_show(tick_us)} s; use {nearest}")
    if most is not None and ticks > most:
        raise TimeError(
            f"{field} = {value_s} is too long; at most {most} ticks, {_show(most * tick_us)} s, are allowed"
        )
    return ticks


def check_us(field: str, value_us: Any, minimum: int = 0) -> int:
    """Return a number of microseconds as an int; raise `TimeError` if it is not an integer or out of range."""
    if isinstance(value_us, bool) or not isinstance(value_us, (int, numbers.Integral)):  # an int is a quick test
        raise TimeError(f"{field} = {value_us!r} is not an integer number of microseconds")
    if not minimum <= int(value_us) <= MAX_US:
        raise TimeError(f"{field} = {value_us} is out of range; it must be {minimum} to {MAX_US} microseconds")
    return int(value_us)


def _show(whole_us: int) -> str:
    """Format microseconds as seconds without an exponent or trailing zeros."""
    text = f"{whole_us // 1_000_000}.{whole_us % 1_000_000:06d}".rstrip("0")
    return text + "0" if text.endswith(".") else text
