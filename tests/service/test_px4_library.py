"""Real PX4 as a library, here its double, is served as far as the host's commander goes; the rest is refused."""

import pytest
from px4_double import OPTIONS, build_double
from served import Flown

from px4lockstep.scenario.commands import (
    DENIED,
    TEMPORARILY_REJECTED,
    UNSUPPORTED,
    Arm,
    Disarm,
    GoTo,
    Hold,
    Item,
    Land,
    Orbit,
    Reset,
    Return,
    SetMission,
    SetMode,
    SetParam,
    StartMission,
    Takeoff,
)

pytestmark = pytest.mark.process


@pytest.fixture
def flown(monkeypatch, tmp_path):
    """An Iris with a copy of the double, which fails the flight at the first violation."""
    monkeypatch.setenv(OPTIONS, "strict")
    overrides = {"autopilot.kind": "px4", "px4.libpath": str(build_double(tmp_path))}
    with Flown("iris", overrides=overrides) as flown:
        yield flown


def item(flown, north_m, east_m, command):
    """Return a mission item with a heading: the library drops those without."""
    made = flown.waypoint(north_m, east_m, 8.0, command)
    return Item(made.frame, command, (0.0, 1.0, 0.0, 0.0), made.x, made.y, made.z)


def test_a_mission_is_uploaded_flown_and_landed(flown):
    """Arming, mission and landing are requests to the host's commander; the mission is loaded before arming."""
    assert flown.status.nav_state == 4
    items = tuple(item(flown, north_m, 0.0, command) for north_m, command in ((0.0, 22), (10.0, 16), (20.0, 16)))
    flown.give_all(SetMode(4), SetMission(items, 3))
    assert flown.give(StartMission()).code == TEMPORARILY_REJECTED
    flown.give_all(Arm(), StartMission())
    assert flown.give(SetMission(items)).code == TEMPORARILY_REJECTED
    status = flown.until(lambda status: status.pos_ned[0] > 8.0, 60.0)
    assert status.nav_state == 3
    assert flown.give(Disarm()).text == "Disarming denied: not landed"
    flown.give_all(Land())
    flown.until(lambda status: not status.armed, 60.0)
    assert flown.run.outcome.word == "flown"


def test_what_the_library_cannot_do_is_refused(flown):
    for command in (Takeoff(), GoTo(47.0, 8.0, 500.0), Orbit(10.0, 1.0), SetMode(14)):
        result = flown.give(command)
        assert result.code == UNSUPPORTED
        assert "real PX4 as a library" in result.text
    flown.give_all(Hold())
    assert flown.give(Return()).code == TEMPORARILY_REJECTED
    assert flown.give(SetParam("NO_SUCH_PARAM", 1.0)).code == DENIED
    flown.give_all(SetParam("MPC_XY_CRUISE", 3.0))
    assert flown.vehicle.parameters["MPC_XY_CRUISE"] == 3.0
    jump = Item(2, 177, (0.0, 1.0, 0.0, 0.0))
    assert flown.give(SetMission((item(flown, 0.0, 0.0, 22), jump))).code == DENIED
    assert flown.give(Reset()).code == UNSUPPORTED
