"""`px4lockstep verify`: run all verification cases, or fly the recorded flights of real PX4 with the user's library."""

import json
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from rich.table import Column, Table

from px4lockstep.cli.console import Console
from px4lockstep.cli.crash import last_lines
from px4lockstep.cli.output import print_json, write_out
from px4lockstep.cli.progress import working
from px4lockstep.errors import InputError, SimulationError
from px4lockstep.processes import ask_child, crash_of
from px4lockstep.px4.console import console_into, printed_in
from px4lockstep.px4.finding import find_library
from px4lockstep.verification.aircraft_cases import aircraft_results
from px4lockstep.verification.px4_flights import FLIGHTS, TOLERANCE_M, TOLERANCE_US, fly
from px4lockstep.verification.reference_cases import Result, convergence_results, reference_results, scipy_results


def all_results() -> list[Result]:
    """Run all cases in the order in which they are reported."""
    return [*reference_results(), *convergence_results(), *aircraft_results(), *scipy_results()]


def run_verify(as_json: bool, px4: bool = False, lib: Path | None = None) -> int:
    """Run all cases, or fly PX4, and print the results; return the exit code, 1 if a case failed."""
    if px4:
        return _verify_px4(find_library(lib), as_json)
    if lib is not None:
        raise InputError("--lib names the library for --px4; give both, or none")
    with working("verifying integrators and models", quiet=as_json, flies=True):
        results = all_results()
    if as_json:
        print_json([result.as_dict() for result in results], indent=2)
    else:
        Console().print(_table(results))
        failed = sum(not result.passed for result in results)
        Console().print(f"{len(results) - failed} passed, {failed} failed", style="red" if failed else "green")
    return 0 if all(result.passed for result in results) else 1


def _table(results: list[Result]) -> Table:
    numbers = (Column(name, justify="right") for name in ("error", "bound"))
    table = Table("case", "integrator", *numbers, "", title="Verification", title_justify="left")
    for result in results:
        verdict = "[green]OK[/]" if result.passed else "[red]FAILED[/]"
        table.add_row(result.case, result.integrator, f"{result.error:.2e}", f"{result.bound:.2g}", verdict)
    return table


def _verify_px4(library: Path, as_json: bool) -> int:
    """Fly each recorded flight with a PX4 library and print the differences; return the exit code."""
    compared = [_compared(name, library) for name in FLIGHTS]
    passed = all(flight["passed"] for flight in compared)
    if as_json:
        told = {"tolerance_m": TOLERANCE_M, "tolerance_s": TOLERANCE_US / 1e6, "flights": compared, "passed": passed}
        print_json({"library": str(library), **told}, indent=2)
        return 0 if passed else 1
    write_out(f"PX4 library: {library}\n")
    for flight in compared:
        Console().print(_flight_table(flight))
        write_out(f"{_verdict(flight)}\n")
    return 0 if passed else 1


def _compared(name: str, library: Path) -> dict[str, Any]:
    """Fly one flight in a child process, because a library has one life per process; return the comparison."""
    with TemporaryFile() as console:

        def work() -> str:
            with console_into(console.fileno()):
                return json.dumps(fly(name, library).as_dict())

        code, text = ask_child(work)
        if code != 0:
            problem = crash_of(-code) if code < 0 else text
            lines = last_lines(printed_in(console))
            raise SimulationError("\n".join([f"flight {name!r} of {library}: {problem}", *lines]))
    compared: dict[str, Any] = json.loads(text)
    return compared


def _flight_table(flight: dict[str, Any]) -> Table:
    numbers = (Column(f"{name} \\[s]", justify="right") for name in ("recorded", "yours", "difference"))
    table = Table("event", *numbers, title=f"flight {flight['flight']}", title_justify="left")
    for event in flight["events"]:
        before, after = event["recorded_s"], event["flown_s"]
        apart = "" if before is None or after is None else f"{after - before:+z.3f}"
        table.add_row(event["event"], *("none" if time is None else f"{time:.3f}" for time in (before, after)), apart)
    return table


def _verdict(flight: dict[str, Any]) -> str:
    """Return the largest distance, and whether the flight agrees with the recorded one."""
    distance = f"max distance {flight['max_distance_m']:.2e} m at {flight['max_distance_s']:.1f} s"
    limits = f"{TOLERANCE_M:g} m and {TOLERANCE_US / 1e6:g} s"
    if flight["passed"]:
        return f"{flight['flight']}: agrees within {limits}; {distance}"
    return f"{flight['flight']}: differs by more than {limits} from {flight['first_s']:.3f} s on; {distance}"
