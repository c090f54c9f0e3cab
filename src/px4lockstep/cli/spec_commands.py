"""Declare the commands of `px4lockstep spec`."""

import os
from pathlib import Path
from typing import Annotated

import typer

from px4lockstep.cli.completion import specs
from px4lockstep.cli.declare import CompatOption, ForceOption, SetOption, SpecArgument, command
from px4lockstep.cli.help import Group

spec_app = typer.Typer(cls=Group, help="Write, list, show and check spec files.", no_args_is_help=True)


@spec_app.callback()
def spec_common() -> None:
    """Write, list, show and check spec files."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # nothing is flown here, so nothing needs to be compiled


@command(spec_app, "spec.new_spec", "new")
def spec_new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Spec file to write.")] = Path("aircraft.toml"),
    base: Annotated[
        str, typer.Option(metavar="SPEC", help="Aircraft that the file changes.", autocompletion=specs)
    ] = "x500",
    force: ForceOption = False,
) -> None:
    """Write a spec file to start from, with comments: an aircraft with its mass, wind, mission and events."""


@command(spec_app, "spec.list_specs", "list")
def spec_list() -> None:
    """List the built-in aircraft and missions."""


@command(spec_app, "spec.show_spec", "show")
def spec_show(spec: SpecArgument, settings: SetOption = None, compat: CompatOption = False) -> None:
    """Print a spec with everything it inherits and all defaults."""


@command(spec_app, "spec.check_spec", "check")
def spec_check(spec: SpecArgument, settings: SetOption = None, compat: CompatOption = False) -> None:
    """Check a spec without flying it.

    Exit codes: 0 OK, 2 the spec is invalid.
    """


@command(spec_app, "spec.print_schema", "schema")
def spec_schema() -> None:
    """Print the JSON schema of spec files."""
