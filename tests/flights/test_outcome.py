"""The outcome of a flight and its reason."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from fleet import iris, octa

from flights import TAKE_OFF, flight, mission_of
from px4lockstep.cli.run import _print_summary
from px4lockstep.errors import SimulationError
from px4lockstep.flights import outcome
from px4lockstep.flights.facts import Facts
from px4lockstep.flights.outcome import is_success, judge
from px4lockstep.flights.run import Run, simulate
from px4lockstep.flights.summary import summarize
from px4lockstep.log.log import Log
from px4lockstep.scenario.landing import CRASH_LIES
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.spec.load import load_aircraft, load_spec
from px4lockstep.vehicle.battery import Battery


def summary_of(**options):
    return summarize(flight(**options).run())


def test_a_finished_mission_is_flown():
    """Without a reason."""
    summary = summary_of(end_s=72)
    assert (summary.outcome, summary.reason, summary.mission_asked) == ("flown", None, True)


@pytest.mark.parametrize("order", ["return_home", "land"])
def test_a_requested_return_or_landing_replaces_the_mission(order):
    """Flown once the vehicle stands on the ground, even if the last mission item was never reached; not before."""
    scenario = getattr(TAKE_OFF.at(20.0), order)()
    landed = summary_of(scenario=scenario, end_s=72, params={"RTL_RETURN_ALT": 15})
    assert landed.landed
    assert not landed.mission_finished
    assert (landed.outcome, landed.ending) == ("flown", "returned" if order == "return_home" else "landed")
    flying = summary_of(scenario=scenario, end_s=22)
    assert flying.outcome == "out of time"
    assert "was requested at 20.00 s" in flying.reason


def test_a_mission_requested_again_counts():
    """After a requested return, a new mission request replaces it."""
    scenario = TAKE_OFF.at(16.0).return_home().at(18.0).start_mission()
    assert summary_of(scenario=scenario, end_s=30).outcome == "out of time"


def test_a_failsafe_does_not_replace_the_mission():
    """The battery failsafe returns and lands: the mission is not finished, and the reason names the failsafe."""
    summary = summarize(low_battery(COM_LOW_BAT_ACT=1, RTL_RETURN_ALT=15))
    assert summary.landed
    assert (summary.outcome, summary.ending) == ("mission not finished", "returned")
    (failsafe,) = [event for event in summary.events if event.label == "mode return"]
    took = rf"a failsafe \(battery\) took over at {failsafe.time_us / 1e6:.2f} s, at item \d of a mission"
    ended = r" with items 0 to 7, with mode return; it returned, 0\.\d m from home; before that: "
    assert re.match(took + ended, summary.reason)
    assert summary.reason.count("mode return") == 1


def low_battery(soc0=0.15, end_s=72, **params):
    """Fly the mission with a battery that is nearly empty."""
    aircraft = iris(batteries=(Battery(capacity_ah=5.0, soc0=soc0),))
    return flight(aircraft=aircraft, end_s=end_s, params=params).run()


def test_a_failsafe_that_lands_is_not_where_it_should_be():
    """It lands where it is; or it is still in the air at the end."""
    landed = summarize(low_battery(COM_LOW_BAT_ACT=2))
    assert (landed.outcome, landed.ending) == ("mission not finished", "landed away")
    assert re.search(r"at item \d of .*, with mode land; it landed, \d+\.\d m from home", landed.reason)
    flying = summarize(low_battery(end_s=40, COM_LOW_BAT_ACT=1))
    assert (flying.outcome, flying.ending) == ("mission not finished", "in the air")
    assert re.search(r"; it was in the air at the end, \d+\.\d\d m above the ground", flying.reason)


def test_a_mission_that_a_failsafe_finished_is_not_finished():
    """PX4 reports a mission as finished after any landing; it counts if no failsafe took over, or if it was over."""
    sim = low_battery(COM_LOW_BAT_ACT=2)
    log = Log.of(sim)
    row = int(np.flatnonzero(log["nav_state"] == 18)[0])
    claimed = np.arange(log.rows) > row + 100
    assert not claims(sim, log, mission_finished=claimed).mission_finished
    assert judge(claims(sim, log, mission_finished=claimed)).word == "mission not finished"
    assert claims(sim, log, mission_finished=np.arange(log.rows) >= row).mission_finished
    went_on = np.where(claimed, 3, log["nav_state"])
    assert claims(sim, log, mission_finished=claimed, nav_state=went_on).mission_finished
    assert claims(sim, log, mission_finished=claimed, failsafe=np.zeros(log.rows)).mission_finished


def test_a_failsafe_may_take_several_steps():
    """Stock PX4 holds before it acts, may give the reason later, and changes its mode again once disarmed."""
    sim = low_battery(COM_LOW_BAT_ACT=2)
    log = Log.of(sim)
    row, off = int(np.flatnonzero(log["nav_state"] == 18)[0]), int(np.flatnonzero(np.diff(log["armed"]) < 0)[0]) + 1
    rows = np.arange(log.rows)
    failsafe = np.where(rows < row - 300, 0, np.where(rows < row - 100, 5, 2))
    mode = np.where(rows >= off, 3, np.where((rows >= row - 300) & (rows < row), 4, log["nav_state"]))
    stepped = claims(sim, log, failsafe=failsafe, nav_state=mode)
    at_s = int(log.time_us[row - 300]) / 1e6
    assert judge(stepped).reason.startswith(f"a failsafe (battery) took over at {at_s:.2f} s, at item 1 of a mission")
    assert "with mode hold, then land; it landed, " in judge(stepped).reason
    unnamed = claims(sim, log, failsafe=np.where(failsafe, 5, 0), nav_state=mode)
    assert judge(unnamed).reason.startswith(f"a failsafe took over at {at_s:.2f} s")


def test_a_warning_does_not_take_over():
    """With a low battery that is only reported, the mission changes its mode by itself at its end."""
    ends = mission_of((22, 0, 0, 3), (16, 8, 0, 3), (20, 0, 0, 0))
    aircraft = iris(batteries=(Battery(capacity_ah=5.0, soc0=0.13),))
    params = {"RTL_RETURN_ALT": 5, "COM_LOW_BAT_ACT": 0}
    returned = summary_of(aircraft=aircraft, mission=ends, end_s=60, params=params)
    assert any(event.label == "failsafe: battery" for event in returned.events)
    assert (returned.outcome, returned.ending) == ("flown", "returned")


def test_a_mission_that_is_requested_again_is_finished_again():
    """A report that is older than the last request does not count."""
    sim = flight(end_s=72).run()
    log = Log.of(sim)
    row = int(np.flatnonzero(log["mission_finished"])[0])
    assert claims(sim, log).mission_finished
    again = log["request_mission"] + (np.arange(log.rows) > row + 10)
    assert judge(claims(sim, log, request_mission=again)).word == "mission not finished"
    twice = (log["mission_finished"] != 0) & (np.arange(log.rows) != row + 20)
    assert claims(sim, log, request_mission=again, mission_finished=twice).mission_finished


def claims(sim, log, **columns):
    """Return the facts of a flight whose log has other columns."""
    changed = {name: values if name == "soc" else values.astype(np.int64) for name, values in columns.items()}
    return Facts(sim, Log({name: log[name] for name in log} | changed))


def test_a_mission_that_ends_in_the_air_is_flown():
    """However long it holds there; a return at its end, or on request, is called so."""
    hold = mission_of((22, 0, 0, 3), (16, 3, 0, 3))
    for end_s in (20, 40):
        held = summary_of(mission=hold, end_s=end_s)
        assert (held.outcome, held.reason, held.ending, held.landed) == ("flown", None, "in the air", False)
    ends = mission_of((22, 0, 0, 3), (16, 8, 0, 3), (20, 0, 0, 0))
    returned = summary_of(mission=ends, end_s=60, params={"RTL_RETURN_ALT": 5})
    assert (returned.outcome, returned.ending) == ("flown", "returned")
    assert summary_of(end_s=72).ending == "landed"
    assert summary_of(end_s=4).ending == "on the ground"


def test_the_reason_of_a_crash_has_its_causes():
    """A quadrotor that loses a motor."""
    summary = summary_of(scenario=TAKE_OFF.at(20.0).disable_motor(1), end_s=72)
    assert summary.outcome == "crashed"
    assert summary.reason.startswith(f"hit the ground at {summary.duration_s:.2f} s; before that: motor 1 off 20.00")
    assert "failsafe: motor failure" in summary.reason


def test_an_empty_battery_is_an_event():
    """With its number and time, and not counted as a clamped state."""
    aircraft = octa(batteries=(Battery(capacity_ah=5.0, soc0=0.005, ocv_v=(21.6, 25.2)),))
    sim = flight(aircraft=aircraft, scenario=TAKE_OFF, end_s=30, params={"COM_LOW_BAT_ACT": 0}).run()
    summary = summarize(sim)
    soc = Log.of(sim)["soc"][:, 0]
    (empty,) = [event for event in summary.events if event.label == "battery 1 empty"]
    assert empty.is_fault
    assert empty.time_us == int(Log.of(sim).time_us[(soc == 0.0).argmax()])
    assert sim.statistics.projected_states >= 1
    assert not any("clamped to the allowed range" in warning for warning in summary.warnings)


def test_a_flight_without_a_request_does_not_fail():
    """It is not `flown` either; a flight that ends before its mission request fails."""
    idle = summary_of(scenario=Scenario().arm(at_s=1.0), end_s=3)
    assert (idle.outcome, idle.mission_asked, idle.mission_finished) == ("nothing asked", False, False)
    assert is_success(idle.outcome)
    late = summary_of(scenario=TAKE_OFF, end_s=1.5)
    assert late.mission_asked
    assert (late.outcome, late.reason) == ("out of time", "the run ended at 1.50 s, before the mission was requested")


def test_a_stopped_or_failed_run_has_its_reason():
    """The time of the stop, or the error."""
    sim = flight(end_s=10).run(until_us=4_000_000)
    assert summarize(sim).reason == "the run was stopped at 4.00 s of 10.00 s"
    failed = summarize(sim, error=SimulationError("the state is not finite"))
    assert (failed.outcome, failed.reason) == ("failed", "the state is not finite")


def test_a_replay_alone_does_not_know_its_mission():
    """Its autopilot reports no status, so the outcome is `not known`, which is not a failure."""
    recorded = flight(end_s=8, record=True).run()
    replayed = flight(end_s=8, replay=recorded.streams).run()
    assert summarize(recorded).outcome == "out of time"
    assert summarize(replayed).outcome == "not known"
    assert is_success("not known")


# -- flights that used to count as flown ---------------------------------------------------------------------------

HOP = mission_of((22, 0, 0, 3), (21, 0, 0, 0))
"""Takeoff and landing, finished within 20 s."""


def hop(**options):
    return summary_of(mission=HOP, end_s=24, log_us=20_000, **options)


def turned_over(time_us, inputs, outputs):
    """Let two motors on one side push while the other two stand still."""
    outputs.faults.motor_stuck_mask = 0b1111
    outputs.faults.stuck_duty[:4] = (0.3, 0.0, 0.0, 0.3)


def test_a_vehicle_that_tips_over_after_landing_is_not_flown():
    """Mission finished and landed, then its motors turn it over."""
    assert hop().outcome == "flown"
    lies = hop(scenario=TAKE_OFF.at(22.0).do(turned_over), params={"COM_DISARM_LAND": -1})
    assert lies.mission_finished
    assert lies.landed
    assert (lies.outcome, lies.standing) == ("tipped over", False)
    assert lies.tilt_deg >= 30.0
    assert re.match(r"on the ground at the end, tilted by \d+° \(30° or more since 2[23]\.\d\d s\)", lies.reason)


@pytest.mark.parametrize("order", ["return_home", "land"])
def test_a_vehicle_that_never_took_off_is_not_flown(order):
    """It stands at its target when a return or landing is requested; the reason has the cause."""
    scenario = getattr(TAKE_OFF.at(12.0), order)()
    weak = hop(aircraft=load_aircraft("iris", {"airframe.propulsion.thrust_calibration_mult": 0.8}), scenario=scenario)
    assert weak.landed
    assert weak.outcome == "never took off"
    assert weak.reason.startswith(
        "full thrust is 0.78 of its weight; the mission was requested at 2.00 s, but the vehicle never rose above 0.5 m"
    )
    assert re.search(r"Max thrust was 10\.\d N at 100% throttle; the weight is 14.7 N", weak.reason)
    off = hop(scenario=getattr(TAKE_OFF.at(1.5).disconnect_battery().at(12.0), order)())
    assert off.outcome == "never took off"
    assert "of its weight" not in off.reason
    assert "before that: battery disconnected 1.50 s" in off.reason
    unarmed = hop(scenario=getattr(Scenario().start_mission(at_s=2.0).at(12.0), order)())
    assert unarmed.outcome == "never took off"
    assert "It was never armed" in unarmed.reason


def test_a_vehicle_that_is_blown_along_the_ground_is_not_flown():
    """Wind pushes it after the landing: on the ground and upright, but not at its target; nor while it slides."""
    storm = TAKE_OFF.at(21.0).wind_step([34.0, 0.0, 0.0])
    light = iris(linear_drag=2.0)
    sliding = hop(aircraft=light, scenario=storm.at(21.5).return_home())
    assert sliding.landed
    assert sliding.outcome == "out of time"
    assert "a return was requested at 21.50 s, but the vehicle had not landed when the run ended at 24.00 s: it" in (
        sliding.reason
    )
    over = hop(aircraft=light, scenario=storm.at(22.5).wind_step([0.0, 0.0, 0.0]).at(22.6).return_home())
    assert (over.standing, over.outcome) == (True, "landed away")
    assert over.distance_to_target_m > 10.0
    assert over.ending == "landed away"
    assert re.match(r"landed at \d+\.\d\d s, \d+\.\d m from home \(a return was requested at 22\.60 s", over.reason)


def test_a_run_too_short_to_take_off_is_not_finished():
    """Ten seconds are enough for any aircraft that can fly."""
    begun = summary_of(end_s=4)
    assert (begun.outcome, begun.reason) == (
        "out of time",
        "the run ended at 4.00 s, at item 0 of a mission with items 0 to 7",
    )
    ordered = summary_of(scenario=TAKE_OFF.at(3.0).land(), end_s=4)
    assert ordered.outcome == "out of time"
    assert ordered.reason.startswith(
        "the run ended 2.00 s after the mission was requested, before the vehicle rose above"
    )


def test_a_landing_has_a_target():
    """That of the mission, home for a return, the place of the request plus the stopping distance for a landing."""
    summary = summary_of(end_s=72)
    assert summary.distance_to_target_m < 0.5
    flying = summary_of(scenario=TAKE_OFF.at(20.0).land(), end_s=21)
    assert flying.distance_to_target_m < 10.0
    endless = mission_of((22, 0, 0, 3), (16, 8, 0, 3))
    hovering = summary_of(mission=endless, end_s=24)
    assert (hovering.outcome, hovering.distance_to_target_m) == ("flown", None)


def test_a_drifting_estimate_lands_away():
    """5 m plus the error of the estimate are allowed, up to 10 m; the reason has that error."""
    drift = TAKE_OFF.at(3.0).estimate_drift(pos_ned=[1.0, 0.0, 0.0])
    summary = hop(scenario=drift)
    assert summary.mission_finished
    assert summary.outcome == "landed away"
    assert "10.0 m is allowed; the estimate was off by" in summary.reason
    little = hop(scenario=TAKE_OFF.at(3.0).estimate_drift(pos_ned=[0.2, 0.0, 0.0]))
    assert little.outcome == "flown"


def test_a_crash_that_does_not_end_the_run_is_a_crash():
    """`crashed` stays set in the log until the end; a replay gives the same outcome."""
    scenario = Scenario(events=TAKE_OFF.at(8.0).disable_motor(1).events, ends_at_crash=False)
    sim = flight(mission=HOP, scenario=scenario, end_s=12, record=True).run()
    summary = summarize(sim)
    crashed = Log.of(sim)["crashed"]
    first = int(np.flatnonzero(crashed)[0])
    assert set(crashed[first:].tolist()) == {CRASH_LIES}
    assert (summary.outcome, summary.crashed, summary.duration_s) == ("crashed", True, 12.0)
    at_s = int(Log.of(sim).time_us[first]) / 1e6
    assert summary.reason.startswith(f"hit the ground at {at_s:.2f} s; before that: motor 1 off 8.00 s")
    again = flight(mission=HOP, scenario=scenario, end_s=12, replay=sim.streams).run()
    assert again.digest() == sim.digest()
    assert summarize(again).outcome == "crashed"


class Speaker:
    """An autopilot that flies nothing, and says so."""

    def __init__(self, *texts):
        self.texts = texts

    def step(self, time_us, inputs, outputs):
        outputs.motors[:] = 0.0


def test_the_reason_of_a_failure_quotes_the_autopilot():
    """Its last texts, each once and on one line; a success has them in its summary only."""
    said = [f"Preflight Fail: {number}" for number in range(9)]
    grounded = summary_of(autopilot=Speaker(*said, said[1], "Arming denied:\n\tno GPS"), scenario=TAKE_OFF, end_s=13)
    texts = (*(said[number] for number in (5, 6, 7, 8, 1)), "Arming denied: no GPS")
    assert (grounded.outcome, grounded.autopilot_texts) == ("never took off", texts)
    quoted = ", ".join(f'"{text}"' for text in texts)
    assert grounded.reason.endswith(f"; the autopilot said: {quoted}")
    idle = summary_of(autopilot=Speaker("low battery"), scenario=Scenario(), end_s=2)
    assert (idle.outcome, idle.autopilot_texts) == ("nothing asked", ("low battery",))
    assert "said" not in idle.reason
    assert "said" not in summary_of(autopilot=Speaker(), scenario=TAKE_OFF, end_s=13).reason


def test_the_reason_does_not_quote_a_text_twice():
    """An error that already has the autopilot's text."""
    sim = flight(autopilot=Speaker("no compass", "Arming denied"), end_s=4).run()
    failed = summarize(sim, error=SimulationError("PX4 did not arm; it said: no compass"))
    assert failed.reason == 'PX4 did not arm; it said: no compass; the autopilot said: "Arming denied"'


