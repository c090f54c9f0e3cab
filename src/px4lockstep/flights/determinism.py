"""Whether a flight is the same to the bit however it is computed: flown in fresh processes, and compared.

found = determinism("iris", runs=3)
found.identical, found.first_difference

Compiled for this processor and for any, interpreted, by workers that have flown before and by workers side by side.
"""

import os
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from px4lockstep.errors import InputError
from px4lockstep.flights.determinism_worker import recording_at
from px4lockstep.flights.folder import write_spec
from px4lockstep.flights.recorded import SPEC, live
from px4lockstep.flights.recording.differences import Difference, FlightRows, first_difference, first_live_difference
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.flights.recording.recording import Recording
from px4lockstep.flights.run import loaded
from px4lockstep.processes import Interpreter
from px4lockstep.spec.build import build
from px4lockstep.spec.spec import Spec

MAX_PROCESSES = 2
LOOK_S = 0.05
CHANGES_THE_CODE = ("NUMBA_DISABLE_JIT", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")
"""Of the user's environment, what would make another variant of all variants."""


@dataclass(frozen=True)
class Variant:
    """A way to compute a flight: `workers` processes side by side, each of which flies `flights` in a row."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    workers: int = 1
    flights: int = 1
    python: str = sys.executable


@dataclass(frozen=True)
class VariantFlight:
    """A flight of a variant, with the time of its process, compilation included; `error` says why it failed."""

    name: str
    digest: str | None
    live_digest: str | None
    error: str | None
    wall_s: float

    def as_dict(self) -> dict[str, Any]:
        """Return it as `--json` prints it."""
        return {name: getattr(self, name) for name in ("name", "digest", "live_digest", "error")}


@dataclass(frozen=True)
class Determinism:
    """The flights in the order of the variants; of the first two that differ, their names and where they part."""

    flights: tuple[VariantFlight, ...]
    parted: tuple[str, str] | None = None
    first_difference: Difference | None = None

    @property
    def identical(self) -> bool:
        """Whether all were flown, and all are the same: the flight, the estimate and the setpoints."""
        return self.parted is None and all(flown.error is None for flown in self.flights)

    def as_dict(self) -> dict[str, Any]:
        """Return it as `--json` prints it."""
        difference = self.first_difference and {"variants": list(self.parted or ()), **self.first_difference.as_dict()}
        return {
            "identical": self.identical,
            "variants": [flown.as_dict() for flown in self.flights],
            "first_difference": difference,
        }


def default_variants(runs: int) -> tuple[Variant, ...]:
    """Return all ways to compute that must make no difference."""
    if runs < 1:
        raise InputError(f"runs = {runs} is not allowed; fly at least 1")
    return (
        *(Variant(f"fresh process {i + 1}") for i in range(runs)),
        Variant("JIT off", {"NUMBA_DISABLE_JIT": "1"}),
        Variant("generic CPU", {"NUMBA_CPU_NAME": "generic"}),
        Variant("one worker", flights=2),
        Variant("two workers", workers=2),
    )


def determinism(
    spec: str | Path | Spec,
    /,
    *,
    runs: int = 2,
    variants: Sequence[Variant] | None = None,
    watch: Callable[[VariantFlight], None] | None = None,
    **overrides: Any,
) -> Determinism:
    """Fly an aircraft file in many ways, to its end each time, and compare the digests.

    Two processes run at the same time, or one if there is one processor; a variant of two workers is two in any case.
    If this is interrupted, they are ended.

    Args:
        spec: The name of an aircraft that ships (`iris`), the path of a file, or a loaded one.
        runs: How many fresh processes fly it compiled for this processor.
        variants: Other ways than the usual ones.
        watch: Called with each flight when it has ended.
        overrides: Values by dotted key, `**{"environment.wind": "none", "aircraft.seed": 7}`.

    Raises:
        InputError: If the file can't be flown.
    """
    usual = default_variants(runs)
    spec = loaded(spec, overrides)
    if spec.run.mode == "replay":
        raise InputError("run.mode = 'replay' can't be compared: it is computed from a recording. Use 'live'")
    autopilot = spec.autopilot.capabilities
    if not autopilot.is_repeatable:
        raise InputError(
            f"{autopilot.name} has threads, and no two of its flights are the same; replay one to compare digests"
        )
    spec = spec.model_copy(update={"run": live(spec.run)})
    if autopilot.needs_child:  # it has one life in a process
        usual = tuple(variant for variant in usual if variant.flights == 1)
    ways = usual if variants is None else variants
    build(spec).simulation.close()  # what is wrong with it is said here, and once
    with TemporaryDirectory(prefix="px4lockstep-") as name:
        folder = Path(name)
        write_spec(spec, folder)
        compared = _Compared()
        with closing(_run(ways, folder)) as ended:
            for job, error in ended:
                for flown in compared.add(job, error):
                    if watch is not None:
                        watch(flown)
        return compared.result()


@dataclass
class _Job:
    """A process that flies, and where it leaves what."""

    variant: Variant
    place: tuple[int, int]  # the variant's, and among its workers
    folder: Path
    start_s: float = 0.0

    def names(self) -> list[str]:
        variant = self.variant
        if variant.workers * variant.flights == 1:
            return [variant.name]
        first = self.place[1] * variant.flights
        return [f"{variant.name}, flight {first + i + 1}" for i in range(variant.flights)]

    def start(self) -> Interpreter:
        self.folder.mkdir()
        kept = {name: value for name, value in os.environ.items() if name not in CHANGES_THE_CODE}
        self.start_s = time.perf_counter()
        return Interpreter.start(
            "px4lockstep.flights.determinism_worker",
            [str(self.folder.parent / SPEC), str(self.folder), str(self.variant.flights), str(os.getpid())],
            python=self.variant.python,
            environment={**kept, "PX4LOCKSTEP_QUIET": "1", **self.variant.environment},
        )


def _run(variants: Sequence[Variant], folder: Path) -> Generator[tuple[_Job, str | None], None, None]:
    """Run the processes of all variants, a few at a time; yield each job when it has ended, and why it failed if so."""
    waiting = [
        [_Job(variant, (i, j), folder / f"{i}-{j}") for j in range(variant.workers)]
        for i, variant in enumerate(variants)
    ]
    most = min(MAX_PROCESSES, os.cpu_count() or 1)
    running: list[tuple[_Job, Interpreter]] = []
    try:
        while waiting or running:
            while waiting and (not running or len(running) + len(waiting[0]) <= most):
                for job in waiting.pop(0):
                    try:
                        running.append((job, job.start()))
                    except OSError as error:
                        yield job, f"{job.variant.python} can't be started: {error.strerror}"
            for job, process in list(running):
                code = process.wait(LOOK_S)
                if code is not None:
                    running.remove((job, process))
                    reason = None if code == 0 else _reason(process, code)
                    process.close()
                    yield job, reason
    finally:
        for _, process in running:
            process.kill()  # with what it has started itself, to compile


def _reason(process: Interpreter, code: int) -> str:
    """Say why a process failed: the last line that it wrote, or how it ended."""
    said = [line.strip() for line in process.said().split("\n") if line.strip()]
    how = f"exit code {code}" if code > 0 else f"ended by signal {-code}"
    return f"{said[-1].removeprefix('error: ')} ({how})" if said else how


class _Compared:
    """Collects flights; of those that are the same, one recording is kept."""

    def __init__(self) -> None:
        self._flights: dict[tuple[int, int, int], VariantFlight] = {}
        self._kept: dict[tuple[str, str], Path] = {}

    def add(self, job: _Job, error: str | None) -> Iterator[VariantFlight]:
        """Take in the flights of a job."""
        wall_s = max(0.0, time.perf_counter() - job.start_s)
        for number, name in enumerate(job.names(), start=1):
            flown = VariantFlight(name, None, None, error, wall_s)
            if error is None:
                flown = self._read(flown, recording_at(job.folder, number))
            self._flights[(*job.place, number)] = flown
            yield flown

    def _read(self, flown: VariantFlight, path: Path) -> VariantFlight:
        """Complete a flight from its recording."""
        try:
            recording = read_recording(path)
        except InputError as error:
            return replace(flown, error=str(error))
        if self._kept.setdefault((recording.digest, recording.live_digest), path) != path:
            path.unlink()
        return replace(flown, digest=recording.digest, live_digest=recording.live_digest)

    def result(self) -> Determinism:
        """Compare all flights with the first."""
        flights = tuple(self._flights[key] for key in sorted(self._flights))
        good = [
            (flown.name, (flown.digest, flown.live_digest)) for flown in flights if flown.digest and flown.live_digest
        ]
        for name, digests in good:
            if digests != good[0][1]:
                first, second = (read_recording(self._kept[pair]) for pair in (good[0][1], digests))
                return Determinism(flights, (good[0][0], name), where_they_part(first, second))
        return Determinism(flights)


def where_they_part(first: Recording, second: Recording) -> Difference | None:
    """Return where two flights part: in themselves, in the estimate or in the setpoints, whichever is first."""
    flown = first_difference(FlightRows.of(first), FlightRows.of(second), first.state_names)
    found = [one for one in (flown, first_live_difference(first, second)) if one is not None]
    return min(found, key=lambda one: one.time_us, default=None)
