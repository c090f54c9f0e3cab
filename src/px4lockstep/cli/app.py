"""Declare the commands and their options.

Each command is implemented in a separate module, which is imported when the command runs. Help texts are Rich markup: a
literal bracket is written as a backslash and a bracket.
"""

from pathlib import Path
from typing import Annotated

import typer

from px4lockstep import __version__
from px4lockstep.cli.campaign_commands import campaign_app
from px4lockstep.cli.completion import formats, missions, runs_and_files
from px4lockstep.cli.declare import (
    CompatOption,
    EventOption,
    ForceOption,
    JsonOption,
    OutOption,
    PlotsOption,
    SetOption,
    SpecArgument,
    TrustOption,
    VerboseOption,
    command,
)
from px4lockstep.cli.experiment_commands import experiments_app
from px4lockstep.cli.help import Group, Root
from px4lockstep.cli.params_commands import params_app
from px4lockstep.cli.response_commands import responses_app
from px4lockstep.cli.serve_commands import serve_app
from px4lockstep.cli.spec_commands import spec_app

app = typer.Typer(
    cls=Root,
    help="Deterministic, fast flight simulation for PX4, in lockstep.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Deterministic, fast flight simulation for PX4, in lockstep."""


LibOption = Annotated[Path | None, typer.Option("--lib", metavar="PATH", help="PX4 library or its build folder.")]


@command(app, "verify.run_verify")
def verify(
    px4: Annotated[
        bool, typer.Option("--px4", help="Fly your PX4 library instead, and compare with recorded flights of PX4.")
    ] = False,
    lib: LibOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the integrators and the aircraft models against known solutions, or your PX4 against recorded flights.

    Exit codes: 0 all checks passed, 1 a check failed, 2 no PX4 library.
    """


@command(app, "bench.run_bench")
def bench(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Benchmarks to run, such as run_no_plots. Default: all.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Benchmark the simulator: flights relative to the same plant in C, starts relative to the import of Numba."""


@command(app, "run.run_spec")
def run(
    spec: SpecArgument,
    settings: SetOption = None,
    compat: CompatOption = False,
    params: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Parameter file (.params) as QGroundControl saves it.")
    ] = None,
    mission: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Mission file (.plan, .waypoints) or built-in one.", autocompletion=missions),
    ] = None,
    events: EventOption = None,
    seed: Annotated[str | None, typer.Option(metavar="N", help="Random seed.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Run folder. Default: runs/NAME-TIME.")
    ] = None,
    plots: Annotated[bool, typer.Option("--plots/--no-plots", help="Write the figure of the flight.")] = True,
    trust: TrustOption = False,
    verbose: VerboseOption = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fly an aircraft and write a run folder.

    --set timeline.t_end_s=none flies until Ctrl-C or SIGTERM; --set run.realtime_factor=1.0 flies in real time.

    Exit codes: 0 flown, 1 the flight failed, 2 bad input; 129, 130 or 143 stopped by a signal before its end.
    """


RecordedArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="Run folder, latest, or recording file.", autocompletion=runs_and_files)
]


@command(app, "replay.replay_run")
def replay(
    recorded: RecordedArgument,
    integrator: Annotated[
        str | None, typer.Option(metavar="KIND", help="Euler, RK4, RK23 or RK45. Default: as recorded.")
    ] = None,
    autopilot: Annotated[
        bool, typer.Option("--autopilot", help="Let the autopilot fly again, with the recorded estimate.")
    ] = False,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replay a recorded flight: integrate the plant again with the recorded inputs.

    Exit codes: 0 bit-identical (or changes were requested), 1 the flight differs, 2 bad input.
    """


@command(app, "branch.branch_run")
def branch(
    recorded: RecordedArgument,
    at_s: Annotated[float, typer.Option("--at", metavar="T", help=r"Time at which to leave the recorded flight \[s].")],
    settings: SetOption = None,
    events: EventOption = None,
    count: Annotated[
        int, typer.Option(metavar="N", help="Number of branches. Each after the first uses the next seed.")
    ] = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder for the branches. Default: runs/RUN-branch-TIME."),
    ] = None,
    plots: PlotsOption = True,
    force: ForceOption = False,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Continue a recorded flight from a given time, with changes.

    Exit codes: 0 all branches flown, 1 a branch failed, 2 bad input.
    """


@command(app, "diff.diff_runs")
def diff(
    first: Annotated[
        str,
        typer.Argument(
            metavar="RUN_A", help="First run folder, latest, or a log such as FILE.ulg.", autocompletion=runs_and_files
        ),
    ],
    second: Annotated[
        str,
        typer.Argument(
            metavar="RUN_B", help="Second run folder, latest, or a log such as FILE.ulg.", autocompletion=runs_and_files
        ),
    ],
    offset_s: Annotated[
        float | None,
        typer.Option(
            "--offset", metavar="S", help=r"Time to add to the times of RUN_B \[s], if the logs are compared."
        ),
    ] = None,
    align: Annotated[
        str | None,
        typer.Option(
            metavar="EVENT",
            help="Shift RUN_B so that both flights have this at the same time: arming, takeoff or start.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="PATH", help="File of the figure. Default: diff.png in the last run folder."),
    ] = None,
    plots: PlotsOption = True,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare two flights: settings, first difference, results.

    If one of them has no recording, such as a ULog file of PX4, the logs are compared at common times.

    Exit codes: 0 identical (logs: up to the rounding of float32), 1 the flights differ, 2 bad input.
    """


@command(app, "determinism.run_determinism")
def determinism(
    spec: SpecArgument,
    runs: Annotated[int, typer.Option(metavar="N", help="Number of fresh processes with default settings.")] = 2,
    settings: SetOption = None,
    compat: CompatOption = False,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Fly in several ways (fresh processes, JIT off, generic CPU, workers) and compare the digests.

    Exit codes: 0 all bit-identical, 1 flights differ or one failed, 2 bad input.
    """


@command(app, "folders.plot_runs")
def plot(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN",
            help="Run folder or latest; several, also logs and recordings, are overlaid.",
            autocompletion=runs_and_files,
        ),
    ],
    labels: Annotated[
        list[str] | None, typer.Option(metavar="LABEL,LABEL,…", help="Comma-separated labels of several flights.")
    ] = None,
    from_s: Annotated[float | None, typer.Option("--from", metavar="T", help=r"First time to draw \[s].")] = None,
    to_s: Annotated[float | None, typer.Option("--to", metavar="T", help=r"Last time to draw \[s].")] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME,NAME,…", help="Columns of the log to draw, one panel each: pos_ned,vel_ned."),
    ] = None,
    out: OutOption = None,
    force: ForceOption = False,
) -> None:
    """Plot the flight of a run folder, or overlay several flights.

    One run folder is drawn to its plots.png, or with --from, --to or --columns to its part.png; a ULog file to
    plots.png or part.png in the current folder, several flights to overlay.png there.
    """


@command(app, "report.report_on")
def report(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|CAMPAIGN",
            help="Run folder, latest, FILE.ulg or campaign folder; two flights are compared.",
            autocompletion=runs_and_files,
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="HTML file. Default: report.html or report-diff.html in the (last) folder."
        ),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Write one HTML file with verdict, charts, 3D replay, spec and versions that opens without a network.

    It needs plotly and viser, which the optional extra view installs.

    Exit codes: 0 written, 2 bad input.
    """


@command(app, "view.view_runs")
def view(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN",
            help="Run folder or latest; several are shown together. Or one campaign folder.",
            autocompletion=runs_and_files,
        ),
    ],
    port: Annotated[
        int | None, typer.Option(metavar="N", help="Port on 127.0.0.1; 0 for any free one. Default: 8080.")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")] = True,
    spread: Annotated[
        float | None, typer.Option(metavar="M", help=r"Move each further run to the east by this distance \[m].")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write one page that needs neither server nor network, and exit."),
    ] = None,
    trust: TrustOption = False,
    force: ForceOption = False,
) -> None:
    """Show runs in 3D in the browser, or a campaign whose runs can be flown again by a click.

    It serves on 127.0.0.1 only, until Ctrl-C. It needs viser, which the optional extra view installs.
    """


@command(app, "folders.export_run")
def export(
    folder: Annotated[
        str, typer.Argument(metavar="RUN", help="Run folder, latest, or log file.", autocompletion=runs_and_files)
    ],
    to: Annotated[
        str,
        typer.Option(
            "--format", metavar="FORMAT", help="csv, parquet, ulog, kml, gpx, mat or params.", autocompletion=formats
        ),
    ] = "csv",
    out: OutOption = None,
    columns: Annotated[
        list[str] | None, typer.Option(metavar="NAME,NAME,…", help="Comma-separated columns, for csv, parquet and mat.")
    ] = None,
    all_columns: Annotated[
        bool,
        typer.Option("--all-columns", help="Keep columns that are constant in the flight (csv, parquet, mat)."),
    ] = False,
    rate: Annotated[
        float | None, typer.Option(metavar="HZ", help="Maximum rate of state topics (ulog) or track (kml, gpx).")
    ] = None,
    start: Annotated[str | None, typer.Option(metavar="TIME", help="UTC at simulated time 0, for gpx.")] = None,
    force: ForceOption = False,
) -> None:
    """Export the flight of a run folder: table, ULog, map, MAT file, or parameters for QGroundControl."""


@command(app, "import_ulog.import_file", "import")
def import_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="ULog file (.ulg) of PX4.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Run folder. Default: runs/FILE-TIME.")
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            metavar="HZ", help="Rows per second. Default: as logged, by the state's topic with the most messages."
        ),
    ] = None,
    plots: Annotated[bool, typer.Option("--plots/--no-plots", help="Write the figure of the flight.")] = True,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an imported flight.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Import a ULog file of PX4, from a real flight or a simulator, as a run folder."""


@command(app, "compare.compare_run")
def compare(
    run: RecordedArgument,
    integrators: Annotated[
        str | None,
        typer.Option(metavar="KIND,KIND,…", help="Comma-separated integrators. Default: all, unless --solver is used."),
    ] = None,
    solvers: Annotated[
        list[str] | None,
        typer.Option(
            "--solver",
            metavar="LABEL=KIND,key=value,…",
            help="Integrator with a label and keys of plant.integrator, or rtol and atol for all states. Repeatable.",
        ),
    ] = None,
    reference: Annotated[
        str, typer.Option(metavar="KIND", help="Reference integrator, run with tolerances of 1e-10.")
    ] = "RK45",
    local_defect: Annotated[
        bool,
        typer.Option("--local-defect", help="Also measure the error per log interval, from the reference's state."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Folder for tables and figures. Default: RUN, or the current folder."
        ),
    ] = None,
    logs: Annotated[
        Path | None, typer.Option("--logs", metavar="DIR", help="Folder for a log of each flight, as LABEL.parquet.")
    ] = None,
    plots: PlotsOption = True,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Replay a recorded flight with several integrators and compare their cost and error."""


