"""Scenarios as tables, as events and by calls give the same events; all errors are in one report."""

import pytest

from px4lockstep.errors import InputError
from px4lockstep.scenario.actions import ACTIONS, CALL
from px4lockstep.scenario.events import Event, When
from px4lockstep.scenario.scenario import MAX_LISTED, Scenario

DATA = [
    {"at_s": 1.0, "action": "arm"},
    {"at_s": 2.0, "action": "start_mission"},
    {"at_s": 12.345678, "action": "disable_motor", "motor": 2},
    {"at_step": 500, "action": "restore_motor", "motor": 2},
    {"when": {"signal": "altitude_m", "above": 10.0}, "action": "wind_step", "vel_ned": [3.0, 0.0, 0.0]},
    {"when": {"signal": "battery_remaining", "below": 0.2}, "action": "return"},
    {"at_s": 13.0, "action": "thrust_loss", "motor": 1, "fraction": 0.25},
    {"at_s": 14.0, "action": "stuck_motor", "motor": 3},
    {"at_s": 14.0, "action": "stuck_motor", "motor": 4, "duty": 0.5},
    {"at_s": 15.0, "action": "disconnect_battery"},
    {"at_s": 16.0, "action": "reconnect_battery"},
    {"at_s": 17.0, "action": "sensor_fault", "sensor": "estimate"},
    {"at_s": 18.0, "action": "clear_sensor_fault", "sensor": "estimate"},
    {"at_s": 19.0, "action": "estimate_bias", "pos_ned": [1.0, 0.0, 0.0], "yaw_rad": 0.1},
    {"at_s": 20.0, "action": "estimate_drift", "vel_ned": [0.1, 0.0, 0.0], "omega_body": [0.0, 0.0, 0.01]},
    {"at_s": 21.0, "action": "estimate_dropout"},
    {"at_s": 22.0, "action": "clear_estimate_faults"},
    {"at_s": 23.0, "action": "land"},
    {"at_s": 24.0, "action": "disarm"},
]


def test_events_survive_a_round_trip_to_data():
    """Every action with its arguments, every trigger."""
    assert Scenario(events=DATA).to_data() == DATA


@pytest.mark.parametrize("time_us", [1, 12_345_678, 299_999, 86_400_000_001, 9_999_999_999_999])
def test_microseconds_survive_as_seconds(time_us):
    """A round trip to data gives the same microsecond."""
    scenario = Scenario().at_us(time_us).arm()
    assert Scenario(events=scenario.to_data()) == scenario


def test_calls_and_data_give_the_same_events():
    """Adding to a scenario does not change the original."""
    before = Scenario().arm(at_s=1.0).start_mission(at_s=2.0)
    scenario = before.at(12.345678).disable_motor(2).at_step(500).restore_motor(2)
    scenario = (
        scenario.when("altitude_m", above=10).wind_step([3, 0, 0]).when("battery_remaining", below=0.2).return_home()
    )
    assert scenario == Scenario(events=DATA[:6])
    assert len(before.events) == 2
    assert scenario.times_us() == (1_000_000, 2_000_000, 12_345_678)


def test_all_mistakes_are_in_one_report():
    """Each with its location and value, and the closest known name for a typo."""
    with pytest.raises(InputError) as caught:
        Scenario(
            events=[
                {"at_s": 1.0, "action": "arm"},
                {"at_s": 1.0, "action": "disable_moter", "motor": 1},
                {"at_s": 1.0000005, "action": "arm"},
                {"at_s": 1.0, "action": "disable_motor", "motor": 13},
                {"at_s": 1.0, "action": "disable_motor", "moter": 1},
                {"at_s": 1.0, "at_step": 2, "action": "arm"},
                {"action": "arm"},
                {"when": {"signal": "altitude", "above": 1.0}, "action": "arm"},
                {"when": {"signal": "altitude_m"}, "action": "arm"},
                {"when": {"signal": "altitude_m", "above": 1.0, "below": 2.0}, "action": "arm"},
                {"when": {"signal": "altitude_m", "abov": 1.0}, "action": "arm"},
                {"when": {"signal": "altitude_m", "above": "high"}, "action": "arm"},
                {"at_s": 1.0, "action": "thrust_loss", "motor": 1, "fraction": 1.5},
                {"at_s": 1.0, "action": "wind_step", "vel_ned": [1.0, 2.0]},
                {"at_s": 1.0, "action": "sensor_fault", "sensor": "gpss"},
                {"at_s": 1.0, "action": "estimate_bias"},
                {"at_s": 1.0, "action": "arm", "motor": 1},
                {"at_s": 1.0, "action": "thrust_loss", "duty": 0.5},
                {"at_s": 1.0},
                {"at_step": -1, "action": "arm"},
                {"when": "always", "action": "arm"},
                "arm",
            ]
        )
    expected = [
        "[1].action = 'disable_moter' is unknown; did you mean 'disable_motor'? Allowed: 'arm', 'disarm', ",
        "[2].at_s = 1.0000005 is not a whole number of microseconds; use 1.0 or 1.000001",
        "[3].motor = 13 is out of range; it must be at least 1 and at most 12",
        "[4].moter = 1: unknown key; did you mean 'motor'? Allowed: at_s, ",
        "[5] has at_s and at_step; give one of at_s, at_step, when",
        "[6] has no trigger; give one of at_s, at_step, when",
        "[7].when.signal = 'altitude' is unknown; did you mean 'altitude_m'? Allowed: 'time_s', ",
        "[8].when on 'altitude_m' has neither; give above or below",
        "[9].when on 'altitude_m' has both; give above or below",
        "[10].when.abov = 1.0: unknown key; did you mean 'above'? Allowed: signal, above, below",
        "[11].when.above = 'high' is not allowed; it must be a number",
        "[12].fraction = 1.5 is out of range; it must be at least 0.0 and at most 1.0",
        "[13].vel_ned = [1.0, 2.0] is not a vector",
        "[14].sensor = 'gpss' is unknown; did you mean 'gps'? Allowed: 'gyro', ",
        "[15] has no value for 'estimate_bias'; give at least one of pos_ned, vel_ned, yaw_rad, omega_body",
        "[16].motor = 1 is not an argument of 'arm' (arguments: none)",
        "[17].duty = 0.5 is not an argument of 'thrust_loss' (arguments: motor, fraction)",
        "[17].motor is missing; 'thrust_loss' needs it",
        "[17].fraction is missing; 'thrust_loss' needs it",
        "[18].action is missing; it is required: Action of the event: `arm`, ",
        "[19].at_step = -1 is out of range; it must be at least 0",
        "[20].when = 'always' is not allowed; it must be a table",
        "[21] = 'arm' is not allowed; it must be a table",
    ]
    *lines, rest = str(caught.value).splitlines()
    assert rest == "… and 3 more"
    for line, start in zip(lines, expected[:-3], strict=True):
        assert line.startswith(f"scenario.events{start}"), line
    assert caught.value.key == ("scenario", "events", 1, "action")


