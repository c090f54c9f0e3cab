"""Random numbers by address: Philox 4x32-10, and normal deviates from it.

A block of four 32-bit words is a pure function of a key and a counter; nothing is stored and no draw depends on
another. In each of ten rounds, with (hi, lo) the halves of a 64-bit product,

    hi_0, lo_0 = M_0 c_0,   hi_1, lo_1 = M_1 c_2
    (c_0, c_1, c_2, c_3) <- (hi_1 ^ c_1 ^ k_0, lo_1, hi_0 ^ c_3 ^ k_1, lo_0),   k_0 += W_0,  k_1 += W_1

    key     = low and high half of `stream_key(seed, name)`
    counter = (tick, low half; tick, high half; lane; draw)

A stream is one source of randomness (a sensor's noise, the wind), a tick its time, a lane one of its axes or groups, a
draw numbers the blocks within a tick. A stream that is added changes no other. Normal deviates are the inverse normal
distribution function of 32-bit uniforms, so that they end at 6.3 standard deviations.

References:
    J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3, SC11 (2011).
    M. J. Wichura, Algorithm AS 241: the percentage points of the normal distribution, Applied Statistics 37 (1988),
    477-484; the coefficients are those of its PPND16, of about 16 figures.
"""

import hashlib
import math

import numpy as np

from px4lockstep.errors import InputError
from px4lockstep.jit import kernel
from px4lockstep.math.exponential import log

# Every operand is an np.uint64: mixed with signed integers, compiled and interpreted code differ.
_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint64(0x9E3779B9)  # golden ratio
_WEYL_1 = np.uint64(0xBB67AE85)  # sqrt(3) - 1
_WORD = np.uint64(0xFFFFFFFF)
_WORD_BITS = np.uint64(32)
_TWENTY = np.uint64(20)
_TWELVE = np.uint64(12)

_ROUNDS = 10
_UNIT_32 = 1.0 / (1 << 32)
_UNIT_52 = 1.0 / (1 << 52)


def stream_key(seed: int, name: str) -> np.uint64:
    """Return the key of a named stream of random numbers.

    It is the first eight bytes, little-endian, of BLAKE2b over the seed (eight bytes, little-endian) and the name.

    Args:
        seed: The seed of the run, from 0 to 2**64 - 1.
        name: The stream's name, such as `"wind"`.

    Raises:
        InputError: If the seed is not an integer in that range.
    """
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or not 0 <= seed < 1 << 64:
        raise InputError(f"seed = {seed!r} can't be used; give an integer from 0 to 2**64 - 1 ({(1 << 64) - 1})")
    digest = hashlib.blake2b(int(seed).to_bytes(8, "little") + name.encode()).digest()
    return np.uint64(int.from_bytes(digest[:8], "little"))


@kernel
def philox4x32(c0, c1, c2, c3, k0, k1):
    """Return the four words of Philox 4x32-10 for a counter and a key, all uint64 below 2**32."""
    c0 = np.uint64(c0)
    c1 = np.uint64(c1)
    c2 = np.uint64(c2)
    c3 = np.uint64(c3)
    k0 = np.uint64(k0)
    k1 = np.uint64(k1)
    for _ in range(_ROUNDS):
        product_0 = _MULTIPLIER_0 * c0
        product_1 = _MULTIPLIER_1 * c2
        c0 = (product_1 >> _WORD_BITS) ^ c1 ^ k0
        c1 = product_1 & _WORD
        c2 = (product_0 >> _WORD_BITS) ^ c3 ^ k1
        c3 = product_0 & _WORD
        k0 = (k0 + _WEYL_0) & _WORD
        k1 = (k1 + _WEYL_1) & _WORD
    return c0, c1, c2, c3


@kernel
def block(key, tick, lane, draw):
    """Return four 32-bit words, as uint64, of a stream at an address of non-negative integers."""
    key = np.uint64(key)
    tick = np.uint64(tick)
    return philox4x32(
        tick & _WORD,
        tick >> _WORD_BITS,
        np.uint64(lane) & _WORD,
        np.uint64(draw) & _WORD,
        key & _WORD,
        key >> _WORD_BITS,
    )


@kernel
def uniform2(key, tick, lane, draw):
    """Return two uniform deviates of 52 bits, above 0 and below 1."""
    w0, w1, w2, w3 = block(key, tick, lane, draw)
    first = np.int64((w0 << _TWENTY) | (w1 >> _TWELVE))
    second = np.int64((w2 << _TWENTY) | (w3 >> _TWELVE))
    return (float(first) + 0.5) * _UNIT_52, (float(second) + 0.5) * _UNIT_52


