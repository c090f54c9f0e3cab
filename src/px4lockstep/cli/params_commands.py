"""Declare the commands of `px4lockstep params`."""

import os
from typing import Annotated

import typer

from px4lockstep.cli.completion import runs_and_files
from px4lockstep.cli.declare import JsonOption, command
from px4lockstep.cli.help import ListGroup

params_app = typer.Typer(cls=ListGroup, help="List and compare PX4 parameters.")


@params_app.callback()
def params_common() -> None:
    """List and compare PX4 parameters: `params PATTERN` is short for `params list PATTERN`."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"


@command(params_app, "params.list_params", "list")
def params_list(
    pattern: Annotated[
        str | None, typer.Argument(metavar="PATTERN", help="Part of a name, or a pattern such as MPC_*. Default: all.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List parameters: default, range, unit, and on which autopilots they have an effect."""


ParamsArgument = typer.Argument(
    help="Parameter file (.params), run folder, latest, recording, spec file or built-in aircraft.",
    autocompletion=runs_and_files,
)


@command(params_app, "params.diff_params", "diff")
def params_diff(
    a: Annotated[str, ParamsArgument],
    b: Annotated[str, ParamsArgument],
    as_json: JsonOption = False,
) -> None:
    """Compare the parameters of two files, runs or specs.

    Exit codes: 0 all common parameters are equal, 1 some differ, 2 bad input.
    """
