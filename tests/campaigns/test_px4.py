"""Campaigns with PX4's library, here its test double: one process per run, and a crash becomes a row."""

import pytest
from campaign_files import FILE, rows, write_campaign
from px4_double import OPTIONS, build_double

from px4lockstep.campaigns.run import run_campaign
from px4lockstep.errors import InputError

pytestmark = pytest.mark.process

RUNS = 5


def write(folder, library=None):
    """Write a campaign of the double; return its path."""
    path = build_double() if library is None else library
    text = FILE.replace("runs = 12", f"runs = {RUNS}").replace(
        '"plant.integrator" = "RK4"', f'"plant.integrator" = "RK4"\n"autopilot.kind" = "px4"\n"px4.libpath" = "{path}"'
    )
    return write_campaign(folder, text)


def test_each_run_has_its_own_px4_and_two_workers_give_identical_rows(tmp_path):
    """The library can be loaded only once per process."""
    file = write(tmp_path)
    for workers in (1, 2):
        assert run_campaign(file, workers=workers, out=tmp_path / str(workers)).is_complete
    found = rows(tmp_path / "1")
    assert rows(tmp_path / "2") == found
    assert [row["error"] for row in found] == [None] * RUNS
    assert len({row["digest"] for row in found}) == RUNS
    assert all(row["height_m"] > 0.5 for row in found)


@pytest.mark.usefixtures("forked_interpreters")
def test_a_crash_of_the_library_becomes_a_row(tmp_path, monkeypatch):
    """Here in every flight after the rehearsal."""
    file = write(tmp_path)
    run_campaign(file, workers=1, out=tmp_path / "out", watch=lambda progress: progress.done < 2)
    sound = rows(tmp_path / "out")
    assert 2 <= len(sound) < RUNS
    monkeypatch.setenv(OPTIONS, "signal=11@100")
    from px4lockstep.campaigns.folder import CampaignFolder
    from px4lockstep.campaigns.local import LocalExecutor
    from px4lockstep.campaigns.run import fly_campaign

    folder = CampaignFolder.open(tmp_path / "out")
    with LocalExecutor(folder.campaign, 2) as executor:
        assert fly_campaign(folder, executor).is_complete
    crashed = rows(tmp_path / "out")[len(sound) :]
    assert crashed
    assert all(row["status"] == "error" and "PX4's library crashed: SIGSEGV" in row["error"] for row in crashed)
    assert rows(tmp_path / "out")[: len(sound)] == sound


def test_a_missing_library_is_an_error_before_the_first_run(tmp_path):
    """With its path."""
    with pytest.raises(InputError, match=r"before the first run: .*gone\.so"):
        run_campaign(write(tmp_path, tmp_path / "gone.so"), workers=1, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
