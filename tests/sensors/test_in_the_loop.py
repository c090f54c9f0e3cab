"""The sensor stage in a simulation: its readers, faults, checkpoints and log columns."""

import h5py
import numpy as np
import pytest
from fleet import iris
from sensor_suites import IDEAL, NOISY, replace

from px4lockstep.autopilots.base import Capabilities
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.environment.gravity import Gravity
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError
from px4lockstep.flights.recording.contents import ENTRIES, contents_of
from px4lockstep.flights.recording.file import read_recording, write_recording
from px4lockstep.flights.recording.recording import FlightSource, Recording
from px4lockstep.integrators.solver import Integrator
from px4lockstep.log.csv import read_csv, write_csv
from px4lockstep.log.log import Log
from px4lockstep.log.parquet import read_parquet, write_parquet
from px4lockstep.log.rows import hold_rows, read_rows
from px4lockstep.plant.models import Oscillator
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.sensors import Barometer, SensorSuite
from px4lockstep.sensors.suite import GYRO_FIELDS, OUTPUTS, SENSOR_OUT

SUITE = SensorSuite(NOISY)
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
    """Autopilot that stores what its sensors report, with motors at half."""

    capabilities = Capabilities(takes_sensor_faults=True)

    def __init__(self):
        self.reported = []

    def step(self, time_us, inputs, outputs):
        sensors = inputs.bus.sensors
        self.reported.append((time_us, sensors.gps_updated, sensors.gps_fix_type, sensors.fields_updated))
        outputs.motors[:4] = 0.5


def flight(pilot=None, sensors=SUITE, **options):
    timeline = Timeline(
        1_000_000,
        autopilot=Periodic(4_000),
        wind=Periodic(4_000),
        log=Periodic(4_000),
        scenario=Explicit(SCENARIO.times_us()),
    )
    aircraft = iris(pos_ned=(0.0, 0.0, -50.0), gravity=options.pop("gravity", Gravity()))
    return Simulation(aircraft, timeline, wind=Wind("ou"), autopilot=pilot, sensors=sensors, seed=1, **options)


def test_faults_of_the_scenario_act_from_their_tick_on():
    """GPS messages at 112 ms and every 200 ms after: without a fix from 0.4 to 0.8 s; no rates from 0.6 s on."""
    pilot = BySensors()
    flight(pilot, scenario=SCENARIO).run()
    messages = [(time_us // 1_000, fix) for time_us, is_new, fix, _ in pilot.reported if is_new]
    assert messages == [(112, 3), (312, 3), (512, 1), (712, 1), (912, 3)]
    assert all((fields & GYRO_FIELDS != 0) == (time_us < 600_000) for time_us, _, _, fields in pilot.reported)


def test_a_checkpoint_in_flight_has_the_sensors():
    """Resumed in this simulation or in another, all sensor data is bit-identical."""
    pilot = BySensors()
    sim = flight(pilot, scenario=SCENARIO).run(500_000)
    saved = sim.snapshot()
    sim.run()
    first = sim.log_sensors.tobytes()
    for again in (sim, flight(BySensors(), scenario=SCENARIO)):
        again.restore(saved)
        again.run()
        assert again.log_sensors.tobytes() == first


@pytest.mark.parametrize("other", [None, SensorSuite(replace(NOISY, baro=Barometer(noise_sigma_pa=1.0)))])
def test_a_checkpoint_of_other_sensors_is_rejected(other):
    """Of another configuration, or of a simulation without sensors."""
    saved = flight(sensors=other).run(100_000).snapshot()
    with pytest.raises(InputError, match="the snapshot is from a simulation with different sensors"):
        flight().restore(saved)


def test_sensors_change_nothing_else():
    """A flight has the same digest with and without sensors, and the log rate does not change their data."""
    with_sensors, without = flight().run(), flight(sensors=None).run()
    assert with_sensors.digest() == without.digest()
    assert without.log_sensors is None
    assert without.bus.sensors is None


def test_the_log_has_a_column_for_each_output():
    """With the values on the bus at each row; no columns in a flight without sensors."""
    sim = flight().run()
    log = Log.of(sim)
    assert len(OUTPUTS) == len(SENSOR_OUT.names)
    for out in OUTPUTS:
        assert np.array_equal(log[f"sensor_{out.name}"], sim.log_sensors[out.name])
    assert log["sensor_accel_m_s2"].shape == (len(sim.log), 3)
    assert log["sensor_abs_pressure_hpa"][-1] == sim.bus.sensors.abs_pressure_hpa > 900.0
    without = Log.of(flight(sensors=None).run())
    assert not [name for name in without if name in {f"sensor_{out.name}" for out in OUTPUTS}]
    with pytest.raises(InputError, match="no column 'sensor_mag_gauss': nothing in the run reads sensors"):
        without.column("sensor_mag_gauss")


def test_the_sensors_use_the_gravity_of_the_aircraft():
    """At the first tick, level and at rest: spherical gravity, 50 m above the mean radius."""
    sim = flight(sensors=SensorSuite(IDEAL), gravity=Gravity("spherical")).run(4_000)
    assert sim.bus.sensors.accel_m_s2[2] == pytest.approx(-3.986004418e14 / 6_371_050.0**2, rel=1e-12)


def test_the_sensors_report_the_state_of_their_tick():
    """In free fall the rates are 0, and the GPS speed is that of its epoch, 110 ms before its message."""
    timeline = Timeline(1_000_000, autopilot=Periodic(4_000), log=Periodic(4_000))
    plant = iris(pos_ned=(0.0, 0.0, -50.0))
    sim = Simulation(plant, timeline, sensors=SensorSuite(IDEAL), integrator=Integrator("RK4")).run()
    log = Log.of(sim)
    is_new = log["sensor_gps_updated"] == 1
    assert np.array_equal(log["sensor_gps_vd_cm_s"][is_new], np.round(100.0 * log["vel_ned"][is_new, 2]))
    assert is_new.sum() == 6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: flight(sensors=object()), "sensors = <object .* is not a SensorSuite"),
        (
            lambda: Simulation(iris(), Timeline(1_000, log=Periodic(1_000)), sensors=SUITE),
            "the sensors would never run: the timeline has no autopilot axis",
        ),
        (
            lambda: Simulation(Oscillator(), Timeline(1_000, autopilot=Periodic(1_000)), sensors=SUITE),
            r"sensors need a plant whose first 13 states are those of a rigid body .* this one has 1 pos, 1 vel",
        ),
    ],
)
def test_sensors_that_can_not_run_are_rejected(make, message):
    """Before the first boundary."""
    with pytest.raises(InputError, match=message):
        make()


