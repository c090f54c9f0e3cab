"""The bus schema: a new layout needs a new version."""

import numpy as np
import pytest

from px4lockstep.engine.bus import BUS, BUS_SCHEMA_VERSION, layout_hash
from px4lockstep.engine.core import LOG_ROW, SIM
from px4lockstep.engine.streams import REPLAYED
from px4lockstep.flights.recording.contents import without_later_faults
from px4lockstep.jit import record


def test_the_layout_matches_the_schema_version():
    """After a change of the bus, increment the version, then update this hash. Later kinds of faults do not count."""
    assert (BUS_SCHEMA_VERSION, layout_hash(without_later_faults(BUS))) == (2, "77fe3e6d0fbb43fe")


def test_the_hash_covers_names_types_shapes_and_nesting():
    """Any difference in the interpretation of bytes changes the hash."""
    inner = record([("x", "f8", 3)])
    layouts = [
        record([("a", "f8"), ("b", inner)]),
        record([("a", "i8"), ("b", inner)]),
        record([("c", "f8"), ("b", inner)]),
        record([("b", inner), ("a", "f8")]),
        record([("a", "f8"), ("b", record([("y", "f8", 3)]))]),
        record([("a", "f8"), ("b", record([("x", "f8", 4)]))]),
        record([("a", "f8"), ("b", inner, 1)]),
    ]
    assert len({layout_hash(layout) for layout in layouts}) == len(layouts)
    assert layout_hash(layouts[0]) == layout_hash(record([("a", "f8"), ("b", inner)]))


@pytest.mark.parametrize("dtype", [SIM, LOG_ROW, *(stream.dtype for stream in REPLAYED)])
def test_records_have_no_padding(dtype):
    """The packed and aligned layouts are the same, so bytes can be compared."""

    def packed_size(part):
        if part.subdtype is not None:
            return packed_size(part.subdtype[0]) * int(np.prod(part.subdtype[1]))
        if part.names is None:
            return part.itemsize
        return sum(packed_size(part[name]) for name in part.names)

    assert packed_size(dtype) == dtype.itemsize
