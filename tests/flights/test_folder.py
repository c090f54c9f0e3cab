"""The run folder: its log during the flight, complete or marked as incomplete."""

import errno
import json
import shutil

import pytest

import px4lockstep
from px4lockstep.errors import InputError, StateError
from px4lockstep.flights import folder as folders
from px4lockstep.flights.figure import draw_folder
from px4lockstep.flights.folder import RunFolder, fresh_folder, read_log
from px4lockstep.flights.run import Run
from px4lockstep.spec.shipped import shipped_missions

SHORT = {"timeline.t_end_s": 5.0}


def test_the_log_of_a_flight_is_in_its_folder_from_the_first_row_on(tmp_path, monkeypatch):
    """It can be read during the flight, with its memory released; at the end, one log remains."""
    monkeypatch.setattr(folders, "BOUNDARIES_HELD", 1_500)
    given_back, seen = [], []
    monkeypatch.setattr(folders, "release_pages", given_back.append)
    flight = px4lockstep.build(px4lockstep.load_spec("iris", SHORT))
    folder = RunFolder.create(tmp_path / "run", flight, holds_log=True)

    def watch(simulation):
        folder.watch(simulation)
        seen.append(read_log(folder.path).rows)

    run = px4lockstep.fly(flight, watch)
    assert seen == [100, 200, 300, 400, 501]
    assert len(given_back) == 2 * len(flight.simulation.buffers)
    assert (folder.path / "INCOMPLETE").exists()
    kept = read_log(folder.path)
    assert list(kept) == list(run.log)
    for name in kept.names:
        assert kept[name].tobytes() == run.log[name].tobytes()
    folder.keep(run)
    folder.close(run)
    assert sorted(path.name for path in folder.path.iterdir()) == [
        "log.parquet",
        "recording.h5",
        "spec.toml",
        "summary.json",
    ]
    assert read_log(folder.path).rows == 501
    assert run.log["pos_ned"].tobytes() == kept["pos_ned"].tobytes()


def test_a_stopped_run_stays_marked_as_incomplete(tmp_path):
    """With its log and summary."""
    flight = px4lockstep.build(px4lockstep.load_spec("iris", SHORT))
    flight.simulation.run(until_us=2_000_000)
    folder = Run(flight).save(tmp_path / "half", plots=False)
    assert (folder / "INCOMPLETE").exists()
    assert read_log(folder).rows == 200
    assert "stopped at" in " ".join(json.loads((folder / "summary.json").read_text())["warnings"])


def test_a_run_killed_before_its_flight_has_no_rows(tmp_path):
    """A missing log is an error."""
    flight = px4lockstep.build(px4lockstep.load_spec("iris"))
    folder = RunFolder.create(tmp_path / "killed", flight, holds_log=True)
    assert read_log(folder.path).rows == 0
    shutil.rmtree(folder.path / "log.rows")
    with pytest.raises(InputError, match="stopped before the flight began"):
        read_log(folder.path)


def test_a_full_disk_leaves_no_folder_before_the_flight(tmp_path, monkeypatch):
    """So the same command works once space is free."""

    def reserve(file, size):
        raise OSError(errno.ENOSPC, "No space left on device")

    flight = px4lockstep.build(px4lockstep.load_spec("iris"))
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as full:
        full.setattr("px4lockstep.log.rows._reserve", reserve)
        for path in (tmp_path / "run", "."):
            with pytest.raises(InputError, match=r"No space left on device\. The flight needs 1"):
                RunFolder.create(path, flight, holds_log=True)
            assert list(tmp_path.iterdir()) == []
    RunFolder.create(tmp_path / "run", flight, holds_log=True)


def test_log_rows_stay_until_the_log_is_written(tmp_path, monkeypatch):
    """They are removed only when the Parquet file is complete."""

    def fail(*_):
        raise InputError("log.parquet can't be written: No space left on device")

    flight = px4lockstep.build(px4lockstep.load_spec("iris", SHORT))
    folder = RunFolder.create(tmp_path / "run", flight, holds_log=True)
    run = px4lockstep.fly(flight, folder.watch)
    monkeypatch.setattr(folders, "write_parquet", fail)
    with pytest.raises(InputError, match="No space"):
        folder.keep(run)
    assert (folder.path / "INCOMPLETE").exists()
    assert read_log(folder.path).rows == 501


def test_folder_names_are_valid_and_unique(tmp_path):
    """Whatever the aircraft's name is, and however often it flies in a second."""
    first = fresh_folder("my / aircraft", tmp_path)
    assert first.parent == tmp_path
    assert first.is_dir()
    assert fresh_folder("my / aircraft", tmp_path) != first
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="can't be created"):
        fresh_folder("iris", tmp_path / "file")


