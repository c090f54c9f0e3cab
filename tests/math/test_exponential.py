"""Special values and exact properties of exp, log and pow; tests/against checks their accuracy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from px4lockstep.math import exponential

INF = math.inf
NAN = math.nan
MAX = 1.7976931348623157e308
TINY = 5e-324

repeatable = settings(deadline=None, derandomize=True, max_examples=300)  # the first call compiles
positive = st.floats(min_value=TINY, max_value=MAX)


def same_bits(a, b):
    """Return whether two floats have equal bits, or are both NaN."""
    return (math.isnan(a) and math.isnan(b)) or np.float64(a).tobytes() == np.float64(b).tobytes()


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (0.0, 1.0),
        (-0.0, 1.0),
        (TINY, 1.0),
        (-1e-17, 1.0),
        (INF, INF),
        (-INF, 0.0),
        (NAN, NAN),
        (709.782712893384, 1.7976931348622732e308),
        (709.7827128933841, INF),
        (-745.1332191019411, TINY),
        (-745.1332191019412, 0.0),
        (-MAX, 0.0),
        (MAX, INF),
    ],
)
def test_exp_of_special_values(x, expected):
    """Infinities, NaN, and arguments just below and above overflow and underflow."""
    assert same_bits(exponential.exp(x), expected)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (0.0, -INF),
        (-0.0, -INF),
        (-TINY, NAN),
        (-1.0, NAN),
        (-INF, NAN),
        (INF, INF),
        (NAN, NAN),
        (1.0, 0.0),
        (TINY, -744.4400719213812),
        (MAX, 709.782712893384),
    ],
)
def test_log_of_special_values(x, expected):
    """log(0) = -inf, NaN for negative numbers, +0 at 1, and the ends of the range."""
    assert same_bits(exponential.log(x), expected)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        *[(x, y, 1.0) for x in (0.0, -0.0, 1.0, -1.0, 0.3, -7.5, TINY, INF, -INF, NAN) for y in (0.0, -0.0)],
        *[(1.0, y, 1.0) for y in (3.0, -0.5, 1e300, INF, -INF, NAN)],
        *[(-1.0, y, 1.0) for y in (INF, -INF, 2.0, 1e300)],
        *[(NAN, y, NAN) for y in (1.0, -2.5, INF)],
        *[(x, NAN, NAN) for x in (0.0, -1.0, 2.0, INF)],
        *[(0.0, y, 0.0) for y in (0.5, 2.0, 3.0, 1e300, INF)],
        *[(0.0, y, INF) for y in (-0.5, -2.0, -3.0, -1e300, -INF)],
        *[(-0.0, y, 0.0) for y in (0.5, 2.0, 1e300, INF)],
        *[(-0.0, y, -0.0) for y in (1.0, 3.0, 9007199254740991.0)],
        *[(-0.0, y, INF) for y in (-0.5, -2.0, -1e300, -INF)],
        *[(-0.0, y, -INF) for y in (-1.0, -3.0, -9007199254740991.0)],
        *[(x, INF, INF) for x in (2.0, -2.0, 1.0000000000000002, INF, -INF)],
        *[(x, -INF, 0.0) for x in (2.0, -2.0, 1.0000000000000002, INF, -INF)],
        *[(x, INF, 0.0) for x in (0.5, -0.5, 0.9999999999999999, TINY)],
        *[(x, -INF, INF) for x in (0.5, -0.5, 0.9999999999999999, TINY)],
        *[(INF, y, INF) for y in (0.1, 3.0, 1e300)],
        *[(INF, y, 0.0) for y in (-0.1, -3.0, -1e300)],
        *[(-INF, y, -INF) for y in (1.0, 5.0)],
        *[(-INF, y, INF) for y in (0.5, 2.0, 1e300)],
        *[(-INF, y, -0.0) for y in (-1.0, -5.0)],
        *[(-INF, y, 0.0) for y in (-0.5, -2.0, -1e300)],
        *[(x, y, NAN) for x in (-2.0, -TINY, -1e300) for y in (0.5, -1.5, 1e-300)],
        (-2.0, 3.0, -8.0),
        (-2.0, 4.0, 16.0),
        (-2.0, -3.0, -0.125),
        (-2.0, 1023.0, -8.98846567431158e307),
        (-2.0, 1025.0, -INF),
        (-2.0, -1075.0, -0.0),
        (-0.9999999999999999, 9007199254740993.0, 0.3678794411714423),
        (2.0, 1024.0, INF),
        (2.0, -1074.0, TINY),
        (2.0, -1075.0, 0.0),
        (10.0, 22.0, 1e22),
        (0.5, 1e300, 0.0),
        (0.5, -1e300, INF),
        (0.5, 1e-300, 1.0),
        (TINY, 1.0, TINY),
        (TINY, -1.0, INF),
        (MAX, 1.0, MAX),
    ],
)
def test_pow_of_special_values(x, y, expected):
    """The table of C11, F.10.4.4, and exact powers at the ends of the range, with the signs of zeros."""
    assert same_bits(exponential.pow(x, y), expected)


@repeatable
@given(positive)
def test_the_first_power_is_the_number_itself(x):
    """It is exact, since the error of the logarithm is far below half an ulp."""
    assert exponential.pow(x, 1.0) == x


@repeatable
@given(st.floats(min_value=1e-150, max_value=1e150))
def test_the_second_power_is_the_square(x):
    """Within 1 ulp of x x, which is itself rounded."""
    assert abs(exponential.pow(-x, 2.0) - x * x) <= math.ulp(x * x)


@repeatable
@given(st.floats(min_value=-700.0, max_value=700.0))
def test_log_inverts_exp(x):
    """An error of 1 ulp of exp(x) is 2**-52 in x; log adds 1 ulp of x."""
    assert abs(exponential.log(exponential.exp(x)) - x) <= 2.0**-52 + math.ulp(x)


@repeatable
@given(positive)
def test_log_does_not_decrease(x):
    """From one double to the next, log never decreases."""
    assert exponential.log(math.nextafter(x, 0.0)) <= exponential.log(x)
