"""Counter-based random numbers: Philox 4x32-10, and normal deviates from it.

A block of four 32-bit words is a pure function of a key and a counter; there is no state, and no draw depends on
another. In each of ten rounds, with (hi, lo) the halves of a 64-bit product,

    hi_0, lo_0 = M_0 c_0,   hi_1, lo_1 = M_1 c_2
    (c_0, c_1, c_2, c_3) <- (hi_1 ^ c_1 ^ k_0, lo_1, hi_0 ^ c_3 ^ k_1, lo_0),   k_0 += W_0,  k_1 += W_1

    key     = low and high half of `stream_key(seed, name)`
    counter = (tick, low half; tick, high half; lane; draw)

A stream is one source of randomness (the noise of a sensor, the wind); the tick is its time, the lane one of its axes
or groups, and the draw the number of the block within a tick. Adding a stream does not change the others.

Normal deviates are the inverse normal distribution function of 32-bit uniforms, so they are limited to 6.3 standard
deviations. The function is odd about p = 1/2; below, exponent and three leading digits of p select a polynomial:

    p = 2**e (1 + (s + (1 + t) / 2) / 8),  s = 0 ... 7,  -1 <= t < 1
    x = c_0 + c_1 t + ... + c_7 t**7,    c of (e, s) from `normal_table.f8`

There are no divisions, and no branches on p, which a processor could not predict. Each polynomial interpolates the
quantile at the eight Chebyshev points of its segment, with an error of at most 6e-14; its coefficients are rounded from
140 bits to the nearest doubles. `tests/support/make_normal_table.py` computes them with mpmath and writes the file, and
`tests/against/test_normal_against_mpmath.py` computes them again and compares.

A source that draws at every tick keeps the deviates of 16 ticks in an `AHEAD` record. Their rounds are computed
together, in a loop that compilers vectorize. This takes half the time of single draws; the deviates are the same.

Reference:
    J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random numbers: as easy as 1, 2, 3, SC11 (2011).
"""

import hashlib
import math
from pathlib import Path

import numpy as np

from px4lockstep.errors import InputError
from px4lockstep.jit import kernel, record

# Every operand is an np.uint64: compiled and interpreted code handle a mix with signed integers differently.
_MULTIPLIER_0, _MULTIPLIER_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)  # golden ratio, sqrt(3) - 1
_WORD = np.uint64(0xFFFFFFFF)
_WORD_BITS, _TWENTY, _TWELVE = np.uint64(32), np.uint64(20), np.uint64(12)

_ROUNDS = 10
_UNIT_32, _UNIT_52 = 1.0 / (1 << 32), 1.0 / (1 << 52)

# Each octave of p is at the index given by the last six bits of its exponent; unused ones are 0, which is right for
# p = 1/2. Compiled kernels contain the table and are stamped with this source, whose digest changes with the table.
COEFFICIENTS, SEGMENTS, OCTAVES = 8, 8, 64
ROWS_SHA256 = "d3bbe00c2f668aa50235a378ebcec8df1fb0849456601ed94656fd9b55345153"
_ROWS_BYTES = Path(__file__).with_name("normal_table.f8").read_bytes()
if hashlib.sha256(_ROWS_BYTES).hexdigest() != ROWS_SHA256:
    raise ImportError("math/normal_table.f8 is damaged or from another version; reinstall px4lockstep")
ROWS = np.frombuffer(_ROWS_BYTES, "<f8").copy()

BATCH = 16
"""Ticks whose words are computed together: from 16 on, LLVM vectorizes the loop instead of unrolling it."""
AHEAD = record(
    [
        ("key", "u8"),
        ("stop_tick", "i8"),  # after the last tick of the batch
        ("word_0 word_1 word_2 word_3", "u8", BATCH),
        ("normal", "f8", (BATCH, 4)),
    ],
    transient="key stop_tick word_0 word_1 word_2 word_3 normal",
)
"""Normal deviates of one lane and draw of a stream for 16 ticks, from a multiple of 16 on; zeros if there are none."""

