"""Files that are not recordings, or were modified: each is an error that says what is wrong, never a replay."""

import hashlib
import io
import os
import re
import shutil
import sys

import h5py
import numpy as np
import pytest
from recorded_flights import record
from recording_files import (
    BLOCK_BYTES,
    attribute,
    edited,
    field,
    put,
    reseal,
    tiny,
    tiny_bytes,
    values,
    write_tiny,
)

from px4lockstep.cli import main
from px4lockstep.errors import InputError
from px4lockstep.flights.recording.contents import ATTRIBUTES, ENTRIES, TEXTS, VERSION
from px4lockstep.flights.recording.file import read_recording, write_recording
from px4lockstep.flights.replay import replay

pytestmark = pytest.mark.long


def assert_refused(path, *fragments):
    """Check that reading and replaying raise a message that names the file and the problem."""
    for use in (read_recording, replay):
        with pytest.raises(InputError) as caught:
            use(path)
        told = str(caught.value)
        for fragment in (str(path), *fragments):
            assert fragment in told
        assert len(told) < 500


# -- files that are not recordings ---------------------------------------------------------------------------------


def foreign(path, **options):
    with h5py.File(path, "w", **options) as file:
        file["x"] = np.arange(10)


def foreign_with_a_title(path):
    """Write an HDF5 file of another program, with our first line and its hash."""
    foreign(path, userblock_size=512, libver=("v110", "v110"))
    reseal(path)


NO_RECORDINGS = {
    "empty": (lambda path: path.write_bytes(b""), "is not a px4lockstep recording"),
    "text": (lambda path: path.write_text("hello " * 200), "is not a px4lockstep recording"),
    "zeros": (lambda path: path.write_bytes(bytes(4096)), "is not a px4lockstep recording"),
    "HDF5": (foreign, "is not a px4lockstep recording"),
    "HDF5 with a user block": (lambda path: foreign(path, userblock_size=512), "is not a px4lockstep recording"),
    "HDF5 with our title": (foreign_with_a_title, "its format is not 'px4lockstep.recording'"),
    "a title alone": (lambda path: path.write_bytes(b"px4lockstep recording\n"), "is truncated: it has 22 bytes"),
    "a block alone": (lambda path: path.write_bytes(tiny_bytes()[:BLOCK_BYTES]), "is truncated: it has 512 bytes"),
    "a sealed nothing": (lambda path: (path.write_bytes(tiny_bytes()[:BLOCK_BYTES]), reseal(path)), "HDF5 can't read"),
    "sealed noise": (
        lambda path: (path.write_bytes(tiny_bytes()[:BLOCK_BYTES] + b"noise" * 99), reseal(path)),
        "HDF5 can't read",
    ),
    "a folder that is not a run's": (lambda path: path.mkdir(), "is not a run folder"),
    "a run folder without one": (lambda path: (path.mkdir(), (path / "spec.toml").touch()), "has no recording.h5"),
    "not there": (lambda path: None, "No such file"),
    "a link to itself": (lambda path: path.symlink_to(path), "can't be read"),
    "a pipe": (lambda path: os.mkfifo(path), "it is not a regular file"),
}


@pytest.mark.parametrize("make", NO_RECORDINGS)
def test_other_files_are_refused(make, tmp_path):
    """Where possible, before HDF5 reads them."""
    making, message = NO_RECORDINGS[make]
    path = tmp_path / "file.h5"
    making(path)
    assert_refused(path, message)


def test_a_file_without_read_permission_is_refused(tmp_path, monkeypatch):
    """Simulated, since the tests may run as root."""
    path = write_tiny(tmp_path)

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", refuse)
    with pytest.raises(InputError, match=r"recording\.h5 can't be read: Permission denied"):
        read_recording(path)


# -- truncated and modified files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, -2, -1])
def test_a_truncated_file_is_refused(part, tmp_path):
    """The message has its length; one missing byte is enough."""
    whole = tiny_bytes()
    length = int(part * len(whole)) if part > 0 else len(whole) + part
    path = tmp_path / "cut.h5"
    path.write_bytes(whole[:length])
    assert_refused(path, f"is truncated: it has {length}", "Use a backup, or fly a new run")


@pytest.mark.parametrize("part", [0.2, 0.5, 0.9])
def test_a_truncated_file_with_a_new_hash_is_refused(part, tmp_path):
    """HDF5 knows its length."""
    whole = tiny_bytes()
    path = tmp_path / "cut.h5"
    path.write_bytes(whole[: int(part * len(whole))])
    reseal(path)
    assert_refused(path, "HDF5 can't read it")


