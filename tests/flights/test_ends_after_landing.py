"""Runs that end after the landing, `timeline.t_end_s = "auto"`: where they end, and that they equal a fixed end."""

import pytest
from campaign_files import write_campaign
from fleet import iris
from scenario_flight import standing

import px4lockstep
from flights import TAKE_OFF, flight, mission_of
from px4lockstep.campaigns.load import load_campaign
from px4lockstep.engine import buffers
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.flights.branch import branch
from px4lockstep.flights.replay import replay
from px4lockstep.flights.summary import summarize
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.spec.load import load_aircraft

HOP = mission_of((22, 0.0, 0.0, 3.0), (21, 0.0, 0.0, 0.0))
LATEST_S = 600
OFF_US, STUCK_US = 3_000_000, 60_000_000


def hop(**options):
    """Return a flight up to 3 m and down, which takes some 20 s and disarms 2 s after its landing."""
    return flight(HOP, **{"end_s": LATEST_S, "record": True, "ends_after_landing": True} | options)


def last_change_us(simulation, name, value):
    """Return the time of the first row of the log from which a column of the autopilot has a value until the end."""
    rows = simulation.log
    before = [i for i, found in enumerate(rows["bus"]["autopilot"][name]) if found != value]
    return int(rows["time_us"][before[-1] + 1])


def assert_same(found, wanted):
    """Check that two flights are bit-identical, with all that a recording holds."""
    assert found.is_done
    assert found.time_us == wanted.time_us
    assert (found.digest(), found.live_digest()) == (wanted.digest(), wanted.live_digest())
    assert found.fingerprints.tobytes() == wanted.fingerprints.tobytes()
    for name in ("time_us", "due", "commands", "winds", "scenarios", "scenario_at"):
        assert getattr(found.streams, name).tobytes() == getattr(wanted.streams, name).tobytes(), name


@pytest.fixture(scope="module")
def flown():
    """A flight that has ended after its landing."""
    return hop().run()


def test_a_flight_ends_3_s_after_it_disarmed(flown):
    """To the autopilot tick: its log row is at most 10 ms late; the scenario sees the status of the last tick."""
    disarmed_us = last_change_us(flown, "armed", 0)
    assert 10_000_000 < flown.time_us < 60_000_000
    assert disarmed_us - 10_000 <= flown.time_us - OFF_US <= disarmed_us + 4_000
    assert int(flown.log["time_us"][-1]) == flown.time_us


def test_it_equals_a_flight_with_that_end_and_its_replay(flown):
    """The end is a boundary of the timeline, and the recording holds it."""
    assert_same(flown, hop(end_s=flown.time_us / 1e6, ends_after_landing=False).run())
    again = hop(replay=flown.streams, record=False).run()
    assert again.is_done
    assert again.digest() == flown.digest()


def test_the_end_does_not_depend_on_calls_or_chunks(flown, monkeypatch):
    """A run in pieces, the last one shorter than a boundary before the end, and with small buffers."""
    monkeypatch.setattr(buffers, "CHUNK_BOUNDARIES", 1_000)
    pieces = hop()
    for until_us in (777_777, 5_000_000, flown.time_us - 2_999_000, flown.time_us - 1, flown.time_us):
        assert not pieces.run(until_us).is_done
    assert_same(pieces.run(), flown)


@pytest.mark.parametrize("before_us", [4_000_000, 1_000_000, 0])
def test_a_snapshot_before_the_end_continues_to_the_same_end(flown, before_us):
    """Even one that was made when the run was already over."""
    simulation = hop().run(flown.time_us - before_us)
    kept = simulation.snapshot()
    assert_same(simulation.run(), flown)
    simulation.restore(kept)
    assert_same(simulation.run(), flown)
    other = hop()
    other.restore(kept)
    assert_same(other.run(), flown)


def test_buffers_grow_with_the_run():
    """An hour is not generated in advance."""
    simulation = hop(end_s=3_600)
    assert len(simulation._buffers) <= buffers.CHUNK_BOUNDARIES + 1
    assert "_whole" not in vars(simulation.timeline)
    simulation._buffers.check_memory()


def test_a_vehicle_of_which_nothing_is_asked_stands_for_3_s():
    """From the start."""
    assert standing().run().time_us == OFF_US


