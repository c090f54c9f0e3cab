"""What is made of the same values is made once, and of values that differ by a bit anew."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from px4lockstep.engine.core import SIM
from px4lockstep.engine.prepared import Prepared, is_same
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError
from px4lockstep.jit import plain, zeros
from px4lockstep.spec.flight_tables import Contact


@dataclass(frozen=True)
class Pair:
    """Two values."""

    first: object
    second: object


@dataclass(frozen=True)
class OtherPair:
    """The same fields, another type."""

    first: object
    second: object


class Opaque:
    """What can't be compared."""

    def __eq__(self, other):
        return True

    __hash__ = None


SAME = [
    (0.1 + 0.2, 0.30000000000000004),
    (10**30, 10**30),
    ("".join(["a", "b"]), "ab"),
    (None, None),
    ((1, (2.0, "x")), (1, (2.0, "x"))),
    ({"a": 1, "b": (2.0,)}, {"a": 1, "b": (2.0,)}),
    (Pair(1.0, Pair("x", None)), Pair(1.0, Pair("x", None))),
    (Contact(mu=0.5), Contact(mu=0.5)),
]
DIFFERENT = [
    (0.0, -0.0),
    (1, 1.0),
    (1, True),
    (1.0, math.nextafter(1.0, 2.0)),
    (float("nan"), float("nan")),
    ((1,), (1, 1)),
    ((1,), [1]),
    ([1], [1]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a": 0.0}, {"a": -0.0}),
    (Pair(1, 0.0), Pair(1, -0.0)),
    (Pair(1, 2), OtherPair(1, 2)),
    (Contact(mu=0.5), Contact(mu=0.6)),
    (Opaque(), Opaque()),
    (Pair(1, Opaque()), Pair(1, Opaque())),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_what_is_the_same_to_the_bit_is_the_same(a, b):
    """Be it in other objects."""
    assert is_same(a, b)


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_what_differs_by_a_bit_a_type_or_can_not_be_compared_is_another(a, b):
    """Where equality would say otherwise too."""
    assert not is_same(a, b)


def test_a_part_is_made_again_only_if_what_it_is_made_of_differs():
    """The last one is kept."""
    calls = []

    def make(*of):
        calls.append(of)
        return Pair(*of)

    prepared = Prepared()
    first = prepared.made(make, 1.0, "x")
    assert prepared.made(make, 1.0, "x") is first
    assert prepared.made(make, 2.0, "x") == Pair(2.0, "x")
    assert prepared.made(make, 1.0, "x") == first
    assert calls == [(1.0, "x"), (2.0, "x"), (1.0, "x")]


def test_what_could_not_be_made_is_tried_again():
    """With the same error, and what was made before stays."""

    def make(value):
        if value < 0:
            raise InputError(f"{value} is negative")
        return Pair(value, None)

    prepared = Prepared()
    kept = prepared.made(make, 1)
    for _ in range(2):
        with pytest.raises(InputError, match="-1 is negative"):
            prepared.made(make, -1)
    assert prepared.made(make, 1) is kept


def test_records_are_written_into_zeros_and_copied_from_then_on():
    """A flight that changes its own leaves those to come alone; nothing of the last one shows through."""
    prepared = Prepared()

    def started(wind):
        core = zeros(SIM)
        prepared.write(core, ("wind",), lambda record, wind: wind.write(plain(record)[0], 1, 1_000), wind)
        return core

    dryden, calm = Wind("dryden", wind_mean_ned=(1.0, 2.0, 3.0)), Wind("none")
    for wind in (dryden, dryden.model_copy(), calm, dryden, calm):
        fresh = np.zeros(1, SIM)
        wind.write(fresh["wind"][0], 1, 1_000)
        core = started(wind)
        assert core.tobytes() == fresh.tobytes()
        core["wind"]["tick"] = 7
        core["wind"]["turbulence_ned"] = 9.0
