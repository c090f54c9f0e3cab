"""Flight logs that are not part of the repository: tests that need one are skipped where it is absent."""

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).parents[3] / "shared" / "ulog"
"""The folder of logs beside the repository."""


def flight_log(name):
    """Return the path of a log in the folder PX4LOCKSTEP_TEST_LOGS, or beside the repository; skip without it."""
    path = Path(os.environ.get("PX4LOCKSTEP_TEST_LOGS", BESIDE)) / name
    if not path.is_file():
        pytest.skip(f"no flight log {name}")
    return path
