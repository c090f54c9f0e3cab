"""The flights of all aircraft that ship, to the last bit: the same on any machine and with any version of Python."""

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
"""Of flights before steps shrank up to kinks: recordings of then (version 3 and older) replay to these."""


def check(name, flown):
    """Compare the digests of a flight with the golden ones."""
    golden = DIGESTS[name]
    other = [kind for kind in golden if flown[kind] != golden[kind]]
    assert not other, "\n".join(
        [
            f"the flight of {name} is another one than it was:",
            *(f"  {kind} {flown[kind]}, was {golden[kind]}" for kind in other),
            'If that is meant, say why: make digests REASON="..."',
        ]
    )


def test_every_aircraft_that_ships_has_digests():
    """And nothing else has."""
    assert sorted(DIGESTS) == sorted(shipped_aircraft())
    for digests in DIGESTS.values():
        assert list(digests) == ["digest", "live_digest"]
        assert all(len(digest) == 64 for digest in digests.values())
    assert len({digest for digests in DIGESTS.values() for digest in digests.values()}) == 2 * len(DIGESTS)


@pytest.mark.parametrize("name", sorted(DIGESTS))
def test_an_aircraft_flies_as_it_always_did(name):
    """The whole flight of its file: state, commands, wind and faults; and the estimate and the setpoints."""
    simulation = px4lockstep.simulate(name).simulation
    check(name, {"digest": simulation.digest(), "live_digest": simulation.live_digest()})


def test_a_flight_that_changed_is_reported():
    """With the aircraft, both digests, and what to do."""
    flown = {**DIGESTS["hex"], "live_digest": "0" * 64}
    with pytest.raises(AssertionError) as caught:
        check("hex", flown)
    told = str(caught.value)
    assert "the flight of hex is another one" in told
    assert f"live_digest {'0' * 64}, was {DIGESTS['hex']['live_digest']}" in told
    assert "make digests REASON=" in told
    assert DIGESTS["hex"]["digest"] not in told


@pytest.mark.parametrize("name", BEFORE_KINKS)
def test_without_a_kink_tolerance_an_aircraft_flies_as_it_did_before_there_was_one(name):
    """To the last bit, with all motors that spin up, and the touchdown."""
    spec = px4lockstep.load_spec(name, {"plant.integrator.kink_tolerance": 1.0})
    assert px4lockstep.build(spec).simulation.run().digest() == BEFORE_KINKS[name]