def places_of_parts():
    """Return the offset of a byte in each array and text, the user block and the HDF5 header."""
    places = {"title": 3, "hash": 40, "rest of the block": 400, "HDF5's signature": 512, "its head": 530, "end": -1}
    with h5py.File(io.BytesIO(tiny_bytes()), "r") as file:
        for name in (*ENTRIES, *TEXTS, "mission"):
            item = file[name]
            if item.chunks:
                offset = item.id.get_chunk_info(0).byte_offset
            else:
                offset = item.id.get_offset()
            places[name] = offset + 5
    return places


PARTS = ("title", "hash", "rest of the block", "HDF5's signature", "its head", "end", *ENTRIES, *TEXTS, "mission")


@pytest.mark.parametrize("part", PARTS)
def test_one_flipped_bit_is_found(part, tmp_path):
    """In the user block, in HDF5's own data, and in each array and text, by the hash in the header."""
    data = bytearray(tiny_bytes())
    data[places_of_parts()[part]] ^= 1
    path = tmp_path / "flipped.h5"
    path.write_bytes(data)
    assert_refused(path, "is not a px4lockstep recording" if part == "title" else "is damaged or was modified")


@pytest.mark.parametrize("name", [*ENTRIES, *TEXTS, "mission"])
def test_one_flipped_bit_of_an_array_is_found_by_its_own_hash(name, tmp_path):
    """After the hash in the header was updated."""
    path = write_tiny(tmp_path)

    def flip(array):
        if isinstance(array, bytes):
            return bytes([array[0] ^ 1]) + array[1:]
        array.view(np.uint8).reshape(-1)[3] ^= 1
        return array

    edited(path, values(name, flip, rehashed=False))
    assert_refused(path, f"{name} is damaged: its SHA-256 differs from the stored one")


def test_an_edit_with_another_program_is_found(tmp_path):
    """Even if it only changes a description or adds a note."""
    for edit in (
        lambda file: file["log/state"].attrs.create("note", 1),
        lambda file: file["log/state"].attrs.modify("description", np.bytes_(b"The state")),
        lambda file: file.create_group("mine"),
    ):
        path = write_tiny(tmp_path)
        edited(path, edit, resealed=False)
        assert_refused(path, "is damaged or was modified")


# -- intact files that are not flights -----------------------------------------------------------------------------


def renamed(old, new):
    return lambda file: file.move(old, new)


def removed(name):
    return lambda file: file.__delitem__(name)


def swapped(first, second):
    def edit(file):
        file.move(first, "other")
        file.move(second, first)
        file.move("other", second)

    return edit


def as_dtype(name, change):
    return values(name, lambda array: array.astype(change(array.dtype)))


def renamed_field(array):
    new = array.copy()
    new.dtype.names = tuple("forces" if name == "motors" else name for name in array.dtype.names)
    return new


def without_field(name):
    def change(array):
        names = [field_name for field_name in array.dtype.names if field_name != name]
        new = np.zeros(len(array), [(field_name, array.dtype[field_name]) for field_name in names])
        for field_name in names:
            new[field_name] = array[field_name]
        return new

    return change


def with_value(index, value):
    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


def huge(file):
    sha256 = file["streams/winds"].attrs["sha256"]
    dtype = file["streams/winds"].dtype
    del file["streams/winds"]
    item = file.create_dataset("streams/winds", (2**31,), dtype, chunks=(1024,), compression=1)
    item.attrs["sha256"] = sha256


def in_other_file(file):
    file.create_dataset("note", (4,), "f8", external=[("other.bin", 0, 32)])


def linked(name, target):
    def edit(file):
        file[name] = target(file) if callable(target) else target

    return edit


def with_a_loop(file):
    file["log/again"] = file["log"]


def many(file):
    for i in range(300):
        put(file, f"more/{i}", np.zeros(1))


def bomb(name, rows, dtype="f8"):
    """Return an edit that adds zeros, which compress to almost nothing."""

    def edit(file):
        if name in file:
            del file[name]
        item = file.create_dataset(name, (rows,), dtype, chunks=(2**16,), compression=9)
        for start in range(0, rows, 2**20):
            item[start : start + 2**20] = np.zeros(min(2**20, rows - start), dtype)
        item.attrs["sha256"] = np.bytes_(b"0" * 64)

    return edit


def of_any_length(file):
    file.create_dataset("note", data="text", dtype=h5py.string_dtype())


