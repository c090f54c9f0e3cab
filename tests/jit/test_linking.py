"""Kernels that other kernels call are linked, not compiled on their own; results, errors and calls are the same."""

import numba
import numpy as np
import pytest

from px4lockstep.jit import callback, caller, kernel, record
from px4lockstep.jit.linking import LinkedLibrary

PAIR = record([("x", "f8", 2)])


@kernel
def half(x):
    """Return half of a number."""
    return x * 0.5


@kernel
def quarter(x):
    """Return a quarter of a number."""
    return half(half(x))


def is_linked(function):
    """Return whether each form of a kernel is for linking only."""
    return [isinstance(form.library, LinkedLibrary) for form in function.overloads.values()]


def test_only_the_entry_point_becomes_machine_code():
    """Its callees, direct and indirect, are inlined or linked into it."""

    @kernel
    def low(x):
        return x + 1.0

    @kernel
    def middle(x):
        return low(x) * 2.0

    @kernel
    def entry(x):
        return middle(x) + low(x)

    assert entry(1.0) == 6.0
    assert [is_linked(function) for function in (entry, middle, low)] == [[False], [True], [True]]


def test_a_linked_kernel_can_be_called_from_python():
    """It is compiled again, as an entry point, and callers compiled later use that."""

    @kernel
    def low(x):
        return x + 1.0

    @kernel
    def entry(x):
        return low(x) * 2.0

    @kernel
    def later(x):
        return low(x) * 3.0

    assert entry(1.0) == 4.0
    assert low(1.0) == 2.0
    assert is_linked(low) == [False]
    assert later(1.0) == 6.0
    assert low(np.int64(1)) == 2


def test_a_kernel_is_shared_by_several_callees():
    """The entry point gets it from each of them, and has it once."""

    @kernel
    def entry(x):
        return quarter(x) + half(x)

    assert entry(8.0) == 6.0


def test_plain_numba_functions_call_kernels_and_are_called():
    """Numba compiles those on its own."""

    @numba.njit
    def plain(x):
        return quarter(x) + 1.0

    @kernel
    def entry(x):
        return plain(x) * 2.0

    assert entry(8.0) == 6.0
    assert plain(8.0) == 3.0


def test_a_callback_links_its_kernels():
    """A callback is an entry point, too."""

    @kernel
    def double(x):
        return x * 2.0

    def write(pair):
        pair.x[1] = double(pair.x[0])

    pair = np.zeros(1, PAIR)
    pair["x"][0, 0] = 4.0
    caller(callback(write, "void", (PAIR,)), pair)()
    assert pair["x"][0, 1] == 8.0
    assert is_linked(double) == [True]


def test_an_index_out_of_bounds_raises_from_a_linked_kernel():
    """Exceptions pass through the linked code."""

    @kernel
    def pick(array, i):
        return array[i]

    @kernel
    def entry(array, i):
        return pick(array, i)

    assert entry(np.arange(3.0), 2) == 2.0
    with pytest.raises(IndexError, match="out of bounds"):
        entry(np.arange(3.0), 3)


def test_a_type_error_in_a_linked_kernel_is_reported():
    """It is reported again when the kernel is tried again."""

    @kernel
    def wrong(x):
        return x.nothing

    @kernel
    def entry(x):
        return wrong(x)

    for _ in range(2):
        with pytest.raises(numba.TypingError, match="nothing"):
            entry(1.0)


def test_a_kernel_may_call_itself():
    """Recursion needs the type of a function that is still being compiled."""

    @kernel
    def factorial(n):
        if n < 2:
            return 1
        return n * factorial(n - 1)

    @kernel
    def entry(n):
        return factorial(n)

    assert factorial(5) == 120
    assert entry(np.int64(6)) == 720
