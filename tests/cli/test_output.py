"""Printed text: nothing from a file can control the terminal or fail to print."""

import io

import pytest

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
    with pytest.raises(InputError, match=r"spec\.toml is not a valid spec of a run"):
        draw_folder(tmp_path, None)
