"""Dryden turbulence at low altitude (MIL-F-8785C).

With h the height above ground in feet, 10 to 1000, and W20 the wind speed at 20 ft:

    L_w = h,         L_u = L_v = h / (0.177 + 0.000823 h)**1.2        length scales [ft]
    sigma_w = 0.1 W20,   sigma_u = sigma_v = sigma_w / (0.177 + 0.000823 h)**0.4

White noise of unit intensity passes through the forming filters, with T = L / V for each axis:

    u:       sigma sqrt(2 T) / (1 + T s)
    v, w:    sigma sqrt(T) (1 + sqrt(3) T s) / (1 + T s)**2

so that the variances are sigma**2 and the autocorrelations exp(-t/T) and (1 - t / 2T) exp(-t/T). u is along the mean
wind, v to its right, w down.

V is the speed at which the frozen field passes the vehicle. For an aeroplane this is the airspeed. A hovering vehicle
has none: it sees the turbulence that the wind carries past. V is therefore the mean wind at height h, by the profile of
the standard

    V = W20 ln(h / z0) / ln(20 ft / z0),    z0 = 0.15 ft

For a vehicle that flies much faster than the wind, the turbulence varies too slowly. Length scales and intensities are
those of one height for the whole flight.

The filters are stepped exactly. A second-order filter is two equal lags in series, a then b, with the stationary
covariance P = [1/2 1/4; 1/4 1/4] of (a, b), scaled so that the output is sigma (sqrt(3) a + (1 - sqrt(3)) b). Over a
period dt, with x = dt / T,

    (a, b) <- A (a, b) + C xi,    A = e**-x [1 0; x 1],    C C' = Q = P - A P A'
    Q = [2 G_1  G_2; G_2  G_3] / 4,    G_n = 1 - e**-2x (1 + ... + (2x)**(n-1) / (n-1)!)

where C is the Cholesky factor of Q and xi is standard normal. The statistics therefore do not depend on the period.

References:
    MIL-F-8785C, Flying qualities of piloted airplanes (1980), 3.7.2 and 3.7.3.4.
    C. F. Van Loan, Computing integrals involving the matrix exponential, IEEE TAC 23 (1978), for the discretization.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from px4lockstep.checks import Vector3
from px4lockstep.jit import interpreted, kernel, record
from px4lockstep.math.exponential import exp, log, pow
from px4lockstep.math.philox import normal3, normal4
from px4lockstep.timebase import check_us

METRES_PER_FOOT = 0.3048
REFERENCE_HEIGHT_FT = 20.0
ROUGHNESS_FT = 0.15  # z0 of MIL-F-8785C for flight near the ground (category C)
MIN_HEIGHT_M = 3.048  # 10 ft
MAX_HEIGHT_M = 304.8  # 1000 ft
MIN_WIND_M_S = 0.01  # without wind, no turbulence is carried past the vehicle
MAX_WIND_M_S = 100.0

SQRT_3 = math.sqrt(3.0)

LONGITUDINAL = record(
    [
        ("decay gain_m_s", "f8"),
        ("vel_m_s", "f8"),  # filter state
    ],
    state="vel_m_s",
)

TRANSVERSE = record(
    [
        ("sigma_m_s", "f8"),
        ("decay", "f8"),  # A: the diagonal
        ("coupling", "f8"),  # A: from a to b
        ("gain_aa gain_ba gain_bb", "f8"),  # C
        ("lag_a lag_b", "f8"),  # filter states
    ],
    state="lag_a lag_b",
)

DRYDEN_FILTERS = record(
    [
        ("along_north along_east", "f8"),  # unit vector of the u axis
        ("along", LONGITUDINAL),  # u
        ("across", TRANSVERSE),  # v
        ("down", TRANSVERSE),  # w
    ]
)


@kernel
def step_longitudinal(axis, xi):
    """Advance the first-order filter by one period and return its velocity."""
    axis.vel_m_s = axis.decay * axis.vel_m_s + axis.gain_m_s * xi
    return axis.vel_m_s


@kernel
def step_transverse(axis, xi_a, xi_b):
    """Advance the second-order filter by one period and return its velocity."""
    lag_a = axis.decay * axis.lag_a + axis.gain_aa * xi_a
    lag_b = axis.decay * axis.lag_b + axis.coupling * axis.lag_a + axis.gain_ba * xi_a + axis.gain_bb * xi_b
    axis.lag_a = lag_a
    axis.lag_b = lag_b
    return axis.sigma_m_s * (SQRT_3 * lag_a + (1.0 - SQRT_3) * lag_b)


@kernel
def step_dryden(dryden, key, tick, turbulence_ned):
    """Advance the turbulence by one period with the noise of a stream at a tick, and write its velocity."""
    xi_u, xi_va, xi_wa = normal3(key, tick, np.int64(0), np.int64(0))
    xi_vb, xi_wb, _, _ = normal4(key, tick, np.int64(0), np.int64(1))
    along = step_longitudinal(dryden.along, xi_u)
    across = step_transverse(dryden.across, xi_va, xi_vb)
    turbulence_ned[0] = dryden.along_north * along - dryden.along_east * across
    turbulence_ned[1] = dryden.along_east * along + dryden.along_north * across
    turbulence_ned[2] = step_transverse(dryden.down, xi_wa, xi_wb)


@dataclass(frozen=True)
class Dryden:
    """Turbulence at one height above ground for a wind speed at 20 ft. `Wind` checks the limits."""

    wind_20ft_mps: float
    height_m: float

    @property
    def length_m(self) -> Vector3:
        """Length scales of u, v and w."""
        height_ft = self.height_m / METRES_PER_FOOT
        horizontal_ft = height_ft / float(interpreted(pow)(0.177 + 0.000823 * height_ft, 1.2))
        return METRES_PER_FOOT * horizontal_ft, METRES_PER_FOOT * horizontal_ft, self.height_m

    @property
    def sigma_m_s(self) -> Vector3:
        """Standard deviations of u, v and w."""
        height_ft = self.height_m / METRES_PER_FOOT
        vertical = 0.1 * self.wind_20ft_mps
        horizontal = vertical / float(interpreted(pow)(0.177 + 0.000823 * height_ft, 0.4))
        return horizontal, horizontal, vertical

    @property
    def convection_m_s(self) -> float:
        """Speed at which the turbulence passes the vehicle: the mean wind at this height."""
        height_ft = self.height_m / METRES_PER_FOOT
        ln = interpreted(log)
        profile = float(ln(height_ft / ROUGHNESS_FT)) / float(ln(REFERENCE_HEIGHT_FT / ROUGHNESS_FT))
        return self.wind_20ft_mps * profile

    @property
    def time_scale_s(self) -> Vector3:
        """Time scales T = L / V of u, v and w."""
        length_u, length_v, length_w = self.length_m
        speed = self.convection_m_s
        return length_u / speed, length_v / speed, length_w / speed

    def write(self, rec: Any, mean_ned: Vector3, period_us: int) -> None:
        """Write a `DRYDEN_FILTERS` record with filters at rest; u is along the mean wind, or north without one."""
        period_s = check_us("wind period", period_us, minimum=1) / 1e6
        rec["along_north"], rec["along_east"] = _horizontal_direction(mean_ned[0], mean_ned[1])
        sigma_u, sigma_v, sigma_w = self.sigma_m_s
        scale_u_s, scale_v_s, scale_w_s = self.time_scale_s
        gain_u_m_s = sigma_u * math.sqrt(_gamma_ratio(1, 2.0 * period_s / scale_u_s))
        rec["along"] = interpreted(exp)(-period_s / scale_u_s), gain_u_m_s, 0.0
        rec["across"] = _transverse(sigma_v, period_s / scale_v_s)
        rec["down"] = _transverse(sigma_w, period_s / scale_w_s)


def _horizontal_direction(north: float, east: float) -> tuple[float, float]:
    """Return the unit vector of a horizontal vector, or north for the zero vector."""
    largest = max(abs(north), abs(east))
    if largest == 0.0:
        return 1.0, 0.0
    # Scale first, so that the squares neither overflow nor underflow.
    north, east = north / largest, east / largest
    length = math.sqrt(north * north + east * east)
    return north / length, east / length


def _gamma_ratio(n: int, x: float) -> float:
    """Return 1 - e**-x (1 + x + ... + x**(n-1) / (n-1)!), the regularized lower incomplete gamma function P(n, x)."""
    if x > 1.0:
        partial, term = 0.0, 1.0
        for k in range(n):
            partial += term
            term = term * x / (k + 1)
        return 1.0 - float(interpreted(exp)(-x)) * partial
    # For small x the difference above cancels; sum the remainder of the exponential series instead.
    term = 1.0
    for k in range(1, n + 1):
        term = term * x / k
    rest, k = 0.0, n
    while rest + term != rest:
        rest += term
        k += 1
        term = term * x / k
    return float(interpreted(exp)(-x)) * rest


def _transverse(sigma_m_s: float, x: float) -> tuple[float, ...]:
    """Return a `TRANSVERSE` record with the second-order filter at rest; x is the period over the time scale."""
    q_aa = 0.5 * _gamma_ratio(1, 2.0 * x)
    q_ab = 0.25 * _gamma_ratio(2, 2.0 * x)
    q_bb = 0.25 * _gamma_ratio(3, 2.0 * x)
    gain_aa = math.sqrt(q_aa)
    gain_ba = q_ab / gain_aa
    decay = float(interpreted(exp)(-x))
    gain_bb = math.sqrt(max(q_bb - gain_ba * gain_ba, 0.0))
    return sigma_m_s, decay, x * decay, gain_aa, gain_ba, gain_bb, 0.0, 0.0
