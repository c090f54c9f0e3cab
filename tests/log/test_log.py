"""Logs in memory: columns of the schema as views of the simulation's arrays, with the state at the time of each row."""

from pathlib import Path

import numpy as np
import pytest
from fleet import Rotor, iris, octa
from scenario_flight import simulation as short_flight

from flights import disturbed, flight
from px4lockstep.engine.bus import BUS
from px4lockstep.engine.core import LOG_ROW
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import InputError
from px4lockstep.log.log import Log, gather
from px4lockstep.log.schema import BY_NAME, COLUMNS, COMPONENTS, COUNTED
from px4lockstep.math.quaternion import to_euler
from px4lockstep.plant.models import FreeFall, Oscillator
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.vehicle.actuators import ActuatorDynamics

NOT_LOGGED = {"time_us", "wind", "command", "scenario.faults"}
"""Fields of the bus that are logged elsewhere: the time of the row, and inputs as held for the plant."""


@pytest.fixture(scope="module")
def flown():
    return disturbed(end_s=8).run()


def leaves(dtype, prefix=""):
    """Return the dotted names of a record's numbers."""
    dtype = dtype.subdtype[0] if dtype.subdtype else dtype
    if dtype.names is None:
        return [prefix[:-1]]
    return [leaf for name in dtype.names for leaf in leaves(dtype[name], f"{prefix}{name}.")]


def test_every_column_is_described():
    """Unique name, unit, shape, description and source."""
    assert len(BY_NAME) == len(COLUMNS)
    for column in COLUMNS:
        assert column.name.isidentifier()
        assert column.unit
        assert column.unit.isascii()
        assert len(column.description) > 4
        assert column.shape in ("", *COMPONENTS, *COUNTED)
        assert column.source


