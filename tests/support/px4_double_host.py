"""A simple host of the conformance double: all calls through ctypes, every message by hand, one tick at a time.

The double's own tests use it, independently of the package's host. `Host` is a handle with the eleven topics;
`HostAutopilot` is the autopilot of a `Simulation`. As a script, with the path of a double, a mission and a time, it
flies the mission, and from that time on in two processes.
"""

import ctypes
import os
import sys
from pathlib import Path

import numpy as np
from fleet import iris
from px4_double import message_dtype, report, topics, violations

from flights import TAKE_OFF, flight
from px4lockstep.environment.projection import MapProjection
from px4lockstep.environment.wind import Wind
from px4lockstep.estimation.estimator import Estimator

INJECTED = (
    "battery_status",
    "vehicle_attitude",
    "vehicle_local_position",
    "vehicle_global_position",
    "vehicle_angular_velocity",
    "vehicle_land_detected",
    "vehicle_status",
    "vehicle_control_mode",
    "actuator_armed",
    "home_position",
    "geofence_status",
)
READ = (
    "actuator_motors",
    "actuator_servos",
    "vehicle_torque_setpoint",
    "vehicle_thrust_setpoint",
    "vehicle_attitude_setpoint",
    "vehicle_rates_setpoint",
    "trajectory_setpoint",
    "position_setpoint_triplet",
    "mission_result",
)
HOME_LAT, HOME_LON, HOME_ALT = 47.397742, 8.545594, 488.0
MANUAL, MISSION, RETURN = 0, 3, 5
NAVIGATOR_PERIOD_US = 52_000
CONFIG = (1, 0, 100, 20, 100, 250, 250, 1, 250)


class Config(ctypes.Structure):
    """The configuration record of `create`."""

    _fields_ = [(f"value{i}", ctypes.c_int32) for i in range(9)]


def load(path):
    """Return a loaded double, with its return types set."""
    library = ctypes.CDLL(str(path))
    library.px4_lockstep_create.restype = ctypes.c_void_p
    library.px4_lockstep_create.argtypes = [ctypes.c_void_p]
    return library


def geometry(aircraft):
    """Yield the control allocation parameters of an aircraft."""
    yield "CA_AIRFRAME", 0
    yield "CA_ROTOR_COUNT", len(aircraft.rotors)
    for i, rotor in enumerate(aircraft.rotors):
        for axis, position, direction in zip("XYZ", rotor.pos_body_m, rotor.axis_body, strict=True):
            yield f"CA_ROTOR{i}_P{axis}", float(position)
            yield f"CA_ROTOR{i}_A{axis}", -float(direction)
        yield f"CA_ROTOR{i}_KM", float(aircraft.propulsion.km_m * rotor.direction)


class Host:
    """A handle of the double, with a publisher for each injected topic and a subscriber for each read topic."""

    def __init__(self, path, config=CONFIG, publish=INJECTED):
        self.library = load(path)
        if hasattr(self.library, "param_control_autosave"):
            self.library.param_control_autosave(False)
        created = self.library.px4_lockstep_create(ctypes.byref(Config(*config)))
        assert created is not None, "create gave no handle"
        self.handle = ctypes.c_void_p(created)
        self.publishers = {topic: self.publisher(topic) for topic in publish}
        self.subscribers = {topic: self.subscriber(topic) for topic in READ}

    def call(self, name, *arguments):
        """Return the result of a library function."""
        return getattr(self.library, f"px4_lockstep_{name}")(self.handle, *arguments)

    def publisher(self, topic, instance=-1):
        """Create a publisher; return its ID."""
        number, instance_is, size = ctypes.c_int32(), ctypes.c_int32(), ctypes.c_uint32()
        made = (ctypes.byref(number), ctypes.byref(instance_is), ctypes.byref(size))
        assert self.call("orb_create_publisher_ex", topic.encode(), 0, 0, instance, *made) == 0
        assert size.value == topics()[topic]["size"]
        return number.value

    def subscriber(self, topic, instance=0):
        """Create a subscriber; return its ID."""
        number, size = ctypes.c_int32(), ctypes.c_uint32()
        made = (ctypes.byref(number), ctypes.byref(size))
        assert self.call("orb_create_subscriber", topic.encode(), instance, *made) == 0
        return number.value

    def set_params(self, values, tell=True):
        """Set parameters by name, ints and floats, and notify the allocator."""
        for name, value in values:
            kind = ("param_set_i32", ctypes.c_int32) if isinstance(value, int) else ("param_set_f32", ctypes.c_float)
            assert self.call(kind[0], name.encode(), kind[1](value)) == 0, name
        assert not tell or self.call("control_alloc_update_params") == 0

    def publish(self, topic, message, publisher=None):
        """Queue a message."""
        data = message.tobytes()
        number = self.publishers[topic] if publisher is None else publisher
        return self.call("orb_queue_publish", number, data, len(data))

    def publish_all(self, messages):
        """Queue one message of each topic."""
        for topic, message in messages.items():
            assert self.publish(topic, message) == 0

    def step(self, time_us):
        """Run the modules."""
        return self.call("step_uorb", ctypes.c_uint64(time_us))

    def read(self, topic):
        """Return the latest message of a read topic, or None."""
        message = np.zeros((), message_dtype(topic))
        pointer = message.ctypes.data_as(ctypes.c_void_p)
        code = self.call("orb_copy", self.subscribers[topic], pointer, message.itemsize)
        assert code in (0, -1), code
        return message if code == 0 else None

    def report(self):
        """Return the violations that the double has found."""
        return report(self.library)

    def close(self):
        """Destroy the handle."""
        self.library.px4_lockstep_destroy(self.handle)


