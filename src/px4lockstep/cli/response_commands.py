"""Declare the commands that measure a control loop: `px4lockstep step` and `px4lockstep chirp`."""

from pathlib import Path
from typing import Annotated

import typer

from px4lockstep.cli.completion import loops
from px4lockstep.cli.declare import JsonOption, PlotsOption, SetOption, SpecArgument, TrustOption, command

responses_app = typer.Typer()

LoopOption = Annotated[
    str,
    typer.Option(
        "--loop",
        metavar="LOOP",
        help="roll_rate, pitch_rate, yaw_rate, roll, pitch, yaw, vel_north, vel_east, vel_down, pos_north, pos_east "
        "or height.",
        autocompletion=loops,
    ),
]
DisturbedOption = Annotated[
    bool, typer.Option("--disturbed", help="Keep wind, gusts, and the noise and bias of the estimate.")
]
SeedOption = Annotated[str | None, typer.Option("--seed", metavar="N", help="Random seed, for --disturbed.")]
FolderOption = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Run folder. Default: runs/NAME-LOOP-TIME.")
]


@command(responses_app, "responses.run_step", "step")
def step(
    spec: SpecArgument,
    loop: LoopOption,
    size: Annotated[
        float | None, typer.Option(metavar="X", help="Size of the step, in °/s, °, m/s or m. Default: by loop.")
    ] = None,
    watch_s: Annotated[
        float | None, typer.Option("--watch", metavar="T", help=r"Time after the step \[s]. Default: by loop.")
    ] = None,
    band: Annotated[float, typer.Option(metavar="X", help="Settling band, in percent of the step.")] = 5.0,
    disturbed: DisturbedOption = False,
    settings: SetOption = None,
    seed: SeedOption = None,
    out: FolderOption = None,
    plots: PlotsOption = True,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure the step response of a control loop: rise time, overshoot, settling time.

    px4lockstep step x500 --loop roll_rate --size 30

    The aircraft takes off, hovers at 20 m, and the setpoint of the loop jumps at 31 s.

    Exit codes: 0 measured, 1 the flight failed, 2 bad input.
    """


@command(responses_app, "responses.run_chirp", "chirp")
def chirp(
    spec: SpecArgument,
    loop: LoopOption,
    amplitude: Annotated[
        float | None, typer.Option(metavar="X", help="Amplitude, in °/s, °, m/s or m. Default: by loop.")
    ] = None,
    start_hz: Annotated[
        float | None, typer.Option("--from", metavar="HZ", help="Lowest frequency. Default: by loop.")
    ] = None,
    end_hz: Annotated[
        float | None, typer.Option("--to", metavar="HZ", help="Highest frequency. Default: by loop.")
    ] = None,
    duration_s: Annotated[
        float | None, typer.Option("--duration", metavar="T", help=r"Duration of the chirp \[s]. Default: by loop.")
    ] = None,
    disturbed: DisturbedOption = False,
    settings: SetOption = None,
    seed: SeedOption = None,
    out: FolderOption = None,
    plots: PlotsOption = True,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure the frequency response of a control loop: Bode plot, bandwidth, phase and gain margin.

    px4lockstep chirp x500 --loop roll_rate

    The aircraft takes off, hovers at 20 m, and from 31 s on the setpoint of the loop is a sine of rising frequency.

    Exit codes: 0 measured, 1 the flight failed, 2 bad input.
    """