@kernel
def uniform4(key, tick, lane, draw):
    """Return four uniform deviates of 32 bits, above 0 and below 1."""
    w0, w1, w2, w3 = block(key, tick, lane, draw)
    return (
        (float(np.int64(w0)) + 0.5) * _UNIT_32,
        (float(np.int64(w1)) + 0.5) * _UNIT_32,
        (float(np.int64(w2)) + 0.5) * _UNIT_32,
        (float(np.int64(w3)) + 0.5) * _UNIT_32,
    )


@kernel
def _quantile_in_tail(p):
    """Return the (negative) standard normal quantile of 0 < p <= 0.075."""
    r = math.sqrt(-log(p))
    if r <= 5.0:
        r = r - 1.6
        numerator = 7.74545014278341407640e-4
        numerator = numerator * r + 2.27238449892691845833e-2
        numerator = numerator * r + 2.41780725177450611770e-1
        numerator = numerator * r + 1.27045825245236838258
        numerator = numerator * r + 3.64784832476320460504
        numerator = numerator * r + 5.76949722146069140550
        numerator = numerator * r + 4.63033784615654529590
        numerator = numerator * r + 1.42343711074968357734
        denominator = 1.05075007164441684324e-9
        denominator = denominator * r + 5.47593808499534494600e-4
        denominator = denominator * r + 1.51986665636164571966e-2
        denominator = denominator * r + 1.48103976427480074590e-1
        denominator = denominator * r + 6.89767334985100004550e-1
        denominator = denominator * r + 1.67638483018380384940
        denominator = denominator * r + 2.05319162663775882187
        denominator = denominator * r + 1.0
    else:
        r = r - 5.0
        numerator = 2.01033439929228813265e-7
        numerator = numerator * r + 2.71155556874348757815e-5
        numerator = numerator * r + 1.24266094738807843860e-3
        numerator = numerator * r + 2.65321895265761230930e-2
        numerator = numerator * r + 2.96560571828504891230e-1
        numerator = numerator * r + 1.78482653991729133580
        numerator = numerator * r + 5.46378491116411436990
        numerator = numerator * r + 6.65790464350110377720
        denominator = 2.04426310338993978564e-15
        denominator = denominator * r + 1.42151175831644588870e-7
        denominator = denominator * r + 1.84631831751005468180e-5
        denominator = denominator * r + 7.86869131145613259100e-4
        denominator = denominator * r + 1.48753612908506148525e-2
        denominator = denominator * r + 1.36929880922735805310e-1
        denominator = denominator * r + 5.99832206555887937690e-1
        denominator = denominator * r + 1.0
    return -(numerator / denominator)


@kernel
def normal_quantile(p):
    """Return the x below which a standard normal variable lies with probability p, 0 < p < 1."""
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        numerator = 2.5090809287301226727e3
        numerator = numerator * r + 3.3430575583588128105e4
        numerator = numerator * r + 6.7265770927008700853e4
        numerator = numerator * r + 4.5921953931549871457e4
        numerator = numerator * r + 1.3731693765509461125e4
        numerator = numerator * r + 1.9715909503065514427e3
        numerator = numerator * r + 1.3314166789178437745e2
        numerator = numerator * r + 3.3871328727963666080
        denominator = 5.2264952788528545610e3
        denominator = denominator * r + 2.8729085735721942674e4
        denominator = denominator * r + 3.9307895800092710610e4
        denominator = denominator * r + 2.1213794301586595867e4
        denominator = denominator * r + 5.3941960214247511077e3
        denominator = denominator * r + 6.8718700749205790830e2
        denominator = denominator * r + 4.2313330701600911252e1
        denominator = denominator * r + 1.0
        return q * numerator / denominator
    if q < 0.0:
        return _quantile_in_tail(p)
    return -_quantile_in_tail(1.0 - p)


@kernel
def normal4(key, tick, lane, draw):
    """Return four independent standard normal deviates."""
    u0, u1, u2, u3 = uniform4(key, tick, lane, draw)
    return normal_quantile(u0), normal_quantile(u1), normal_quantile(u2), normal_quantile(u3)


@kernel
def normal3(key, tick, lane, draw):
    """Return the first three of `normal4`, for a quarter less."""
    u0, u1, u2, _ = uniform4(key, tick, lane, draw)
    return normal_quantile(u0), normal_quantile(u1), normal_quantile(u2)
