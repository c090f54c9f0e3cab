"""Ports and instances of stock PX4: a client of the API beside a flight, and ports that are in use."""

import socket

import pytest
from px4_sitl_double import make_flight
from pymavlink.dialects.v20 import common

from px4lockstep.errors import SimulationError
from px4lockstep.scenario.scenario import Scenario

SHORT = {"end_s": 0.1, "boot_s": 0.3, "mission": None, "scenario": Scenario()}
"""No flight: just until PX4 starts to answer."""


def fly(simulation):
    try:
        simulation.run()
    finally:
        simulation.close()


def test_a_client_on_the_api_port_is_not_disturbed(sitl_build, tmp_path, sitl_instance):
    """MAVSDK listens on UDP 14540 + N; it gets heartbeats, and the flight uses its instance."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind(("127.0.0.1", 14540 + sitl_instance))
        simulation, sitl = make_flight(sitl_build, tmp_path, **SHORT, instance=sitl_instance)
        fly(simulation)
        client.settimeout(20.0)
        [heard] = common.MAVLink(None).parse_buffer(client.recv(65536))
    assert heard.get_type() == "HEARTBEAT"
    assert sitl.note is None


def test_the_next_instance_is_not_used_silently(sitl_build, tmp_path):
    """The note names the port, which another program has."""
    simulation, sitl = make_flight(sitl_build, tmp_path / "one", **SHORT)
    simulation.run(50_000)
    second, other = make_flight(sitl_build, tmp_path / "two", **SHORT)
    try:
        second.run(50_000)
        used = f"using PX4 instance {other.instance}: UDP port {14280 + other.instance - 1} is in use by another flight"
        assert second.autopilot.note.startswith(used)
    finally:
        simulation.close()
        second.close()
    assert other.instance > sitl.instance


def test_an_instance_in_use_is_an_error(sitl_build, tmp_path, sitl_instance):
    """Another simulator uses it; without a given instance, the next free one is used."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", 4560 + sitl_instance))
        other.listen(1)
        simulation, _ = make_flight(sitl_build, tmp_path, instance=sitl_instance)
        with pytest.raises(SimulationError) as caught:
            fly(simulation)
        error = str(caught.value)
        assert error.startswith(f"TCP port {4560 + sitl_instance} is in use, and PX4 instance {sitl_instance} needs it")
        assert "choose another px4.sitl.instance" in error
