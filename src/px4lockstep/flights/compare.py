"""Compare integrators on a recorded flight.

compared = compare("runs/first", ["RK4", "RK45"], local_defect=True)
compared.comparison["RK4"].largest("position"), compared.local_defect["RK4"].ratio("velocity")
compare("runs/first", {"loose": {"kind": "RK45", "rtol": 1e-4, "atol": 1e-4}, "default": Integrator("RK45")})
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Timeline
from px4lockstep.errors import InputError, did_you_mean
from px4lockstep.flights.recorded import recorded_spec
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.flights.recording.recording import Recording
from px4lockstep.integrators.solver import Integrator, tolerances
from px4lockstep.integrators.tableaux import TABLEAUX
from px4lockstep.io import atomic_write
from px4lockstep.log.parquet import write_parquet
from px4lockstep.reprs import ShortRepr
from px4lockstep.spec.build import build
from px4lockstep.verification.comparison import Comparison, compare_integrators, tight
from px4lockstep.verification.local_defect import LocalDefect
from px4lockstep.verification.local_defect import local_defect as measure_local_defect

COMPARE, LOCAL_DEFECT = "compare", "local_defect"
"""Names of the output files, without their extensions."""
REFERENCE = "reference"
LABEL = re.compile(r"\w[\w.+-]*")

Solver = str | Integrator | Mapping[str, Any]
"""A kind of integrator, an integrator, or keys of `plant.integrator` that replace those of the recorded spec."""


@dataclass(frozen=True, repr=False)
class Compared(ShortRepr):
    """A comparison of integrators on a recorded flight.

    Args:
        recording: The recorded flight.
        comparison: Errors of whole flights against the reference.
        local_defect: Errors per log interval from the reference's states, if requested.
    """

    recording: Recording
    comparison: Comparison
    local_defect: LocalDefect | None

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison for `--json`."""
        reference, *integrators = self.comparison.rows()
        result = {
            "recorded_digest": self.recording.digest,
            "reference": {**reference, "integrator": self.comparison.reference.kind},
            "integrators": integrators,
        }
        return result if self.local_defect is None else {**result, "local_defect": self.local_defect.rows()}

    def save(self, folder: str | Path, *, plots: bool = True) -> tuple[Path, ...]:
        """Write tables and, with `plots`, figures into a folder, created if necessary; return the files.

        Raises:
            InputError: If a file can't be written.
        """
        from px4lockstep.plots.comparison import plot_comparison, plot_local_defect
        from px4lockstep.plots.flight import save_plot

        folder = made_folder(folder)
        _write_csv(folder / f"{COMPARE}.csv", self.comparison.rows())
        if plots:
            save_plot(plot_comparison(self.comparison), folder / f"{COMPARE}.png")
        if self.local_defect is not None:
            _write_csv(folder / f"{LOCAL_DEFECT}.csv", self.local_defect.rows())
            if plots:
                save_plot(plot_local_defect(self.local_defect), folder / f"{LOCAL_DEFECT}.png")
        return files_in(folder, self.local_defect is not None, plots)

    def save_logs(self, folder: str | Path) -> tuple[Path, ...]:
        """Write the log of the reference and of each integrator into a folder as Parquet; return the files.

        Raises:
            InputError: If a file can't be written.
        """
        logs = {REFERENCE: self.comparison.reference_log}
        logs |= {flown.name: flown.log for flown in self.comparison.flown}
        files = logs_in(made_folder(folder), list(logs)[1:])
        for log, path in zip(logs.values(), files, strict=True):
            write_parquet(log, path)
        return files


def logs_in(folder: Path, labels: Sequence[str]) -> tuple[Path, ...]:
    """Return the log files of a comparison: that of the reference, then one per integrator."""
    return tuple(folder / f"{label}.parquet" for label in (REFERENCE, *labels))


def files_in(folder: Path, local_defect: bool, plots: bool = True) -> tuple[Path, ...]:
    """Return the files that a comparison writes into a folder: tables and, with `plots`, a figure for each."""
    names = [COMPARE, LOCAL_DEFECT] if local_defect else [COMPARE]
    endings = ("csv", "png") if plots else ("csv",)
    return tuple(folder / f"{name}.{ending}" for name in names for ending in endings)


