"""What can't be flown is left out and reported, or an error if strict; the home of ground stations is not an item."""

import json
import re
from pathlib import Path

import pytest
from mission_files import HERE, TAKEOFF, as_plan, numbered, wpl

from px4lockstep.errors import InputError
from px4lockstep.px4.commands import ALIASES, NO_EFFECT, ROI, SKIPPED, Command
from px4lockstep.px4.missions import MissionItem, load_mission, parse_plan, parse_wpl

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "missions.md"
WAYPOINT = f"3 16 0 0 0 0 {HERE}"


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (f"3 18 2 0 0 0 {HERE}", "command 18 (LOITER_TURNS) is skipped; PX4 does not accept it in missions"),
        (f"3 84 0 0 0 0 {HERE}", "command 84 (VTOL_TAKEOFF) is skipped; a multicopter does not change to forward"),
        ("2 3000 4 0 0 0 0 0 0", "command 3000 (DO_VTOL_TRANSITION) is skipped; a multicopter does not change to"),
        ("2 777 0 0 0 0 0 0 0", "command 777 is skipped; PX4's missions have no such command"),
        (f"10 16 0 0 0 0 {HERE}", "WAYPOINT is skipped; PX4 does not accept altitudes above terrain (frame 10)"),
        ("2 93 -1 12 30 0 0 0 0", "DELAY is skipped; it waits for a time of day"),
        ("2 93 5 0 30 0 0 0 0", "DELAY is skipped; it waits for a time of day"),
        ("2 178 2 5 0 0 0 0 0", "DO_CHANGE_SPEED is skipped; it changes the speed of climb or descent"),
        ("2 178 1 5 -1 1 0 0 0", "DO_CHANGE_SPEED is skipped; its speed is relative"),
        ("2 201 2 0 0 0 0 0 0", "DO_SET_ROI is skipped; only the modes 0, 1 and 3 are supported, not 2"),
    ],
)
def test_an_item_that_cannot_be_flown_is_left_out(item, message, tmp_path):
    """With a line in the warnings; with `strict` the same line is an error."""
    path = tmp_path / "m.waypoints"
    path.write_text(numbered(item, WAYPOINT), "utf-8")
    mission = load_mission(path)
    assert [each.command for each in mission.items] == [Command.TAKEOFF, Command.WAYPOINT]
    [line] = mission.not_flown
    assert line.startswith(f"{path} line 3: {message}")
    assert mission.warnings == mission.not_flown
    with pytest.raises(InputError) as caught:
        load_mission(path, strict=True)
    assert str(caught.value) == line


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (f"3 16 0 0 5 0 {HERE}", "WAYPOINT pass radius (p3) = 5 has no effect; it is for fixed-wing aircraft"),
        ("2 20 0 0 0 0 47.4 0 0", "RETURN_TO_LAUNCH position (p5) = 47.4 has no effect; the command has no position"),
        (f"3 19 5 -2 0 0 {HERE}", "heading required (p2) = -2 has no effect; a multicopter always turns"),
        (f"3 21 5 0 0 0 {HERE}", "LAND abort altitude (p1) = 5 has no effect; landings are never aborted"),
        (f"3 21 0 2 0 0 {HERE}", "LAND precision landing (p2) = 2 has no effect; it is not supported"),
        ("2 178 1 5 60 0 0 0 0", "throttle (p3) = 60 has no effect; a multicopter has no cruise throttle"),
    ],
)
def test_a_parameter_without_an_effect_is_reported(item, message):
    """The item is flown."""
    mission = parse_wpl(numbered(item), "m")
    assert len(mission.items) == 2
    [line] = mission.not_flown
    assert line.startswith("m line 3: ")
    assert message in line


def test_the_same_finding_is_one_line():
    """With the first place and the number of others."""
    mission = parse_wpl(numbered(*[f"3 16 0 0 5 0 {HERE}"] * 300), "m")
    text = "WAYPOINT pass radius (p3) = 5 has no effect; it is for fixed-wing aircraft"
    assert mission.not_flown == (f"m line 3 and 299 more: {text}",)


