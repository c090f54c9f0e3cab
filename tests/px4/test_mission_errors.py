"""Mission errors name the line, the value and the remedy, and are collected in one report."""

import json
from dataclasses import replace

import pytest
from mission_files import HERE, TAKEOFF, as_plan, numbered, wpl

from px4lockstep.autopilots.area import check_area
from px4lockstep.errors import InputError
from px4lockstep.px4.fence import Fence, FenceZone
from px4lockstep.px4.missions import Command, MissionItem, load_mission, parse_plan, parse_wpl


def errors(text, parse=parse_wpl):
    """Return the lines of the report, without the leading file name."""
    with pytest.raises(InputError) as caught:
        parse(text, "m")
    return [line.removeprefix("m").strip() for line in str(caught.value).splitlines()]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (f"3 16 -1 0 0 0 {HERE}", "WAYPOINT time (p1) = -1 must be 0 s or more"),
        (f"3 16 nan 0 0 0 {HERE}", "WAYPOINT time (p1) = nan must be 0 s or more"),
        (f"3 16 inf 0 0 0 {HERE}", "WAYPOINT time (p1) = inf must be 0 s or more"),
        (f"3 16 0 -2 0 0 {HERE}", "WAYPOINT acceptance radius (p2) = -2 must be above 0 m, or 0 for the default"),
        (f"3 16 0 0 0 361 {HERE}", "heading (p4) = 361 must be -360 to 360 degrees, or nan (null) for none"),
        ("3 16 0 0 0 0 90.5 8.5 10", "WAYPOINT latitude (p5) = 90.5 must be -90 to 90 degrees"),
        ("3 16 0 0 0 0 47.4 -180.5 10", "WAYPOINT longitude (p6) = -180.5 must be -180 to 180 degrees"),
        ("3 16 0 0 0 0 473977420 8.5 10", "latitude (p5) = 473977420 must be"),
        ("3 16 0 0 0 0 nan 8.5 10", "WAYPOINT latitude (p5) = nan must be -90 to 90 degrees"),
        ("3 16 0 0 0 0 47.4 8.5 inf", "WAYPOINT altitude (p7) = inf must be a finite number of metres"),
        (
            "3 16 0 0 0 0 0 0 10",
            "at latitude 0, longitude 0 is in the Gulf of Guinea; if it should mean the current position",
        ),
        (f"2 16 0 0 0 0 {HERE}", "frame 2 can't be used with WAYPOINT; use 3 or 6 (altitude above home), 0 or 5"),
        ("1 20 0 0 0 0 0 0 0", "frame 1 can't be used with RETURN_TO_LAUNCH; use 3 or 6 (altitude above home), 0 or 5"),
        (
            f"3 17 0 0 inf 0 {HERE}",
            "loiter radius (p3) = inf must be a finite number of metres; it is for fixed-wing aircraft",
        ),
        ("2 177 0 -1 0 0 0 0 0", "DO_JUMP repeats (p2) = -1 must be a whole number from 0 to 65535; -1 (unlimited) "),
        ("2 177 0.5 1 0 0 0 0 0", "DO_JUMP jump target (p1) = 0.5 must be the number of an item"),
        ("2 177 2 1 0 0 0 0 0", "DO_JUMP leads to item 2, which does not exist; items are numbered 0 to 1"),
        ("2 177 1 1 0 0 0 0 0", "DO_JUMP leads to itself; change its target"),
        ("2 178 5 5 0 0 0 0 0", "DO_CHANGE_SPEED speed type (p1) = 5 must be 1 (ground speed), or 0 (airspeed)"),
        ("2 178 1 0 0 0 0 0 0", "DO_CHANGE_SPEED speed (p2) = 0 must be above 0 m/s, or -1 or -2 for the default"),
        ("2 nan 0 0 0 0 0 0 0", "command nan must be the number of a MAV_CMD"),
        ("2 16.5 0 0 0 0 0 0 0", "command 16.5 must be the number of a MAV_CMD"),
        ("3 195 0 0 0 0 0 0 0", "DO_SET_ROI_LOCATION at latitude 0, longitude 0 is in the Gulf of Guinea"),
        (f"2 195 0 0 0 0 {HERE}", "frame 2 can't be used with DO_SET_ROI_LOCATION; use 3 or 6 (altitude above home)"),
        ("3 201 3 0 0 0 nan 8.5 10", "DO_SET_ROI has no location; give its latitude, longitude and altitude"),
        (f"3 201 7 0 0 0 {HERE}", "DO_SET_ROI mode (p1) = 7 must be 0 (none), 1 (next waypoint) or 3 (location)"),
        ("2 206 inf 0 0 0 0 0 0", "DO_SET_CAM_TRIGG_DIST parameter (p1) = inf must be a finite number, or nan (null)"),
        (f"3 22 0 0 0 0 {HERE}", "TAKEOFF comes after TAKEOFF (m line 2); it must be the first item with a position"),
    ],
)
def test_an_invalid_item_is_reported_with_line_value_and_remedy(item, message):
    """One error, one line in the report."""
    [error] = errors(numbered(item))
    assert error.startswith("line 3: ")
    assert message in error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: '' is not a mission header; it must be 'QGC WPL 110'"),
        ("QGC WPL 120\n" + TAKEOFF, "line 1: 'QGC WPL 120' is not a mission header; it must be 'QGC WPL 110'"),
        (TAKEOFF, "is not a mission header"),
        (wpl(), ": the mission is empty; it needs at least one item"),
        (wpl("0 1 3 22 0 0 0 0 47 8 10"), "line 2: 11 columns; there must be 12: index, current, frame, command, p1"),
        (wpl(TAKEOFF.replace("10", "ten")), "line 2: z = 'ten' must be a number"),
        (wpl(TAKEOFF.replace("10", "1_0")), "line 2: z = '1_0' must be a number"),
        (wpl("1" + TAKEOFF[1:]), "line 2: index 1 must be 0; number the items from 0, without gaps"),
        (
            wpl(TAKEOFF, "1 1" + TAKEOFF[3:].replace(" 22 ", " 21 ")),
            "line 3: current = 1 must be 0 (the first item may",
        ),
        (
            wpl(TAKEOFF[:-1] + "0"),
            "line 2: autocontinue = 0 must be 1 (true); there is no pilot to continue the mission",
        ),
    ],
)
def test_an_invalid_text_file_is_an_error(text, message):
    """Header, columns and the mission as a whole."""
    [error] = errors(text)
    assert message in error


