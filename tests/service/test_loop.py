"""The pace of a server."""

import math
import time
from contextlib import closing

import pytest
from mavlink_client import Served, own_served_instance

from px4lockstep.service.loop import ServiceLoop

BUSY = 4.0
"""Factor by which a step may take longer on a busy machine before a test fails."""


def wall_s(served, seconds, **options):
    """Return the wall-clock time of a simulated time."""
    start_s, end_us = time.perf_counter(), served.vehicle.time_us + round(1e6 * seconds)
    while served.vehicle.time_us < end_us:
        served.loop.step(**options)
    return time.perf_counter() - start_s


@pytest.mark.parametrize(("speed", "expected_s"), [(1.0, 0.4), (2.0, 0.2), (0.5, 0.8), (math.inf, 0.4)])
def test_a_server_keeps_its_pace_and_real_time_without_a_client(served, speed, expected_s):
    """The last row is `--speed max` with nobody connected."""
    served.loop.speed = speed
    wall_s(served, 0.05)
    assert 0.9 * expected_s - 0.06 < wall_s(served, 0.4) < BUSY * expected_s


def test_a_server_without_a_pace_runs_free_while_a_client_is_connected(served):
    """Until it has gone, which is noticed by the next heartbeat."""
    client = served.client()
    served.run(0.1)
    assert wall_s(served, 10.0) < 5.0
    client.socket.close()
    served.clients.clear()
    wall_s(served, 1.1)
    assert wall_s(served, 0.4) > 0.3


def test_time_that_somebody_waits_for_is_not_paced(served):
    assert wall_s(served, 10.0, until_us=served.vehicle.time_us + 11_000_000) < 5.0


def test_several_vehicles_run_free_if_one_has_a_client(served):
    """They share the clock."""
    with own_served_instance() as number, closing(Served(number)) as other:
        served.loop = ServiceLoop([served.endpoint, other.endpoint], math.inf)
        other.client()
        wall_s(served, 0.1)
        assert wall_s(served, 10.0) < 8.0
        assert other.vehicle.time_us == served.vehicle.time_us
