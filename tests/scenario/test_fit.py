"""A fault that no model applies is an error: for events before the run, for Python code when it is set."""

import math

import pytest
from fleet import iris, octa
from scenario_flight import simulation

from px4lockstep.autopilots.base import Capabilities
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.errors import InputError, InvariantError
from px4lockstep.plant.layout import SENSOR_FAULT_GPS, SENSOR_FAULT_GYRO
from px4lockstep.plant.models import FreeFall, Oscillator
from px4lockstep.scenario.scenario import Scenario

NOW = Scenario().at_us(0)


def make(scenario, plant=None, *, autopilot=True, start_us=0, autopilot_source=None, **options):
    axes = {"autopilot": Periodic(100)} if autopilot else {}
    times = tuple(time_us for time_us in scenario.times_us() if time_us >= start_us)
    timeline = Timeline(1_000_000, log=Periodic(100_000), scenario=Explicit(times), start_us=start_us, **axes)
    return Simulation(
        FreeFall() if plant is None else plant, timeline, scenario=scenario, autopilot=autopilot_source, **options
    )


@pytest.mark.parametrize(
    ("scenario", "plant", "message"),
    [
        (NOW.disable_motor(5), iris(), r"motor = 5 does not exist: the aircraft has 4 motors; use 1 to 4"),
        (NOW.stuck_motor(9), octa(), r"motor = 9 does not exist: the aircraft has 8 motors; use 1 to 8"),
        (NOW.thrust_loss(12, 0.1), iris(), r"motor = 12 does not exist"),
        (NOW.restore_motor(5), iris(), r"motor = 5 does not exist"),
        (NOW.disable_motor(1), FreeFall(), r"action = 'disable_motor' has no effect: the plant is not a multirotor"),
        (NOW.disconnect_battery(), FreeFall(), r"'disconnect_battery' has no effect: the plant has no power network"),
        (NOW.reconnect_battery(), FreeFall(), r"'reconnect_battery' has no effect: the plant has no power network"),
        (NOW.sensor_fault("gyro"), iris(), r"sensor = 'gyro' has no effect: no model applies it; use 'estimate'"),
        (NOW.clear_sensor_fault("gps"), iris(), r"sensor = 'gps' has no effect: no model applies it"),
        (NOW.sensor_fault("estimate"), iris(), r"'sensor_fault' has no effect: there is no estimator"),
        (NOW.clear_sensor_fault("estimate"), iris(), r"'clear_sensor_fault' has no effect: there is no estimator"),
        (NOW.estimate_bias(yaw_rad=1.0), iris(), r"'estimate_bias' has no effect: there is no estimator"),
        (NOW.estimate_drift(yaw_rad=1.0), iris(), r"'estimate_drift' has no effect: there is no estimator"),
        (NOW.estimate_dropout(), iris(), r"'estimate_dropout' has no effect: there is no estimator"),
        (NOW.clear_estimate_faults(), iris(), r"'clear_estimate_faults' has no effect: there is no estimator"),
        (Scenario().when("altitude_m", above=1).arm(), Oscillator(), r"'altitude_m' can't be read: .* no position"),
        (Scenario().when("speed_m_s", above=1).arm(), Oscillator(), r"'speed_m_s' can't be read: .* no velocity"),
        (Scenario().when("tilt_deg", above=1).arm(), FreeFall(), r"'tilt_deg' can't be read: .* no attitude"),
        (Scenario().when("battery_remaining", below=1).arm(), FreeFall(), r"can't be read: .* no batteries"),
        (Scenario().when("mission_item", above=1).arm(), iris(), r"'mission_item' can't be read: .* no autopilot"),
    ],
)
def test_faults_that_no_model_applies_are_rejected(scenario, plant, message):
    """When the simulation is created, with the location in the scenario."""
    with pytest.raises(InputError, match=rf"scenario.events\[0\].*{message}"):
        make(scenario, plant)


def test_arming_when_another_event_disarms_is_rejected():
    """The autopilot would see no change; in the other order, it disarms."""
    with pytest.raises(InputError, match=r"scenario.events\[1\] arms when scenario.events\[0\] disarms"):
        make(NOW.disarm().at_us(0).arm())
    with pytest.raises(InputError, match=r"scenario.events\[2\] arms when scenario.events\[1\] disarms"):
        make(Scenario().at_step(1).arm().at_step(2).disarm().at_step(2).arm())
    make(NOW.arm().at_us(0).disarm().at_us(100).arm())