RTL = MissionItem(Command.RETURN_TO_LAUNCH)


def changed(**changes):
    """Return a plan with one item, with some of the item's fields replaced."""
    plan = as_plan(RTL)
    plan["mission"]["items"][0] |= changes
    return plan


def in_mission(**changes):
    """Return a plan with one item, with some of the mission's fields replaced."""
    plan = as_plan(RTL)
    plan["mission"] |= changes
    return plan


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ([], "is not a plan; it must be an object with"),
        (as_plan(RTL, fileType="Mission"), "is not a plan; it must be an object with"),
        (as_plan(RTL, mission={"items": 5}), "is not a plan; it must be an object with"),
        (as_plan(RTL, version=2), ": the plan's version is 2; it must be 1"),
        (in_mission(version=1), ": the mission's version is 1; it must be 2"),
        (in_mission(items=[]), ": the mission is empty; it needs at least one item"),
        (in_mission(plannedHomePosition=[47, 8]), ": plannedHomePosition = [47, 8] must be latitude, longitude"),
        (in_mission(plannedHomePosition=[97, 8, 0]), ": plannedHomePosition = [97, 8, 0] must be latitude"),
        (as_plan(RTL, geoFence={"circles": [{"radius": 5}]}), ": geoFence circles[0]: inclusion = None must be true"),
        (as_plan(RTL, rallyPoints={"points": [[47, 8]]}), ": rallyPoints points[0] = [47, 8] must be latitude"),
        (
            changed(type="ComplexItem", complexItemType="survey"),
            "item 0: survey has no TransectStyleComplexItem.Items; save the plan with QGroundControl 4 or newer",
        ),
        (in_mission(items=[5]), "item 0: type 5 must be SimpleItem or ComplexItem"),
        (changed(type="Item"), "item 0: type 'Item' must be SimpleItem or ComplexItem"),
        (changed(params=[0] * 6), "item 0: params = [0, 0, 0, 0, 0, 0] must be a list of seven numbers or null"),
        (changed(params=["0"] + [0] * 6), "item 0: params[0] = '0' must be a number"),
        (changed(params=[True] + [0] * 6), "item 0: params[0] = True must be a number"),
        (changed(command=None), "item 0: command = None must be a number"),
        (changed(autoContinue=False), "item 0: autocontinue = False must be 1 (true)"),
        (changed(command=177), "item 0: jump target (params[0]) = 0.0 is not the doJumpId of any item; correct it"),
        (changed(command=177, params=[10, 1, 0, 0, 0, 0, 0]), "item 0: DO_JUMP leads to itself"),
    ],
)
def test_an_invalid_plan_is_reported_with_its_item(plan, message):
    """One error, one line in the report."""
    [error] = errors(json.dumps(plan), parse_plan)
    assert message in error


def test_a_jump_to_a_skipped_last_item_names_it():
    """The item exists, but it can't be flown, and nothing follows."""
    [error] = errors(numbered(f"3 16 0 0 0 0 {HERE}", "2 177 3 1 0 0 0 0 0", "2 400 1 0 0 0 0 0 0"))
    assert error == "line 4: DO_JUMP leads to line 5, which is skipped, and no item follows; change its target"


def test_a_gate_before_the_takeoff_is_an_error():
    """PX4 does not accept a takeoff after it; on the ground, there is no way to fly through it."""
    gate = f"0 1 3 4501 0 0 0 0 {HERE} 1"
    [error] = errors(wpl(gate, f"1 0 3 22 0 0 0 0 {HERE} 1", "2 0 2 20 0 0 0 0 0 0 0 1"))
    assert error.startswith("line 2: CONDITION_GATE comes before the first item with a position; ")