def test_the_documentation_lists_every_column():
    """The table at the end of docs/reference/logs.md is the schema, row by row."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "logs.md").read_text("utf-8")
    rows = [line for line in text.partition("## The schema")[2].splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{column.name}` | {column.unit} | {column.shape or '-'} | {column.description} | `{column.source}` |"
        for column in COLUMNS
    ]


def test_everything_on_the_bus_is_in_the_schema():
    """So that a new field is logged or omitted on purpose."""
    sources = {column.source for column in COLUMNS}
    for leaf in leaves(BUS):
        if not any(leaf == left or leaf.startswith(f"{left}.") for left in NOT_LOGGED):
            assert f"bus.{leaf}" in sources, leaf
    assert {"inputs.command.motors", "inputs.command.servos", "inputs.wind_ned", "bus.wind.vel_ned"} <= sources
    for leaf in leaves(LOG_ROW["inputs"]["faults"]):
        assert f"inputs.faults.{leaf}" in sources, leaf


def test_an_aircraft_has_the_columns_that_apply_to_it(flown):
    """Four rotors, one battery, no servos, no sensors; direct motors have no state."""
    log = Log.of(flown)
    absent = [column.name for column in COLUMNS if column.name not in log and column.needs not in ("sensors", "home")]
    assert absent == ["actuator_output", "actuator_rate", "state", "servos", "plant_values", "motor_cut_off_mask"]
    for column in log.columns:
        array = log[column.name]
        assert len(array) == log.rows == 801
        size = {"rotors": 4, "motors": 4, "batteries": 1, "buses": 1} | {k: len(v) for k, v in COMPONENTS.items()}
        assert array.shape == ((801, size[column.shape]) if column.shape else (801,)), column


def test_other_aircraft_have_other_columns():
    """Servos, second-order actuators, eight rotors; a rotor on a high channel widens the commands."""
    aircraft = iris(motor_actuator=ActuatorDynamics("second_order"), servo_channels=(1, 3), pos_ned=(0.0, 0.0, -50.0))
    log = Log.of(short_flight(None, 0.01, aircraft=aircraft, estimator=None).run())
    assert log["actuator_rate"].shape[1] == 4
    assert log["servos"].shape[1] == 3
    eight = Log.of(short_flight(None, 0.01, aircraft=octa(pos_ned=(0.0, 0.0, -50.0))).run())
    assert eight["rotor_thrust_n"].shape[1] == eight["motors"].shape[1] == 8


def test_a_log_is_a_view(flown):
    """Without copies, and read-only."""
    log = Log.of(flown)
    for name in ("pos_ned", "soc", "rotor_speed_rad_s"):
        assert np.shares_memory(log[name], flown.log_state)
    for name in ("time_us", "motors", "armed", "battery_voltage_v", "pos_sp_ned"):
        assert np.shares_memory(log[name], flown.log)
    for name in log.names:
        assert not log[name].flags.writeable, name


def test_a_row_has_the_state_at_its_time():
    """Free fall: the first row is the start, and row t has 1/2 g t² up to rounding; no row is shifted."""
    sim = Simulation(FreeFall(), Timeline(1_000_000, log=Periodic(10_000))).run()
    log = Log.of(sim)
    t = log.time_us / 1e6
    assert log["pos_ned"][0].tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(log["pos_ned"][:, 2], 0.5 * 9.80665 * t * t, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(log["vel_ned"][:, 2], 9.80665 * t, rtol=1e-12)
    assert set(np.diff(log.time_us).tolist()) == {10_000}
    assert np.array_equal(log.time_s, t)


def test_a_row_has_the_state_and_the_command_held_from_then_on():
    """The first command acts after the first row, which has the initial state and the new command."""
    log = Log.of(short_flight(None, 0.02, command=0.7).run())
    assert log["pos_ned"][0].tolist() == [0.0, 0.0, -50.0]
    assert log["motors"][0].tolist() == [0.7] * 4
    assert log["rotor_duty"][0].tolist() == [0.0] * 4
    assert (log["rotor_speed_rad_s"][0] == 0.0).all()
    assert (log["rotor_speed_rad_s"][1] > 0.0).all()


def test_angles_are_those_of_the_quaternion(flown):
    """Bit-identical to `to_euler`."""
    log = Log.of(flown)
    assert log["euler_bn"][500].tolist() == list(to_euler(tuple(log["q_bn"][500].tolist())))


def test_the_axial_air_velocity_of_each_rotor_is_in_the_log():
    """V_ax is positive in a descent in still air, and along each rotor's own axis; bit-identical to the plant's."""
    timeline = Timeline(20_000, autopilot=Periodic(10_000), log=Periodic(10_000))
    sinking = Log.of(Simulation(iris(pos_ned=(0.0, 0.0, -50.0), vel_ned=(2.0, 0.0, 1.0)), timeline).run())
    assert sinking["rotor_axial_m_s"][0].tolist() == [1.0] * 4
    axes = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 0.6, 0.8))
    rotors = tuple(Rotor((0.1 * i, 0.1, 0.0), 1, axis) for i, axis in enumerate(axes))
    tilted = Log.of(Simulation(iris(rotors=rotors, vel_ned=(2.0, 5.0, 1.0)), timeline).run())
    assert tilted["rotor_axial_m_s"][0].tolist() == [1.0, 2.0, 5.0 * 0.6 + 1.0 * 0.8]
    air = tilted["air_vel_body"]
    assert tilted["rotor_axial_m_s"][-1, 2] == -(air[-1, 0] * 0.0 + air[-1, 1] * 0.6 + air[-1, 2] * 0.8)
    assert tilted.unit("rotor_axial_m_s") == "m/s"
    assert "rotor_axial_m_s" not in Log.of(Simulation(FreeFall(), timeline).run())


def test_a_replay_has_no_estimate_and_setpoints():
    """Zeros would look like real values."""
    recorded = flight(end_s=0.1, record=True).run()
    log = Log.of(flight(end_s=0.1, replay=recorded.streams).run())
    assert "est_pos_ned" not in log
    with pytest.raises(InputError, match="'pos_sp_ned': the run's autopilot reports no status"):
        log["pos_sp_ned"]
    assert np.isnan(log["battery_voltage_v"]).all()
    assert (log["battery_true_voltage_v"] > 10.0).all()


def test_a_reference_problem_has_its_state():
    """An oscillator has no position in three dimensions."""
    log = Log.of(Simulation(Oscillator(), Timeline(1000, log=Periodic(100))).run())
    assert log["state"].shape == (11, 2)
    assert "pos_ned" not in log
    assert "plant_values" in log
    nothing = Log.of(Simulation(None, Timeline(1000, log=Periodic(100))).run())
    assert nothing.rows == 11
    assert "state" not in nothing


def test_an_unknown_column_is_an_error_with_a_suggestion(flown):
    """For units and selections as well."""
    log = Log.of(flown)
    with pytest.raises(InputError, match="no column 'pos_nde'; did you mean 'pos_ned'"):
        log["pos_nde"]
    with pytest.raises(InputError, match="did you mean 'motors'"):
        log.unit("motor")
    with pytest.raises(InputError, match="'servos'"):
        log.select(["servos"])
    assert log.unit("vel_ned") == "m/s"
    assert log.get("servos") is None


def test_a_selection_has_the_time_and_the_order_of_the_schema(flown):
    """In whatever order the names are given."""
    log = Log.of(flown).select(["motors", "pos_ned", "motors"])
    assert list(log.names) == ["time_us", "pos_ned", "motors"]
    assert np.array_equal(log.time_s, log.time_us / 1e6)
    with pytest.raises(InputError, match="or it was not selected"):
        log["vel_ned"]


def test_a_crash_is_the_last_row():
    """The log of a flight that ended early has only the rows up to then."""
    log = Log.of(flight(scenario=Scenario().arm(at_s=0.1), aircraft=iris(pos_ned=(0.0, 0.0, -5.0)), end_s=10).run())
    assert log["crashed"][-1] == 1
    assert log["crashed"][:-1].sum() == 0
    assert log.rows < 200


def test_invalid_columns_are_errors():
    """When a log is assembled from a file."""
    time_us = np.arange(3, dtype=np.uint64)
    with pytest.raises(InputError, match="has \\['pos_ned_n'\\] of its components"):
        gather({"time_us": time_us, "pos_ned_n": np.zeros(3)})
    with pytest.raises(InputError, match="\\['speed'\\] are not in the log schema"):
        gather({"time_us": time_us, "speed": np.zeros(3)})
    with pytest.raises(InputError, match="needs the column time_us"):
        gather({"time_s": np.zeros(3)})
    with pytest.raises(InputError, match="columns \\['speed'\\] are not in the log schema"):
        Log({"time_us": time_us, "speed": np.zeros(3)})
