"""Missions in both file formats, and the meaning of their items."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mission_files import HERE, TAKEOFF, as_plan, as_wpl, numbered, wpl

from px4lockstep.errors import InputError
from px4lockstep.px4.commands import NO_EFFECT
from px4lockstep.px4.mission_items import RULES
from px4lockstep.px4.missions import Command, Mission, MissionItem, load_mission, parse_plan, parse_wpl

GOLDEN = Path(__file__).resolve().parents[1] / "against" / "golden"
PASSING = (Command.WAYPOINT, Command.LOITER_TIME, Command.DELAY, Command.DO_JUMP, Command.DO_CHANGE_SPEED)
"""Items allowed between takeoff and the end."""


def coordinate(limit):
    # Not 0, 0, which is rejected: see the error cases.
    return st.floats(-limit, limit).filter(lambda value: value != 0.0)


POSITIONS = st.fixed_dictionaries(
    {
        "lat_deg": coordinate(90.0),
        "lon_deg": coordinate(180.0),
        "alt_m": st.floats(-500.0, 9000.0),
        "yaw_deg": st.floats(-360.0, 360.0) | st.just(math.nan),
        "frame": st.sampled_from([0, 3, 5, 6]),
    }
)
FIELDS = {
    Command.WAYPOINT: {"hold_s": st.floats(0.0, 1e6), "acceptance_radius_m": st.floats(0.0, 1e3)},
    Command.TAKEOFF: {"acceptance_radius_m": st.floats(0.0, 1e3)},
    Command.LOITER_TIME: {"hold_s": st.floats(0.0, 1e6)},
    Command.DELAY: {"hold_s": st.floats(0.0, 1e6)},
    Command.DO_JUMP: {"jump_repeats": st.integers(0, 65535)},
    Command.DO_CHANGE_SPEED: {"speed_m_s": st.floats(1e-3, 1e3) | st.just(math.nan)},
}


@st.composite
def missions(draw):
    """Generate items of a valid mission, without line numbers."""
    commands = [Command.TAKEOFF, *draw(st.lists(st.sampled_from(PASSING), max_size=8))]
    commands.append(draw(st.sampled_from([Command.LAND, Command.RETURN_TO_LAUNCH, Command.LOITER_UNLIMITED])))
    items = []
    for command in commands:
        fields = draw(st.fixed_dictionaries(FIELDS.get(command, {})))
        if command.has_position:
            fields |= draw(POSITIONS)
            fields["is_relative_alt"] = fields["frame"] in (3, 6)
        else:
            fields["frame"] = draw(st.sampled_from([0, 2, 3, 5, 6]))
        if command is Command.DO_JUMP:
            # Only to items that take time: jumps to commands may loop forever, see the error cases.
            flown = [i for i, other in enumerate(commands) if other.has_position or other is Command.DELAY]
            fields["jump_to"] = draw(st.sampled_from(flown or [len(commands) - 1]))
        items.append(MissionItem(command, **fields))
    return items


def shown(items, first_line):
    """Return items as text, in which NaN equals NaN and all digits are visible."""
    return [repr(item).replace("line=0", f"line={first_line + number}") for number, item in enumerate(items)]


@given(missions())
def test_a_text_file_round_trips(items):
    """All fields of all commands, bit-identically."""
    mission = parse_wpl(as_wpl(items), "m")
    assert [repr(item) for item in mission.items] == shown(items, 2)


@given(missions())
def test_a_plan_round_trips(items):
    """The same, with null for no heading, and jumps by ID."""
    mission = parse_plan(json.dumps(as_plan(*items)), "m")
    assert [repr(item) for item in mission.items] == shown(items, 0)
    assert mission.planned_home == (47.4, 8.5, 488.0)


def test_the_table_has_seven_rules_for_every_command():
    """Otherwise a parameter would be misread or ignored."""
    assert sorted(RULES) == list(Command)
    assert {len(rules) for rules in RULES.values()} == {7}


@pytest.mark.parametrize(
    ("name", "commands", "headings_deg"),
    [
        ("simple", [22, 16, 16, 16, 16, 16, 16, 21], [0.0] * 8),
        ("yaw", [22, 16, 16, 16, 16, 21], [90.0, 90.0, -135.0, 180.0, 0.0, 0.0]),
    ],
)
def test_the_library_drops_nothing_from_the_recorded_missions(name, commands, headings_deg):
    """Real PX4 flew them from these files; in a text file, a heading of 0 is north."""
    mission = load_mission(GOLDEN / f"{name}.waypoints")
    assert [item.command for item in mission.items] == commands
    assert [item.yaw_deg for item in mission.items] == headings_deg
    assert all(item.is_relative_alt for item in mission.items)
    assert mission.lost_by_library() == ()


def test_the_format_is_detected_by_name_or_content(tmp_path):
    """A plan may have any name; a text file needs its header."""
    plan = json.dumps(as_plan(MissionItem(Command.RETURN_TO_LAUNCH)))
    for name, text in (
        ("a.plan", plan),
        ("b.json", "\n " + plan),
        ("c.waypoints", wpl(TAKEOFF)),
        ("d.txt", wpl(TAKEOFF)),
    ):
        (tmp_path / name).write_text(text, "utf-8")
        assert len(load_mission(tmp_path / name).items) == 1
        assert load_mission(str(tmp_path / name)).source == str(tmp_path / name)


def test_blank_lines_and_windows_line_ends_are_ignored():
    """Line numbers in errors are still those of the file."""
    mission = parse_wpl(wpl(TAKEOFF, "", f"1 0 3 21 0 0 0 0 {HERE} 1", " ").replace("\n", "\r\n"), "m")
    assert [item.line for item in mission.items] == [2, 4]


def test_parameters_that_a_multicopter_ignores_are_accepted():
    """The loiter radius, whether the heading is required, and the speed type."""
    mission = parse_wpl(numbered(f"3 19 5 1 30 nan {HERE}", "2 178 0 4 0 0 0 0 0", f"3 17 0 0 -30 90 {HERE}"), "m")
    assert [item.hold_s for item in mission.items] == [0.0, 5.0, 0.0, 0.0]
    assert mission.items[2].speed_m_s == 4.0
    assert math.isnan(mission.items[1].yaw_deg)


def test_a_jump_makes_items_after_the_end_reachable():
    """Forward over a landing; without repeats, the item after the landing is left out."""
    jump_over = ("2 177 {target} {repeats} 0 0 0 0 0", f"3 21 0 0 0 0 {HERE}", f"3 16 0 0 0 0 {HERE}")
    lines = [line.format(target=3, repeats=1) for line in jump_over]
    assert len(parse_wpl(numbered(*lines), "m").items) == 4
    lines = [line.format(target=3, repeats=0) for line in jump_over]
    mission = parse_wpl(numbered(*lines), "m")
    assert [item.command for item in mission.items] == [Command.TAKEOFF, Command.DO_JUMP, Command.LAND]
    [line] = mission.not_flown
    assert line.startswith("m line 5: this item is unreachable; remove it, or the item that ends")


SPEED = "2 178 1 3 0 0 0 0 0"
JUMP = "2 177 {} {} 0 0 0 0 0"
WAYPOINT = f"3 16 0 0 0 0 {HERE}"
DELAY = "2 93 0 -1 -1 -1 0 0 0"


@pytest.mark.parametrize(
    ("items", "lines"),
    [
        ([WAYPOINT, SPEED, JUMP.format(2, 3), WAYPOINT], [5]),
        ([WAYPOINT, JUMP.format(3, 1), JUMP.format(2, 1), WAYPOINT], [4, 5]),
        ([WAYPOINT, SPEED, JUMP.format(2, 3), JUMP.format(2, 65535), WAYPOINT], [5, 6]),
        ([JUMP.format(2, 1), SPEED, SPEED, JUMP.format(1, 1), WAYPOINT], [3, 6]),
        ([WAYPOINT, SPEED, JUMP.format(2, 0), WAYPOINT], []),
        ([WAYPOINT, SPEED, JUMP.format(1, 3), WAYPOINT], []),
        ([SPEED, DELAY, JUMP.format(1, 3), WAYPOINT], []),
        ([JUMP.format(3, 1), WAYPOINT, SPEED, JUMP.format(2, 1)], []),
    ],
)
def test_a_jump_loop_without_a_flown_item_is_an_error(items, lines):
    """Nested loops would run forever. A waypoint or a delay in the loop is enough."""
    if not lines:
        assert len(parse_wpl(numbered(*items), "m").items) == len(items) + 1
        return
    with pytest.raises(InputError) as caught:
        parse_wpl(numbered(*items), "m")
    text = "DO_JUMP leads back to itself without any flown item; add a waypoint or a DELAY between them"
    assert str(caught.value).splitlines() == [f"m line {line}: {text}" for line in lines]


def test_a_mission_must_be_a_regular_file_of_limited_size(tmp_path):
    """Not a folder or a device; a byte order mark is ignored."""
    path = tmp_path / "m.waypoints"
    for source in (tmp_path, "/dev/zero"):
        with pytest.raises(InputError, match=r"is a folder|is not a regular file"):
            load_mission(source)
    path.write_text(wpl(TAKEOFF) + "\n" * 10_000_000, "utf-8")
    with pytest.raises(InputError, match="is larger than 10,000,000 bytes"):
        load_mission(path)
    path.write_text(wpl(TAKEOFF), "utf-8-sig")
    assert len(load_mission(path).items) == 1


def test_everything_the_library_would_drop_is_listed_by_item():
    """A hold time of 0 s, the parameters of a waypoint and frame 6 are not dropped; PX4 ignores the heading of LAND."""
    here = {"lat_deg": 47.4, "lon_deg": 8.5, "alt_m": 10.0}
    kept = {**here, "yaw_deg": 0.0}
    items = (
        MissionItem(Command.TAKEOFF, **kept, acceptance_radius_m=3.0),
        MissionItem(Command.WAYPOINT, **kept, hold_s=5.0, is_relative_alt=False, frame=0),
        MissionItem(Command.WAYPOINT, **kept, is_relative_alt=False, frame=5),
        MissionItem(Command.DELAY, frame=2),
        MissionItem(Command.LOITER_TIME, **kept, hold_s=5.0),
        MissionItem(Command.DELAY, hold_s=5.0, frame=2),
        MissionItem(Command.DO_JUMP, jump_to=1, jump_repeats=1, frame=2),
        MissionItem(Command.DO_CHANGE_SPEED, speed_m_s=3.0, frame=2),
        MissionItem(Command.WAYPOINT, **here),
        MissionItem(Command.WAYPOINT, **kept, frame=6),
        MissionItem(Command.LOITER_UNLIMITED, **here),
        MissionItem(Command.LAND, **here),
        MissionItem(Command.RETURN_TO_LAUNCH, frame=2),
        MissionItem(Command.DO_SET_CAM_TRIGG_DIST, frame=2, params=(5.0, *(0.0,) * 6)),
        MissionItem(Command.DO_SET_ROI_LOCATION, **here, params=(*(0.0,) * 4, 47.4, 8.5, 10.0)),
        MissionItem(Command.CONDITION_GATE, **here),
        MissionItem(Command.LOITER_TO_ALT, **here),
    )
    assert Mission(items, "m").lost_by_library() == (
        "m item 4: LOITER_TIME would lose its 5 s; use a WAYPOINT with a hold time",
        "m item 5: DELAY would lose its 5 s; use a WAYPOINT with a hold time",
        "m item 6: DO_JUMP would lose its target and repeats; write out the repeated items",
        "m item 7: DO_CHANGE_SPEED would lose its speed; set MPC_XY_CRUISE",
        "m item 8: WAYPOINT has no heading, and PX4's loader skips such items; set p4, in degrees",
        "m item 10: LOITER_UNLIMITED has no heading, and PX4's loader skips such items; set p4, in degrees",
        "m item 14: DO_SET_ROI_LOCATION would lose its parameters; set the headings of the waypoints (p4)",
        "m item 15: CONDITION_GATE would lose its parameters; use a WAYPOINT",
        "m item 16: LOITER_TO_ALT would lose its parameters; use a WAYPOINT",
    )


def test_the_tables_in_the_documentation_say_what_the_library_supports():
    """Every command with an effect is listed once; "with …" names the condition."""
    text = (Path(__file__).parents[2] / "docs/reference/missions.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+) (\w+) \|.*\| ([^|]+) \| [^|]+ \|$", text, re.MULTILINE)
    assert sorted(int(number) for number, _, _ in rows) == sorted(set(Command) - set(NO_EFFECT))
    for number, name, library in rows:
        plain = MissionItem(Command(int(number)), yaw_deg=0.0)
        assert plain.command.name == name
        assert (Mission((plain,), "m").lost_by_library() == ()) == (library != "no")
        other = Mission((replace(plain, yaw_deg=math.nan, hold_s=5.0),), "m")
        assert (other.lost_by_library() == ()) == (library == "yes")


def test_the_library_does_not_get_commands_without_an_effect():
    """Their parameters would be lost; the items after them move up."""
    here = {"lat_deg": 47.4, "lon_deg": 8.5, "alt_m": 10.0, "yaw_deg": 0.0}
    camera = MissionItem(Command.IMAGE_START_CAPTURE, frame=2, params=(0.0, 2.0, *(math.nan,) * 5))
    items = (MissionItem(Command.TAKEOFF, **here), camera, MissionItem(Command.LAND, **here))
    mission = Mission(items, "m")
    assert mission.lost_by_library() == ()
    lines = mission.library_text().splitlines()[1:]
    assert [line.split("\t")[:4:3] for line in lines] == [["0", "22"], ["1", "21"]]
