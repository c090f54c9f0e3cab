"""`px4lockstep serve`: options, several vehicles, and its end."""

import json
import os
import signal
import socket
import sys
import tempfile
import time

import pytest
from commands import run_command
from mavlink_client import own_served_instance
from pymavlink.dialects.v20 import development
from served_processes import served_process
from wire_client import GROUND, WireClient

import px4lockstep.cli.serve
from px4lockstep import InputError
from px4lockstep.io import temporary_folder
from px4lockstep.scenario.commands import Arm, Land, Takeoff
from px4lockstep.service.endpoint import ports_of
from px4lockstep.service.vehicle import Vehicle

WAIT_S = 60.0


@pytest.fixture(scope="module")
def instance():
    """Reserve two, because a wrong option asks for two vehicles."""
    with own_served_instance(2) as number:
        yield number


def heartbeat_of(instance, wait_s=WAIT_S):
    """Return the system ID in a vehicle's heartbeat, as a client hears it that sends to the vehicle's port."""
    mav = development.MAVLink(None, 245, 190)
    mav.robust_parsing = True
    beat = bytes(mav.heartbeat_encode(6, 8, 0, 0, 4).pack(mav))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(0.5)
        end_s = time.perf_counter() + wait_s
        while time.perf_counter() < end_s:
            client.sendto(beat, ("127.0.0.1", ports_of(instance)[1].bound))
            try:
                for message in mav.parse_buffer(bytearray(client.recv(65_536))) or []:
                    if message.get_type() == "HEARTBEAT" and message.get_srcComponent() == 1:
                        return message.get_srcSystem()
            except (TimeoutError, ConnectionRefusedError):
                continue
    raise AssertionError("no heartbeat")


def check_ports_are_free(instance):
    for ports in ports_of(instance):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as again:
            again.bind(("127.0.0.1", ports.bound))


def check_is_gone(process):
    """Check that no process of a command is left; it is the leader of its group."""
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_service_with_summary_and_run_folder(instance, tmp_path, number):
    with served_process(instance, record=tmp_path) as served:
        assert heartbeat_of(instance) == instance + 1
        assert served.end(number) == 0
    check_ports_are_free(instance)
    assert "x500: nothing asked" in served.output
    (folder,) = tmp_path.iterdir()
    assert {"recording.h5", "log.parquet", "summary.json", "spec.toml"} <= {*os.listdir(folder)}


def test_a_kill_leaves_no_port_and_the_commands(instance, tmp_path):
    with served_process(instance, record=tmp_path) as served, WireClient(instance) as client:
        assert client.command(400, 1.0) == 0
        served.process.kill()
        served.process.wait(WAIT_S)
        check_ports_are_free(instance)
        check_is_gone(served.process)
    (folder,) = tmp_path.iterdir()
    assert "Arm" in (folder / "commands.jsonl").read_text("utf-8")
    assert (folder / "INCOMPLETE").exists()


def test_the_files_of_a_killed_service_are_removed_by_the_next_one(instance, tmp_path, monkeypatch):
    """Without a recording, the log of the flight is in a temporary folder; one that is in use stays."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with served_process(instance) as served:
        heartbeat_of(instance)
        served.process.kill()
        served.process.wait(WAIT_S)
    [left] = tmp_path.iterdir()
    with served_process(instance) as first:
        heartbeat_of(instance)
        [used] = tmp_path.iterdir()
        assert used != left
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        with temporary_folder() as own:
            assert {*tmp_path.iterdir()} == {used, own}
        assert first.end() == 0
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_service_in_flight_and_leaves_no_process(instance, tmp_path, number):
    """With two clients, one of which listens."""
    with (
        served_process(instance, "--speed", "max", record=tmp_path) as served,
        WireClient(instance) as client,
        WireClient(instance, GROUND, 255) as station,
    ):
        station.wait("HEARTBEAT")
        client.take_off()
        assert served.end(number) == 0
        check_is_gone(served.process)
        check_ports_are_free(instance)
    (folder,) = tmp_path.iterdir()
    assert (folder / "recording.h5").exists()
    assert not (folder / "INCOMPLETE").exists()


def test_two_vehicles_are_served_by_one_command():
    with own_served_instance(2) as first, served_process(first, "--count", "2") as served:
        assert [heartbeat_of(first + i) for i in range(2)] == [first + 1, first + 2]
        assert served.end() == 0
        assert served.output.count("x500: nothing asked") == 2


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--speed", "fast"], "--speed fast must be a number from 0.01 to 10000, or max"),
        (["--speed", "0"], "--speed 0 must be a number from 0.01 to 10000, or max"),
        (["--count", "0"], "there must be at least one vehicle"),
        (["--instance", "5000"], "instances must be 0 to 200"),
        (["--record", "runs", "--no-record"], "--record and --no-record exclude each other"),
        (["--set", "autopilot.kind=none"], "can't be served"),
        (
            ["--set", "autopilot.kind=px4", "--count", "2"],
            "flies one vehicle per process; start 2, each with --instance",
        ),
        (["--host", "256.1.1.1"], "can't open UDP port"),
    ],
)
def test_wrong_options_are_errors(instance, tmp_path, options, text):
    finished = run_command("serve", "x500", "--instance", str(instance), *options, cwd=tmp_path)
    assert finished.returncode in (1, 2)
    assert text in finished.stderr
    assert "Traceback" not in finished.stderr


def test_a_port_in_use_is_an_error_that_names_it(instance, tmp_path):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", ports_of(instance)[0].bound))
        finished = run_command("serve", "x500", "--instance", str(instance), cwd=tmp_path)
    assert finished.returncode == 2
    assert list(tmp_path.iterdir()) == []
    assert f"UDP port {ports_of(instance)[0].bound} is in use" in finished.stderr
    assert "--instance" in finished.stderr


def test_a_viewer_that_cannot_start_is_an_error_before_anything_is_written(instance, tmp_path, monkeypatch):
    """Such as without viser."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(InputError, match="the viewer needs viser"):
        px4lockstep.cli.serve.serve_spec("x500", False, "1", instance, 1, "127.0.0.1", False, True, False)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_served_flight_is_flown_again_with_its_commands(tmp_path):
    """By `run`: to the same digest, and with the same verdict."""
    vehicle = Vehicle("x500", record=tmp_path)
    for command, seconds in ((Arm(), 1), (Takeoff(), 8), (Land(), 12)):
        vehicle.submit(command)
        vehicle.run_until(vehicle.time_us + 1_000_000 * seconds)
    vehicle.close()
    (folder,) = vehicle.folders
    again = run_command("run", str(folder), "--no-plots", "--out", "again", "--json", cwd=tmp_path)
    flown = json.loads(again.stdout)
    assert (flown["digest"], flown["outcome"]) == (vehicle.last_run.digest, "flown")
    assert (tmp_path / "again" / "commands.jsonl").exists()
