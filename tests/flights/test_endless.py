"""Runs without an end, `timeline.t_end_s = "none"`: they end on request, and only where that is possible."""

import numpy as np
import pytest
from campaign_files import write_campaign
from recorded_flights import SHORT

import px4lockstep
from px4lockstep.campaigns.load import load_campaign
from px4lockstep.engine import buffers
from px4lockstep.engine.timeline import MAX_BOUNDARIES
from px4lockstep.errors import InputError
from px4lockstep.flights.branch import branch
from px4lockstep.flights.determinism import determinism
from px4lockstep.flights.replay import replay
from px4lockstep.spec import timing
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec

ENDLESS = {**SHORT, "timeline.t_end_s": "none"}


def until(seconds):
    return lambda simulation: simulation.time_us >= seconds * 1e6


def test_the_timeline_is_as_long_as_boundaries_allow():
    """Twenty hours at the default periods; it is not generated as a whole."""
    timeline = build(load_spec("iris", ENDLESS)).simulation.timeline
    assert not timeline.has_end
    assert sum(timeline.most_ticks(axis) for axis in ("autopilot", "wind", "log", "scenario")) <= MAX_BOUNDARIES
    assert 20.0 < timeline.end_us / 3.6e9 < 21.0
    assert "_whole" not in vars(timeline)


@pytest.mark.parametrize("integrator", ["RK45", "RK4"])
def test_it_equals_a_flight_with_that_end(integrator):
    """It is ended by `watch`; the recording replays to the same digest."""
    options = {"plant.integrator": integrator}
    run = px4lockstep.simulate("iris", watch=until(5.0), overrides=ENDLESS | options)
    fixed = px4lockstep.simulate("iris", overrides=SHORT | {"timeline.t_end_s": 5.0} | options)
    assert run.simulation.is_done
    assert run.summary.duration_s == 5.0
    assert run.digest == fixed.digest
    assert run.summary.outcome == fixed.summary.outcome == "out of time"
    assert run.summary.warnings == fixed.summary.warnings
    again = replay(run.recording)
    assert again.digest == run.digest
    assert again.outcome.word == "out of time"
    assert again.simulation.timeline.end_us == 5_000_000


def test_without_a_mission_nothing_is_asked():
    """`px4.mission_path = "none"` removes the mission of the aircraft, and with it the default requests."""
    run = px4lockstep.simulate(
        "iris",
        watch=until(2.0),
        overrides={"timeline.t_end_s": "none", "px4.mission_path": "none", "environment.wind": "none"},
    )
    assert run.spec.mission is None
    assert run.spec.scenario.arm_time_s is None
    assert run.summary.outcome == "nothing asked"
    assert run.outcome.is_success


def test_a_crash_does_not_end_it():
    """The vehicle stays where it is, and the outcome is still `crashed`."""
    events = [{"at_s": 9.0, "action": "disable_motor", "motor": 1}]
    run = px4lockstep.simulate("iris", watch=until(20.0), overrides=ENDLESS | {"scenario.events": events})
    assert run.summary.duration_s == 20.0
    assert (run.summary.outcome, run.summary.crashed) == ("crashed", True)
    assert run.summary.reason.startswith("hit the ground at ")
    rest = run.log["pos_ned"][run.log.time_us > 19_000_000]
    assert np.ptp(rest, axis=0).max() < 0.01
    assert replay(run.recording).digest == run.digest


def test_a_run_that_is_stopped_has_no_end_in_its_reason():
    """As a second interrupt does."""

    def stop(_):
        raise KeyboardInterrupt

    flight = build(load_spec("iris", ENDLESS))
    with pytest.raises(KeyboardInterrupt):
        px4lockstep.fly(flight, stop)
    summary = px4lockstep.Run(flight).summary
    assert (summary.outcome, summary.reason) == ("stopped", "the run was stopped at 1.00 s")
    assert "the run stopped at 1.000000 s" in summary.warnings


def test_at_the_limit_of_boundaries_it_ends_with_a_warning(monkeypatch):
    """Here after about a second."""
    monkeypatch.setattr(timing, "MAX_BOUNDARIES", 1_350 + timing.MOST_EVENTS)
    run = px4lockstep.simulate("iris", watch=lambda _: None, overrides=ENDLESS)
    assert run.simulation.is_done
    assert run.summary.duration_s == 1.0
    assert any("reached the limit of 100,000,000 event boundaries at 1 s" in text for text in run.summary.warnings)


def test_in_memory_it_is_limited_by_its_current_size(monkeypatch):
    """With the limit of a run with an end."""
    monkeypatch.setattr(buffers, "MAX_BYTES", 30_000_000)
    with pytest.raises(InputError, match=r"log and streams of this run would take 0\.\d GiB"):
        px4lockstep.simulate("iris", watch=lambda _: None, overrides=ENDLESS | {"timeline.dt_log_s": 0.001})


def test_where_it_would_never_end_it_is_rejected(tmp_path):
    """Without `watch`, in campaigns, determinism checks and branches."""
    with pytest.raises(InputError, match=r"t_end_s = 'none' is not supported without watch, which would never end"):
        px4lockstep.simulate("iris", overrides=ENDLESS)
    with pytest.raises(InputError, match=r"not supported in the determinism check"):
        determinism("iris", overrides=ENDLESS)
    run = px4lockstep.simulate("iris", watch=until(2.0), overrides=ENDLESS)
    with pytest.raises(InputError, match=r"not supported for a branch, .* such as --set timeline\.t_end_s=60"):
        branch(run.recording, 1.0)
    [ended] = branch(run.recording, 1.0, overrides={"timeline.t_end_s": 3.0})
    assert ended.run.summary.duration_s == 3.0
    file = tmp_path / write_campaign(tmp_path)
    file.write_text(file.read_text().replace('"timeline.t_end_s" = 4.0', '"timeline.t_end_s" = "none"'))
    with pytest.raises(InputError, match=r"'none' is not supported in a campaign, .* set an end in \[set\]"):
        load_campaign(file)


def test_a_part_of_a_stage_knows_the_end():
    """Python stages read it in `inputs.end_us`."""
    ends = {build(load_spec("iris", {"timeline.t_end_s": end})).simulation._inputs.end_us for end in (2.0, "none")}
    assert ends == {2_000_000, None}
