"""A scenario's requests act once, on change."""

from types import SimpleNamespace

import pytest

from px4lockstep.autopilots.requests import ARM, DISARM, LAND, MISSION, RETURN, new_requests
from px4lockstep.jit import interpreted


def commander(**asked):
    before = {"asked_arm": 0, "asked_mission": 0, "asked_return": 0, "asked_land": 0}
    return SimpleNamespace(**before | asked)


def scenario(arm=0, mission=0, return_home=0, land=0):
    return SimpleNamespace(arm=arm, mission=mission, return_home=return_home, land=land)


@pytest.mark.parametrize(
    ("before", "now", "asked"),
    [
        ({}, {}, 0),
        ({}, {"arm": 1}, ARM),
        ({"asked_arm": 1}, {"arm": 1}, 0),
        ({"asked_arm": 1}, {"arm": 2}, ARM),
        ({"asked_arm": 1}, {}, DISARM),
        ({"asked_mission": 1}, {"mission": 2}, MISSION),
        ({"asked_mission": 2}, {"mission": 2}, 0),
        ({}, {"return_home": 1}, RETURN),
        ({}, {"land": 1}, LAND),
        ({"asked_arm": 1}, {"arm": 0, "mission": 1, "return_home": 1, "land": 1}, DISARM | MISSION | RETURN | LAND),
    ],
)
def test_a_request_is_new_only_once(before, now, asked):
    """Requests are counted, and disarming resets the count of arming; several may arrive in the same tick."""
    own, wanted = commander(**before), scenario(**now)
    assert interpreted(new_requests)(own, wanted) == asked
    assert interpreted(new_requests)(own, wanted) == 0
