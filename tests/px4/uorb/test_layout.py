"""Layouts, sizes and hashes of messages equal those of the real library, for all topics with a known layout."""

import numpy as np
import pytest
from px4_double import topics

from px4lockstep.errors import LayoutError
from px4lockstep.px4.uorb.definitions import Definition, Field, message_hash, pascal_case, snake_case
from px4lockstep.px4.uorb.layout import differences, layout_of
from px4lockstep.px4.uorb.shipped import shipped_definitions, shipped_layouts

pytestmark = pytest.mark.process

MEASURED = topics()


def test_all_topics_of_the_measured_library_are_built_in():
    """Exactly 40."""
    assert list(shipped_layouts()) == list(MEASURED)
    assert len(MEASURED) == 40


@pytest.mark.parametrize("topic", MEASURED)
def test_size_and_hash_are_those_of_the_library(topic):
    """As reported by the library."""
    layout = shipped_layouts()[topic]
    assert (layout.size, f"{layout.message_hash:#010x}") == (MEASURED[topic]["size"], MEASURED[topic]["hash"])


@pytest.mark.parametrize("topic", MEASURED)
def test_fields_have_the_offsets_of_the_c_compiler(topic):
    """Order, type, number of elements and offset of every field."""
    dtype = shipped_layouts()[topic].dtype
    expected = []
    for text in MEASURED[topic]["layout"]:
        kind, name, *count, offset = text.split()
        expected.append((name, kind, (int(count[0]),) if count else (), int(offset.removeprefix("@"))))
    nested = {shipped_layouts()["position_setpoint"].dtype: "position_setpoint_s"}
    found = [
        (name, nested.get(inner.base, inner.base.name), inner.shape, offset)
        for name, (inner, offset) in dtype.fields.items()
    ]
    assert found == expected


def test_a_message_is_written_and_read_by_name():
    """Including a nested message, at its C offset."""
    layout = shipped_layouts()["position_setpoint_triplet"]
    message = layout.zeros()
    message["current"]["lat"] = 47.25
    assert np.frombuffer(message.tobytes(), "f8", 1, offset=88 + 8)[0] == 47.25
    assert layout.fields()["current.lat"] == ("float64", 96)
    assert message.tobytes().count(0) == layout.size - 3  # 47.25 is 0x4047A00000000000


def test_arrays_of_messages_and_all_types_are_laid_out_as_px4_does():
    """By hand: 8, 4, 2 and 1 byte, then nested messages, aligned to 8 bytes and padded to a multiple of 8."""
    inner = Definition("Inner", tuple(map(Field.parse, ("uint64 timestamp", "int8 a"))), ("inner",))
    lines = "char[3] text", "int16 s", "uint64 timestamp", "px4/Inner[2] pair", "float32[2] f", "int64 big", "bool b"
    outer = Definition("Outer", tuple(map(Field.parse, lines)), ("outer",))
    layout = layout_of("outer", outer, {"Inner": inner})
    assert layout.fields() == {
        "timestamp": ("uint64", 0),
        "big": ("int64", 8),
        "f": ("float32[2]", 16),
        "s": ("int16", 24),
        "text": ("uint8[3]", 26),
        "b": ("bool", 29),
        "pair[0].timestamp": ("uint64", 32),
        "pair[0].a": ("int8", 40),
        "pair[1].timestamp": ("uint64", 48),
        "pair[1].a": ("int8", 56),
    }
    assert layout.size == 64


def test_the_hash_is_fnv_1a_over_the_declared_lines():
    """The published test vector for 'foobar' is 0xbf9cf968; nested messages' lines follow their fields."""
    known = shipped_definitions()
    triplet = known["PositionSetpointTriplet"]
    inner = "".join(f"{field}\n" for field in known["PositionSetpoint"].fields)
    text = "uint64 timestamp\n" + "".join(
        f"PositionSetpoint {name}\n{inner}" for name in ("previous", "current", "next")
    )
    assert _fnv_1a("foobar") == 0xBF9CF968
    assert message_hash(triplet, known) == _fnv_1a(text)


def _fnv_1a(text):
    value = np.uint64(0x811C9DC5)
    for byte in text.encode():
        value = ((value ^ np.uint64(byte)) * np.uint64(0x01000193)) & np.uint64(0xFFFFFFFF)
    return int(value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("float32", "'float32' is not a valid field; use the form 'float32 x' or 'float32[4] q'"),
        ("float32[] x", "is not a valid field"),
        ("float32[0] x", "is not a valid field"),
        ("float32 x y", "is not a valid field"),
        ("float32[99999] x", "'float32[99999] x' is too long; an array has at most 65535 elements"),
    ],
)
def test_an_invalid_field_is_rejected(line, message):
    """PX4 has no variable-length arrays."""
    with pytest.raises(LayoutError) as caught:
        Field.parse(line)
    assert message in str(caught.value)


def test_messages_without_a_valid_layout_are_rejected():
    """An unknown nested message, a recursive one, a duplicate name."""
    one = Definition("One", (Field("uint64", "timestamp"), Field("Other", "x")), ("one",))
    with pytest.raises(LayoutError, match="One: field 'x' has the type Other, which is neither a known message"):
        layout_of("one", one, {})
    other = Definition("Other", (Field("uint64", "timestamp"), Field("One", "y")), ("other",))
    with pytest.raises(LayoutError, match="One contains itself: One > Other > One"):
        layout_of("one", one, {"One": one, "Other": other})
    twice = Definition("Twice", (Field("uint64", "timestamp"), Field("bool", "timestamp")), ("twice",))
    with pytest.raises(LayoutError, match="Twice has two fields called 'timestamp'"):
        layout_of("twice", twice, {})


def test_differences_name_fields_and_types():
    """Fields that are missing on either side or differ in type; offsets follow from those."""
    before = Definition("A", (Field("uint64", "timestamp"), Field("uint8", "state"), Field("bool", "old")), ("a",))
    after = Definition("A", (Field("uint64", "timestamp"), Field("uint16", "state"), Field("bool", "new")), ("a",))
    found = differences(layout_of("a", before, {}), layout_of("a", after, {}), ("one", "other"))
    assert sorted(found) == ["new is only in other", "old is only in one", "state is uint8 in one and uint16 in other"]


@pytest.mark.parametrize("topic", MEASURED)
def test_message_and_topic_names_are_converted(topic):
    """As PX4's generator does it."""
    message = shipped_layouts()[topic].message
    assert (snake_case(message), pascal_case(topic)) == (topic, message)


def test_nested_messages_start_at_multiples_of_8_whatever_their_size():
    """A message of 24 bytes after 8 and after 9 bytes: its size is not its alignment."""
    fields = ("uint64 timestamp", "uint64 id", "int8 a")
    inner = Definition("Inner", tuple(map(Field.parse, fields)), ("inner",))
    for lines, start in ((("uint64 timestamp",), 8), (("uint64 timestamp", "bool b"), 16)):
        outer = Definition("Outer", tuple(map(Field.parse, (*lines, "px4/Inner inner"))), ("outer",))
        layout = layout_of("outer", outer, {"Inner": inner})
        assert layout.fields()["inner.timestamp"] == ("uint64", start)
        assert layout.size == start + 24
