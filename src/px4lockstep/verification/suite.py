"""All verification cases, in the order they are reported."""

from collections.abc import Iterator

from px4lockstep.verification.aircraft_cases import aircraft_results
from px4lockstep.verification.convergence import convergence_results
from px4lockstep.verification.reference_cases import reference_results
from px4lockstep.verification.result import Result
from px4lockstep.verification.scipy_reference import scipy_is_installed, scipy_results


def all_results() -> Iterator[Result]:
    """Run every case that can be run here."""
    yield from reference_results()
    yield from convergence_results()
    yield from aircraft_results()
    if scipy_is_installed():
        yield from scipy_results()


def not_run() -> list[str]:
    """Return what `all_results` leaves out here, and why."""
    return [] if scipy_is_installed() else ["comparison with SciPy's DOP853: SciPy is not installed"]
