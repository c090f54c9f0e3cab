"""A served vehicle's links: rates, heartbeats, several clients, messages on request."""

import pytest
from mavlink_client import Served, own_served_instance

from px4lockstep.service.streams import RATES_HZ


@pytest.fixture(scope="module")
def instance():
    with own_served_instance() as number:
        yield number


@pytest.fixture
def served(instance):
    made = Served(instance)
    yield made
    made.close()


@pytest.mark.parametrize(("link", "column"), [("ground", 0), ("application", 1)])
def test_messages_come_at_the_rates_of_px4(served, link, column):
    """In simulated time over 20 s; a message more or less, for the beginning."""
    client = served.client(link)
    served.run(0.5)
    assert client.command(400, 1.0) == 0  # setpoints are sent while armed
    served.run(0.5)
    client.received.clear()
    served.run(8.0)
    counts = dict.fromkeys(RATES_HZ, 0)
    for message in client.received:
        counts[message.get_type()] = counts.get(message.get_type(), 0) + 1
    pymavlink_lacks = ("ESC_INFO", "ESC_STATUS")
    for name, rates in RATES_HZ.items():
        if name not in pymavlink_lacks:
            assert counts[name] == pytest.approx(8.0 * rates[column], abs=1.01 + 0.01 * 8.0 * rates[column]), name


def test_the_heartbeat_says_what_the_vehicle_is(served):
    beat = served.client().expect("HEARTBEAT")
    assert (beat.type, beat.autopilot, beat.base_mode, beat.system_status) == (2, 12, 29, 3)
    assert beat.custom_mode == 4 << 16 | 3 << 24
    assert (beat.get_srcSystem(), beat.get_srcComponent()) == (served.instance + 1, 1)
