"""Several vehicles and clients at once, floods, and clients that vanish: nothing dies, memory is flat.

Vehicles run in a process of their own, in wall-clock time.
"""

import os
import random
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from mavlink_client import own_served_instance
from served_processes import served_process
from wire_client import APPLICATION, GROUND, HOST, WireClient

from px4lockstep.service.endpoint import ports_of

pytestmark = pytest.mark.process

GROWTH_MB = 15.0
"""What Python may keep of a flood; 100,000 datagrams that are kept would be 50 MB."""


def resident_mb(process):
    """Return the memory of a process."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def flood(client, instances, count, seed=1):
    """Send random datagrams, of which many begin like frames, to all ports; read what comes meanwhile."""
    rng = random.Random(seed)
    ports = [port.bound for instance in instances for port in ports_of(instance)]
    for index in range(count):
        data = rng.randbytes(1 + index % 280)
        data = b"\xfd" + data if index % 3 else data
        client.socket.sendto(data, (HOST, ports[index % len(ports)]))
        if index % 200 == 0:
            client.read()


def latest_ms(client):
    """Return the vehicle's time: that of the first message after the answer to a new command."""
    assert client.command(512, 242.0) == 0
    return client.wait("ATTITUDE").time_boot_ms


def test_three_vehicles_and_five_clients_survive_garbage_and_a_client_that_vanishes(tmp_path):
    """Each vehicle is flown by its application; one of them goes without a word in the air."""
    with own_served_instance(3) as first, ExitStack() as stack:
        instances = range(first, first + 3)
        served = stack.enter_context(served_process(first, "--count", "3", "--speed", "5", record=tmp_path))
        applications = [stack.enter_context(WireClient(number)) for number in instances]
        station = stack.enter_context(WireClient(first, GROUND, 255))
        second = stack.enter_context(WireClient(first, APPLICATION, 246))
        for client in applications:
            client.take_off()
        before_mb = resident_mb(served.process)
        applications[2].socket.close()
        flood(station, instances, 6_000)
        assert station.command(512, 148.0) == 0
        assert second.command(512, 148.0) == 0
        with WireClient(first + 2) as successor:
            for client in (*applications[:2], successor):
                client.land()
        assert resident_mb(served.process) < before_mb + GROWTH_MB
        assert served.end() == 0
        assert served.output.count("x500: flown") == 3
        assert len(list(tmp_path.glob("*/*/recording.h5"))) == 3


@pytest.mark.slow
def test_a_hundred_thousand_random_datagrams_do_not_stop_a_flight(served_instance, tmp_path):
    """At real time: the vehicle keeps its pace, here half of it for a busy machine, and answers; memory is flat."""
    with (
        served_process(served_instance, "--speed", "1", record=tmp_path) as served,
        WireClient(served_instance) as client,
        WireClient(served_instance, GROUND, 255) as station,
    ):
        client.take_off()
        before_mb = resident_mb(served.process)
        start_s, start_ms = time.perf_counter(), client.wait("ATTITUDE").time_boot_ms
        for seed in range(20):
            flood(station, [served_instance], 5_000, seed)
            assert client.command(512, 148.0) == 0
        passed_s = (latest_ms(client) - start_ms) / 1e3
        assert passed_s > 0.5 * (time.perf_counter() - start_s)
        assert resident_mb(served.process) < before_mb + GROWTH_MB
        client.land()
        assert served.end() == 0
        assert "x500: flown" in served.output
