"""Compare integrators on a recorded flight.

compared = compare("runs/first", ["RK4", "RK45"], local_defect=True)
compared.comparison["RK4"].largest("position"), compared.local_defect["RK4"].ratio("velocity")
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Timeline
from px4lockstep.errors import InputError, did_you_mean
from px4lockstep.flights.recorded import recorded_spec
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.flights.recording.recording import Recording
from px4lockstep.integrators.solver import Integrator
from px4lockstep.integrators.tableaux import TABLEAUX
from px4lockstep.io import atomic_write
from px4lockstep.spec.build import build
from px4lockstep.verification.comparison import Comparison, compare_integrators, tight
from px4lockstep.verification.local_defect import LocalDefect
from px4lockstep.verification.local_defect import local_defect as measure_local_defect

COMPARE, LOCAL_DEFECT = "compare", "local_defect"
"""Names of the output files, without their extensions."""


@dataclass(frozen=True)
class Compared:
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


def files_in(folder: Path, local_defect: bool, plots: bool = True) -> tuple[Path, ...]:
    """Return the files that a comparison writes into a folder: tables and, with `plots`, a figure for each."""
    names = [COMPARE, LOCAL_DEFECT] if local_defect else [COMPARE]
    endings = ("csv", "png") if plots else ("csv",)
    return tuple(folder / f"{name}.{ending}" for name in names for ending in endings)


def compare(
    source: str | Path | Recording,
    integrators: Sequence[str] = tuple(TABLEAUX),
    *,
    reference: str | Integrator = "RK45",
    local_defect: bool = False,
) -> Compared:
    """Replay a recording with each integrator and with a reference.

    The integrators use the tolerances of the recorded spec.

    Args:
        source: A recording, its file, or a run folder.
        integrators: Kinds of integrators.
        reference: Kind of the reference integrator, which uses tolerances of 1e-10 for every state if it is adaptive;
            or an integrator, which is used unchanged.
        local_defect: Whether to measure the local defect too.

    Raises:
        InputError: If an integrator is unknown, or the recording can't be read.
        SimulationError: If the reference can't reach the end of the flight.
    """
    kinds = check_kinds(integrators)
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

    given = (make, flight.simulation.timeline, {kind: own.model_copy(update={"kind": kind}) for kind in kinds}, exact)
    return Compared(recording, compare_integrators(*given), measure_local_defect(*given) if local_defect else None)


def check_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    """Return the kinds of integrators without duplicates."""
    if isinstance(kinds, str) or not kinds:
        raise InputError(f"integrators = {kinds!r} is not a list of integrators; choose from {', '.join(TABLEAUX)}")
    for kind in kinds:
        check_kind("integrators", kind)
    return tuple(dict.fromkeys(kinds))


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
