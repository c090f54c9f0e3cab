"""Signals of a log and derived signals, checked by hand and on flights."""

import math
import operator

import numpy as np
import pytest
from campaign_runs import made_run
from hypothesis import given, settings
from hypothesis import strategies as st

from px4lockstep import simulate
from px4lockstep.campaigns.flight_signals import DERIVED, Signals, unit_of
from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted, view
from px4lockstep.log.log import Log, gather
from px4lockstep.log.schema import COLUMNS
from px4lockstep.math.quaternion import from_euler
from px4lockstep.plant.layout import STATE
from px4lockstep.scenario.signals import SIGNALS, read_signal, tilt_deg
from px4lockstep.scenario.stage import SCENARIO

repeatable = settings(deadline=None, derandomize=True)  # the first call may compile
SECONDS = [0, 1_000_000, 2_000_000]


@pytest.fixture(scope="module")
def run():
    return simulate("iris", overrides={"timeline.t_end_s": 6.0})


def test_every_number_of_a_log_is_a_signal(run):
    """Under its name in log files, as read-only float64, bit-identical."""
    signals = Signals(run.log)
    names = []
    for name, column, array in run.log.flat():
        signal = signals[name]
        assert signal.dtype == np.float64
        assert not signal.flags.writeable
        np.testing.assert_array_equal(signal, array.astype(np.float64))
        assert unit_of(name) == column.unit
        names.append(name)
    assert {"vel_ned_d", "armed", "motors_4", "time_s", "euler_bn_roll"} <= set(names)


def test_every_column_of_a_log_is_known():
    """Including those of aircraft with more rotors than the Iris."""
    for column in COLUMNS:
        if column.shape in ("rotors", "batteries", "values"):
            assert unit_of(f"{column.name}_11") == column.unit


def test_derived_signals_by_hand():
    """Exact lengths of Pythagorean vectors; the altitude is positive up, and never -0."""
    run = made_run(
        SECONDS[:2],
        pos_ned_n=[3.0, 0.0],
        pos_ned_e=[4.0, 5.0],
        pos_ned_d=[0.0, -7.5],
        vel_ned_n=[2.0, 3.0],
        vel_ned_e=[3.0, -4.0],
        vel_ned_d=[-6.0, 0.0],
    )
    signals = Signals(run.log)
    assert signals["altitude_m"].tolist() == [0.0, 7.5]
    assert math.copysign(1.0, signals["altitude_m"][0]) == 1.0
    assert signals["distance_home_m"].tolist() == [5.0, 5.0]
    assert signals["speed_m_s"].tolist() == [7.0, 5.0]
    assert signals["ground_speed_m_s"].tolist() == [math.sqrt(13.0), 5.0]


def test_the_tracking_error_is_defined_only_while_armed_with_a_complete_setpoint():
    """Real PX4 has no height setpoint while it lands; such a row is NaN."""
    nan = math.nan
    run = made_run(
        [*SECONDS, 3_000_000],
        armed=[0, 1, 1, 1],
        pos_ned_n=[1.0, 1.0, 1.0, 1.0],
        pos_ned_e=[2.0, 2.0, 2.0, 2.0],
        pos_ned_d=[0.0, -3.0, -3.0, -3.0],
        pos_sp_ned_n=[0.0, 0.0, 0.0, nan],
        pos_sp_ned_e=[0.0, 0.0, 0.0, nan],
        pos_sp_ned_d=[0.0, -5.0, nan, nan],
    )
    np.testing.assert_array_equal(Signals(run.log)["tracking_error_m"], [nan, 3.0, nan, nan])


def test_the_power_is_the_sum_over_all_batteries():
    """From true, not measured, voltages and currents."""
    run = made_run(
        SECONDS[:2],
        battery_true_voltage_v_1=[10.0, 12.0],
        battery_true_voltage_v_2=[11.0, 0.0],
        battery_true_current_a_1=[2.0, 0.5],
        battery_true_current_a_2=[3.0, 7.0],
        battery_voltage_v_1=[1.0, 1.0],
        battery_voltage_v_2=[1.0, 1.0],
    )
    assert Signals(run.log)["power_w"].tolist() == [53.0, 6.0]


def test_the_motor_spread_ignores_motors_that_are_not_driven():
    """Commands 0.25 and 0.75 have a standard deviation of 0.25; NaN while disarmed or without a driven motor."""
    nan = math.nan
    run = made_run(
        [*SECONDS, 3_000_000],
        armed=[0, 1, 1, 1],
        motors_1=[0.25, 0.25, 0.25, nan],
        motors_2=[0.75, 0.75, 0.25, nan],
        motors_3=[nan, nan, 0.25, nan],
    )
    np.testing.assert_array_equal(Signals(run.log)["motor_spread"], [nan, 0.25, 0.0, nan])


def test_the_tilt_of_known_attitudes():
    """Level at any yaw; tilted by 30° and 90°; upside down. Tolerance 1e-13 of 180°: rounding of the sine at 30°."""
    angles = [(0.0, 0.0, 0.7), (math.pi / 6, 0.0, 0.0), (0.0, -math.pi / 6, 2.0), (math.pi / 2, 0.0, 0.0)]
    attitudes = np.array([*(from_euler(*some) for some in angles), (0.0, 1.0, 0.0, 0.0)])
    columns = {f"q_bn_{part}": attitudes[:, i] for i, part in enumerate("wxyz")}
    tilts = Signals(made_run(range(5), **columns).log)["tilt_deg"]
    np.testing.assert_allclose(tilts, [0.0, 30.0, 30.0, 90.0, 180.0], rtol=0.0, atol=180.0 * 1e-13)


