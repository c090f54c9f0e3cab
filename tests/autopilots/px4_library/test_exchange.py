"""The host of real PX4 against the recorded flights: PX4's inputs and the modes, tick by tick."""

import numpy as np
import pytest
from px4_flights import GOLDEN, bus_of, load_flight

from px4lockstep.autopilots.px4_library.commander import command, mode_of_command
from px4lockstep.autopilots.px4_library.exchange import write_bus, write_inputs
from px4lockstep.autopilots.px4_library.records import PX4_HOST
from px4lockstep.engine.bus import BUS
from px4lockstep.environment.projection import MapProjection
from px4lockstep.jit import interpreted, kernel, rows, view

HOME_DEG = (47.397742, 8.545594)
HOME_ALT_M = 488.0
NAVIGATOR_US = 50_000


@kernel
def host_flight(hosts, time_us, buses, valid, finished, commands, told, modes):
    """Run the host for every tick of a recorded flight, with PX4's outputs of the previous tick."""
    host = hosts[0]
    for k in range(len(time_us)):
        bus = buses[k]
        command(host.commander, time_us[k], bus.scenario, host.outputs)
        write_inputs(host, time_us[k], bus)
        told[k] = host.inputs
        modes[k] = host.commander
        host.outputs.mission_valid = valid[k]
        host.outputs.mission_finished = finished[k]
        host.outputs.mission_us = float(time_us[k])
        host.commander.commanded_mode = commands[k]
        host.tick += 1


def host_columns(name):
    """Return what was recorded of the host only: when the mission was valid, and the estimate at some ticks."""
    with np.load(GOLDEN / f"px4_iris_{name}_host.npz") as data:
        return {key: data[key] for key in data.files}


def fly(name, rate_gain=0.0):
    """Return PX4's inputs and the host's modes in a recorded flight, and the flight."""
    flight = load_flight(name)
    buses = bus_of(flight)
    buses["scenario"]["arm"] = flight["time_us"] >= 1_000_000
    hosts = np.zeros(1, PX4_HOST)
    hosts["home_lat_rad"], hosts["home_lon_rad"] = np.radians(HOME_DEG)
    hosts["home_alt_m"] = HOME_ALT_M
    hosts["rate_gain"] = rate_gain
    hosts["n_batteries"] = 1
    hosts["commander"]["navigator_us"] = NAVIGATOR_US
    count = len(buses)
    told, modes = np.zeros(count, PX4_HOST["inputs"]), np.zeros(count, PX4_HOST["commander"])
    arrays = (hosts, flight["time_us"].astype(np.int64), buses)
    answers = (host_columns(name)["mission_valid"].astype(float), flight["mission_finished"])
    host_flight(*(rows(array) for array in (*arrays, *answers, np.zeros(count, np.int64), told, modes)))
    return told, modes, flight


@pytest.mark.parametrize("name", ["mission", "yaw"])
def test_modes_are_those_of_the_recorded_host_at_every_tick(name):
    """Armed, mission, manual, mission again, disarmed: from the requests and PX4's outputs only."""
    told, modes, flight = fly(name)
    assert np.array_equal(modes["is_armed"], flight["armed"])
    assert np.array_equal(modes["nav_state"], flight["nav_state"])
    assert np.array_equal(told["nav_state"], flight["nav_state"])
    assert np.array_equal(told["arming_state"], 1.0 + flight["armed"])
    assert np.array_equal(told["landed"], flight["landed"])
    changes = np.flatnonzero(np.diff(flight["nav_state"])) + 1
    assert len(changes) >= 4  # mission, manual, mission, manual


@pytest.mark.parametrize("name", ["mission", "yaw"])
def test_px4_gets_the_recorded_estimate(name):
    """Position, velocity, attitude and body rates; messages hold them as float32."""
    told, _, flight = fly(name)
    host = host_columns(name)
    said = told[host["est_rows"]]
    ours = np.column_stack([said[field] for field in ("pos_ned", "vel_ned", "q_bn", "omega_body")])
    assert host["est_columns"].tolist()[-1] == "est_r"
    assert len(ours) > 600
    assert np.array_equal(ours.astype(np.float32), host["est"].astype(np.float32))
    assert np.array_equal(told["home_count"], np.arange(1, len(told) + 1))
    assert told["stamp_us"][0] == 1.0
    assert np.array_equal(told["time_us"], flight["time_us"])


def test_latitude_and_longitude_are_those_of_the_position():
    """Projected back to within a micrometre; altitude above sea level."""
    told, _, flight = fly("yaw")
    projection = MapProjection(*HOME_DEG)
    for k in range(0, len(told), 997):
        north_m, east_m = projection.to_local(told["lat_deg"][k], told["lon_deg"][k])
        assert abs(north_m - flight["truth_pos_n"][k]) < 1e-6
        assert abs(east_m - flight["truth_pos_e"][k]) < 1e-6
    assert np.allclose(told["alt_m"], HOME_ALT_M - flight["truth_pos_d"], rtol=0.0, atol=1e-9)


