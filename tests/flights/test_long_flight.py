"""An hour of flight whose end is decided during the flight: constant memory, and the same bits."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

LONG_FLIGHT = Path(__file__).parents[2] / "benchmarks" / "long_flight.py"
MAX_MB = 500.0
"""Memory limit of the flight and all files of its run folder; an hour has 1,100 MB of log and streams."""


@pytest.mark.slow
def test_an_hour_takes_little_memory_and_ends_on_request():
    """With recording and log at 100 Hz; the digest is that of a flight with a fixed end."""
    command = (sys.executable, str(LONG_FLIGHT), "--duration", "3600")
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    results = json.loads(finished.stdout.splitlines()[-1])
    assert results["open"]["duration_s"] == results["fixed"]["duration_s"] == 3600.0
    assert results["open"]["digest"] == results["fixed"]["digest"]
    assert results["open"]["boundaries"] == results["fixed"]["boundaries"] > 3_600_000
    for result in results.values():
        assert result["peak_mb"] < MAX_MB