@repeatable
@given(st.lists(st.tuples(*[st.floats(-1.0, 1.0)] * 2), min_size=1, max_size=20))
def test_the_compiled_tilt_is_bit_identical_to_the_interpreted_one(parts):
    """In each row, also for attitudes that are not normalized."""
    x, y = np.array(parts).T
    columns = {"q_bn_w": np.zeros(len(x)), "q_bn_x": x, "q_bn_y": y, "q_bn_z": np.zeros(len(x))}
    tilts = Signals(made_run(range(len(x)), **columns).log)["tilt_deg"]
    assert tilts.tolist() == [interpreted(tilt_deg)(*part) for part in parts]


@pytest.mark.parametrize("is_beyond", [operator.gt, operator.lt])
@pytest.mark.parametrize("limit", [1e-7, 0.5, 20.0, 90.0, 179.9999])
def test_a_tilt_is_compared_exactly_however_close_it_is(is_beyond, limit):
    """Few angles are computed; attitudes within a few bits of the limit, far ones, unnormalized ones and NaN."""
    rng = np.random.default_rng(11)
    half = math.radians(limit) / 2.0
    near = np.sin(half) * (1.0 + np.arange(-40, 41) * 2.0**-53)
    x = np.concatenate([near, near * np.cos(0.3), rng.uniform(-1.2, 1.2, 300), [math.nan, math.inf, 0.0]])
    y = np.concatenate([0.0 * near, near * np.sin(0.3), rng.uniform(-1.2, 1.2, 300), [0.1, 0.1, 0.0]])
    columns = {"q_bn_w": np.zeros(len(x)), "q_bn_x": x, "q_bn_y": y, "q_bn_z": np.zeros(len(x))}
    log = made_run(range(len(x)), **columns).log
    with np.errstate(invalid="ignore", over="ignore"):
        found = Signals(log).are_beyond("tilt_deg", is_beyond, limit)
        np.testing.assert_array_equal(found, is_beyond(Signals(log)["tilt_deg"], limit))
    assert 0 < np.count_nonzero(found) < len(found)


def test_derived_signals_of_a_flight_agree_with_the_summary(run):
    """Max altitude exactly, max speed to the rounding of two sums; each signal has one value per row."""
    signals = Signals(run.log)
    assert signals["altitude_m"].max() == run.summary.max_altitude_m
    assert signals["speed_m_s"].max() == pytest.approx(run.summary.max_speed_m_s, rel=4e-16)
    for name in DERIVED:
        assert signals[name].shape == (run.log.rows,)
        assert signals[name] is signals[name]  # computed once
    assert signals["tilt_deg"].max() > 0.5
    assert np.isnan(signals["tracking_error_m"][run.log["armed"] == 0]).all()
    assert not np.isnan(signals["tracking_error_m"][run.log["armed"] == 1]).any()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "tilt",
            r"unknown signal 'tilt'; did you mean 'tilt_deg'\? Allowed: .*power_w, and numbers of the columns",
        ),
        ("vel_ned_x", r"unknown signal 'vel_ned_x'; did you mean 'vel_ned_\w'\? "),
        ("qqqqqqq", r"unknown signal 'qqqqqqq'; allowed: altitude_m, .*such as pos_ned_d or motors_1"),
        ("motors_0", r"unknown signal 'motors_0'; did you mean 'motors_1'\? "),
        ("pos_ned", r"'pos_ned' has several numbers per row; .* such as pos_ned_n, pos_ned_e, pos_ned_d$"),
        ("motors", r"'motors' has several numbers per row; .* such as motors_1$"),
    ],
)
def test_an_unknown_signal_is_refused(run, name, message):
    """With a suggestion and all known signals, with or without a log."""
    with pytest.raises(InputError, match=message):
        unit_of(name)
    with pytest.raises(InputError, match=message):
        Signals(run.log)[name]


def test_a_signal_missing_from_a_log_is_an_error(run):
    """With the signals that exist."""
    signals = Signals(run.log)
    with pytest.raises(InputError, match=r"no signal 'motors_5'; its signals of motors are motors_1, .*, motors_4$"):
        signals["motors_5"]
    with pytest.raises(InputError, match="no column 'servos': the run does not have it"):
        signals["servos_1"]
    alone = Signals(gather({"time_us": np.array([0], np.uint64)}))
    with pytest.raises(InputError, match="no column 'q_bn'"):
        alone["tilt_deg"]


def test_signals_of_a_log_without_rows_are_empty(run):
    """Names are checked that way before a flight."""
    empty = Log({name: run.log[name][:0] for name in run.log})
    for name in (*DERIVED, "motors_4", "armed"):
        assert Signals(empty)[name].shape == (0,)


@pytest.mark.parametrize("name", sorted(set(DERIVED) & set(SIGNALS)))
def test_a_signal_is_bit_identical_to_that_of_a_scenario_condition(name):
    """A metric and a scenario condition of the same name agree exactly."""
    values = np.random.default_rng(7).normal(size=(200, 13))
    columns = {"pos_ned": values[:, 0:3], "vel_ned": values[:, 3:6]}
    columns["q_bn"] = values[:, 6:10] / np.linalg.norm(values[:, 6:10], axis=1, keepdims=True)
    ours = Signals(Log({"time_us": np.arange(200), **columns}))[name]
    scenario, state = np.zeros(1, SCENARIO), np.zeros(1, STATE)
    scenario["i_pos"], scenario["i_vel"], scenario["i_att"] = 0, 3, 6
    for row in range(200):
        state["x"][0, :10] = np.concatenate([array[row] for array in columns.values()])
        views = view(scenario, writable=False), view(state, writable=False)
        watched = interpreted(read_signal)(views[0], SIGNALS[name].number, 0, 0, views[1], None)
        assert float(watched) == ours[row]
