"""Check that a flight is bit-identical however it is computed, by flying it in fresh processes.

found = determinism("x500", runs=3)
found.identical, found.first_difference

The variants: compiled for this processor and for a generic one, interpreted, flown twice in one process, and flown by
two processes at the same time.
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
from px4lockstep.jit import ahead
from px4lockstep.processes import Interpreter
from px4lockstep.reprs import ShortRepr
from px4lockstep.spec.build import build
from px4lockstep.spec.spec import Spec

MAX_PROCESSES = 2
LOOK_S = 0.05
CHANGES_THE_CODE = ("NUMBA_DISABLE_JIT", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")
"""Variables of the user's environment that are removed, because they would change every variant."""


@dataclass(frozen=True)
class Variant:
    """A way to compute a flight: `workers` processes in parallel, each of which flies `flights` flights in a row."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    workers: int = 1
    flights: int = 1
    python: str = sys.executable


@dataclass(frozen=True)
class VariantFlight:
    """One flight of a variant: `wall_s` is its process's time with compilation, `error` the reason if it failed."""

    name: str
    digest: str | None
    live_digest: str | None
    error: str | None
    wall_s: float

    def as_dict(self) -> dict[str, Any]:
        """Return the flight for `--json`."""
        return {name: getattr(self, name) for name in ("name", "digest", "live_digest", "error")}


@dataclass(frozen=True, repr=False)
class Determinism(ShortRepr):
    """All flights in the order of the variants; names and first difference of the first two that differ."""

    flights: tuple[VariantFlight, ...]
    parted: tuple[str, str] | None = None
    first_difference: Difference | None = None

    @property
    def identical(self) -> bool:
        """Whether all flights succeeded and are identical, including estimate and setpoints."""
        return self.parted is None and all(flown.error is None for flown in self.flights)

    def as_dict(self) -> dict[str, Any]:
        """Return the result for `--json`."""
        difference = self.first_difference and {"variants": list(self.parted or ()), **self.first_difference.as_dict()}
        return {
            "identical": self.identical,
            "variants": [flown.as_dict() for flown in self.flights],
            "first_difference": difference,
        }


def default_variants(runs: int) -> tuple[Variant, ...]:
    """Return the default variants, all of which must give the same flight."""
    if runs < 1:
        raise InputError(f"runs = {runs} is not allowed; it must be at least 1")
    return (
        *(Variant(f"fresh process {i + 1}") for i in range(runs)),
        Variant("JIT off", {"NUMBA_DISABLE_JIT": "1"}),
        Variant("generic CPU", {"NUMBA_CPU_NAME": ahead.GENERIC, ahead.VARIABLE: ahead.OFF}),
        Variant("one worker", flights=2),
        Variant("two workers", workers=2),
    )


def determinism(
    spec: str | Path | Spec,
    /,
    *,
    overrides: Mapping[str, Any] | None = None,
    seed: int | None = None,
    runs: int = 2,
    variants: Sequence[Variant] | None = None,
    begin: Callable[[Sequence[Variant]], None] | None = None,
    watch: Callable[[VariantFlight], None] | None = None,
) -> Determinism:
    """Fly a spec to its end in several ways, and compare the digests.

    Two processes run at the same time, or one on a single processor; a variant with two workers always runs two. All
    processes are terminated if this is interrupted.

    Args:
        spec: Built-in aircraft (`x500`), path of a spec file, or loaded spec.
        overrides: Values by dotted key that replace the file's: `{"environment.wind": "none"}`.
        seed: Random seed, short for the override of `aircraft.seed`.
        runs: Number of fresh processes that fly it compiled for this processor.
        variants: Variants to fly instead of the default ones.
        begin: Called with the variants before the first flight.
        watch: Called with each flight when it has ended.

    Raises:
        InputError: If the spec can't be flown.
    """
    usual = default_variants(runs)
    spec = loaded(spec, overrides, seed)
    if spec.run.mode == "replay":
        raise InputError("run.mode = 'replay' can't be checked for determinism, since it reads a recording. Use 'live'")
    spec.timeline.check_has_end("in the determinism check", "set an end, such as --set timeline.t_end_s=60")
    autopilot = spec.autopilot.capabilities
    if not autopilot.is_repeatable:
        raise InputError(
            f"{autopilot.name} is not bit-reproducible, because it runs threads; replay a flight to compare digests"
        )
    spec = spec.model_copy(update={"run": live(spec.run)})
    if autopilot.needs_child:  # it can fly only once per process
        usual = tuple(variant for variant in usual if variant.flights == 1)
    ways = usual if variants is None else variants
    build(spec).simulation.close()  # report errors of the spec once, here
    if begin is not None:
        begin(ways)
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
    """A process that flies, and the folder for its recordings."""

    variant: Variant
    place: tuple[int, int]  # index of the variant, and of the worker within it
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
            environment={**kept, "PX4LOCKSTEP_QUIET": "1", ahead.VARIABLE: ahead.NOW, **self.variant.environment},
        )


def _run(variants: Sequence[Variant], folder: Path) -> Generator[tuple[_Job, str | None], None, None]:
    """Run the processes of all variants, a few at a time; yield each job when it ends, with why it failed."""
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
            process.kill()  # and its own children, which compile


def _reason(process: Interpreter, code: int) -> str:
    """Return why a process failed: the last line that it wrote, and its exit code or signal."""
    said = [line.strip() for line in process.said().split("\n") if line.strip()]
    how = f"exit code {code}" if code > 0 else f"ended by signal {-code}"
    return f"{said[-1].removeprefix('error: ')} ({how})" if said else how


class _Compared:
    """Collects flights; keeps one recording of those that are identical."""

    def __init__(self) -> None:
        self._flights: dict[tuple[int, int, int], VariantFlight] = {}
        self._kept: dict[tuple[str, str], Path] = {}

    def add(self, job: _Job, error: str | None) -> Iterator[VariantFlight]:
        """Add the flights of a job, and yield each."""
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
    """Return the first difference of two flights, in the flight itself or in estimate and setpoints."""
    flown = first_difference(FlightRows.of(first), FlightRows.of(second), first.state_names)
    found = [one for one in (flown, first_live_difference(first, second)) if one is not None]
    return min(found, key=lambda one: one.time_us, default=None)
