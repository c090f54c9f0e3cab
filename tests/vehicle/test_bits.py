"""One source, one result: the aircraft compiled, interpreted, and for any processor."""

from pathlib import Path

import pytest
import vehicle_bits

SCRIPT = Path(vehicle_bits.__file__)


@pytest.mark.parametrize(
    "environment", [{"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_CPU_NAME": "generic"}], ids=["interpreted", "generic CPU"]
)
def test_the_aircraft_gives_the_same_bits(python, environment):
    """Derivative, outputs and projection give the SHA-256 of this process, whatever Numba does, without a warning."""
    assert python("-W", "error", SCRIPT, **environment).stdout.split() == [vehicle_bits.hash_results()]