class BySensors:
    """Autopilot that declares sensors which apply faults."""

    capabilities = Capabilities(takes_sensor_faults=True)

    def step(self, time_us, inputs, outputs):
        self.mask = inputs.bus.scenario.faults.sensor_fault_mask


def test_an_autopilot_with_sensors_receives_their_faults():
    """Each is a bit of the mask; that of the estimate still needs an estimator."""
    pilot = BySensors()
    make(NOW.sensor_fault("gyro").at_us(0).sensor_fault("gps"), autopilot_source=pilot).run(200)
    assert pilot.mask == SENSOR_FAULT_GYRO | SENSOR_FAULT_GPS
    with pytest.raises(InputError, match="there is no estimator"):
        make(NOW.sensor_fault("estimate"), autopilot_source=pilot)


def test_steps_and_measurements_need_an_autopilot_axis():
    """Both would wait forever."""
    with pytest.raises(InputError, match=r"at_step = 3 never fires: the timeline has no autopilot axis"):
        make(Scenario().at_step(3).arm(), autopilot=False)
    with pytest.raises(InputError, match="is never measured: the timeline has no autopilot axis"):
        make(Scenario().when("battery_remaining", below=0.5).arm(), iris(), autopilot=False)


def test_an_event_before_the_start_is_rejected():
    """It would never fire, and later events may depend on it."""
    with pytest.raises(InputError, match=r"scenario.events\[0\].at_s = 0.1 is before the start of the run, 0.5"):
        make(Scenario().at(0.1).arm(), start_us=500_000)


def test_all_errors_are_in_one_report():
    """Not one at a time."""
    with pytest.raises(
        InputError, match=r"the scenario has 2 errors:\n  scenario.events\[0\].*\n  scenario.events\[2\]"
    ):
        make(NOW.disable_motor(5).at_us(0).arm().at_us(0).sensor_fault("baro"), iris())


class Setting:
    """Scenario in Python that writes faults at 8 ms."""

    def __init__(self, change):
        self._change = change

    def step(self, time_us, inputs, outputs):
        if time_us == 8_000:
            self._change(outputs.faults)


def number(name, value):
    return lambda faults: setattr(faults, name, value)


def entry(name, index, value):
    return lambda faults: getattr(faults, name).__setitem__(index, value)


BAD = [
    (number("motor_disabled_mask", 0b10000), r"motor_disabled_mask 0b10000 refers to a motor above 4, the last one,"),
    (number("motor_stuck_mask", 1 << 11), r"motor_stuck_mask 0b100000000000 refers to a motor above 4"),
    (number("motor_weak_mask", -1), r"motor_weak_mask -0b1 refers to a motor above 4"),
    (number("battery_disconnected", 2), r"battery_disconnected is 2, not 0 or 1,"),
    (number("sensor_fault_mask", 64), r"sensor_fault_mask 0b1000000 has bits other than SENSOR_FAULT_\*,"),
    (entry("stuck_duty", 3, 1.5), r"stuck_duty of motor 4 is 1.5, not within 0 to 1,"),
    (entry("stuck_duty", 0, math.nan), r"stuck_duty of motor 1 is nan"),
    (entry("thrust_loss", 11, -0.1), r"thrust_loss of motor 12 is -0.1, not within 0 to 1,"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
@pytest.mark.parametrize("is_event", [False, True], ids=["source", "function of an event"])
def test_faults_that_python_writes_are_checked(change, message, is_event):
    """The run stops at their boundary, before they act; with validation off it continues."""
    scenario = Setting(change)
    if is_event:
        scenario = Scenario().at_us(8_000).do(lambda time_us, inputs, outputs: change(outputs.faults))
    with pytest.raises(InvariantError, match=rf"the scenario's .*{message}.* at t = 0.008000 s"):
        simulation(scenario, 0.02).run()
    assert simulation(scenario, 0.02, validate="off").run().is_done


def test_sensors_that_only_python_knows_may_be_set_by_python():
    """An estimator in Python reads the bus itself; all six bits exist."""
    assert simulation(Setting(number("sensor_fault_mask", 63)), 0.02).run().bus.scenario.faults.sensor_fault_mask == 63
