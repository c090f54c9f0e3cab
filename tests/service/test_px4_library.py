"""Real PX4 as a library, here its double, is served as far as the host's commander goes; the rest is refused."""

from contextlib import closing

import pytest
from mavlink_client import Served
from px4_double import OPTIONS, build_double
from served import Flown

import px4lockstep
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
def overrides(monkeypatch, tmp_path):
    """Those for a copy of the double, which fails the flight at the first violation."""
    monkeypatch.setenv(OPTIONS, "strict")
    return {"autopilot.kind": "px4", "px4.libpath": str(build_double(tmp_path))}


@pytest.fixture
def flown(overrides):
    """An Iris with the double."""
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


def test_the_last_command_of_a_tick_counts(flown):
    items = tuple(item(flown, north_m, 0.0, command) for north_m, command in ((0.0, 22), (10.0, 16), (20.0, 16)))
    flown.give_all(SetMission(items, 3), Arm(), StartMission())
    flown.until(lambda status: status.pos_ned[0] > 8.0, 60.0)
    for command in (Land(), Return()):
        flown.vehicle.submit(command)
    assert flown.fly(1.0).nav_state == 5


def test_a_client_flies_it_over_mavlink(served_instance, overrides, tmp_path):
    """Heartbeat, parameters, upload and download of a mission, arming, mission mode, landing; recorded."""
    with closing(Served(served_instance, "iris", overrides=overrides, record=tmp_path / "runs", plots=False)) as served:
        client, target = served.client(), (served_instance + 1, 1)
        beat = client.expect("HEARTBEAT")
        assert (beat.autopilot, beat.custom_mode) == (12, 4 << 16 | 3 << 24)
        client.send("param_request_read", *target, b"MPC_XY_CRUISE", -1)
        assert client.expect("PARAM_VALUE").param_value == 5.0
        home = served.vehicle.status.home
        places = [(round(1e7 * home.lat_deg) + 900 * i, round(1e7 * home.lon_deg), 8.0) for i in range(3)]
        client.send("mission_count", *target, 3, 0)
        for number, place in enumerate(places):
            client.expect("MISSION_REQUEST_INT", seq=number)
            command = 16 if number else 22
            client.send("mission_item_int", *target, number, 6, command, 0, 1, 0.0, 1.0, 0.0, 0.0, *place, 0)
        assert client.expect("MISSION_ACK").type == 0
        client.send("mission_request_list", *target, 0)
        assert client.expect("MISSION_COUNT").count == 3
        client.send("mission_ack", *target, 0, 0)
        assert client.command(22) == UNSUPPORTED
        assert client.command(400, 1.0) == 0
        assert client.set_mode(4, 4) == 0
        client.expect("HEARTBEAT", custom_mode=4 << 16 | 4 << 24, base_mode=157)
        client.expect("MISSION_ITEM_REACHED", within_s=60.0)
        assert client.command(21) == 0
        client.expect("HEARTBEAT", within_s=60.0, base_mode=29)
    assert served.vehicle.last_run.outcome.word == "flown"
    [folder] = served.vehicle.folders
    assert px4lockstep.replay(folder).digest == served.vehicle.last_run.digest


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
