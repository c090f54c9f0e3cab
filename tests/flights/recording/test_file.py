"""The file of a recording: read back exactly, the same bytes for the same flight, complete or absent."""

import os
import resource
import signal
import time
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from commands import run_command
from fuzz_recordings import is_same
from recorded_flights import record, recorded
from recording_files import attribute, edited, put, tiny, tiny_bytes, values, write_tiny

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import InputError, StateError
from px4lockstep.flights.branch import branch
from px4lockstep.flights.recording.contents import ENTRIES, TEXTS, VERSION
from px4lockstep.flights.recording.file import BLOCK_BYTES, _check_item, read_recording, write_recording
from px4lockstep.flights.recording.recording import FlightSource, Recording
from px4lockstep.flights.replay import replay
from px4lockstep.plant.models import Oscillator

VERSION_1 = Path(__file__).parent / "data" / "version_1.h5"
VERSION_1_DIGEST = "23443e690c1bbc0f0ffacb3803b08805a48ea980f14c0940bc4241e7a1b75a91"
VERSION_2 = Path(__file__).parent / "data" / "version_2.h5"
VERSION_2_DIGEST = "dd014bd2541cdfe237044c84bced18f1368b0da5af9cb9a6f0a6b647a6b9ae3e"
VERSION_3 = Path(__file__).parent / "data" / "version_3.h5"
VERSION_4 = Path(__file__).parent / "data" / "version_4.h5"
VERSION_4_DIGEST = "7ca550773932d0f2df0a4721d87dee98b545a88dbc27cf9450244c927ae82e40"
VERSION_4_BRANCH = Path(__file__).parent / "data" / "version_4_branch.h5"
VERSION_4_BRANCH_DIGEST = "a8973b13eb96a939df7fa0caaf9b86e91d6b3c388de7b73187bd1a905b5a9d38"
VERSION_4_LATE_BRANCH_DIGEST = "bc03f1c1f4775055f77f2512e4472541fd9b04450303b85abd56f7fc5f811f80"
WRITES = """
import sys
sys.path[:0] = {support!r}
from recording_files import tiny
from px4lockstep.flights.recording import file
{before}
file.write_recording(tiny(), {path!r})
"""
SUPPORT = [str(Path(__file__).parents[2] / "support")]


# -- reading back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["iris", "octa", "hex", "twin"])
def test_a_recording_is_read_back_exactly(name, tmp_path):
    """Attributes, versions, texts, and each array bit for bit with its layout."""
    recording = record(name, {"timeline.t_end_s": 1.0}) if name != "twin" else record_twin()
    write_recording(recording, tmp_path / "a.h5")
    again = read_recording(tmp_path / "a.h5")
    assert is_same(again, recording)
    assert again.source == recording.source
    assert again.state_names == recording.state_names
    for array in ("log", "log_state", "checkpoints", "initial_state"):
        assert getattr(again, array).dtype == getattr(recording, array).dtype
    for stream in ("time_us", "due", "gusts", "commands", "winds", "scenarios", "scenario_at"):
        ours, theirs = getattr(again.streams, stream), getattr(recording.streams, stream)
        assert ours.dtype == theirs.dtype
        assert ours.tobytes() == theirs.tobytes()


def record_twin():
    """Record the twin, which has no mission and is never armed."""
    import px4lockstep
    from px4lockstep.flights.recorded import source_of

    flight = px4lockstep.build(px4lockstep.load_spec("twin", {"timeline.t_end_s": 1.0}), record=True)
    return Recording.of(flight.simulation.run(), source_of(flight))


def test_a_flight_with_faults_and_checkpoints_is_read_back(tmp_path):
    """Fourteen seconds: two checkpoints, some changes of the scenario."""
    recording = recorded("iris", with_faults=True)
    assert len(recording.checkpoints) == 2
    assert len(recording.streams.scenarios) > 3
    write_recording(recording, tmp_path / "a.h5")
    assert is_same(read_recording(tmp_path / "a.h5"), recording)


def test_a_crash_is_read_back(tmp_path):
    """Its log ends with an additional row; boundaries are recorded up to the crash."""
    events = [{"at_s": 9.0005, "action": "disable_motor", "motor": 1}]
    recording = record("iris", {"scenario.events": events})
    assert recording.log["bus"]["scenario"]["crashed"][-1] == 1
    assert recording.log["time_us"][-1] == recording.streams.time_us[-1]
    assert len(recording.fingerprints) == len(recording.streams.time_us)
    write_recording(recording, tmp_path / "a.h5")
    assert is_same(read_recording(tmp_path / "a.h5"), recording)
    assert replay(tmp_path / "a.h5").matches