def without_hash(file):
    del file["log/state"].attrs["sha256"]


def without_values(file):
    del file["log/state"]
    file["log/state"] = h5py.Empty("f8")


def text(name, change):
    return values(name, lambda data: change(data.decode()).encode())


def other_version(version):
    return attribute("version", version)


def row_more(array):
    return np.concatenate([array, array[-1:]])


def row_less(array):
    return array[:-1]


CASES = {
    # version and attributes
    "version 0": (other_version(0), "its version is 0; this px4lockstep reads 1 to"),
    "version 99": (other_version(99), f"its version is 99; this px4lockstep reads 1 to {VERSION}. Update px4lockstep"),
    "version x": (other_version(np.bytes_(b"x")), "its version is 'x'"),
    "version 2.5": (other_version(2.5), "its version is 2.5"),
    "no version": (other_version(None), "its version is None"),
    "versions": (other_version([2, 2]), "its attribute version is an array"),
    "another format": (attribute("format", np.bytes_(b"other.recording")), "its format is not"),
    "no format": (attribute("format", None), "its format is not"),
    "the first version": (other_version(1), "log/rows.bus.outputs lacks the field 'values'"),
    "bus version 99": (attribute("bus_version", 99), "its attribute bus_version is 99"),
    "another bus": (attribute("bus_layout", np.bytes_(b"0" * 16)), "its attribute bus_layout"),
    "seed as a text": (attribute("seed", np.bytes_(b"five")), "its attribute seed = 'five' is not of type int"),
    "an unknown attribute": (lambda file: file.attrs.create("note", 1), "it has the attribute 'note'"),
    "a digest that is another": (attribute("digest", np.bytes_(b"0" * 64)), "its log has the digest"),
    "a live digest that is another": (attribute("live_digest", np.bytes_(b"0" * 64)), "its log has the live_digest"),
    "attribute no UTF-8": (attribute("autopilot", np.bytes_(b"\xff\xfe")), "its attribute autopilot is not UTF-8"),
    "a mission without a name": (attribute("mission_name", np.bytes_(b"")), "one of mission_name and mission"),
    # missing and unknown arrays and texts
    "an array renamed": (renamed("streams/winds", "streams/breezes"), "it lacks the array 'streams/winds'"),
    "an array more": (lambda file: put(file, "streams/more", np.zeros(3)), "it has the array 'streams/more'"),
    "a text more": (lambda file: put(file, "notes", b"mine"), "it has the text 'notes'"),
    "no mission": (removed("mission"), "one of mission_name and mission"),
    "no hash": (without_hash, "log/state lacks the attribute 'sha256'"),
    "no values": (without_values, "log/state has no values"),
    "a group in its place": (lambda file: (removed("spec")(file), file.create_group("spec")), "lacks the text 'spec'"),
    "an array as a text": (lambda file: put(file, "log/state", b"none"), "it lacks the array 'log/state'"),
    "values elsewhere": (in_other_file, "note stores its values in other files"),
    "a text of any length": (of_any_length, "note has a type that recordings don't use"),
    "a soft link": (linked("more", h5py.SoftLink("/spec")), "'more' is a link; recordings have no links"),
    "a soft link to nothing": (linked("streams/more", h5py.SoftLink("/none")), "'streams/more' is a link"),
    "a soft link in the place of an array": (
        lambda file: (file.move("log/state", "log/other"), linked("log/state", h5py.SoftLink("/log/other"))(file)),
        "'log/state' is a link; recordings have no links",
    ),
    "a link to another file": (linked("more", h5py.ExternalLink("/etc/passwd", "/")), "'more' is a link"),
    "a second name": (
        linked("log/zzz", lambda file: file["log/state"]),
        "'log/zzz' is a second name of another part",
    ),
    "a group in itself": (with_a_loop, "'log/again' is a second name of another part"),
    "the file in itself": (linked("streams/all", lambda file: file["/"]), "'streams/all' is a second name"),
    "an empty group": (lambda file: file.create_group("mine"), "its group 'mine' is empty"),
    "a type with a name": (linked("kind", np.dtype("f8")), "'kind' is neither a dataset nor a group"),
    "groups in groups": (lambda file: put(file, "a/b/c/d/e", np.zeros(1)), "groups nested deeper than 4"),
    "many arrays": (many, "it has more than 200 parts"),
    "a bomb": (bomb("streams/more", 2**24), "it has the array 'streams/more', which this version does not know"),
    "a bomb with a known name": (
        bomb("plant/initial_state", 2**24),
        "plant/initial_state has 16777216 rows of 8 bytes",
    ),
    "a huge claim": (huge, "streams/winds claims 51539607552 bytes, which is impossible for the 0 bytes in the file"),
    # layouts
    "float32": (as_dtype("log/state", lambda _: "f4"), "log/state is float32, not float64"),
    "big-endian state": (as_dtype("log/state", lambda dtype: dtype.newbyteorder(">")), "log/state is >f8, not float64"),
    "big-endian times": (as_dtype("timeline/time_us", lambda _: ">u8"), "timeline/time_us is >u8, not uint64"),
    "float times": (as_dtype("timeline/time_us", lambda _: "f8"), "timeline/time_us is float64, not uint64"),
    "signed times": (as_dtype("timeline/time_us", lambda _: "i8"), "timeline/time_us is int64, not uint64"),
    "wide bits": (as_dtype("timeline/due", lambda _: "u4"), "timeline/due is uint32, not uint16"),
    "big-endian records": (
        as_dtype("streams/commands", lambda dtype: dtype.newbyteorder(">")),
        "streams/commands.motors is >f8, not float64",
    ),
    "a field renamed": (
        values("streams/commands", renamed_field),
        "streams/commands lacks the field 'motors' and has a field 'forces'",
    ),
    "a field less": (values("streams/scenarios", without_field("landed")), "lacks the field 'landed'"),
    "no records": (values("streams/winds", lambda array: array["vel_ned"][:, 0]), "streams/winds is float64, not"),
    "a dimension less": (values("log/state", np.ravel), "log/state has 1 dimensions, not 2"),
    "a dimension more": (values("timeline/due", lambda array: array[:, np.newaxis]), "timeline/due has 2 dimensions"),
    "a number": (values("plant/initial_state", lambda array: array[0]), "plant/initial_state has 0 dimensions"),
    "commands and winds swapped": (swapped("streams/commands", "streams/winds"), "streams/commands lacks the field"),
    "times and bits swapped": (swapped("timeline/time_us", "timeline/due"), "timeline/time_us is uint16"),
    "state and start swapped": (swapped("log/state", "plant/initial_state"), "plant/initial_state has 2 dimensions"),
    # lengths
    "a command more": (values("streams/commands", row_more), "'commands' has 77 rows; the timeline needs 76"),
    "a command less": (values("streams/commands", row_less), "'commands' has 75 rows; the timeline needs 76"),
    "a wind more": (values("streams/winds", row_more), "'winds' has 302 rows; the timeline needs 301"),
    "a wind less": (values("streams/winds", row_less), "'winds' has 300 rows; the timeline needs 301"),
    "no commands": (values("streams/commands", lambda array: array[:0]), "'commands' has 0 rows"),
    "a change less": (values("streams/scenarios", row_less), "'scenario_at' must increase from 0"),
    "a log row less": (values("log/rows", row_less), "log/state has the shape (31, 19), not (30, 19)"),
    "a log state less": (values("log/state", row_less), "log/state has the shape (30, 19), not (31, 19)"),
    "no log": (values("log/rows", lambda array: array[:0]), "log/rows is empty"),
    "a state less": (values("plant/initial_state", row_less), "it has 19 state_names, but 18 states"),
    "a name less": (text("state_names", lambda names: names.rpartition("\n")[0]), "it has 18 state_names, but 19"),
    "two gusts": (values("streams/gusts", row_more), "'gusts' has 2 rows; it must have 1"),
    "times missing": (values("timeline/time_us", row_less), "at least two times, strictly increasing"),
    "bits missing": (values("timeline/due", row_less), "each with its due axes"),
    "one boundary": (
        lambda file: [values(f"timeline/{name}", lambda array: array[-1:])(file) for name in ("time_us", "due")],
        "at least two times",
    ),
    "checkpoints without a place": (
        values("checkpoints/state", lambda array: array[["bus"]].copy()),
        "checkpoints/state lacks the field 'cursor.k'",
    ),
    # values
    "times that fall": (values("timeline/time_us", with_value(5, 0)), "at least two times, strictly increasing"),
    "a time twice": (values("timeline/time_us", lambda a: with_value(5, a[4])(a)), "strictly increasing"),
    "an unknown axis": (values("timeline/due", with_value(3, 66)), "timeline/due[3] = 66 has bits of axes"),
    "no log at the end": (
        values("timeline/due", with_value(-1, 3)),
        "timeline/due lacks the bit of the log at the end",
    ),
    "a tick less": (values("timeline/due", with_value(0, 6)), "'commands' has 76 rows; the timeline needs 75"),
    "changes from 1": (values("streams/scenario_at", with_value(0, 1)), "'scenario_at' must increase from 0"),
    "changes that fall": (values("streams/scenario_at", with_value(1, 9_999)), "'scenario_at' must increase from 0"),
    "changes beyond the end": (values("streams/scenario_at", with_value(-1, 303)), "covers 303 boundaries"),
    "changes that go on": (values("streams/scenario_at", row_more), "'scenario_at' must increase from 0"),
    "a log row of another time": (field("log/rows", "time_us", 7), "log/rows.time_us is 7 in row 30, not 300000"),
    "a state of another flight": (values("log/state", with_value((9, 2), 1.0)), "its log has the digest"),
    "a command of another flight": (field("log/rows", "inputs.command.motors", 0.5), "its log has the digest"),
    "an estimate of another flight": (field("log/rows", "bus.estimate.pos_ned", 0.5), "its log has the live_digest"),
    "a command of NaN": (field("streams/commands", "motors", np.nan), "streams/commands.motors is nan in row 75"),
    "a command of 1.5": (field("streams/commands", "motors", 1.5), "streams/commands.motors[11] in row 75 is 1.5"),
    "a servo of -2": (field("streams/commands", "servos", -2.0), "streams/commands.servos[7] in row 75 is -2.0"),
    "a wind of inf": (field("streams/winds", "vel_ned", np.inf), "streams/winds.vel_ned is inf in row 300"),
    "a scenario of NaN": (field("streams/scenarios", "wind_ned", np.nan), "streams/scenarios.wind_ned is nan"),
    "a fault of NaN": (field("streams/scenarios", "faults.stuck_duty", np.nan), "scenarios.faults.stuck_duty is nan"),
    "a start of NaN": (values("plant/initial_state", with_value(4, np.nan)), "plant/initial_state is nan in row 4"),
    "a gust of NaN": (field("streams/gusts", "vel_ned", np.nan), "streams/gusts.vel_ned is nan"),
    "a thousand gusts": (field("streams/gusts", "count", 1_000), "streams/gusts.count is 1000; it must be 0 to 8"),
    "less than no gusts": (field("streams/gusts", "count", -1), "streams/gusts.count is -1"),
    "a checkpoint beyond the end": (field("checkpoints/state", "cursor.k", 999), "checkpoints/state is at k = 999"),
    "a fingerprint more": (values("plant/fingerprints", row_more), "fingerprints has 303 rows; the flight has 302"),
    "a fingerprint less": (values("plant/fingerprints", row_less), "fingerprints has 301 rows; the flight has 302"),
    "fingerprints of fewer states": (
        values("plant/fingerprints", lambda array: array[:, :-1].copy()),
        "plant/fingerprints has 18 columns; the plant has 19 states",
    ),
    "one checkpoint twice": (values("checkpoints/state", row_more), "not in order of time"),
    # texts
    "a text no UTF-8": (values("spec", lambda data: b"\xff" + data[1:]), "spec is not UTF-8 text"),
    "a mission no UTF-8": (values("mission", lambda data: data[:-1] + b"\xc3"), "mission is not UTF-8 text"),
}