def on_ground(scenario, end_s=100):
    """Run a vehicle on the ground without an autopilot."""
    times_us = scenario.times_us()
    timeline = Timeline(
        round(end_s * 1e6),
        autopilot=Periodic(20_000),
        log=Periodic(1_000_000),
        scenario=Explicit(times_us) if times_us else None,
        ends_after_landing=True,
    )
    return Simulation(iris(), timeline, scenario=scenario).run()


def test_events_with_a_time_are_awaited():
    """The run ends 3 s after the last one, if nothing else holds it up."""
    assert on_ground(Scenario().at(7.5).wind_step((1.0, 0.0, 0.0))).time_us == 7_500_000 + OFF_US
    assert on_ground(Scenario().at_step(500).wind_step((1.0, 0.0, 0.0))).time_us == 10_000_000 + OFF_US


def test_a_vehicle_that_is_not_armed_when_asked_stands_for_60_s():
    """Here, because there is no autopilot; a condition might still arm it, too."""
    assert on_ground(Scenario().arm(at_s=1.0)).time_us == 1_000_000 + STUCK_US
    assert on_ground(Scenario().when("altitude_m", above=5.0).arm()).time_us == STUCK_US


def test_a_vehicle_that_cannot_take_off_stands_for_60_s():
    """Armed, with full thrust below its weight."""
    heavy = {"airframe.mass_kg": 8.0, "airframe.propulsion.calibration_mass_kg": 1.5}
    simulation = hop(aircraft=load_aircraft("iris", heavy)).run()
    assert 62_000_000 <= simulation.time_us <= 66_000_000
    assert summarize(simulation).outcome == "never took off"


def test_a_condition_that_never_holds_does_not_delay_the_end(flown):
    """After the vehicle was armed and disarmed."""
    scenario = TAKE_OFF.when("battery_remaining", below=0.01).land()
    assert hop(scenario=scenario).run().time_us == flown.time_us


def test_a_second_flight_is_awaited(flown):
    """Armed again 2 s after it disarmed, and the mission requested again."""
    again_s = flown.time_us / 1e6 - 1.0
    scenario = TAKE_OFF.at(again_s - 0.5).disarm().at(again_s).arm().at(again_s + 1.0).start_mission()
    assert hop(scenario=scenario).run().time_us > flown.time_us + 10_000_000


def test_a_crash_ends_the_run_as_before():
    """At the boundary of the crash."""
    scenario = TAKE_OFF
    for motor in (1, 2, 3, 4):
        scenario = scenario.when("altitude_m", above=2.0).disable_motor(motor)
    simulation = hop(scenario=scenario).run()
    assert simulation.is_crashed
    assert simulation.time_us < 10_000_000


def test_a_mission_that_ends_in_the_air_lasts_until_the_latest_end():
    """It hovers."""
    up = mission_of((22, 0.0, 0.0, 3.0), (16, 0.0, 0.0, 3.0))
    assert flight(up, end_s=30, ends_after_landing=True).run().time_us == 30_000_000


AUTO = {"timeline.t_end_s": "auto", "scenario.events": [{"at_s": 6.0, "action": "land"}]}


def test_a_spec_with_an_automatic_end_records_replays_and_branches():
    """A branch continues to an end of its own; without a change, it is that of its trunk."""
    run = px4lockstep.simulate("iris", overrides=AUTO)
    assert (run.summary.outcome, run.summary.warnings) == ("flown", ())
    assert run.spec.timeline.end_us == 3_600_000_000
    assert run.summary.duration_s < 40.0
    again = replay(run.recording)
    assert (again.digest, again.outcome.word) == (run.digest, "flown")
    same, later = (
        branch(run.recording, 9.0, events=events)[0].run
        for events in ([], [{"at_s": 50.0, "action": "wind_step", "vel_ned": [0.0, 1.0, 0.0]}])
    )
    assert same.digest == run.digest
    assert later.summary.duration_s == 53.0
    fixed = px4lockstep.simulate("iris", overrides=AUTO | {"timeline.t_end_s": run.summary.duration_s})
    assert fixed.digest == run.digest


def test_a_campaign_may_end_after_the_landing(tmp_path):
    """Its runs have an end."""
    file = write_campaign(tmp_path)
    file.write_text(file.read_text().replace('"timeline.t_end_s" = 4.0', '"timeline.t_end_s" = "auto"'))
    assert load_campaign(file).spec({}).timeline.ends_after_landing
