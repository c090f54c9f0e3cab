"""The random numbers: known answers, counters, and statistics with bounds of five standard errors."""

import math

import numpy as np
import pytest

from px4lockstep.errors import InputError
from px4lockstep.jit import kernel, zeros
from px4lockstep.math import philox

COUNT = 1 << 17  # blocks in each sample, of four numbers

SMALLEST_NORMAL = -6.3379577545537892525  # by mpmath, the quantile of 2**-33


@kernel
def fill_normals(key, lane, draw, out):
    """Write the four normal deviates of each tick."""
    for tick in range(len(out)):
        out[tick, 0], out[tick, 1], out[tick, 2], out[tick, 3] = philox.normal4(key, tick, lane, draw)


@kernel
def fill_uniforms(key, lane, draw, out):
    """Write the four 32-bit and the two 52-bit uniform deviates of each tick."""
    for tick in range(len(out)):
        out[tick, 0], out[tick, 1], out[tick, 2], out[tick, 3] = philox.uniform4(key, tick, lane, draw)
        out[tick, 4], out[tick, 5] = philox.uniform2(key, tick, lane, draw)


def normals(name, lane=0, draw=0, seed=1, count=COUNT):
    out = np.empty((count, 4))
    fill_normals(philox.stream_key(seed, name), lane, draw, out)
    return out


def reference_block(counter, key):
    """Compute Philox 4x32-10 with Python integers, following the formula in the paper."""
    c, k = list(counter), list(key)
    for _ in range(10):
        product_0, product_1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [
            (product_1 >> 32) ^ c[1] ^ k[0],
            product_1 % (1 << 32),
            (product_0 >> 32) ^ c[3] ^ k[1],
            product_0 % (1 << 32),
        ]
        k = [(k[0] + 0x9E3779B9) % (1 << 32), (k[1] + 0xBB67AE85) % (1 << 32)]
    return c


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_published_answers(counter, key, expected):
    """These are the vectors for philox4x32-10 in `kat_vectors` of Random123, the authors' implementation."""
    words = philox.philox4x32(*[np.uint64(word) for word in (*counter, *key)])
    assert tuple(int(word) for word in words) == expected


@pytest.mark.parametrize("tick", [0, 1, 0xFFFFFFFF, 0x100000000, 0x123456789ABCDEF, (1 << 63) - 1])
def test_block_builds_the_counter_from_tick_lane_and_draw(tick):
    """Key low and high, counter = tick low, tick high, lane, draw."""
    key = 0xFEDCBA9876543210
    words = philox.block(np.uint64(key), tick, 5, 0xFFFFFFFF)
    counter = (tick % (1 << 32), tick >> 32, 5, 0xFFFFFFFF)
    assert [int(word) for word in words] == reference_block(counter, (0x76543210, 0xFEDCBA98))


def test_uniforms_are_the_middles_of_equal_intervals():
    """32 bits of one word, or 52 of two, plus half a unit: exact, and never 0 or 1."""
    key = philox.stream_key(3, "uniform")
    words = [int(word) for word in philox.block(key, 17, 1, 2)]
    assert philox.uniform4(key, 17, 1, 2) == tuple((word + 0.5) / 2.0**32 for word in words)
    pairs = [(words[0] << 20) + (words[1] >> 12), (words[2] << 20) + (words[3] >> 12)]
    assert philox.uniform2(key, 17, 1, 2) == tuple((pair + 0.5) / 2.0**52 for pair in pairs)
    assert 0.0 < 0.5 / 2.0**52
    assert ((1 << 52) - 1 + 0.5) / 2.0**52 < 1.0


@pytest.mark.parametrize(
    ("seed", "name", "expected"),
    [
        (0, "", "482ae5a29fbe856c"),
        (1, "wind", "2e2a7534718370a1"),
        ((1 << 64) - 1, "imu.gyro", "706576bc65280182"),
        (42, "höhe", "2f99eb2c188d8b12"),
    ],
)
def test_stream_keys_never_change(seed, name, expected):
    """The first bytes that `b2sum` gives for the seed and the name, read as a little-endian number."""
    key = philox.stream_key(seed, name)
    assert isinstance(key, np.uint64)
    assert key == int.from_bytes(bytes.fromhex(expected), "little")


