"""The commands and their options; what they do is in a module each, which is imported when the command runs."""

import functools
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from px4lockstep import __version__

app = typer.Typer(
    help="Deterministic, fast flight simulation for PX4, in lockstep.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Declared = Callable[..., None]


def command(
    group: typer.Typer, place: str, name: str | None = None, *, is_watched: bool = False
) -> Callable[[Declared], Declared]:
    """Declare a command by its signature and docstring; the function at `place` of this package does it.

    That function takes the options by their names and returns the exit code. An option that was left out and has no
    default here has that function's own. A command that is watched loads PX4's library: see `cli.watched`.
    """

    def declare(signature: Declared) -> Declared:
        @functools.wraps(signature)
        def run_command(**options: Any) -> None:
            module, _, function = place.partition(".")
            given = {key: value for key, value in options.items() if value is not None}
            work = functools.partial(getattr(import_module(f"px4lockstep.cli.{module}"), function), **given)
            if is_watched:
                from px4lockstep.cli.watched import in_child

                raise typer.Exit(in_child(work))
            raise typer.Exit(work())

        return group.command(name)(run_command)

    return declare


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


@command(app, "verify.run_verify")
def verify(as_json: JsonOption = False) -> None:
    """Check the integrators against problems with known solutions; exit with 1 if any check fails."""


@command(app, "bench.run_bench")
def bench(as_json: JsonOption = False) -> None:
    """Measure speed, as times real time and beside the same plant in C."""


SpecArgument = Annotated[
    str, typer.Argument(metavar="SPEC", help="The name of an aircraft that ships (iris), or the path of a file.")
]
FolderArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="TABLE.KEY=VALUE", help="Change a value; may be repeated.")
]
TrustOption = Annotated[
    bool, typer.Option("--trust", help="Run the code that the file names: PX4's library, metrics in Python.")
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Show what real PX4 prints, on standard error.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]
OutOption = Annotated[Path | None, typer.Option("--out", metavar="PATH", help="Where to write.")]


@command(app, "run.run_spec")
def run(
    spec: SpecArgument,
    settings: SetOption = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="Random seed.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The run folder; runs/NAME-TIME if left out.")] = None,
    plots: Annotated[bool, typer.Option("--plots/--no-plots", help="Whether to draw the flight.")] = True,
    trust: TrustOption = False,
    verbose: VerboseOption = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fly an aircraft file. Exit: 0 flown, 1 the flight failed, 2 bad input; 129, 130, 143 stopped by a signal."""


RecordedArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or a recording.")]
PlotsOption = Annotated[bool, typer.Option("--plots/--no-plots", help="Whether to draw.")]


@command(app, "replay.replay_run")
def replay(
    recorded: RecordedArgument,
    integrator: Annotated[
        str | None, typer.Option(metavar="KIND", help="Euler, RK4, RK23 or RK45; as recorded if left out.")
    ] = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Integrate a recorded flight anew. Exit: 0 the same, or changed on purpose; 1 it differs, 2 bad input."""


