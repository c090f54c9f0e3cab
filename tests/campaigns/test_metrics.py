"""Metrics: every kind checked by hand on short logs and on flights, and every invalid table."""

import inspect
import math
import pickle
import statistics
from pathlib import Path

import numpy as np
import pytest
from campaign_runs import error_of, made_run
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from px4lockstep import simulate
from px4lockstep.campaigns.flight_signals import DERIVED
from px4lockstep.campaigns.kinds import KINDS, FlightSignals, in_us
from px4lockstep.campaigns.metrics import OPTIONS, MetricTable, measure, metric_of, metrics_of
from px4lockstep.errors import InputError, MetricError

HERE = Path(__file__).parent
repeatable = settings(deadline=None, derandomize=True)  # the first call may compile
NAN = math.nan
QUARTERS = [0, 250_000, 500_000, 750_000, 1_000_000]


def metric(kind, **options):
    return metric_of(MetricTable(name="m", kind=kind, **options), HERE)


def of_altitude(values, kind, times_us=None, crashed=None, **options):
    """Return a metric of the altitude, with rows a quarter of a second apart."""
    times_us = QUARTERS[: len(values)] if times_us is None else times_us
    down = {"pos_ned_n": [0.0] * len(values), "pos_ned_e": [0.0] * len(values), "pos_ned_d": [-v for v in values]}
    run = made_run(times_us, crashed=crashed or [0] * len(values), **down)
    return metric(kind, signal="altitude_m", **options)(run)


def falling(heights_m, speeds_m_s, landed=None, crashed=None, rest_m=0.0):
    """Return a run of a vehicle with these heights and descent speeds."""
    zeros = [0.0] * len(heights_m)
    return made_run(
        range(len(heights_m)),
        rest_m,
        pos_ned_n=zeros,
        pos_ned_e=zeros,
        pos_ned_d=[-height for height in heights_m],
        vel_ned_n=zeros,
        vel_ned_e=zeros,
        vel_ned_d=speeds_m_s,
        landed=landed or [0] * len(heights_m),
        crashed=crashed or [0] * len(heights_m),
    )


# -- by hand ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["crashed", "mission_finished", "landed"])
@pytest.mark.parametrize("value", [True, False])
def test_a_boolean_metric_is_the_state_at_the_end_of_the_flight(kind, value):
    """As a bool, which the results preserve."""
    found, run = metric(kind), made_run([0])
    scenario = {"landed": [int(value)], "crashed": [2 * int(value)]}
    run.simulation.records = {"bus": {"autopilot": {"mission_finished": [int(value)]}, "scenario": scenario}}
    assert found.is_bool
    assert found(run) is value


def test_metrics_from_the_summary():
    """Without a battery, the charge used is NaN."""
    assert metric("duration_s")(made_run([0], summary={"duration_s": 12.5})) == 12.5
    assert metric("battery_used")(made_run([0], summary={"battery_used": 0.25})) == 0.25
    assert math.isnan(metric("battery_used")(made_run([0], summary={"battery_used": None})))


@pytest.mark.parametrize(
    ("kind", "whole", "window"),
    [
        ("max", 4.0, 3.0),
        ("min", -2.0, -2.0),
        ("mean", 1.6, 0.5),
        ("rms", math.sqrt(34.0 / 5.0), math.sqrt(13.0 / 2.0)),
        ("final", 4.0, -2.0),
    ],
)
def test_statistics_of_a_signal(kind, whole, window):
    """Over all rows, and over those from 0.5 s to 0.75 s, inclusive."""
    values = [1.0, 2.0, 3.0, -2.0, 4.0]
    assert of_altitude(values, kind) == whole
    assert of_altitude(values, kind, after_s=0.5, until_s=0.75) == window
    assert of_altitude(values, kind, after_s=0.4, until_s=0.999999) == window


@pytest.mark.parametrize("kind", ["max", "min", "mean", "rms", "final"])
def test_a_window_without_rows_gives_nan(kind):
    """Between two rows, or after the end."""
    assert math.isnan(of_altitude([1.0, 2.0], kind, after_s=0.1, until_s=0.2))
    assert math.isnan(of_altitude([1.0, 2.0], kind, after_s=5.0))


