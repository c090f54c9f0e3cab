"""Kernels that run the environment's models in a loop."""

import hashlib

import numpy as np

from px4lockstep.environment.atmosphere import density_kg_m3, pressure_pa, temperature_k
from px4lockstep.environment.gravity import GRAVITY, Gravity, gravity_down_m_s2
from px4lockstep.environment.gust import GUSTS, Gust, add_gusts, write_gusts
from px4lockstep.environment.projection import project, reproject
from px4lockstep.environment.wind import WIND, Wind, step_wind
from px4lockstep.jit import kernel, record, rows

AIR = record([("vel_ned", "f8", 3)])


@kernel
def run_wind(winds, gusts, airs, period_us, stride, samples):
    """Run the wind with its gusts from time 0, and store each `stride`-th velocity."""
    wind = winds[0]
    vel_ned = airs[0].vel_ned
    for k in range(samples.shape[0] * stride):
        step_wind(wind, airs[0])
        add_gusts(gusts[0], np.uint64(k * period_us), vel_ned)
        if (k + 1) % stride == 0:
            for axis in range(3):
                samples[k // stride, axis] = vel_ned[axis]


@kernel
def run_gravity(gravities, z_down_m, out):
    """Write the gravity at each position."""
    for i in range(len(z_down_m)):
        out[i] = gravity_down_m_s2(gravities[0], z_down_m[i])


@kernel
def run_atmosphere(alt_msl_m, out):
    """Write temperature, pressure and density at each altitude."""
    for i in range(len(alt_msl_m)):
        out[i, 0] = temperature_k(alt_msl_m[i])
        out[i, 1] = pressure_pa(alt_msl_m[i])
        out[i, 2] = density_kg_m3(alt_msl_m[i])


@kernel
def run_projection(ref_lat_rad, ref_lon_rad, lat_rad, lon_rad, out):
    """Write north, east and the inverse projection for each point."""
    for i in range(len(lat_rad)):
        north_m, east_m = project(ref_lat_rad, ref_lon_rad, lat_rad[i], lon_rad[i])
        out[i, 0] = north_m
        out[i, 1] = east_m
        out[i, 2], out[i, 3] = reproject(ref_lat_rad, ref_lon_rad, north_m, east_m)


def write_wind(wind, seed=1, period_us=1_000):
    """Return a record with a wind, before its first tick."""
    winds = np.zeros(1, WIND)
    wind.write(winds[0], seed, period_us)
    return winds


def blow(wind, count, *, seed=1, period_us=1_000, stride=1, gusts=(), winds=None):
    """Return the velocities of a wind, one row per `stride` ticks; a given record continues from its state."""
    if winds is None:
        winds = write_wind(wind, seed, period_us)
    gust_records = np.zeros(1, GUSTS)
    write_gusts(gust_records[0], gusts)
    samples = np.zeros((count, 3))
    run_wind(rows(winds), rows(gust_records), rows(np.zeros(1, AIR)), period_us, stride, rows(samples))
    return samples


def gravity_at(gravity, *z_down_m):
    """Return the gravity at positions below the origin."""
    gravities = np.zeros(1, GRAVITY)
    gravity.write(gravities[0])
    out = np.zeros(len(z_down_m))
    run_gravity(rows(gravities), rows(np.array(z_down_m)), rows(out))
    return out


def air_at(*alt_msl_m):
    """Return temperature, pressure and density at altitudes, as rows."""
    out = np.zeros((len(alt_msl_m), 3))
    run_atmosphere(rows(np.array(alt_msl_m)), rows(out))
    return out


def hash_results():
    """Return the hash over every model: all kinds, special points, and a spread."""
    mean_ned = (3.0, -4.0, 0.1)
    gusts = [
        Gust(start_s=0.005, end_s=0.04, vel_ned=(1.0, 2.0, -0.3)),
        Gust(start_s=0.02, end_s=0.021001, vel_ned=(-0.7, 0.1, 0.0)),
    ]
    results = [
        blow(Wind(kind, wind_mean_ned=mean_ned), 100, seed=7, gusts=gusts)
        for kind in ("none", "constant", "ou", "dryden")
    ]
    results += [blow(Wind("dryden", dryden_height_m=height_m), 20, period_us=250_000) for height_m in (3.048, 304.8)]
    z_down_m = (0.0, -12.5, 488.0, 6_371_000.0, 7e6, float("nan"))
    results += [gravity_at(Gravity(kind), *z_down_m) for kind in ("uniform", "spherical")]
    altitudes = np.linspace(-1_000.0, 21_000.0, 300)
    results.append(air_at(*altitudes, 11_000.0, 20_000.0, -0.0, float("inf"), -float("inf"), float("nan")))
    lat_rad = np.concatenate([np.linspace(-1.5, 1.5, 200), [0.8, -0.8, 0.8, np.pi / 2, -np.pi / 2]])
    lon_rad = np.concatenate([np.linspace(-3.1, 3.1, 200), [0.1, 0.1 - np.pi, 0.1 + 1e-12, 0.0, 0.0]])
    for reference in ((0.8, 0.1), (0.0, np.pi), (-1.5, -3.0)):
        points = np.zeros((len(lat_rad), 4))
        run_projection(*reference, rows(lat_rad), rows(lon_rad), rows(points))
        results.append(points)
    digest = hashlib.sha256()
    for result in results:
        result[np.isnan(result)] = np.nan
        digest.update(result.tobytes())
    return digest.hexdigest()


def digest_lines():
    """Yield the hash, as a line."""
    yield hash_results()