def test_a_recording_of_a_reference_plant_is_read_back(tmp_path):
    """Without autopilot and wind, their streams are empty; a flight built in Python has no spec."""
    sim = Simulation(Oscillator(), Timeline(100_000, log=Periodic(10_000)), record=True).run()
    recording = Recording.of(sim, FlightSource(spec=""))
    write_recording(recording, tmp_path / "a.h5")
    again = read_recording(tmp_path / "a.h5")
    assert is_same(again, recording)
    assert len(again.streams.commands) == len(again.streams.winds) == 0
    assert again.source.spec == ""


def test_texts_may_contain_any_characters(tmp_path):
    """UTF-8, with unchanged line endings."""
    source = replace(tiny().source, spec="# Ärger, 風\r\n" + tiny().source.spec, autopilot="pilote à bord")
    write_recording(replace(tiny(), source=source), tmp_path / "a.h5")
    assert read_recording(tmp_path / "a.h5").source == source
    with h5py.File(tmp_path / "a.h5") as file:
        assert h5py.check_string_dtype(file["spec"].dtype).encoding == "utf-8"


# -- the same bytes ------------------------------------------------------------------------------------------------


def test_the_same_flight_gives_the_same_bytes(tmp_path, python):
    """Written twice more than a second apart, so that a stored time would show, and by other processes."""
    write_recording(tiny(), tmp_path / "first.h5")
    time.sleep(1.1)
    write_recording(tiny(), tmp_path / "second.h5")
    for name in ("third", "fourth"):
        code = WRITES.format(support=SUPPORT, before="", path=str(tmp_path / f"{name}.h5"))
        python("-c", code, PYTHONHASHSEED=len(name))
    found = {path.read_bytes() for path in sorted(tmp_path.glob("*.h5"))}
    assert len(list(tmp_path.iterdir())) == 4
    assert found == {tiny_bytes()}
    write_recording(replace(tiny(), source=replace(tiny().source, seed=6)), tmp_path / "other.h5")
    assert (tmp_path / "other.h5").read_bytes() != tiny_bytes()


def test_writing_a_recording_that_was_read_gives_the_same_bytes(tmp_path):
    """So reading and writing copies a file."""
    write_recording(read_recording(write_tiny(tmp_path)), tmp_path / "again.h5")
    assert (tmp_path / "again.h5").read_bytes() == tiny_bytes()


def test_any_hdf5_reader_finds_descriptions_and_hashes(tmp_path):
    """Plain compound types, fixed-length strings, and a description of each array."""
    with h5py.File(write_tiny(tmp_path), "r") as file:
        assert file.userblock_size == BLOCK_BYTES
        assert file.attrs["version"] == VERSION
        for name, entry in ENTRIES.items():
            assert entry.dtype is None or file[name].dtype == entry.layout(file[name].dtype)
            assert file[name].attrs["description"].decode() == entry.description
            assert len(file[name].attrs["sha256"]) == 64
        for name in (*TEXTS, "mission"):
            assert file[name].dtype.kind == "S"


# -- versions ------------------------------------------------------------------------------------------------------


def test_version_1_is_read_and_replays_to_its_digest():
    """Written before checkpoints, missions and names of states were stored."""
    recording = read_recording(VERSION_1)
    assert recording.digest == VERSION_1_DIGEST
    assert recording.source.mission is None
    assert recording.state_names[:2] == ("x[0]", "x[1]")
    assert len(recording.checkpoints) == 0
    replayed = replay(VERSION_1)
    assert replayed.digest == VERSION_1_DIGEST
    assert replayed.matches


def test_version_2_is_read_and_replays_to_its_digest():
    """Written before state fingerprints were stored at each boundary."""
    recording = read_recording(VERSION_2)
    assert recording.digest == VERSION_2_DIGEST
    assert len(recording.fingerprints) == 0
    assert replay(VERSION_2).matches


def test_version_3_is_read_and_replays_to_its_digest():
    """Written before steps were shortened at discontinuities of the plant, of which there are some on the ground."""
    recording = read_recording(VERSION_3)
    assert len(recording.checkpoints) == 0  # they have another layout
    replayed = replay(VERSION_3)
    assert replayed.matches
    assert replay(VERSION_3, overrides={"plant.integrator.kink_tolerance": 1e-8}).digest != replayed.digest


