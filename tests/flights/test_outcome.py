"""What came of a flight and why: flown, crashed, not finished, stopped, failed."""

import pytest
from fleet import iris, octa

from flights import TAKE_OFF, flight
from px4lockstep.errors import SimulationError
from px4lockstep.flights.summary import summarize
from px4lockstep.log.events import events_of
from px4lockstep.log.log import Log
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.vehicle.battery import Battery


def summary_of(**options):
    return summarize(flight(**options).run())


def test_a_mission_that_is_finished_is_flown():
    """Without a reason."""
    summary = summary_of(end_s=72)
    assert (summary.outcome, summary.reason, summary.mission_asked) == ("flown", None, True)


@pytest.mark.parametrize("order", ["return_home", "land"])
def test_an_ordered_return_or_landing_replaces_the_mission(order):
    """Flown once it stands on the ground, though the mission's last item was never reached; not before."""
    scenario = getattr(TAKE_OFF.at(20.0), order)()
    landed = summary_of(scenario=scenario, end_s=72, params={"RTL_RETURN_ALT": 15})
    assert landed.landed
    assert not landed.mission_finished
    assert landed.outcome == "flown"
    flying = summary_of(scenario=scenario, end_s=22)
    assert flying.outcome == "mission not finished"
    assert "was ordered at 20.00 s" in flying.reason


def test_a_mission_that_is_asked_for_again_counts():
    """After an ordered return, the mission is what is asked for."""
    scenario = TAKE_OFF.at(16.0).return_home().at(18.0).start_mission()
    assert summary_of(scenario=scenario, end_s=30).outcome == "mission not finished"


def test_a_failsafe_is_no_order():
    """The battery sends it home, where it lands: the mission is not finished, and the reason says by what."""
    aircraft = iris(batteries=(Battery(capacity_ah=5.0, soc0=0.12),))
    summary = summary_of(aircraft=aircraft, end_s=72, params={"COM_LOW_BAT_ACT": 1})
    assert summary.landed
    assert summary.outcome == "mission not finished"
    assert "failsafe: battery" in summary.reason
    assert "mode return" in summary.reason


def test_a_crash_has_its_causes():
    """A quadrotor that loses a motor."""
    summary = summary_of(scenario=TAKE_OFF.at(20.0).disable_motor(1), end_s=72)
    assert summary.outcome == "crashed"
    assert summary.reason.startswith(f"it hit the ground at {summary.duration_s:.2f} s; before that: motor 1 off 20.00")
    assert "failsafe: motor failure" in summary.reason


def test_an_empty_battery_is_an_event():
    """With its number and time, and not as a state that was put back."""
    aircraft = octa(batteries=(Battery(capacity_ah=5.0, soc0=0.005, ocv_v=(21.6, 25.2)),))
    sim = flight(aircraft=aircraft, scenario=TAKE_OFF, end_s=30, params={"COM_LOW_BAT_ACT": 0}).run()
    summary = summarize(sim)
    soc = Log.of(sim)["soc"][:, 0]
    (empty,) = [event for event in summary.events if event.label == "battery 1 empty"]
    assert empty.is_fault
    assert empty.time_us == int(Log.of(sim).time_us[(soc == 0.0).argmax()])
    assert sim.statistics.projected_states >= 1
    assert not any("put back" in warning for warning in summary.warnings)


def test_nothing_asked_for_is_nothing_missed():
    """A flight without a mission is flown when it ends; one whose mission comes after its end is not."""
    idle = summary_of(scenario=Scenario().arm(at_s=1.0), end_s=3)
    assert (idle.outcome, idle.mission_asked, idle.mission_finished) == ("flown", False, False)
    late = summary_of(scenario=TAKE_OFF, end_s=1.5)
    assert late.mission_asked
    assert late.reason == "the run ended before the mission was asked for"


def test_a_run_that_was_stopped_or_could_not_go_on_says_so():
    """Where it stopped, or the error."""
    sim = flight(end_s=10).run(until_us=4_000_000)
    assert summarize(sim).reason == "the run was stopped at 4.00 s of 10.00 s"
    failed = summarize(sim, error=SimulationError("the state is not finite"))
    assert (failed.outcome, failed.reason) == ("failed", "the state is not finite")


def test_a_replay_can_not_tell_of_the_mission():
    """Its autopilot tells nothing of itself, so nothing is missed; a crash is seen."""
    recorded = flight(end_s=5, record=True).run()
    replayed = flight(end_s=5, replay=recorded.streams).run()
    assert summarize(recorded).outcome == "mission not finished"
    assert summarize(replayed).outcome == "flown"


def test_nothing_is_minus_zero():
    """A vehicle that stays on the ground is 0 m high."""
    height_m = summary_of(scenario=Scenario().arm(at_s=0.1), end_s=0.5).max_altitude_m
    assert f"{height_m:.2f}" == "0.00"
    assert events_of(Log.of(flight(end_s=0.5).run())) == ()
