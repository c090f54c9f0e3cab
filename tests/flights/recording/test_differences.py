"""The first difference of two flights: row and field, bit for bit, with readable names."""

import json
from dataclasses import replace

import numpy as np
import pytest
from recording_files import tiny

from px4lockstep.engine.log_layout import WHOLE, layout_of
from px4lockstep.flights.recording import differences
from px4lockstep.flights.recording.differences import Difference, FlightRows, first_difference, first_live_difference


def changed(row, **values):
    """Return the rows of a flight with changed values in one row: `changed(3, x=(2, 1.0))`.

    They have all motors and servos; the flight's own rows have those of the aircraft.
    """
    whole = layout_of(WHOLE)
    log, state = whole.rows(whole.words_of(tiny().log)), tiny().log_state.copy()
    for name, (index, value) in values.items():
        if name == "x":
            state[row, index] = value
        elif name in ("motors", "servos"):
            log["inputs"]["command"][name][row, index] = value
        elif name == "wind_ned":
            log["inputs"]["wind_ned"][row, index] = value
        elif name == "time_us":
            log["time_us"][row] = value
        else:
            log["inputs"]["faults"][name][row] = value
    return FlightRows.of(replace(tiny(), log=log, log_state=state))


def rows():
    return FlightRows.of(tiny())


def test_a_flight_does_not_differ_from_itself():
    """Nor do two flights of the same spec, including NaN."""
    assert first_difference(rows(), rows(), tiny().state_names) is None
    assert first_live_difference(tiny(), replace(tiny(), log=tiny().log.copy())) is None
    nan = changed(7, x=(3, np.nan))
    assert first_difference(nan, changed(7, x=(3, np.nan)), tiny().state_names) is None


@pytest.mark.parametrize(
    ("row", "values", "time_us", "name", "second"),
    [
        (0, {"x": (0, 5.0)}, 0, "pos[0]", 5.0),
        (30, {"x": (18, 5.0)}, 300_000, "v1[0]", 5.0),
        (12, {"x": (9, 5.0)}, 120_000, "att[3]", 5.0),
        (12, {"motors": (11, 0.5)}, 120_000, "command.motors[11]", 0.5),
        (12, {"servos": (7, -0.5)}, 120_000, "command.servos[7]", -0.5),
        (3, {"wind_ned": (2, 9.0)}, 30_000, "wind_ned[2]", 9.0),
        (3, {"motor_disabled_mask": (None, 8)}, 30_000, "faults.motor_disabled_mask", 8),
        (3, {"stuck_duty": (None, 0.25)}, 30_000, "faults.stuck_duty[0]", 0.25),
        (4, {"time_us": (None, 40_001)}, 40_000, "time_us", 40_001),
        (3, {"wind_ned": (0, 9.0), "x": (5, 1.0), "motors": (0, 1.0)}, 30_000, "vel[2]", 1.0),
    ],
)
def test_the_first_field_that_differs_is_named(row, values, time_us, name, second):
    """In the order of the digest: time, states, motors, servos, wind, faults."""
    found = first_difference(rows(), changed(row, **values), tiny().state_names)
    assert (found.time_us, found.field, found.second) == (time_us, name, second)
    other_way = first_difference(changed(row, **values), rows(), tiny().state_names)
    assert (other_way.field, other_way.first, other_way.second) == (name, found.second, found.first)


def test_one_bit_is_a_difference():
    """The sign of a zero, and the last bit of a number."""
    found = first_difference(rows(), changed(5, motors=(11, -0.0)), tiny().state_names)
    assert (found.field, str(found.first), str(found.second)) == ("command.motors[11]", "0.0", "-0.0")
    value = tiny().log_state[9, 17]
    found = first_difference(rows(), changed(9, x=(17, np.nextafter(value, 2.0))), tiny().state_names)
    assert (found.time_us, found.field) == (90_000, "soc[0]")


def test_a_longer_flight_differs_where_the_shorter_ends():
    """With the numbers of rows."""
    shorter = FlightRows.of(tiny(), 20)
    assert first_difference(rows(), shorter, tiny().state_names) == Difference(200_000, "rows", 31, 20)
    assert first_difference(shorter, rows(), tiny().state_names) == Difference(200_000, "rows", 20, 31)
    earlier = first_difference(shorter, changed(6, x=(1, 1.0)), tiny().state_names)
    assert (earlier.time_us, earlier.field) == (60_000, "pos[1]")


@pytest.mark.parametrize("rows_per_chunk", [1, 7, 30, 31, 32])
def test_the_chunk_size_has_no_effect(rows_per_chunk, monkeypatch):
    """Wherever the row is within a chunk."""
    monkeypatch.setattr(differences, "ROWS_PER_CHUNK", rows_per_chunk)
    for row in (0, 6, 7, 29, 30):
        found = first_difference(rows(), changed(row, x=(2, 7.0)), tiny().state_names)
        assert (found.time_us, found.field) == (10_000 * row, "pos[2]")
    assert first_difference(rows(), rows(), tiny().state_names) is None


def test_estimate_and_setpoints_are_compared_separately():
    """The rows of the flight do not contain them."""
    log = tiny().log.copy()
    log["bus"]["autopilot"]["q_sp"][8, 3] = 0.5
    found = first_live_difference(tiny(), replace(tiny(), log=log))
    assert (found.time_us, found.field, found.second) == (80_000, "autopilot.q_sp[3]", 0.5)
    log["bus"]["estimate"]["is_valid"][8] = 0.0
    assert first_live_difference(tiny(), replace(tiny(), log=log)).field == "estimate.is_valid"
    assert first_difference(rows(), FlightRows.of(replace(tiny(), log=log)), tiny().state_names) is None


def test_a_difference_can_be_printed_and_converted_to_json():
    """JSON has no NaN, so it becomes null."""
    found = Difference(40_000, "vel[0]", float("nan"), 0.1)
    assert str(found) == "t = 0.040000 s in vel[0]: nan vs 0.1"
    told = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert told == {"time_us": 40_000, "field": "vel[0]", "first": None, "second": 0.1}
    assert replace(found, first=1.0).as_dict()["first"] == 1.0