@pytest.mark.parametrize(
    ("path", "digest"), [(VERSION_4, VERSION_4_DIGEST), (VERSION_4_BRANCH, VERSION_4_BRANCH_DIGEST)]
)
def test_version_4_replays_to_its_digest(path, digest):
    """A flight with wind, noise and faults, and a branch of it."""
    replayed = replay(path)
    assert replayed.digest == digest
    assert replayed.matches


def test_version_4_gives_the_same_branches():
    """A branch from its last checkpoint flies as in version 0.1."""
    (late,) = branch(VERSION_4, 11.5, overrides={"environment.wind": "none"})
    assert late.run.digest == VERSION_4_LATE_BRANCH_DIGEST


def test_version_1_is_written_as_the_current_version(tmp_path):
    """Migrations are permanent."""
    write_recording(read_recording(VERSION_1), tmp_path / "now.h5")
    with h5py.File(tmp_path / "now.h5") as file:
        assert file.attrs["version"] == VERSION
    assert is_same(read_recording(tmp_path / "now.h5"), read_recording(VERSION_1))


def test_missing_checkpoints_of_version_1_are_an_error():
    """A branch needs them."""
    with pytest.raises(InputError, match="no checkpoints to start from: it was written by an older version"):
        read_recording(VERSION_1).snapshot_before(0)


def test_a_newer_version_is_refused_with_the_remedy(tmp_path):
    """Even if it contains unknown parts."""
    path = write_tiny(tmp_path)

    def newer(file):
        attribute("version", VERSION + 1)(file)
        put(file, "streams/sensors", np.zeros(5))

    edited(path, newer)
    with pytest.raises(InputError) as caught:
        read_recording(path)
    told = f"its version is {VERSION + 1}; this px4lockstep reads 1 to {VERSION}. Update px4lockstep"
    assert str(caught.value) == f"{path} can't be used: {told}"


def test_checkpoints_of_another_layout_are_resumed_by_field_names(tmp_path):
    """Fields in another order, an unknown one, and a missing one that keeps its built value."""
    path = write_tiny(tmp_path)

    def reordered(array):
        names = [name for name in reversed(array.dtype.names) if name != "gusts"]
        other = np.zeros(array.shape, [("unknown", "f8"), *((name, array.dtype[name]) for name in names)])
        for name in names:
            other[name] = array[name]
        return other

    edited(path, values("checkpoints/state", reordered))
    recording = read_recording(path)
    assert recording.checkpoints.dtype.names[0] == "unknown"
    (flown,) = branch(recording, 0.2)
    assert flown.run.digest == tiny().digest


def test_optional_arrays_may_be_missing_or_unknown(tmp_path):
    """Such a file can still be replayed."""
    path = write_tiny(tmp_path)

    def other(file):
        put(file, "streams/sensors", np.zeros(5))
        file["streams/sensors"].attrs["optional"] = 1
        del file["plant/fingerprints"], file["checkpoints/state"]

    edited(path, other)
    recording = read_recording(path)
    assert (len(recording.fingerprints), len(recording.checkpoints)) == (0, 0)
    assert replay(recording).matches


def test_an_unknown_optional_array_is_skipped_without_being_read(tmp_path, monkeypatch):
    """It needs no new version; the file replays, branches and is written again without it."""
    path = write_tiny(tmp_path)

    def added(file):
        put(file, "later/stream", np.zeros((5, 3)))
        file["later/stream"].attrs["optional"] = 1
        file["later/stream"].attrs["description"] = np.bytes_(b"Of a later program.")

    edited(path, added)
    with h5py.File(path) as file:
        assert file.attrs["version"] == VERSION
    read, whole = [], h5py.Dataset.__getitem__
    monkeypatch.setattr(
        h5py.Dataset, "__getitem__", lambda item, *rest: (read.append(item.name), whole(item, *rest))[1]
    )
    recording = read_recording(path)
    assert "/log/rows" in read
    assert "/later/stream" not in read
    assert replay(recording).matches
    (flown,) = branch(recording, 0.2)
    assert flown.run.digest == tiny().digest
    write_recording(recording, tmp_path / "again.h5")
    assert (tmp_path / "again.h5").read_bytes() == tiny_bytes()


