"""Requests of a scenario that failed before a later one replaced them, or that an estimate was wrong for."""

import pytest

import px4lockstep

ARM, START = {"at_s": 1.0, "action": "arm"}, {"at_s": 2.0, "action": "start_mission"}


def fly(*events, end_s="auto", mission=True):
    overrides = {"environment.wind": "none", "timeline.t_end_s": end_s, "scenario.events": [ARM, *events]}
    return px4lockstep.simulate("x500", overrides=overrides | ({} if mission else {"px4.mission_path": None})).outcome


def bias(at_s, north_m):
    return {"at_s": at_s, "action": "estimate_bias", "pos_ned": [north_m, 0.0, 0.0]}


def clear(at_s):
    return {"at_s": at_s, "action": "clear_estimate_faults"}


@pytest.mark.parametrize("error_m", [9.0, 60.0])
def test_items_that_were_reached_only_by_the_estimate(error_m):
    """It is right again before the landing. Errors that a landing may have are allowed."""
    outcome = fly(START, bias(15.0, error_m), clear(45.0))
    assert outcome.word == ("flown" if error_m < 10.0 else "mission not finished")
    assert error_m < 10.0 or "item 1 was reached at 22.42 s where the estimate was off by 60.0 m" in outcome.reason


LATER = {
    "nothing": (),
    "landing": ({"at_s": 101.0, "action": "land"},),
    "setpoint": (
        {"at_s": 101.0, "action": "arm"},
        {"at_s": 102.0, "action": "setpoint", "pos_ned": [-30.0, 0.0, -5.0]},
    ),
}


@pytest.mark.parametrize("later", LATER)
def test_a_mission_that_landed_away(later):
    """No later request excuses it."""
    error = bias(0.0, 30.0) | {"when": {"signal": "mission_item", "above": 6.5}}
    del error["at_s"]
    outcome = fly(START, error, clear(100.0), *LATER[later], end_s=125.0)
    assert outcome.word == "landed away"
    assert "29.8 m" in outcome.reason


@pytest.mark.parametrize("action", ["land", "return"])
def test_a_return_or_a_landing_that_ended_away(action):
    """Another landing follows on the ground."""
    events = ({"at_s": 30.0, "action": action}, bias(35.0, 30.0), clear(100.0), {"at_s": 101.0, "action": "land"})
    outcome = fly(START, *events, end_s=110.0)
    assert outcome.word == "landed away"


@pytest.mark.parametrize("actions", [("return", "land"), ("land", "return")])
def test_a_landing_wins_over_a_return_at_the_same_time(actions):
    """Whatever their order, as in the autopilot."""
    outcome = fly(START, *({"at_s": 30.0, "action": action} for action in actions))
    assert outcome.word == "flown"


@pytest.mark.parametrize("goes_on", [False, True], ids=["stops", "goes on"])
def test_a_mission_that_is_requested_again_must_go_on(goes_on):
    """A fence interrupts it."""
    settings = (("GF_ACTION", 2.0, 19.0), ("GF_MAX_HOR_DIST", 3.0, 20.0), ("GF_ACTION", 0.0, 40.0))
    fence = ({"at_s": at_s, "action": "set_param", "name": name, "value": value} for name, value, at_s in settings)
    again, land = {"at_s": 41.0, "action": "start_mission"}, {"at_s": 70.0 if goes_on else 42.0, "action": "land"}
    outcome = fly(START, *fence, again, land, end_s=100.0)
    assert outcome.word == ("flown" if goes_on else "mission not finished")


def test_a_low_setpoint_that_the_vehicle_sank_away_from():
    """It lies on the ground, less than 5 m below its place."""
    weak = {"at_s": 20.0, "action": "set_param", "name": "MPC_THR_MAX", "value": 0.66}
    there = {"at_s": 2.0, "action": "setpoint", "pos_ned": [0.0, 0.0, -4.0]}
    assert fly(there, end_s=60.0, mission=False).word == "flown"
    assert fly(there, weak, end_s=60.0, mission=False).word == "setpoints not followed"


def test_a_fault_that_an_item_triggers_does_not_undo_it():
    """The estimate was right until the item was reached."""
    error = bias(0.0, 12.0) | {"when": {"signal": "mission_item", "above": 2.5}}
    del error["at_s"]
    assert fly(START, error, clear(32.0)).word == "flown"