@pytest.mark.parametrize("case", CASES)
def test_an_intact_file_that_is_not_a_flight_is_refused(case, tmp_path):
    """All hashes are valid, but the contents are wrong."""
    edit, message = CASES[case]
    path = write_tiny(tmp_path)
    edited(path, edit)
    assert_refused(path, message)


@pytest.mark.parametrize(
    "case", ["a bomb", "a bomb with a known name", "a field less", "a link to another file", "float32"]
)
def test_names_types_and_shapes_are_checked_before_anything_is_read(case, tmp_path, monkeypatch):
    """So a small file that claims gigabytes costs nothing."""
    edit, message = CASES[case]
    path = write_tiny(tmp_path)
    edited(path, edit)
    monkeypatch.setattr(h5py.Dataset, "__getitem__", lambda *_: pytest.fail("it was read"))
    with pytest.raises(InputError, match=re.escape(message)):
        read_recording(path)


@pytest.mark.parametrize("name", [*(name for name in ENTRIES if not ENTRIES[name].optional), *TEXTS])
def test_no_array_or_text_may_be_missing(name, tmp_path):
    """Each one."""
    path = write_tiny(tmp_path)
    edited(path, removed(name))
    assert_refused(path, f"it lacks the {'text' if name in TEXTS else 'array'} {name!r}")


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_no_attribute_may_be_missing(name, tmp_path):
    """Every attribute."""
    path = write_tiny(tmp_path)
    edited(path, attribute(name, None))
    assert_refused(path, f"it lacks the attribute {name!r}")