def test_sensors_given_twice_are_rejected():
    """If the autopilot already has sensors."""
    pilot = BySensors()
    pilot.sensor_suite = SUITE
    assert flight(pilot, sensors=None).bus.sensors is not None
    with pytest.raises(InputError, match="sensors are given to both the simulation and its autopilot"):
        flight(pilot)


class Counts:
    """A source or hook that stores how many ticks the sensors have run."""

    def __init__(self):
        self.seen = []
        self.record = None

    def step(self, time_us, inputs, outputs=None):
        self.seen.append(int(self.record["state"]["ticks"][0]))


def test_the_stage_runs_after_the_wind_and_before_the_estimator():
    """Once per autopilot tick, in the order of contract 3."""
    timeline = Timeline(20_000, autopilot=Periodic(4_000), wind=Periodic(4_000), log=Periodic(4_000))
    stages = {name: Counts() for name in ("scenario", "wind", "estimator", "autopilot")}
    hook = Counts()
    sim = Simulation(iris(), timeline, sensors=SUITE, hooks=[hook], **stages)
    for stage in (*stages.values(), hook):
        stage.record = sim._sensors.record
    sim.run()
    ticks = list(range(6))
    assert stages["scenario"].seen == stages["wind"].seen == ticks
    after = [tick + 1 for tick in ticks]
    assert stages["estimator"].seen == hook.seen == stages["autopilot"].seen == after


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_the_columns_survive_files(tmp_path, write):
    """With their types, integer or not; reading returns the same values."""
    log = Log.of(flight().run(100_000))
    path = tmp_path / "log"
    write(log, path)
    read = (read_csv if write is write_csv else read_parquet)(path)
    for out in OUTPUTS:
        name = f"sensor_{out.name}"
        assert read[name].dtype == log[name].dtype
        assert np.array_equal(read[name], log[name])


def test_the_rows_of_a_killed_flight_have_the_sensors(tmp_path):
    """All complete rows."""
    sim = flight()
    hold_rows(sim, tmp_path / "rows")
    sim.run(100_000)
    read = read_rows(tmp_path / "rows")
    assert np.array_equal(read["sensor_gyro_rad_s"], sim.log_sensors["gyro_rad_s"])
    assert len(read["sensor_gyro_rad_s"]) == 25


def recorded(end_us=12_000_000):
    """Return a flight without Python in its loop, with a checkpoint at 10 s."""
    timeline = Timeline(end_us, autopilot=Periodic(4_000), log=Periodic(100_000))
    return Simulation(iris(), timeline, sensors=SUITE, record=True, seed=1)


def test_a_recording_has_the_sensors(tmp_path):
    """At each log row; resumed from a checkpoint of the file, the flight is bit-identical."""
    sim = recorded().run()
    path = tmp_path / "recording.h5"
    write_recording(Recording.of(sim, FlightSource(spec="")), path)
    with h5py.File(path) as file:  # it describes itself
        assert file["log/sensors"].dtype.names == SENSOR_OUT.names
        assert file["log/sensors"].attrs["description"].startswith(b"Sensor outputs at each row")
    read = read_recording(path)
    assert read.log_sensors.tobytes() == sim.log_sensors.tobytes()
    assert len(read.sensor_checkpoints) == len(read.checkpoints) == 2
    again = recorded()
    again.restore(read.snapshot_before(11_000_000))
    assert again.time_us == 10_000_000
    again.run()
    assert again.log_sensors.tobytes() == sim.log_sensors.tobytes()
    assert again.digest() == sim.digest()


def test_a_recording_without_sensors_has_no_sensor_arrays(tmp_path):
    """It has only the arrays of every recording."""
    sim = Simulation(iris(), Timeline(8_000, autopilot=Periodic(4_000), log=Periodic(4_000)), record=True).run()
    made = contents_of(Recording.of(sim, FlightSource(spec="")))
    assert set(made.arrays) == set(ENTRIES)


def test_a_branch_keeps_the_state_with_its_own_configuration():
    """Another number of satellites from 0.1 s on; noise and samples are bit-identical to the trunk's."""
    trunk, other = recorded(400_000), replace(NOISY, gps=replace(NOISY.gps, satellites=9))
    start = trunk.snapshot()
    saved = trunk.run(100_000).snapshot()
    branch = Simulation(iris(), trunk.timeline, sensors=SensorSuite(other), record=True, seed=1)
    branch.continue_from(saved, start)
    branch.run()
    trunk.run()
    ours, theirs = branch.log_sensors, trunk.log_sensors
    assert theirs["gps_satellites"][-1] == 16
    assert ours["gps_satellites"][-1] == 9
    for name in SENSOR_OUT.names:
        if name != "gps_satellites":
            assert np.array_equal(ours[name], theirs[name]), name
