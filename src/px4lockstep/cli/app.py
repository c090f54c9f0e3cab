"""The commands and their options; what they do is in a module each."""

from typing import Annotated

import typer

from px4lockstep import __version__

app = typer.Typer(
    help="Deterministic, fast flight simulation for PX4, in lockstep.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON to standard output and nothing else.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Deterministic, fast flight simulation for PX4, in lockstep."""


@app.command()
def verify(as_json: JsonOption = False) -> None:
    """Check the integrators against problems with known solutions; exit with 1 if any check fails."""
    from px4lockstep.cli.verify import run_verify

    raise typer.Exit(run_verify(as_json))


@app.command()
def bench(as_json: JsonOption = False) -> None:
    """Measure speed, as times real time and beside the same plant in C."""
    from px4lockstep.cli.bench import run_bench

    raise typer.Exit(run_bench(as_json))
