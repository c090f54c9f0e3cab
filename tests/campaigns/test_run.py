"""Campaigns have identical rows with one worker, with two, after a resume, and after workers are killed."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from typing import get_args

import pytest
from campaign_files import BROKEN, FILE, RUNS, rows, write_campaign

from px4lockstep.campaigns.file_tables import Accepted
from px4lockstep.campaigns.folder import CampaignFolder
from px4lockstep.campaigns.local import LocalExecutor
from px4lockstep.campaigns.results import parts_of
from px4lockstep.campaigns.run import fly_campaign, run_campaign
from px4lockstep.errors import InputError, SimulationError
from px4lockstep.flights import outcome

pytestmark = pytest.mark.process
forked = pytest.mark.usefixtures("forked_interpreters")
"""For tests that do not depend on how workers start; `flown` and the others have fresh interpreters."""

STOP = '[stop]\nof = "energy_wh"\nhalf_width = 0.05\nmin_runs = 4\n'


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    """Return the rows of the campaign flown by one worker, and its file."""
    folder = tmp_path_factory.mktemp("campaign")
    file = write_campaign(folder)
    run_campaign(file, workers=1, out=folder / "one")
    return rows(folder / "one"), file


def test_each_run_is_a_row_with_inputs_metrics_and_digest(flown):
    """Sorted by index."""
    found, _ = flown
    assert [row["index"] for row in found] == list(range(RUNS))
    sound = [row for row in found if row["index"] != BROKEN]
    assert len({row["digest"] for row in sound}) == len({row["seed"] for row in sound}) == RUNS - 1
    assert all(row["passed"] and row["energy_wh"] > 0.0 and row["error"] is None for row in sound)
    assert len({row["environment.wind_mean_ned[0]"] for row in found}) == RUNS


def test_a_run_with_a_failed_metric_is_a_row_with_the_error(flown):
    """The other metrics and the digest of the flight are kept."""
    row = flown[0][BROKEN]
    assert row["status"] == "error"
    assert "heights.py, line 5: ValueError: no height today" in row["error"]
    assert row["height_m"] is None
    assert row["energy_wh"] > 0.0
    assert row["passed"] is None
    assert row["digest"] is not None


@forked
@pytest.mark.parametrize(
    ("accept", "has_criteria", "passed"),
    [((), True, False), (("crashed",), True, True), (("landed away",), True, False), ((), False, None)],
)
def test_a_failed_flight_passes_only_if_its_outcome_is_accepted(accept, has_criteria, passed, tmp_path):
    """Regardless of its metrics: this one crashes and meets all criteria."""
    text = FILE.replace('["mission not finished"]', json.dumps(accept)).replace('"broken"', '"sound"')
    text = text.replace(f"runs = {RUNS}", "runs = 1").replace('t_end_s" = 4.0', 't_end_s" = 12.0')
    text = text.replace(
        "[[vary]]", '"scenario.events" = [{at_s = 6.0, action = "disable_motor", motor = 1}]\n\n[[vary]]', 1
    )
    criteria = '[[pass]]\nmetric = "energy_wh"\nat_least = 0.0\n' if has_criteria else ""
    run_campaign(write_campaign(tmp_path, text.partition("[[pass]]")[0] + criteria), workers=1, out=tmp_path / "out")
    [row] = rows(tmp_path / "out")
    assert (row["status"], row["passed"]) == ("crashed", passed)


def test_all_failed_outcomes_can_be_accepted():
    """Except a failed simulation, which is not an outcome of the flight, and an import, which no campaign flies."""
    words = {value for name, value in vars(outcome).items() if name.isupper() and isinstance(value, str)}
    words -= {*outcome.SUCCESSES, *outcome.ENDINGS, outcome.FAILED, outcome.IMPORTED}
    assert set(get_args(Accepted)) == words


def test_two_workers_give_bit_identical_rows(flown, tmp_path):
    found, file = flown
    result = run_campaign(file, workers=2, out=tmp_path / "two")
    assert rows(tmp_path / "two") == found
    assert result.is_complete
    assert result.flown == RUNS
    assert CampaignFolder.open(tmp_path / "two").is_complete


@forked
def test_a_resumed_campaign_flies_only_missing_runs(flown, tmp_path):
    """Stopped by the callback, then resumed with another number of workers."""
    found, file = flown
    out = tmp_path / "stopped"
    first = run_campaign(file, workers=2, out=out, watch=lambda progress: progress.done < 5)
    assert not first.is_complete
    assert 5 <= len(rows(out)) == first.flown < RUNS
    assert not CampaignFolder.open(out).is_complete
    second = run_campaign(out, workers=1, resume=True)
    assert second.is_complete
    assert second.flown == RUNS - first.flown
    assert rows(out) == found
    assert run_campaign(file, out=out, resume=True).flown == 0


def test_a_campaign_killed_and_resumed_has_identical_rows(flown, tmp_path):
    """The process and its workers exit at once; the parts already written are complete."""
    found, file = flown
    out = tmp_path / "killed"
    code = (
        f"from px4lockstep.campaigns.run import run_campaign; run_campaign({str(file)!r}, workers=2, out={str(out)!r})"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 120.0
    while len(parts_of(out / "results") if out.exists() else []) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert 3 <= len(rows(out)) < RUNS
    result = run_campaign(out, workers=2, resume=True)
    assert result.is_complete
    assert rows(out) == found


@forked
def test_a_killed_worker_costs_only_time(flown, tmp_path):
    """Its run is given to another worker."""
    found, file = flown
    folder = CampaignFolder.create(tmp_path / "lost", _campaign(file), "")
    with LocalExecutor(folder.campaign, 2) as executor:

        def kill_one(progress):
            if progress.done == 3:
                os.kill(executor._team[0].interpreter.process.pid, signal.SIGKILL)
            return True

        assert fly_campaign(folder, executor, kill_one).is_complete
    assert rows(tmp_path / "lost") == found


@forked
def test_workers_exit_with_the_campaign(tmp_path):
    folder = CampaignFolder.create(tmp_path / "ended", _campaign(write_campaign(tmp_path)), "")
    with LocalExecutor(folder.campaign, 2) as executor:
        fly_campaign(folder, executor, lambda progress: progress.done < 3)
        team = list(executor._team)
        assert len(team) == 2
    assert all(worker.interpreter.process.returncode is not None for worker in team)


def test_workers_exit_if_the_campaign_is_killed(tmp_path):
    """Their pipe is closed."""
    file, out = write_campaign(tmp_path), tmp_path / "alone"
    code = (
        "import sys; from px4lockstep.campaigns.run import fly_campaign, CampaignFolder, LocalExecutor, load_campaign\n"
        f"folder = CampaignFolder.create({str(out)!r}, load_campaign({str(file)!r}, 1000), '')\n"
        "with LocalExecutor(folder.campaign, 2) as executor:\n"
        "    def tell(progress):\n"
        "        if progress.done == 2: print(*(w.interpreter.process.pid for w in executor._team), flush=True)\n"
        "        return True\n"
        "    fly_campaign(folder, executor, tell)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    pids = [int(pid) for pid in process.stdout.readline().split()]
    process.kill()
    process.wait()
    process.stdout.close()
    assert len(pids) == 2
    deadline = time.monotonic() + 20.0
    while any(_is_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_is_alive(pid) for pid in pids)


@forked
def test_the_stop_rule_stops_at_the_same_run_for_any_number_of_workers(tmp_path):
    """A resume then flies nothing more."""
    file = write_campaign(tmp_path, FILE.replace('"broken"', '"sound"') + STOP)
    results = [run_campaign(file, workers=count, out=tmp_path / str(count)) for count in (1, 2)]
    after = {result.stopped_after for result in results}
    assert len(after) == 1
    assert 4 <= after.pop() < RUNS
    assert rows(tmp_path / "1") == rows(tmp_path / "2")
    assert len(rows(tmp_path / "1")) == results[0].stopped_after
    again = run_campaign(tmp_path / "1", resume=True)
    assert (again.flown, again.stopped_after, again.is_complete) == (0, results[0].stopped_after, True)


@forked
def test_a_metric_that_always_raises_is_an_error_before_the_first_run(tmp_path):
    """The rehearsal with the unmodified spec file finds it."""
    file = write_campaign(tmp_path)
    (tmp_path / "heights.py").write_text("def height(run):\n    return run.log['hight']\n", "utf-8")
    with pytest.raises(InputError, match=r"before the first run: metric 'height_m': heights\.py, line 2: InputError"):
        run_campaign(file, workers=1, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@forked
def test_a_changed_file_is_not_resumed(flown, tmp_path):
    """Including the file of a metric."""
    file = write_campaign(tmp_path)
    run_campaign(file, workers=1, out=tmp_path / "out", watch=lambda _: False)
    (tmp_path / "heights.py").write_text("def height(run):\n    return 1.0\n", "utf-8")
    with pytest.raises(InputError, match=r"has changed since the campaign in .* was started; resume the folder itself"):
        run_campaign(file, out=tmp_path / "out", resume=True)
    with pytest.raises(InputError, match="is not empty; a campaign needs a new or empty folder"):
        run_campaign(file, out=tmp_path / "out")


@pytest.mark.parametrize("workers", [0, -1, 100_000])
def test_the_number_of_workers_is_checked(workers, tmp_path):
    with pytest.raises(InputError, match=f"workers = {workers} is not allowed; it must be 1 to 1000"):
        run_campaign(write_campaign(tmp_path), workers=workers, out=tmp_path / "out")


@forked
def test_a_campaign_folder_is_self_contained(flown, tmp_path):
    """The plan is JSON with the aircraft and the user's function, and can be resumed elsewhere."""
    file = write_campaign(tmp_path)
    run_campaign(file, workers=1, out=tmp_path / "out", watch=lambda _: False)
    for path in (file, tmp_path / "heights.py"):
        path.unlink()
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    run_campaign(tmp_path / "elsewhere", workers=2, resume=True)
    assert rows(tmp_path / "elsewhere") == flown[0]
    assert (
        "def height(run)" in json.loads((tmp_path / "elsewhere" / "campaign.json").read_text())["sources"]["heights.py"]
    )