@command(app, "doctor.run_doctor")
def doctor(as_json: JsonOption = False) -> None:
    """Show versions, processor, cache and the PX4 that was found."""


@command(app, "trust.change_trust", "trust")
def trust_command(
    folder: Annotated[Path | None, typer.Argument(metavar="DIR", help="Folder to trust.")] = None,
    remove: Annotated[Path | None, typer.Option("--remove", metavar="DIR", help="Stop trusting a folder.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the trusted folders.")] = False,
) -> None:
    """Trust a folder: files in it may name code to run, such as the PX4 library or metrics in Python."""


app.add_typer(spec_app, name="spec")
app.add_typer(params_app, name="params")


uorb_app = typer.Typer(cls=Group, help="List, show and verify the layouts of uORB messages.", no_args_is_help=True)
app.add_typer(uorb_app, name="uorb")
MsgOption = Annotated[Path | None, typer.Option("--msg", metavar="DIR", help="The msg folder of the PX4 sources.")]


@command(uorb_app, "uorb.list_topics", "list", is_watched=True)
def uorb_list(lib: LibOption = None, msg: MsgOption = None, as_json: JsonOption = False) -> None:
    """List topics with size and hash: the built-in ones, or those of --msg or --lib."""


@command(uorb_app, "uorb.show_topic", "show", is_watched=True)
def uorb_show(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Topic, such as vehicle_status.")],
    lib: LibOption = None,
    msg: MsgOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the fields of a topic's message with their types and offsets."""


@command(uorb_app, "uorb.verify_topics", "verify", is_watched=True)
def uorb_verify(lib: LibOption = None, msg: MsgOption = None, as_json: JsonOption = False) -> None:
    """Check all message layouts against a PX4 library.

    Exit codes: 0 all layouts that flights use match, 1 one does not, 2 no library.
    """


app.add_typer(campaign_app, name="campaign")
app.add_typer(responses_app)
app.add_typer(experiments_app)
app.add_typer(serve_app)
