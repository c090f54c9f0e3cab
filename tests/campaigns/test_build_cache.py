"""The build cache: parts with bit-identical inputs are built once, all others are rebuilt."""

import copy
import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from px4lockstep.autopilots.kinds import AutopilotOptions
from px4lockstep.campaigns.build_cache import BuildCache, ContentKeys
from px4lockstep.engine.core import SIM
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError
from px4lockstep.jit import plain, zeros
from px4lockstep.px4.commands import Command
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec
from px4lockstep.vehicle.contact import Contact


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
    """An object whose content is unknown."""

    def __eq__(self, other):
        return True

    __hash__ = None


SAME = [
    (0.1 + 0.2, 0.30000000000000004),
    (10**30, 10**30),
    ("".join(["a", "b"]), "ab"),
    (None, None),
    ((1, (2.0, "x")), (1, (2.0, "x"))),
    ([1, 2.0], [1, 2.0]),
    (Command.WAYPOINT, Command.WAYPOINT),
    (np.array([1.0, -0.0]), np.array([1.0, -0.0])),
    ({"a": 1, "b": (2.0,)}, {"a": 1, "b": (2.0,)}),
    (Pair(1.0, Pair("x", None)), Pair(1.0, Pair("x", None))),
    (Contact(mu=0.5), Contact(mu=0.5)),
]
DIFFERENT = [
    (0.0, -0.0),
    (1, 1.0),
    (1, True),
    (1.0, math.nextafter(1.0, 2.0)),
    ((1,), (1, 1)),
    ((1,), [1]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a": 0.0}, {"a": -0.0}),
    (Pair(1, 0.0), Pair(1, -0.0)),
    (Pair(1, 2), OtherPair(1, 2)),
    (Contact(mu=0.5), Contact(mu=0.6)),
    (np.array([0.0]), np.array([-0.0])),
    (Command.WAYPOINT, int(Command.WAYPOINT)),
    ((1, 2), ((1, 2),)),
    (np.array([1.0]), np.array([1])),
    (Opaque(), Opaque()),
    (Pair(1, Opaque()), Pair(1, Opaque())),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_bit_identical_values_have_equal_content(a, b):
    """Even in different objects."""
    contents = ContentKeys()
    assert contents.of(a) == contents.of(b)


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_values_of_other_bits_or_types_and_unknown_objects_have_different_content(a, b):
    """Even if they compare equal."""
    contents = ContentKeys()
    assert contents.of(a) != contents.of(b)


def test_a_part_is_rebuilt_only_if_its_inputs_differ():
    """Only the last one is cached."""
    calls = []

    def make(*of):
        calls.append(of)
        return Pair(*of)

    cache = BuildCache()
    first = cache.made(make, 1.0, "x")
    assert cache.made(make, 1.0, "x") is first
    assert cache.made(make, 2.0, "x") == Pair(2.0, "x")
    assert cache.made(make, 1.0, "x") == first
    assert calls == [(1.0, "x"), (2.0, "x"), (1.0, "x")]


def test_a_failed_build_is_retried():
    """With the same error; the last successful result stays cached."""

    def make(value):
        if value < 0:
            raise InputError(f"{value} is negative")
        return Pair(value, None)

    cache = BuildCache()
    kept = cache.made(make, 1)
    for _ in range(2):
        with pytest.raises(InputError, match="-1 is negative"):
            cache.made(make, -1)
    assert cache.made(make, 1) is kept


def test_records_are_written_once_and_copied_afterwards():
    """A flight that modifies its records does not affect later flights."""
    cache = BuildCache()

    def started(wind):
        core = zeros(SIM)
        cache.write(core, ("wind",), lambda record, wind: wind.write(plain(record)[0], 1, 1_000), wind)
        return core

    dryden, calm = Wind("dryden", wind_mean_ned=(1.0, 2.0, 3.0)), Wind("none")
    for wind in (dryden, dryden.model_copy(), calm, dryden, calm):
        fresh = np.zeros(1, SIM)
        wind.write(fresh["wind"][0], 1, 1_000)
        core = started(wind)
        assert core.tobytes() == fresh.tobytes()
        core["wind"]["tick"] = 7
        core["wind"]["turbulence_ned"] = 9.0


class Counting(ContentKeys):
    """Counts the contents that are computed."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def content(self, value):
        self.count += 1
        return super().content(value)


@pytest.mark.parametrize(
    ("first", "second", "is_known"),
    [
        ((Contact(mu=0.5), "x", 10**30, 0.5, (1.0, "y")), None, True),  # the same objects
        (
            (10**30, 0.1 + 0.2, ("ab", (2.5, None))),
            (int("1" + "0" * 30), 0.30000000000000004, ("ab", (2.5, None))),
            True,
        ),
        ((0.0,), (-0.0,), False),
        ((math.nan,), (float("nan"),), False),
        ((1,), (True,), False),
        (((1.0,),), ((1,),), False),
        (({"a": 1},), None, False),  # could be changed in place
        ((np.zeros(2),), None, False),
    ],
)
def test_the_content_of_the_same_immutable_arguments_is_not_computed(first, second, is_known):
    """Numbers and texts count as the same if they are bit-identical."""
    cache, second = BuildCache(), first if second is None else second
    cache._contents = Counting()
    cache.made(lambda *of: of, *first)
    function = next(iter(cache._last))
    before = cache._contents.count
    assert repr(cache.made(function, *second)) == repr(second)
    assert (cache._contents.count == before) == is_known


def test_what_is_derived_is_reused_for_the_same_objects_only():
    """Equal objects are not compared."""
    cache, part = BuildCache(), Contact(mu=0.5)
    first = cache.derived(Pair, part, 1)
    assert cache.derived(Pair, part, 1) is first
    again = cache.derived(Pair, Contact(mu=0.5), 1)
    assert again is not first
    assert again == first


def test_an_equal_part_is_shared_by_flights():
    """So that parts made from it are found by identity; parts of other types or bits are not exchanged."""
    cache, first, wind = BuildCache(), Contact(mu=0.5), Wind("none")
    assert cache.shared(first) is first
    assert cache.shared(wind) is wind
    assert cache.shared(Contact(mu=0.5)) is first
    other = Contact(mu=0.6)
    assert cache.shared(other) is other
    negative, positive = (Wind(wind_mean_ned=(zero, 1.0, 2.0)) for zero in (-0.0, 0.0))
    assert cache.shared(negative) is negative
    assert cache.shared(positive) is positive


def test_records_are_copied_for_the_same_objects_only():
    """Equal numbers count as the same; the sign of 0 matters."""
    cache, wind, calls = BuildCache(), Wind("ou"), []

    def write(record, *of):
        calls.append(of)
        record["tick"] = len(calls)

    for of in ((wind, 1), (wind, 1), (wind, 2), (wind, 0.0), (wind, -0.0), (wind, -0.0), (Wind("ou"), -0.0)):
        core = zeros(SIM)
        cache.write(core, ("wind",), write, *of)
        assert core["wind"]["tick"][0] == len(calls)
    assert [of[1] for of in calls] == [1, 2, 0.0, -0.0, -0.0]


@dataclass
class Mutable:
    """A value that can be changed in place."""

    number: float


class ExtendedWind(Wind):
    """A user's part, which may write another record."""


@dataclass(frozen=True)
class ExtendedPair(Pair):
    """A subclass with another field."""

    third: object


def holding(pair, **extra):
    """Return a frozen dataclass with undeclared attributes."""
    for name, value in extra.items():
        object.__setattr__(pair, name, value)
    return pair


@pytest.mark.parametrize(
    ("value", "change"),
    [
        ({"a": 1}, lambda value: value.update(a=2)),
        ([1.0], lambda value: value.append(2.0)),
        (np.zeros(3), lambda value: value.fill(1.0)),
        (Mutable(1.0), lambda value: setattr(value, "number", 2.0)),
        (Pair(1, [2]), lambda value: value.second.append(3)),
        (Pair(1, Mutable(2.0)), lambda value: setattr(value.second, "number", 3.0)),
    ],
    ids=["dict", "list", "array", "dataclass", "list in a frozen one", "dataclass in a frozen one"],
)
def test_an_object_changed_in_place_has_different_content(value, change):
    """Its earlier result is not reused."""
    cache = BuildCache()
    before = cache.made(repr, value)
    change(value)
    assert cache.made(repr, value) == repr(value) != before


def test_the_content_of_a_subclass_includes_its_own_members():
    """Its type, its fields and undeclared attributes."""
    contents = ContentKeys()
    assert contents.of(Wind("ou")) != contents.of(ExtendedWind("ou"))
    assert contents.of(ExtendedPair(1, 2, 3)) != contents.of(ExtendedPair(1, 2, 4))
    assert contents.of(holding(Pair(1, 2), extra=1)) != contents.of(holding(Pair(1, 2), extra=2))
    assert contents.of(holding(Pair(1, 2), extra=1)) == contents.of(holding(Pair(1, 2), extra=1))


def test_another_writer_of_the_same_record_is_not_confused_with_the_last():
    """The function is part of the key."""
    cache, core = BuildCache(), zeros(SIM)

    def first(record):
        record["tick"] = 1

    def second(record):
        record["tick"] = 2

    for write, tick in ((first, 1), (second, 2), (first, 1)):
        cache.write(core, ("wind",), write)
        assert core["wind"]["tick"][0] == tick


def test_free_keys_of_a_part_are_immutable():
    """So that the content of a part never changes."""
    params = {"MPC_XY_P": 1.0}
    table = AutopilotOptions(params=params)
    params["MPC_XY_P"] = 2.0
    assert table.params == {"MPC_XY_P": 1.0}
    for change in (lambda: table.params.update(MPC_XY_P=3.0), lambda: table.params.pop("MPC_XY_P")):
        with pytest.raises(TypeError, match="is immutable"):
            change()
    with pytest.raises(TypeError, match="is immutable"):
        table.params["MPC_XY_P"] = 3.0
    assert pickle.loads(pickle.dumps(table)) == copy.deepcopy(table) == table


def test_all_parts_of_a_run_are_cached():
    """No input of a flight has unknown content: the second of two equal runs rebuilds nothing."""
    spec, made = load_spec("iris", {"timeline.t_end_s": 1.0}), []

    class Counting(BuildCache):
        def _made(self, key, make, of):
            return super()._made(key, lambda *of: made.append(key) or make(*of), of)

    cache = Counting()
    for _ in range(2):
        made.clear()
        build(spec, builder=cache)
    assert made == []
