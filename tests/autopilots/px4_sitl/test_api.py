"""PX4's MAVLink API: queued orders, mission upload over a lossy link, and status."""

import math

import pytest
from sitl_wire import Wire

from px4lockstep.autopilots.px4_sitl import api
from px4lockstep.autopilots.px4_sitl.api import ARM, DISARM, FLY_MISSION, LAND, Api
from px4lockstep.autopilots.px4_sitl.parameters import Parameters
from px4lockstep.autopilots.px4_sitl.uploads import item_fields
from px4lockstep.errors import SimulationError
from px4lockstep.px4.commands import Command
from px4lockstep.px4.fence import Fence, FenceZone, RallyPoint
from px4lockstep.px4.mission_items import MissionItem
from px4lockstep.px4.missions import parse_wpl

MISSION = parse_wpl(
    """QGC WPL 110
0 1 3 22 0 0 0 0 47.397742 8.545594 12 1
1 0 0 16 2 3 0 90 47.397842 8.545694 500 1
2 0 2 178 1 4 -1 0 0 0 0 1
3 0 2 177 1 2 0 0 0 0 0 1
4 0 2 93 3 0 0 0 0 0 0 1
5 0 2 20 0 0 0 0 0 0 0 1
""",
    "test",
)


@pytest.fixture
def wire():
    return Wire()


def beat(wire, mode=(4, 3), armed=False):
    """Return a heartbeat of PX4."""
    wire.hear("heartbeat", 2, 12, 1 + 128 * armed, mode[0] << 16 | mode[1] << 24, 4)


def step_on(own, end_us):
    for time_us in range(0, end_us, 100_000):
        own.step(time_us)


def test_every_item_is_encoded_as_in_mavlink():
    """Frame, command, seven parameters; items without a position use the mission frame."""
    fields = [item_fields(item, i) for i, item in enumerate(MISSION.items)]
    places = (473_978_420, 85_456_940)
    assert fields[0] == (0, 6, 22, 1, 1, 0.0, 0.0, 0.0, 0.0, 473_977_420, 85_455_940, 12.0)
    assert fields[1] == (1, 5, 16, 0, 1, 2.0, 3.0, 0.0, 90.0, *places, 500.0)
    assert fields[2] == (2, 2, 178, 0, 1, 1.0, 4.0, -1.0, 0.0, 0, 0, 0.0)
    assert fields[3] == (3, 2, 177, 0, 1, 1.0, 2.0, 0.0, 0.0, 0, 0, 0.0)
    assert fields[4][5] == 3.0
    assert fields[5][1:3] == (2, 20)


def test_commands_of_camera_gimbal_and_roi_keep_their_parameters():
    """As in the file; x and y are whole numbers, and a location has the frame of its altitude."""
    here = "47.397742 8.545594"
    lines = [
        f"0 1 3 22 0 0 0 0 {here} 12 1",
        "1 0 2 206 2.5 0 1 0 0 0 0 1",
        "2 0 2 205 -45 0 30 0 0 0 2 1",
        f"3 0 3 195 0 0 0 0 {here} 3 1",
        "4 0 2 196 0 0 0 0 -20.4 0 90 1",
        f"5 0 0 201 3 0 0 0 {here} 490 1",
        "6 0 2 197 0 0 0 0 0 0 0 1",
        f"7 0 3 4501 0 1 0 0 {here} 12 1",
        f"8 0 3 31 1 -30 0 1 {here} 12 1",
        "9 0 2 2001 0 nan nan nan nan nan nan 1",
        f"10 0 3 85 0 0 0 0 {here} 0 1",
    ]
    items = parse_wpl("\n".join(["QGC WPL 110", *lines, ""]), "test").items
    fields = [item_fields(item, i)[1:] for i, item in enumerate(items)]
    place = (473_977_420, 85_455_940)
    assert fields[1] == (2, 206, 0, 1, 2.5, 0.0, 1.0, 0.0, 0, 0, 0.0)
    assert fields[2] == (2, 205, 0, 1, -45.0, 0.0, 30.0, 0.0, 0, 0, 2.0)
    assert fields[3] == (6, 195, 0, 1, 0.0, 0.0, 0.0, 0.0, *place, 3.0)
    assert fields[4] == (2, 196, 0, 1, 0.0, 0.0, 0.0, 0.0, -20, 0, 90.0)
    assert fields[5] == (5, 201, 0, 1, 3.0, 0.0, 0.0, 0.0, *place, 490.0)
    assert fields[6] == (2, 197, 0, 1, 0.0, 0.0, 0.0, 0.0, 0, 0, 0.0)
    assert fields[7] == (6, 4501, 0, 1, 0.0, 0.0, 0.0, 0.0, *place, 12.0)
    assert fields[8] == (6, 31, 0, 1, 0.0, -30.0, 0.0, 0.0, *place, 12.0)
    assert fields[9][1] == 2001
    assert math.isnan(fields[9][5])
    assert fields[10][1] == 21


