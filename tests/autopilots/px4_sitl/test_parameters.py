"""Parameters over MAVLink: read, set where they differ, and errors before the flight; also with stock PX4's double."""

import json
import struct

import pytest
from px4_sitl_double import make_flight
from sitl_wire import Wire

from px4lockstep.autopilots.px4_sitl.api import Api
from px4lockstep.autopilots.px4_sitl.parameters import INT32, PROBES, REAL32, Parameters
from px4lockstep.errors import HostError, SimulationError
from px4lockstep.px4.missions import parse_wpl
from px4lockstep.scenario.scenario import Scenario

MISSION = parse_wpl("QGC WPL 110\n0 1 3 22 0 0 0 0 47.397742 8.545594 12 1\n", "test")
SHORT = {"end_s": 0.1, "boot_s": 0.3, "mission": None, "scenario": Scenario()}
"""No flight: just until PX4 starts to answer."""


@pytest.fixture
def wire():
    return Wire()


def fly(simulation):
    try:
        simulation.run()
    finally:
        simulation.close()


def fails(build, folder, misbehaviour, monkeypatch, **options):
    """Fly with a PX4 that misbehaves; return the error and the simulation."""
    monkeypatch.setenv("PX4_DOUBLE_MISBEHAVE", misbehaviour)
    simulation, _ = make_flight(build, folder, **{"end_s": 0.1} | options)
    with pytest.raises(SimulationError) as caught:
        fly(simulation)
    return str(caught.value), simulation


def step_on(own, end_us):
    for time_us in range(0, end_us, 100_000):
        own.step(time_us)


def reply(wire, name, kind, value):
    """Send a PARAM_VALUE; an integer by its bytes."""
    if kind == INT32:
        value = struct.unpack("<f", struct.pack("<i", value))[0]
    wire.hear("param_value", name.encode(), value, kind, 900, 1)


def names(wire, kind):
    """Return the parameters in the messages of a type, without probes."""
    return [told.param_id for told in wire.sent if told.get_type() == kind and told.param_id not in PROBES]


def answer_probe(wire):
    """Answer the last probe, after which PX4 has read all requests."""
    probes = [told.param_id for told in wire.sent if getattr(told, "param_id", None) in PROBES]
    reply(wire, probes[-1], INT32, 0)


def test_parameters_are_read_and_set_only_if_they_differ(wire):
    """Floats as float32, integers by their bytes; the mission waits for them."""
    own = Api(wire, MISSION.items, Parameters({"RTL_RETURN_ALT": 60, "MPC_XY_P": 0.95, "NAV_RCL_ACT": -1}, ()))
    own.step(0)
    own.upload(0)
    assert names(wire, "PARAM_REQUEST_READ") == ["RTL_RETURN_ALT", "MPC_XY_P", "NAV_RCL_ACT"]
    reply(wire, "RTL_RETURN_ALT", REAL32, 30.0)
    reply(wire, "MPC_XY_P", REAL32, 0.95)
    reply(wire, "NAV_RCL_ACT", INT32, 2)
    reply(wire, "OF_ANOTHER_STATION", INT32, 2)
    answer_probe(wire)
    own.step(100_000)
    height, action = [told for told in wire.sent if told.get_type() == "PARAM_SET"]
    assert (height.param_id, height.param_value, height.param_type) == ("RTL_RETURN_ALT", 60.0, REAL32)
    assert (action.param_id, action.param_type) == ("NAV_RCL_ACT", INT32)
    assert struct.pack("<f", action.param_value) == struct.pack("<i", -1)
    assert not [told for told in wire.sent if told.get_type() == "MISSION_COUNT"]
    reply(wire, "RTL_RETURN_ALT", REAL32, 60.0)
    reply(wire, "NAV_RCL_ACT", INT32, -1)
    own.step(200_000)
    own.upload(200_000)
    own.step(300_000)
    assert wire.sent[-1].get_type() == "MISSION_COUNT"


def test_requests_for_parameters_are_sent_in_bursts_and_repeated(wire):
    """An octocopter has more parameters than fit in a burst. The link may lose any message, also a probe."""
    own = Api(wire, (), Parameters({f"CA_{i}": 0.0 for i in range(70)}, ["CA_0"]))
    for time_us in (0, 20_000, 40_000, 60_000):
        own.step(time_us)
    assert len(names(wire, "PARAM_REQUEST_READ")) == 70
    for i in range(1, 70):
        reply(wire, f"CA_{i}", REAL32, 0.0)
    answer_probe(wire)
    own.step(80_000)
    own.step(100_000)
    assert names(wire, "PARAM_REQUEST_READ")[70:] == ["CA_0"]
    own.step(1_100_000)
    assert names(wire, "PARAM_REQUEST_READ")[71:] == ["CA_0"]
    assert not own.is_ready
    reply(wire, "CA_0", REAL32, 0.0)
    own.step(1_200_000)
    assert own.is_ready