def test_folders_that_can_not_be_used_are_errors(tmp_path):
    """A folder in use, a file in its place, no log."""
    flight = px4lockstep.build(px4lockstep.load_spec("iris"))
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "x").touch()
    with pytest.raises(InputError, match="not empty"):
        RunFolder.create(tmp_path / "used", flight)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="can't be created"):
        RunFolder.create(tmp_path / "file", flight)
    with pytest.raises(InputError, match="no log"):
        read_log(tmp_path / "used")
    with pytest.raises(InputError, match="is not a log; give a run folder, or a file"):
        read_log(tmp_path / "file")


def test_overrides_and_seed_apply_to_a_name_and_to_a_loaded_spec_alike():
    """A loaded spec is changed and checked again; trust was decided when it was loaded."""
    spec = px4lockstep.load_spec("iris", SHORT | {"timeline.t_end_s": 0.2})
    named = px4lockstep.simulate("iris", overrides=SHORT | {"timeline.t_end_s": 0.2, "aircraft.seed": 7})
    assert px4lockstep.simulate(spec, seed=7).digest == named.digest != px4lockstep.simulate(spec).digest
    assert px4lockstep.simulate(spec, overrides={"aircraft.seed": 7}).digest == named.digest
    with pytest.raises(InputError, match=r"environment\.wind = 'gale'"):
        px4lockstep.simulate(spec, overrides={"environment.wind": "gale"})
    with pytest.raises(InputError, match="pass it to load_spec"):
        px4lockstep.simulate(spec, trust=True)
    with pytest.raises(InputError, match=r"seed = 7 and the override aircraft\.seed = 8 both set the seed"):
        px4lockstep.simulate(spec, overrides={"aircraft.seed": 8}, seed=7)


def test_a_folder_can_be_moved_with_its_mission(tmp_path):
    """The user's mission is copied next to the spec, which flies the same wherever the folder is."""
    own = tmp_path / "mine.waypoints"
    own.write_text(shipped_missions()["simple"].read_text("utf-8"), "utf-8")
    run = px4lockstep.simulate("iris", overrides=SHORT | {"px4.mission_path": str(own)})
    folder = run.save(tmp_path / "run", plots=False)
    own.unlink()
    moved = folder.rename(tmp_path / "moved")
    assert px4lockstep.simulate(moved / "spec.toml").digest == run.digest
    figure, problem = draw_folder(moved, read_log(moved))
    assert problem is None
    assert figure.axes[0].get_legend_handles_labels()[1].count("waypoint") == 1
    assert px4lockstep.replay(moved).matches


def test_the_path_of_a_recording_is_checked_before_the_flight(tmp_path):
    """Like that of the log."""
    spec = px4lockstep.load_spec("iris", SHORT | {"run.recording_out": str(tmp_path / "no" / "x.h5")})
    with pytest.raises(InputError, match=r"run\.recording_out = .* can't be written"):
        RunFolder.create(tmp_path / "run", px4lockstep.build(spec))


def test_streams_are_released_only_after_they_are_written():
    """A run that has not ended needs them."""
    simulation = px4lockstep.build(px4lockstep.load_spec("iris", SHORT)).simulation
    with pytest.raises(StateError, match="before the run has ended"):
        simulation.release_streams()
    digest = simulation.run().digest()
    simulation.release_streams()
    assert simulation.digest() == digest
    assert len(simulation.checkpoints) == 0
    with pytest.raises(StateError, match="is not recorded and has no streams"):
        _ = simulation.streams


def test_a_run_has_a_short_repr():
    """For the interactive prompt."""
    run = px4lockstep.simulate("iris", overrides=SHORT)
    assert repr(run) == f"<Run iris: out of time, 5.000 s, digest {run.digest[:12]}>"


def test_a_run_is_saved_to_a_new_folder_if_none_is_named(tmp_path, monkeypatch):
    """So that a script can be run again; a named folder must be new, and the error says what to do."""
    monkeypatch.chdir(tmp_path)
    run = px4lockstep.simulate("x500", overrides={"timeline.t_end_s": 0.1})
    first, second = run.save(plots=False), run.save(plots=False)
    assert first != second
    assert {first.parent.name, second.parent.name} == {"runs"}
    with pytest.raises(InputError, match="is not empty; a run needs a new or empty folder: remove it, or use another"):
        run.save(first)