# -- specs of other flights ----------------------------------------------------------------------------------------


def refused_by_replay(path, *fragments):
    """Check that reading succeeds and a replay raises before it flies."""
    read_recording(path)
    with pytest.raises(InputError) as caught:
        replay(path)
    for fragment in fragments:
        assert fragment in str(caught.value)


OTHER_SPECS = {
    "not TOML": (text("spec", lambda toml: toml.replace("=", ":", 1)), "the recording's spec file"),
    "not a spec": (text("spec", lambda toml: toml.replace("mass_kg", "weight_kg", 1)), "weight_kg"),
    "empty": (values("spec", lambda data: b""), "airframe"),
    "of another aircraft": (
        values("spec", lambda data: tiny("octa").source.spec.encode()),
        "describes another aircraft",
    ),
    "of another end": (
        text("spec", lambda toml: toml.replace("t_end_s = 0.3", "t_end_s = 0.2")),
        "ticks at other times",
    ),
    "of another period": (
        text("spec", lambda toml: toml.replace("dt_wind_s = 0.001", "dt_wind_s = 0.002")),
        "the wind axis ticks at other times",
    ),
    "of another seed": (text("spec", lambda toml: toml.replace("seed = 5", "seed = 6")), "aircraft.seed = 6"),
    "of another integrator": (
        text("spec", lambda toml: toml.replace('"RK45"', '"RK4"')),
        "the flight was flown with 'RK45'",
    ),
    "with a mission that is none": (values("mission", lambda data: b"nothing"), "mission"),
    "with a mission elsewhere": (attribute("mission_name", np.bytes_(b"other.waypoints")), "mission"),
}


