"""The log of a flight in progress, in files."""

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import px4lockstep
from px4lockstep.engine.core import SIM
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import InputError
from px4lockstep.flights.run import Run
from px4lockstep.io import release_pages
from px4lockstep.log import rows
from px4lockstep.log.log import Log
from px4lockstep.log.rows import hold_rows, read_rows

SHORT = {"timeline.t_end_s": 3.0}


def flight(**overrides):
    return px4lockstep.build(px4lockstep.load_spec("iris", SHORT | overrides))


def assert_same(found, wanted):
    """Check that two logs have bit-identical columns."""
    assert list(found) == list(wanted)
    for name in wanted:
        assert found[name].tobytes() == wanted[name].tobytes(), name


def test_a_flight_logged_to_files_equals_one_in_memory(tmp_path):
    """Log, digests and recording; the files can be read at any time and have the rows up to then."""
    in_memory, in_file = flight().simulation, flight().simulation
    hold_rows(in_file, tmp_path / "log.rows")
    assert read_rows(tmp_path / "log.rows").rows == 0
    for until_us in (1, 1_000_000, 1_234_000, None):
        in_memory.run(until_us)
        in_file.run(until_us)
        assert_same(read_rows(tmp_path / "log.rows"), Log.of(in_memory))
    assert in_file.digest() == in_memory.digest()
    assert in_file.live_digest() == in_memory.live_digest()
    assert in_file.streams.commands.tobytes() == in_memory.streams.commands.tobytes()
    assert in_file.streams.winds.tobytes() == in_memory.streams.winds.tobytes()
    assert in_file.fingerprints.tobytes() == in_memory.fingerprints.tobytes()


def test_a_running_flight_moves_its_log_to_files(tmp_path):
    """Everything logged and recorded before is in the files too."""
    moved, whole = flight(), flight()
    moved.simulation.run(1_000_000)
    hold_rows(moved.simulation, tmp_path / "log.rows")
    assert read_rows(tmp_path / "log.rows").rows == 100
    moved.simulation.run()
    assert_same(read_rows(tmp_path / "log.rows"), Log.of(whole.simulation.run()))
    moved_run, whole_run = Run(moved), Run(whole)
    assert moved_run.recording.streams.commands.tobytes() == whole_run.recording.streams.commands.tobytes()