def test_rows_without_a_value_are_ignored():
    """Except by `final`; without any value the metric is NaN."""
    values = [1.0, NAN, 3.0, NAN]
    assert of_altitude(values, "max") == 3.0
    assert of_altitude(values, "min") == 1.0
    assert of_altitude(values, "mean") == 2.0
    assert of_altitude(values, "rms") == math.sqrt(5.0)
    assert math.isnan(of_altitude(values, "final"))
    for kind in ("max", "min", "mean", "rms"):
        assert math.isnan(of_altitude([NAN, NAN], kind))


@repeatable
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
def test_means_are_rounded_once(values):
    """They use the exact sum, so they do not depend on the order of rows or on the machine."""
    times_us = range(len(values))
    assert of_altitude(values, "mean", times_us) == math.fsum(values) / len(values)
    assert of_altitude(values[::-1], "mean", times_us) == of_altitude(values, "mean", times_us)
    assert of_altitude(values[::-1], "rms", times_us) == of_altitude(values, "rms", times_us)
    assert of_altitude(values, "mean", times_us) == pytest.approx(statistics.fmean(values))


def test_the_tracking_error():
    """3, 4 and 5 m while armed; disarmed rows do not count."""
    run = made_run(
        QUARTERS[:4],
        armed=[0, 1, 1, 1],
        **{f"pos_ned_{axis}": [0.0] * 4 for axis in "ned"},
        pos_sp_ned_n=[9.0, 3.0, 0.0, 3.0],
        pos_sp_ned_e=[9.0, 0.0, 0.0, 4.0],
        pos_sp_ned_d=[9.0, 0.0, 4.0, 0.0],
    )
    assert metric("tracking_rms")(run) == math.sqrt(50.0 / 3.0)
    assert metric("tracking_max")(run) == 5.0
    assert metric("tracking_max", until_s=0.5)(run) == 4.0


def test_energy_is_the_integral_of_the_power():
    """A ramp from 0 to 3600 W in an hour, in steps of different lengths: exactly 1800 Wh by the trapezoidal rule."""
    hours = np.array([0.0, 0.25, 0.75, 1.0])
    run = made_run(
        (hours * 3.6e9).astype(np.int64),
        battery_true_voltage_v_1=[10.0] * 4,
        battery_true_current_a_1=hours * 360.0,
    )
    assert metric("energy_wh")(run) == 1800.0


def test_time_over_holds_each_row_until_the_next():
    """The last row has no duration; a value at the limit is neither over nor under it."""
    values = [1.0, 3.0, 2.0, 3.0, 3.0]
    assert of_altitude(values, "time_over", limit=2.0) == 0.5
    assert of_altitude(values, "time_under", limit=2.0) == 0.25
    assert of_altitude(values, "time_over", limit=0.0) == 1.0
    assert of_altitude(values, "time_over", limit=9.0) == 0.0


def test_time_over_counts_only_the_window():
    """To the microsecond, including partial rows."""
    values = [1.0, 3.0, 2.0, 3.0, 3.0]
    assert of_altitude(values, "time_over", limit=2.0, after_s=0.3) == 0.45
    assert of_altitude(values, "time_over", limit=2.0, until_s=0.300001) == 0.050001
    assert of_altitude(values, "time_over", limit=2.0, after_s=0.5, until_s=0.75) == 0.0
    assert math.isnan(of_altitude(values, "time_over", limit=2.0, after_s=1.000001))  # the flight ended before


def test_a_row_without_a_value_is_neither_over_nor_under():
    """For example the tracking error before arming."""
    assert of_altitude([NAN, 3.0, 1.0], "time_over", limit=2.0) == 0.25
    assert of_altitude([NAN, 3.0, 1.0], "time_under", limit=2.0) == 0.0


@repeatable
@given(st.lists(st.floats(-3.0, 3.0), min_size=2, max_size=30), st.integers(0, 29))
def test_a_window_is_the_sum_of_its_parts(values, first):
    """Time over a limit before and after some instant."""
    times_us = [1_000 * i for i in range(len(values))]
    middle_s = min(first, len(values) - 2) / 1e3 + 0.0005
    whole = of_altitude(values, "time_over", times_us, limit=0.5)
    before = of_altitude(values, "time_over", times_us, limit=0.5, until_s=middle_s)
    after = of_altitude(values, "time_over", times_us, limit=0.5, after_s=middle_s)
    assert round(whole * 1e6) == round(before * 1e6) + round(after * 1e6)


