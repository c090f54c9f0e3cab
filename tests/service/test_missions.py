"""The mission protocol of a served vehicle: mission, geofence and rally points, as PX4 answers."""

import math

import pytest

LAT, LON = 473977420, 85455940
RTL, TAKEOFF, WAYPOINT = 20, 22, 16
SQUARE = [
    (LAT - 10_000, LON - 10_000),
    (LAT - 10_000, LON + 10_000),
    (LAT + 10_000, LON + 10_000),
    (LAT + 10_000, LON - 10_000),
]


def item(command, x=0, y=0, z=0.0, frame=6, params=(0.0, 0.0, 0.0, math.nan), autocontinue=1):
    return (frame, command, autocontinue, *params, x, y, z)


def flight(count=3, spread=1_500):
    """A take-off, waypoints, and a return."""
    points = [item(WAYPOINT, LAT + spread * (i % 2), LON + spread * i, 10.0) for i in range(count)]
    return [item(TAKEOFF, LAT, LON, 10.0), *points, item(RTL, frame=2, params=(0.0,) * 4)]


def upload(client, items, kind=0):
    """Upload items; return the acknowledgement."""
    target = (client.served.instance + 1, 1)
    client.send("mission_count", *target, len(items), kind)
    for number in range(len(items)):
        client.expect("MISSION_REQUEST_INT", seq=number, mission_type=kind)
        frame, command, autocontinue, *rest = items[number]
        client.send("mission_item_int", *target, number, frame, command, int(number == 0), autocontinue, *rest, kind)
    return client.expect("MISSION_ACK", mission_type=kind)


def download(client, kind=0):
    """Return the items of the vehicle."""
    target = (client.served.instance + 1, 1)
    client.send("mission_request_list", *target, kind)
    count = client.expect("MISSION_COUNT", mission_type=kind).count
    items = []
    for number in range(count):
        client.send("mission_request_int", *target, number, kind)
        m = client.expect("MISSION_ITEM_INT", seq=number)
        items.append((m.frame, m.command, m.autocontinue, m.param1, m.param2, m.param3, m.param4, m.x, m.y, m.z))
    client.send("mission_ack", *target, 0, kind)
    return items


def state(client):
    client.received.clear()
    return client.expect("MISSION_CURRENT")


@pytest.mark.parametrize("count", [3, 500])
def test_a_download_equals_the_upload(client, count):
    items = flight(count, spread=100)
    assert upload(client, items).type == 0
    assert repr(download(client)) == repr([*items[:-1], item(RTL, frame=2, params=(0.0,) * 4)])
    assert state(client).total == count + 2


def test_a_mission_is_flown_with_its_progress(served, client):
    """MISSION_CURRENT and MISSION_ITEM_REACHED count the uploaded items; then it returns and disarms."""
    assert state(client).mission_state == 1
    assert upload(client, flight()).type == 0
    assert (state(client).mission_state, state(client).total) == (2, 5)
    assert client.set_mode(4, 4) == 0
    assert client.command(400, 1.0) == 0
    client.received.clear()
    served.run(100.0)
    shown = [(m.seq, m.mission_state) for m in client.received if m.get_type() == "MISSION_CURRENT"]
    reached = [m.seq for m in client.received if m.get_type() == "MISSION_ITEM_REACHED"]
    assert [number for number, _ in dict.fromkeys(shown)][:4] == [0, 1, 2, 3]
    assert list(dict.fromkeys(reached))[:4] == [0, 1, 2, 3]
    assert 3 in [each for _, each in shown]
    assert shown[-1][1] == 5
    modes = dict.fromkeys(m.custom_mode >> 24 for m in client.received if m.get_type() == "HEARTBEAT" and m.type == 2)
    assert list(modes) == [4, 5, 3]  # Mission, Return, Hold
    assert not served.vehicle.status.armed
    assert math.hypot(*served.vehicle.status.pos_ned[:2]) < 1.0


def test_pause_shows_that_the_mission_is_paused_and_set_current_changes_the_item(served, client):
    assert upload(client, flight()).type == 0
    assert client.set_mode(4, 4) == 0
    assert client.command(400, 1.0) == 0
    served.run(15.0)
    assert state(client).mission_state == 3
    assert client.set_mode(4, 3) == 0
    served.run(1.0)
    assert state(client).mission_state == 4
    client.send("mission_set_current", served.instance + 1, 1, 3)
    assert client.expect("MISSION_CURRENT", within_s=0.5).seq == 3
    assert client.set_mode(4, 4) == 0
    served.run(1.0)
    assert (state(client).seq, state(client).mission_state) == (3, 3)


def test_mission_start_arms_and_flies(served, client):
    assert client.command(300, 0.0) == 2
    assert upload(client, flight()).type == 0
    assert client.command(300, 0.0) == 0
    served.run(1.0)
    assert served.vehicle.status.armed
    assert served.vehicle.status.nav_state == 3


@pytest.mark.parametrize(
    ("wrong", "result"),
    [
        (item(82, LAT, LON, 10.0), 3),  # SPLINE_WAYPOINT
        (item(9_999, LAT, LON, 10.0), 3),
        (item(WAYPOINT, LAT, LON, 10.0, frame=10), 2),
        (item(WAYPOINT, LAT, LON, 10.0, frame=1), 2),
    ],
)
def test_an_item_that_px4_refuses_ends_the_upload_and_the_old_mission_stays(client, wrong, result):
    old = flight()
    assert upload(client, old).type == 0
    client.send("mission_count", client.served.instance + 1, 1, 2, 0)
    client.expect("MISSION_REQUEST_INT", seq=0)
    frame, command, autocontinue, *rest = wrong
    client.send("mission_item_int", client.served.instance + 1, 1, 0, frame, command, 1, autocontinue, *rest, 0)
    assert client.expect("MISSION_ACK").type == result
    assert len(download(client)) == len(old)


