"""Run the command line: `python -m px4lockstep`."""

from px4lockstep.cli import program

program()
