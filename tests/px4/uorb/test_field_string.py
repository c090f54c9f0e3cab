"""The field strings of PX4's metadata, in both spellings."""

import numpy as np
import pytest

from px4lockstep.errors import LayoutError
from px4lockstep.px4.uorb import shipped_layouts
from px4lockstep.px4.uorb.field_string import C_TYPES, SHORT_TYPES, dtype_of_field_string

SPELLED = "uint64_t timestamp;double x;float[3] v;int16_t s;bool b;char[2] text;uint8_t[3] _padding0;"


def nothing_nested(topic):
    raise AssertionError(topic)


def test_c_types_and_padding_are_parsed():
    """Expected by hand: padding takes up space, but has no name."""
    dtype = dtype_of_field_string("a", SPELLED, nothing_nested)
    assert {name: (inner.base.name, inner.shape, offset) for name, (inner, offset) in dtype.fields.items()} == {
        "timestamp": ("uint64", (), 0),
        "x": ("float64", (), 8),
        "v": ("float32", (3,), 16),
        "s": ("int16", (), 28),
        "b": ("bool", (), 30),
        "text": ("uint8", (2,), 31),
    }
    assert dtype.itemsize == 40


def test_one_byte_types_give_the_same_layout():
    """PX4 of 2021 and 2022 encodes uint64_t as 0x89, float as 0x8a, bool as 0x8c."""
    assert [SHORT_TYPES[chr(code)] for code in (0x82, 0x86, 0x89, 0x8A, 0x8B, 0x8C, 0x8D)] == [
        *("int8", "uint8", "uint64", "float32", "float64", "bool", "char")
    ]
    short = SPELLED
    for number, name in enumerate(C_TYPES):
        short = short.replace(f";{name} ", f";{chr(0x82 + number)} ").replace(f";{name}[", f";{chr(0x82 + number)}[")
    short = short.replace("uint64_t ", "\x89 ", 1)
    assert "_t" not in short
    assert dtype_of_field_string("a", short, nothing_nested) == dtype_of_field_string("a", SPELLED, nothing_nested)


def test_nested_messages_are_looked_up_by_topic():
    """And aligned to 8 bytes."""
    inner = shipped_layouts()["position_setpoint"].dtype
    text = "uint64_t timestamp;bool b;uint8_t[7] _padding0;position_setpoint[2] pair;"
    dtype = dtype_of_field_string("a", text, {"position_setpoint": inner}.__getitem__)
    assert dtype.fields["pair"] == (np.dtype((inner, (2,))), 16)
    assert dtype.itemsize == 16 + 2 * 80


@pytest.mark.parametrize("text", ["uint64_t", "uint64_t[0] x;", "float[] x;", "float x y;", "\x81 x;"])
def test_an_invalid_field_is_rejected(text):
    """Rather than giving a wrong layout."""
    with pytest.raises(LayoutError, match=r"a: the library's field string contains .* which is not a field"):
        dtype_of_field_string("a", "uint64_t timestamp;" + text, nothing_nested)
