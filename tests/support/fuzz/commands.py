"""Command lines, run in this process if possible: `argv.json` has the words; the other files are those they name.

Not one of the mutated formats: for corpus cases that only a command shows.
"""

import contextlib
import io
import json
import subprocess
import sys

from fuzz import expect
from px4lockstep.errors import InputError

FILE = "argv.json"
BAD_INPUT = 2
FORKING = ("uorb",)
"""Commands that do their work in a child: they get a process of their own."""


def write(folder, rng):
    """Write a command that succeeds."""
    assert rng is None
    write_command(folder, "spec", "list")


def write_command(folder, *words):
    """Write a command."""
    (folder / FILE).write_text(json.dumps(words), "utf-8")


def use(folder):
    """Run the command; exit code 2 is a rejection, 0 and 1 are not, anything else is an error."""
    words = json.loads((folder / FILE).read_text("utf-8"))
    code, errors = _in_process(folder, words) if words[0] in FORKING else _here(folder, words)
    expect(code in (0, 1, BAD_INPUT), f"exit code {code}: {errors[-500:]}")
    expect("Traceback" not in errors, f"a traceback: {errors[-500:]}")
    if code == BAD_INPUT:
        raise InputError(errors)


def _in_process(folder, words):
    command = [sys.executable, "-m", "px4lockstep", *words]
    finished = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return finished.returncode, finished.stderr


def _here(folder, words):
    from px4lockstep.cli import main

    errors = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        before, sys.argv = sys.argv, ["px4lockstep", *words]
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code
        finally:
            sys.argv = before
    return code, errors.getvalue()
