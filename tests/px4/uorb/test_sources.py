"""Sources of layouts; a layout that does not match the library is never used."""

from dataclasses import replace

import pytest
from msg_folders import write_messages
from px4_libraries import load_double

from px4lockstep.errors import LayoutError
from px4lockstep.px4 import check_layouts, shipped_layouts
from px4lockstep.px4.presets import STATE_INJECTION
from px4lockstep.px4.uorb import LayoutSources, TopicMetadata

pytestmark = pytest.mark.process

CHANGED = ("uint8 nav_state\t", "uint16 nav_state\t")
"""A change of vehicle_status that affects used fields."""
MORE = ("uint8 vehicle_type", "uint8 vehicle_kind\t\nuint8 vehicle_type")
"""A change that does not affect used fields: one more field, not at the end."""


class Told:
    """A library that returns given metadata."""

    def __init__(self, *told, msg_dir=None):
        self._told = {each.topic: each for each in told}
        self._sources = LayoutSources(msg_dir)

    def metadata(self, topic):
        return self._told[topic]

    def layout(self, topic):
        return self._sources.fitting(self.metadata(topic), self)


def told_of(layout, **changes):
    """Return the metadata that a library would have for a layout."""
    return replace(TopicMetadata(layout.topic, layout.size, layout.size, layout.message_hash, 1, None), **changes)


STATUS = shipped_layouts()["vehicle_status"]


def test_all_topics_match_the_double(tmp_path, monkeypatch):
    """By hash, or by field string if there is one."""
    for misbehaviour in ("", "fields"):
        folder = tmp_path / f"with {misbehaviour}"
        folder.mkdir()
        with load_double(folder, monkeypatch, misbehaviour).create() as px4:
            assert (px4.metadata("vehicle_status").fields is not None) == (misbehaviour == "fields")
            assert check_layouts(px4, dict.fromkeys(shipped_layouts(), ())) == shipped_layouts()
            assert set(check_layouts(px4, STATE_INJECTION.fields_used())) == set(STATE_INJECTION.fields_used())


def test_the_field_string_has_priority():
    """It describes the library itself: fields are used at the offsets that it has."""
    text = "uint64_t timestamp;uint8_t[2] new;uint8_t nav_state;uint8_t[5] _padding0;"
    layout = Told(told_of(STATUS, size=16, message_hash=0x99, fields=text)).layout("vehicle_status")
    assert layout.fields() == {"timestamp": ("uint64", 0), "new": ("uint8[2]", 8), "nav_state": ("uint8", 10)}
    assert (layout.message, layout.message_hash, layout.size, layout.declared) == ("VehicleStatus", 0x99, 16, ())


def test_nested_messages_of_a_field_string_are_looked_up():
    """By their own field strings."""
    inner = TopicMetadata("inner", 16, 9, 1, 1, "uint64_t timestamp;int8_t a;uint8_t[7] _padding0;")
    outer = TopicMetadata("outer", 40, 40, 2, 1, "uint64_t timestamp;inner[2] pair;")
    assert Told(inner, outer).layout("outer").fields()["pair[1].a"] == ("int8", 32)


def test_a_built_in_layout_is_selected_by_its_hash():
    """Even for an unknown topic, if its message is built in."""
    layout = shipped_layouts()["vehicle_attitude"]
    told = told_of(layout, topic="vehicle_attitude_groundtruth")
    found = Told(told).layout("vehicle_attitude_groundtruth")
    assert (found.topic, found.dtype) == ("vehicle_attitude_groundtruth", layout.dtype)


def test_a_changed_message_is_read_from_the_msg_folder(tmp_path):
    """Its hash matches the library's and all used fields exist, so it can be flown."""
    folder = write_messages(tmp_path / "msg", changed=[MORE])
    layout = LayoutSources(folder).layout("vehicle_status")
    assert layout.message_hash != STATUS.message_hash
    found = check_layouts(
        Told(told_of(layout), msg_dir=folder), {"vehicle_status": STATE_INJECTION.fields_used()["vehicle_status"]}
    )
    assert found["vehicle_status"] == layout
    assert layout.fields()["vehicle_type"][1] == STATUS.fields()["vehicle_type"][1] + 1


