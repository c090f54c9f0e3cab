"""`px4lockstep uorb`: list, show, verify; and what `doctor` reports about PX4."""

import json
import os

import pytest
from commands import run_command
from msg_folders import write_messages
from px4_double import OPTIONS, build_double

from px4lockstep.px4 import shipped_layouts
from px4lockstep.px4.presets import STATE_INJECTION


def run(*arguments, code=0, cwd=None, **environment):
    """Run px4lockstep; return standard output, or standard error if it fails as expected."""
    finished = run_command(*map(str, arguments), cwd=cwd, env={**os.environ, **environment})
    assert finished.returncode == code, finished.stderr
    assert "Traceback" not in finished.stderr
    return finished.stderr if code == 2 else finished.stdout


def test_list_has_all_built_in_topics():
    """With size and hash."""
    rows = json.loads(run("uorb", "list", "--json"))
    assert len(rows) == 40
    assert {"topic": "vehicle_status", "size": 80, "message_hash": "0xf779fa65"} in rows
    text = run("uorb", "list")
    assert all(topic in text for topic in shipped_layouts())


def test_list_and_show_accept_a_folder_or_a_library(tmp_path):
    """The folder's messages, or the library's hashes; standard output has nothing else."""
    folder = write_messages(tmp_path / "msg", changed=[("uint8 nav_state\t", "uint16 nav_state\t")])
    changed = json.loads(run("uorb", "show", "vehicle_status", "--msg", folder, "--json"))
    assert {"name": "nav_state", "type": "uint16", "offset": 40} in changed["fields"]
    assert changed["message_hash"] != "0xf779fa65"
    library = build_double(tmp_path)
    told = {OPTIONS: "hash.vehicle_status=0x12345678"}
    rows = json.loads(run("uorb", "list", "--lib", library, "--json", **told))
    assert len(rows) == 40
    assert {"topic": "vehicle_status", "size": 80, "message_hash": "0x12345678"} in rows
    assert "the built-in message has 0xf779fa65" in run(
        "uorb", "show", "vehicle_status", "--lib", library, code=2, **told
    )
    assert "nav_state" in run("uorb", "show", "vehicle_status", "--lib", library)


def test_show_has_fields_with_their_offsets_and_constants():
    """As text and as JSON."""
    text = run("uorb", "show", "vehicle_status")
    assert text.startswith("vehicle_status: VehicleStatus, 80 bytes, 0xf779fa65\n")
    row = next(line for line in text.splitlines() if " nav_state " in line)
    offset = shipped_layouts()["vehicle_status"].fields()["nav_state"][1]
    assert [word for word in row.split() if word.isalnum() or "_" in word] == ["nav_state", "uint8", str(offset)]
    assert "ARMING_STATE_ARMED = 2" in text
    shown = json.loads(run("uorb", "show", "position_setpoint_triplet", "--json"))
    assert shown["message"] == "PositionSetpointTriplet"
    assert {"name": "current.lat", "type": "float64", "offset": 96} in shown["fields"]


def test_an_unknown_topic_is_bad_input():
    """The message says where known topics are listed."""
    assert "there is no topic 'vehicle_statu' in the built-in messages" in run("uorb", "show", "vehicle_statu", code=2)


def test_verify_reports_whether_a_library_can_be_flown(tmp_path):
    """All match; one that flights use does not; one that they do not use does not."""
    library = build_double(tmp_path)
    assert run("uorb", "verify", "--lib", library) == f"40 of 40 topics match {library}; this library can be flown\n"
    told = {OPTIONS: "hash.vehicle_status=0x12345678"}
    text = run("uorb", "verify", "--lib", tmp_path, code=1, **told)
    assert text.splitlines()[0].startswith("vehicle_status: the library's message has the hash 0x12345678 (80 bytes)")
    assert text.splitlines()[1] == f"39 of 40 topics match {library}; this library can't be flown"
    told = {OPTIONS: "hash.rtl_status=0x12345678", "PX4_LOCKSTEP_LIB": str(library)}
    text = run("uorb", "verify", **told)
    assert text.splitlines()[0].startswith("not used: rtl_status: ")
    assert text.splitlines()[1] == f"39 of 40 topics match {library}; this library can be flown"


def test_verify_as_json(tmp_path):
    """Every topic, whether it is used and matches, and why not."""
    library = build_double(tmp_path)
    found = json.loads(
        run("uorb", "verify", "--lib", library, "--json", code=1, **{OPTIONS: "hash.mission_result=0x1"})
    )
    assert (found["library"], found["fits"]) == (str(library), False)
    rows = {row["topic"]: row for row in found["topics"]}
    assert len(rows) == 40
    assert [topic for topic, row in rows.items() if row["used"]] == list(STATE_INJECTION.fields_used())
    assert [topic for topic, row in rows.items() if not row["fits"]] == ["mission_result"]
    assert "0x70caef92" in rows["mission_result"]["problem"]
    assert rows["mission"]["problem"] is None


def test_verify_uses_the_layouts_of_a_folder(tmp_path):
    """The library's message differs from the built-in one but matches the folder's; all used fields exist."""
    more = ("uint8 vehicle_type", "uint8 vehicle_kind\t\nuint8 vehicle_type")
    folder = write_messages(tmp_path / "msg", changed=[more])
    told = json.loads(run("uorb", "show", "vehicle_status", "--msg", folder, "--json"))
    misbehaviour = f"hash.vehicle_status={told['message_hash']},size.vehicle_status={told['size']}"
    arguments = ("uorb", "verify", "--lib", build_double(tmp_path))
    run(*arguments, code=1, **{OPTIONS: misbehaviour})
    assert "40 of 40" in run(*arguments, "--msg", folder, **{OPTIONS: misbehaviour})


@pytest.mark.parametrize("command", [("verify",), ("verify", "--lib", "nowhere.so"), ("list", "--lib", "nowhere.so")])
def test_a_missing_library_is_bad_input(tmp_path, command):
    """The message has the searched paths, the setting, and what flies without it."""
    text = run("uorb", *command, code=2, cwd=tmp_path, HOME=str(tmp_path), PX4_LOCKSTEP_LIB="")
    assert "PX4's library was not found" in text
    assert str(tmp_path) in text
    assert 'autopilot.kind = "builtin" flies without PX4' in text


def test_the_doctor_reports_whether_px4_can_be_used(tmp_path):
    """Found with the right version, or why not, such as a crash."""
    library = build_double(tmp_path)
    found = json.loads(run("doctor", "--json", PX4_LOCKSTEP_LIB=str(library)))
    assert found["px4_library"] == f"{library}, interface version 3"
    told = {OPTIONS: "abi_version=2", "PX4_LOCKSTEP_LIB": str(library)}
    assert "has interface version 2" in json.loads(run("doctor", "--json", **told))["px4_library"]
    told = {OPTIONS: "signal_at_load=11", "PX4_LOCKSTEP_LIB": str(library)}
    assert "PX4's library crashed: SIGSEGV" in json.loads(run("doctor", "--json", **told))["px4_library"]
