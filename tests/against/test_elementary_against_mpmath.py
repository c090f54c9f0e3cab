"""The accuracy of the elementary functions against mpmath, over the whole range of doubles.

Errors are in ulp, the spacing of doubles at the exact value (2**-1074 for subnormal numbers). The last rounding
contributes half an ulp, the rest comes from earlier terms. Terms computed as sums of two doubles contribute little, but
the largest subnormal results are rounded twice, and the series of sine and of small arc tangents are rounded where they
are a tenth to a third of the result. Measured with a hundred times as many samples, all errors are below these bounds.
"""

import math

import mpmath
import numpy as np
import pytest

from px4lockstep.jit import kernel
from px4lockstep.math import exponential, trigonometry

LARGEST_ERROR_ULP = {
    "exp": 0.77,
    "log": 0.51,
    "pow": 0.77,
    "sin": 0.81,
    "cos": 0.81,
    "atan": 0.8,
    "atan2": 0.77,
    "asin": 0.9,
    "acos": 0.9,
}
COUNT = 1500  # of each kind of sample

FUNCTIONS = list(LARGEST_ERROR_ULP)
HALF_PI = math.pi / 2


@kernel
def evaluate(function, x, y, out):
    """Evaluate a function, given by its number, on arrays."""
    for i in range(len(x)):
        if function == 0:
            out[i] = exponential.exp(x[i])
        elif function == 1:
            out[i] = exponential.log(x[i])
        elif function == 2:
            out[i] = exponential.pow(x[i], y[i])
        elif function == 3:
            out[i] = trigonometry.sin(x[i])
        elif function == 4:
            out[i] = trigonometry.cos(x[i])
        elif function == 5:
            out[i] = trigonometry.atan(x[i])
        elif function == 6:
            out[i] = trigonometry.atan2(x[i], y[i])
        elif function == 7:
            out[i] = trigonometry.asin(x[i])
        else:
            out[i] = trigonometry.acos(x[i])


def error_ulp(result, exact):
    """Return the error in units of the spacing of doubles at the exact value; an infinity counts as 2**1024."""
    if math.isnan(result):
        return math.inf
    if exact == 0:
        return 0.0 if result == 0.0 else math.inf
    exponent = min(max(mpmath.frexp(exact)[1] - 1, -1022), 1023)
    if math.isinf(result):
        limit = mpmath.ldexp(1, 1024)
        if abs(exact) >= limit and (exact > 0) == (result > 0):
            return 0.0
        found = math.copysign(1, result) * limit
    else:
        found = mpmath.mpf(result)
    return float(mpmath.ldexp(abs(found - exact), 52 - exponent))


def assert_accurate(name, x, y=None):
    """Compare a function with mpmath on all samples; the message names the worst."""
    x = np.asarray(x, dtype=np.float64)
    y = np.zeros_like(x) if y is None else np.asarray(y, dtype=np.float64)
    results = np.empty_like(x)
    evaluate(FUNCTIONS.index(name), x, y, results)
    reference = mpmath.power if name == "pow" else getattr(mpmath, name)
    takes_two = name in ("pow", "atan2")
    worst = (-1.0, 0.0, 0.0, 0.0)
    with mpmath.workprec(160):
        for x_i, y_i, result in zip(x.tolist(), y.tolist(), results.tolist(), strict=True):
            arguments = (mpmath.mpf(x_i), mpmath.mpf(y_i)) if takes_two else (mpmath.mpf(x_i),)
            worst = max(worst, (error_ulp(result, reference(*arguments)), x_i, y_i, result))
    assert worst[0] < LARGEST_ERROR_ULP[name], (
        f"{name}: {worst[0]} ulp at ({worst[1]!r}, {worst[2]!r}), got {worst[3]!r}"
    )


@pytest.fixture
def rng():
    return np.random.default_rng(20240229)


def log_spaced(rng, lowest, highest, count=COUNT):
    """Return log-uniformly distributed positive numbers, down to subnormal ones."""
    return np.ldexp(rng.uniform(1.0, 2.0, count), rng.integers(lowest, highest, count))


def with_signs(rng, values):
    return values * rng.choice([-1.0, 1.0], len(values))


