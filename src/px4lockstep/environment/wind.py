"""Wind: the velocity of the air relative to the ground, stepped on the wind axis and held between its ticks.

    none        v = 0
    constant    v = mean
    ou          v = mean + w,    w <- phi w + sigma sqrt(1 - phi**2) xi,    phi = exp(-dt / tau)
    dryden      v = mean + w,    w by `dryden.py`

The Ornstein-Uhlenbeck process is stepped exactly: its variance is sigma**2 and its autocorrelation exp(-t / tau) for
every period dt. xi is standard normal, a pure function of (seed, "wind", tick, axis). Turbulence starts at 0 and is
stepped before its first sample, so it builds up over a few tau. The wind does not depend on height or position. Gusts
are added to it (`gust.py`).

Reference:
    D. T. Gillespie, Exact numerical simulation of the Ornstein-Uhlenbeck process and its integral, Phys. Rev. E 54
    (1996), 2084-2091.
"""

import functools
import math
from typing import Annotated, Any, Literal

import numpy as np

from px4lockstep.environment import dryden
from px4lockstep.jit import interpreted, kernel, record
from px4lockstep.jit.records import COUNT
from px4lockstep.math.exponential import exp
from px4lockstep.math.philox import AHEAD, normal3_ahead, stream_key
from px4lockstep.part import NotNegativeVector, Part, Vector, entry
from px4lockstep.part.kinds import CODE, Options, PythonKind, folder_entry, kind_or_class, number_of, options_entry
from px4lockstep.part.limits import WIND_LIMITS
from px4lockstep.timebase import check_us

NONE, CONSTANT, OU, DRYDEN = range(4)
KINDS = {"none": NONE, "constant": CONSTANT, "ou": OU, "dryden": DRYDEN}
SPELLINGS = {"no": "none", "off": "none", "no_wind": "none", "const": "constant", "ou_wind": "ou", "turbulence": "ou"}
"""Other spellings of the kinds, as in files of PX4Lockstep.jl."""

WIND = record(
    [
        ("kind", "i8"),
        ("key", "u8"),  # key of the random stream
        ("tick", "i8"),  # the next tick of the wind axis
        ("mean_ned", "f8", 3),
        ("decay", "f8"),  # ou: phi
        ("gain_ned", "f8", 3),  # ou: sigma sqrt(1 - phi**2)
        ("turbulence_ned", "f8", 3),  # ou: state; dryden: last output
        ("dryden", dryden.DRYDEN_FILTERS),
        ("ahead", AHEAD),  # ou
    ],
    state="tick turbulence_ned",
    limits={"tick": COUNT},
)


@kernel
def step_ou(wind):
    """Advance the Ornstein-Uhlenbeck process by one period."""
    xi = normal3_ahead(wind.ahead, wind.key, wind.tick, np.int64(0), np.int64(0))
    for i in range(3):
        wind.turbulence_ned[i] = wind.decay * wind.turbulence_ned[i] + wind.gain_ned[i] * xi[i]


@kernel
def step_wind(wind, air):
    """Run one tick of the wind axis: advance the turbulence, then write the wind velocity to `air.vel_ned`."""
    if wind.kind == OU:
        step_ou(wind)
    elif wind.kind == DRYDEN:
        dryden.step_dryden(wind.dryden, wind.key, wind.tick, wind.turbulence_ned)
    wind.tick += 1
    for i in range(3):
        air.vel_ned[i] = wind.mean_ned[i] + wind.turbulence_ned[i]


@functools.lru_cache(maxsize=64)
def gauss_markov(period_us: int, tau_s: float) -> tuple[float, float]:
    """Return phi = exp(-dt / tau) and sqrt(1 - phi**2), the coefficients of a process with unit variance."""
    decay = float(interpreted(exp)(-period_us / 1e6 / tau_s))
    return decay, math.sqrt(1.0 - decay * decay)


class Wind(Part, where="environment", stage="wind"):
    """User parameters of the wind. Parameters that the model does not use are checked and have no effect."""

    wind: Annotated[Literal["none", "constant", "ou", "dryden"] | PythonKind, kind_or_class(KINDS, SPELLINGS)] = entry(
        "none",
        "Wind model: none, constant, Ornstein-Uhlenbeck (`ou`), Dryden turbulence, or a class of yours: see "
        "docs/howto/own_controller.md.",
        extra=CODE,
    )
    wind_mean_ned: Vector = entry(
        (0.0, 0.0, 0.0), "Mean wind velocity (north, east, down). Has no effect with `none`.", "m/s", **WIND_LIMITS
    )
    wind_sigma_ned: NotNegativeVector = entry(
        (1.5, 1.5, 0.5), "Standard deviation of each component of `ou` wind.", "m/s", ge=0.0, le=WIND_LIMITS["le"]
    )
    wind_tau_s: float = entry(3.0, "Correlation time of `ou` wind.", "s", gt=0.0)
    dryden_wind_20ft_mps: float = entry(
        7.72,  # 15 knots: light turbulence by MIL-F-8785C; 30 and 45 knots are moderate and severe
        "Wind speed at 20 ft above ground, which determines the intensity of `dryden` turbulence.",
        "m/s",
        ge=dryden.MIN_WIND_M_S,
        le=dryden.MAX_WIND_M_S,
    )
    dryden_height_m: float = entry(
        15.0, "Height above ground of `dryden` turbulence.", "m", ge=dryden.MIN_HEIGHT_M, le=dryden.MAX_HEIGHT_M
    )
    wind_options: Options = options_entry("wind")
    wind_python_dir: str | None = folder_entry("wind")

    def write(self, rec: Any, seed: int, period_us: int) -> None:
        """Write a `WIND` record before its first tick; the period is that of the wind axis."""
        decay, root = gauss_markov(check_us("wind period", period_us, minimum=1), self.wind_tau_s)
        rec["kind"], rec["decay"] = number_of(self.wind, KINDS, "environment.wind"), decay
        rec["mean_ned"] = (0.0, 0.0, 0.0) if self.wind == "none" else self.wind_mean_ned
        rec["gain_ned"] = tuple(sigma * root for sigma in self.wind_sigma_ned)
        rec["tick"], rec["turbulence_ned"], rec["ahead"] = 0, 0.0, np.zeros((), AHEAD)
        if self.wind == "dryden":
            turbulence = dryden.Dryden(self.dryden_wind_20ft_mps, self.dryden_height_m)
            turbulence.write(rec["dryden"], self.wind_mean_ned, period_us)
        self.write_keys(rec, seed)

    def write_keys(self, rec: Any, seed: int) -> None:
        """Write the part of a `WIND` record that depends on the seed."""
        rec["key"] = stream_key(seed, "wind")
