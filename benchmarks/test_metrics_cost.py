"""Cost of the metrics of a mission, without flight and summary. Target: 2 ms for 7,201 rows."""

from pathlib import Path

from px4lockstep import simulate
from px4lockstep.campaigns.metrics import MetricTable, measure, metrics_of

TABLES = [
    MetricTable(name="rms_m", kind="tracking_rms"),
    MetricTable(name="energy", kind="energy_wh"),
    MetricTable(name="touchdown", kind="touchdown_speed"),
    MetricTable(name="tilted_s", kind="time_over", signal="tilt_deg", limit=35.0),
    MetricTable(name="settled_s", kind="settling", signal="altitude_m", target=12.0, band=0.5, after_s=2.0),
]


def test_metrics_of_a_mission(benchmark):
    run = simulate("iris")
    metrics = metrics_of(TABLES, Path())
    assert run.log.rows == 7_201
    assert run.summary.mission_finished
    benchmark.pedantic(lambda: measure(metrics, run), rounds=50, warmup_rounds=2)
    benchmark.extra_info.update(target_s=0.002)
    assert benchmark.stats.stats.min < 0.002
