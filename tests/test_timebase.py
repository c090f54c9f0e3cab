"""Conversion of seconds to whole microseconds: exact, or an error with a remedy."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from px4lockstep.errors import TimeError
from px4lockstep.timebase import MAX_US, check_us, period_to_us, seconds_to_us


@given(st.integers(0, 10**14))
def test_every_decimal_with_six_places_is_exact(whole_us):
    """Parsing a decimal literal of microseconds gives that count, at any size."""
    assert seconds_to_us(float(f"{whole_us // 10**6}.{whole_us % 10**6:06d}"), "t") == whole_us


def test_values_within_rounding_are_accepted():
    """A sum or product of decimals gives the intended count."""
    assert seconds_to_us(3 * 0.1, "t") == 300_000
    assert seconds_to_us(0.1 + 0.2, "t") == 300_000
    assert seconds_to_us(5, "t") == 5_000_000


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0.0033333, "timeline.dt_log_s = 0.0033333 is not a whole number of microseconds; use 0.003333 or 0.003334"),
        (0.0001234567, "use 0.000123 or 0.000124"),
        (1e-7, "use 0.0 or 0.000001"),
        (math.nan, "timeline.dt_log_s = nan is not finite"),
        (math.inf, "not finite"),
        (-0.004, "timeline.dt_log_s = -0.004 is negative"),
        ("0.004", "'0.004' is not a number of seconds"),
        (True, "True is not a number of seconds"),
        (None, "None is not a number of seconds"),
        (1e10, "too long"),
    ],
)
def test_invalid_seconds_are_reported(value, message):
    """The error has the field, the value and what to use instead."""
    with pytest.raises(TimeError) as caught:
        seconds_to_us(value, "timeline.dt_log_s")
    assert message in str(caught.value)
    assert "timeline.dt_log_s" in str(caught.value)


def test_a_period_of_zero_is_an_error():
    """Zero is a time but not a period."""
    assert seconds_to_us(0.0, "t") == 0
    with pytest.raises(TimeError, match=r"dt_s = 0\.0 is not a period"):
        period_to_us(0.0, "dt_s")


@pytest.mark.parametrize("value", [1.0, "3", None, True, -1, MAX_US + 1])
def test_a_count_must_be_an_integer_in_range(value):
    """A float is rejected even if it is whole: time is an integer."""
    with pytest.raises(TimeError, match="t = "):
        check_us("t", value)