def test_too_many_items_are_refused(client):
    client.send("mission_count", client.served.instance + 1, 1, 20_000, 0)
    assert client.expect("MISSION_ACK").type == 4


def test_all_kinds_can_be_cleared_one_by_one_and_at_once(client):
    for kind in (0, 255):
        assert upload(client, flight()).type == 0
        client.send("mission_clear_all", client.served.instance + 1, 1, kind)
        assert client.expect("MISSION_ACK").type == 0
        assert download(client) == []
        shown = state(client)
        assert (shown.total, shown.mission_state) == (65_535, 1)


def test_an_upload_without_items_clears(client):
    assert upload(client, flight()).type == 0
    client.send("mission_count", client.served.instance + 1, 1, 0, 0)
    assert client.expect("MISSION_ACK").type == 0
    assert download(client) == []


def test_geofence_and_rally_points_are_kept_and_have_ids(served, client):
    fence = [item(5001, x, y, frame=5, params=(4.0, 0.0, 0.0, 0.0), autocontinue=0) for x, y in SQUARE]
    rally = [item(5100, LAT + 500, LON, 20.0, params=(0.0,) * 4)]
    for kind, items in ((1, fence), (2, rally)):
        assert upload(client, items, kind).type == 0
        assert download(client, kind) == items
    served.run(0.1)
    mission = served.vehicle.status.mission
    assert mission.fence_id != 0
    assert mission.rally_id != 0
    client.send("mission_clear_all", served.instance + 1, 1, 1)
    client.expect("MISSION_ACK")
    served.run(0.1)
    assert served.vehicle.status.mission.fence_id == 0


def test_a_mission_outside_the_fence_is_accepted_but_not_flown(served, client):
    fence = [item(5001, x, y, frame=5, params=(4.0, 0.0, 0.0, 0.0), autocontinue=0) for x, y in SQUARE]
    assert upload(client, fence, 1).type == 0
    outside = [item(TAKEOFF, LAT, LON, 10.0), item(WAYPOINT, LAT + 50_000, LON, 10.0)]
    assert upload(client, outside).type == 0
    assert client.command(400, 1.0) == 0
    client.received.clear()
    assert client.set_mode(4, 4) == 1
    served.run(0.5)
    assert any("Mission" in text for text in client.texts)


def test_who_disturbs_a_transfer_on_the_same_link_is_told_that_it_is_busy(served, client):
    other, elsewhere = served.client(system=246), served.client("ground", 255)
    target = (served.instance + 1, 1)
    client.send("mission_count", *target, 2, 0)
    client.expect("MISSION_REQUEST_INT", seq=0)
    other.send("mission_count", *target, 3, 0)
    assert other.expect("MISSION_ACK").type == 1
    elsewhere.send("mission_request_list", *target, 0)
    assert elsewhere.expect("MISSION_COUNT").count == 0
    for number in range(2):
        client.send("mission_item_int", *target, number, 6, WAYPOINT, 0, 1, 0.0, 0.0, 0.0, math.nan, LAT, LON, 5.0, 0)
    assert client.expect("MISSION_ACK").type == 0


def test_an_item_out_of_order_is_ignored_and_the_expected_one_requested_again(served, client):
    target = (served.instance + 1, 1)
    client.send("mission_count", *target, 2, 0)
    client.expect("MISSION_REQUEST_INT", seq=0)
    client.send("mission_item_int", *target, 1, 6, WAYPOINT, 0, 1, 0.0, 0.0, 0.0, math.nan, LAT, LON, 5.0, 0)
    client.expect("MISSION_REQUEST_INT", seq=0, within_s=600.0)  # after 0.25 s of wall-clock time


def test_a_download_must_ask_for_one_item_after_the_other(client):
    assert upload(client, flight()).type == 0
    client.send("mission_request_list", client.served.instance + 1, 1, 0)
    client.expect("MISSION_COUNT")
    client.send("mission_request_int", client.served.instance + 1, 1, 3, 0)
    assert client.expect("MISSION_ACK").type == 1


def test_items_as_numbers_with_fractions_are_taken_and_given(client):
    """The old messages MISSION_ITEM and MISSION_REQUEST."""
    target = (client.served.instance + 1, 1)
    client.send("mission_count", *target, 2, 0)
    for number, command in enumerate((TAKEOFF, WAYPOINT)):
        client.expect("MISSION_REQUEST_INT", seq=number)
        client.send("mission_item", *target, number, 3, command, 0, 1, 0.0, 0.0, 0.0, 0.0, 47.39774, 8.54559, 10.0, 0)
    assert client.expect("MISSION_ACK").type == 0
    client.send("mission_request_list", *target, 0)
    client.expect("MISSION_COUNT", count=2)
    client.send("mission_request", *target, 0, 0)
    found = client.expect("MISSION_ITEM")
    assert (found.command, found.x, found.z) == (TAKEOFF, pytest.approx(47.39774, abs=1e-5), 10.0)