def test_the_log_outlives_its_files(tmp_path):
    """After they are deleted, the run still has the whole log and can be saved."""
    run, whole = Run(flight()), px4lockstep.fly(flight())
    hold_rows(run.simulation, tmp_path / "log.rows")
    run.simulation.run()
    shutil.rmtree(tmp_path / "log.rows")
    for array in run.simulation.buffers.values():
        release_pages(array)
    assert_same(run.log, whole.log)
    assert run.digest == whole.digest
    for saved in (run.save(tmp_path / "a", plots=False), whole.save(tmp_path / "b", plots=False)):
        assert not (saved / "log.rows").exists()
    for name in ("log.parquet", "recording.h5"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_columns_of_a_file_are_read_only_copies(tmp_path):
    """So that the pages of the file can be released."""
    simulation = flight().simulation
    hold_rows(simulation, tmp_path / "log.rows")
    log = Log.of(simulation.run())
    assert not np.shares_memory(log["motors"], simulation.log)
    with pytest.raises(ValueError, match="read-only"):
        log["motors"][0] = 1.0
    assert log["motors"].base is not log["motors"].base  # not kept
    assert log.time_us is log.time_us


def test_restoring_a_snapshot_restores_its_rows(tmp_path):
    """The files have the rows up to the snapshot, then those of the flight that continues."""
    simulation = flight(**{"run.mode": "live"}).simulation
    hold_rows(simulation, tmp_path / "log.rows")
    kept = simulation.run(1_000_000).snapshot()
    digest = simulation.run().digest()
    simulation.restore(kept)
    assert read_rows(tmp_path / "log.rows").rows == 100
    assert simulation.run().digest() == digest
    assert read_rows(tmp_path / "log.rows").rows == 301


def test_a_run_without_a_plant_or_a_recording_is_logged(tmp_path):
    """Empty arrays take no space."""
    simulation = Simulation(None, Timeline(1_000, log=Periodic(100)))
    hold_rows(simulation, tmp_path / "log.rows")
    simulation.run()
    log = read_rows(tmp_path / "log.rows")
    assert log.time_us.tolist() == list(range(0, 1_001, 100))


def test_invalid_files_are_errors(tmp_path, monkeypatch):
    """Another file, an empty one, a missing one, truncated ones, and one of another version."""
    path = tmp_path / "log.rows"
    simulation = flight().simulation
    hold_rows(simulation, path)
    simulation.run()
    with pytest.raises(InputError, match=r"other\.rows/head can't be read: .*No such file"):
        read_rows(tmp_path / "other.rows")
    for name, lengths in (
        ("head", (rows.START_BYTES, rows.HEAD.itemsize - 1)),
        ("log", (9_000,)),
        ("log_state", (99,)),
    ):
        whole = (path / name).read_bytes()
        for length in lengths:
            (path / name).write_bytes(whole[:length])
            with pytest.raises(InputError, match=f"{name} can't be read: .*truncated to {length} bytes"):
                read_rows(path)
        (path / name).write_bytes(b"")
        with pytest.raises(InputError, match=f"{name} can't be read"):
            read_rows(path)
        (path / name).write_bytes(whole)
    head = (path / "head").read_bytes()
    (path / "head").write_bytes(b"px4lockstep recording\n" * 100)
    with pytest.raises(InputError, match="it is not a px4lockstep log"):
        read_rows(path)
    (path / "head").write_bytes(head)
    monkeypatch.setattr(rows, "_start", lambda: rows.TITLE + b"0" * 32)
    with pytest.raises(InputError, match="another version of px4lockstep"):
        read_rows(path)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("logged", -1, "its record.logged is -1; it must be 0 to"),
        ("logged", -5, "its record.logged is -5; it must be 0 to"),
        ("logged", 2**62, "its record.logged is 4611686018427387904; it must be 0 to"),
        ("logged", 10_000, "log can't be read: it is damaged, or truncated"),
        ("states", -1, "its record.states is -1; it must be 0 to 79"),
        ("states", 2**40, "its record.states is 1099511627776"),
        ("has_sensors", 7, "its record.has_sensors is 7; it must be 0 to 1"),
        ("core.plant.traits.n_motors", -3, "the plant.traits.n_motors is -3; it must be 0 to 12"),
        ("core.plant.group_start", 2**40, "the plant.group_start.0. is 1099511627776; it must be 0 to 79"),
    ],
)
def test_impossible_counts_are_refused(name, value, message, tmp_path):
    """Of rows, states, and everything that determines the columns."""
    simulation = flight(**{"timeline.t_end_s": 0.2}).simulation
    hold_rows(simulation, tmp_path / "log.rows")
    simulation.run()
    head = np.memmap(tmp_path / "log.rows" / "head", rows.HEAD, "r+", shape=(1,))
    if name.startswith("core."):
        target = head["core"].view(SIM)[0]
        *parts, last = name.split(".")[1:]
        for part in parts:
            target = target[part]
        target[last] = value
    else:
        head[name] = value
    head.flush()
    with pytest.raises(InputError, match=message):
        read_rows(tmp_path / "log.rows")


def test_rows_whose_times_do_not_increase_are_refused(tmp_path):
    """Rows beyond those logged are zero."""
    simulation = flight(**{"timeline.t_end_s": 0.2}).simulation
    hold_rows(simulation, tmp_path / "log.rows")
    simulation.run(100_000)
    head = np.memmap(tmp_path / "log.rows" / "head", rows.HEAD, "r+", shape=(1,))
    head["logged"] += 1
    head.flush()
    with pytest.raises(
        InputError, match=r"log\.rows is damaged: time_us must increase, but row 10 .* has 0 after 90000"
    ):
        read_rows(tmp_path / "log.rows")


FULL = """
import resource, px4lockstep
from px4lockstep.errors import InputError
from px4lockstep.log.rows import hold_rows
simulation = px4lockstep.build(px4lockstep.load_spec("iris")).simulation
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
try:
    hold_rows(simulation, "log.rows")
except InputError as error:
    print(error)
simulation.run(1_000_000)
print(len(simulation.log))
"""


@pytest.mark.process
def test_a_full_disk_is_an_error_before_the_flight(tmp_path):
    """Simulated by a limit on the size of files; nothing is left, and the flight can continue in memory."""
    finished = subprocess.run((sys.executable, "-c", FULL), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    said, logged = finished.stdout.splitlines()
    assert re.match(r"log\.rows can't be created: File too large\. The flight needs 1\d\.\d MB on disk", said)
    assert "free disk space" in said
    assert logged == "100"
    assert list(tmp_path.iterdir()) == []