def yaw_of(q):
    """Return the heading of an attitude."""
    w, x, y, z = q
    return np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def messages(
    time_us,
    pos_ned=(0.0, 0.0, 0.0),
    vel_ned=(0.0, 0.0, 0.0),
    q_bn=(1.0, 0.0, 0.0, 0.0),
    omega_body=(0.0, 0.0, 0.0),
    *,
    armed=False,
    nav_state=MANUAL,
    landed=True,
    voltage_v=12.3,
    remaining=0.95,
    home_count=1,
):
    """Return the messages that a correct host publishes in a tick, by topic."""
    made = {topic: np.zeros((), message_dtype(topic)) for topic in INJECTED}
    for topic in made:
        made[topic]["timestamp"] = max(time_us, 1)
        if "timestamp_sample" in made[topic].dtype.names:
            made[topic]["timestamp_sample"] = max(time_us, 1)
    auto = nav_state != MANUAL
    _write(made["battery_status"], voltage_v=voltage_v, remaining=remaining, connected=True, scale=1.0, cell_count=3)
    _write(made["vehicle_attitude"], q=q_bn)
    position = made["vehicle_local_position"]
    _write(position, x=pos_ned[0], y=pos_ned[1], z=pos_ned[2], vx=vel_ned[0], vy=vel_ned[1], vz=vel_ned[2])
    _write(position, z_deriv=vel_ned[2], heading=yaw_of(q_bn), unaided_heading=yaw_of(q_bn))
    _write(position, ref_lat=HOME_LAT, ref_lon=HOME_LON, ref_alt=HOME_ALT, ref_timestamp=1)
    for name in ("xy_valid", "z_valid", "v_xy_valid", "v_z_valid", "xy_global", "z_global", "heading_good_for_control"):
        position[name] = True
    for name in ("vxy_max", "vz_max", "hagl_min", "hagl_max_z", "hagl_max_xy"):
        position[name] = np.nan
    lat, lon = MapProjection(HOME_LAT, HOME_LON).to_global(pos_ned[0], pos_ned[1])
    alt = HOME_ALT - pos_ned[2]
    _write(made["vehicle_global_position"], lat=lat, lon=lon, alt=alt, alt_ellipsoid=alt)
    _write(made["vehicle_global_position"], lat_lon_valid=True, alt_valid=True)
    _write(made["vehicle_angular_velocity"], xyz=omega_body)
    _write(made["vehicle_land_detected"], landed=landed, maybe_landed=landed, ground_contact=landed, at_rest=landed)
    _write(made["vehicle_status"], arming_state=2 if armed else 1, nav_state=nav_state, vehicle_type=1)
    mode = made["vehicle_control_mode"]
    for name in ("position", "velocity", "altitude", "climb_rate", "attitude", "rates", "allocation"):
        mode[f"flag_control_{name}_enabled"] = True
    _write(mode, flag_armed=armed, flag_control_auto_enabled=auto, flag_control_manual_enabled=not auto)
    _write(mode, flag_multicopter_position_control_enabled=auto)
    _write(made["actuator_armed"], armed=armed, prearmed=armed, ready_to_arm=True)
    _write(made["home_position"], lat=HOME_LAT, lon=HOME_LON, alt=HOME_ALT, update_count=home_count)
    _write(made["home_position"], valid_alt=True, valid_hpos=True, valid_lpos=True)
    _write(made["geofence_status"], status=1)
    return made


