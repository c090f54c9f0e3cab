"""Printed text: nothing from a file can control the terminal or fail to print."""

import io

import pytest

from px4lockstep.cli import campaign
from px4lockstep.cli.console import Console
from px4lockstep.cli.output import print_json, printable, write_err, write_out
from px4lockstep.errors import InputError
from px4lockstep.flights.figure import draw_folder

pytestmark = pytest.mark.fast
NAMES = {
    "\x1b]0;owned\x07": "\\x1b]0;owned\\x07",
    "a\x9bb\x7f\r": "a\\x9bb\\x7f\\r",
    "f\udcff": "f\\udcff",
    "\u202eleft": "\\u202eleft",
    "plain ä τ 😀\n\tx": "plain ä τ 😀\n\tx",
}


@pytest.mark.parametrize("name", NAMES, ids=["escape", "control", "not UTF-8", "direction", "plain"])
def test_names_are_printed_without_control_characters(name, capsys):
    """An ESC in aircraft.name reached the terminal; a name that is not UTF-8 could not be printed."""
    assert printable(name) == NAMES[name]
    assert printable(NAMES[name]) == NAMES[name]
    write_out(name)
    write_err(name)
    assert capsys.readouterr() == (NAMES[name], NAMES[name])


def test_tables_are_printed_without_control_characters():
    """Only the console's own colors remain."""
    written = io.StringIO()
    Console(file=written, force_terminal=True, color_system="standard").print("[red]a\x1b[2Jb\udcff", highlight=False)
    assert written.getvalue() == "\x1b[31ma\\x1b[2Jb\\udcff\x1b[0m\n"


def test_a_text_keeps_its_colons():
    """A name with the code of an emoji is printed as it is."""
    written = io.StringIO()
    Console(file=written, markup=False).print("x500:fire:2")
    assert written.getvalue() == "x500:fire:2\n"


def test_json_has_no_nan(capsys):
    """NaN becomes null."""
    print_json({"speed": float("inf")})
    assert capsys.readouterr().out == '{"speed": null}\n'


DEEP = "a = " + "[" * 100_000
NONSENSE = ["[px4]\nmission_path = 5", '[px4]\nmission_path = ["a"]', "[[px4]]", DEEP, "\0", "[airframe]\nmass_kg = 1"]


@pytest.mark.parametrize("text", NONSENSE, ids=["number", "array", "tables", "deep", "zero", "incomplete"])
def test_plotting_a_run_with_an_invalid_spec_is_an_error(tmp_path, text):
    """These were a TypeError, an AttributeError and a RecursionError of `plot`."""
    (tmp_path / "spec.toml").write_text(text)
    with pytest.raises(InputError, match=r"spec\.toml can't be read as the spec of a run"):
        draw_folder(tmp_path, None)


def test_a_campaign_does_not_repeat_an_outcome_as_its_reason(capsys):
    """Without criteria, the reason of a run that failed is its outcome."""
    worst = [
        {"index": 2, "status": "mission not finished", "why": "mission not finished"},
        {"index": 5, "status": "crashed", "why": "energy_wh 9.1, at most 5"},
    ]
    empty = {"stopped_after": None, "pass_rate": None, "sensitivities": [], "notes": [], "metrics": [], "own_parts": {}}
    counts = {"runs": 6, "runs_asked": 6, "complete": True, "by_status": {"mission not finished": 5, "crashed": 1}}
    campaign._show({"name": "sweep", "campaign_dir": "out", "worst": worst, **empty, **counts}, as_json=False)
    lines = [[cell.strip() for cell in line.split("│")[1:3]] for line in capsys.readouterr().out.splitlines()]
    assert ["worst runs", "run 2: mission not finished"] in lines
    assert ["", "run 5: crashed: energy_wh 9.1, at most 5"] in lines


@pytest.mark.parametrize(("missing", "head"), [(0, False), (3, True)])
def test_the_number_of_missing_values_is_shown_if_there_are_any(capsys, missing, head):
    """Without that column, names of metrics fit into a terminal of 80 columns."""
    mean = {"estimate": 1.0, "low": 0.9, "high": 1.0}
    metric = {"name": "mission_finished", "unit": "", "is_bool": True, "mean_interval": mean, "missing": missing}
    empty = {"stopped_after": None, "pass_rate": None, "sensitivities": [], "notes": [], "own_parts": {}, "worst": []}
    counts = {"runs": 6, "runs_asked": 6, "complete": True, "by_status": {"flown": 6}, "metrics": [metric]}
    campaign._show({"name": "sweep", "campaign_dir": "out", **empty, **counts}, as_json=False)
    assert ("missing" in capsys.readouterr().out) == head
