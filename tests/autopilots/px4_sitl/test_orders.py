"""Requests of the scenario become orders to stock PX4, each once."""

from types import SimpleNamespace

import pytest

from px4lockstep.autopilots.px4_sitl.api import ARM, DISARM, FLY_MISSION, LAND, RETURN
from px4lockstep.autopilots.px4_sitl.autopilot import Px4Sitl

REQUESTS = {"arm": 0, "mission": 0, "return_home": 0, "land": 0}


@pytest.mark.parametrize(
    ("before", "now", "orders"),
    [
        ({}, {"arm": 1}, [ARM]),
        ({"arm": 1}, {"arm": 1}, []),
        ({"arm": 1}, {"arm": 2}, [ARM]),  # PX4 may have disarmed by itself
        ({"arm": 2}, {"arm": 0}, [DISARM]),
        ({"arm": 1, "mission": 1}, {"arm": 2, "mission": 2}, [ARM, FLY_MISSION]),
        ({}, {"return_home": 1, "land": 1}, [RETURN, LAND]),
    ],
)
def test_each_new_request_is_ordered_once(before, now, orders):
    """Simultaneous ones in the order arm, mission, return, land."""
    autopilot, sent = Px4Sitl(), []
    autopilot._api = SimpleNamespace(order=sent.append)
    autopilot._obey(SimpleNamespace(**REQUESTS | before))
    sent.clear()
    for _ in range(2):
        autopilot._obey(SimpleNamespace(**REQUESTS | now))
    assert sent == orders