def test_the_heading_is_the_attitudes_yaw():
    """Positive to the right, like the rate about the down axis."""
    told, _, flight = fly("yaw")
    w, x, y, z = (flight[f"truth_q_{name}"] for name in "wxyz")
    yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    assert np.allclose(told["heading"], yaw, rtol=0.0, atol=1e-12)
    turning = np.abs(flight["truth_r"]) > 0.5
    moved = np.diff(np.unwrap(told["heading"]))
    assert (np.sign(moved[turning[:-1]]) == np.sign(flight["truth_r"][:-1][turning[:-1]])).all()


def test_angular_acceleration_is_the_difference_of_rates_or_zero():
    """As configured; the recorded host published zero."""
    told, _, flight = fly("yaw", rate_gain=250.0)
    rates = np.stack([flight[f"truth_{name}"] for name in "pqr"], 1)
    assert np.array_equal(told["omega_dot_body"][1:], (rates[1:] - rates[:-1]) * 250.0)
    assert not told["omega_dot_body"][0].any()
    assert not fly("yaw")[0]["omega_dot_body"].any()


def scenario_of(steps):
    """Return buses for a list of requests, one tick each."""
    buses = np.zeros(len(steps), BUS)
    buses["estimate"]["q_bn"][:, 0] = 1.0
    for bus, step in zip(buses, steps, strict=True):
        for name, value in step.items():
            bus["scenario"][name] = value
    return buses


def modes_of(steps, valid=1.0, finished=None, commands=None):
    """Return armed state, mode and `finished` at each tick; `commands` are the modes that PX4 asks for after it."""
    buses = scenario_of(steps)
    hosts = np.zeros(1, PX4_HOST)
    hosts["commander"]["navigator_us"] = NAVIGATOR_US
    hosts["outputs"]["mission_valid"] = valid
    count = len(steps)
    told, modes = np.zeros(count, PX4_HOST["inputs"]), np.zeros(count, PX4_HOST["commander"])
    time_us = np.arange(count, dtype=np.int64) * 4_000
    done = np.zeros(count) if finished is None else np.array(finished, float)
    asked = np.zeros(count, np.int64) if commands is None else np.array(commands, np.int64)
    host_flight(*(rows(a) for a in (hosts, time_us, buses, np.full(count, valid), done, asked, told, modes)))
    return modes["is_armed"].tolist(), modes["nav_state"].tolist(), modes["is_finished"].tolist()


AIR = {"arm": 1, "landed": 0}
GROUND = {"arm": 1, "landed": 1}


def test_the_vehicle_disarms_after_a_return():
    """Not before it has flown, and permanently: an arm request that persists does not arm it again."""
    back = {"mission": 1, "return_home": 1}
    armed, mode, _ = modes_of([GROUND, AIR | {"mission": 1}, AIR | back, GROUND | back, GROUND | back])
    assert armed == [1, 1, 1, 0, 0]
    assert mode == [0, 3, 5, 0, 0]


def test_a_mission_reported_as_finished_before_takeoff_is_ignored():
    """PX4's first outputs do report this."""
    asked = GROUND | {"mission": 1}
    armed, mode, finished = modes_of([GROUND, asked, asked, asked], finished=[1, 1, 1, 1])
    assert armed == [1, 1, 1, 1]
    assert mode == [0, 3, 3, 3]
    assert finished == [0, 0, 0, 0]


def test_a_result_that_is_older_than_the_mode_is_ignored():
    """The result of the first mission says finished when the second one is in the air."""
    again = AIR | {"arm": 2, "mission": 2}
    first = [GROUND, AIR | {"mission": 1}, GROUND | {"mission": 1}]
    steps = [*first, GROUND | {"mission": 1, "arm": 2}, again, again, again]
    armed, mode, finished = modes_of(steps, finished=[0, 1, 1, 1, 0, 0, 1])
    assert armed == [1, 1, 0, 1, 1, 1, 1]
    assert mode == [0, 3, 0, 0, 3, 3, 3]
    assert finished == [0, 0, 1, 1, 0, 0, 0]


def test_a_finished_mission_in_the_air_leads_to_hold_mode():
    """It is not finished again when the vehicle lands in that mode."""
    asked = AIR | {"mission": 1}
    armed, mode, finished = modes_of([GROUND, asked, asked, asked, GROUND | {"mission": 1}], finished=[0, 0, 1, 1, 1])
    assert armed == [1, 1, 1, 1, 1]
    assert mode == [0, 3, 3, 4, 4]
    assert finished == [0, 0, 0, 1, 1]


