"""One source, one result: the estimator compiled, interpreted, and for any processor."""

from pathlib import Path

import estimation_bits
import pytest

SCRIPT = Path(estimation_bits.__file__)


@pytest.mark.parametrize(
    "environment", [{"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_CPU_NAME": "generic"}], ids=["interpreted", "generic CPU"]
)
def test_the_estimator_gives_the_same_bits(python, environment):
    """Both kinds and all faults give the SHA-256 of this process, whatever Numba does; no warning on the way."""
    assert python("-W", "error", SCRIPT, **environment).stdout.split() == [estimation_bits.hash_results()]