def test_texts_of_an_autopilot_do_not_control_the_terminal(capsys):
    """Neither in the reason of a failure nor in the row of a success."""
    for scenario, row in ((TAKE_OFF, "why"), (Scenario(), "the autopilot said")):
        sim = flight(autopilot=Speaker("\x1b]0;owned\x07"), scenario=scenario, end_s=13).run()
        spec = load_spec("iris")
        flown = SimpleNamespace(spec=spec, simulation=sim, warnings=(), pace=None, own_parts={})
        _print_summary(Run(flown), Path("runs"))
        printed = capsys.readouterr().out
        assert any(row in line for line in printed.splitlines())
        assert "\x1b]0" not in printed
        assert "\\x1b]" in printed  # the rest may be on the next line


def test_an_aircraft_without_a_request_is_not_flown():
    """The twin stands on its tail, and the scenario requests nothing."""
    run = simulate("twin", overrides={"timeline.t_end_s": 1.0})
    assert (run.outcome.word, run.is_flown, run.outcome.is_success) == ("nothing asked", False, True)


def test_a_vehicle_that_tips_over_without_a_request_fails():
    """It started upright and lies on its side at the end, although nothing was requested."""
    lies = summary_of(scenario=Scenario().arm(at_s=1.0).at(2.0).do(turned_over), end_s=6)
    assert (lies.outcome, lies.mission_asked) == ("tipped over", False)


