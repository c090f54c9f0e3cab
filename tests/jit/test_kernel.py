"""The kernel decorator and calls by address."""

import ctypes
import math
import re
import textwrap

import numpy as np
import pytest

from px4lockstep.jit import call_i32, callback, inlined_kernel, interpreted, kernel, record
from px4lockstep.jit.kernel import OPTIONS, specialize
from px4lockstep.math.exponential import exp, pow
from px4lockstep.math.trigonometry import sincos

PAIR = record([("x", "f8", 2)])


def test_kernels_are_compiled_strictly():
    """No fastmath, NumPy's error model, bounds checks."""
    assert OPTIONS == {"error_model": "numpy", "fastmath": False, "boundscheck": True}


def test_no_products_are_fused():
    """x * y + z rounds twice, as in interpreted Python; a fused multiply-add would give another result."""

    def fused(x, y, z):
        return x * y + z

    x = 1.0 + 2.0**-30
    assert kernel(fused)(x, x, -1.0) == fused(x, x, -1.0) == 2.0**-29
    assert math.fsum([x * x, -1.0]) == 2.0**-29


def test_an_interpreted_kernel_compiles_nothing(python):
    """Neither do its callees, and the result is bit-identical to the compiled one."""
    script = """
        from px4lockstep.jit import interpreted
        from px4lockstep.math.exponential import exp, pow
        print(interpreted(pow)(1.7, -3.3).hex(), len(exp.signatures), len(pow.signatures))
    """
    assert python("-c", textwrap.dedent(script)).stdout.split() == [float(pow(1.7, -3.3)).hex(), "0", "0"]
    assert interpreted(exp)(-0.3) == exp(-0.3)
    assert interpreted(sincos)(2.0) == sincos(2.0)


@pytest.mark.process
def test_a_warm_start_creates_dispatchers_of_entry_points_only(python):
    """There are hundreds of kernels, and each dispatcher takes 50 µs."""
    script = """
        import px4lockstep
        from px4lockstep.engine import loop
        from px4lockstep.jit import linking
        created = []
        create = linking.KernelDispatcher.__init__
        def note(self, function, *arguments, **options):
            created.append(function.__name__)
            create(self, function, *arguments, **options)
        linking.KernelDispatcher.__init__ = note
        px4lockstep.simulate("x500", overrides={"timeline.t_end_s": 1.0})
        print(created)
    """
    assert python("-c", textwrap.dedent(script)).stdout == "['advance']\n"


def long_sum(a, i):
    """Compute something that LLVM does not inline by default: many bounds checks, each with an exception."""
    first = a[i] + a[i + 1] * a[i + 2] - a[i + 3] / a[i + 4] + a[i + 5] * (a[i + 6] + a[i + 7])
    second = a[i + 8] * a[i + 9] - a[i + 10] / a[i + 11] + a[i + 12] * (a[i + 13] + a[i + 14])
    return first - second * (a[i + 15] + a[i + 16] * a[i + 17] - a[i + 18] / a[i + 19])


def test_an_inlined_kernel_is_part_of_its_caller():
    """The result is the same, and the machine code contains no call."""
    callee = inlined_kernel(long_sum)

    @kernel
    def caller(a):
        return callee(a, 0) + callee(a, 1) + callee(a, 2)

    array = np.arange(1.0, 23.0)
    assert caller(array) == long_sum(array, 0) + long_sum(array, 1) + long_sum(array, 2)
    (code,) = caller.inspect_llvm().values()
    assert not re.search(r"call .*long_sum", code)


def test_a_specialized_kernel_is_the_same_function():
    """It bypasses Numba's dispatcher."""

    @kernel
    def add(a, k):
        return a[0] + k

    array = np.array([1.5])
    assert specialize(add, array, 0)(array, 2) == 3.5


CALLS = """
    import ctypes

    import numpy as np

    from px4lockstep.jit import call_i32, call_void, callback, kernel, record, rows

    PAIR = record([("x", "f8", 2)])

    def fill(t, pair, number):
        pair.x[0] = t
        pair.x[1] = float(number)

    libc = ctypes.CDLL(None)
    ABS = ctypes.cast(libc.abs, ctypes.c_void_p).value
    MEMCMP = ctypes.cast(libc.memcmp, ctypes.c_void_p).value

    @kernel
    def drive(pairs, fill_address, abs_address, memcmp_address):
        call_void(fill_address, 1.5, pairs[0], np.int64(7))
        call_void(fill_address, 1.5, pairs[1], np.int64(7))
        same = call_i32(memcmp_address, pairs[0], pairs[1], np.int64(16))
        return call_i32(abs_address, np.int64(-5)) + 100 * same

    pairs = np.zeros(2, PAIR)
    address = callback(fill, "void", ("f8", PAIR, "i8"))
    print(drive(rows(pairs), address, ABS, MEMCMP), pairs["x"].tolist())
"""


@pytest.mark.parametrize("jit", ["0", "1"], ids=["compiled", "interpreted"])
def test_functions_are_called_by_address(python, tmp_path, jit):
    """A Python function and two C library functions, with integers, floats and records; with the JIT on and off."""
    script = tmp_path / "calls.py"
    script.write_text(textwrap.dedent(CALLS))
    finished = python(script, NUMBA_DISABLE_JIT=jit, PX4LOCKSTEP_CACHE_DIR=tmp_path / "cache")
    assert finished.stdout.strip() == "5 [[1.5, 7.0], [1.5, 7.0]]"


def test_a_callback_is_a_c_function():
    """ctypes can call it too."""

    def double(x):
        return np.int32(2.0 * x)

    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_double)(callback(double, "i4", ("f8",)))
    assert function(21.0) == 42


def test_a_call_by_address_rejects_arguments_without_a_c_type():
    """An array has no C type here, unlike a record."""

    @kernel
    def wrong(address, array):
        return call_i32(address, array)

    with pytest.raises(Exception, match="accepts integers, floats and records"):
        wrong(1, np.zeros(3))