def test_a_slow_px4_does_not_lack_parameters(wire):
    """On a busy machine, simulated time passes faster than PX4 reads its messages."""
    own = Api(wire, (), Parameters({"MPC_XY_P": 0.95}, ["MPC_XY_P"]))
    step_on(own, 14_000_000)
    reply(wire, "MPC_XY_P", REAL32, 0.95)
    own.step(14_000_000)
    assert own.is_ready


def test_a_parameter_that_px4_lacks_is_an_error_if_the_user_set_it(wire):
    """PX4 answers only the probes; some of our own depend on its version."""
    own = Api(wire, (), Parameters({"MPC_XY_P": 0.95, "SIM_BAT_DRAIN": 0}, ["MPC_XY_P"]))
    own.step(0)
    reply(wire, "MPC_XY_P", REAL32, 0.95)
    for time_us in (20_000, 40_000, 60_000):
        answer_probe(wire)
        own.step(time_us)
    assert own.is_ready
    assert names(wire, "PARAM_REQUEST_READ") == ["MPC_XY_P", "SIM_BAT_DRAIN", "SIM_BAT_DRAIN"]
    own = Api(wire, (), Parameters({"MCP_Z_P": 1.0}, ["MCP_Z_P"]))
    own.step(0)
    answer_probe(wire)
    own.step(20_000)
    answer_probe(wire)
    with pytest.raises(HostError, match=r"^this PX4 has no parameter MCP_Z_P; correct the name, or remove it$"):
        own.step(40_000)


def test_a_parameter_that_px4_does_not_accept_is_an_error(wire):
    """After three attempts."""
    own = Api(wire, (), Parameters({"MPC_XY_P": 9.0}, ["MPC_XY_P"]))
    for time_us in range(0, 400_000, 100_000):
        reply(wire, "MPC_XY_P", REAL32, 2.0)
        if time_us < 300_000:
            own.step(time_us)
    with pytest.raises(HostError, match=r"^PX4 keeps parameter MPC_XY_P at 2 although it was set to 9$"):
        own.step(300_000)
    assert names(wire, "PARAM_SET") == ["MPC_XY_P"] * 3


@pytest.mark.parametrize("value", [1.5, 3e9])
def test_an_integer_parameter_needs_a_whole_number(wire, value):
    """PX4's start script would drop the fraction."""
    own = Api(wire, (), Parameters({"NAV_RCL_ACT": value}, ["NAV_RCL_ACT"]))
    reply(wire, "NAV_RCL_ACT", INT32, 2)
    with pytest.raises(HostError, match=r"^parameter NAV_RCL_ACT = .* is not valid: it is an int32 in PX4"):
        own.step(0)


# -- with the double ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["1.17", "main"])
def test_parameters_that_px4_would_drop_are_set_before_the_mission(sitl_build, tmp_path, monkeypatch, version):
    """v1.17.0's start script drops values equal to compiled defaults, and its airframe replaces them."""
    monkeypatch.setenv("PX4_DOUBLE_VERSION", version)
    params = {"RTL_RETURN_ALT": 60.0, "CA_ROTOR2_KM": 0.05, "COM_LOW_BAT_ACT": 0}
    simulation, _ = make_flight(sitl_build, tmp_path, **SHORT, params=params)
    fly(simulation)
    stored = json.loads((tmp_path / "px4" / "stored.json").read_text())
    # The double stores only what was set; in the newer version, all of these differ from the airframe's defaults.
    assert {name: stored[name] for name in params} == {**params, "CA_ROTOR2_KM": pytest.approx(0.05)}


def test_lost_requests_for_parameters_are_repeated(sitl_build, tmp_path, monkeypatch):
    monkeypatch.setenv("PX4_DOUBLE_MISBEHAVE", "lose-params=20")
    simulation, sitl = make_flight(sitl_build, tmp_path, **SHORT)
    fly(simulation)
    assert sitl._api.is_ready


def test_a_parameter_that_px4_keeps_is_an_error(sitl_build, tmp_path, monkeypatch):
    """Before the flight."""
    monkeypatch.setenv("PX4_DOUBLE_VERSION", "1.17")
    params = {"RTL_RETURN_ALT": 60.0}
    error, simulation = fails(sitl_build, tmp_path, "stubborn=RTL_RETURN_ALT", monkeypatch, params=params)
    assert error == "PX4 keeps parameter RTL_RETURN_ALT at 30 although it was set to 60"
    assert simulation.time_us == 0