def test_jumps_follow_their_targets_when_items_are_left_out():
    """A jump to an item that is left out leads to the next one."""
    turns, jump = f"3 18 2 0 0 0 {HERE}", "2 177 {} 1 0 0 0 0 0"
    mission = parse_wpl(numbered(turns, WAYPOINT, jump.format(1), turns, WAYPOINT, jump.format(5)), "m")
    jumps = [item.jump_to for item in mission.items if item.command is Command.DO_JUMP]
    assert [item.command.name for item in mission.items] == ["TAKEOFF", *["WAYPOINT", "DO_JUMP"] * 2]
    assert jumps == [1, 3]


def test_a_mission_without_anything_to_fly_is_an_error():
    """Also if items were left out."""
    with pytest.raises(InputError) as caught:
        parse_wpl(wpl("0 1 2 777 0 0 0 0 0 0 0 1"), "m")
    assert str(caught.value).splitlines() == [
        "m line 2: command 777 is skipped; PX4's missions have no such command",
        "m: the mission is empty; it needs at least one item that can be flown",
    ]


def test_commands_without_an_effect_are_kept_and_counted():
    """Their parameters too, for stock PX4; missing ones are NaN."""
    camera, gimbal = "2 206 5 0 1 0 0 0 0", "2 205 -45 0 30 0 0 0 2"
    mission = parse_wpl(numbered(camera, gimbal, "2 2001 0 nan nan nan nan nan nan", WAYPOINT, camera), "m")
    assert [int(item.command) for item in mission.items] == [22, 206, 205, 2001, 16, 206]
    assert mission.items[2].params == (-45.0, 0.0, 30.0, 0.0, 0.0, 0.0, 2.0)
    assert mission.warnings == (
        "m: 3 camera commands have no effect (206 DO_SET_CAM_TRIGG_DIST, 2001 IMAGE_STOP_CAPTURE)",
        "m: 1 gimbal command has no effect (205 DO_MOUNT_CONTROL)",
    )
    assert mission.not_flown == ()


# -- home --------------------------------------------------------------------------------------------------------

HOME = "47.397742 8.545594 488"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (f"0 1 0 16 0 0 0 0 {HOME} 1", f"1 0 3 22 15 0 0 nan {HERE} 1"),  # Mission Planner, QGroundControl
        (f"0 1 0 16 0 0 0 0 {HOME} 1", f"1 0 3 16 0 0 0 0 {HERE} 1"),  # the same, without a takeoff
        (f"0 0 0 16 0 0 0 0 {HOME} 1", f"1 0 3 22 0 0 0 0 {HERE} 1"),  # MAVProxy
        ("0 1 0 16 0 0 0 0 0 0 0 1", f"1 0 3 22 0 0 0 0 {HERE} 1"),  # no home set
    ],
)
def test_the_home_position_in_the_first_line_is_not_flown(first, second):
    """QGroundControl and Mission Planner read the first line as home; jumps count it."""
    mission = parse_wpl(wpl(first, second, f"2 0 3 16 0 0 0 0 {HERE} 1", "3 0 2 177 2 1 0 0 0 0 0 1"), "m")
    assert [item.line for item in mission.items] == [3, 4, 5]
    assert mission.items[2].jump_to == 1
    assert mission.planned_home == (None if " 0 0 0 1" in first else (47.397742, 8.545594, 488.0))
    remark = "m line 2: this WAYPOINT is the home position that ground stations write; it is not flown"
    assert remark in mission.warnings
    assert remark not in mission.not_flown


