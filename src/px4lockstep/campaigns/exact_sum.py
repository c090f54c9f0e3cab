"""The sum of many numbers, rounded once: the value of `math.fsum` in a tenth of its time.

The numbers are split twice into a high part and a rest by adding and subtracting a power of two σ. The high parts are
multiples of 2⁻⁵³ σ, and any sum of them is at most σ, so NumPy adds them without a rounding error, in any order. Only
the sum of the last rests is rounded; its error is bounded. If the bound leaves a doubt about the last bit, `math.fsum`
adds the numbers.

Reference:
    S. M. Rump, T. Ogita, S. Oishi, Accurate floating-point summation part I: faithful rounding, SIAM J. Sci. Comput.
    31 (2008).
"""

import math

import numpy as np
import numpy.typing as npt

BITS = 53
"""Bits of a float64."""
EXPONENTS = range(-400, 900)
"""Exponents of the largest number for which no power of two below overflows or underflows."""
FEW = 64
"""Count up to which `math.fsum` is as fast."""


def exact_sum(values: npt.NDArray[np.float64]) -> float:
    """Return the sum of a vector, rounded once.

    Raises:
        OverflowError: If a partial sum overflows.
        ValueError: If both infinities are among the numbers.
    """
    count = len(values)
    if count <= FEW:
        return math.fsum(values.tolist())
    largest = max(float(values.max()), -float(values.min()))  # NaN if there is one
    _, exponent = math.frexp(largest)
    if not 0.0 < largest < math.inf or exponent not in EXPONENTS:
        return math.fsum(values.tolist())
    spare = (count + 2).bit_length()  # 2**spare > count + 2
    sigma, parts, rest = math.ldexp(1.0, exponent + spare), [], values
    for _ in range(2):
        high = (rest + sigma) - sigma
        parts.append(float(high.sum()))
        rest = rest - high
        sigma = math.ldexp(sigma, spare - BITS)
    # A rest is at most 2**-spare sigma, their sum sigma, and each of at most `count` roundings 2**-53 of that.
    low, error = float(rest.sum()), math.ldexp(sigma, spare - BITS)
    least, most = (math.fsum((*parts, low, bound)) for bound in (-error, error))
    return least if least == most else math.fsum(values.tolist())
