"""The flights of all built-in aircraft are bit-identical on any machine and with any version of Python."""

import json
from pathlib import Path

import pytest

import px4lockstep
from px4lockstep.spec.shipped import shipped_aircraft

DIGESTS = json.loads((Path(__file__).parent / "digests.json").read_text("utf-8"))

BEFORE_KINKS = {
    "iris": "7d3b636aeafc6c8401abb281078d289b94537ecdb4be39c2da68abeea0cbb340",
    "octa": "df151ff56b9078d6d88edbec25dde6ee0c5f870b7b6961d4d0632e957b0ca1ba",
}
"""Digests from before steps shrank towards kinks; recordings of version 3 and older replay to these."""


def check(name, flown):
    """Compare the digests of a flight with the golden ones."""
    golden = DIGESTS[name]
    other = [kind for kind in golden if flown[kind] != golden[kind]]
    assert not other, "\n".join(
        [
            f"the flight of {name} has changed:",
            *(f"  {kind} {flown[kind]}, was {golden[kind]}" for kind in other),
            'If the change is intended, give the reason: make digests REASON="..."',
        ]
    )


def test_every_built_in_aircraft_has_digests():
    """No other aircraft has digests."""
    assert sorted(DIGESTS) == sorted(shipped_aircraft())
    for digests in DIGESTS.values():
        assert list(digests) == ["digest", "live_digest"]
        assert all(len(digest) == 64 for digest in digests.values())
    assert len({digest for digests in DIGESTS.values() for digest in digests.values()}) == 2 * len(DIGESTS)


@pytest.mark.parametrize("name", sorted(DIGESTS))
def test_the_flight_of_an_aircraft_has_not_changed(name):
    """The digests cover the whole flight: state, commands, wind and faults, estimate and setpoints."""
    simulation = px4lockstep.simulate(name).simulation
    check(name, {"digest": simulation.digest(), "live_digest": simulation.live_digest()})


def test_a_flight_that_changed_is_reported():
    """The message has the aircraft, both digests, and a remedy."""
    flown = {**DIGESTS["hex"], "live_digest": "0" * 64}
    with pytest.raises(AssertionError) as caught:
        check("hex", flown)
    message = str(caught.value)
    assert "the flight of hex has changed" in message
    assert f"live_digest {'0' * 64}, was {DIGESTS['hex']['live_digest']}" in message
    assert "make digests REASON=" in message
    assert DIGESTS["hex"]["digest"] not in message


@pytest.mark.parametrize("name", BEFORE_KINKS)
def test_without_kink_tolerance_the_flight_is_that_of_older_versions(name):
    """The flight is bit-identical, including motor spin-up and touchdown."""
    spec = px4lockstep.load_spec(name, {"plant.integrator.kink_tolerance": 1.0})
    assert px4lockstep.build(spec).simulation.run().digest() == BEFORE_KINKS[name]