@pytest.mark.parametrize(
    "first",
    [
        TAKEOFF,  # PX4's own missions
        f"0 1 3 16 0 0 0 0 {HERE} 1",  # above home
        f"0 1 5 16 0 0 0 0 {HERE} 1",
        f"0 1 0 16 2 0 0 0 {HERE} 1",  # with a hold time
        f"0 1 0 16 0 0 0 90 {HERE} 1",  # with a heading
        f"0 0 0 16 0 0 0 0 {HERE} 1",  # neither current nor before a takeoff
    ],
)
def test_any_other_first_line_is_an_item(first):
    """Although QGroundControl would read it as home: real PX4's loader does not."""
    mission = parse_wpl(wpl(first, f"1 0 3 16 0 0 0 0 {HERE} 1"), "m")
    assert mission.items[0].line == 2
    assert mission.planned_home is None


def test_a_lone_waypoint_is_an_item():
    """A file with nothing but home would have nothing to fly."""
    assert len(parse_wpl(wpl(f"0 1 0 16 0 0 0 0 {HOME} 1"), "m").items) == 1


# -- plans -------------------------------------------------------------------------------------------------------

RTL = MissionItem(Command.RETURN_TO_LAUNCH)
LANDING = {
    "type": "ComplexItem",
    "complexItemType": "fwLandingPattern",
    "version": 2,
    "altitudesAreRelative": True,
    "landCoordinate": [47.398, 8.546, 0],
    "landingApproachCoordinate": [47.399, 8.546, 30],
    "loiterClockwise": False,
    "loiterRadius": 75,
    "stopTakingPhotos": True,
    "stopVideoPhotos": True,
    "useDoChangeSpeed": True,
    "finalApproachSpeed": 12,
    "useLoiterToAlt": True,
    "valueSetIsDistance": False,
}


def with_items(*items):
    plan = as_plan(RTL)
    plan["mission"]["items"] = list(items)
    return json.dumps(plan)


def test_a_landing_pattern_becomes_its_items():
    """Marker, speed, end of recording, loiter to the altitude (to the left), landing."""
    mission = parse_plan(with_items(LANDING), "m")
    assert [int(item.command) for item in mission.items] == [189, 178, 206, 2001, 2501, 31, 21]
    assert mission.items[1].speed_m_s == 12.0
    assert mission.items[5].acceptance_radius_m == -75.0
    assert (mission.items[5].lat_deg, mission.items[5].alt_m) == (47.399, 30.0)
    assert (mission.items[6].lat_deg, mission.items[6].alt_m) == (47.398, 0.0)


def test_a_vtol_landing_pattern_lands():
    """A multicopter flies VTOL_LAND as LAND; here from a waypoint above sea level."""
    changes = {"complexItemType": "vtolLandingPattern", "useLoiterToAlt": False, "altitudesAreRelative": False}
    mission = parse_plan(with_items(LANDING | changes), "m")
    assert [int(item.command) for item in mission.items[-2:]] == [16, 21]
    assert not mission.items[-1].is_relative_alt


def test_an_unknown_complex_item_is_left_out():
    """Named, and an error if strict."""
    unknown = {"type": "ComplexItem", "complexItemType": "spiral"}
    mission = parse_plan(with_items(unknown, as_plan(RTL)["mission"]["items"][0]), "m")
    assert mission.not_flown == ("m item 0: complex item 'spiral' is skipped; it is unknown",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Layers": 0}, "m item 0 (StructureScan): Layers = 0 must be a whole number from 1 to 1,000"),
        ({"Layers": "2"}, "m item 0 (StructureScan): Layers = '2' must be a number"),
        ({"CameraCalc": None}, "m item 0 (StructureScan) CameraCalc: DistanceToSurface = None must be a number"),
        (
            {"Layers": 1000, "polygon": [[47.4, 8.5 + 1e-6 * i] for i in range(99)]},
            "1000 layers of 99 vertices are more items than PX4's 65,535",
        ),
        ({"polygon": [[47, 8], [47, 9]]}, "polygon = [[47, 8], [47, 9]] must be a list of 3 to 1,000 vertices"),
        ({"polygon": [[47, 8], [47, 8], [48, 9]]}, "polygon has edges that are parallel or of length 0"),
        ({"polygon": [[97, 8], [47, 8], [48, 9]]}, "must be a list of 3 to 1,000 vertices: [latitude, longitude]"),
    ],
)
def test_a_structure_scan_with_an_invalid_setting_is_an_error(changes, message):
    """Named by item and setting."""
    calc = {"DistanceToSurface": 5, "AdjustedFootprintFrontal": 3, "AdjustedFootprintSide": 4}
    scan = {"type": "ComplexItem", "complexItemType": "StructureScan", "version": 3, "CameraCalc": calc}
    scan |= {"EntranceAltitude": 6, "ScanBottomAlt": 2, "StructureHeight": 8, "Layers": 2, "GimbalPitch": 0}
    scan |= {"polygon": [[47.4, 8.5], [47.4, 8.501], [47.399, 8.5]]}
    assert len(parse_plan(with_items(scan), "m").items) == 16
    with pytest.raises(InputError) as caught:
        parse_plan(with_items(scan | changes), "m")
    assert message in str(caught.value)