def test_a_mission_that_px4_finds_invalid_is_never_finished():
    """PX4 reports it as finished, too."""
    asked = AIR | {"mission": 1}
    armed, mode, finished = modes_of([GROUND, asked, asked, asked], valid=0.0, finished=[1, 1, 1, 1])
    assert (armed[-1], mode[-1], finished) == (1, 3, [0, 0, 0, 0])


@pytest.mark.parametrize(("commanded", "lands"), [(4, False), (5, True), (18, True)])
def test_px4_can_command_a_mode(commanded, lands):
    """Only a return completes the mission; the command counts more than the end of the mission in the same tick."""
    asked = AIR | {"mission": 1}
    steps = [GROUND, asked, asked, asked, GROUND | {"mission": 1}]
    armed, mode, finished = modes_of(steps, finished=[0, 0, 1, 1, 1], commands=[0, 0, commanded, 0, 0])
    assert mode == [0, 3, 3, commanded, 0 if lands else commanded]
    assert armed[-1] == int(not lands)
    assert finished == [0, 0, 0, 0, int(commanded == 5)]


@pytest.mark.parametrize(
    ("commander", "is_driven"),
    [
        ({"is_armed": 1, "nav_state": 3}, True),
        ({"is_armed": 0, "nav_state": 3}, False),
        ({"is_armed": 1, "nav_state": 0}, False),
        ({"is_armed": 1, "nav_state": 0, "has_flown": 1}, True),
    ],
)
def test_motors_have_the_channels_of_their_rotors_and_stand_still_unless_flying(commander, is_driven):
    """PX4's motor i drives the channel of rotor i; whatever PX4 says, it is 0 disarmed, and in manual mode at first."""
    hosts, buses = np.zeros(1, PX4_HOST), np.zeros(1, BUS)
    hosts["n_motors"], hosts["motor_channel"][0, :3] = 3, (4, 0, 2)
    hosts["outputs"]["motors"][0, :3] = (0.1, 0.2, 0.3)
    for name, value in commander.items():
        hosts["commander"][name] = value
    interpreted(write_bus)(view(hosts, writable=True), view(buses, writable=True))
    expected = [0.2, 0.0, 0.3, 0.0, 0.1] if is_driven else [0.0] * 5
    assert buses["command"]["motors"][0, :5].tolist() == expected


def test_a_disarmed_vehicle_ignores_commands():
    """As does the next flight."""
    steps = [{"arm": 0, "landed": 1}, {"arm": 0, "landed": 1}, GROUND]
    assert modes_of(steps, commands=[5, 0, 0])[1] == [0, 0, 0]


@pytest.mark.parametrize(
    ("command", "second", "mode"),
    [
        (20, 0, 5),
        (21, 0, 18),
        (17, 0, 4),
        (192, 1, 4),
        (192, 0, 0),
        (93, 0, 0),
        (178, 0, 0),
        (1000, 0, 0),
        (2003, 1, 0),
    ],
)
def test_commands_of_px4(command, second, mode):
    """Return, land, loiter and reposition change the mode; others are not for the commander, or have no effect."""
    assert interpreted(mode_of_command)(float(command), float(second)) == mode


def test_disarming_works_in_the_air_and_rearming_needs_a_new_request():
    """The count falls to 0 and rises."""
    off = {"arm": 0, "landed": 0}
    armed, mode, _ = modes_of([AIR, AIR | {"mission": 1}, off | {"mission": 1}, AIR | {"mission": 1}])
    assert armed == [1, 1, 0, 1]
    assert mode == [0, 3, 0, 0]


def test_requests_act_when_their_count_increases_and_the_last_one_wins():
    """Mission, return and landing requests are counted."""
    asked = {"mission": 1, "return_home": 1}
    _, mode, _ = modes_of(
        [AIR | {"mission": 1}, AIR | asked, AIR | asked | {"land": 1}, AIR | asked | {"land": 1, "mission": 2}]
    )
    assert mode == [3, 5, 18, 3]


def test_a_second_request_does_not_shorten_the_mission_start():
    """Manual mode lasts a navigator period, whatever is requested meanwhile."""
    buses = [GROUND, *[GROUND | {"mission": 1}] * 4, *[GROUND | {"mission": 2}] * 16]
    count = len(buses)
    valid = [0.0, 0.0, 0.0, *[1.0] * (count - 3)]
    hosts = np.zeros(1, PX4_HOST)
    hosts["commander"]["navigator_us"] = NAVIGATOR_US
    told, modes = np.zeros(count, PX4_HOST["inputs"]), np.zeros(count, PX4_HOST["commander"])
    time_us = np.arange(count, dtype=np.int64) * 4_000
    arrays = (hosts, time_us, scenario_of(buses), np.array(valid), np.zeros(count), np.zeros(count, np.int64))
    host_flight(*(rows(array) for array in (*arrays, told, modes)))
    assert modes["nav_state"].tolist() == [0, 3, 3, 3, *[0] * 13, *[3] * (count - 17)]