@pytest.mark.parametrize(("off_s", "word"), [(None, "flown"), (29.0, "out of control")])
def test_a_vehicle_that_falls_after_its_mission_is_out_of_control(off_s, word):
    """A mission that ends in the air is finished; then all motors stop a second before the end."""
    scenario = TAKE_OFF
    for motor in (1, 2, 3, 4) if off_s is not None else ():
        scenario = scenario.at(off_s).disable_motor(motor)
    summary = summary_of(mission=mission_of((22, 0.0, 0.0, 30.0), (16, 0.0, 5.0, 30.0)), scenario=scenario, end_s=30)
    assert summary.mission_finished
    assert summary.outcome == word


def test_a_vehicle_that_falls_during_its_mission_is_out_of_control():
    """It is not only out of time."""
    falls = summary_of(mission=mission_of((22, 0, 0, 30), (21, 0, 0, 0)), scenario=falling_at(20.0), end_s=21)
    assert falls.outcome == "out of control"
    assert re.match(r"in the air at the end at 21\.00 s, \d+\.\d\d m above the ground, .*sinking at", falls.reason)


def falling_at(time_s):
    """Return a scenario in which all motors stop at a time."""
    scenario = TAKE_OFF
    for motor in (1, 2, 3, 4):
        scenario = scenario.at(time_s).disable_motor(motor)
    return scenario


