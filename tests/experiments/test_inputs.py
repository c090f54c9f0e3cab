"""Inputs of experiments: keys, values and ranges as they are written on the command line."""

import re

import numpy as np
import pytest

from px4lockstep.errors import InputError
from px4lockstep.experiments.inputs import Scale, by_name, key_of, label_of, ranges_of, values_of

P = "MC_ROLLRATE_P"


def test_a_px4_parameter_is_a_key_of_the_autopilot():
    """Other names are keys of the spec; the label of a parameter is its name again."""
    assert key_of(P) == f"autopilot.params.{P}"
    assert label_of(key_of(P)) == P
    assert key_of("environment.wind") == label_of("environment.wind") == "environment.wind"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.1:0.2:5", (0.1, 0.125, 0.15, 0.175, 0.2)),
        ("0.1:0.3:3", (0.1, 0.2, 0.3)),  # without rounding, the middle would be 0.20000000000000001
        ("1:4:4", (1, 2, 3, 4)),
        ("1:2:3", (1.0, 1.5, 2.0)),
        ("2:-2:3", (2, 0, -2)),
        ("0.01:1:3:log", (0.01, 0.1, 1.0)),
        ("0.1,0.2", (0.1, 0.2)),
        ("3", (3,)),
        ("none, dryden", ("none", "dryden")),
        ("[0,1],[2.5, 3]", ((0, 1), (2.5, 3))),
        ('"a,b",c', ("a,b", "c")),
        ("true,false", (True, False)),
    ],
)
def test_values_on_the_command_line(text, values):
    """Ranges include both ends; whole numbers stay whole if all values are."""
    found = values_of("some.key", text)
    assert found == values
    assert list(map(type, found)) == list(map(type, values))


def test_values_in_python():
    """Any sequence; NumPy numbers become Python numbers."""
    assert values_of(P, np.linspace(0.0, 1.0, 3)) == (0.0, 0.5, 1.0)
    assert values_of(P, [1, 2]) == (1, 2)


def test_times_are_whole_microseconds():
    """Otherwise the spec would reject them; speeds and others keep their digits."""
    assert values_of("scenario.events[0].at_s", "0:1:4") == (0.0, 0.333333, 0.666667, 1.0)
    assert values_of("a.speed_m_s", "0:1:4")[1] == 0.333333333333


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.1:0.2", "is not a range; write A:B:N"),
        ("0.1:0.2:x", "is not a range; write A:B:N"),
        ("0.1-0.2", "[an, array]; for a range, write A:B:N"),
        ("0.1:0.2:1", "has 1 values; there must be 2 to 10,000"),
        ("0.1:0.1:3", "both ends must be different finite numbers"),
        ("0:1:3:log", "both ends of a logarithmic range must be above 0"),
        ("1e400:1:3", "both ends must be different finite numbers"),
        ("1,1", "has the value 1 twice"),
        ("a b", "is not a value"),
    ],
)
def test_wrong_values_are_errors_that_say_what_to_write(text, message):
    with pytest.raises(InputError, match=re.escape(message)):
        values_of(P, text)


@pytest.mark.parametrize("text", ["MC_P", "=1", "MC_P=", ""])
def test_an_argument_needs_key_and_values(text):
    with pytest.raises(InputError, match="is not KEY=VALUES"):
        by_name([text])


def test_a_key_is_given_once():
    assert by_name(["A=1,2", "b.c=3"]) == {"A": "1,2", "b.c": "3"}
    with pytest.raises(InputError, match="A is given twice"):
        by_name(["A=1", "A=2"])


def test_a_searched_value_is_short_and_within_its_limits():
    """Six significant digits, so that files have exactly what was flown; both ends are exact."""
    [own] = ranges_of({P: "0.0123456789:0.3"})
    assert own.value(0.0) == 0.0123456789
    assert own.value(1.0) == own.value(2.0) == 0.3
    assert own.value(1 / 3) == 0.108230
    [log] = ranges_of({P: "0.01:1:log"})
    assert log.value(0.5) == 0.1
    assert log.scale.place(0.1) == pytest.approx(0.5, abs=1e-15)
    [whole] = ranges_of({"COM_X": (1, 4)}, whole=["autopilot.params.COM_X"])
    assert [whole.value(u) for u in (0.0, 0.4, 1.0)] == [1, 2, 4]
    assert Scale(0.0, 2.0).place(5.0) == 1.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("0.3:0.1", "the low end must be below the high end"),
        ("0.1:0.2:5", "write LOW:HIGH"),
        ((0.1,), "write LOW:HIGH"),
        ("0:1:log", "must be above 0"),
    ],
)
def test_wrong_ranges_are_errors(given, message):
    with pytest.raises(InputError, match=message):
        ranges_of({P: given})
