"""docs/reference/recording.md lists the contents of the file: arrays, texts, attributes and fields, with types."""

import re
from pathlib import Path

import pytest

from px4lockstep.engine.timeline import AXIS_BITS
from px4lockstep.flights.recording.contents import ATTRIBUTES, ENTRIES, FORMAT, OPTIONAL, TEXTS, VERSION
from px4lockstep.flights.recording.file import BLOCK_BYTES, TITLE
from px4lockstep.flights.recording.migrations import STEPS

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "recording.md").read_text("utf-8")
ROWS = dict(re.findall(r"^\| `([\w/…]+)` \| (.*) \|$", PAGE, re.MULTILINE))
"""The rows of the tables by their first cell; of duplicates, the last."""


def rows_of(name):
    return re.findall(rf"^\| `{re.escape(name)}` \| (.*) \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("name", ENTRIES)
def test_every_array_is_listed_with_its_type(name):
    """Records with all their fields, at every level that has its own row."""
    dtype = ENTRIES[name].dtype
    kind = "record" if dtype is None or dtype.names else dtype.name
    [first, *others] = rows_of(name)
    assert first.startswith(f"{kind} | ")
    assert ("\N{MULTIPLICATION SIGN}" in first.split(" | ")[1]) == (ENTRIES[name].dimensions == 2)
    if dtype is not None and dtype.names:
        [fields] = others
        for field in dtype.names:
            assert f"`{field}`" in fields


@pytest.mark.parametrize("name", ["faults", "estimate_faults", "bus", "inputs"])
def test_every_field_of_inner_records_is_listed(name):
    """From the layouts of the file."""
    outer = ENTRIES["log/rows"].dtype
    inner = outer[name] if name in outer.names else ENTRIES["streams/scenarios"].dtype[name]
    for field in inner.names:
        assert f"`{field}`" in ROWS[name]


def test_every_text_and_attribute_is_listed():
    """Including the versions of the software."""
    for name in (*TEXTS, "mission"):
        assert ROWS[name].startswith("text | one | ")
    for name, kind in ATTRIBUTES.items():
        assert ROWS[name].startswith("int64" if kind is int else "text")
    assert {"format", "version", "version_of_…"} <= set(ROWS)


def test_nothing_else_is_listed():
    """Paths with a slash are arrays."""
    assert sorted(name for name in ROWS if "/" in name) == sorted(ENTRIES | OPTIONAL)


def test_version_header_and_axis_bits_are_documented():
    """And each version has a row."""
    assert f"format `{FORMAT}`, version {VERSION}." in PAGE
    assert f"## The first {BLOCK_BYTES} bytes" in PAGE
    assert TITLE.decode() in PAGE
    assert ", ".join(f"{bit} {name}" for name, bit in AXIS_BITS.items()) in PAGE
    assert sorted(STEPS) == list(range(1, VERSION))
    for version in range(1, VERSION + 1):
        assert re.search(rf"^\| {version} \|", PAGE, re.MULTILINE)
        is_kept = (Path(__file__).parent / "data" / f"version_{version}.h5").exists()
        assert is_kept or version == VERSION
