"""Time series at other times: interpolated, or held until the next sample.

At the time of a sample, the result is that sample, exactly.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError

MIN_RATE_HZ, MAX_RATE_HZ = 1e-6, 1e6
"""Rates of rows: one in 11 days, and one in a microsecond, the resolution of times."""

Array = npt.NDArray[Any]
Times = npt.NDArray[np.int64]
"""Increasing times in microseconds."""


def period_us(rate_hz: float, max_hz: float = MAX_RATE_HZ) -> int:
    """Return the period of a rate that a user gave.

    Raises:
        InputError: If the rate is out of range.
    """
    if not MIN_RATE_HZ <= rate_hz <= max_hz:  # NaN too
        raise InputError(f"rate {rate_hz:g} Hz is out of range; it must be {MIN_RATE_HZ:g} to {max_hz:.0f} Hz")
    return round(1e6 / rate_hz)


def places(time_us: Times, at_us: Times) -> tuple[Array, Array]:
    """Return for each time the sample at or before it, and how far it is on its way to the next, from 0 to 1.

    Before the first sample and after the last, these are held.
    """
    last = len(time_us) - 1
    before = np.clip(np.searchsorted(time_us, at_us, side="right") - 1, 0, last)
    after = np.minimum(before + 1, last)
    span = np.maximum(time_us[after] - time_us[before], 1)
    return before, np.clip((at_us - time_us[before]) / span, 0.0, 1.0) * (after > before)


def interpolated(time_us: Times, values: Array, at_us: Times) -> Array:
    """Return values at other times, linear between the samples."""
    before, part = places(time_us, at_us)
    part = part.reshape(-1, *([1] * (values.ndim - 1)))
    first = values[before]
    with np.errstate(over="ignore", invalid="ignore"):  # a log may contain any number
        between = first + part * (values[np.minimum(before + 1, len(time_us) - 1)] - first)
    return np.where(part > 0.0, between, first)


def interpolated_attitude(time_us: Times, q: Array, at_us: Times) -> Array:
    """Return quaternions at other times, of length 1, along the shorter way between the samples."""
    before, part = places(time_us, at_us)
    first, second = q[before], q[np.minimum(before + 1, len(time_us) - 1)]
    sign = np.where((first * second).sum(axis=1) < 0.0, -1.0, 1.0)
    mixed = first + part[:, np.newaxis] * (sign[:, np.newaxis] * second - first)
    found: Array = mixed / np.linalg.norm(mixed, axis=1)[:, np.newaxis]
    return found


def held(time_us: Times, values: Array, at_us: Times) -> Array:
    """Return values at other times, each held until the next sample; the first also before it."""
    return values[places(time_us, at_us)[0]]


def held_while_published(time_us: Times, values: Array, at_us: Times) -> Array:
    """Return values at other times, held until the next sample; NaN before the first, and where samples stop coming.

    They have stopped after ten of their usual periods, and half a second.
    """
    usual_us = int(np.median(np.diff(time_us))) if len(time_us) > 1 else 0
    found = held(time_us, values, at_us).astype(np.float64)
    age_us = at_us - time_us[places(time_us, at_us)[0]]
    found[(age_us < 0) | (age_us > max(10 * usual_us, 500_000))] = np.nan
    return found
