"""Declare the command of served vehicles."""

from pathlib import Path
from typing import Annotated

import typer

from px4lockstep.cli.declare import JsonOption, SetOption, SpecArgument, TrustOption, command

serve_app = typer.Typer()


@command(serve_app, "serve.serve_spec", "serve")
def serve(
    spec: SpecArgument,
    speed: Annotated[
        str,
        typer.Option(
            metavar="FACTOR",
            help="Simulated time per wall-clock time; max: as fast as possible while a client is connected.",
        ),
    ] = "1",
    instance: Annotated[
        int, typer.Option(metavar="N", help="Number of the vehicle: adds to its ports; its system ID is N + 1.")
    ] = 0,
    count: Annotated[int, typer.Option(metavar="N", help="Number of vehicles, with consecutive instances.")] = 1,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="DIR", help="Folder for run folders. Default: runs.")
    ] = None,
    no_record: Annotated[bool, typer.Option("--no-record", help="Write no run folder.")] = False,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Address to bind. Any other than the loopback lets others command the vehicle."
        ),
    ] = "127.0.0.1",
    view: Annotated[bool, typer.Option("--view", help="Show the vehicle in a browser.")] = False,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Random seed.")] = None,
    settings: SetOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Serve a vehicle to QGroundControl, MAVSDK and other MAVLink programs, until Ctrl-C or SIGTERM.

    Ground stations find it on UDP 14550, applications on UDP 14540 (instance N: 14540 + N), like PX4's simulator.

    Exit codes: 0 ended by Ctrl-C or SIGTERM, 1 the flight failed, 2 bad input.
    """