def neighbours(values, steps=2):
    """Return numbers and their neighbouring doubles on both sides."""
    bits = np.asarray(values, dtype=np.float64).view(np.int64)
    return np.concatenate([(bits + step).view(np.float64) for step in range(-steps, steps + 1)])


def test_exp_is_within_one_ulp(rng):
    """Ordinary arguments, tiny ones, and results that overflow or become subnormal."""
    assert_accurate("exp", rng.uniform(-745.2, 709.79, COUNT))
    assert_accurate("exp", rng.uniform(-1.0, 1.0, COUNT))
    assert_accurate("exp", rng.uniform(-745.2, -707.0, COUNT))
    assert_accurate("exp", with_signs(rng, log_spaced(rng, -1074, 11)))
    # Halfway between two table entries, where the remainder is largest, and at the limits.
    assert_accurate("exp", neighbours((np.arange(-300, 300) + 0.5) * (math.log(2.0) / 128.0)))
    assert_accurate("exp", neighbours([709.782712893384, -708.3964185322641, -745.1332191019411, -744.4400719213812]))


def test_log_is_within_one_ulp(rng):
    """All exponents, the neighbourhood of 1, where the logarithm vanishes, and the edges of the table's intervals."""
    assert_accurate("log", log_spaced(rng, -1074, 1024))
    assert_accurate("log", rng.uniform(0.5, 2.0, COUNT))
    assert_accurate("log", 1.0 + with_signs(rng, log_spaced(rng, -53, -4)))
    assert_accurate("log", neighbours(np.concatenate([np.arange(176, 256) / 256.0, np.arange(128, 177) / 128.0])))
    assert_accurate("log", [5e-324, 1e-323, 2.225073858507201e-308, 2.2250738585072014e-308, 1.7976931348623157e308])


def test_pow_is_within_one_ulp_where_the_atmosphere_uses_it(rng):
    """The density of air is a power near 4.26 of a temperature ratio between 0.7 and 1."""
    assert_accurate("pow", rng.uniform(0.7, 1.05, COUNT), np.full(COUNT, 4.2558797))


def test_pow_is_within_one_ulp(rng):
    """Results from subnormal to overflow, for bases of every size and bases next to 1."""
    for base in (
        log_spaced(rng, -1074, 1024),
        rng.uniform(0.5, 2.0, COUNT),
        1.0 + with_signs(rng, log_spaced(rng, -52, -5)),
    ):
        log_base = np.log(base)
        assert_accurate("pow", base, rng.uniform(-745.5, 710.0, COUNT) / log_base)
        assert_accurate("pow", base, with_signs(rng, log_spaced(rng, -80, 9)) / log_base)
    assert_accurate("pow", 2.0 * rng.uniform(0.5, 1.0, COUNT), rng.uniform(-800.0, 800.0, COUNT))
    assert_accurate("pow", rng.integers(1, 200, COUNT), rng.integers(-150, 150, COUNT))


def test_pow_is_within_one_ulp_next_to_overflow_and_underflow(rng):
    """Exponents within a few ulp of those at which the result leaves the range."""
    base = log_spaced(rng, -1000, 1000, 100)
    for limit in (1024.0, -1022.0, -1074.0, -1075.0):
        exponents = neighbours(limit / np.log2(base))
        assert_accurate("pow", np.tile(base, 5), exponents)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_are_within_one_ulp(name, rng):
    """The first turns, the range of Cody and Waite with its end, and all exponents up to the largest double."""
    assert_accurate(name, rng.uniform(-1.0, 1.0, COUNT))
    assert_accurate(name, rng.uniform(-30.0, 30.0, COUNT))
    assert_accurate(name, rng.uniform(-1e6, 1e6, COUNT))
    assert_accurate(name, with_signs(rng, log_spaced(rng, -1074, 1024)))
    assert_accurate(name, neighbours([math.pi / 4, 823549.0, 823549.6645, 2.0**53, 2.0**1023, 1.797693134862315e308]))


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_are_within_one_ulp_next_to_multiples_of_half_pi(name, rng):
    """There the result suffers from cancellation."""
    assert_accurate(name, neighbours(np.arange(1, 300) * HALF_PI, steps=1))
    assert_accurate(name, neighbours(rng.integers(1, 1 << 53, 500) * HALF_PI, steps=1))
    with mpmath.workprec(1300):
        # The doubles nearest to random multiples of pi / 2, of all sizes.
        huge = [float(int(multiple) * mpmath.pi / 2) for multiple in np.ldexp(1.3, rng.integers(53, 1022, 500))]
    assert_accurate(name, huge)


