"""Declare a command by its signature; the function that implements it is imported when the command runs."""

import functools
import gc
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from px4lockstep.cli.completion import specs
from px4lockstep.cli.help import PlainCommand

Declared = Callable[..., None]


def command(
    group: typer.Typer, place: str, name: str | None = None, *, is_watched: bool = False
) -> Callable[[Declared], Declared]:
    """Declare a command by its signature and docstring; the function at `place` of this package implements it.

    That function receives the options by name and returns the exit code. An option that is None is not passed on, so
    that function's own default applies. A watched command loads the PX4 library: see `cli.watched`.
    """

    def declare(signature: Declared) -> Declared:
        @functools.wraps(signature)
        def run_command(**options: Any) -> None:
            module, _, function = place.partition(".")
            given = {key: value for key, value in options.items() if value is not None}
            work = functools.partial(getattr(import_module(f"px4lockstep.cli.{module}"), function), **given)
            gc.freeze()  # modules stay until the process ends, so no collection needs to visit them
            gc.enable()
            if is_watched:
                from px4lockstep.cli.watched import in_child

                raise typer.Exit(in_child(work))
            raise typer.Exit(work())

        return group.command(name, cls=PlainCommand)(run_command)

    return declare


JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust", help="Allow code that the file names to run: the PX4 library, parts and metrics in Python."
    ),
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Show the PX4 console on standard error.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
OutOption = Annotated[Path | None, typer.Option("--out", metavar="PATH", help="Output file.")]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", metavar="N", help="Number of worker processes. Default: one per processor.")
]
CampaignFolderOption = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Campaign folder. Default: campaigns/NAME-TIME.")
]
PlotsOption = Annotated[bool, typer.Option("--plots/--no-plots", help="Write figures.")]
SpecArgument = Annotated[
    str,
    typer.Argument(
        metavar="SPEC",
        help="Built-in aircraft (such as x500), spec file, run folder or latest.",
        autocompletion=specs,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="TABLE.KEY=VALUE", help="Override a value of the spec. Can be repeated."),
]
EventOption = Annotated[
    list[str] | None,
    typer.Option(
        "--event", metavar="KEY=VALUE,…", help='Additional event: "at_s=12, action=disable_motor, motor=2". Repeatable.'
    ),
]
CompatOption = Annotated[
    bool, typer.Option("--compat", help="Give omitted keys the defaults of PX4Lockstep.jl, for files written for it.")
]
