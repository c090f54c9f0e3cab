"""Tier 2: the coupled aircraft, the same cases as `px4lockstep verify`."""

from px4lockstep.verification.aircraft_cases import aircraft_results


def test_every_case_of_the_aircraft_is_within_its_bound():
    """It runs all cases and checks their number."""
    results = list(aircraft_results())
    assert len(results) >= 30
    assert [result for result in results if not result.passed] == []
