"""A flight is a value: replays, branches and campaigns need no file."""

import tempfile

import pytest
from campaign_files import write_campaign
from recorded_flights import SHORT, recorded

import px4lockstep
from px4lockstep.campaigns import campaign as campaigns
from px4lockstep.campaigns.flyer import Flyer
from px4lockstep.flights.branch import branch
from px4lockstep.flights.replay import replay
from px4lockstep.spec import load
from px4lockstep.spec.shipped import shipped_missions

REAL = load.checked


@pytest.fixture
def checks(monkeypatch):
    """Make temporary files fail, and count how often a spec is checked."""
    recorded()  # flown once for all tests
    counted = []

    def no_file(*args, **options):
        raise AssertionError("a temporary file")

    def checked(*args, **options):
        counted.append(args)
        return REAL(*args, **options)

    for name in ("TemporaryDirectory", "NamedTemporaryFile", "mkdtemp", "mkstemp"):
        monkeypatch.setattr(tempfile, name, no_file)
    monkeypatch.setattr(load, "checked", checked)
    monkeypatch.setattr(campaigns, "checked", checked)
    return counted


def test_a_replay_loads_the_spec_once(checks):
    """And once more with changes; finding the first difference needs no further load."""
    recording = recorded()
    assert replay(recording).matches
    assert len(checks) == 1
    replayed = replay(recording, integrator="RK4")
    assert replayed.first_difference is not None
    assert len(checks) == 3


def test_each_branch_loads_the_spec_once(checks):
    """After that of the trunk."""
    recording = recorded()
    flown = branch(recording, 13.5, events=[{"at_s": 14.0, "action": "return"}], count=3)
    assert len({one.run.digest for one in flown}) == 3
    assert [one.run.spec.aircraft.seed - recording.source.seed for one in flown] == [0, 1, 2]
    assert len(checks) == 1 + 3


def test_each_run_of_a_campaign_loads_the_spec_once(checks, tmp_path):
    """With the user's own mission, which is deleted before the flight."""
    own = tmp_path / "own.waypoints"
    own.write_text(shipped_missions()["simple"].read_text("utf-8"), "utf-8")
    file = write_campaign(tmp_path)
    text = file.read_text("utf-8").replace("[set]\n", f'[set]\n"px4.mission_path" = "{own}"\n')
    assert str(own) in text
    file.write_text(text, "utf-8")
    campaign = px4lockstep.load_campaign(file)
    own.unlink()
    checks.clear()
    rows = [Flyer(campaign).fly(index, campaign.inputs(index)) for index in range(2)]
    assert len({row.digest for row in rows}) == 2
    assert len(checks) == 2


def test_a_loaded_spec_keeps_its_mission(tmp_path):
    """Later changes of the file have no effect on it or on flights built from it."""
    own = tmp_path / "own"
    text = shipped_missions()["simple"].read_text("utf-8")
    own.write_text(text, "utf-8")
    spec = px4lockstep.load_spec("iris", SHORT | {"px4.mission_path": str(own)})
    own.write_text("something else", "utf-8")
    assert spec.mission.text == text
    run = px4lockstep.simulate(load.change_spec(spec, {"aircraft.seed": 9}))
    folder = run.save(tmp_path / "run", plots=False)  # without a suffix, it would be the name of a built-in mission
    assert px4lockstep.load_spec(folder / "spec.toml").mission.text == text
    assert spec != px4lockstep.load_spec("iris", SHORT | {"px4.mission_path": "simple"})
