"""The help: brackets survive the markup, commands are in order, flags have no type, -h and -V work."""

import re
import sys

import pytest
import typer
from rich.text import Text

from px4lockstep import __version__
from px4lockstep.cli import main
from px4lockstep.cli.app import app
from px4lockstep.cli.help import GROUPS, ORDER


def all_commands(command, path=()):
    """Yield every command and group with its path."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from all_commands(inner, (*path, name))


COMMANDS = dict(all_commands(typer.main.get_command(app)))


def shown(*arguments, capsys, monkeypatch):
    """Run the command line in this process and return what it printed."""
    monkeypatch.setattr(sys, "argv", ["px4lockstep", *arguments])
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_no_help_text_loses_brackets_to_markup(path):
    """Rich takes `[s]` for a style unless it is escaped."""
    command = COMMANDS[path]
    texts = [command.help or "", *(param.help or "" for param in command.params)]
    for text in texts:
        assert Text.from_markup(text).plain == text.replace("\\[", "["), text
        assert "[" not in re.sub(r"\\\[", "", text), text


def test_branch_help_has_the_unit_of_its_time(capsys, monkeypatch):
    """As it is printed."""
    assert "Time at which to leave the recorded flight [s]." in shown(
        "branch", "--help", capsys=capsys, monkeypatch=monkeypatch
    )


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_flags_have_no_type_and_arguments_no_braces(path, capsys, monkeypatch):
    """With -h as with --help."""
    text = shown(*path, "-h", capsys=capsys, monkeypatch=monkeypatch)
    assert text == shown(*path, "--help", capsys=capsys, monkeypatch=monkeypatch)
    assert "<bool>" not in text
    assert not re.search(r"[{}]", text)


def test_compare_names_its_argument_as_the_others_do(capsys, monkeypatch):
    """RUN, in capitals."""
    assert "compare [OPTIONS] RUN" in shown("compare", "-h", capsys=capsys, monkeypatch=monkeypatch)


def test_commands_are_in_the_order_of_their_use(capsys, monkeypatch):
    """In groups, `run` first, checks of the program last; every command has a place in the order."""
    text = shown("--help", capsys=capsys, monkeypatch=monkeypatch)
    listed = re.findall(r"^│ (\w+) ", text, re.MULTILINE)
    assert listed == ORDER
    assert listed[0] == "run"
    assert re.findall(r"^╭─ (.*?) ─+╮$", text, re.MULTILINE) == ["Options", *GROUPS]
    assert sorted(ORDER) == sorted(COMMANDS[()].commands)


def test_version_has_a_short_option(capsys, monkeypatch):
    """-V is --version."""
    for option in ("-V", "--version"):
        assert shown(option, capsys=capsys, monkeypatch=monkeypatch) == f"{__version__}\n"