def compare(
    source: str | Path | Recording,
    integrators: Sequence[str] | Mapping[str, Solver] = tuple(TABLEAUX),
    *,
    reference: str | Integrator = "RK45",
    local_defect: bool = False,
) -> Compared:
    """Replay a recording with each integrator and with a reference.

    Args:
        source: A recording, its file, a run folder, or `latest` for the newest one in `runs/`.
        integrators: Kinds of integrators, which use the tolerances of the recorded spec; or integrators by label, each
            a kind, an `Integrator`, or a table of keys that replace those of the recorded spec, with `rtol` and `atol`
            for all groups of states: `{"loose": {"kind": "RK45", "rtol": 1e-4}, "tight": {"kind": "RK45"}}`.
        reference: Kind of the reference integrator, which uses tolerances of 1e-10 for every state if it is adaptive;
            or an integrator, which is used unchanged.
        local_defect: Whether to measure the local defect too.

    Raises:
        InputError: If an integrator or a label is invalid, or the recording can't be read.
        SimulationError: If the reference can't reach the end of the flight.
    """
    check_solvers(integrators)
    if isinstance(reference, str):
        check_kind("reference", reference)
    recording = source if isinstance(source, Recording) else read_recording(source)
    if recording.starts_us > int(recording.streams.time_us[0]):
        raise InputError(
            f"this recording is a branch that starts at {recording.starts_us / 1e6} s; compare integrators on its "
            "trunk, which was recorded from the start"
        )
    flight = build(recorded_spec(recording), replay=recording.streams)
    own = flight.simulation.integrator
    exact = tight(own.model_copy(update={"kind": reference})) if isinstance(reference, str) else reference

    def make(integrator: Integrator, timeline: Timeline) -> Simulation:
        streams = recording.streams.on(timeline)
        validate = flight.spec.run.validate_
        return Simulation(flight.aircraft, timeline, integrator=integrator, replay=streams, validate=validate)

    given = (make, flight.simulation.timeline, check_solvers(integrators, own), exact)
    return Compared(recording, compare_integrators(*given), measure_local_defect(*given) if local_defect else None)


def check_solvers(
    solvers: Sequence[str] | Mapping[str, Solver], own: Integrator | None = None
) -> dict[str, Integrator]:
    """Return integrators by label; keys that are not given are those of `own`."""
    if isinstance(solvers, str) or not solvers:
        raise InputError(f"integrators = {solvers!r} is not a list of integrators; choose from {', '.join(TABLEAUX)}")
    given = solvers if isinstance(solvers, Mapping) else {kind: kind for kind in solvers}
    made = {}
    for label, solver in given.items():
        field = "integrators" if label == solver else f"integrators, {label}"
        if isinstance(solver, str):
            check_kind(field, solver)
        if not isinstance(label, str) or not LABEL.fullmatch(label) or label == REFERENCE:
            text = f"it must be letters, digits, '_', '.', '+' or '-', and not {REFERENCE!r}"
            raise InputError(f"integrators: {label!r} is not a label; {text}")
        made[label] = _integrator(field, solver, own or Integrator())
    return made


def _integrator(field: str, solver: Solver, own: Integrator) -> Integrator:
    if isinstance(solver, Integrator):
        return solver
    keys = {"kind": solver} if isinstance(solver, str) else dict(solver)
    for name in ("rtol", "atol"):
        if name in keys:
            value = keys.pop(name)
            keys = {key: value for key in tolerances(0.0, 0.0) if key.startswith(name)} | keys
    try:
        return Integrator(**{**dict(own), **keys})
    except InputError as error:
        raise InputError(f"{field}: {error}") from error


def check_kind(field: str, kind: str) -> None:
    """Check the kind of an integrator."""
    if kind in TABLEAUX:
        return
    hint = did_you_mean(kind, TABLEAUX)
    allowed = f"{'Allowed' if hint else 'allowed'}: {', '.join(TABLEAUX)}"
    raise InputError(f"{field}: {kind!r} is unknown; {hint}{allowed}")


def made_folder(path: str | Path) -> Path:
    """Return a folder, created if necessary."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {folder} can't be created: {error.strerror}") from error
    return folder


def _write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows with a header; missing values stay empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with atomic_write(path) as file:
        file.write(text.getvalue().encode())