_NAN = math.nan
_SMALLEST_P = 1.0 / (1 << 53)
# Parts of the bits of p: the index of the row's first entry, masked so that the compiler can omit the bounds checks;
# and the digits below the segment, which combined with the exponent of 16 give 17 + t.
_SEGMENT_BITS = 52 - (SEGMENTS.bit_length() - 1)
_ROW_SHIFT = _SEGMENT_BITS - (COEFFICIENTS.bit_length() - 1)
_ROW_MASK = (OCTAVES * SEGMENTS - 1) * COEFFICIENTS
_BELOW_SEGMENT = (1 << _SEGMENT_BITS) - 1
_BITS_OF_SIXTEEN = 0x4030000000000000
_THIRTY_THREE_OCTAVES = 33 << 52


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
        raise InputError(f"seed = {seed!r} is invalid; use an integer from 0 to 2**64 - 1 ({(1 << 64) - 1})")
    digest = hashlib.blake2b(int(seed).to_bytes(8, "little") + name.encode()).digest()
    return np.uint64(int.from_bytes(digest[:8], "little"))


@kernel
def philox4x32(c0, c1, c2, c3, k0, k1):
    """Return the four words of Philox 4x32-10 for a counter and a key, all uint64 below 2**32."""
    c0, c1, c2, c3 = np.uint64(c0), np.uint64(c1), np.uint64(c2), np.uint64(c3)
    k0, k1 = np.uint64(k0), np.uint64(k1)
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
    """Return four 32-bit words, as uint64, of a stream; tick, lane and draw are non-negative integers."""
    key = np.uint64(key)
    tick = np.uint64(tick)
    lane, draw = np.uint64(lane) & _WORD, np.uint64(draw) & _WORD
    return philox4x32(tick & _WORD, tick >> _WORD_BITS, lane, draw, key & _WORD, key >> _WORD_BITS)


@kernel
def uniform2(key, tick, lane, draw):
    """Return two uniform deviates of 52 bits, above 0 and below 1; interpreted, also of arrays of ticks."""
    w0, w1, w2, w3 = block(key, tick, lane, draw)
    first = np.int64((w0 << _TWENTY) | (w1 >> _TWELVE))
    second = np.int64((w2 << _TWENTY) | (w3 >> _TWELVE))
    return (np.float64(first) + 0.5) * _UNIT_52, (np.float64(second) + 0.5) * _UNIT_52


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
def _quantile_of_bits(bits, is_upper):
    """Return the quantile of p, or of 1 - p if `is_upper` is 1, from the bits of p with 2**-53 <= p <= 1/2."""
    i = (bits >> _ROW_SHIFT) & _ROW_MASK
    t = float(np.int64((bits & _BELOW_SEGMENT) | _BITS_OF_SIXTEEN).view(np.float64)) - 17.0
    t2 = t * t
    low = (float(ROWS[i]) + t * float(ROWS[i + 1])) + t2 * (float(ROWS[i + 2]) + t * float(ROWS[i + 3]))
    high = (float(ROWS[i + 4]) + t * float(ROWS[i + 5])) + t2 * (float(ROWS[i + 6]) + t * float(ROWS[i + 7]))
    x = low + (t2 * t2) * high
    # Flip the sign bit with integers: half of the branches on it would be mispredicted.
    return float(np.int64(int(np.float64(x).view(np.int64)) ^ (-is_upper << 63)).view(np.float64))


@kernel
def normal_quantile(p):
    """Return the x below which a standard normal variable lies with probability p, within 1e-13.

    p must be from 2**-53 to 1 - 2**-53, the range of `uniform2`; otherwise the result is NaN.
    """
    p = float(p)
    if not _SMALLEST_P <= p <= 1.0 - _SMALLEST_P:
        return _NAN
    is_upper = 0
    if p > 0.5:
        is_upper = 1
        p = 1.0 - p  # exact
    return _quantile_of_bits(int(np.float64(p).view(np.int64)), is_upper)


