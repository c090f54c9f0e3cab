"""Declare the commands `px4lockstep campaign ...`."""

from pathlib import Path
from typing import Annotated

import typer

from px4lockstep.cli.declare import (
    ForceOption,
    JsonOption,
    OutOption,
    PlotsOption,
    TrustOption,
    VerboseOption,
    command,
)
from px4lockstep.cli.help import Group

campaign_app = typer.Typer(cls=Group, help="Fly one aircraft many times with varying inputs.", no_args_is_help=True)
CampaignArgument = Annotated[Path, typer.Argument(metavar="DIR", help="A campaign folder.")]


@command(campaign_app, "campaign.run_file", "run")
def campaign_run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The campaign file or, to resume, the campaign folder.")],
    runs: Annotated[int | None, typer.Option(metavar="N", help="Number of runs. Default: as in the file.")] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Number of worker processes. Default: one per processor.")
    ] = None,
    engine: Annotated[
        str, typer.Option(help="local for processes on this machine, dask for a Dask cluster.")
    ] = "local",
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Dask scheduler: tcp://HOST:8786 or tls://HOST:8786. Default: start a cluster on this machine.",
        ),
    ] = None,
    tls_ca: Annotated[
        Path | None, typer.Option("--tls-ca", metavar="FILE", help="CA certificate (PEM) for a tls:// scheduler.")
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="Client certificate (PEM) for a tls:// scheduler.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", metavar="FILE", help="Key (PEM) of the client certificate.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Campaign folder. Default: campaigns/NAME-TIME.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Fly only the runs missing in the folder.")] = False,
    plots: PlotsOption = True,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fly a campaign. Exit codes: 0 flown, even if runs failed; 2 bad input; 129, 130, 143 stopped by a signal."""


@command(campaign_app, "campaign.show_folder", "show")
def campaign_show(folder: CampaignArgument, as_json: JsonOption = False) -> None:
    """Print the results of a campaign, complete or not."""


@command(campaign_app, "campaign.plot_folder", "plot")
def campaign_plot(folder: CampaignArgument, out: OutOption = None, force: ForceOption = False) -> None:
    """Plot the results of a campaign: pass rate, distributions, most influential inputs."""


@command(campaign_app, "campaign.rerun_one", "rerun")
def campaign_rerun(
    folder: CampaignArgument,
    index: Annotated[int, typer.Argument(metavar="INDEX", help="Index of the run, starting at 0.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Run folder. Default: run-INDEX in the campaign folder.")
    ] = None,
    plots: PlotsOption = True,
    trust: TrustOption = False,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
) -> None:
    """Rerun one run, with log, recording and figure. Exit codes: 0 identical, 1 flight differs, 2 bad input."""
