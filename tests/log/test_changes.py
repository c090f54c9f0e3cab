"""Rows at which columns change, and the faults found in them."""

import numpy as np
import pytest

from px4lockstep import simulate
from px4lockstep.log.changes import changed_rows, raised_rows
from px4lockstep.log.events import events_of, faults_of
from px4lockstep.log.log import Log
from px4lockstep.scenario.actions import ACTIONS, FAULTLESS
from px4lockstep.scenario.scenario import Scenario


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.bool_, np.float64])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_changes_are_those_of_differences(dtype, count):
    """Of contiguous and strided columns; for a rise, the value before the first row is 0."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        whole = rng.integers(0, 3, (count, 3)).astype(dtype)
        for values in (whole[:, 1], whole[:, 1].copy()):
            wide = values.astype(np.float64)
            np.testing.assert_array_equal(changed_rows(values), np.flatnonzero(np.diff(wide)) + 1)
            np.testing.assert_array_equal(raised_rows(values), np.flatnonzero(np.diff(wide, prepend=0.0) > 0.0))


@pytest.mark.parametrize(
    ("landed", "times_s"),
    [
        ([1, 0, 0, 0, 1, 0, 1, 0, 1, 1], [4]),  # it bounces twice
        ([1, 0, 1, 0, 0, 0, 1, 1, 1, 1], [2, 6]),  # it flies again
        ([0, 0, 1, 1, 1, 1, 1, 1, 1, 1], [2]),
        ([1, 0, 1, 1, 1, 1, 1, 1, 1, 1], [2]),  # a hop is no bounce: there was no landing before
        ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0], []),
    ],
)
def test_a_bounce_is_no_landing(landed, times_s):
    """One row per second; after a landing, one second in the air is a bounce."""
    log = Log({"time_us": np.arange(len(landed)) * 1_000_000, "landed": np.array(landed)})
    assert [(event.time_us / 1e6, event.label) for event in events_of(log)] == [(at, "landed") for at in times_s]


ORDERS = {
    "nothing": [],
    "requests": [{"action": "land", "at_s": 2.5}, {"action": "wind_step", "at_s": 2.0, "vel_ned": [1.0, 0.0, 0.0]}],
    "motor": [{"action": "thrust_loss", "at_s": 2.0, "motor": 1, "fraction": 0.3}],
    "stuck": [{"action": "stuck_motor", "at_s": 2.0, "motor": 2}, {"action": "restore_motor", "at_s": 2.5, "motor": 2}],
    "battery": [{"action": "disconnect_battery", "at_s": 2.5}],
    "sensor": [{"action": "sensor_fault", "at_s": 2.0, "sensor": "estimate"}],
    "dropout": [{"action": "estimate_dropout", "at_s": 2.0}],
    "bias": [{"action": "estimate_bias", "at_s": 2.0, "yaw_rad": 0.1}],
    "drift": [{"action": "estimate_drift", "at_s": 2.0, "pos_ned": [0.1, 0.0, 0.0]}],
}


@pytest.mark.parametrize("orders", ORDERS)
def test_faults_are_the_events_that_begin_one(orders):
    """Also if it is known from the scenario that only the plant itself can set any."""
    short = {"timeline.t_end_s": 3.0, "estimator.kind": "noisy_delayed", "power.batteries[0].soc0": 0.05}
    run = simulate("iris", overrides=short | {"scenario.events": ORDERS[orders]})
    area = run.simulation.autopilot.area
    expected = tuple(event for event in events_of(run.log, area) if event.is_fault)
    assert expected  # a low battery is one, too
    assert faults_of(run.log, area) == expected
    assert run.simulation.may_have_faults == (orders not in ("nothing", "requests"))
    assert faults_of(run.log, area, has_imposed=run.simulation.may_have_faults) == expected
    assert run.facts.faults == expected


def test_a_scenario_in_python_may_have_faults():
    """Its functions can set any; those of other simulations are not known."""
    scenario = Scenario().at(1.0).do(lambda time_us, inputs, outputs: None)
    assert simulate("iris", overrides={"timeline.t_end_s": 2.0}, scenario=scenario).simulation.may_have_faults


def test_faultless_actions_are_requests_setpoints_and_wind():
    """Every other action is about a fault."""
    names = {name for name, action in ACTIONS.items() if action.number in FAULTLESS}
    assert names == {
        *("arm", "disarm", "start_mission", "return", "land", "wind_step"),
        *("setpoint", "stop_setpoints", "offboard", "set_param"),
    }