def test_an_unspecified_heading_is_nan():
    """PX4 then chooses the heading."""
    text = "QGC WPL 110\n0 1 3 22 0 0 0 nan 47.397742 8.545594 12 1\n"
    assert math.isnan(item_fields(parse_wpl(text, "test").items[0], 0)[8])


def test_a_mission_is_uploaded_over_a_lossy_link(wire):
    """The count is repeated, and items are sent as often as requested, to the system that was heard."""
    own = Api(wire, MISSION.items)
    assert not own.is_ready
    wire.hear("heartbeat", 2, 12, 0, 0, 3)
    own.upload(0)
    step_on(own, 2_200_000)
    assert [told.get_type() for told in wire.sent] == ["MISSION_COUNT"] * 2
    assert (wire.sent[1].target_system, wire.sent[1].count) == (7, 6)
    for number in (0, 0, 1, 2, 3, 4, 5):
        wire.hear("mission_request_int", 245, 190, number)
    wire.hear("mission_request_int", 245, 190, 6)  # which does not exist
    own.step(2_200_000)
    assert [told.seq for told in wire.sent[2:]] == [0, 0, 1, 2, 3, 4, 5]
    wire.hear("mission_ack", 245, 190, 0)
    own.step(2_300_000)
    assert own.is_ready
    own.step(5_000_000)
    assert len(wire.sent) == 9


def sent_types(wire):
    """Return what was sent: the type and, of an item, its number."""
    names = {"MISSION_COUNT": lambda told: "count", "MISSION_ITEM_INT": lambda told: told.seq}
    return [names[told.get_type()](told) for told in wire.sent]


def test_the_last_item_is_repeated_until_it_is_acknowledged(wire):
    """PX4's acknowledgement was lost, and it repeats it; a count would begin another transfer, or be refused."""
    own = Api(wire, MISSION.items[:2])
    own.upload(0)
    own.step(0)
    for number in range(2):
        wire.hear("mission_request_int", 245, 190, number)
    own.step(100_000)
    for time_us in range(200_000, 3_000_000, 100_000):
        own.step(time_us)
    assert sent_types(wire) == ["count", 0, 1, 1, 1]
    wire.hear("mission_ack", 245, 190, 0)
    own.step(3_000_000)
    assert own.is_ready


def test_an_upload_starts_again_when_px4_has_given_it_up(wire):
    """It requests no item any more, for longer than PX4's own timeout of 5 s."""
    own = Api(wire, MISSION.items[:2])
    own.upload(0)
    own.step(0)
    wire.hear("mission_request_int", 245, 190, 0)
    step_on(own, 7_000_000)
    assert sent_types(wire)[:3] == ["count", 0, 0]
    assert sent_types(wire)[-1] == "count"


def test_an_upload_that_px4_is_too_busy_for_starts_again(wire):
    """MAV_MISSION_ERROR, while another transfer is under way; but not for ever."""
    own = Api(wire, MISSION.items[:2])
    own.upload(0)
    own.step(0)
    for second in range(1, api.MAX_UPLOAD_ERRORS + 1):
        wire.hear("mission_ack", 245, 190, api.MISSION_ERROR)
        own.step(2_000_000 * second)
        own.step(2_000_000 * second + 1_500_000)
    assert sent_types(wire) == ["count"] * (1 + api.MAX_UPLOAD_ERRORS)
    wire.hear("mission_ack", 245, 190, api.MISSION_ERROR)
    with pytest.raises(SimulationError, match="PX4 rejected the mission with MAV_MISSION_RESULT 1: error"):
        own.step(30_000_000)


