"""Declare the commands of experiments."""

from typing import Annotated

import typer

from px4lockstep.cli.declare import (
    CampaignFolderOption,
    JsonOption,
    PlotsOption,
    SetOption,
    SpecArgument,
    TrustOption,
    WorkersOption,
    command,
)

experiments_app = typer.Typer()
AcceptOption = Annotated[
    list[str] | None,
    typer.Option("--accept", metavar="OUTCOME", help='Failed outcome that counts, such as "out of time". Repeatable.'),
]


@command(experiments_app, "sweep.sweep_spec", "sweep")
def sweep(
    spec: Annotated[
        str, typer.Argument(metavar="SPEC", help="Built-in aircraft or spec file; to resume, the folder of the sweep.")
    ],
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUES",
            help="One or two PX4 parameters or keys of the spec: 0.1:0.2:5, 0.01:1:5:log, or values 1,2,3.",
        ),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="METRIC", help="Metric: tracking_rms (default), max:tilt_deg, … Repeatable."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(metavar="N", help="Flights at each point, with different seeds. Default: 1.")
    ] = None,
    settings: SetOption = None,
    accept: AcceptOption = None,
    workers: WorkersOption = None,
    out: CampaignFolderOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Fly only the flights missing in the folder SPEC.")] = False,
    plots: PlotsOption = True,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fly an aircraft over a range of inputs; print a table and draw a figure.

    px4lockstep sweep x500 MC_ROLLRATE_P=0.05:0.3:6 --metric max:tilt_deg

    Exit codes: 0 flown, even if flights failed; 2 bad input; 129, 130, 143 stopped by a signal.
    """


@command(experiments_app, "tune.tune_spec", "tune")
def tune(
    spec: SpecArgument,
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="PARAM=LOW:HIGH", help="PX4 parameters with their ranges, or LOW:HIGH:log."),
    ],
    cost: Annotated[
        list[str] | None,
        typer.Option(
            "--cost",
            metavar="METRIC",
            help="What to minimize: METRIC or WEIGHT*METRIC; several are added. Default: tracking_rms and "
            "rms:motor_spread.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(metavar="N", help="Number of training seeds.")] = 4,
    budget: Annotated[int, typer.Option(metavar="N", help="Number of parameter sets to fly with all seeds.")] = 60,
    held_out: Annotated[
        int, typer.Option("--held-out", metavar="N", help="Number of further seeds, to check the result.")
    ] = 20,
    settings: SetOption = None,
    accept: AcceptOption = None,
    workers: WorkersOption = None,
    out: CampaignFolderOption = None,
    plots: PlotsOption = True,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Search PX4 parameters for the least cost, and check the result with other seeds.

    px4lockstep tune x500 MPC_XY_P=0.5:1.8 MPC_XY_VEL_P_ACC=1.2:4

    Exit codes: 0 improved on the held-out seeds, 1 not improved, 2 bad input; 129, 130, 143 stopped by a signal.
    """
