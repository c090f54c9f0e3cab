"""Compare two flights: changes, first difference, results."""

import json

import numpy as np
import pytest
from recorded_flights import SHORT

import px4lockstep
from px4lockstep.errors import InputError
from px4lockstep.flights.branch import branch
from px4lockstep.flights.changes import changes_between
from px4lockstep.flights.diff import diff
from px4lockstep.plots.overlay import distance_between
from px4lockstep.spec.load import load_spec


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Four run folders: a flight, the same flight again, one with a changed gain, one with a fault."""
    root = tmp_path_factory.mktemp("runs")
    for name, overrides in (
        ("good", {}),
        ("again", {}),
        ("gain", {"autopilot.params": {"MC_ROLLRATE_P": 0.17}}),
        ("fault", {"scenario.events": [{"at_s": 7.0005, "action": "thrust_loss", "motor": 1, "fraction": 0.2}]}),
        ("octa", None),
    ):
        if overrides is None:
            px4lockstep.simulate("octa", overrides=SHORT).save(root / name, plots=False)
        else:
            px4lockstep.simulate("iris", overrides=SHORT | overrides).save(root / name, plots=False)
    [one] = branch(root / "good", 6.0, overrides={"airframe.mass_kg": 1.6})
    one.run.save(root / "branch", plots=False)
    return root


def test_two_runs_of_one_flight_are_identical(folders):
    """Whenever and wherever they were flown."""
    found = diff(folders / "good", folders / "again")
    assert found.is_same
    assert found.changes == ()
    assert found.first_difference is None
    assert found.first_live_difference is None
    assert found.largest_distance_m == 0.0
    assert (folders / "good" / "recording.h5").read_bytes() == (folders / "again" / "recording.h5").read_bytes()


def test_a_fault_is_found_at_its_microsecond(folders):
    """It is between two rows of the log."""
    found = diff(folders / "good", folders / "fault")
    assert not found.is_same
    assert found.first_difference is not None
    assert found.first_difference.time_us == 7_000_500
    assert found.first_difference.field == "faults.motor_weak_mask"
    assert (found.first_difference.first, found.first_difference.second) == (0, 1)
    assert [change.key for change in found.changes][-2:] == ["scenario.events[0].motor", "scenario.events[0].fraction"]


def test_a_gain_changes_setpoints_before_the_plant(folders):
    """Torque setpoints differ with the first rate setpoint; the plant follows at the next boundary with a command."""
    found = diff(folders / "good", folders / "gain")
    assert [str(change) for change in found.changes] == ["autopilot.params.MC_ROLLRATE_P = 0.17"]
    assert found.first_difference is not None
    assert found.first_difference.field.startswith("command.motors[")
    assert found.first_difference.time_us % 4_000 == 0  # a tick of the autopilot
    assert found.first_live_difference is not None
    assert found.first_live_difference.field.startswith("autopilot.")
    assert found.largest_distance_m is not None
    assert found.largest_distance_m > 0.0


def test_a_branch_differs_from_where_it_left_its_trunk(folders):
    """Its past is the trunk's."""
    found = diff(folders / "good", folders / "branch")
    assert found.first_difference is not None
    assert 6_000_000 < found.first_difference.time_us <= 6_010_000
    assert [change.key for change in found.changes] == ["airframe.mass_kg"]


def test_different_aircraft_have_different_states(folders):
    """States of different aircraft are not compared."""
    found = diff(folders / "good", folders / "octa")
    assert found.first_difference is not None
    assert found.first_difference.field == "states"
    assert found.first_difference.time_us == 0
    assert not found.is_same
    assert found.metrics["digest"][0] != found.metrics["digest"][1]


def test_the_result_is_available_as_json(folders):
    """With the documented keys."""
    said = json.loads(json.dumps(diff(folders / "good", folders / "fault").as_dict()))
    assert said["identical"] is False
    assert said["first_difference"]["time_us"] == 7_000_500
    assert said["metrics"]["duration_s"] == [14.0, 14.0]


def test_the_figure_has_both_flights(folders):
    """Track, nine panels and the distance, and a line at the first difference."""
    found = diff(folders / "good", folders / "fault")
    figure = found.plot()
    assert [axes.get_title("left") for axes in figure.axes] == [
        "Track over ground",
        "Height",
        "Speed over ground",
        "Tilt",
        "Heading",
        "Tracking error",
        "Mean motor command, smoothed",
        "Mean rotor speed, smoothed",
        "Battery current, smoothed",
        "Charge",
        "Distance between them",
    ]
    height = figure.axes[1]
    first, second, mark = (line.get_xydata() for line in height.lines)
    for drawn, log in ((first[:, 1], found.first.log), (second[:, 1], found.second.log)):  # thinned, with all extremes
        heights = -log["pos_ned"][:, 2]
        assert np.isin(drawn, heights).all()
        assert (drawn.min(), drawn.max()) == (heights.min(), heights.max())
    assert mark[0][0] == 7.0005


def test_distances_are_computed_at_common_times(folders):
    """Rows that only one log has are omitted."""
    log = diff(folders / "good", folders / "fault").first.log
    time_s, apart_m = distance_between(log, log)
    assert np.array_equal(time_s, log.time_s)
    assert not apart_m.any()


def test_an_incomplete_folder_is_an_error(folders, tmp_path):
    """The message names the missing file."""
    with pytest.raises(InputError, match="is not a run folder"):
        diff(folders / "good", tmp_path)
    (tmp_path / "recording.h5").write_bytes((folders / "good" / "recording.h5").read_bytes())
    with pytest.raises(InputError, match="has no log"):
        diff(folders / "good", tmp_path)
    (tmp_path / "log.parquet").write_bytes((folders / "good" / "log.parquet").read_bytes())
    with pytest.raises(InputError, match=r"^file not found: .*summary\.json$"):
        diff(folders / "good", tmp_path)


def test_a_key_that_only_one_spec_has_is_reported_as_absent():
    """In words, not as a value."""
    key = "autopilot.params.MPC_XY_P"
    plain, changed = (load_spec("x500", overrides) for overrides in ({}, {key: 1.5}))
    assert [str(change) for change in changes_between(changed, plain)] == [f"{key} is absent, was 1.5"]
    assert [str(change) for change in changes_between(plain, changed)] == [f"{key} = 1.5"]