def test_the_error_for_an_unknown_hash_has_both_hashes_and_the_remedy():
    """The double's hash, and that of the built-in message."""
    with pytest.raises(LayoutError) as caught:
        check_layouts(Told(told_of(STATUS, message_hash=0x12345678, size=88)), {"vehicle_status": ("nav_state",)})
    assert str(caught.value) == (
        "vehicle_status: the library's message has the hash 0x12345678 (88 bytes), and no layout with that hash is "
        "known; the built-in message has 0xf779fa65 (80 bytes); set px4.msg_dir (--msg) to the folder msg of the PX4 "
        "that the library was built from"
    )


def test_a_folder_from_another_commit_is_rejected_with_the_differences(tmp_path):
    """Neither the built-in message nor the folder has the library's hash."""
    folder = write_messages(tmp_path / "msg", changed=[CHANGED, ("bool failsafe\t", "bool fail_safe\t")])
    with pytest.raises(LayoutError) as caught:
        Told(told_of(STATUS, message_hash=0x12345678), msg_dir=folder).layout("vehicle_status")
    text = str(caught.value)
    assert "the hash 0x12345678 (80 bytes)" in text
    assert "the built-in message has 0xf779fa65 (80 bytes)" in text
    assert f"{folder} has {LayoutSources(folder).layout('vehicle_status').message_hash:#010x} (80 bytes)" in text
    assert "nav_state is uint8 in the built-in message and uint16 in the folder" in text
    assert "failsafe is only in the built-in message" in text
    assert "fail_safe is only in the folder" in text
    assert text.endswith("the folder must be from the commit that the library was built from")


def test_a_used_field_must_exist_with_the_right_type(tmp_path):
    """Even if the layout is known exactly."""
    folder = write_messages(tmp_path / "msg", changed=[CHANGED, ("uint8 arming_state", "uint8 arming")])
    layout = LayoutSources(folder).layout("vehicle_status")
    with pytest.raises(LayoutError) as caught:
        check_layouts(
            Told(told_of(layout), msg_dir=folder), {"vehicle_status": ("timestamp", "nav_state", "arming_state")}
        )
    assert str(caught.value) == (
        f"vehicle_status: the library's message (hash {layout.message_hash:#010x} (80 bytes), not 0xf779fa65 "
        "(80 bytes)) differs in used fields: nav_state is uint16, not uint8, arming_state is missing; use "
        "a PX4 that has them, or remove the topic from [px4.uorb]"
    )


def test_all_topics_that_do_not_match_are_in_one_report(tmp_path, monkeypatch):
    """One line each for an unknown hash and an unknown topic; matching topics are not listed."""
    library = load_double(tmp_path, monkeypatch, "hash.vehicle_status=0x1,hash.home_position=0x2")
    with library.create() as px4, pytest.raises(LayoutError) as caught:
        check_layouts(px4, dict.fromkeys(("vehicle_status", "mission", "home_positon", "home_position"), ()))
    lines = str(caught.value).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["vehicle_status", "home_positon", "home_position"]
    assert "this PX4 has no such topic" in lines[1]
    assert lines[1].endswith("; did you mean 'home_position'?")


def test_an_inconsistent_library_is_rejected(tmp_path, monkeypatch):
    """The size of one message with the hash of another; fields of a different total size; no metadata at all."""
    with (
        load_double(tmp_path, monkeypatch, "size.vehicle_status=96").create() as px4,
        pytest.raises(
            LayoutError,
            match="the library reports 96 bytes, but its message hash 0xf779fa65 is that of a message with 80",
        ),
    ):
        px4.layout("vehicle_status")
    with pytest.raises(LayoutError, match="reports 80 bytes, but its fields take 8; rebuild the library"):
        Told(told_of(STATUS, fields="uint64_t timestamp;")).layout("vehicle_status")
    with pytest.raises(LayoutError, match="the library provides neither the message's hash nor its fields"):
        Told(told_of(STATUS, message_hash=0)).layout("vehicle_status")