# -- empty batteries -----------------------------------------------------------------------------------------------


def drained(capacity_ah=0.04, **options):
    """Fly a hop with a small battery, which is empty some seconds after the take-off and, as a model, flies on."""
    aircraft = iris(batteries=(Battery(capacity_ah=capacity_ah, r0=0.001),))
    params = {"COM_LOW_BAT_ACT": 0}
    return summary_of(mission=HOP, aircraft=aircraft, params=params, **{"end_s": 30, "log_us": 20_000} | options)


def empty_at(summary):
    """Return when the battery was empty."""
    return next(event.time_us / 1e6 for event in summary.events if event.label == "battery 1 empty")


def test_a_vehicle_that_falls_with_empty_batteries_has_its_own_outcome():
    """With the time; a vehicle that falls before that has crashed, and one that flies on and lands has not failed."""
    landed = drained()
    empty_s = empty_at(landed)
    assert landed.outcome == "flown"
    fallen = drained(scenario=falling_at(empty_s + 0.1))
    assert (fallen.outcome, fallen.ending, fallen.crashed) == ("battery empty", "crashed", True)
    assert re.match(rf"out of charge at {empty_s:.2f} s; hit the ground at \d+\.\d\d s", fallen.reason)
    assert drained(capacity_ah=5.0, scenario=falling_at(empty_s + 0.1)).outcome == "crashed"


