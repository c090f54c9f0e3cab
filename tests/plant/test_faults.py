"""Fault kinds are described in one place, and a new kind does not change flights without it."""

import numpy as np
import pytest

from px4lockstep.engine.digest import flight_digest
from px4lockstep.flights.recording.contents import layout_difference, with_later_faults, without_later_faults
from px4lockstep.jit import interpreted, record, view
from px4lockstep.log.events import events_of
from px4lockstep.log.log import Log
from px4lockstep.log.schema import COLUMNS
from px4lockstep.plant.faults import (
    ALL_SENSORS,
    FAULTS,
    FIRST,
    FLAG,
    FRACTIONS,
    KINDS,
    MOTOR_MASK,
    NUMBERS,
    SENSOR_MASK,
    fault_changed,
    wrong_fault,
)
from px4lockstep.plant.inputs import INPUT
from px4lockstep.plant.layout import MAX_MOTORS

N_MOTORS = 4
WRONG = {MOTOR_MASK: 1 << N_MOTORS, SENSOR_MASK: 2 * ALL_SENSORS, FLAG: 2, FRACTIONS: 1.5}
SET = {MOTOR_MASK: 1, SENSOR_MASK: 1, FLAG: 1, FRACTIONS: 0.5}


def write(faults, fault, value):
    """Write a value of one kind, for the last motor if the kind has one value per motor."""
    if fault.form == FRACTIONS:
        faults[fault.name][0, N_MOTORS - 1] = value
    else:
        faults[fault.name] = value


@pytest.mark.parametrize("fault", KINDS, ids=lambda fault: fault.name)
def test_every_kind_is_checked_compared_and_logged(fault):
    """The kernels name the fields, so this test detects a kind that is missing in one of them."""
    faults, none = np.zeros(1, FAULTS), np.zeros(1, FAULTS)
    write(faults, fault, SET[fault.form])
    assert interpreted(wrong_fault)(view(faults, writable=True), N_MOTORS) == -1
    assert interpreted(fault_changed)(view(faults, writable=True), view(none, writable=True))
    assert not interpreted(fault_changed)(view(faults, writable=True), view(faults.copy(), writable=True))
    write(faults, fault, WRONG[fault.form])
    assert KINDS[interpreted(wrong_fault)(view(faults, writable=True), N_MOTORS)] is fault
    assert [column.source for column in COLUMNS if column.name == fault.name] == [f"inputs.faults.{fault.name}"]


def test_the_first_kinds_never_change():
    """Their names and order are those of version 0.1 and part of every golden digest."""
    assert FAULTS.names[:7] == FIRST
    assert tuple(NUMBERS) == tuple(fault.name for fault in KINDS)


# -- a made-up kind, appended to the record ---------------------------------------------------------------------------


def with_fields(*more):
    """Return the layout of a log's rows with further faults."""
    faults = record([(name, FAULTS[name].base, FAULTS[name].shape) for name in FIRST] + list(more))
    inputs = [(name, faults if name == "faults" else INPUT[name].base, INPUT[name].shape) for name in INPUT.names]
    return record([("time_us", "u8"), ("inputs", record(inputs))])


OLD = with_fields()
NEW = with_fields(("made_up", "f8", MAX_MOTORS))
NEWER = with_fields(("made_up", "f8", MAX_MOTORS), ("another", "i8"))


def rows_of(dtype, made_up=0.0, another=0):
    """Return rows of a log and a state, with a fault of each kind."""
    rows = np.zeros(1_200, dtype)
    rows["time_us"] = np.arange(1_200)
    rows["inputs"]["faults"]["stuck_duty"][700:, 2] = 0.25
    rows["inputs"]["faults"]["motor_stuck_mask"][700:] = 4
    if "made_up" in rows["inputs"]["faults"].dtype.names:
        rows["inputs"]["faults"]["made_up"][900:, 1] = made_up
    if "another" in rows["inputs"]["faults"].dtype.names:
        rows["inputs"]["faults"]["another"][1_000:] = another
    return rows


def digest(dtype, **values):
    rows = rows_of(dtype, **values)
    return flight_digest(rows, np.linspace(0.0, 1.0, 2_400).reshape(1_200, 2))


def test_a_later_kind_is_in_the_digest_only_where_it_occurs():
    """This does not depend on kinds that are added after it."""
    assert digest(NEW) == digest(NEWER) == digest(OLD)
    used = digest(NEW, made_up=0.5)
    assert used != digest(OLD)
    assert used != digest(NEW, made_up=0.25)
    assert digest(NEWER, made_up=0.5) == used
    assert len({used, digest(NEWER, made_up=0.5, another=1), digest(NEWER, another=1)}) == 3


def test_a_recording_without_a_later_kind_is_read_with_zeros():
    """Other differences of the layout are reported by the layout check."""
    later = ("made_up", "another")
    for dtype in (OLD, NEW):
        read = with_later_faults(rows_of(dtype), NEWER, later)
        assert read.dtype == NEWER
        assert read.tobytes() == rows_of(NEWER).tobytes()
    assert without_later_faults(NEWER, later) == without_later_faults(OLD, later) == OLD
    renamed = record([("time", "u8"), ("inputs", OLD["inputs"])])
    for other in (renamed, with_fields(("unknown", "i8"))):
        kept = with_later_faults(np.zeros(3, other), NEWER, later)
        assert kept.dtype == other
        assert layout_difference(NEWER, kept.dtype, "log/rows") is not None


def test_a_fraction_with_labels_creates_events(monkeypatch):
    """A kind without a mask begins when its fraction becomes nonzero and ends when it returns to 0."""
    from px4lockstep.log import events
    from px4lockstep.plant.faults import Fault

    thrust_loss = Fault("thrust_loss", FRACTIONS, "the lost fraction", "motor {} worn", "motor {} replaced")
    monkeypatch.setattr(events, "KINDS", (thrust_loss,))
    fractions = np.zeros((4, 4))
    fractions[1:3, 2] = 0.5
    fractions[2, 0] = 0.1
    found = events_of(Log({"time_us": np.arange(4), "thrust_loss": fractions}))
    assert [(event.time_us, event.label, event.is_fault) for event in found] == [
        (1, "motor 3 worn", True),
        (2, "motor 1 worn", True),
        (3, "motor 1 replaced", False),
        (3, "motor 3 replaced", False),
    ]