@pytest.mark.parametrize(
    ("values", "options", "seconds"),
    [
        ([0.0, 9.0, 12.0, 10.5, 10.0], {}, 0.75),  # left the band again after 0.25 s
        ([0.0, 9.0, 11.0, 10.5, 10.0], {}, 0.25),  # at the edge of the band
        ([0.0, 9.0, 11.0, 10.5, 10.0], {"after_s": 0.125}, 0.125),
        ([10.0, 10.0, 10.0], {}, 0.0),
        ([0.0, 10.0, 0.0], {}, NAN),
        ([0.0, 10.0, 0.0], {"until_s": 0.3}, 0.25),
        ([10.0, NAN, 10.0], {}, 0.5),
        ([10.0, 10.0], {"after_s": 3.0}, NAN),
    ],
)
def test_settling_time_ends_when_the_signal_stays_in_the_band(values, options, seconds):
    """From after_s to the row after the last one outside the band."""
    found = of_altitude(values, "settling", target=10.0, band=1.0, **{"after_s": 0.0} | options)
    assert found == seconds or (math.isnan(found) and math.isnan(seconds))


def test_a_crashed_flight_has_not_settled():
    """Even within the band; a window that ends before the crash is unaffected."""
    values, crashed = [0.0, 10.0, 10.0, 10.0], [0, 0, 0, 1]
    options = {"target": 10.0, "band": 1.0, "after_s": 0.0}
    assert math.isnan(of_altitude(values, "settling", crashed=crashed, **options))
    assert of_altitude(values, "settling", crashed=crashed, until_s=0.5, **options) == 0.25


def test_touchdown_speed_is_taken_from_the_last_row_in_the_air():
    """In the row of the contact the ground has slowed it; a hop of 4 cm is not a flight; the first contact counts."""
    heights = [0.0, 0.04, -0.001, 2.0, 5.0, 0.01, -0.002, 0.3, -0.002]
    speeds = [0.0, -0.1, 0.1, -2.0, 0.5, 0.7, 0.5, 0.2, 0.9]
    assert metric("touchdown_speed")(falling(heights, speeds)) == 0.7


def test_touchdown_speed_of_a_crash():
    """Here the last row is the crash."""
    run = falling([5.0, 2.0, -0.04], [1.0, 7.5, 6.0], crashed=[0, 0, 1])
    assert metric("touchdown_speed")(run) == 7.5


def test_touchdown_on_legs_and_with_the_landed_flag():
    """Legs raise the centre of mass; the log may report landed slightly above the ground."""
    heights, speeds = [0.2, 3.0, 0.26, 0.21, 0.19], [0.0, 0.3, 0.4, 0.5, 0.1]
    assert metric("touchdown_speed")(falling(heights, speeds, rest_m=0.2)) == 0.5
    assert metric("touchdown_speed")(falling(heights, speeds, landed=[0, 0, 0, 1, 1], rest_m=0.2)) == 0.4


@pytest.mark.parametrize("heights", [[0.0, 0.0], [0.0, 3.0], [3.0, 1.0]])
def test_a_flight_without_a_touchdown_gives_nan(heights):
    """Always on the ground, or still in the air at the end."""
    assert math.isnan(metric("touchdown_speed")(falling(heights, [0.0, 1.0])))


def test_the_sign_of_zero_is_normalized():
    """Which of two zeros is the minimum depends on the CPU."""
    for values in ([0.0, -0.0], [-0.0, 0.0]):
        assert math.copysign(1.0, metric("min", signal="vel_ned_d")(falling([0.0, 0.0], values))) == 1.0


def test_an_overflow_is_an_error():
    """In a flight that diverged: no warning and no infinity."""
    run = falling([0.0, 0.0], [1e200, 1e200])
    for kind in ("mean", "max"):
        with pytest.raises(MetricError, match=r"metric 'm': \w+ .*speed_m_s: the value is inf, a float; .* finite"):
            metric(kind, signal="speed_m_s")(run)
    with pytest.raises(MetricError, match=r"metric 'm': mean of vel_ned_d: .* overflow"):
        metric("mean", signal="vel_ned_d")(falling([0.0] * 3, [1e308] * 3))


