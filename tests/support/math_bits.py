"""Evaluate every kernel of px4lockstep.math on a fixed grid; NaNs are equal whatever their payload."""

import hashlib

import numpy as np

from px4lockstep.jit import kernel, rows
from px4lockstep.math import exponential, philox, quaternion, trigonometry

SPECIAL = [
    *(0.0, 5e-324, 1e-310, 2.2250738585072014e-308, 1e-160, 1e-20, 1e-8, 0.046875, 0.5, 0.6875, 0.7071067811865476),
    *(0.9999999999999999, 1.0, 1.0000000000000002, 1.375, 1.5707963267948966, 2.0, 3.0, 3.141592653589793, 4.2559),
    *(33.0, 709.782712893384, 745.1332191019412, 823549.5, 823551.0, 9007199254740991.0, 9007199254740993.0, 1e22),
    *(1e160, 5.319372648326541e255, 1.7976931348623157e308, float("inf"), float("nan")),
]


def make_grid():
    """Return pairs of numbers: special ones with each other, then a spread of exponents, then moderate ones."""
    signed = [sign * value for value in SPECIAL for sign in (1.0, -1.0)]
    pairs = [(x, y) for x in signed for y in signed[::5]]
    state = 1
    for i in range(4000):
        # Knuth's MMIX generator, so that the grid depends on nothing under test.
        words = []
        for _ in range(2):
            state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
            words.append(state)
        if i % 2:
            x, y = (float(np.uint64(word).view(np.float64)) for word in words)
        else:
            x, y = words[0] / (1 << 63) - 1.0, 20.0 * (words[1] / (1 << 63) - 1.0)
        pairs.append((x, y))
    return np.array(pairs)


@kernel
def put(out, i, column, values):
    """Write several numbers into a row and return the column after them."""
    for value in values:
        out[i, column] = value
        column += 1
    return column


@kernel
def evaluate_functions(x, y, out):
    """Fill a row with the elementary functions."""
    for i in range(len(x)):
        out[i, 0] = exponential.exp(x[i])
        out[i, 1] = exponential.log(x[i])
        out[i, 2] = exponential.pow(x[i], y[i])
        out[i, 3] = trigonometry.sin(x[i])
        out[i, 4] = trigonometry.cos(x[i])
        out[i, 5], out[i, 6] = trigonometry.sincos(y[i])
        out[i, 7] = trigonometry.atan(x[i])
        out[i, 8] = trigonometry.atan2(x[i], y[i])
        out[i, 9] = trigonometry.asin(x[i])
        out[i, 10] = trigonometry.acos(x[i])
        out[i, 11] = exponential.pow(0.6 + 0.01 * (i % 50), 4.2559)


@kernel
def evaluate_quaternions(x, y, out):
    """Fill a row with quaternions and derived values, from numbers of moderate size."""
    for i in range(len(x)):
        vector = (x[i], y[i], x[i] - 0.25 * y[i])
        p = quaternion.normalize((y[i], x[i], 0.3, -0.1))
        q = quaternion.exponential(vector)
        dcm = quaternion.to_dcm(q)
        # A typed number: with a literal one `put` would be compiled for each value.
        column = np.int64(0)
        column = put(out, i, column, p)
        column = put(out, i, column, q)
        column = put(out, i, column, quaternion.multiply(p, q))
        column = put(out, i, column, quaternion.conjugate(q))
        column = put(out, i, column, quaternion.derivative(q, vector))
        column = put(out, i, column, quaternion.from_dcm(dcm))
        column = put(out, i, column, quaternion.from_euler(x[i], y[i], -x[i]))
        column = put(out, i, column, quaternion.rotate(p, vector))
        column = put(out, i, column, quaternion.rotate_inverse(p, vector))
        column = put(out, i, column, quaternion.to_euler(q))
        column = put(out, i, column, quaternion.logarithm(p))
        column = put(out, i, column, dcm)
        out[i, column] = quaternion.yaw(p)
        out[i, column + 1] = quaternion.angle_between(p, q)


@kernel
def evaluate_random(key, lane, out):
    """Fill a row with random numbers."""
    tail = 1.2e-16
    for i in range(len(out)):
        tick = i * 85899345
        word, _, _, _ = philox.block(key, tick, lane, i)
        out[i, 0] = float(np.int64(word))
        out[i, 1], out[i, 2] = philox.uniform2(key, tick, i, lane)
        out[i, 3], out[i, 4], out[i, 5], out[i, 6] = philox.uniform4(key, tick, lane, i)
        out[i, 7], out[i, 8], out[i, 9], out[i, 10] = philox.normal4(key, tick, i, lane)
        out[i, 11] = philox.normal_quantile((i + 0.5) / len(out))
        out[i, 12] = philox.normal_quantile(tail)
        out[i, 13] = philox.normal_quantile(1.0 - tail)
        out[i, 14] = philox.normal_quantile(2.0 * i - 1.0)
        out[i, 15] = philox.normal_of_word((word * word) >> np.uint64(32))
        tail = 1.19 * tail


def hash_results(wrap):
    """Return the hash over all results, with arrays passed to the kernels through `wrap`."""
    grid = make_grid()
    x, y = grid[:, 0].copy(), grid[:, 1].copy()
    is_moderate = (np.abs(x) < 1e100) & (np.abs(y) < 1e100)
    functions = np.zeros((len(x), 12))
    quaternions = np.zeros((np.count_nonzero(is_moderate), 51))
    random = np.zeros((200, 16))
    evaluate_functions(wrap(x), wrap(y), functions)
    evaluate_quaternions(wrap(x[is_moderate]), wrap(y[is_moderate]), quaternions)
    evaluate_random(philox.stream_key(7, "bits"), 3, random)
    digest = hashlib.sha256()
    for results in (functions, quaternions, random):
        results[np.isnan(results)] = np.nan
        digest.update(results.tobytes())
    return digest.hexdigest()


def digest_lines():
    """Yield the hash, with Python's floats (from `rows`) and with NumPy's (from the array itself)."""
    yield hash_results(rows)
    yield hash_results(np.asarray)
