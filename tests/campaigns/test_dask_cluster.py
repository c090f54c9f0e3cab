"""Campaigns on a Dask cluster: identical rows, lost workers, missing workers, TLS."""

import os
import shutil
import signal
import subprocess
import sys

import pytest
from campaign_files import RUNS, rows, write_campaign

from px4lockstep.campaigns import dask_cluster
from px4lockstep.campaigns.dask_cluster import DaskExecutor, TlsFiles, _WorkerNotice
from px4lockstep.campaigns.folder import CampaignFolder
from px4lockstep.campaigns.load import load_campaign
from px4lockstep.campaigns.run import fly_campaign, run_campaign
from px4lockstep.errors import InputError

pytestmark = pytest.mark.process

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    """Start two worker processes."""
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as made:
        yield made


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """Return the rows of a local worker, and the campaign file."""
    folder = tmp_path_factory.mktemp("local")
    file = write_campaign(folder)
    run_campaign(file, workers=1, out=folder / "out")
    return rows(folder / "out"), file


def test_a_killed_worker_does_not_change_the_rows(cluster, local, tmp_path):
    """The scheduler gives its run to the other worker, and the cluster starts a new one."""
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


def test_a_campaign_on_a_remote_scheduler_can_be_resumed_locally(cluster, local, tmp_path):
    """Stopped by the callback, and resumed by local workers."""
    found, file = local
    out = tmp_path / "out"
    address = cluster.scheduler_address
    first = run_campaign(file, engine="dask", scheduler=address, out=out, watch=lambda progress: progress.done < 4)
    assert 4 <= first.flown < RUNS
    assert run_campaign(out, workers=1, resume=True).is_complete
    assert rows(out) == found


def test_without_an_address_a_local_cluster_is_started_and_stopped(local, tmp_path):
    """From the command line."""
    found, file = local
    out = tmp_path / "out"
    command = [sys.executable, "-m", "px4lockstep", "campaign", "run", str(file), "--out", str(out)]
    ended = subprocess.run(
        [*command, "--engine", "dask", "--workers", "2", "--no-plots", "--json"], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    assert rows(out) == found


def test_an_unreachable_scheduler_is_an_error_with_a_remedy(tmp_path, monkeypatch):
    """After a timeout, and no files are left."""
    monkeypatch.setattr(dask_cluster, "TIMEOUT_S", 1.0)
    with pytest.raises(
        InputError, match=r"can't connect to a Dask scheduler at tcp://127\.0\.0\.1:1: .*dask scheduler"
    ):
        run_campaign(write_campaign(tmp_path), engine="dask", scheduler="tcp://127.0.0.1:1", out=tmp_path / "out")


def test_a_missing_dask_is_an_error_with_the_extra_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"which is not installed: pip install 'px4lockstep\[dask\]'"):
        run_campaign(write_campaign(tmp_path), engine="dask", out=tmp_path / "out")


def test_a_scheduler_requires_the_engine_dask(tmp_path):
    """It would have no effect otherwise."""
    with pytest.raises(InputError, match="a scheduler requires the engine dask; add --engine dask"):
        run_campaign(write_campaign(tmp_path), scheduler="tcp://127.0.0.1:1", out=tmp_path / "out")


# -- without workers ---------------------------------------------------------------------------------------------------


def test_a_scheduler_without_workers_is_reported_after_10_s_and_every_30_s(capsys):
    """Until a worker appears; if all are lost, the time starts again."""
    notice, printed = _WorkerNotice("tcp://host:8786"), []
    for now_s in range(100):
        notice.seen(0 if now_s < 80 else 1, float(now_s))
        if capsys.readouterr().err:
            printed.append(now_s)
    assert printed == [10, 40, 70]
    for now_s in range(100, 111):
        assert not notice.seen(0, float(now_s))
    assert capsys.readouterr().err == (
        "the Dask scheduler at tcp://host:8786 has no workers; start one with `dask worker tcp://host:8786`, or press "
        "Ctrl-C to stop\n"
    )


@pytest.fixture
def empty_cluster():
    """Start a scheduler without workers."""
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as made:
        yield made


