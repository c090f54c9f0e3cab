"""One source, one result: a flight with everything in its scenario, compiled, interpreted, and for any processor."""

from pathlib import Path

import pytest
import scenario_flight

SCRIPT = Path(scenario_flight.__file__)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "environment", [{"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_CPU_NAME": "generic"}], ids=["interpreted", "generic CPU"]
)
def test_a_scenario_gives_the_same_bits(python, environment):
    """Flight and scenario outputs, with every kind of trigger: the digests of this process, without a warning."""
    assert python("-W", "error", SCRIPT, **environment).stdout.splitlines() == list(scenario_flight.digest_lines())