def test_optional_arrays_exist_from_version_5_on(tmp_path):
    """Older files have no unknown arrays, and an unknown array may not claim more data than it has."""
    path = write_tiny(tmp_path)

    def added(file):
        put(file, "later/stream", np.zeros(5))
        file["later/stream"].attrs["optional"] = 1

    edited(path, added)
    edited(path, attribute("version", 4))
    with pytest.raises(InputError, match="it has the array 'later/stream', which this version does not know"):
        read_recording(path)

    def huge(file):
        file.create_dataset("later/huge", (2**40,), "f8", chunks=(1024,), compression=1).attrs["optional"] = 1

    path = write_tiny(tmp_path)
    edited(path, huge)
    with pytest.raises(InputError, match="later/huge claims 8796093022208 bytes"):
        read_recording(path)


# -- complete or absent --------------------------------------------------------------------------------------------


@pytest.mark.process
def test_a_killed_writer_leaves_no_recording(tmp_path):
    """The previous file stays, and the temporary file is not a valid recording."""
    path = tmp_path / "recording.h5"
    path.write_bytes(b"before")
    kill = f"import os\nfile._seal = lambda part: os.kill(os.getpid(), {int(signal.SIGKILL)})"
    script = tmp_path / "kill.py"
    script.write_text(WRITES.format(support=SUPPORT, before=kill, path=str(path)), "utf-8")
    finished = run_command(script=script)
    script.unlink()
    assert finished.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"before"
    [part] = [other for other in tmp_path.iterdir() if other != path]
    assert part.name.startswith(".px4lockstep-")
    with pytest.raises(InputError, match="is not a px4lockstep recording"):
        read_recording(part)


def test_an_error_during_writing_leaves_nothing(tmp_path, monkeypatch):
    """Whatever the error is."""

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("px4lockstep.flights.recording.file._seal", fail)
    with pytest.raises(KeyboardInterrupt):
        write_recording(tiny(), tmp_path / "recording.h5")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("room", [100, 3_000, -1])
def test_a_full_disk_is_an_error_and_leaves_nothing(room, tmp_path, python):
    """Simulated by a limit on the size of files; no message of HDF5 reaches the user."""
    room = room if room > 0 else len(tiny_bytes()) + room
    limit = f"import resource\ntiny()\nresource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {resource.RLIM_INFINITY}))"
    path = tmp_path / "recording.h5"
    finished = python("-c", WRITES.format(support=SUPPORT, before=limit, path=str(path)), check=False)
    assert finished.returncode == 1
    told = finished.stderr.strip().splitlines()
    assert told[-1] == f"px4lockstep.errors.OutputError: {path} can't be written: File too large"
    assert "Exception ignored" not in finished.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_can_not_be_written_is_an_error(tmp_path, monkeypatch):
    """No folder, a file as a folder, a folder of that name, and a read-only folder."""
    (tmp_path / "file").touch()
    for path, message in (
        (tmp_path / "gone" / "a.h5", "there is no folder"),
        (tmp_path / "file" / "a.h5", "there is no folder"),
        (tmp_path, "it is a folder"),
    ):
        with pytest.raises(InputError, match=message):
            write_recording(tiny(), path)
    if os.geteuid() == 0:  # root may write everywhere except in /proc
        folder, reason = Path("/proc"), "No such file or directory"
    else:
        folder, reason = tmp_path, "Permission denied"
        tmp_path.chmod(0o555)
    with pytest.raises(InputError, match=f"a.h5 can't be written: {reason}"):
        write_recording(tiny(), folder / "a.h5")
    tmp_path.chmod(0o755)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_an_unfinished_or_unrecorded_flight_has_no_recording():
    """The error comes before anything is written."""
    timeline = Timeline(100_000, log=Periodic(10_000))
    half = Simulation(Oscillator(), timeline, record=True).run(until_us=50_000)
    with pytest.raises(StateError, match="a flight has no recording before its end"):
        Recording.of(half, FlightSource(spec=""))
    with pytest.raises(StateError, match="record=True"):
        Recording.of(Simulation(Oscillator(), timeline).run(), FlightSource(spec=""))


def test_a_filter_that_needs_an_hdf5_plugin_is_refused(tmp_path):
    """Before anything is read: HDF5 would load the plugin that the file names."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        packed = file.create_dataset("x", data=np.zeros(100), compression="lzf")
        with pytest.raises(InputError, match="x uses a compression that recordings don't use"):
            _check_item("x", packed)
        _check_item("y", file.create_dataset("y", data=np.zeros(100), compression=1, shuffle=True))
