"""Commands of a run in memory and in a file are the same."""

import copy
import math
import pickle
import shutil

import pytest

from px4lockstep.engine.given_commands import RECENT, GivenCommands
from px4lockstep.errors import SimulationError
from px4lockstep.scenario.commands import (
    Arm,
    CommandResult,
    CommandRow,
    Hold,
    Item,
    SetMission,
    Setpoint,
    SetWind,
    rows_of,
    text_of,
)

COUNT = 3 * RECENT + 7


def row(i):
    """Return a row: many setpoints, and now and then something else."""
    commands = {
        5: Arm(force=True),
        6: Hold(),
        7: SetMission((Item(6, 22, (0.0, math.nan, -0.0, 1e-300), 47.1, 8.5, math.inf),), 3),
        8: SetWind((0.1, 0.2, 0.3)),
    }
    command = commands.get(i % 1_000, Setpoint(pos_ned=(0.1 * i, math.nan, -1.0 / 3.0), yaw_rad=0.01 * i))
    result = CommandResult(1, 'no: "command":"Arm"\n é') if i % 1_000 == 6 else CommandResult()
    return CommandRow(4_000 * i, command, result, round(0.001 * i, 6))


@pytest.fixture
def rows():
    return [row(i) for i in range(COUNT)]


@pytest.fixture
def held(rows, tmp_path):
    """Commands of which most are only in the file."""
    made = GivenCommands(rows[:3])
    made.hold(tmp_path / "commands.jsonl")
    for i in range(3, COUNT):
        made.extend([rows[i]])
    return made


def test_commands_in_a_file_are_those_that_were_given(held, rows, tmp_path):
    """Also in the file itself, at any time; equality of the texts includes NaN, which is not equal to itself."""
    assert len(held) == COUNT
    assert len(held._recent) <= 2 * RECENT
    assert text_of(held) == held.text == text_of(rows) == (tmp_path / "commands.jsonl").read_text("utf-8")
    assert text_of(rows_of(held.text, "commands")) == held.text


@pytest.mark.parametrize("count", [0, 10, COUNT - 1_500, COUNT - 3, COUNT])
def test_later_commands_are_returned_from_memory_or_file(held, rows, count):
    assert text_of(held.since(count)) == text_of(rows[count:])


def test_commands_of_a_kind_are_found(held, rows):
    """Not those whose result quotes such a line."""
    for kinds in ((Arm,), (Hold, SetMission), (Setpoint,), ()):
        expected = [row for row in rows if isinstance(row.command, kinds)]
        assert text_of(held.of(kinds)) == text_of(GivenCommands(rows).of(kinds)) == text_of(expected)


def test_commands_can_leave_the_file(held, rows, tmp_path):
    held.leave()
    shutil.rmtree(tmp_path)
    assert text_of(held) == text_of(rows)
    assert rows[5] in held


def test_copies_are_independent_tuples(held, rows):
    for made in (copy.deepcopy(held), pickle.loads(pickle.dumps(held))):
        assert isinstance(made, tuple)
        assert text_of(made) == text_of(rows)


def test_commands_can_be_replaced(held, rows, tmp_path):
    """By those before a checkpoint."""
    held.replace(rows[:2_500])
    held.extend(rows[2_600:])
    expected = text_of([*rows[:2_500], *rows[2_600:]])
    assert text_of(held) == expected == (tmp_path / "commands.jsonl").read_text("utf-8")


def test_a_file_that_cannot_be_written_is_an_error(rows, tmp_path):
    made = GivenCommands()
    made.hold(tmp_path / "missing" / "commands.jsonl")
    with pytest.raises(SimulationError, match="can't be written: No such file"):
        made.extend(rows[:1])
