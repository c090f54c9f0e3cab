"""Served vehicles in this process."""

import pytest
from mavlink_client import Served, own_served_instance


@pytest.fixture(scope="session")
def served_instance():
    """Reserve an instance number of served vehicles for this test process."""
    with own_served_instance() as number:
        yield number


@pytest.fixture
def served(served_instance):
    """Serve a vehicle."""
    made = Served(served_instance)
    yield made
    made.close()


@pytest.fixture
def client(served):
    """Return an application that is connected to the vehicle."""
    return served.client()
