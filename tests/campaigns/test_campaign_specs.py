"""The spec of a run, of which unchanged tables are validated once, is that of a complete validation."""

import random
from dataclasses import replace

import pytest

from px4lockstep.campaigns.load import load_campaign
from px4lockstep.errors import InputError
from px4lockstep.part import dotted
from px4lockstep.spec.load import load_spec

CAMPAIGN = """
[campaign]
base = "aircraft.toml"
runs = 1
"""
AIRCRAFT = """
extends = ["iris"]
[environment]
wind = "ou"
[[power.batteries]]
id = "one"
sense_delay_s = 0.008
[[scenario.events]]
at_s = 3.0
action = "thrust_loss"
motor = 1
fraction = 0.1
"""
ANY = [
    0.0,
    -0.0,
    -1.0,
    0.5,
    1,
    3,
    1e9,
    float("nan"),
    float("inf"),
    True,
    "x",
    "none",
    "",
    [],
    [1.0, 2.0, 3.0],
    {},
    None,
]
"""Values, most of which most keys reject."""
CROSS = [
    {"timeline.dt_autopilot_s": 0.003},  # delays are not whole ticks
    {"estimator.dt_est_s": 0.002},
    {"scenario.events[0].motor": 5},  # there are four
    {"estimator.delay_s": 0.0055},  # not a whole number of ticks
    {"autopilot.params.CA_ROTOR7_PX": 0.1},
    {"actuation.motors": [{"id": "a", "channel": 1}]},
    {"power.batteries[0].id": "other", "power.buses": [{"battery_ids": ["one"], "motor_ids": []}]},
    {"run.mode": "replay"},
    {"px4.mission_path": "simpel"},
    {"airframe.mass_kgs": 1.0},
    {"aircraft.seed": 2, "airframe.mass_kg": -1.0, "environment.wind_tau_s": 0.0},
]
"""Overrides that only a check across tables, or a check of keys, rejects."""


def keys_in(value, key=()):
    """Yield the keys of nested tables, tables included."""
    if key:
        yield dotted(key)
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    for name, item in items:
        yield from keys_in(item, (*key, name))


def result(campaign, overrides):
    """Return all of a spec, or the error."""
    try:
        spec = campaign.spec(dict(overrides))
    except InputError as error:
        return str(error), error.key, error.findings
    places = spec.places
    sources = places.main, places.files, places.overrides, places.elsewhere
    missions = {name: mission.text for name, mission in spec.missions.items()}
    return spec.model_dump(by_alias=True), sources, spec.untrusted, missions


@pytest.fixture
def campaign(tmp_path):
    (tmp_path / "aircraft.toml").write_text(AIRCRAFT, "utf-8")
    (tmp_path / "campaign.toml").write_text(CAMPAIGN, "utf-8")
    return load_campaign(tmp_path / "campaign.toml")


@pytest.mark.long
def test_specs_and_errors_of_runs_are_those_of_a_complete_validation(campaign, tmp_path):
    """For 300 random overrides in sequence: of keys with and without an effect on others, valid and invalid."""
    rng, spec = random.Random(4), load_spec(tmp_path / "aircraft.toml").model_dump(by_alias=True)
    known = sorted(keys_in({name: table for name, table in spec.items() if isinstance(table, dict)}))
    rejected = 0
    for number in range(300):
        overrides = dict(rng.choice(CROSS)) if rng.random() < 0.3 else {}
        for _ in range(rng.randrange(3)):
            overrides[rng.choice(known)] = rng.choice(ANY)
        if rng.random() < 0.5:
            overrides |= {"power.batteries[0].soc0": rng.random(), "environment.wind_mean_ned[0]": rng.random()}
        fresh = replace(campaign, base=dict(campaign.base))  # without the parts of other runs
        expected = repr(result(fresh, overrides))
        assert repr(result(campaign, overrides)) == expected, (number, overrides)
        rejected += isinstance(result(campaign, overrides)[0], str)
    assert 100 < rejected < 250
    assert all(isinstance(result(campaign, overrides)[0], str) for overrides in CROSS)


def test_tables_that_a_run_does_not_change_are_the_same_objects(campaign):
    """So that nothing of them is checked or built again."""
    first, second = (campaign.spec({"power.batteries[0].soc0": charge}) for charge in (0.8, 0.9))
    assert first.airframe is second.airframe
    assert first.estimator is second.estimator
    assert first.power is not second.power
    assert (first.power.batteries[0].soc0, second.power.batteries[0].soc0) == (0.8, 0.9)


def test_the_tables_of_all_runs_can_not_be_changed(campaign):
    """A run that changes a table gets a copy."""
    with pytest.raises(TypeError, match="is immutable"):
        campaign._tables["environment"]["wind"] = "none"
    before = repr(campaign.base)
    campaign.spec({"environment.wind": "none", "power.batteries[0].soc0": 0.5})
    assert repr(campaign.base) == before
    assert campaign.spec({}).environment.wind == "ou"
