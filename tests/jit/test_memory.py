"""Numbers at an address: every kind of field, compiled and interpreted, matches NumPy."""

import json

import numpy as np
import pytest

from px4lockstep.jit.memory import KINDS, load_number, store_number

VALUES = (0.0, 1.0, 100.0, 200.5, -3.0, -129.0, 4e9, 60_000.0, 1e-3, 2.0**40, float("nan"), float("inf"))

SCRIPT = """
import json
import numpy as np
from px4lockstep.jit.memory import KINDS, load_number, store_number

buffer = np.zeros(64, np.uint8)
place = buffer.ctypes.data + 5  # not aligned
results = []
for name, value in json.loads({cases!r}):
    buffer[:] = 7
    store_number(place, np.int64(KINDS[name]), value)
    results.append([buffer.tobytes().hex(), repr(load_number(place, np.int64(KINDS[name])))])
print(json.dumps(results))
"""


def fits(name, value):
    """Return whether a kind of field can represent a value."""
    dtype = np.dtype(name)
    if dtype.kind == "f":
        return True
    if not np.isfinite(value):
        return False
    limits = np.iinfo(dtype) if dtype.kind in "iu" else None
    return value in (0.0, 1.0) if limits is None else limits.min <= int(value) <= limits.max


CASES = [(name, value) for name in KINDS for value in VALUES if fits(name, value)]


@pytest.mark.parametrize(("name", "value"), CASES)
def test_numbers_are_stored_and_loaded_as_in_numpy(name, value):
    """The address is not aligned, and the neighbouring bytes do not change."""
    dtype = np.dtype(name)
    buffer = np.full(64, 7, np.uint8)
    store_number(buffer.ctypes.data + 5, np.int64(KINDS[name]), value)
    stored = buffer[5 : 5 + dtype.itemsize].copy().view(dtype)[0]
    wanted = dtype.type(value if dtype.kind in "fb" else int(value))
    assert stored.tobytes() == wanted.tobytes()
    assert (np.delete(buffer, slice(5, 5 + dtype.itemsize)) == 7).all()
    loaded = load_number(buffer.ctypes.data + 5, np.int64(KINDS[name]))
    assert loaded == float(wanted) or np.isnan(value)


def test_interpreted_gives_the_same_bytes(python):
    """Interpreted code goes through ctypes."""
    script = SCRIPT.format(cases=json.dumps(CASES))
    compiled, interpreted = (python("-c", script, NUMBA_DISABLE_JIT=jit).stdout for jit in ("0", "1"))
    assert json.loads(compiled) == json.loads(interpreted)


def test_kinds_are_the_types_of_uorb():
    """All eleven are supported."""
    assert set(KINDS) == {np.dtype(name).name for name in KINDS}
    assert len(set(KINDS.values())) == len(KINDS) == 11
