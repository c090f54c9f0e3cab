"""The exponential map of rotations against mpmath, from tiny rotations to many turns."""

import mpmath
import numpy as np

from px4lockstep.math import quaternion

# Norm, sine, quotient and product: four roundings of 2**-53, in units of each component.
RELATIVE = 8 * 2.0**-53


def exact_exponential(rotation):
    """Return (cos(a / 2), sin(a / 2) v / a) with fifty digits."""
    v = [mpmath.mpf(c) for c in rotation]
    angle = mpmath.sqrt(sum(c * c for c in v))
    return [mpmath.cos(angle / 2), *(mpmath.sin(angle / 2) * c / angle for c in v)]


def test_exponential_map_is_accurate_at_every_angle():
    """Errors are relative to each vector component below a radian, to the slope of the sine above, and to 1 for w."""
    rng = np.random.default_rng(5)
    with mpmath.workdps(50):
        for exponent in np.linspace(-300.0, 1.5, 1500):
            rotation = tuple(float(c) for c in 10.0**exponent * rng.uniform(-1.0, 1.0, 3))
            angle = float(np.linalg.norm(np.array(rotation) / max(map(abs, rotation)))) * max(map(abs, rotation))
            found = quaternion.exponential(rotation)
            exact = exact_exponential(rotation)
            assert abs(found[0] - exact[0]) <= RELATIVE * max(1.0, angle)
            for one, other, component in zip(found[1:], exact[1:], rotation, strict=True):
                if angle < 1.0:
                    assert abs(one - other) <= RELATIVE * abs(other)
                else:
                    assert abs(one - other) <= RELATIVE * abs(component)


def test_logarithm_is_accurate_at_every_angle():
    """The result is 2 atan2(|v|, w) v / |v|, relative to each component, for quaternions of any norm."""
    rng = np.random.default_rng(6)
    with mpmath.workdps(50):
        for exponent in np.linspace(-150.0, 4.0, 1000):
            w = float(rng.uniform(0.1, 1.0))
            v = [float(c) for c in 10.0**exponent * rng.uniform(-1.0, 1.0, 3)]
            sine = mpmath.sqrt(sum(mpmath.mpf(c) * mpmath.mpf(c) for c in v))
            scale = 2 * mpmath.atan2(sine, w) / sine
            for found, c in zip(quaternion.logarithm((w, *v)), v, strict=True):
                assert abs(found - scale * c) <= RELATIVE * abs(scale * c)