def test_batteries_that_are_empty_after_the_landing_change_nothing():
    """The vehicle tips over later; if they were empty in the air, they are to blame."""
    scenario = TAKE_OFF.at(22.0).do(turned_over)
    sim = flight(mission=HOP, scenario=scenario, end_s=24, log_us=20_000, params={"COM_DISARM_LAND": -1}).run()
    log = Log.of(sim)
    for empty_us, word in ((20_000_000, "tipped over"), (8_000_000, "battery empty")):
        soc = np.where(log.time_us[:, np.newaxis] >= empty_us, 0.0, log["soc"])
        assert judge(claims(sim, log, soc=soc)).word == word


def test_a_vehicle_with_empty_batteries_cannot_take_off():
    """Empty before the request; batteries that it empties on the ground are not the cause."""
    log = Log.of(sim := flight(mission=HOP, scenario=TAKE_OFF.at(1.5).disconnect_battery(), end_s=14).run())
    for first, word in ((0, "battery empty"), (800, "never took off")):
        soc = np.where(np.arange(log.rows)[:, np.newaxis] >= first, 0.0, log["soc"])
        assert judge(claims(sim, log, soc=soc)).word == word


def test_a_motor_that_its_esc_cuts_off_means_an_empty_battery():
    """If the battery is nearly empty; otherwise, something else drew its voltage down."""
    log = Log.of(sim := flight(mission=HOP, scenario=falling_at(8.0), end_s=14).run())
    mask = np.where(log.time_us >= 7_900_000, 0b1111, 0)
    for charge, word in ((0.02, "battery empty"), (0.5, "crashed")):
        assert judge(claims(sim, log, soc=np.full((log.rows, 1), charge), motor_cut_off_mask=mask)).word == word


