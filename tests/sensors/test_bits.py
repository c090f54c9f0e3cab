"""One source, one result: the sensors compiled, interpreted, and for any processor."""

from pathlib import Path

import pytest
import sensor_suites

SCRIPT = Path(sensor_suites.__file__)


@pytest.mark.parametrize(
    "environment", [{"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_CPU_NAME": "generic"}], ids=["interpreted", "generic CPU"]
)
def test_the_sensors_give_the_same_bits(python, environment):
    """Every byte of the record after every tick, with all errors and faults; no warning on the way."""
    assert python("-W", "error", SCRIPT, **environment).stdout.split() == [sensor_suites.hash_results()]