def closest_to_multiples_of_half_pi(exponent):
    """Return the doubles m 2**exponent that are closest to multiples of pi / 2: convergents m / n of pi / 2**(e + 1).

    J.-M. Muller, Elementary Functions (2016), ch. 11, after W. Kahan.
    """
    rest = mpmath.ldexp(mpmath.pi, -exponent - 1)
    m_before, m = 0, 1
    found = []
    while True:
        whole = int(mpmath.floor(rest))
        m_before, m = m, whole * m + m_before
        if m >= 1 << 53:
            return found
        if m >= 1 << 52:
            found.append(math.ldexp(m, exponent))
        rest = 1 / (rest - whole)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sine_and_cosine_are_within_one_ulp_at_the_hardest_doubles(name):
    """For every exponent, the doubles closest to a multiple of pi / 2, including the closest of all.

    And those within 2**-46 of the last multiples for which the reduction by parts of pi / 2 is meant.
    """
    with mpmath.workprec(2400):
        hardest = [x for exponent in range(-52, 972) for x in closest_to_multiples_of_half_pi(exponent)]
    assert 6381956970095103.0 * 2.0**797 in hardest
    assert len(hardest) > 500
    assert_accurate(name, hardest)
    with mpmath.workprec(200):
        half_pi = int(mpmath.ldexp(mpmath.pi, 159))
    close = []
    for n in range(1 << 18, 1 << 19):
        x = n * half_pi / (1 << 160)
        if abs(n * half_pi - (int(x * 2.0**40) << 120)) < 1 << (160 - 46):
            close.append(x)
    assert len(close) > 50
    assert_accurate(name, close)


def test_arc_tangent_is_within_one_ulp(rng):
    """Ordinary arguments, the edges of the table's intervals, and all exponents."""
    assert_accurate("atan", rng.uniform(-3.0, 3.0, COUNT))
    assert_accurate("atan", with_signs(rng, log_spaced(rng, -1074, 1024)))
    edges = (np.arange(1, 32) + 0.5) / 32.0
    assert_accurate("atan", neighbours(np.concatenate([edges, 1.0 / edges])))


def test_atan2_is_within_one_ulp(rng):
    """All quadrants, near the axes and the diagonals, subnormal coordinates and quotients, and the largest doubles."""
    assert_accurate("atan2", rng.normal(size=COUNT), rng.normal(size=COUNT))
    assert_accurate(
        "atan2", with_signs(rng, log_spaced(rng, -1074, 1024)), with_signs(rng, log_spaced(rng, -1074, 1024))
    )
    for lowest, highest in ((-1074, -1010), (1015, 1024), (-70, 70), (-420, -380), (490, 510)):
        y = with_signs(rng, log_spaced(rng, lowest, highest))
        x = with_signs(rng, log_spaced(rng, lowest, highest))
        assert_accurate("atan2", y, x)
    x = with_signs(rng, log_spaced(rng, -600, 600))
    assert_accurate("atan2", x * (1.0 + rng.uniform(-1e-3, 1e-3, COUNT)), with_signs(rng, x))


@pytest.mark.parametrize("name", ["asin", "acos"])
def test_arc_sine_and_cosine_are_within_one_ulp(name, rng):
    """The whole interval, next to its ends, where the slope is infinite, and next to zero."""
    assert_accurate(name, rng.uniform(-1.0, 1.0, COUNT))
    assert_accurate(name, with_signs(rng, 1.0 - log_spaced(rng, -53, -1)))
    assert_accurate(name, with_signs(rng, log_spaced(rng, -1074, 0)))
    assert_accurate(name, neighbours([0.5, math.sqrt(0.5), 0.046875, -0.046875, 2.0**-28]))
