"""Special values and symmetries of the trigonometric functions; tests/against checks their accuracy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from px4lockstep.math import trigonometry

INF = math.inf
NAN = math.nan
PI = math.pi
TINY = 5e-324

repeatable = settings(deadline=None, derandomize=True, max_examples=300)  # the first call compiles
finite = st.floats(allow_nan=False, allow_infinity=False)


def same_bits(a, b):
    """Return whether two floats have equal bits, or are both NaN."""
    return (math.isnan(a) and math.isnan(b)) or np.float64(a).tobytes() == np.float64(b).tobytes()


@pytest.mark.parametrize(
    ("y", "x", "expected"),
    [
        *[(0.0, x, 0.0) for x in (0.0, TINY, 1.0, INF)],
        *[(-0.0, x, -0.0) for x in (0.0, TINY, 1.0, INF)],
        *[(0.0, x, PI) for x in (-0.0, -TINY, -1.0, -INF)],
        *[(-0.0, x, -PI) for x in (-0.0, -TINY, -1.0, -INF)],
        *[(y, x, PI / 2) for y in (TINY, 1.0, 1e308, INF) for x in (0.0, -0.0)],
        *[(-y, x, -PI / 2) for y in (TINY, 1.0, 1e308, INF) for x in (0.0, -0.0)],
        *[(y, INF, 0.0) for y in (TINY, 1.0, 1e308)],
        *[(-y, INF, -0.0) for y in (TINY, 1.0, 1e308)],
        *[(y, -INF, PI) for y in (TINY, 1.0, 1e308)],
        *[(-y, -INF, -PI) for y in (TINY, 1.0, 1e308)],
        *[(INF, x, PI / 2) for x in (1.0, -1.0, 1e308, -TINY)],
        *[(-INF, x, -PI / 2) for x in (1.0, -1.0, 1e308, -TINY)],
        (INF, INF, PI / 4),
        (-INF, INF, -PI / 4),
        (INF, -INF, 3 * PI / 4),
        (-INF, -INF, -3 * PI / 4),
        *[(NAN, x, NAN) for x in (0.0, 1.0, INF, NAN)],
        *[(y, NAN, NAN) for y in (0.0, 1.0, INF)],
        (1.0, 1.0, PI / 4),
        (1.0, -1.0, 3 * PI / 4),
        (TINY, -TINY, 3 * PI / 4),
        (1.7e308, 1.7e308, PI / 4),
        (1e308, TINY, PI / 2),
        (TINY, 1e308, 0.0),
        (TINY, -1e308, PI),
        (TINY, 1.0, TINY),
    ],
)
def test_atan2_of_special_values(y, x, expected):
    """The table of C11, F.10.1.4: signed zeros, infinities and the diagonal."""
    assert same_bits(trigonometry.atan2(y, x), expected)


@pytest.mark.parametrize("x", [INF, -INF, NAN])
def test_sine_and_cosine_of_infinity_are_nan(x):
    """As in C, and without an exception when interpreted."""
    results = [trigonometry.sin(x), trigonometry.cos(x), *trigonometry.sincos(x)]
    assert all(math.isnan(result) for result in results)


@pytest.mark.parametrize("function", [trigonometry.sin, trigonometry.atan, trigonometry.asin])
@pytest.mark.parametrize("x", [0.0, TINY, 1e-310, 1e-100])
def test_odd_functions_return_tiny_arguments_unchanged(function, x):
    """The next term of the series, x**3, is below the spacing of doubles; the sign of zero is preserved."""
    assert same_bits(function(x), x)
    assert same_bits(function(-x), -x)


@pytest.mark.parametrize("x", [1.0000000000000002, -1.0000000000000002, 2.0, INF, -INF, NAN])
def test_arc_sine_and_cosine_outside_their_range_are_nan(x):
    """One ulp above 1 is already outside."""
    assert math.isnan(trigonometry.asin(x))
    assert math.isnan(trigonometry.acos(x))


def test_arc_functions_at_the_ends_of_their_range():
    """Exact multiples of the double nearest to pi / 2."""
    assert (trigonometry.asin(1.0), trigonometry.asin(-1.0)) == (PI / 2, -PI / 2)
    assert (trigonometry.acos(1.0), trigonometry.acos(-1.0), trigonometry.acos(0.0)) == (0.0, PI, PI / 2)
    assert (trigonometry.atan(INF), trigonometry.atan(-INF), trigonometry.atan(1.0)) == (PI / 2, -PI / 2, PI / 4)


def test_cosine_of_the_double_nearest_to_a_multiple_of_half_pi():
    """The hardest argument of all (Muller, Elementary Functions, ch. 11): all bits of its cosine are correct."""
    assert trigonometry.cos(6381956970095103.0 * 2.0**797) == -4.6871659242546277e-19
    assert trigonometry.sin(6381956970095103.0 * 2.0**797) == 1.0


@repeatable
@given(finite)
def test_sine_is_odd_and_cosine_even(x):
    """They are bit-identical, since the sign is handled separately."""
    assert same_bits(trigonometry.sin(-x), -trigonometry.sin(x))
    assert same_bits(trigonometry.cos(-x), trigonometry.cos(x))


@repeatable
@given(finite)
def test_sincos_has_the_bits_of_sin_and_cos(x):
    """They use the same polynomials."""
    sine, cosine = trigonometry.sincos(x)
    assert same_bits(sine, trigonometry.sin(x))
    assert same_bits(cosine, trigonometry.cos(x))


@repeatable
@given(finite)
def test_sine_and_cosine_lie_on_the_unit_circle(x):
    """Errors of 1 ulp in each, at most 2**-53 below 1, and three roundings give less than 2**-51."""
    sine, cosine = trigonometry.sincos(x)
    assert abs(sine * sine + cosine * cosine - 1.0) < 2.0**-51


@repeatable
@given(st.floats(min_value=-PI, max_value=PI), st.floats(min_value=-300.0, max_value=300.0))
def test_atan2_inverts_sincos_at_any_scale(angle, exponent):
    """Two errors of 1 ulp and two roundings of the products, 4 * 2**-52 relative to an angle or to 1."""
    sine, cosine = trigonometry.sincos(angle)
    scale = 10.0**exponent
    result = trigonometry.atan2(sine * scale, cosine * scale)
    assert abs(result - angle) <= 2.0**-50 * max(1.0, abs(angle))


@repeatable
@given(st.floats(min_value=-1.0, max_value=1.0))
def test_arc_sine_and_arc_cosine_add_up_to_half_pi(x):
    """Errors of 1 ulp in two angles below pi are at most 2**-51 each."""
    assert abs(trigonometry.asin(x) + trigonometry.acos(x) - PI / 2) < 2.0**-50