def test_ctrl_c_stops_waiting_for_workers(empty_cluster, tmp_path):
    """From the command line, after the notice, which is printed early here."""
    code = (
        "from px4lockstep.campaigns import dask_cluster; dask_cluster.NOTICE_S = 1.0\n"
        "from px4lockstep.cli import main; main()"
    )
    arguments = ["campaign", "run", str(write_campaign(tmp_path)), "--engine", "dask", "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments, "--scheduler", empty_cluster.scheduler_address],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        notice = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    assert f"has no workers; start one with `dask worker {empty_cluster.scheduler_address}`" in notice
    assert "Traceback" not in rest
    assert process.returncode == 128 + signal.SIGINT
    assert not (tmp_path / "out").exists()


def test_workers_that_appear_later_fly_the_campaign(empty_cluster, local, tmp_path, monkeypatch, capsys):
    """And while all are lost, the callback is still called."""
    monkeypatch.setattr(dask_cluster, "NOTICE_S", 0.5)
    monkeypatch.setattr(dask_cluster, "CHECK_S", 0.2)
    folder = CampaignFolder.create(tmp_path / "out", load_campaign(local[1]), "")
    asked = []

    def start_one(progress):
        asked.append(progress.done)
        if len(asked) == 10:
            empty_cluster.scale(1)
        return progress.done < 2

    with DaskExecutor(folder.campaign, empty_cluster.scheduler_address, 1) as executor:
        result = fly_campaign(folder, executor, start_one)
    assert asked[:10] == [0] * 10
    assert "has no workers" in capsys.readouterr().err
    assert 2 <= result.flown < RUNS
    assert rows(tmp_path / "out") == [row for row in local[0] if row["index"] < result.flown]


# -- TLS ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Return CA certificate, certificate and key, made by OpenSSL."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl")
    folder = tmp_path_factory.mktemp("tls")

    def run(*arguments):
        subprocess.run([openssl, *map(str, arguments)], check=True, capture_output=True, cwd=folder)

    new = ("-newkey", "rsa:2048", "-nodes", "-days", "2")
    run("req", "-x509", *new, "-subj", "/CN=test CA", "-keyout", "ca.key", "-out", "ca.pem")
    run("req", *new[:3], "-subj", "/CN=localhost", "-keyout", "own.key", "-out", "own.csr")
    signed_by = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial")
    run("x509", "-req", "-days", "2", "-in", "own.csr", *signed_by, "-out", "own.pem")
    return TlsFiles(folder / "ca.pem", folder / "own.pem", folder / "own.key")


def test_a_campaign_is_flown_by_a_scheduler_with_tls(certificates, local, tmp_path):
    """By run_campaign; without the certificates it does not connect."""
    ca, cert, key = (str(path) for path in (certificates.ca, certificates.cert, certificates.key))
    security = distributed.Security(
        tls_ca_file=ca,
        require_encryption=True,
        **{
            f"tls_{role}_{part}": path
            for role in ("scheduler", "worker", "client")
            for part, path in (("cert", cert), ("key", key))
        },
    )
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        dashboard_address=":0",
        silence_logs=50,
        protocol="tls://",
        security=security,
    ) as made:
        address, out = made.scheduler_address, tmp_path / "out"
        assert address.startswith("tls://")
        flown = run_campaign(
            local[1],
            engine="dask",
            scheduler=address,
            tls_ca=ca,
            tls_cert=cert,
            tls_key=key,
            out=out,
            watch=lambda progress: progress.done < 2,
        )
    assert 2 <= flown.flown < RUNS
    assert rows(out) == [row for row in local[0] if row["index"] < flown.flown]


def test_tls_files_are_passed_to_dask(certificates):
    security = certificates.security("tls://host:8786")
    assert security.require_encryption
    assert security.tls_ca_file == str(certificates.ca)
    assert security.tls_client_cert == str(certificates.cert)
    assert security.tls_client_key == str(certificates.key)
    assert TlsFiles().security("tcp://host:8786") is None
    assert TlsFiles().security(None) is None


def test_tls_certificates_of_the_dask_configuration_are_used(certificates):
    """As for other Dask clients."""
    dask = pytest.importorskip("dask")
    files = {"ca-file": certificates.ca, "client.cert": certificates.cert, "client.key": certificates.key}
    with dask.config.set({f"distributed.comm.tls.{name}": str(path) for name, path in files.items()}):
        security = TlsFiles().security("tls://host:8786")
    assert security.tls_client_cert == str(certificates.cert)


def test_missing_or_invalid_tls_files_are_errors_with_a_remedy(certificates, tmp_path):
    ca, cert, key = certificates.ca, certificates.cert, certificates.key
    with pytest.raises(InputError, match=r"tls://h:1 needs TLS certificates; add --tls-ca, --tls-cert, --tls-key"):
        TlsFiles().security("tls://h:1")
    with pytest.raises(InputError, match=r"tls://h:1 needs TLS certificates; add --tls-key \(PEM files\)"):
        TlsFiles(ca, cert).security("tls://h:1")
    with pytest.raises(InputError, match=r"--tls-ca: file not found: .*gone\.pem"):
        TlsFiles(tmp_path / "gone.pem", cert, key).security("tls://h:1")
    with pytest.raises(InputError, match=r"can't load the TLS certificates .*; they must be PEM files"):
        TlsFiles(ca, cert, write_campaign(tmp_path)).security("tls://h:1")
    with pytest.raises(InputError, match=r"--scheduler tcp://h:1 is not encrypted, but TLS certificates are given"):
        certificates.security("tcp://h:1")
    with pytest.raises(InputError, match=r"TLS certificates are for a remote scheduler; add --engine dask"):
        run_campaign(write_campaign(tmp_path), tls_ca=ca, tls_cert=cert, tls_key=key)
