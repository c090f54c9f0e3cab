"""Sensors on known motions."""

import hashlib
from types import SimpleNamespace

import numpy as np

from px4lockstep.environment.gravity import Gravity
from px4lockstep.jit import caller, view, zeros
from px4lockstep.plant.inputs import INPUT
from px4lockstep.plant.layout import STATE
from px4lockstep.sensors import (
    Airspeed,
    Barometer,
    Gps,
    Imu,
    Magnetometer,
    SensorConfig,
    SensorSuite,
    Vibration,
)

PERIOD_US = 4_000
GRAVITY_M_S2 = 9.80665
HOME = {"home_lat_deg": 47.397742, "home_lon_deg": 8.545594, "home_alt_msl_m": 488.0}
FIELD_NED_GAUSS = (0.2152, 0.0133, 0.4329)

IDEAL = SensorConfig(mag=Magnetometer(field_ned_gauss=FIELD_NED_GAUSS)).without_errors()
NOISY = SensorConfig(mag=Magnetometer(field_ned_gauss=FIELD_NED_GAUSS))


def replace(part, **values):
    """Return a part with other values, validated."""
    return type(part)(**{**dict(part), **values})


class Bench:
    """Sensors on a bench, stepped by hand along known states."""

    def __init__(self, config, seed, period_us, home_alt_msl_m, rotor_pos_body_m, **home):
        rotors = [SimpleNamespace(pos_body_m=pos) for pos in rotor_pos_body_m]
        plant = SimpleNamespace(home_alt_msl_m=home_alt_msl_m, rotors=rotors, gravity=Gravity())
        self.period_us = period_us
        self.record = SensorSuite(config, **home).record(plant, slice(13, 25), seed, period_us)
        self._state, self._held = zeros(STATE), zeros(INPUT)
        self.out = view(self.record["out"], writable=False)
        self._step = caller(int(self.record["address"][0]), self._state, self._held, self.record)

    def step(self, x, rotor_speeds, wind_ned, faults_mask, gravity_m_s2=GRAVITY_M_S2):
        """Run one tick."""
        state = self._state["x"][0]
        state[:13], state[13 : 13 + len(rotor_speeds)] = x[:13], rotor_speeds
        self._held["wind_ned"][0] = wind_ned
        self._held["faults"]["sensor_fault_mask"] = faults_mask
        self.record["config"]["gravity"]["gravity_m_s2"] = gravity_m_s2
        self._step()


def suite_of(config=IDEAL, *, seed=1, period_us=PERIOD_US, **options):
    """Return sensors at the Iris's home."""
    return Bench(config, seed, period_us, **{**HOME, "rotor_pos_body_m": (), **options})


def state(pos_ned=(0.0, 0.0, 0.0), vel_ned=(0.0, 0.0, 0.0), q_bn=(1.0, 0.0, 0.0, 0.0), omega_body=(0.0, 0.0, 0.0)):
    """Return a rigid body's state."""
    return np.array([*pos_ned, *vel_ned, *q_bn, *omega_body])


def yawed(angle_rad):
    """Return a level attitude."""
    return np.cos(0.5 * angle_rad), 0.0, 0.0, np.sin(0.5 * angle_rad)


def sense(
    suite,
    states,
    *,
    fields=("accel_m_s2", "gyro_rad_s"),
    rotor_speeds=(0.0,) * 4,
    wind_ned=(0.0, 0.0, 0.0),
    masks=None,
    gravity_m_s2=GRAVITY_M_S2,
):
    """Step sensors along states, one per tick; return arrays of fields, one row per tick."""
    out = {name: [] for name in fields}
    rotors, wind = np.array(rotor_speeds), np.array(wind_ned)
    for k, x in enumerate(states):
        suite.step(x, rotors, wind, 0 if masks is None else int(masks[k]), gravity_m_s2)
        for name in fields:
            value = getattr(suite.out, name)
            out[name].append(value.copy() if isinstance(value, np.ndarray) else value)
    return {name: np.array(values) for name, values in out.items()}


def sensed(suite, states, **options):
    """Return the sensor readings after the last of some states."""
    sense(suite, states, fields=(), **options)
    return suite.out


def at_rest(count, **parts):
    """Return a vehicle at rest, for some ticks."""
    return [state(**parts)] * count


def tumbling(count):
    """Return states of every sign and attitude."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(count, 13)) * np.repeat([50.0, 10.0, 1.0, 5.0], [3, 3, 4, 3])
    x[:, 6:10] /= np.linalg.norm(x[:, 6:10], axis=1)[:, None]
    x[count // 3 : count // 2] = x[count // 3]
    return x


def every_error():
    """Return sensors with every error enabled."""
    return replace(
        NOISY,
        imu=Imu(pos_body_m=(0.1, -0.05, 0.02), vibration=Vibration(imbalance_m=1e-6)),
        mag=replace(NOISY.mag, hard_iron_gauss=(0.1, -0.2, 0.05), on_fault="drift"),
        baro=Barometer(static_error=-0.1, on_fault="noise"),
        gps=Gps(period_us=20_000, latency_us=50_000, correlation_tau_s=1.0, on_fault="bias"),
        airspeed=Airspeed(),
    )


def hash_results():
    """Return the hash of the readings and states of several sensors after many ticks, with faults on the way."""
    reported, kept = hashlib.sha256(), hashlib.sha256()
    rotors = ((0.16, 0.22, -0.01), (-0.16, -0.2, 0.0), (0.16, -0.22, 0.02), (-0.16, 0.2, 0.0))
    states, wind = tumbling(150), np.array([3.0, -2.0, 0.5])
    for config in (IDEAL, NOISY, every_error()):
        suite = suite_of(config, seed=7, rotor_pos_body_m=rotors)
        for k, x in enumerate(states):
            mask = 31 if 60 <= k < 100 else 0
            suite.step(x, np.array([700.0, 650.0, 0.0, 812.5]), wind, mask)
            reported.update(suite.record["out"].tobytes())
            kept.update(suite.record["state"].tobytes())
    return reported.hexdigest(), kept.hexdigest()


def digest_lines():
    """Yield the hashes, a line each."""
    yield from hash_results()
