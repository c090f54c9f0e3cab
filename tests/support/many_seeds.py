"""Flights of the built-in aircraft with many seeds, each with its own turbulence, noise and mean wind."""

import math

import numpy as np
from verdict_checker import checked_verdict

import px4lockstep

SEEDS = {"x500": 200, "x500_hex": 50, "x500_octa": 50, "racer": 50, "lifter": 50}
GOLDEN_DEG = 137.50776
MAX_WIND_M_S = 8.0


def wind_of(seed):
    """Return the mean wind of a seed: 0 to 8 m/s from all directions."""
    speed, angle = MAX_WIND_M_S * (seed % 17) / 16.0, math.radians(GOLDEN_DEG * seed)
    return [round(speed * math.cos(angle), 3), round(speed * math.sin(angle), 3), 0.0]


def fly(name, seed):
    """Return the run of a seed."""
    return px4lockstep.simulate(name, overrides={"aircraft.seed": seed, "environment.wind_mean_ned": wind_of(seed)})


def figures(name, seeds):
    """Fly some seeds; return the verdicts with those of the checker, and the largest of some figures."""
    verdicts, rows = [], []
    for seed in seeds:
        run = fly(name, seed)
        log, spec = run.log, run.spec
        assert all(np.isfinite(log[column]).all() for column in ("pos_ned", "vel_ned", "q_bn", "omega_body", "soc"))
        columns = {column: log[column] for column in log.names}
        home = (spec.home.lat_deg, spec.home.lon_deg)
        checked = checked_verdict(columns, spec.mission.text, home, log["time_us"][-1] / 1e6)
        verdicts.append((run.outcome.word, checked))
        q, speed = log["q_bn"], log["vel_ned"][:, 2]
        tilt = np.degrees(np.arccos(np.clip(1.0 - 2.0 * (q[:, 1] ** 2 + q[:, 2] ** 2), -1.0, 1.0)))
        rest = log["pos_ned"][0, 2]
        high = np.flatnonzero(log["pos_ned"][:, 2] < rest - 0.05)
        used = 100.0 * (1.0 - log["soc"][-1, 0])
        rows.append((np.hypot(*log["pos_ned"][-1, :2]), speed[high[-1]], tilt.max(), tilt[-1], used))
    return verdicts, np.array(rows).max(axis=0)


def table_row(name, seeds):
    """Return a row of the table in docs/reference/aircraft.md, and the verdicts."""
    verdicts, (miss_m, touchdown_m_s, tilt_deg, end_deg, used) = figures(name, seeds)
    flown = sum(word == "flown" for word, _ in verdicts)
    largest = f"{miss_m:.2f} m | {touchdown_m_s:.2f} m/s | {tilt_deg:.0f}° | {end_deg:.1f}° | {used:.1f} %"
    return f"| `{name}` | {len(verdicts)} | {flown} | {largest} |", verdicts
