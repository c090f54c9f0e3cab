"""Declare the commands `px4lockstep campaign ...`."""

from pathlib import Path
from typing import Annotated

import typer

from px4lockstep.cli.completion import campaigns, specs
from px4lockstep.cli.declare import (
    CampaignFolderOption,
    ForceOption,
    JsonOption,
    OutOption,
    PlotsOption,
    TrustOption,
    VerboseOption,
    WorkersOption,
    command,
)
from px4lockstep.cli.help import Group

campaign_app = typer.Typer(cls=Group, help="Fly one aircraft many times with varying inputs.", no_args_is_help=True)
CampaignArgument = Annotated[
    str, typer.Argument(metavar="DIR", help="A campaign folder, or latest.", autocompletion=campaigns)
]


@command(campaign_app, "campaign.init_file", "init")
def campaign_init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Campaign file to write.")] = Path("campaign.toml"),
    base: Annotated[
        str, typer.Option(metavar="SPEC", help="Aircraft to fly: built-in, or a spec file.", autocompletion=specs)
    ] = "x500",
    force: ForceOption = False,
) -> None:
    """Write a campaign file to start from, with comments: inputs, metrics and pass criteria."""


@command(campaign_app, "campaign.run_file", "run")
def campaign_run(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The campaign file or, to resume, the campaign folder or latest.")
    ],
    runs: Annotated[int | None, typer.Option(metavar="N", help="Number of runs. Default: as in the file.")] = None,
    workers: WorkersOption = None,
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
    out: CampaignFolderOption = None,
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