@command(app, "branch.branch_run")
def branch(
    recorded: RecordedArgument,
    at_s: Annotated[float, typer.Option("--at", metavar="T", help="When to leave the recorded flight [s].")],
    settings: SetOption = None,
    events: Annotated[
        list[str] | None,
        typer.Option("--event", metavar="KEY=VALUE,…", help="A further event: at_s=40,action=return; may be repeated."),
    ] = None,
    count: Annotated[int, typer.Option(metavar="N", help="How many; each after the first has a seed of its own.")] = 1,
    out: Annotated[Path | None, typer.Option("--out", metavar="PATH", help="The folder of the branches.")] = None,
    plots: PlotsOption = True,
    force: ForceOption = False,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fly on from a recorded moment, with changes. Exit: 0 flown, 1 a branch failed, 2 bad input."""


@command(app, "diff.diff_runs")
def diff(
    first: Annotated[Path, typer.Argument(metavar="RUN_A", help="A run folder.")],
    second: Annotated[Path, typer.Argument(metavar="RUN_B", help="Another.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="PATH", help="The picture; diff.png in RUN_B if left out.")
    ] = None,
    plots: PlotsOption = True,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Set two flights side by side. Exit: 0 the same flight, 1 they differ, 2 bad input."""


@command(app, "determinism.run_determinism")
def determinism(
    spec: SpecArgument,
    runs: Annotated[int, typer.Option(help="How many fresh processes fly it as usual.")] = 2,
    settings: SetOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fly in many ways (fresh, interpreted, generic CPU, workers) and compare to the bit; exit with 1 if any differ."""


@command(app, "folders.plot_run")
def plot(folder: FolderArgument, out: OutOption = None, force: ForceOption = False) -> None:
    """Draw the flight in a run folder."""


@command(app, "folders.export_run")
def export(
    folder: FolderArgument,
    to: Annotated[str, typer.Option("--format", help="csv or parquet.")] = "csv",
    out: OutOption = None,
    columns: Annotated[str | None, typer.Option(help="Names with commas between them; all if left out.")] = None,
    force: ForceOption = False,
) -> None:
    """Write the log of a run folder as CSV or Parquet."""


@command(app, "compare.compare_run")
def compare(
    run: Annotated[Path, typer.Argument(help="A run folder, or the file of a recording.")],
    integrators: Annotated[str, typer.Option(help="Their names, with commas between them.")] = "Euler,RK4,RK23,RK45",
    reference: Annotated[str, typer.Option(help="What is taken as exact, with tolerances of 1e-10.")] = "RK45",
    local_defect: Annotated[
        bool, typer.Option("--local-defect", help="Also start each interval of the log from the reference's state.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder for tables and pictures; RUN, or this one, if left out.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Replay a recorded flight with several integrators, and say what each costs and how wrong it is."""


@command(app, "doctor.run_doctor")
def doctor(as_json: JsonOption = False) -> None:
    """Say what this installation has: versions, processor, cache, PX4."""


@command(app, "trust.change_trust", "trust")
def trust_command(
    folder: Annotated[Path | None, typer.Argument(metavar="DIR", help="The folder to trust.")] = None,
    remove: Annotated[Path | None, typer.Option("--remove", metavar="DIR", help="No longer trust a folder.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="Print the folders that are trusted.")] = False,
) -> None:
    """Trust a folder: files in it may name code to run, such as PX4's library or metrics in Python."""


spec_app = typer.Typer(help="The aircraft files.", no_args_is_help=True)
app.add_typer(spec_app, name="spec")


@spec_app.callback()
def spec_common() -> None:
    """The aircraft files."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # nothing flies here: what is built is the same, and nothing is compiled


@command(spec_app, "spec.list_specs", "list")
def spec_list() -> None:
    """List the aircraft and missions that ship with the package."""


@command(spec_app, "spec.show_spec", "show")
def spec_show(spec: SpecArgument, settings: SetOption = None) -> None:
    """Print an aircraft file with all that it inherits and all defaults."""


@command(spec_app, "spec.check_spec", "check")
def spec_check(spec: SpecArgument, settings: SetOption = None) -> None:
    """Check an aircraft file; exit with 2 if anything is wrong."""


@command(spec_app, "spec.print_schema", "schema")
def spec_schema() -> None:
    """Print the JSON schema of aircraft files."""


uorb_app = typer.Typer(help="PX4's uORB messages.", no_args_is_help=True)
app.add_typer(uorb_app, name="uorb")
LibOption = Annotated[
    Path | None, typer.Option("--lib", metavar="PATH", help="PX4's library, or the folder it was built in.")
]
MsgOption = Annotated[Path | None, typer.Option("--msg", metavar="FOLDER", help="The folder msg of PX4's sources.")]


@command(uorb_app, "uorb.list_topics", "list", is_watched=True)
def uorb_list(lib: LibOption = None, msg: MsgOption = None, as_json: JsonOption = False) -> None:
    """List topics with size and hash: those that ship, those of --msg, or as --lib has them."""


@command(uorb_app, "uorb.show_topic", "show", is_watched=True)
def uorb_show(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="vehicle_status, for example.")],
    lib: LibOption = None,
    msg: MsgOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show where each field of a topic's message is."""


@command(uorb_app, "uorb.verify_topics", "verify", is_watched=True)
def uorb_verify(lib: LibOption = None, msg: MsgOption = None, as_json: JsonOption = False) -> None:
    """Check all layouts against PX4's library. Exit: 0 all fit, 1 a topic that is flown with does not, 2 no library."""


campaign_app = typer.Typer(help="Fly one aircraft many times with varying inputs.", no_args_is_help=True)
app.add_typer(campaign_app, name="campaign")
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
