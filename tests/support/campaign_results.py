"""Synthetic results of campaigns."""

import numpy as np

from px4lockstep.campaigns.criteria import CriterionTable as Criterion
from px4lockstep.campaigns.results_table import MetricColumn, Results

WIND, MASS, MISSION = "environment.wind_mean_ned[0]", "vehicle.mass_kg", "mission.file"


def results_of(columns, inputs=(), metrics=(), criteria=(), **options):
    """Return results with the columns of every campaign filled in."""
    runs = len(next(iter(columns.values())))
    filled = {
        "index": np.arange(runs),
        "status": np.array(["flown"] * runs, object),
        "reason": np.array([None] * runs, object),
        "error": np.array([None] * runs, object),
        "digest": np.array(["0" * 64] * runs, object),
        "seed": np.arange(runs),
        "passed": np.array([None] * runs, object),
    }
    return Results(filled | columns, tuple(inputs), tuple(metrics), tuple(criteria), **options)


def windy(runs=400, limit=1.5, seed=1, errors=2):
    """Return a campaign in which wind from both sides and mass degrade tracking, and some runs crash."""
    random = np.random.default_rng(seed)
    wind, mass = random.uniform(-6.0, 6.0, runs), random.normal(1.5, 0.1, runs)
    mission = np.array(["square.plan", "survey.plan"], object)[random.integers(0, 2, runs)]
    is_error = np.arange(runs) % 97 < (1 if errors else 0)
    tracking = np.abs(0.3 + 0.03 * wind * wind + 1.5 * (mass - 1.5) + 0.1 * random.normal(size=runs))
    crashed = (tracking > 1.2) & (random.uniform(size=runs) < 0.2)
    energy = 30.0 + 8.0 * (mass - 1.5) + 0.4 * np.abs(wind) + 0.3 * random.normal(size=runs)
    for values in (tracking, energy):
        values[is_error] = np.nan
    status = np.where(is_error, "error", np.where(crashed, "crashed", "flown")).astype(object)
    passed = ~is_error & ~crashed & (tracking <= limit)
    return results_of(
        {
            "status": status,
            "error": np.array(["the mission has no items" if bad else None for bad in is_error], object),
            "passed": passed.astype(object),
            WIND: wind,
            MASS: mass,
            MISSION: mission,
            "crashed": np.where(is_error, None, crashed.astype(object)),
            "tracking_rms_m": tracking,
            "energy_wh": energy,
        },
        inputs=(WIND, MASS, MISSION),
        metrics=(
            MetricColumn("crashed", is_bool=True),
            MetricColumn("tracking_rms_m", "m"),
            MetricColumn("energy_wh", "Wh"),
        ),
        criteria=(Criterion("crashed", equals=False), Criterion("tracking_rms_m", at_most=limit)),
        name="iris_wind",
        sampling="sobol",
    )


def many(inputs, metrics, runs=60, seed=2):
    """Return a campaign with many inputs and metrics; each metric depends on the input of the same number."""
    random = np.random.default_rng(seed)
    names = [f"vehicle.part[{i}].value" for i in range(inputs)]
    columns = {name: random.normal(size=runs) for name in names}
    kept = []
    for i in range(metrics):
        kept.append(MetricColumn(f"metric_{i}", "m"))
        columns[f"metric_{i}"] = columns[names[i % inputs]] + 0.3 * random.normal(size=runs)
    columns["passed"] = columns["metric_0"] <= 1.0
    return results_of(columns, names, kept, [Criterion("metric_0", at_most=1.0)])
