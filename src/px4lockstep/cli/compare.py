"""`px4lockstep compare`: compare integrators on a recorded flight."""

from collections.abc import Sequence
from pathlib import Path

from rich.table import Column, Table

from px4lockstep.cli.console import Console
from px4lockstep.cli.output import print_json, write_out
from px4lockstep.cli.progress import working
from px4lockstep.errors import InputError
from px4lockstep.flights.compare import Solver, check_kind, check_solvers, compare, files_in, logs_in, made_folder
from px4lockstep.flights.latest import run_path
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.integrators.tableaux import TABLEAUX
from px4lockstep.io import check_new
from px4lockstep.spec.overrides import parse_override
from px4lockstep.verification.comparison import Comparison
from px4lockstep.verification.local_defect import LocalDefect

COUNTS = {
    "evaluations": "RHS evaluations",
    "accepted_steps": "accepted steps",
    "rejected_steps": "rejected steps",
    "forced_steps": "inaccurate steps",
}


def compare_run(
    run: str | Path,
    integrators: str | None = None,
    reference: str = "RK45",
    local_defect: bool = False,
    out: Path | None = None,
    as_json: bool = False,
    force: bool = False,
    plots: bool = True,
    solvers: Sequence[str] = (),
    logs: Path | None = None,
) -> int:
    """Compare, print the result, and write tables and figures."""
    given = _solvers(integrators, solvers)
    labels = tuple(check_solvers(given))
    check_kind("reference", reference)
    run = run_path(run)
    recording = read_recording(run)
    folder = made_folder(out or (run if run.is_dir() else Path()))
    for file in (*files_in(folder, local_defect, plots), *(() if logs is None else logs_in(made_folder(logs), labels))):
        check_new(file, force=force)
    with working("replaying with each integrator", quiet=as_json, flies=True):
        compared = compare(recording, given, reference=reference, local_defect=local_defect)
    with working("writing tables and figures", quiet=as_json):
        written = compared.save(folder, plots=plots)
    files = [str(path) for path in (*written, *(() if logs is None else compared.save_logs(logs)))]
    if as_json:
        print_json({**compared.as_dict(), "files": files})
        return 0
    console = Console(soft_wrap=True, markup=False)
    console.print(_comparison_table(compared.comparison))
    for flown in compared.comparison.flown:
        if flown.failure is not None:
            console.print(f"{flown.name} did not reach the end of the flight: {flown.failure}", style="yellow")
    if compared.local_defect is not None:
        console.print(_defect_table(compared.local_defect))
        if any(defect.ratios is not None for defect in compared.local_defect.defects):
            console.print(_ratio_table(compared.local_defect))
    write_out("".join(f"{file}\n" for file in files))
    return 0


def _solvers(integrators: str | None, solvers: Sequence[str]) -> dict[str, Solver]:
    """Return the integrators of `--integrators KIND,…` and of each `--solver LABEL=KIND,key=value,…`."""
    if integrators is None:
        integrators = "" if solvers else ",".join(TABLEAUX)
    found: dict[str, Solver] = {kind: kind for kind in (name.strip() for name in integrators.split(",")) if kind}
    for text in solvers:
        label, equals, rest = (part.strip() for part in text.partition("="))
        kind, *settings = (part.strip() for part in rest.split(","))
        if not equals or not all("=" in setting for setting in settings):
            raise InputError(f"--solver {text}: it must be LABEL=KIND,key=value,…, such as fine=RK45,rtol=1e-9")
        if label in found:
            raise InputError(f"--solver {text}: the label {label!r} is used twice; use another label")
        found[label] = {"kind": kind, **dict(map(parse_override, settings))}
    return found


def _comparison_table(comparison: Comparison) -> Table:
    rows = comparison.rows()
    heads = [f"reference\n{comparison.reference.kind}", *(flown.name for flown in comparison.flown)]
    table = _table("Largest error over the flight", heads)
    table.add_row("wall time [ms]", *(f"{1e3 * row['wall_s']:.1f}" for row in rows))
    for name, label in COUNTS.items():
        table.add_row(label, *(f"{row[name]:,}" for row in rows))
    table.add_section()
    for quantity in comparison.quantities:
        table.add_row(f"{quantity.name} [{quantity.unit}]", *(_number(row[quantity.column]) for row in rows))
    return table


def _defect_table(measured: LocalDefect) -> Table:
    defects = measured.defects
    table = _table("Error per log interval: maximum and median", [defect.name for defect in defects])
    for quantity in measured.quantities:
        name = quantity.name
        table.add_row(f"{name} [{quantity.unit}]", *(_number(defect.largest(name)) for defect in defects))
        table.add_row("  median", *(_number(defect.median(name)) for defect in defects))
    return table


def _ratio_table(measured: LocalDefect) -> Table:
    halved = [defect for defect in measured.defects if defect.ratios is not None]
    heads = [head for defect in halved for head in (defect.name, "intervals")]
    title = f"Error ratio of steps of {measured.step_us} us to half steps: median over the counted intervals"
    table = _table(title, heads)
    for quantity in measured.quantities:
        cells = []
        for defect in halved:
            ratio = defect.ratio(quantity.name)
            cells += ["-" if ratio is None else f"{ratio:.2f}", f"{defect.counted(quantity.name):,}"]
        table.add_row(quantity.name, *cells)
    return table


def _table(title: str, heads: Sequence[str]) -> Table:
    return Table("", *(Column(head, justify="right") for head in heads), title=title, title_justify="left")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1e}"