def survey_plan():
    """Return a plan whose survey has an item with the ID of the simple item after it, to which a jump leads."""
    there = {"lat_deg": 47.4, "lon_deg": 8.5, "alt_m": 10.0}
    waypoint = MissionItem(Command.WAYPOINT, **there)
    plan = as_plan(MissionItem(Command.TAKEOFF, **there), waypoint, waypoint, MissionItem(Command.DELAY), RTL)
    items = plan["mission"]["items"]
    parts = [dict(items[1], doJumpId=12), dict(items[1], doJumpId=True)]
    items[1] = {"type": "ComplexItem", "complexItemType": "survey", "TransectStyleComplexItem": {"Items": parts}}
    items[3] |= {"command": 177, "params": [12, 1, 0, 0, 0, 0, 0]}
    return plan


def test_a_jump_leads_to_the_simple_item_with_its_id():
    """Not to an item of a survey with the same number; and `true` is no number."""
    mission = parse_plan(json.dumps(survey_plan()), "m")
    assert [item.command for item in mission.items][4] is Command.DO_JUMP
    assert mission.items[4].jump_to == 3
    plan = survey_plan()
    plan["mission"]["items"][3]["params"][0] = 1
    [error] = errors(json.dumps(plan), parse_plan)
    assert "jump target (params[0]) = 1 is not the doJumpId of any item" in error


def test_messages_about_a_mission_name_the_items_of_the_file():
    """Not the numbers that they have after the survey is replaced by its items."""
    mission = parse_plan(json.dumps(survey_plan()), "m")
    assert [item.where for item in mission.items][1:4] == [
        "item 1 (survey), its item 0",
        "item 1 (survey), its item 1",
        "item 2",
    ]
    lost = mission.lost_by_library()
    assert lost[1].startswith("m item 1 (survey), its item 1: WAYPOINT has no heading")
    assert lost[2].startswith("m item 2: WAYPOINT has no heading")
    text = parse_wpl(numbered("2 93 5 0 0 0 0 0 0", "2 20 0 0 0 0 0 0 0"), "m")
    assert text.lost_by_library()[0].startswith("m line 3: DELAY would lose its 5 s")
    inside = Fence((FenceZone(True, (), (47.5, 8.5), 50.0),))
    with pytest.raises(InputError, match=r"^item 1 \(survey\), its item 0 \(WAYPOINT\) must be inside"):
        check_area(replace(mission, items=mission.items[1:], fence=inside), 47.5, 8.5)


def test_duplicate_ids_in_a_plan_are_an_error():
    """A jump to the ID would be ambiguous."""
    plan = as_plan(MissionItem(Command.DELAY), RTL)
    plan["mission"]["items"][1]["doJumpId"] = 10
    assert errors(json.dumps(plan), parse_plan) == [
        "item 1: doJumpId 10 is already used by item 0; give each item a different one"
    ]


@pytest.mark.parametrize("text", ["{", '{"mission": 1e}'], ids=["cut", "number"])
def test_a_plan_that_is_not_json_is_an_error(text):
    """With the parser's message."""
    [error] = errors(text, parse_plan)
    assert error.startswith("is not JSON: ")


@pytest.mark.parametrize("depth", [40, 100_000])
def test_a_plan_that_is_nested_too_deeply_is_an_error(depth):
    """Whether or not the parser accepts it."""
    [error] = errors("[" * depth + "]" * depth, parse_plan)
    assert error.startswith("is nested too deeply: more than 32 levels")


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"], ids=["missing", "binary"])
def test_an_unreadable_file_is_an_error_that_names_it(tmp_path, content):
    """Not a traceback."""
    path = tmp_path / "no.waypoints"
    if content:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"file not found: .*no\.waypoints$|no\.waypoints is not text"):
        load_mission(path)


def test_all_errors_are_in_one_report_in_line_order():
    """Errors of single lines, and of the mission as a whole."""
    report = errors(
        numbered(
            f"3 16 -1 -2 0 0 {HERE}",
            "3 16 0 0",
            "2 nan 0 0 0 0 0 0 0",
            f"3 22 0 0 0 0 {HERE}",
            "2 177 9 1 0 0 0 0 0",
        )
    )
    assert [line.split(":")[0] for line in report] == ["line 3", "line 3", "line 4", "line 5", "line 6", "line 7"]


@pytest.mark.parametrize("parse", [parse_wpl, parse_plan])
def test_a_flag_above_1_is_true_with_a_warning(parse):
    """As in PX4Lockstep.jl's long_mission_20min.waypoints: LOITER_TIME with p2 = 20, which PX4 reads as true."""
    text = numbered(f"3 19 220 20 0 0 {HERE}", f"3 21 0 0 0 0 {HERE}")
    if parse is parse_plan:
        plan = as_plan(*parse_wpl(text, "m").items)
        plan["mission"]["items"][1]["params"][1] = 20
        text = json.dumps(plan)
    mission = parse(text, "m")
    assert mission.items[1].hold_s == 220.0
    place = "m line 3" if parse is parse_wpl else "m item 1"
    assert mission.warnings == (f"{place}: LOITER_TIME heading required (p2) = 20 is taken as 1 (true)",)