@pytest.mark.parametrize("is_requested", [False, True])
def test_silence_counts_only_if_it_lasts_in_wall_clock_time_too(wire, monkeypatch, is_requested):
    """Its threads for MAVLink may have had no processor; the error says how far the upload came."""
    now_s = 100.0
    monkeypatch.setattr(api.time, "monotonic", lambda: now_s)
    wire.hear("heartbeat", 2, 12, 0, 0, 3)
    own = Api(wire, MISSION.items[:2])
    own.upload(0)
    own.step(0)
    own.step(2 * api.PATIENCE_US)
    if is_requested:
        wire.hear("mission_request_int", 245, 190, 0)
    own.step(3 * api.PATIENCE_US)
    now_s += api.PATIENCE_S + 0.1
    where = "; the last item that it requested was 0" if is_requested else ""
    with pytest.raises(SimulationError, match=rf"the mission, 2 items, was sent to PX4 .* it did not answer{where}$"):
        own.step(3 * api.PATIENCE_US + 1_000)


def test_fence_and_rally_points_are_uploaded_before_the_mission(wire):
    """Polygons before circles, one vertex per item; requests and answers for another list are ignored."""
    triangle = ((47.0, 8.0), (47.1, 8.0), (47.0, 8.1))
    fence = Fence((FenceZone(True, (), (47.2, 8.2), 99.5), FenceZone(False, triangle), FenceZone(True, triangle)))
    own = Api(wire, MISSION.items[:1], None, fence, [RallyPoint(47.3, 8.3, 20.0), RallyPoint(47.4, 8.4, 500.0, False)])
    own.upload(0)
    own.step(0)
    expected = [
        (1, [(5002, 5, 3.0)] * 3 + [(5001, 5, 3.0)] * 3 + [(5003, 5, 99.5)]),
        (2, [(5100, 6, 0.0), (5100, 5, 0.0)]),
        (0, [(22, 6, 0.0)]),
    ]
    for time_us, (kind, items) in enumerate(expected, 1):
        assert not own.is_ready
        assert (wire.sent[-1].mission_type, wire.sent[-1].count) == (kind, len(items))
        sent = len(wire.sent)
        wire.hear("mission_request_int", 245, 190, 0, (kind + 1) % 3)
        wire.hear("mission_ack", 245, 190, 0, (kind + 1) % 3)
        for number in range(len(items)):
            wire.hear("mission_request_int", 245, 190, number, kind)
        own.step(1_000 * time_us)
        found = wire.sent[sent:]
        assert [(told.command, told.frame, told.param1) for told in found] == items
        assert {told.mission_type for told in found} == {kind}
        wire.hear("mission_ack", 245, 190, 0, kind)
        own.step(1_000 * time_us + 500)
    assert own.is_ready
    corner, disc, point = wire.sent[2], wire.sent[7], wire.sent[10]
    assert (corner.x, corner.y, corner.z) == (471_000_000, 80_000_000, 0.0)
    assert (disc.x, disc.y) == (472_000_000, 82_000_000)
    assert (point.x, point.y, point.z) == (474_000_000, 84_000_000, 500.0)


def test_a_rejected_fence_is_named(wire):
    """With PX4's code."""
    own = Api(wire, (), None, Fence((FenceZone(True, (), (47.2, 8.2), 9.0),)))
    own.upload(0)
    wire.hear("mission_ack", 245, 190, 4, 1)
    with pytest.raises(SimulationError, match="PX4 rejected the geofence with MAV_MISSION_RESULT 4: no space"):
        own.step(0)


