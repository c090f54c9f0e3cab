"""Campaigns on a Dask cluster: processes, one of which is killed, make the same rows as a worker of this machine."""

import os
import signal
import subprocess
import sys

import pytest
from campaign_files import RUNS, rows, write_campaign

from px4lockstep.campaigns.dask_cluster import DaskExecutor
from px4lockstep.campaigns.folder import CampaignFolder
from px4lockstep.campaigns.load import load_campaign
from px4lockstep.campaigns.run import fly_campaign, run_campaign
from px4lockstep.errors import InputError

pytestmark = pytest.mark.process

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    """Start two worker processes."""
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as made:
        yield made


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """Return the rows that a worker of this machine makes, and where the file is."""
    folder = tmp_path_factory.mktemp("local")
    file = write_campaign(folder)
    run_campaign(file, workers=1, out=folder / "out")
    return rows(folder / "out"), file


def test_two_workers_of_which_one_is_killed_make_the_same_rows(cluster, local, tmp_path):
    """In the middle, while it flies; the scheduler gives its run to the other, and the cluster starts a new one."""
    found, file = local
    folder = CampaignFolder.create(tmp_path / "out", load_campaign(file), "")
    with distributed.Client(cluster) as client, DaskExecutor(folder.campaign, cluster.scheduler_address, 2) as executor:
        pids = client.run(os.getpid)
        assert len(pids) == 2
        killed = []

        def kill_one(progress):
            if progress.done >= 3 and not killed:
                killed.append(next(iter(pids.values())))
                os.kill(killed[0], signal.SIGKILL)
            return True

        result = fly_campaign(folder, executor, kill_one)
        assert killed
        client.wait_for_workers(2, timeout=60)
        assert killed[0] not in client.run(os.getpid).values()
    assert result.is_complete
    assert result.flown == RUNS
    assert rows(tmp_path / "out") == found


def test_a_scheduler_is_found_by_its_address(cluster, local, tmp_path):
    """Stopped on the way, and resumed by workers of this machine."""
    found, file = local
    out = tmp_path / "out"
    address = cluster.scheduler_address
    first = run_campaign(file, engine="dask", scheduler=address, out=out, watch=lambda progress: progress.done < 4)
    assert 4 <= first.flown < RUNS
    assert run_campaign(out, workers=1, resume=True).is_complete
    assert rows(out) == found


def test_without_an_address_a_cluster_is_started_here_and_ends(local, tmp_path):
    """By the command line, in a process of its own."""
    found, file = local
    out = tmp_path / "out"
    command = [sys.executable, "-m", "px4lockstep", "campaign", "run", str(file), "--out", str(out)]
    ended = subprocess.run(
        [*command, "--engine", "dask", "--workers", "2", "--no-plots", "--json"], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    assert rows(out) == found


def test_no_scheduler_is_an_error_with_a_remedy(tmp_path):
    """Within seconds, and nothing is left."""
    with pytest.raises(InputError, match=r"there is no Dask scheduler at tcp://127\.0\.0\.1:1: .*dask scheduler"):
        run_campaign(write_campaign(tmp_path), engine="dask", scheduler="tcp://127.0.0.1:1", out=tmp_path / "out")


def test_without_dask_it_says_what_to_install(tmp_path, monkeypatch):
    """The extra of this package."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"which is not installed: pip install 'px4lockstep\[dask\]'"):
        run_campaign(write_campaign(tmp_path), engine="dask", out=tmp_path / "out")


def test_a_scheduler_without_dask_is_a_mistake(tmp_path):
    """It would do nothing."""
    with pytest.raises(InputError, match="a scheduler is Dask's; use --engine dask with it"):
        run_campaign(write_campaign(tmp_path), scheduler="tcp://127.0.0.1:1", out=tmp_path / "out")
