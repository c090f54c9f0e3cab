"""One source, one result: the environment compiled, interpreted, and for any processor."""

from pathlib import Path

import environment_bits
import pytest

SCRIPT = Path(environment_bits.__file__)


@pytest.mark.parametrize(
    "environment", [{"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_CPU_NAME": "generic"}], ids=["interpreted", "generic CPU"]
)
def test_the_environment_gives_the_same_bits(python, environment):
    """Every model gives the SHA-256 of this process, whatever Numba does; no warning is raised on the way."""
    assert python("-W", "error", SCRIPT, **environment).stdout.split() == [environment_bits.hash_results()]