# -- flights -----------------------------------------------------------------------------------------------------------

FILE_METRICS = [
    {"name": "rms_m", "kind": "tracking_rms"},
    {"name": "energy", "kind": "energy_wh"},
    {"name": "touchdown", "kind": "touchdown_speed"},
    {"name": "tilted_s", "kind": "time_over", "signal": "tilt_deg", "limit": 5.0},
    {"name": "settled_s", "kind": "settling", "signal": "altitude_m", "target": 12.0, "band": 0.5, "after_s": 2.0}
    | {"until_s": 20.0},
    {"name": "top_m", "kind": "max_altitude_m"},
    {"name": "top_m_s", "kind": "max_speed_m_s"},
    {"name": "used", "kind": "battery_used"},
]


@pytest.fixture(scope="module")
def mission():
    return simulate("iris")


@pytest.fixture(scope="module")
def metrics():
    return metrics_of([MetricTable(**table) for table in FILE_METRICS], HERE)


def test_the_metrics_of_a_mission(mission, metrics):
    """Each agrees with the log and the summary, computed in another way."""
    values = measure(metrics, mission)
    assert list(values) == ["crashed", "mission_finished", *(table["name"] for table in FILE_METRICS)]
    log, summary = mission.log, mission.summary
    assert values["crashed"] is False
    assert values["mission_finished"] is True
    is_armed = log["armed"] == 1
    errors = np.linalg.norm(log["pos_ned"] - log["pos_sp_ned"], axis=1)[is_armed]
    assert values["rms_m"] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-12)
    power = log["battery_true_voltage_v"][:, 0] * log["battery_true_current_a"][:, 0]
    assert values["energy"] == pytest.approx(np.trapezoid(power, log.time_s) / 3600.0, rel=1e-12)
    assert 0.5 < values["touchdown"] < 0.8  # MPC_LAND_SPEED, 0.7 m/s, in the wind
    x, y = log["q_bn"][:, 1], log["q_bn"][:, 2]
    tilted = np.degrees(np.arccos(1.0 - 2.0 * (x * x + y * y))) > 5.0
    assert values["tilted_s"] == pytest.approx(0.01 * tilted[:-1].sum(), rel=1e-12)
    assert values["top_m"] == summary.max_altitude_m
    assert values["top_m_s"] == pytest.approx(summary.max_speed_m_s, rel=4e-16)
    assert values["used"] == summary.battery_used
    settled_row = 200 + round(values["settled_s"] * 100)
    height = -log["pos_ned"][:2001, 2]
    assert (abs(height[settled_row:] - 12.0) <= 0.5).all()
    assert abs(height[settled_row - 1] - 12.0) > 0.5


def test_the_metrics_of_a_crash(metrics):
    """The battery is disconnected at 10 s: the vehicle hits the ground at free-fall speed; the mission fails."""
    cut = {"at_s": 10.0, "action": "disconnect_battery"}
    run = simulate("iris", overrides={"scenario.events": [cut], "environment.wind": "none"})
    values = measure(metrics, run)
    assert values["crashed"] is True
    assert values["mission_finished"] is False
    row = int(np.flatnonzero(run.log.time_us == 10_000_000)[0])
    height, down = -run.log["pos_ned"][row, 2], run.log["vel_ned"][row, 2]
    fall = math.sqrt(down * down + 2.0 * 9.80665 * height)
    assert fall - 2.5 < values["touchdown"] < fall  # drag, and thrust of the rotors as they spin down
    assert values["touchdown"] == run.log["vel_ned"][-2, 2]
    assert math.isnan(values["settled_s"])


def test_metrics_do_not_affect_each_other(mission, metrics):
    """Alone or together, in any order, repeatedly: bit-identical."""
    values = measure(metrics, mission)
    assert measure(metrics[::-1], mission) == values
    assert {metric.name: metric(mission) for metric in metrics} == values