def test_a_rejected_item_is_named(wire):
    """With its command and the parameter, as PX4 1.18 rejects the angle of DO_SET_ROI_WPNEXT_OFFSET."""
    roi = MissionItem(Command.DO_SET_ROI_WPNEXT_OFFSET, yaw_deg=90.0, params=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 90.0))
    own = Api(wire, (MissionItem(Command.DELAY), roi, MissionItem(Command.DELAY)))
    own.upload(0)
    own.step(0)
    wire.hear("mission_request_int", 245, 190, 0, 0)
    wire.hear("mission_request_int", 245, 190, 1, 0)
    wire.hear("mission_ack", 245, 190, 12, 0)
    with pytest.raises(SimulationError) as error:
        own.step(1_000)
    assert "the mission at item 1, DO_SET_ROI_WPNEXT_OFFSET (196), with MAV_MISSION_RESULT 12" in str(error.value)
    assert "parameter 7 = 90 is not allowed" in str(error.value)


def test_orders_wait_for_each_other(wire):
    """Mission mode is requested when PX4's answer and its heartbeat confirm arming."""
    own = Api(wire, ())
    own.order(ARM)
    own.order(FLY_MISSION)
    own.step(0)
    own.step(400_000)
    assert [told.command for told in wire.sent] == [400]
    wire.hear("command_ack", 400, 5)  # in progress
    own.step(450_000)
    wire.hear("command_ack", 400, 0)
    beat(wire)  # older than the answer
    own.step(480_000)
    own.step(1_000_000)
    assert len(wire.sent) == 1
    beat(wire, armed=True)
    own.step(1_480_000)
    own.step(1_500_000)
    assert [(told.command, told.param2, told.param3) for told in wire.sent] == [(400, 0.0, 0.0), (176, 4.0, 4.0)]
    assert own.is_waiting
    beat(wire, (4, 4), armed=True)
    own.step(1_600_000)
    assert own.is_waiting  # confirmed, but not yet answered
    wire.hear("command_ack", 176, 0)
    beat(wire, (4, 4), armed=True)
    own.step(1_700_000)
    assert not own.is_waiting


@pytest.mark.parametrize(("order", "mode", "armed"), [(LAND, (4, 6), True), (DISARM, (4, 3), False)])
def test_an_order_is_confirmed_only_by_a_matching_heartbeat(wire, order, mode, armed):
    own = Api(wire, ())
    own.order(order)
    own.step(0)
    wire.hear("command_ack", order.command, 0)
    beat(wire, (4, 5), armed=True)
    own.step(100_000)
    assert own.is_waiting
    beat(wire, mode, armed=armed)
    own.step(200_000)
    assert not own.is_waiting


@pytest.mark.parametrize("target", [(255, 190), (245, 191)])
def test_answers_to_another_ground_station_are_ignored(wire, target):
    """PX4 broadcasts them: the other station's LAND was accepted, and ours was rejected."""
    own = Api(wire, ())
    own.order(LAND)
    own.step(0)
    wire.hear("command_ack", 176, 1, 0, 0, 245, 190)
    wire.hear("command_ack", 176, 0, 0, 0, *target)
    beat(wire, (4, 6), armed=True)
    own.step(100_000)
    assert own.is_waiting
    own.step(600_000)
    assert len(wire.sent) == 2


def test_mission_uploads_of_another_ground_station_are_ignored(wire):
    """We do not send its items, and the end of its upload does not end ours."""
    own = Api(wire, MISSION.items)
    own.upload(0)
    own.step(0)
    wire.hear("mission_request_int", 255, 190, 0)
    wire.hear("mission_ack", 255, 190, 0)
    own.step(100_000)
    assert [told.get_type() for told in wire.sent] == ["MISSION_COUNT"]
    assert not own.is_ready


def test_an_order_that_is_accepted_but_never_confirmed_is_a_warning(wire, monkeypatch):
    """A failsafe of PX4 overrides it; it is repeated, and then the flight continues with the next order."""
    monkeypatch.setattr(api, "PATIENCE_US", 4_000_000)
    own = Api(wire, ())
    own.order(FLY_MISSION)
    own.order(LAND)
    for time_us in range(0, 6_000_000, 100_000):
        if time_us % 1_000_000 == 100_000:
            beat(wire, (4, 5), armed=True)
        own.step(time_us)
        if len(wire.sent) < 3 and wire.sent[-1].param3 == 4.0:
            wire.hear("command_ack", 176, 0, 0, 0, 245, 190)
    assert [told.param3 for told in wire.sent[:3]] == [4.0, 4.0, 6.0]
    [warning] = own.warnings
    assert "PX4 was commanded to fly the mission for 4 s of simulated time, but it answered: accepted, but" in warning