def test_a_metric_imports_from_its_folder_in_any_working_directory(tmp_path, monkeypatch):
    """A worker has the working directory of the command, which may not be the folder of the campaign file."""
    file = write_campaign(tmp_path)
    (tmp_path / "beside_heights.py").write_text("UP = -1.0\n", "utf-8")
    (tmp_path / "heights.py").write_text(
        "from beside_heights import UP\ndef height(run):\n    return UP * run.log['pos_ned'][-1, 2]\n", "utf-8"
    )
    (tmp_path / "away").mkdir()
    monkeypatch.chdir(tmp_path / "away")
    assert run_campaign(file, runs=2, workers=1, out="out").is_complete
    assert [row["error"] for row in rows(tmp_path / "away" / "out")] == [None, None]


def test_a_worker_imports_nothing_from_the_working_directory(tmp_path, monkeypatch):
    """A file there may have the name of a standard module."""
    (tmp_path / "random.py").write_text("raise RuntimeError('not this one')\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert run_campaign(write_campaign(tmp_path), runs=1, workers=1, out="out").is_complete


@forked
def test_a_run_that_kills_its_worker_each_time_is_a_row(tmp_path):
    """Also without a signal; the other runs are flown."""
    file = write_campaign(tmp_path)
    (tmp_path / "heights.py").write_text(
        "import os\ndef height(run):\n    return os._exit(3) if run.spec.aircraft.name == 'broken' else 1.0\n", "utf-8"
    )
    assert run_campaign(file, workers=2, out=tmp_path / "out").is_complete
    errors = {row["index"]: row["error"] for row in rows(tmp_path / "out") if row["error"] is not None}
    assert list(errors) == [BROKEN]
    assert errors[BROKEN].startswith("its worker exited with code 3, 2 times; to investigate, fly it alone")


def test_workers_leave_nothing_behind(tmp_path, monkeypatch):
    """Including workers that unpacked a mission."""
    (tmp_path / "own.waypoints").write_text(
        "QGC WPL 110\n0 1 3 22 0 0 0 0 47.397742 8.545594 5 1\n1 0 3 21 0 0 0 0 47.397742 8.545594 0 1\n"
    )
    text = FILE.replace('"plant.int', '"px4.mission_path" = "own.waypoints"\n"plant.int')
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    assert run_campaign(write_campaign(tmp_path, text), runs=2, workers=2, out=tmp_path / "out").is_complete
    assert list((tmp_path / "temporary").iterdir()) == []


def test_too_many_workers_for_the_system_are_an_error_with_a_remedy(tmp_path, monkeypatch):
    """Here it runs out of file descriptors."""

    def no_more(*_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("px4lockstep.campaigns.local.Pipe", no_more)
    with pytest.raises(SimulationError, match="can't start a worker: Too many open files; use fewer --workers"):
        run_campaign(write_campaign(tmp_path), workers=1, out=tmp_path / "out")


@forked
def test_two_processes_can_not_fly_the_same_folder(tmp_path):
    """They would write the same parts."""
    folder = CampaignFolder.create(tmp_path / "out", _campaign(write_campaign(tmp_path)), "")
    with (
        folder.flown_alone(),
        pytest.raises(InputError, match="is locked by another process that is flying it; wait for it"),
    ):
        run_campaign(tmp_path / "out", workers=1, resume=True)
    assert run_campaign(tmp_path / "out", workers=1, resume=True).is_complete


def test_a_folder_that_is_not_empty_is_refused_before_anything_is_flown(tmp_path, monkeypatch):
    """A rehearsal with real PX4 may take a minute."""
    monkeypatch.setattr("px4lockstep.campaigns.run.rehearse", lambda _: pytest.fail("it was rehearsed"))
    with pytest.raises(InputError, match="is not empty; a campaign needs a new or empty folder"):
        run_campaign(write_campaign(tmp_path), out=tmp_path)
    with pytest.raises(InputError, match=r"can't create the campaign folder .*small\.toml: Not a directory"):
        run_campaign(write_campaign(tmp_path), out=tmp_path / "small.toml")


def test_waiting_for_workers_can_be_stopped(tmp_path):
    """An executor without workers yields None; the callback is asked, and the campaign stays incomplete."""

    class NoWorkers:
        asked = 0

        def rows(self, jobs):
            next(jobs)
            while True:
                self.asked += 1
                yield None

    folder, executor = CampaignFolder.create(tmp_path / "out", _campaign(write_campaign(tmp_path)), ""), NoWorkers()
    seen = []
    result = fly_campaign(folder, executor, lambda progress: seen.append(progress.done) or len(seen) < 3)
    assert (result.flown, result.is_complete, executor.asked, seen) == (0, False, 3, [0, 0, 0])


def _campaign(file):
    from px4lockstep.campaigns.load import load_campaign

    return load_campaign(file)


def _is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
