"""The normal deviates against SciPy's normal distribution."""

import numpy as np
from scipy import stats

from px4lockstep.jit import kernel
from px4lockstep.math import philox


@kernel
def quantiles(p, out):
    """Evaluate the normal quantile on an array."""
    for i in range(len(p)):
        out[i] = philox.normal_quantile(p[i])


@kernel
def fill(key, uniforms, normals):
    """Write both kinds of deviates for the same counters."""
    for tick in range(len(uniforms)):
        uniforms[tick, 0], uniforms[tick, 1], uniforms[tick, 2], uniforms[tick, 3] = philox.uniform4(
            key, tick, tick, tick
        )
        normals[tick, 0], normals[tick, 1], normals[tick, 2], normals[tick, 3] = philox.normal4(key, tick, tick, tick)


def test_normal_quantile_agrees_with_scipy():
    """The polynomials are within 1e-13; SciPy's rounding is below 4e-15."""
    p = np.concatenate([np.linspace(1e-4, 1.0 - 1e-4, 20001), np.logspace(-15.9, -1.0, 5000)])
    result = np.empty_like(p)
    quantiles(p, result)
    assert np.max(np.abs(result - stats.norm.ppf(p))) < 1e-13


def test_normals_are_the_quantiles_of_the_uniforms():
    """Word by word, for the same counter; the tolerance is that of the quantile."""
    uniforms, normals = np.empty((2000, 4)), np.empty((2000, 4))
    fill(philox.stream_key(9, "scipy"), uniforms, normals)
    assert np.max(np.abs(normals - stats.norm.ppf(uniforms))) < 1e-13


def test_normals_follow_the_normal_distribution():
    """Kolmogorov-Smirnov test; for this fixed sample, a p-value below 1e-4 indicates a defect."""
    uniforms, normals = np.empty((50000, 4)), np.empty((50000, 4))
    fill(philox.stream_key(10, "scipy"), uniforms, normals)
    assert stats.kstest(normals.ravel(), "norm").pvalue > 1e-4
    assert stats.kstest(uniforms.ravel(), "uniform").pvalue > 1e-4
