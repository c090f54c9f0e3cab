"""The folder of a run: parts while it flies, complete or marked."""

import json

import numpy as np
import pytest

import px4lockstep
from px4lockstep.errors import InputError
from px4lockstep.logs import parts
from px4lockstep.runs import folder as folders
from px4lockstep.runs.folder import RunFolder, fresh_folder, read_log
from px4lockstep.runs.picture import draw_folder
from px4lockstep.runs.run import Run
from px4lockstep.spec.files import shipped_missions

SHORT = {"timeline.t_end_s": 5.0}


def test_a_long_flight_writes_its_log_in_parts(tmp_path, monkeypatch):
    """Each part is whole and readable while the flight goes on; in the end there is one log."""
    monkeypatch.setattr(folders, "PART_ROWS", 150)
    flight = px4lockstep.build(px4lockstep.load_spec("iris", SHORT))
    folder = RunFolder.create(tmp_path / "run", flight)
    seen = []

    def watch(simulation):
        folder.watch(simulation)
        if list(folder.path.glob("log-*.npy")):
            seen.append(read_log(folder.path).rows)

    run = px4lockstep.fly(flight, watch)
    assert seen[-1] > 150
    assert (folder.path / "INCOMPLETE").exists()
    kept = read_log(folder.path)
    assert list(kept) == list(run.log)
    for name in kept:
        assert np.array_equal(kept[name], run.log[name][: seen[-1]], equal_nan=True)
    folder.keep(run)
    folder.close(run)
    assert sorted(path.name for path in folder.path.iterdir()) == [
        "log.parquet",
        "recording.h5",
        "spec.toml",
        "summary.json",
    ]
    assert read_log(folder.path).rows == 501


def test_a_run_that_stopped_keeps_its_mark(tmp_path):
    """With what it has so far."""
    flight = px4lockstep.build(px4lockstep.load_spec("iris", SHORT))
    flight.simulation.run(until_us=2_000_000)
    folder = Run(flight).save(tmp_path / "half", plots=False)
    assert (folder / "INCOMPLETE").exists()
    assert read_log(folder).rows == 200
    assert "stopped at" in " ".join(json.loads((folder / "summary.json").read_text())["warnings"])


def test_a_run_that_was_killed_early_has_no_log(tmp_path):
    """Which is said."""
    folder = RunFolder.create(tmp_path / "killed", px4lockstep.build(px4lockstep.load_spec("iris")))
    with pytest.raises(InputError, match="stopped before its first part"):
        read_log(folder.path)


def test_a_damaged_part_is_said(tmp_path, monkeypatch):
    """And one of another version."""
    monkeypatch.setattr(folders, "PART_ROWS", 150)
    flight = px4lockstep.build(px4lockstep.load_spec("iris", SHORT))
    folder = RunFolder.create(tmp_path / "run", flight)
    px4lockstep.fly(flight, folder.watch)
    part = folder.path / "log-0002.npy"
    whole = part.read_bytes()
    part.write_bytes(whole[:5_000])
    with pytest.raises(InputError, match=r"log-0002\.npy can't be read"):
        read_log(folder.path)
    part.write_bytes(whole)
    monkeypatch.setattr(parts, "_layouts", lambda: "another")
    with pytest.raises(InputError, match="another version of px4lockstep"):
        read_log(folder.path)


def test_names_are_fit_for_folders_and_new(tmp_path):
    """Whatever the aircraft is called, and however often it flies in a second."""
    first = fresh_folder("my / aircraft", tmp_path)
    assert first.parent == tmp_path
    assert first.is_dir()
    assert fresh_folder("my / aircraft", tmp_path) != first
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="can't be made"):
        fresh_folder("iris", tmp_path / "file")


def test_what_cannot_be_written_or_read_is_said(tmp_path):
    """A folder in use, a file in its place, no log."""
    flight = px4lockstep.build(px4lockstep.load_spec("iris"))
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "x").touch()
    with pytest.raises(InputError, match="not empty"):
        RunFolder.create(tmp_path / "used", flight)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="can't be made"):
        RunFolder.create(tmp_path / "file", flight)
    with pytest.raises(InputError, match="no log"):
        read_log(tmp_path / "used")
    with pytest.raises(InputError, match="is a file; give the run folder"):
        read_log(tmp_path / "file")


def test_overrides_are_for_names_and_paths():
    """A loaded file is complete."""
    with pytest.raises(InputError, match="load_spec"):
        px4lockstep.simulate(px4lockstep.load_spec("iris"), **SHORT)


def test_a_folder_has_its_mission_and_can_go_elsewhere(tmp_path):
    """A mission of one's own is copied beside the aircraft file, which flies as before wherever the folder is."""
    own = tmp_path / "mine.waypoints"
    own.write_text(shipped_missions()["simple"].read_text("utf-8"), "utf-8")
    run = px4lockstep.simulate("iris", **SHORT, **{"px4.mission_path": str(own)})
    folder = run.save(tmp_path / "run", plots=False)
    own.unlink()
    moved = folder.rename(tmp_path / "moved")
    assert px4lockstep.simulate(moved / "spec.toml").digest == run.digest
    figure, problem = draw_folder(moved, read_log(moved))
    assert problem is None
    assert figure.axes[0].get_legend_handles_labels()[1].count("waypoint") == 1
    assert px4lockstep.replay(moved).matches


def test_where_a_recording_goes_is_checked_before_the_flight(tmp_path):
    """As for the log."""
    spec = px4lockstep.load_spec("iris", SHORT | {"run.recording_out": str(tmp_path / "no" / "x.h5")})
    with pytest.raises(InputError, match=r"run\.recording_out = .* can't be written"):
        RunFolder.create(tmp_path / "run", px4lockstep.build(spec))


def test_streams_are_released_only_when_they_are_written():
    """A run that has not ended needs them."""
    simulation = px4lockstep.build(px4lockstep.load_spec("iris", SHORT)).simulation
    with pytest.raises(InputError, match="not ended"):
        simulation.release_streams()
    digest = simulation.run().digest()
    simulation.release_streams()
    assert simulation.digest() == digest
    assert len(simulation.moments) == 0
    with pytest.raises(InputError, match="keeps no streams"):
        _ = simulation.streams


def test_a_run_says_shortly_what_it_is():
    """In a terminal."""
    run = px4lockstep.simulate("iris", **SHORT)
    assert repr(run) == f"<Run iris: mission not finished, 5.000 s, digest {run.digest[:12]}>"