@pytest.mark.parametrize("command", [Command.TAKEOFF, Command.LAND])
def test_a_takeoff_or_landing_above_terrain_is_an_error(command):
    """Without it, another mission would be flown."""
    with pytest.raises(InputError, match="frame"):
        parse_wpl(f"QGC WPL 110\n0 1 10 {command} 0 0 0 0 {HERE} 1\n", "m")


def test_a_parameter_that_mavlink_cannot_send_is_an_error():
    """It has 32 bits there."""
    with pytest.raises(InputError, match="1e\\+39"):
        parse_wpl(numbered("2 206 1e39 0 0 0 0 0 0", WAYPOINT), "m")


def test_scans_with_more_items_than_px4_stores_are_an_error():
    """Before they take memory."""
    items = [as_plan(RTL)["mission"]["items"][0]] * 40_000
    survey = {"type": "ComplexItem", "complexItemType": "survey", "TransectStyleComplexItem": {"Items": items}}
    with pytest.raises(InputError, match="more than 65,535 items"):
        parse_plan(with_items(survey, survey), "m")


def test_an_invalid_item_of_a_survey_is_named():
    """By the item of the plan, and by its place in the survey."""
    items = [as_plan(RTL)["mission"]["items"][0] | {"params": [0]}, 5]
    survey = {"type": "ComplexItem", "complexItemType": "survey", "TransectStyleComplexItem": {"Items": items}}
    with pytest.raises(InputError) as caught:
        parse_plan(with_items(survey), "m")
    assert sorted(str(caught.value).splitlines()) == [
        "m item 0 (survey), its item 0: params = [0] must be a list of seven numbers or null",
        "m item 0 (survey), its item 1: 5 must be a SimpleItem",
    ]


# -- documentation -----------------------------------------------------------------------------------------------


def commands_on_page(heading):
    """Return the commands in the tables of a section, by number."""
    section = PAGE.read_text("utf-8").split(f"### {heading}\n")[1].split("\n#")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return {int(number): name for row in rows for number, name in re.findall(r"(\d+) ([A-Z][A-Z_]+[A-Z])", row)}


def test_the_documentation_lists_all_commands():
    """The tables of docs/reference/missions.md are those of the source."""
    assert commands_on_page("Region of interest") == {int(command): command.name for command in ROI}
    assert commands_on_page("Without an effect") == {int(command): command.name for command in NO_EFFECT}
    flown = [command for command in Command if command not in ROI and command not in NO_EFFECT]
    assert commands_on_page("Flown") == {int(command): command.name for command in flown}
    assert commands_on_page("Skipped") == {number: name for number, (name, _) in SKIPPED.items()}
    page = PAGE.read_text("utf-8")
    assert all(f"({number}) " in page for number in ALIASES)
    for number, (name, reason) in SKIPPED.items():
        assert re.search(rf"^\| {re.escape(reason)} \|.*\b{number} {name}\b", page, re.MULTILINE)
    for command, group in NO_EFFECT.items():
        assert re.search(rf"^\| {group} \|.*\b{int(command)} {command.name}\b", page, re.MULTILINE)
