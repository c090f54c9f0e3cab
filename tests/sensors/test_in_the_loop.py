"""Sensors of an autopilot in Python, in a simulation: faults of the scenario reach them, and snapshots have them."""

import numpy as np
from sensor_suites import GRAVITY_M_S2, NOISY, suite_of

from px4lockstep.autopilots.base import Capabilities
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.environment.wind import Wind
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.sensors.layout import GYRO_FIELDS, SENSOR_OUT
from px4lockstep.vehicle.fleet import iris

SCENARIO = (
    Scenario()
    .at_us(400_000)
    .sensor_fault("gps")
    .at_us(600_000)
    .sensor_fault("gyro")
    .at_us(800_000)
    .clear_sensor_fault("gps")
)


class BySensors:
    """An autopilot that keeps what its sensors say, and its motors at half."""

    capabilities = Capabilities(takes_sensor_faults=True)

    def __init__(self):
        self.sensors = suite_of(NOISY)
        self.said = []

    def step(self, time_us, inputs, outputs):
        held = inputs.held
        mask = held.faults.sensor_fault_mask
        self.sensors.step(time_us, inputs.plant.x, inputs.plant["rotor"], held.wind_ned, mask, GRAVITY_M_S2)
        self.said.append(self.sensors.record["out"][0].copy())
        outputs.motors[:4] = 0.5


def flown(pilot):
    timeline = Timeline(
        1_000_000,
        autopilot=Periodic(4_000),
        wind=Periodic(4_000),
        log=Periodic(100_000),
        scenario=Explicit(SCENARIO.times_us()),
    )
    return Simulation(
        iris(pos_ned=(0.0, 0.0, -50.0)), timeline, scenario=SCENARIO, wind=Wind("ou"), autopilot=pilot, seed=1
    )


def test_faults_of_the_scenario_act_from_their_tick_on():
    """GPS messages at 112 ms and every 200 ms later: without a fix from 0.4 to 0.8 s; no rates from 0.6 s on."""
    pilot = BySensors()
    flown(pilot).run()
    said = np.array(pilot.said, SENSOR_OUT)
    is_message = said["gps_updated"] != 0
    assert (4 * np.flatnonzero(is_message)).tolist() == [112, 312, 512, 712, 912]
    assert said["gps_fix_type"][is_message].tolist() == [3, 3, 1, 1, 3]
    has_rates = said["fields_updated"] & GYRO_FIELDS != 0
    assert np.array_equal(has_rates, 4 * np.arange(len(said)) < 600)


def test_a_snapshot_in_flight_has_the_sensors():
    """Restored, the flight goes on to the same bytes of every sensor."""
    pilot = BySensors()
    sim = flown(pilot).run(500_000)
    saved = sim.snapshot()
    sim.run()
    first = [said.tobytes() for said in pilot.said]
    sim.restore(saved)
    sim.run()
    assert [said.tobytes() for said in pilot.said] == first
