"""The command line. Commands import what they need when they run, so that `--help` answers at once."""

import sys

from px4lockstep.cli.app import app
from px4lockstep.errors import InputError, LockstepError


def main() -> None:
    """Run the command line; a user's mistake is a message and an exit code, never a traceback."""
    try:
        app()
    except LockstepError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2 if isinstance(error, InputError) else 1)