def test_another_cpu_gives_bit_identical_metrics(python, metrics, tmp_path):
    """With code for a generic CPU, and without compiled code, on the same log."""
    code = (
        "import pickle, sys; import numpy as np; from types import SimpleNamespace as N;"
        "from px4lockstep.log.log import Log; from px4lockstep.campaigns.metrics import measure;"
        "arrays, metrics = pickle.load(open(sys.argv[1], 'rb'));"
        "run = N(log=Log(arrays), simulation=N(plant=N(traits={'rest_m': 0.0})));"
        "print({name: value.hex() for name, value in measure(metrics, run).items()})"
    )
    log = simulate("iris", overrides={"timeline.t_end_s": 10.0}).log
    path = tmp_path / "work.pickle"
    names = ("time_us", "pos_ned", "vel_ned", "q_bn", "armed", "landed", "crashed", "pos_sp_ned")
    names += ("battery_true_voltage_v", "battery_true_current_a")
    wanted = [metric for metric in metrics if metric.name not in ("crashed", "mission_finished", "used")]
    path.write_bytes(pickle.dumps(({name: np.array(log[name]) for name in names}, wanted)))
    plain = " ".join(
        name for name in __cpu_dispatch__ if __cpu_features__[name]
    )  # the CPU features that NumPy has optimized loops for
    generic = {"NUMBA_CPU_NAME": "generic", "NPY_DISABLE_CPU_FEATURES": plain}
    environments = ({}, generic, {"NUMBA_DISABLE_JIT": "1"})
    printed = [python("-c", code, path, **environment).stdout for environment in environments]
    assert "tilted_s" in printed[0]
    assert printed[0] == printed[1] == printed[2]


