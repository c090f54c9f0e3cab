"""Compiled code from the cache: it runs without its bitcode, can be linked later, and its types are not derived."""

import textwrap

import numba
import numpy as np
import pytest

from px4lockstep.engine import loop
from px4lockstep.engine.compilation import compiled_loop, example_arrays
from px4lockstep.jit import JIT_ENABLED
from px4lockstep.jit.kernel import _stored_signature
from px4lockstep.jit.payload import fits

KERNELS = """
    import sys
    from px4lockstep.jit import kernel

    @kernel
    def checked(x):
        if x < 0.0:
            raise ValueError("negative")
        return 2.0 * x

    @kernel
    def inner(x):
        return checked(x) + 1.0

    @kernel
    def outer(x):
        return inner(x) * inner(x + 1.0)

    def is_parsed(function):
        (result,) = function.overloads.values()
        return getattr(result.library, "is_parsed", "compiled")

    print(inner(3.0), is_parsed(inner))
    try:
        inner(-1.0)
    except ValueError as error:
        print(error)
    if len(sys.argv) > 1:
        print(outer(3.0), is_parsed(inner), is_parsed(outer))
"""

needs_jit = pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled")


@pytest.mark.process
@needs_jit
def test_bitcode_is_parsed_when_a_new_caller_links_it(tmp_path, python):
    """A warm start runs machine code only. Errors are raised with their texts."""
    script = tmp_path / "kernels.py"
    script.write_text(textwrap.dedent(KERNELS), "utf-8")

    def run(*words):
        said = python(script, *words, PX4LOCKSTEP_CACHE_DIR=tmp_path / "cache", PX4LOCKSTEP_QUIET=1).stdout
        return said.splitlines()

    assert run() == ["7.0 compiled", "negative"]
    assert run() == ["7.0 False", "negative"]
    assert run("outer") == ["7.0 False", "negative", "63.0 True compiled"]
    assert run("outer") == ["7.0 False", "negative", "63.0 False False"]


OBJECTS = """
    import numpy as np
    from numba.core.runtime import rtsys
    from px4lockstep.jit import kernel

    @kernel
    def tell(x):
        print("callee has", x)

    @kernel
    def doubled(x):
        tell(x)
        return np.full(2, 2.0 * x)

    @kernel
    def number(x):
        return 2.0 * x

    print(number(1.0), rtsys._init)
    array = doubled(3.0)
    print(array, rtsys._init, doubled(4.0) + array)
"""


@pytest.mark.process
@needs_jit
def test_loaded_code_has_what_it_calls_of_the_runtime_without_compiling_it(tmp_path, python):
    """Code from the cache allocates arrays, and a callee prints a Python object."""
    script = tmp_path / "objects.py"
    script.write_text(textwrap.dedent(OBJECTS), "utf-8")
    said = [python(script, PX4LOCKSTEP_CACHE_DIR=tmp_path / "cache", PX4LOCKSTEP_QUIET=1).stdout for _ in range(2)]
    first, again = (text.splitlines() for text in said)
    told = ["callee has 3.0", "callee has 4.0"]
    assert first == ["2.0 True", *told, "[6. 6.] True [14. 14.]"]
    assert again == ["2.0 False", *told, "[6. 6.] False [14. 14.]"]


@needs_jit
def test_the_stored_signature_of_the_loop_is_that_of_its_arguments():
    """Deriving it from the arrays gives the same types."""
    arguments = (example_arrays(), 0)
    compiled_loop()
    stored = _stored_signature(loop.advance, arguments)
    assert stored == tuple(map(numba.typeof, arguments))


@pytest.mark.parametrize(
    "value",
    [
        np.zeros(3, np.float32),
        np.zeros((3, 2)),
        np.zeros(6)[::2],
        np.zeros(3, [("a", "f4"), ("b", "f8")]),
        [1.0, 2.0],
        0,
    ],
    ids=["size", "dimensions", "strides", "record", "list", "integer"],
)
def test_an_argument_of_another_layout_does_not_fit(value):
    """The types are derived then."""
    assert fits(numba.typeof(np.zeros(3)), np.ones(5))
    assert not fits(numba.typeof(np.zeros(3)), value)


def test_integers_tuples_and_locked_arrays_are_told_apart():
    """A named tuple fits if its class and all its members do."""
    arrays = example_arrays()
    kind = numba.typeof(arrays)
    assert fits(kind, arrays)
    assert not fits(kind, tuple(arrays))
    assert not fits(kind, arrays._replace(logged=np.zeros(1, np.int32)))
    assert not fits(kind, arrays._replace(time_us=arrays.time_us.copy()))  # writable
    assert fits(numba.typeof(1), 2)
    assert not fits(numba.typeof(1), True)
    assert not fits(numba.typeof(1.0), 1.0)
