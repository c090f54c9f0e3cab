"""Records: safe layouts, and views that behave like compiled code."""

import numpy as np
import pytest

from px4lockstep.errors import InputError, LayoutError
from px4lockstep.jit import kernel, record, rows, view
from px4lockstep.jit.records import (
    CONFIGURATION,
    STATE,
    TRANSIENT,
    RecordRows,
    RecordView,
    _make_view,
    limits_of,
    state_dtype,
    words_of,
)

INNER = record([("x", "f8", 3), ("count", "i8")])
OUTER = record([("time_us", "u8"), ("one", INNER), ("many", INNER, 4), ("table", "f8", (2, 3))])


@pytest.mark.parametrize("name", ["copy", "mean", "size", "T", "data", "sort", "_private"])
def test_a_field_named_like_an_attribute_of_numpy_is_refused(name):
    """It would work in compiled code and fail only with the JIT off."""
    with pytest.raises(LayoutError, match=f"'{name}' is an attribute of numpy.record"):
        record([(name, "f8")])


def test_fields_of_one_type_can_share_a_tuple():
    assert record([("a b", "f8"), ("c d", "i8", 2)]) == record(
        [("a", "f8"), ("b", "f8"), ("c", "i8", 2), ("d", "i8", 2)]
    )


def test_unnamed_padding_is_refused():
    """Its bytes would be undefined and would end up in snapshots."""
    with pytest.raises(LayoutError, match="7 bytes of unnamed padding"):
        record([("flag", "u1"), ("value", "f8")])
    assert record([("flag", "u1"), ("reserved", "u1", 7), ("value", "f8")]).itemsize == 16


def interpreted(array):
    """Return the view that a kernel gets with the JIT off, even if the JIT is on."""
    return RecordRows(array, memoryview, True)


def touch(record_rows, other):
    """Do everything that kernels do to records."""
    outer = record_rows[0]
    outer.time_us = 7
    outer.one.x[1] = 2.5
    outer.one.count += 3
    outer.many[2].x[0] = outer.one.x[1] * 2.0
    outer.many[1] = outer.one
    outer.many[3] = outer.many[2]
    outer.table[1, 2] = float(len(outer.table))
    other[0].one = outer.one
    other[0].time_us = outer.time_us
    return outer.many[2].x[0] + outer.one.count


def test_interpreted_views_do_what_compiled_code_does():
    """The same operations leave the same bytes, including nested assignment and arrays of records."""
    compiled = [np.zeros(1, OUTER), np.zeros(1, OUTER)]
    plain = [np.zeros(1, OUTER), np.zeros(1, OUTER)]
    result = kernel(touch)(*compiled)
    assert touch(*map(interpreted, plain)) == result == 8.0
    for a, b in zip(compiled, plain, strict=True):
        assert a.tobytes() == b.tobytes()


def test_interpreted_numbers_are_plain_python_numbers():
    """They are fast, and avoid NumPy's promotion of unsigned and signed integers."""
    array = np.zeros(2, OUTER)
    seen = interpreted(array)[1]
    assert type(seen.time_us) is int
    assert type(seen.one.x[0]) is float
    assert len(interpreted(array)) == 2
    assert [type(item) for item in interpreted(array)] == [type(seen)] * 2


def test_an_index_out_of_bounds_raises():
    """Interpreted and compiled; it never reads the next field."""
    array = np.zeros(1, OUTER)

    def beyond(record_rows, i):
        return record_rows[0].one.x[i]

    with pytest.raises(IndexError):
        beyond(interpreted(array), 3)
    with pytest.raises(IndexError):
        kernel(beyond)(array, 3)
    with pytest.raises(IndexError):
        interpreted(array)[1]


def test_a_view_for_users_has_arrays_and_follows_the_memory():
    """It is read-only or writable, as requested."""
    array = np.zeros(1, OUTER)
    seen, changed = view(array, writable=False), view(array, writable=True)
    changed.one.x[:] = (1.0, 2.0, 3.0)
    changed.time_us = 9
    assert seen.one.x.tolist() == [1.0, 2.0, 3.0]
    assert seen.time_us == array["time_us"][0] == 9
    assert (seen.one.x + 1.0).tolist() == [2.0, 3.0, 4.0]
    with pytest.raises(AttributeError):
        seen.time_us = 1
    with pytest.raises(AttributeError):
        seen.one = changed.one
    with pytest.raises(ValueError, match="read-only"):
        seen.many[1].x[0] = 1.0
    with pytest.raises(AttributeError):
        seen.no_such_field = 1
    assert "time_us=9" in repr(seen)


def test_rows_hands_over_the_array_itself_when_compiling():
    """The array is neither copied nor wrapped."""
    array = np.zeros(1, OUTER)
    assert rows(array) is array
    assert isinstance(_make_view(array, memoryview, True), RecordView)


PART = record([("gain", "f8"), ("tick", "i8"), ("address", "i8")], state="tick", transient="address")
WHOLE = record([("mode", "i8"), ("part", PART, 2), ("held", INNER), ("fixed", INNER)], state="held")


def test_words_are_classified_as_configuration_or_state():
    """By field, also in nested records and arrays of them; a nested record that is a state field is all state."""
    assert words_of(WHOLE, CONFIGURATION).tolist() == [0, 1, 4, 11, 12, 13, 14]
    assert words_of(WHOLE, STATE).tolist() == [2, 5, 7, 8, 9, 10]
    assert words_of(WHOLE, TRANSIENT).tolist() == [3, 6]
    assert words_of(INNER, STATE).tolist() == []
    layout = state_dtype(WHOLE)
    assert layout.names == ("part", "held")
    assert layout["part"].base.names == ("tick",)
    assert layout.itemsize == 6 * 8


def test_the_classification_of_fields_must_be_unambiguous():
    """Only existing fields can be named, and a layout has one classification."""
    with pytest.raises(LayoutError, match="has no field 'tack'"):
        record([("tick", "i8")], state="tack")
    with pytest.raises(LayoutError, match="has the same layout as another one"):
        record([("gain", "f8"), ("tick", "i8"), ("address", "i8")], state="gain")


LIMITED = record([("kind index", "i8"), ("free", "i8", 2), ("x", "f8")], state="index free", limits={"index": (-1, 5)})
HOLDS_LIMITED = record([("many", LIMITED, 3), ("mask", "i8")], state="mask", limits={"mask": 7})


def test_limits_are_checked_in_a_checkpoint():
    """Nested records are checked too, at their place in the state; floats and configuration have no limits."""
    state = np.zeros(1, state_dtype(HOLDS_LIMITED))
    limits = limits_of(HOLDS_LIMITED, STATE)
    limits.check(state, "checkpoint")
    for place, value, message in (
        ("many.index", 6, r"checkpoint\.many\[2\]\.index is 6; it must be -1 to 5"),
        (
            "many.free",
            2**62 + 1,
            r"checkpoint\.many\[2\]\.free\[1\] is 4611686018427387905; it must be -4611686018427387904",
        ),
        ("mask", -1, r"checkpoint\.mask is -1; it must be 0 to 7"),
    ):
        wrong = state.copy()
        target = wrong
        for part in place.split("."):
            target = target[part]
        target[(-1,) * target.ndim] = value
        with pytest.raises(InputError, match=message):
            limits.check(wrong, "checkpoint")


def test_limits_need_an_existing_integer_field():
    """An unknown field or a float cannot have limits."""
    for name in ("other", "x"):
        with pytest.raises(LayoutError, match=f"has no integer field '{name}' to limit"):
            record([("x", "f8"), ("n", "i8")], limits={name: 1})
