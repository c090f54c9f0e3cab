"""Scenarios as data and by calls: the same events, there and back; every mistake is named, all in one report."""

import pytest

from px4lockstep.errors import InputError, TimeError
from px4lockstep.scenario.scenario import MAX_EVENTS, Scenario

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


def test_data_goes_there_and_back():
    """Every action with its arguments, every trigger."""
    assert Scenario.from_data(DATA).to_data() == DATA


@pytest.mark.parametrize("time_us", [1, 12_345_678, 299_999, 86_400_000_001, 2**52 + 1])
def test_microseconds_survive_as_seconds(time_us):
    """To data and back is the same microsecond."""
    scenario = Scenario().at_us(time_us).arm()
    assert Scenario.from_data(scenario.to_data()) == scenario


def test_calls_make_the_events_that_data_makes():
    """And a scenario is not changed by adding to it."""
    before = Scenario().arm(at_s=1.0).start_mission(at_s=2.0)
    scenario = before.at(12.345678).disable_motor(2).at_step(500).restore_motor(2)
    scenario = (
        scenario.when("altitude_m", above=10).wind_step([3, 0, 0]).when("battery_remaining", below=0.2).return_home()
    )
    assert scenario == Scenario.from_data(DATA[:6])
    assert len(before.events) == 2
    assert scenario.times_us() == (1_000_000, 2_000_000, 12_345_678)


def test_all_mistakes_are_in_one_report():
    """Each with its place and value, and the closest known name for a typo."""
    with pytest.raises(InputError) as caught:
        Scenario.from_data(
            [
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
                {"at_s": 1.0},
                {"at_step": -1, "action": "arm"},
                {"when": "always", "action": "arm"},
                "arm",
            ]
        )
    report = str(caught.value).splitlines()
    assert report[0] == "the scenario has 21 errors:"
    expected = [
        "events[1].action = 'disable_moter' is unknown; did you mean 'disable_motor'? allowed are arm, disarm, ",
        "events[2].at_s = 1.0000005 is not a whole number of microseconds; use 1.0 or 1.000001",
        "events[3].motor = 13 is not a motor; motors are the integers 1 to 12",
        "events[4].moter = 1 is no argument of 'disable_motor'; did you mean 'motor'? allowed is motor",
        "events[4].motor is missing; 'disable_motor' needs it",
        "events[5] has at_s and at_step; give one of at_s, at_step, when",
        "events[6] has no trigger; give one of at_s, at_step, when",
        "events[7].when.signal = 'altitude' is unknown; did you mean 'altitude_m'? allowed are time_s, ",
        "events[8].when on 'altitude_m' has neither; give above or below",
        "events[9].when on 'altitude_m' has both; give above or below",
        "events[10].when.abov = 1.0 is unknown; did you mean 'above'? allowed are signal, above, below",
        "events[11].when.above = 'high' is not a number",
        "events[12].fraction = 1.5 is out of range; it must be a number from 0 to 1",
        "events[13].vel_ned = [1.0, 2.0] is not a vector",
        "events[14].sensor = 'gpss' is unknown; did you mean 'gps'? allowed are gyro, accel, mag, baro, gps, estimate",
        "events[15] has no error for 'estimate_bias'; give at least one of pos_ned, vel_ned, yaw_rad, omega_body",
        "events[16].motor = 1 is no argument of 'arm'; it takes none",
        "events[17].action is missing; allowed are arm, ",
        "events[18].at_step = -1 is not a tick of the autopilot; it must be an integer of 0 or more",
        "events[19].when = 'always' is not a table",
        "events[20] = 'arm' is not a table",
    ]
    for line, start in zip(report[1:], expected, strict=True):
        assert line.startswith(f"  scenario.{start}"), line


def test_calls_name_the_event_that_they_would_make():
    """At once, with the number that the event would have."""
    scenario = Scenario().arm(at_s=1.0)
    with pytest.raises(TimeError, match=r"scenario.events\[1\].at_s = 1e-07 is not a whole"):
        scenario.at(1e-7)
    with pytest.raises(InputError, match=r"scenario.events\[1\].motor = 0 is not a motor"):
        scenario.at(1.0).disable_motor(0)
    with pytest.raises(InputError, match=r"scenario.events\[1\].when on 'tilt_deg' has neither"):
        scenario.when("tilt_deg")
    with pytest.raises(InputError, match=r"scenario.events\[1\].duty = nan is out of range"):
        scenario.at(1.0).stuck_motor(1, float("nan"))
    with pytest.raises(InputError, match=r"scenario.events\[1\].when is a function"):
        scenario.when(lambda time_us, inputs: True, above=1.0)
    with pytest.raises(InputError, match=r"scenario.events\[1\] does 3; it must be a function"):
        scenario.at(1.0).do(3)


def test_a_function_has_no_data_form():
    """The error says which event."""
    for scenario in (
        Scenario().at(1.0).arm().at(2.0).do(lambda time_us, inputs, outputs: None),
        Scenario().at(1.0).arm().when(lambda time_us, inputs: True).arm(),
    ):
        with pytest.raises(InputError, match=r"scenario.events\[1\] has a Python function"):
            scenario.to_data()


def test_there_is_room_for_64_events():
    """And for no more."""
    scenario = Scenario.from_data([{"at_s": 1.0, "action": "arm"}] * MAX_EVENTS)
    with pytest.raises(InputError, match="65 events; at most 64 are allowed"):
        scenario.at(1.0).arm()


def test_data_must_be_a_list():
    """Of tables."""
    with pytest.raises(InputError, match="is not a list of tables"):
        Scenario.from_data({"at_s": 1.0})
