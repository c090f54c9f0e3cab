"""`px4lockstep verify`: run all verification cases and print them as a table or JSON."""

from rich.table import Column, Table

from px4lockstep.cli.console import Console
from px4lockstep.cli.output import print_json
from px4lockstep.verification.aircraft_cases import aircraft_results
from px4lockstep.verification.reference_cases import Result, convergence_results, reference_results, scipy_results


def all_results() -> list[Result]:
    """Run all cases in the order in which they are reported."""
    return [*reference_results(), *convergence_results(), *aircraft_results(), *scipy_results()]


def run_verify(as_json: bool) -> int:
    """Run all cases and print them; return the exit code, 1 if a case failed."""
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