def test_accepting_an_outcome_accepts_what_was_part_of_it():
    """In campaign files of version 0.1."""
    accepted = ("mission not finished", "crashed")
    assert all(outcome.Outcome(word).is_in(accepted) for word in ("out of time", *accepted))
    assert not outcome.Outcome("battery empty").is_in(accepted)
    assert not outcome.Outcome("tipped over").is_in(accepted)
    assert not outcome.Outcome("mission not finished").is_in(("out of time",))


def test_outcomes_are_decided_in_one_place():
    """No other module compares with an outcome's word, or imports one except to report a run's outcome."""
    source = Path(outcome.__file__).parents[1]
    words = [value for name, value in vars(outcome).items() if name.isupper() and isinstance(value, str)]
    assert len(words) == 20
    compares = re.compile(rf"(==|!=|\bin\b) *\(?[\"']({'|'.join(words)})[\"']")
    texts = {path.relative_to(source).as_posix(): path.read_text("utf-8") for path in sorted(source.rglob("*.py"))}
    del texts["flights/outcome.py"]
    assert [name for name, text in texts.items() if compares.search(text)] == []
    imports = re.compile(
        rf"outcome import .*\b({'|'.join(name for name, value in vars(outcome).items() if value in words)})\b"
    )
    assert [name for name, text in texts.items() if imports.search(text)] == [
        "flights/imported.py",
        "flights/run.py",
        "reports/flight_report.py",
    ]