@pytest.mark.parametrize("case", OTHER_SPECS)
def test_a_spec_of_another_flight_is_refused(case, tmp_path):
    """With all hashes updated."""
    edit, message = OTHER_SPECS[case]
    path = write_tiny(tmp_path)
    edited(path, edit)
    refused_by_replay(path, message)


def test_a_replay_finds_a_changed_aircraft(tmp_path):
    """The mass is not a recorded input: the replay flies, differs, and reports where."""
    path = tmp_path / "heavier.h5"
    write_recording(record("iris", {"timeline.t_end_s": 6.0}), path)
    assert replay(path).matches
    edited(path, text("spec", lambda toml: toml.replace("mass_kg = 1.5", "mass_kg = 1.6")))
    replayed = replay(path)
    assert not replayed.matches
    assert replayed.first_difference is not None


def test_the_command_line_reports_it_with_exit_code_2(tmp_path, capsys, monkeypatch):
    """Without a traceback; for a run folder too."""
    path = write_tiny(tmp_path)
    edited(path, CASES["version 99"][0])
    for where in (path, tmp_path):
        monkeypatch.setattr(sys, "argv", ["px4lockstep", "replay", str(where)])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith(f"error: {path} can't be used: its version is 99")


# -- noise ---------------------------------------------------------------------------------------------------------


def test_random_flips_are_found(tmp_path):
    """One byte or several, anywhere, by the hash in the header."""
    rng = np.random.default_rng(1)
    path = tmp_path / "noisy.h5"
    whole = np.frombuffer(tiny_bytes(), np.uint8)
    for _ in range(400):
        data = whole.copy()
        places = rng.choice(len(data), rng.choice([1, 1, 2, 5, 50]), replace=False)
        data[places] ^= rng.integers(1, 256, len(places), np.uint8)
        path.write_bytes(data.tobytes())
        with pytest.raises(InputError, match=r"is damaged|is not a px4lockstep recording|is truncated"):
            read_recording(path)


def test_random_flips_with_a_new_hash_are_found_or_harmless(tmp_path, python):
    """In a separate process, since the HDF5 library may crash: an error, or the same recording."""
    shutil.copy(write_tiny(tmp_path), tmp_path / "whole.h5")
    script = os.path.join(os.path.dirname(__file__), "..", "..", "support", "fuzz_recordings.py")
    counts = python(script, tmp_path / "whole.h5", 100, 2).stdout
    assert "100 flips" in counts
    assert hashlib.sha256(tiny_bytes()).hexdigest() == hashlib.sha256((tmp_path / "whole.h5").read_bytes()).hexdigest()