@kernel
def normal_of_word(word):
    """Return the normal deviate of a 32-bit word: `normal_quantile((word + 1/2) / 2**32)` without branches."""
    word = int(np.int64(word))
    is_upper = word >> 31
    folded = word ^ (-is_upper & 0xFFFFFFFF)
    # p 2**33 is an odd integer with the digits of p; the exponent is corrected in the bits.
    bits = int(np.float64(float(2 * folded + 1)).view(np.int64)) - _THIRTY_THREE_OCTAVES
    return _quantile_of_bits(bits, is_upper)


@kernel
def normal4(key, tick, lane, draw):
    """Return four independent standard normal deviates."""
    w0, w1, w2, w3 = block(key, tick, lane, draw)
    return normal_of_word(w0), normal_of_word(w1), normal_of_word(w2), normal_of_word(w3)


@kernel
def normal3(key, tick, lane, draw):
    """Return the first three deviates of `normal4`, at lower cost."""
    w0, w1, w2, _ = block(key, tick, lane, draw)
    return normal_of_word(w0), normal_of_word(w1), normal_of_word(w2)


@kernel
def draw_ahead(ahead, key, first_tick, lane, draw, count):
    """Compute the normal deviates of 16 ticks, from a multiple of 16 on; `count` of each block, 3 or 4."""
    c0, c1, c2, c3 = ahead.word_0, ahead.word_1, ahead.word_2, ahead.word_3
    key, first = np.uint64(key), np.uint64(first_tick)
    k0, k1 = key & _WORD, key >> _WORD_BITS
    for i in range(BATCH):
        c0[i] = (first & _WORD) + np.uint64(i)  # no carry, since the first tick is a multiple of 16
        c1[i] = first >> _WORD_BITS
        c2[i] = np.uint64(lane)
        c3[i] = np.uint64(draw)
    for _ in range(_ROUNDS):
        for i in range(BATCH):
            # The masks change nothing, but tell the compiler that 32 by 32 bits are multiplied.
            product_0 = _MULTIPLIER_0 * (c0[i] & _WORD)
            product_1 = _MULTIPLIER_1 * (c2[i] & _WORD)
            c0[i] = (product_1 >> _WORD_BITS) ^ c1[i] ^ k0
            c1[i] = product_1 & _WORD
            c2[i] = (product_0 >> _WORD_BITS) ^ c3[i] ^ k1
            c3[i] = product_0 & _WORD
        k0 = (k0 + _WEYL_0) & _WORD
        k1 = (k1 + _WEYL_1) & _WORD
    for i in range(BATCH):
        write_normals(ahead, i, count)
    ahead.key = key
    ahead.stop_tick = first_tick + BATCH


@kernel
def write_normals(ahead, i, count):
    """Convert the words of one tick; if it were inlined, LLVM would gather coefficients, which takes twice the time."""
    normal = ahead.normal
    normal[i, 0] = normal_of_word(ahead.word_0[i])
    normal[i, 1] = normal_of_word(ahead.word_1[i])
    normal[i, 2] = normal_of_word(ahead.word_2[i])
    if count > 3:
        normal[i, 3] = normal_of_word(ahead.word_3[i])


@kernel
def normals_ahead(ahead, key, tick, lane, draw, count):
    """Return the index of a tick's deviates in the batch, which is computed if it holds those of other ticks."""
    i = tick & (BATCH - 1)
    if ahead.stop_tick != tick - i + BATCH or ahead.key != key:
        draw_ahead(ahead, key, tick - i, lane, draw, count)
    return i


@kernel
def normal4_ahead(ahead, key, tick, lane, draw):
    """Return `normal4` from a batch; its record belongs to one lane and draw, and to this function."""
    i = normals_ahead(ahead, key, tick, lane, draw, np.int64(4))
    return ahead.normal[i, 0], ahead.normal[i, 1], ahead.normal[i, 2], ahead.normal[i, 3]


@kernel
def normal3_ahead(ahead, key, tick, lane, draw):
    """Return the first three deviates of `normal4_ahead`, at lower cost."""
    i = normals_ahead(ahead, key, tick, lane, draw, np.int64(3))
    return ahead.normal[i, 0], ahead.normal[i, 1], ahead.normal[i, 2]
