"""The commands and their options; what they do is in a module each."""

import os
from pathlib import Path
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


SpecArgument = Annotated[
    str, typer.Argument(metavar="SPEC", help="The name of an aircraft that ships (iris), or the path of a file.")
]
FolderArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="TABLE.KEY=VALUE", help="Change a value; may be repeated.")
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Show what real PX4 prints, on standard error.")]
OutOption = Annotated[Path | None, typer.Option("--out", metavar="PATH", help="Where to write.")]


@app.command()
def run(
    spec: SpecArgument,
    settings: SetOption = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="Random seed.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The run folder; runs/NAME-TIME if left out.")] = None,
    plots: Annotated[bool, typer.Option("--plots/--no-plots", help="Whether to draw the flight.")] = True,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fly an aircraft file. Exit: 0 flown, 1 the flight failed, 2 bad input, 130 interrupted."""
    from px4lockstep.cli.run import Options, run_spec

    raise typer.Exit(run_spec(spec, settings or [], seed, Options(out, plots, verbose, as_json)))


RecordedArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, or a recording.")]
PlotsOption = Annotated[bool, typer.Option("--plots/--no-plots", help="Whether to draw.")]


@app.command()
def replay(
    recorded: RecordedArgument,
    integrator: Annotated[
        str | None, typer.Option(metavar="KIND", help="Euler, RK4, RK23 or RK45; as recorded if left out.")
    ] = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Integrate a recorded flight anew. Exit: 0 the same, or changed on purpose; 1 it differs, 2 bad input."""
    from px4lockstep.cli.replay import replay_run

    raise typer.Exit(replay_run(recorded, integrator, settings or [], as_json))


@app.command()
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
    as_json: JsonOption = False,
) -> None:
    """Fly on from a recorded moment, with changes. Exit: 0 flown, 1 a branch failed, 2 bad input."""
    from px4lockstep.cli.branch import branch_run

    raise typer.Exit(branch_run(recorded, at_s, settings or [], events or [], count, out, plots, as_json))