def test_errors_of_calls_name_the_event():
    """At once, with the index that the event would have."""
    scenario = Scenario().arm(at_s=1.0)
    with pytest.raises(InputError, match=r"scenario.events\[1\].at_s = 1e-07 is not a whole"):
        scenario.at(1e-7).arm()
    with pytest.raises(InputError, match=r"scenario.events\[1\].motor = 0 is out of range"):
        scenario.at(1.0).disable_motor(0)
    with pytest.raises(InputError, match=r"scenario.events\[1\].when on 'tilt_deg' has neither"):
        scenario.when("tilt_deg").arm()
    with pytest.raises(InputError, match=r"scenario.events\[1\].duty = nan is not allowed; it must be a finite number"):
        scenario.at(1.0).stuck_motor(1, float("nan"))
    with pytest.raises(InputError, match=r"scenario.events\[1\].when is a function"):
        scenario.when(lambda time_us, inputs: True, above=1.0)
    with pytest.raises(InputError, match=r"scenario.events\[1\].do\(3\): it must be a function"):
        scenario.at(1.0).do(3)


def test_a_function_has_no_data_form():
    """The error names the event."""
    for scenario in (
        Scenario().at(1.0).arm().at(2.0).do(lambda time_us, inputs, outputs: None),
        Scenario().at(1.0).arm().when(lambda time_us, inputs: True).arm(),
    ):
        with pytest.raises(InputError, match=r"scenario.events\[1\] has a Python function"):
            scenario.to_data()


def test_a_scenario_can_have_62_events():
    """Plus those of `arm_time_s` and `mission_time_s`."""
    scenario = Scenario(arm_time_s=1.0, mission_time_s=2.0, events=[{"at_s": 1.0, "action": "arm"}] * MAX_LISTED)
    with pytest.raises(InputError, match=r"scenario\.events has 63 events; at most 62 are allowed"):
        scenario.at(1.0).arm()


def test_events_are_parts():
    """A scenario accepts them as tables or objects; errors in Python are worded as for files."""
    made = [Event(at_s=1.0, action="arm"), Event(when=When(signal="tilt_deg", above=60.0), action="land")]
    tables = [{"at_s": 1.0, "action": "arm"}, {"when": {"signal": "tilt_deg", "above": 60.0}, "action": "land"}]
    assert Scenario(events=made) == Scenario(events=tables)
    with pytest.raises(InputError, match=r"scenario.events.motor = 13 is out of range") as caught:
        Event(at_s=1.0, action="disable_motor", motor=13)
    assert caught.value.key == ("scenario", "events", "motor")
    with pytest.raises(InputError, match=r"scenario.events.motor = 1 is not an argument of a Python function"):
        Event(at_s=1.0, action=lambda time_us, inputs, outputs: None, motor=1)
    with pytest.raises(InputError, match=r"scenario.events = 3 is not allowed; it must be an array"):
        Scenario(events=3)
    with pytest.raises(InputError, match=r"scenario.events.at_step = 1000000000000000000000 is not an autopilot tick"):
        Event(at_step=10**21, action="arm")


def test_arming_and_mission_come_first_and_keep_their_keys():
    """So that errors number events as in the file."""
    scenario = Scenario(arm_time_s=1.0, mission_time_s=2.0, events=[{"at_s": 0.5, "action": "land"}])
    assert [(key, event.action) for key, event in scenario.keyed_events] == [
        (("scenario", "arm_time_s"), "arm"),
        (("scenario", "mission_time_s"), "start_mission"),
        (("scenario", "events", 0), "land"),
    ]
    assert scenario.times_us() == (500_000, 1_000_000, 2_000_000)


def test_each_action_has_a_unique_number_and_valid_arguments():
    """Kernels dispatch on the numbers; a duplicate would do two things."""
    numbers = [action.number for action in ACTIONS.values()]
    assert len({*numbers, CALL}) == len(ACTIONS) + 1
    for action in ACTIONS.values():
        assert set(action.optional) <= set(action.arguments) <= set(Event.model_fields)
