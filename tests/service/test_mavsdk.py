"""Applications with MAVSDK 3: the flows of `mavsdk_flows`, with a vehicle in a fresh process."""

import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from mavlink_client import own_served_instance
from served_processes import address_of, end_client, free_tcp_port, run_client, run_flows, served_process, start_flows

from px4lockstep.flights.saved import read_run
from px4lockstep.service.endpoint import ports_of

pytestmark = pytest.mark.process

BLOCK = re.compile(r"^```py\n(.*?)^```", re.MULTILINE | re.DOTALL)


def check_ports_are_free(instance):
    for ports in ports_of(instance):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as again:
            again.bind(("127.0.0.1", ports.bound))


def test_connect_takeoff_land_and_parameters(served_instance, tmp_path):
    """Flows 1, 2 and 8. Afterwards Ctrl-C ends the service with a run folder, and its ports are free."""
    with served_process(served_instance, "--speed", "5", record=tmp_path / "runs") as served:
        output = run_flows(served, "health", "takeoff_and_land", "parameters")
        assert served.end() == 0
    assert json.loads(output.splitlines()[-1])["connected_s"] < 10.0
    assert "x500: flown" in served.output
    check_ports_are_free(served_instance)
    (folder,) = (tmp_path / "runs").iterdir()
    run = read_run(folder)
    assert run.summary["outcome"] == "flown"


def test_a_mission_with_progress(served_instance):
    """Flow 3, at 10 times real time."""
    with served_process(served_instance, "--speed", "10") as served:
        run_flows(served, "mission")


def test_offboard_positions_and_velocities(served_instance):
    """Flow 6, at 5 times real time."""
    with served_process(served_instance, "--speed", "5") as served:
        run_flows(served, "offboard")


def test_the_example_of_the_guide_runs_as_printed(served_instance, tmp_path):
    """As pytest runs it in a project, but with ports of its own: other tests have those of the first vehicle."""
    page = Path(__file__).parents[2] / "docs" / "howto" / "serve.md"
    [example] = [text for text in BLOCK.findall(page.read_text("utf-8")) if "import mavsdk" in text]
    assert len([line for line in example.splitlines() if line.strip()]) <= 20
    ports = {
        'serve("x500", ': f'serve("x500", instance={served_instance}, ',
        "System()": f"System(port={free_tcp_port()})",
        "vehicle.address": f'"{address_of(served_instance)}"',
    }
    for printed, own in ports.items():
        assert printed in example
        example = example.replace(printed, own)
    (tmp_path / "test_app.py").write_text(example, "utf-8")
    assert "1 passed" in run_client("-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path / "test_app.py")


@pytest.mark.slow
def test_mission_control_guided_flight_fence_and_refusals(served_instance):
    """Flows 4, 5 and 9."""
    with served_process(served_instance, "--speed", "2") as served:
        run_flows(served, "mission_control")
        run_flows(served, "guided")
        run_flows(served, "fence", "refusals")


@pytest.mark.slow
@pytest.mark.parametrize("speed", ["1", "5", "10", "max"])
def test_flows_at_real_time_and_faster(served_instance, speed):
    """Flow 12: 2, 3 and 6 at 1, 5 and 10 times real time, and without a pace."""
    for flow in ("takeoff_and_land", "mission", "offboard"):
        with served_process(served_instance, "--speed", speed) as served:
            run_flows(served, flow)


@pytest.mark.slow
def test_mavsdk_4_flies_offboard_and_a_mission(served_instance, tmp_path):
    """Flow 10, in an environment of its own: MAVSDK 3 and 4 have the same name."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=300)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "mavsdk>=4,<5"], check=True, timeout=600)
    flow = Path(__file__).parents[1] / "support" / "mavsdk_4_flow.py"
    with served_process(served_instance, "--speed", "5") as served:
        assert "flown" in run_client(flow, served.address, python=str(python))


@pytest.mark.slow
def test_two_vehicles_of_one_command_fly_at_once():
    """Flow 12: each is flown by its own application."""
    with own_served_instance(2) as first, served_process(first, "--speed", "2", "--count", "2") as served:
        clients = [start_flows(address_of(first + i), "takeoff_and_land") for i in range(2)]
        for client in clients:
            end_client(*client)
        assert served.end() == 0
        assert served.output.count("x500: flown") == 2
