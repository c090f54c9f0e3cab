"""PX4's inputs: every field of every message, in six situations, against values computed by hand.

The messages are read back from the double with their measured layouts, so that a field at a wrong offset is detected.
Fields that a situation does not list are 0. Latitudes and longitudes are those of the azimuthal equidistant projection
around the origin on a sphere of 6,371,000 m, computed with 30 digits; they are compared to 1e-9 degrees, a tenth of a
millimetre. Everything else is compared to the rounding of its type.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from fleet import PowerBus, iris, octa
from px4_double import build_double, message_dtype

from px4lockstep.autopilots.px4_library.autopilot import Px4Library
from px4lockstep.autopilots.px4_library.exchange import step_px4
from px4lockstep.autopilots.px4_library.records import PX4_HOST
from px4lockstep.engine.bus import BUS
from px4lockstep.jit import kernel, rows
from px4lockstep.px4.presets import STATE_INJECTION
from px4lockstep.vehicle.battery import Battery

pytestmark = pytest.mark.process

NAN = math.nan
TICK_US = 4_000
TOPICS = [each.topic for each in STATE_INJECTION.published]
MANUAL, MISSION, RETURN = 0, 3, 5


@kernel
def tick(hosts, time_us, buses):
    """Run the host for one tick."""
    return step_px4(hosts[0], time_us[0], buses[0])


@dataclass(frozen=True)
class Situation:
    """A situation in the simulator, and the resulting inputs of PX4."""

    time_us: int
    armed: bool
    mode: int
    landed: bool
    pos_ned: tuple
    vel_ned: tuple
    q_bn: tuple
    omega_body: tuple  # one tick before: the same, except for 0.02, 0.04 and -0.06 rad/s
    batteries: tuple  # voltage, current, remaining and warning of each
    lat_deg: float
    lon_deg: float
    alt_m: float
    heading: float
    armed_us: int = 0
    mode_us: int = 0


AT_REST = Situation(
    time_us=400_000,
    armed=False,
    mode=MANUAL,
    landed=True,
    pos_ned=(0.0, 0.0, 0.0),
    vel_ned=(0.0, 0.0, 0.0),
    q_bn=(1.0, 0.0, 0.0, 0.0),
    omega_body=(0.0, 0.0, 0.0),
    batteries=((12.6, 0.5, 1.0, 0), (12.5, 0.25, 0.98, 0)),
    lat_deg=47.397742,
    lon_deg=8.545594,
    alt_m=488.0,
    heading=0.0,
)
ARMED_ON_THE_GROUND = Situation(
    time_us=1_800_000,
    armed=True,
    mode=MANUAL,
    landed=True,
    pos_ned=(0.25, -0.125, 0.0),
    vel_ned=(0.01, -0.02, 0.005),
    q_bn=(1.0, 0.0, 0.0, 0.0),
    omega_body=(0.001, 0.002, -0.003),
    batteries=((12.4, 2.0, 0.97, 0), (12.3, 1.0, 0.95, 0)),
    lat_deg=47.397744248304,
    lon_deg=8.5455923392764,
    alt_m=488.0,
    heading=0.0,
    armed_us=1_000_000,
)
CLIMBING = Situation(
    time_us=8_000_000,
    armed=True,
    mode=MISSION,
    landed=False,
    pos_ned=(1.5, -2.0, -6.25),
    vel_ned=(0.3, -0.1, -1.5),
    q_bn=(0.9987502603949663, 0.04997916927067833, 0.0, 0.0),  # rolled to the right by 0.1 rad
    omega_body=(0.1, -0.2, 0.3),
    batteries=((11.9, 14.0, 0.8, 0), (11.8, 7.0, 0.75, 0)),
    lat_deg=47.397755489821,
    lon_deg=8.5455674284171,
    alt_m=494.25,
    heading=0.0,
    armed_us=1_000_000,
    mode_us=2_088_000,
)
FLYING_EAST = Situation(
    time_us=20_000_000,
    armed=True,
    mode=MISSION,
    landed=False,
    pos_ned=(0.0, 30.0, -12.0),
    vel_ned=(0.0, 5.0, 0.0),
    # turned right by 90 degrees, then nose down by 10
    q_bn=(0.7044160264027587, 0.061628416716219346, -0.06162841671621935, 0.7044160264027586),
    omega_body=(0.0, -0.1, 0.05),
    batteries=((11.5, 12.0, 0.6, 0), (11.4, 6.0, 0.12, 1)),
    lat_deg=47.397741999309,
    lon_deg=8.5459925736409,
    alt_m=500.0,
    heading=1.5707963267948966,
    armed_us=1_000_000,
    mode_us=2_088_000,
)
DESCENDING = Situation(
    time_us=55_000_000,
    armed=True,
    mode=MISSION,
    landed=False,
    pos_ned=(40.0, 25.0, -3.5),
    vel_ned=(0.0, 0.0, 0.7),
    q_bn=(0.7071067811865476, 0.0, 0.0, -0.7071067811865476),  # facing west
    omega_body=(0.01, 0.02, -0.03),
    batteries=((11.0, 9.0, 0.3, 0), (10.9, 4.5, 0.08, 2)),
    lat_deg=47.398101728163,
    lon_deg=8.5459261469684,
    alt_m=491.5,
    heading=-1.5707963267948966,
    armed_us=1_000_000,
    mode_us=2_088_000,
)
ON_RETURN = Situation(
    time_us=42_000_000,
    armed=True,
    mode=RETURN,
    landed=False,
    pos_ned=(-60.0, -80.0, -30.0),
    vel_ned=(3.0, 4.0, -0.25),
    q_bn=(0.38268343236508984, 0.0, 0.0, -0.9238795325112867),  # heading -135 degrees
    omega_body=(-0.05, 0.05, 0.0),
    batteries=((10.8, 13.0, 0.2, 0), (10.7, 6.5, 0.04, 3)),
    lat_deg=47.397202402125,
    lon_deg=8.5445311478422,
    alt_m=518.0,
    heading=-2.356194490192345,
    armed_us=1_000_000,
    mode_us=40_000_000,
)
SITUATIONS = {
    "at rest": AT_REST,
    "armed on the ground": ARMED_ON_THE_GROUND,
    "climbing": CLIMBING,
    "yawed 90 degrees, flying east": FLYING_EAST,
    "descending": DESCENDING,
    "on return": ON_RETURN,
}


def bus_of(situation, omega_body):
    """Return the bus for a situation."""
    bus = np.zeros(1, BUS)
    bus["time_us"] = situation.time_us
    bus["scenario"]["arm"] = situation.armed
    bus["scenario"]["mission"] = situation.mode != MANUAL
    bus["scenario"]["return_home"] = situation.mode == RETURN
    bus["scenario"]["landed"] = situation.landed
    estimate = bus["estimate"]
    estimate["pos_ned"], estimate["vel_ned"] = situation.pos_ned, situation.vel_ned
    estimate["q_bn"], estimate["omega_body"] = situation.q_bn, omega_body
    estimate["is_valid"] = 1.0
    for i, measured in enumerate(situation.batteries):
        for name, value in zip(("voltage_v", "current_a", "remaining", "warning"), measured, strict=True):
            bus["battery"][name][0, i] = value
    return bus


def told(folder, situation, aircraft, faults=(), **options):
    """Run two ticks of a situation against a double; return the messages it holds, by topic and instance."""
    hosts = np.zeros(1, PX4_HOST)
    session = Px4Library(library=build_double(folder), **options).open(hosts, aircraft, TICK_US)
    commander = hosts["commander"]
    commander["is_armed"] = commander["asked_arm"] = situation.armed
    commander["armed_us"], commander["mode_us"] = situation.armed_us, situation.mode_us
    commander["nav_state"], commander["asked_mission"] = situation.mode, situation.mode != MANUAL
    commander["asked_return"] = situation.mode == RETURN
    before = [now - step for now, step in zip(situation.omega_body, (0.02, 0.04, -0.06), strict=True)]
    try:
        subscribers = {(topic, 0): session.px4.subscriber(topic) for topic in TOPICS}
        subscribers["battery_status", 1] = session.px4.subscriber("battery_status", 1)
        for time_us, omega in ((situation.time_us - TICK_US, before), (situation.time_us, situation.omega_body)):
            bus = bus_of(situation, omega)
            for name, value in faults:
                bus["scenario"]["faults"][name] = value
            assert tick(rows(hosts), rows(np.array([time_us])), rows(bus))
        messages = {}
        for (topic, instance), subscriber in subscribers.items():
            if topic == "battery_status" and instance == len(aircraft.batteries):
                continue
            message = subscriber.copy()
            if instance == 0:
                assert message.tobytes() == session.message(topic).tobytes()
            messages[topic, instance] = np.frombuffer(message.tobytes(), message_dtype(topic))[0]
        return messages
    finally:
        session.close(hosts)


def expected(s):
    """Return every nonzero field, by topic and instance."""
    t = s.time_us
    battery = {"connected": True, "scale": 1.0, "time_remaining_s": NAN, "temperature": NAN, "timestamp": t}
    sizes = ({"capacity": 5000, "cell_count": 3, "id": 1}, {"capacity": 3000, "cell_count": 3, "id": 2})
    batteries = {
        ("battery_status", i): battery
        | sizes[i]
        | {
            "voltage_v": volts,
            "current_a": amperes,
            "current_average_a": amperes,
            "remaining": left,
            "warning": warning,
        }
        for i, (volts, amperes, left, warning) in enumerate(s.batteries)
    }
    is_auto = s.mode != MANUAL
    return batteries | {
        ("vehicle_attitude", 0): {"timestamp": t, "timestamp_sample": t, "q": s.q_bn},
        ("vehicle_local_position", 0): {
            "timestamp": t,
            "timestamp_sample": t,
            "ref_timestamp": 1,
            "ref_lat": 47.397742,
            "ref_lon": 8.545594,
            "ref_alt": 488.0,
            "x": s.pos_ned[0],
            "y": s.pos_ned[1],
            "z": s.pos_ned[2],
            "vx": s.vel_ned[0],
            "vy": s.vel_ned[1],
            "vz": s.vel_ned[2],
            "z_deriv": s.vel_ned[2],
            "heading": s.heading,
            "unaided_heading": s.heading,
            "eph": 0.1,
            "epv": 0.1,
            "evh": 0.1,
            "evv": 0.1,
            "vxy_max": NAN,
            "vz_max": NAN,
            "hagl_min": NAN,
            "hagl_max_z": NAN,
            "hagl_max_xy": NAN,
            "xy_valid": True,
            "z_valid": True,
            "v_xy_valid": True,
            "v_z_valid": True,
            "heading_good_for_control": True,
            "xy_global": True,
            "z_global": True,
        },
        ("vehicle_global_position", 0): {
            "timestamp": t,
            "timestamp_sample": t,
            "lat": s.lat_deg,
            "lon": s.lon_deg,
            "alt": s.alt_m,
            "alt_ellipsoid": s.alt_m,
            "eph": 0.1,
            "epv": 0.1,
            "terrain_alt": 488.0,
            "lat_lon_valid": True,
            "alt_valid": True,
            "terrain_alt_valid": True,
        },
        ("vehicle_angular_velocity", 0): {
            "timestamp": t,
            "timestamp_sample": t,
            "xyz": s.omega_body,
            "xyz_derivative": (5.0, 10.0, -15.0),  # 0.02, 0.04 and -0.06 rad/s in 4 ms
        },
        ("vehicle_land_detected", 0): {
            "timestamp": t,
            "ground_contact": s.landed,
            "maybe_landed": s.landed,
            "landed": s.landed,
            "at_rest": s.landed,
            "vertical_movement": not s.landed,
            "horizontal_movement": not s.landed,
            "rotational_movement": not s.landed,
        },
        ("vehicle_status", 0): {
            "timestamp": t,
            "armed_time": s.armed_us,
            "nav_state_timestamp": s.mode_us,
            "arming_state": 2 if s.armed else 1,
            "nav_state_user_intention": s.mode,
            "nav_state": s.mode,
            "vehicle_type": 1,
            "system_type": 2,  # a quadrotor
            "system_id": 1,
            "component_id": 1,
            "pre_flight_checks_pass": True,
        },
        ("vehicle_control_mode", 0): {
            "timestamp": t,
            "flag_armed": s.armed,
            "flag_multicopter_position_control_enabled": is_auto,
            "flag_control_manual_enabled": not is_auto,
            "flag_control_auto_enabled": is_auto,
            "flag_control_position_enabled": True,
            "flag_control_velocity_enabled": True,
            "flag_control_altitude_enabled": True,
            "flag_control_climb_rate_enabled": True,
            "flag_control_attitude_enabled": True,
            "flag_control_rates_enabled": True,
            "flag_control_allocation_enabled": True,
            "source_id": s.mode,
        },
        ("actuator_armed", 0): {"timestamp": t, "armed": s.armed, "prearmed": s.armed, "ready_to_arm": True},
        ("home_position", 0): {
            "timestamp": t,
            "lat": 47.397742,
            "lon": 8.545594,
            "alt": 488.0,
            "update_count": 2,  # increases with every message
            "valid_alt": True,
            "valid_hpos": True,
            "valid_lpos": True,
        },
        ("geofence_status", 0): {"timestamp": t, "status": 1},
    }


def check(topic, message, wanted):
    """Compare every field of a message."""
    assert [name for name in wanted if name not in message.dtype.names] == []
    for name in message.dtype.names:
        found, value = message[name], wanted.get(name, 0)
        if found.dtype == np.float64:
            assert found == pytest.approx(value, rel=0.0, abs=1e-9), f"{topic}.{name}"
        elif name == "xyz_derivative":  # a difference of nearly equal numbers: 1e-16 rad/s over 4 ms
            assert found == pytest.approx(np.array(value), rel=1e-6), f"{topic}.{name}"
        else:
            assert np.array_equal(found, np.broadcast_to(value, found.shape).astype(found.dtype), equal_nan=True), (
                f"{topic}.{name} is {found}, not {value}"
            )


TWO_BATTERIES = {"batteries": (Battery(), Battery(capacity_ah=3.0)), "buses": (PowerBus((0, 1), tuple(range(4))),)}


@pytest.mark.parametrize("name", SITUATIONS)
def test_every_field_has_the_expected_value(tmp_path, name):
    """All eleven topics, both batteries."""
    situation = SITUATIONS[name]
    messages, wanted = told(tmp_path, situation, iris(**TWO_BATTERIES)), expected(situation)
    assert sorted(messages) == sorted(wanted)
    assert len(wanted) == 12
    for topic, instance in wanted:
        check(f"{topic}[{instance}]", messages[topic, instance], wanted[topic, instance])


def test_at_time_zero_timestamps_are_one_where_zero_means_never(tmp_path):
    """In home, geofence and global position; the update count of home starts at one."""
    hosts = np.zeros(1, PX4_HOST)
    session = Px4Library(library=build_double(tmp_path)).open(hosts, iris(), TICK_US)
    try:
        assert tick(rows(hosts), rows(np.array([0])), rows(bus_of(AT_REST, AT_REST.omega_body)))
        stamped = {topic: int(session.message(topic)["timestamp"]) for topic in TOPICS}
        assert session.message("home_position")["update_count"] == 1
        assert session.message("vehicle_global_position")["timestamp_sample"] == 1
        # there is no previous tick, so no acceleration
        assert session.message("vehicle_angular_velocity")["xyz_derivative"].tolist() == [0.0, 0.0, 0.0]
    finally:
        session.close(hosts)
    ones = ("home_position", "geofence_status", "vehicle_global_position")
    assert stamped == {topic: int(topic in ones) for topic in TOPICS}


def test_a_lost_estimate_is_flagged_as_invalid(tmp_path):
    """In the flags of both positions; the values stay at the last ones."""
    hosts = np.zeros(1, PX4_HOST)
    session = Px4Library(library=build_double(tmp_path)).open(hosts, iris(), TICK_US)
    bus = bus_of(CLIMBING, CLIMBING.omega_body)
    bus["estimate"]["is_valid"] = 0.0
    try:
        assert tick(rows(hosts), rows(np.array([CLIMBING.time_us])), rows(bus))
        local, world = session.message("vehicle_local_position"), session.message("vehicle_global_position")
    finally:
        session.close(hosts)
    assert [bool(local[name]) for name in ("xy_valid", "z_valid", "v_xy_valid", "v_z_valid")] == [False] * 4
    assert [bool(world[name]) for name in ("lat_lon_valid", "alt_valid")] == [False] * 2
    assert local["z"] == np.float32(-6.25)


def test_a_disconnected_battery_is_reported(tmp_path):
    """The fault disconnects all batteries."""
    messages = told(tmp_path, CLIMBING, iris(**TWO_BATTERIES), faults=[("battery_disconnected", 1)])
    assert [bool(messages["battery_status", i]["connected"]) for i in (0, 1)] == [False, False]


def test_the_angular_acceleration_can_be_disabled(tmp_path):
    """As in the recorded flights, whose D term was inactive."""
    messages = told(tmp_path, CLIMBING, iris(), angular_acceleration=False)
    assert messages["vehicle_angular_velocity", 0]["xyz_derivative"].tolist() == [0.0, 0.0, 0.0]


def test_another_vehicle_and_origin(tmp_path):
    """An octorotor, a battery capacity beyond the field's range, and another home position and altitude."""
    aircraft = octa(batteries=(Battery(capacity_ah=80.0, ocv_v=(42.0, 50.4), min_voltage_v=36.0),), home_alt_msl_m=12.5)
    messages = told(tmp_path, AT_REST, aircraft, home_lat_deg=-33.5, home_lon_deg=151.25)
    assert messages["vehicle_status", 0]["system_type"] == 14
    assert messages["battery_status", 0]["capacity"] == 65_535
    assert messages["battery_status", 0]["cell_count"] == 12
    for topic, names in (
        ("home_position", ("lat", "lon", "alt")),
        ("vehicle_global_position", ("lat", "lon", "alt")),
        ("vehicle_local_position", ("ref_lat", "ref_lon", "ref_alt")),
    ):
        found = [float(messages[topic, 0][name]) for name in names]
        assert found == pytest.approx([-33.5, 151.25, 12.5], rel=0.0, abs=1e-9), topic
