"""Command lines, run in this process: `argv.json` has the words, the other files are what they name.

Not one of the formats that are mutated: for cases of the corpus that only a command shows.
"""

import contextlib
import io
import json
import sys

from fuzz import expect
from px4lockstep.errors import InputError

FILE = "argv.json"
BAD_INPUT = 2


def write(folder, rng):
    """Write a command that succeeds."""
    assert rng is None
    write_command(folder, "spec", "list")


def write_command(folder, *words):
    """Write a command."""
    (folder / FILE).write_text(json.dumps(words), "utf-8")


def use(folder):
    """Run the command; exit code 2 is a refusal, 0 and 1 are not, anything else is an error."""
    from px4lockstep.cli import main

    words = json.loads((folder / FILE).read_text("utf-8"))
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
    expect(code in (0, 1, BAD_INPUT), f"exit code {code}: {errors.getvalue()[-500:]}")
    expect("Traceback" not in errors.getvalue(), f"a traceback: {errors.getvalue()[-500:]}")
    if code == BAD_INPUT:
        raise InputError(errors.getvalue())
