"""International Standard Atmosphere (ISA, US Standard Atmosphere 1976), from sea level to 20 km.

    0 to 11 km:   T = T0 - L h,  p = p0 (T / T0)**n,  rho = rho0 (T / T0)**(n - 1),  n = g0 / (L R)
    11 to 20 km:  T = T11,       p = p11 E,           rho = rho11 E,                 E = exp(-g0 (h - 11 km) / (R T11))

h is the altitude above sea level, treated as geopotential: at 1 km the geometric altitude is 0.16 m higher. It is
clamped to 0 to 20 km, so the air below sea level is that at sea level. The model is dry air on a standard day, without
weather.

References:
    U.S. Standard Atmosphere, 1976, NOAA-S/T 76-1562. ISO 2533:1975, whose gas constant is used here; that of the US
    standard is larger by a relative 7e-7, which changes the pressure at 20 km by a relative 2e-6.
"""

from typing import Annotated, Literal

from px4lockstep.constants import STANDARD_GRAVITY_M_S2
from px4lockstep.jit import inlined_kernel, kernel
from px4lockstep.math.exponential import exp, pow
from px4lockstep.part import Part, entry, spelled

# Defining constants of the standard.
SEA_LEVEL_TEMPERATURE_K = 288.15
SEA_LEVEL_PRESSURE_PA = 101325.0
LAPSE_K_M = 0.0065
TROPOPAUSE_M = 11_000.0
TROPOPAUSE_TEMPERATURE_K = 216.65
CEILING_M = 20_000.0
GAS_CONSTANT_J_KG_K = 287.05287

SEA_LEVEL_DENSITY_KG_M3 = SEA_LEVEL_PRESSURE_PA / (GAS_CONSTANT_J_KG_K * SEA_LEVEL_TEMPERATURE_K)
PRESSURE_EXPONENT = STANDARD_GRAVITY_M_S2 / (LAPSE_K_M * GAS_CONSTANT_J_KG_K)
DENSITY_EXPONENT = PRESSURE_EXPONENT - 1.0
SCALE_PER_M = STANDARD_GRAVITY_M_S2 / (GAS_CONSTANT_J_KG_K * TROPOPAUSE_TEMPERATURE_K)

# The formulas above at 11 km with the package's pow, as literals: calling a kernel here would compile it on import.
TROPOPAUSE_PRESSURE_PA = 22632.04009500781
TROPOPAUSE_DENSITY_KG_M3 = 0.3639176481016036

# Every RHS evaluation needs the density. Below 11 km it is therefore computed by a binomial series, not by pow:
#     rho = rho_m (1 + a t)**m = rho_m sum C(m, k) a**k t**k,   t = h / 5.5 km - 1,   a = -L 5.5 km / T_m
# truncated after t**13, with a relative remainder below 1e-16.
MIDDLE_M = 0.5 * TROPOPAUSE_M
MIDDLE_DENSITY_KG_M3 = 0.6971053600688582
SERIES_DEGREE = 13


def _binomial_series() -> tuple[float, ...]:
    ratio = -LAPSE_K_M * MIDDLE_M / (SEA_LEVEL_TEMPERATURE_K - LAPSE_K_M * MIDDLE_M)
    coefficients = [MIDDLE_DENSITY_KG_M3]
    for k in range(1, SERIES_DEGREE + 1):
        coefficients.append(coefficients[-1] * (DENSITY_EXPONENT - k + 1) / k * ratio)
    return tuple(coefficients)


C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = _binomial_series()


@kernel
def clamped_altitude_m(alt_msl_m):
    """Return the altitude clamped to the range of the model; NaN stays NaN."""
    if alt_msl_m < 0.0:
        return 0.0
    if alt_msl_m > CEILING_M:
        return CEILING_M
    return float(alt_msl_m)


@kernel
def temperature_k(alt_msl_m):
    """Return the air temperature [K] at an altitude above sea level."""
    altitude_m = clamped_altitude_m(alt_msl_m)
    if altitude_m > TROPOPAUSE_M:
        return TROPOPAUSE_TEMPERATURE_K
    return SEA_LEVEL_TEMPERATURE_K - LAPSE_K_M * altitude_m


@inlined_kernel
def density_kg_m3(alt_msl_m):
    """Return the air density [kg/m^3] at an altitude above sea level."""
    altitude_m = clamped_altitude_m(alt_msl_m)
    if altitude_m > TROPOPAUSE_M:
        return TROPOPAUSE_DENSITY_KG_M3 * exp(-SCALE_PER_M * (altitude_m - TROPOPAUSE_M))
    # Evaluate the series in pairs, then pairs of pairs, so that the processor can work on them in parallel.
    t = altitude_m * (1.0 / MIDDLE_M) - 1.0
    t2 = t * t
    t4 = t2 * t2
    low = ((C0 + C1 * t) + (C2 + C3 * t) * t2) + ((C4 + C5 * t) + (C6 + C7 * t) * t2) * t4
    high = ((C8 + C9 * t) + (C10 + C11 * t) * t2) + (C12 + C13 * t) * t4
    return low + high * (t4 * t4)


@kernel
def pressure_pa(alt_msl_m):
    """Return the static pressure [Pa] at an altitude above sea level."""
    altitude_m = clamped_altitude_m(alt_msl_m)
    if altitude_m > TROPOPAUSE_M:
        return TROPOPAUSE_PRESSURE_PA * exp(-SCALE_PER_M * (altitude_m - TROPOPAUSE_M))
    ratio = 1.0 - (LAPSE_K_M / SEA_LEVEL_TEMPERATURE_K) * altitude_m
    return SEA_LEVEL_PRESSURE_PA * pow(ratio, PRESSURE_EXPONENT)


class Atmosphere(Part, where="environment", stage="plant"):
    """User parameters of the atmosphere. There is one model."""

    atmosphere: Annotated[Literal["isa1976"], spelled(("isa1976",), {"isa": "isa1976"})] = entry(
        "isa1976", "Atmosphere model."
    )