def test_an_unanswered_order_is_repeated_with_a_confirmation_count(wire):
    """As MAVLink specifies."""
    own = Api(wire, ())
    own.order(LAND)
    step_on(own, 1_600_001)
    assert [told.confirmation for told in wire.sent] == [0, 1, 2, 3]


def test_an_order_that_is_rejected_until_the_timeout_is_an_error(wire, monkeypatch):
    """With PX4's answer and status texts."""
    monkeypatch.setattr(api, "PATIENCE_US", 1_000_000)
    own = Api(wire, ())
    own.order(ARM)
    own.step(0)
    wire.hear("command_ack", 400, 2)
    wire.hear("statustext", 4, b"No GPS")
    with pytest.raises(
        SimulationError, match=r"PX4 was commanded to arm for 1 s .* it answered: denied; it said: \"No GPS\""
    ):
        step_on(own, 2_000_000)


def test_an_order_without_any_answer_is_an_error(wire, monkeypatch):
    """The message says that there was no answer."""
    monkeypatch.setattr(api, "PATIENCE_US", 1_000_000)
    monkeypatch.setattr(api, "PATIENCE_S", 0.0)
    own = Api(wire, ())
    own.order(ARM)
    with pytest.raises(SimulationError, match=r"but it did not answer$"):
        step_on(own, 2_000_000)


def test_the_battery_is_sent_as_a_component_of_the_vehicle(wire):
    """In MAVLink's units; a battery that is not measured is not sent."""
    own = Api(wire, ())
    wire.hear("heartbeat", 2, 12, 0, 0, 4)
    own.step(0)
    own.send_battery(2, 12.345, 6.7, 0.894)
    own.send_battery(0, math.nan, math.nan, math.nan)
    told = wire.sent[0]
    assert (told.get_srcSystem(), told.get_srcComponent(), told.id) == (7, 180, 2)
    assert told.voltages[:2] == [12_345, 65_535]
    assert (told.current_battery, told.battery_remaining) == (670, 89)
    assert len(wire.sent) == 1


# -- heartbeats and rates ----------------------------------------------------------------------------------------


def test_it_is_a_ground_station_with_a_heartbeat_per_second(wire):
    """PX4 sends status texts to nobody else; the rates of texts and modes are requested twice, as one may be lost."""
    own = Api(wire, ())
    step_on(own, 4_500_001)
    assert [(beat.type, beat.get_srcSystem()) for beat in wire.beats] == [(6, 245)] * 5
    assert [(rate.param1, rate.param2) for rate in wire.rates] == [(253.0, 1000.0), (436.0, 1000.0)] * 2


def test_it_sends_nothing_before_px4_is_known(wire):
    wire.is_known = False
    own = Api(wire, (), Parameters({"MPC_XY_P": 0.5}, ()))
    step_on(own, 2_000_000)
    assert not wire.beats + wire.rates + wire.sent


# -- orders that PX4 refuses -------------------------------------------------------------------------------------


def test_a_mission_that_px4_refuses_until_it_disarms_itself_is_a_warning(wire):
    """Disarmed, PX4 accepts mission mode, which must not count. The reason is quoted."""
    own = Api(wire, ())
    own.order(FLY_MISSION)
    answered = 0
    wire.hear("statustext", 2, b"Geofence violation for waypoint 2\t")
    for time_us in range(0, 12_000_000, 100_000):
        is_armed = time_us < 10_000_000
        own.step(time_us, is_armed)
        if len(wire.sent) > answered:
            answered = len(wire.sent)
            wire.hear("command_ack", 176, 1 if time_us < 9_900_000 else 0, 0, 0, 245, 190)
        if not is_armed:
            beat(wire, (4, 4))
    assert not own.is_waiting
    [warning] = own.warnings
    assert warning == (
        "PX4 was commanded to fly the mission for 10 s of simulated time, but it answered: temporarily rejected; it "
        'said: "Geofence violation for waypoint 2". It has disarmed itself'
    )