def test_metrics_import_nothing_heavy(python):
    """Neither Matplotlib, SciPy nor pyarrow in a worker."""
    code = (
        "import sys; from pathlib import Path; from px4lockstep import simulate\n"
        "from px4lockstep.campaigns.kinds import KINDS\n"
        "run = simulate('iris', overrides={'timeline.t_end_s': 3.0}); run.summary; before = set(sys.modules)\n"
        "from px4lockstep.campaigns.metrics import MetricTable, metrics_of, measure\n"
        "tables = [MetricTable(name='m' + k, kind=k) for k in KINDS if not KINDS[k].needs]\n"
        "tables += [MetricTable(name='t', kind='max', signal='tilt_deg')]\n"
        "metrics = metrics_of(tables, Path()); measure(metrics, run)\n"
        "print(sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    loaded = python("-c", code).stdout
    assert "px4lockstep" in loaded
    for name in ("matplotlib", "scipy", "pyarrow"):
        assert name not in loaded


def test_signals_are_computed_once_for_all_metrics(mission):
    """Two metrics of one signal share the same array."""
    flown = FlightSignals(mission)
    metric("max", signal="tilt_deg").of(flown)
    made = flown.signals["tilt_deg"]
    metric("min", signal="tilt_deg").of(flown)
    assert flown.signals["tilt_deg"] is made


# -- tables ------------------------------------------------------------------------------------------------------------


def test_every_kind_is_described():
    """It has a unit and a description, and its function accepts its options."""
    for name, kind in KINDS.items():
        assert kind.description, name
        assert kind.unit or "signal" in kind.needs, name
        assert set(kind.needs + kind.may) <= set(OPTIONS), name
        taken = inspect.signature(kind.measure).parameters
        assert {in_us(option) for option in kind.needs + kind.may} <= set(taken)


def test_the_documentation_lists_every_kind_and_signal():
    """The tables of docs/reference/metrics.md match the code, row by row."""
    text = (HERE.parents[1] / "docs" / "reference" / "metrics.md").read_text("utf-8")
    for name, kind in KINDS.items():
        unit = "yes or no" if kind.is_bool else kind.unit or "the signal's"
        options = ", ".join([*(f"`{option}`" for option in kind.needs), *(f"[`{option}`]" for option in kind.may)])
        assert f"| `{name}` | {options or '-'} | {unit} | {kind.description} |" in text.splitlines()
    for name, signal in DERIVED.items():
        assert f"| `{name}` | {signal.unit} | {signal.description} |" in text.splitlines()


def test_a_metric_is_described():
    """Unit of the signal; options and window in words."""
    found = metric("time_over", signal="tilt_deg", limit=35.0, after_s=5.0, until_s=60.0)
    assert found.unit == "s"
    assert found.description == "time with tilt_deg above 35.0, from 5.0 s, until 60.0 s"
    assert not found.is_bool
    assert metric("mean", signal="power_w").unit == "W"
    assert metric("final", signal="omega_body_x").unit == "rad/s"
    assert metric("crashed").unit == "1"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"kind": "trackingrms"},
            "metric[2].kind = 'trackingrms' is unknown; did you mean 'tracking_rms'? Allowed: ",
        ),
        ({"kind": "qqq"}, "metric[2].kind = 'qqq' is unknown; allowed: crashed, mission_finished, landed, "),
        ({}, "metric[2] ('m') has neither kind nor function; give exactly one of them"),
        ({"kind": "max", "function": "a.py:f"}, "metric[2] ('m') has both kind and function; give exactly one of them"),
        (
            {"kind": "max", "signal": "tilt_deg", "limit": 3.0},
            "metric[2].limit = 3.0 is not an option of kind 'max'; allowed: signal, after_s, until_s",
        ),
        (
            {"kind": "crashed", "after_s": 3.0},
            "metric[2].after_s = 3.0 is not an option of kind 'crashed'; allowed: none",
        ),
        (
            {"kind": "energy_wh", "unit": "J"},
            "metric[2].unit = 'J' is not an option of kind 'energy_wh'; allowed: none",
        ),
        (
            {"function": "a.py:f", "signal": "tilt_deg"},
            "metric[2].signal = 'tilt_deg' is not an option of a function; allowed: unit",
        ),
        (
            {"kind": "time_over", "signal": "tilt_deg"},
            "metric[2].limit is missing; kind 'time_over' needs signal, limit",
        ),
        (
            {"kind": "settling", "signal": "tilt_deg", "target": 1.0, "band": 1.0},
            "metric[2].after_s is missing; kind 'settling' needs signal, target, band, after_s",
        ),
        (
            {"kind": "max", "signal": "tilt"},
            "metric[2].signal: unknown signal 'tilt'; did you mean 'tilt_deg'? Allowed: altitude_m, ",
        ),
        (
            {"kind": "max", "signal": "pos_ned"},
            "metric[2].signal: 'pos_ned' has several numbers per row; name one of its signals, such as pos_ned_n, ",
        ),
        (
            {"kind": "tracking_rms", "after_s": 3.0, "until_s": 3.0},
            "metric[2].until_s = 3.0 is out of range; it must be above after_s, 3.0",
        ),
        (
            {"kind": "tracking_rms", "until_s": 0},
            "metric[2].until_s = 0.0 is out of range; it must be above after_s, 0.0",
        ),
        ({"kind": "tracking_rms", "after_s": 1e-7}, "metric[2].after_s = 1e-07 is not a whole number of microseconds"),
        (
            {"function": "overshoot"},
            "metric[2].function = 'overshoot' does not name a function; write it as 'my_metrics.py:overshoot'",
        ),
        ({"function": "a.py:"}, "metric[2].function = 'a.py:' does not name a function; "),
        (
            {"name": "a.b", "kind": "crashed"},
            "metric[2].name = 'a.b' is not a valid column name; use letters",
        ),
        ({"name": "1st", "kind": "crashed"}, "metric[2].name = '1st' is not a valid column name; "),
        (
            {"name": "status", "kind": "crashed"},
            "metric[2].name = 'status' is reserved for the results of every campaign; ",
        ),
        (
            {"name": "reason", "kind": "energy_wh"},
            "metric[2].name = 'reason' is reserved for the results of every campaign; ",
        ),
    ],
)
def test_an_invalid_table_is_refused(values, message):
    """Before any flight, with place, value and what is allowed."""
    assert error_of(MetricTable, "metric[2]", **{"name": "m"} | values).startswith(message)


def test_names_are_unique():
    """Including the default metrics."""
    table = MetricTable(name="m", kind="landed")
    with pytest.raises(
        InputError, match=r"metric\[1\].name = 'm' is a duplicate: another metric has this name; rename it"
    ):
        metrics_of([table, table], HERE)
    with pytest.raises(InputError, match=r"metric\[0\].name = 'crashed' is a duplicate: every campaign has"):
        metrics_of([MetricTable(name="crashed", kind="landed")], HERE)


def test_a_signal_missing_from_the_log_is_an_error(mission):
    with pytest.raises(MetricError, match=r"metric 'm': max motors_5: this log has no signal 'motors_5'"):
        metric("max", signal="motors_5")(mission)