@pytest.mark.parametrize("seed", [-1, 1 << 64, 1.0, "1", None, True])
def test_a_seed_out_of_range_is_refused_by_name(seed):
    """The message has the value and the allowed range."""
    with pytest.raises(InputError, match=r"seed = .* from 0 to 2\*\*64 - 1") as caught:
        philox.stream_key(seed, "wind")
    assert repr(seed) in str(caught.value)


def test_adding_a_stream_does_not_change_the_others():
    """They are bit-identical, independent of the order in which the streams are drawn."""
    before = {name: normals(name, count=100).tobytes() for name in ("wind", "imu", "gps")}
    after = {name: normals(name, count=100).tobytes() for name in ("gps", "barometer", "imu", "wind")}
    assert {name: after[name] for name in before} == before
    assert len(set(after.values())) == 4


def test_a_draw_depends_only_on_its_counter():
    """Drawing only the last tick gives the last tick of the whole sequence."""
    key = philox.stream_key(1, "wind")
    assert philox.normal4(key, 99, 2, 7) == tuple(normals("wind", lane=2, draw=7, count=100)[99])


def test_normals_are_the_quantiles_of_the_uniforms():
    """They are bit-identical, word by word, for the same counter."""
    key = philox.stream_key(1, "wind")
    for tick in range(100):
        uniforms = philox.uniform4(key, tick, 2, 7)
        assert philox.normal4(key, tick, 2, 7) == tuple(philox.normal_quantile(u) for u in uniforms)


def test_three_normals_are_the_first_of_four():
    """They are bit-identical for the same counter."""
    key = philox.stream_key(1, "wind")
    for tick in range(100):
        assert philox.normal3(key, tick, 2, 7) == philox.normal4(key, tick, 2, 7)[:3]


@pytest.mark.parametrize("start", [0, 5, 2**32 - 40, 2**53 - 100])
def test_words_drawn_ahead_are_those_of_single_blocks(start):
    """They are bit-identical forwards, backwards, by jumps, and when the key changes within a batch."""
    fours, threes = zeros(philox.AHEAD)[0], zeros(philox.AHEAD)[0]
    key, other = philox.stream_key(1, "wind"), philox.stream_key(2, "wind")
    ticks = [*range(start, start + 50), *range(start + 49, start - 1, -1), start + 90, start + 1]
    for of in (key, other):
        for tick in map(np.int64, ticks):
            assert philox.normal4_ahead(fours, of, tick, np.int64(2), np.int64(7)) == philox.normal4(of, tick, 2, 7)
    for tick in map(np.int64, range(start, start + 20)):
        for of in (key, other):
            assert philox.normal3_ahead(threes, of, tick, np.int64(2), np.int64(7)) == philox.normal3(of, tick, 2, 7)


def test_uniforms_have_the_moments_of_the_uniform_distribution():
    """Mean 1/2, variance 1/12, and chi-squared of 256 bins are within five standard errors."""
    out = np.empty((COUNT, 6))
    fill_uniforms(philox.stream_key(1, "uniform"), 0, 0, out)
    assert out.min() > 0.0
    assert out.max() < 1.0
    for column in out.T:
        assert abs(column.mean() - 0.5) < 5.0 * math.sqrt(1.0 / 12.0 / COUNT)
        assert abs(column.var() - 1.0 / 12.0) < 5.0 * math.sqrt(1.0 / 180.0 / COUNT)
        counts = np.bincount((column * 256.0).astype(np.int64), minlength=256)
        chi_squared = np.sum((counts - COUNT / 256.0) ** 2) / (COUNT / 256.0)
        assert abs(chi_squared - 255.0) < 5.0 * math.sqrt(2.0 * 255.0)