def _write(message, **values):
    for name, value in values.items():
        message[name] = value


class HostAutopilot:
    """The double as the autopilot of a `Simulation`: starts the mission as PX4 expects, and disarms at its end."""

    def __init__(self, host):
        self.host = host
        self.nav_state = MANUAL
        self.manual_until_us = None
        self.is_asked_again = False
        self.has_flown = False
        self.is_done = False
        self.results = []

    def step(self, time_us, inputs, outputs):
        """Publish, step, read."""
        bus = inputs.bus
        scenario, estimate, battery = bus.scenario, bus.estimate, bus.battery[0]
        armed = bool(scenario.arm) and not self.is_done
        self._choose_mode(time_us, scenario, armed)
        landed = bool(scenario.landed)
        made = messages(
            time_us,
            estimate.pos_ned,
            estimate.vel_ned,
            estimate.q_bn,
            estimate.omega_body,
            armed=armed,
            nav_state=self.nav_state,
            landed=landed,
            voltage_v=battery.voltage_v,
            remaining=battery.remaining,
        )
        self.host.publish_all(made)
        code = self.host.step(time_us)
        assert code == 0, (time_us, code)
        self.has_flown = self.has_flown or (armed and not landed)
        result = self.host.read("mission_result")
        if result is not None:
            seen = (bool(result["valid"]), bool(result["finished"]), int(result["seq_current"]))
            if not self.results or self.results[-1][1:] != seen:
                self.results.append((time_us, *seen))
            if result["valid"] and not self.is_asked_again and self.manual_until_us is None:
                self.manual_until_us = time_us + 4_000 + NAVIGATOR_PERIOD_US
            if result["finished"] and self.has_flown and landed:
                self.is_done = True
        if landed and self.has_flown and self.nav_state == RETURN:
            self.is_done = True
        motors = self.host.read("actuator_motors")
        control = np.zeros(12) if motors is None or not armed else motors["control"].astype(float)
        outputs.motors[:] = np.nan_to_num(control, nan=0.0)[: len(outputs.motors)]

    def _choose_mode(self, time_us, scenario, armed):
        if not armed:
            self.nav_state = MANUAL
        elif scenario.return_home:
            self.nav_state = RETURN
        elif scenario.mission:
            if self.manual_until_us is not None and time_us >= self.manual_until_us:
                self.is_asked_again = True
            is_waiting = self.manual_until_us is not None and not self.is_asked_again
            self.nav_state = MANUAL if is_waiting else MISSION


def ready(path, mission, aircraft=None, *, disturbed=False, scenario=TAKE_OFF, end_s=72, params=()):
    """Return a flight of a mission with a double, ready to run, and its autopilot."""
    aircraft = aircraft or iris()
    host = Host(path)
    host.set_params([*geometry(aircraft), *params])
    assert host.call("load_mission_qgc_wpl", str(mission).encode()) == 0
    autopilot = HostAutopilot(host)
    more = {"wind": Wind("ou"), "estimator": Estimator("noisy_delayed")} if disturbed else {}
    return flight(None, aircraft=aircraft, scenario=scenario, end_s=end_s, autopilot=autopilot, **more), autopilot


def fly_in_two_processes(path, mission, fork_us):
    """Fly up to a time, fork, continue in both; print the digest and the number of violations of each."""
    sim, autopilot = ready(path, mission)
    sim.run(until_us=fork_us)
    child = os.fork()
    sim.run()
    line = f"{'child' if child == 0 else 'parent'} {sim.digest()} {autopilot.is_done} {violations(path)}\n"
    os.write(1, line.encode())  # in one piece: parent and child share the pipe
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


if __name__ == "__main__":
    fly_in_two_processes(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