@app.command()
def diff(
    first: Annotated[Path, typer.Argument(metavar="RUN_A", help="A run folder.")],
    second: Annotated[Path, typer.Argument(metavar="RUN_B", help="Another.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="PATH", help="The picture; diff.png in RUN_B if left out.")
    ] = None,
    plots: PlotsOption = True,
    as_json: JsonOption = False,
) -> None:
    """Set two flights side by side. Exit: 0 the same flight, 1 they differ, 2 bad input."""
    from px4lockstep.cli.diff import diff_runs

    raise typer.Exit(diff_runs(first, second, out, plots, as_json))


@app.command()
def determinism(
    spec: SpecArgument,
    runs: Annotated[int, typer.Option(help="How many fresh processes fly it as usual.")] = 2,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fly in many ways (fresh, interpreted, generic CPU, workers) and compare to the bit; exit with 1 if any differ."""
    from px4lockstep.cli.determinism import run_determinism

    raise typer.Exit(run_determinism(spec, runs, settings or [], as_json))


@app.command()
def plot(folder: FolderArgument, out: OutOption = None) -> None:
    """Draw the flight in a run folder."""
    from px4lockstep.cli.folders import plot_run

    raise typer.Exit(plot_run(folder, out))


@app.command()
def export(
    folder: FolderArgument,
    to: Annotated[str, typer.Option("--format", help="csv or parquet.")] = "csv",
    out: OutOption = None,
    columns: Annotated[str | None, typer.Option(help="Names with commas between them; all if left out.")] = None,
) -> None:
    """Write the log of a run folder as CSV or Parquet."""
    from px4lockstep.cli.folders import export_run

    raise typer.Exit(export_run(folder, to, out, columns))


@app.command()
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
    as_json: JsonOption = False,
) -> None:
    """Replay a recorded flight with several integrators, and say what each costs and how wrong it is."""
    from px4lockstep.cli.compare import compare_run

    raise typer.Exit(compare_run(run, integrators, reference, local_defect, out, as_json))


@app.command()
def doctor(as_json: JsonOption = False) -> None:
    """Say what this installation has: versions, processor, cache, PX4."""
    from px4lockstep.cli.doctor import run_doctor

    raise typer.Exit(run_doctor(as_json))


spec_app = typer.Typer(help="The aircraft files.", no_args_is_help=True)
app.add_typer(spec_app, name="spec")


@spec_app.callback()
def spec_common() -> None:
    """The aircraft files."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # nothing flies here: what is built is the same, and nothing is compiled


@spec_app.command("list")
def spec_list() -> None:
    """List the aircraft and missions that ship with the package."""
    from px4lockstep.cli.spec import list_specs

    raise typer.Exit(list_specs())


@spec_app.command("show")
def spec_show(spec: SpecArgument, settings: SetOption = None) -> None:
    """Print an aircraft file with all that it inherits and all defaults."""
    from px4lockstep.cli.spec import show_spec

    raise typer.Exit(show_spec(spec, settings or []))


@spec_app.command("check")
def spec_check(spec: SpecArgument, settings: SetOption = None) -> None:
    """Check an aircraft file; exit with 2 if anything is wrong."""
    from px4lockstep.cli.spec import check_spec

    raise typer.Exit(check_spec(spec, settings or []))


@spec_app.command("schema")
def spec_schema() -> None:
    """Print the JSON schema of aircraft files."""
    from px4lockstep.cli.spec import print_schema

    raise typer.Exit(print_schema())


uorb_app = typer.Typer(help="PX4's uORB messages.", no_args_is_help=True)
app.add_typer(uorb_app, name="uorb")
LibOption = Annotated[
    Path | None, typer.Option("--lib", metavar="PATH", help="PX4's library, or the folder it was built in.")
]
MsgOption = Annotated[Path | None, typer.Option("--msg", metavar="FOLDER", help="The folder msg of PX4's sources.")]


@uorb_app.command("list")
def uorb_list(lib: LibOption = None, msg: MsgOption = None, as_json: JsonOption = False) -> None:
    """List topics with size and hash: those that ship, those of --msg, or as --lib has them."""
    from px4lockstep.cli.uorb import list_topics
    from px4lockstep.cli.watched import in_child

    raise typer.Exit(in_child(lambda: list_topics(lib, msg, as_json)))


@uorb_app.command("show")
def uorb_show(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="vehicle_status, for example.")],
    lib: LibOption = None,
    msg: MsgOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show where each field of a topic's message is."""
    from px4lockstep.cli.uorb import show_topic
    from px4lockstep.cli.watched import in_child

    raise typer.Exit(in_child(lambda: show_topic(topic, lib, msg, as_json)))


@uorb_app.command("verify")
def uorb_verify(lib: LibOption = None, msg: MsgOption = None, as_json: JsonOption = False) -> None:
    """Check all layouts against PX4's library. Exit: 0 all fit, 1 a topic that is flown with does not, 2 no library."""
    from px4lockstep.cli.uorb import verify_topics
    from px4lockstep.cli.watched import in_child

    raise typer.Exit(in_child(lambda: verify_topics(lib, msg, as_json)))


campaign_app = typer.Typer(help="Many flights of one aircraft.", no_args_is_help=True)
app.add_typer(campaign_app, name="campaign")
CampaignArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a campaign.")]


@campaign_app.command("run")
def campaign_run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The campaign file; to resume, the campaign's folder.")],
    runs: Annotated[int | None, typer.Option(metavar="N", help="How many; as the file says if left out.")] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="How many processes; one for each processor if left out.")
    ] = None,
    engine: Annotated[str, typer.Option(help="local for processes of this machine, dask for a cluster.")] = "local",
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of Dask: tcp://host:8786; one is started if left out.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The folder; campaigns/NAME-TIME if left out.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Fly only what is missing in the folder.")] = False,
    plots: PlotsOption = True,
    as_json: JsonOption = False,
) -> None:
    """Fly a campaign. Exit: 0 flown, whatever came of the runs; 2 bad input, 130 interrupted."""
    from px4lockstep.cli.campaign import run_file

    raise typer.Exit(run_file(file, runs, workers, engine, scheduler, out, resume, plots, as_json))


@campaign_app.command("show")
def campaign_show(folder: CampaignArgument, as_json: JsonOption = False) -> None:
    """Print what came of a campaign, as far as it has come."""
    from px4lockstep.cli.campaign import show_folder

    raise typer.Exit(show_folder(folder, as_json))


@campaign_app.command("plot")
def campaign_plot(folder: CampaignArgument, out: OutOption = None) -> None:
    """Draw what came of a campaign: distributions, pass rate, which input matters."""
    from px4lockstep.cli.campaign import plot_folder

    raise typer.Exit(plot_folder(folder, out))


@campaign_app.command("rerun")
def campaign_rerun(
    folder: CampaignArgument,
    index: Annotated[int, typer.Argument(metavar="INDEX", help="Of the run, from 0 on.")],
    out: Annotated[Path | None, typer.Option("--out", help="The run folder; DIR/run-INDEX if left out.")] = None,
    plots: PlotsOption = True,
    verbose: VerboseOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fly a run again, with its log, recording and picture. Exit: 0 the same flight, 1 another, 2 bad input."""
    from px4lockstep.cli.campaign import rerun_one
    from px4lockstep.cli.run import Options

    raise typer.Exit(rerun_one(folder, index, Options(out, plots, verbose, as_json)))