def test_normals_have_the_moments_of_the_normal_distribution():
    """Mean 0, variance 1, skewness 0 and kurtosis 3 are within five standard errors."""
    sample = normals("wind").ravel()
    n = sample.size
    assert abs(sample.mean()) < 5.0 / math.sqrt(n)
    assert abs(sample.var() - 1.0) < 5.0 * math.sqrt(2.0 / n)
    assert abs(np.mean(sample**3)) < 5.0 * math.sqrt(15.0 / n)
    assert abs(np.mean(sample**4) - 3.0) < 5.0 * math.sqrt(96.0 / n)


def test_streams_seeds_lanes_draws_ticks_and_words_are_independent():
    """Correlations of the numbers and of their squares are zero within five standard errors, 5 / sqrt(n)."""
    base = normals("wind")
    others = {
        "stream": normals("wind2"),
        "seed": normals("wind", seed=2),
        "lane": normals("wind", lane=1),
        "draw": normals("wind", draw=1),
        "tick": np.roll(base, 1, axis=0),
        "word": np.roll(base, 1, axis=1),
    }
    limit = 5.0 / math.sqrt(COUNT)
    for name, other in others.items():
        for word in range(4):
            a, b = base[:, word], other[:, word]
            assert abs(np.corrcoef(a, b)[0, 1]) < limit, name
            assert abs(np.corrcoef(a * a, b * b)[0, 1]) < limit, name


EDGES = [((8 + segment << octave) + 7) // 16 for octave in range(32) for segment in range(8)]
"""The first words of the segments below p = 1/2; each segment has its own polynomial in p = (word + 1/2) / 2**32."""


def test_normals_of_all_words_are_odd_about_one_half():
    """A word and its complement, p and 1 - p, give exactly opposite deviates, and the median is 0."""
    words = [*EDGES, *range(0, 1 << 31, 7_919_191), (1 << 31) - 1]
    for word in words:
        x = philox.normal_of_word(np.uint64(word))
        assert x < 0.0
        assert philox.normal_of_word(np.uint64((1 << 32) - 1 - word)) == -x
        assert philox.normal_quantile((word + 0.5) / 2.0**32) == x
        assert philox.normal_quantile(1.0 - (word + 0.5) / 2.0**32) == -x
    assert philox.normal_quantile(0.5) == 0.0


def test_normals_rise_with_the_word():
    """Also between segments: deviates of successive words differ by 5.8e-10 or more, polynomials agree within 2e-13."""
    for edge in EDGES:
        words = range(max(edge - 20, 0), min(edge + 20, 1 << 31))
        deviates = [philox.normal_of_word(np.uint64(word)) for word in words]
        assert all(np.diff(deviates) > 0.0), edge
    across_the_median = [philox.normal_of_word(np.uint64(word)) for word in range((1 << 31) - 20, (1 << 31) + 20)]
    assert all(np.diff(across_the_median) > 5.8e-10)


def test_normals_end_with_the_last_words():
    """At the quantiles of 2**-33 and 1 - 2**-33, within 1e-13; next to the median the deviate is 2.9e-10."""
    assert philox.normal_of_word(np.uint64(0)) == pytest.approx(SMALLEST_NORMAL, abs=1e-13)
    assert philox.normal_of_word(np.uint64((1 << 32) - 1)) == pytest.approx(-SMALLEST_NORMAL, abs=1e-13)
    assert philox.normal_of_word(np.uint64(1 << 31)) == pytest.approx(math.sqrt(2.0 * math.pi) / 2.0**33, abs=1e-15)


@pytest.mark.parametrize("p", [0.0, -0.25, 1.0, 1.25, 2.0**-54, 1e-300, math.inf, -math.inf, math.nan])
def test_the_quantile_outside_the_range_of_uniforms_is_nan(p):
    """Below 2**-53 and above 1 - 2**-53, the range of the 52-bit uniforms, there are no polynomials."""
    assert math.isnan(philox.normal_quantile(p))
    assert math.isfinite(philox.normal_quantile(2.0**-53))
    assert philox.normal_quantile(1.0 - 2.0**-53) == -philox.normal_quantile(2.0**-53)
