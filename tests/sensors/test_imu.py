"""Gyroscope and accelerometer: values by hand, averages over a step, and errors against their parameters."""

import numpy as np
import pytest
from sensor_suites import (
    GRAVITY_M_S2,
    IDEAL,
    NOISY,
    PERIOD_US,
    at_rest,
    replace,
    sense,
    sensed,
    state,
    suite_of,
    yawed,
)

from px4lockstep.errors import InputError
from px4lockstep.math.philox import normal3, stream_key
from px4lockstep.math.quaternion import exponential, from_euler, rotate
from px4lockstep.sensors import Accelerometer, Gyro, Imu, Vibration

DT_S = PERIOD_US / 1e6
# Differences of values around 10 over 4 ms.
ROUNDING = 1e-11


def ideal(**options):
    """Return sensors without errors, with options of the IMU."""
    return suite_of(replace(IDEAL, imu=replace(IDEAL.imu, **options)))


def test_at_rest_it_measures_gravity():
    """The specific force is minus gravity, in body axes."""
    assert sensed(suite_of(), at_rest(3)).accel_m_s2.tolist() == [0.0, 0.0, -GRAVITY_M_S2]
    rolled = tuple(from_euler(np.radians(90.0), 0.0, 0.0))
    out = sensed(suite_of(), at_rest(3, q_bn=rolled))
    np.testing.assert_allclose(out.accel_m_s2, [0.0, -GRAVITY_M_S2, 0.0], atol=1e-14)
    nose_up = tuple(from_euler(0.0, np.radians(30.0), 0.0))
    out = sensed(suite_of(), at_rest(3, q_bn=nose_up))
    np.testing.assert_allclose(out.accel_m_s2, np.array([0.5, 0.0, -np.sqrt(0.75)]) * GRAVITY_M_S2, atol=1e-14)
    assert out.gyro_rad_s.tolist() == [0.0, 0.0, 0.0]


def test_in_free_fall_it_measures_zero():
    """With any rotation and any gravity."""
    q_bn = tuple(from_euler(0.3, -0.4, 2.0))
    falling = [state(vel_ned=(4.0, -3.0, 9.7 * DT_S * k), q_bn=q_bn) for k in range(5)]
    got = sense(suite_of(), falling, gravity_m_s2=9.7)
    np.testing.assert_allclose(got["accel_m_s2"][1:], 0.0, atol=ROUNDING)


def test_in_a_flat_turn_it_measures_the_centripetal_force():
    """10 m/s at 0.5 rad/s to the right: exactly 5 m/s² to the right, although the body turns within each step."""
    speed, rate = 10.0, 0.5
    circle = [
        state(
            vel_ned=(speed * np.cos(rate * t), speed * np.sin(rate * t), 0.0),
            q_bn=yawed(rate * t),
            omega_body=(0.0, 0.0, rate),
        )
        for t in DT_S * np.arange(500)
    ]
    got = sense(suite_of(), circle)
    np.testing.assert_allclose(got["accel_m_s2"][1:] - [0.0, 5.0, -GRAVITY_M_S2], 0.0, atol=ROUNDING)
    np.testing.assert_allclose(got["gyro_rad_s"] - [0.0, 0.0, rate], 0.0, atol=ROUNDING)


def test_in_a_banked_turn_the_force_is_along_z():
    """Coordinated: the specific force is along -z, g / cos(bank); rates are those of the turn in body axes."""
    speed, rate = 15.0, 0.8
    bank = np.arctan(speed * rate / GRAVITY_M_S2)
    circle = [
        state(
            vel_ned=(speed * np.cos(rate * t), speed * np.sin(rate * t), 0.0),
            q_bn=tuple(from_euler(bank, 0.0, rate * t)),
            omega_body=(0.0, rate * np.sin(bank), rate * np.cos(bank)),
        )
        for t in DT_S * np.arange(300)
    ]
    got = sense(suite_of(), circle)
    np.testing.assert_allclose(got["accel_m_s2"][1:] - [0.0, 0.0, -GRAVITY_M_S2 / np.cos(bank)], 0.0, atol=ROUNDING)
    np.testing.assert_allclose(got["gyro_rad_s"] - circle[0][10:13], 0.0, atol=ROUNDING)


@pytest.mark.parametrize("angle_rad", [1e-9, 1e-3, 0.12, 0.13, 0.7, 3.0])
def test_a_constant_force_in_a_spinning_body_is_recovered(angle_rad):
    """Constant force and rate in body axes for one step, integrated in 20,000 substeps (error at most 1e-9)."""
    axis = np.array([0.48, -0.6, 0.64])
    force, phi = np.array([3.0, -5.0, -12.0]), angle_rad * axis
    q_start = tuple(from_euler(0.2, -0.7, 1.1))
    vel = np.zeros(3)
    for middle in (np.arange(20_000) + 0.5) / 20_000:
        vel += np.array(rotate(tuple(exponential(tuple(middle * phi))), tuple(force))) * DT_S / 20_000
    vel = np.array(rotate(q_start, tuple(vel)))
    vel[2] += GRAVITY_M_S2 * DT_S
    q_end = np.array(exponential(tuple(phi)))
    w, xyz = q_start[0], np.array(q_start[1:])
    product = (w * q_end[0] - xyz @ q_end[1:], *(w * q_end[1:] + q_end[0] * xyz + np.cross(xyz, q_end[1:])))
    omega = tuple(phi / DT_S)
    wide = suite_of(replace(IDEAL, imu=replace(IDEAL.imu, gyro=replace(IDEAL.imu.gyro, limit=1e4))))
    out = sensed(wide, [state(q_bn=q_start, omega_body=omega), state(vel_ned=vel, q_bn=product, omega_body=omega)])
    np.testing.assert_allclose(out.accel_m_s2, force, atol=1e-8)
    np.testing.assert_allclose(out.gyro_rad_s, omega, rtol=1e-9, atol=1e-13)


def test_an_impact_between_two_ticks_is_fully_included():
    """The average over the step contains the whole change of velocity, as with an integrating IMU."""
    out = sensed(suite_of(), [*at_rest(2, vel_ned=(0.0, 0.0, 0.5)), state(vel_ned=(0.01, 0.0, -0.05))])
    np.testing.assert_allclose(out.accel_m_s2, [0.01 / DT_S, 0.0, -0.55 / DT_S - GRAVITY_M_S2], rtol=1e-12)


def test_off_the_centre_it_measures_the_rotation():
    """At 0.1 m forward: -ω² r towards the axis, and r α sideways as the rotation grows; also at the first tick."""
    arm, rate, growth = 0.1, 3.0, 2.0
    spinning = [state(q_bn=yawed(rate * t), omega_body=(0.0, 0.0, rate)) for t in DT_S * np.arange(5)]
    got = sense(ideal(pos_body_m=(arm, 0.0, 0.0)), spinning)["accel_m_s2"]
    np.testing.assert_allclose(got - [-rate * rate * arm, 0.0, -GRAVITY_M_S2], 0.0, atol=ROUNDING)
    speeding = [state(q_bn=yawed(0.5 * growth * t * t), omega_body=(0.0, 0.0, growth * t)) for t in DT_S * np.arange(3)]
    got = sense(ideal(pos_body_m=(arm, 0.0, 0.0)), speeding)["accel_m_s2"][-1]
    # The mean rate is that after 1.5 steps; its square varies by 4 % within the step.
    np.testing.assert_allclose(got[:2], [-((1.5 * growth * DT_S) ** 2) * arm, growth * arm], rtol=0.04)


def test_the_first_tick_has_no_step():
    """Rates are those of the state, the force is that at rest."""
    out = sensed(suite_of(), [state(vel_ned=(9.0, 9.0, 9.0), omega_body=(0.1, -0.2, 0.3))])
    assert out.gyro_rad_s.tolist() == [0.1, -0.2, 0.3]
    assert out.accel_m_s2.tolist() == [0.0, 0.0, -GRAVITY_M_S2]


def test_the_range_ends_one_step_below_its_limit():
    """As in two's complement, so that it fits PX4's int16."""
    config = replace(
        NOISY, imu=Imu(gyro=Gyro(noise_density=0.0, bias_sigma=0.0), accel=Accelerometer(noise_density=0.0))
    )
    hit = [
        state(),
        state(vel_ned=(10.0, -10.0, 0.0), omega_body=(99.0, -99.0, 0.0), q_bn=tuple(exponential((0.2, 0, 0)))),
    ]
    out = sensed(suite_of(config), hit)
    accel, gyro = config.imu.accel, config.imu.gyro
    assert out.accel_m_s2[0] == pytest.approx(accel.limit - accel.resolution, rel=1e-12)
    assert out.accel_m_s2[1] == -accel.limit
    assert out.gyro_rad_s[0] == pytest.approx(gyro.limit - gyro.resolution, rel=1e-12)


def test_values_are_whole_steps_of_the_register():
    """A tenth of a step above a half rounds up, below it down."""
    step = 0.01
    config = replace(IDEAL, imu=replace(IDEAL.imu, gyro=replace(IDEAL.imu.gyro, resolution=step)))
    for value, rounded in ((0.256, 0.26), (0.254, 0.25), (-0.256, -0.26), (0.0, 0.0)):
        out = sensed(suite_of(config), [state(omega_body=(value, 0.0, 0.0))])
        assert out.gyro_rad_s[0] == pytest.approx(rounded, abs=1e-15)


def allan_deviation(samples, m):
    """Return the Allan deviation of clusters of m samples, for all axes together."""
    clusters = samples[: len(samples) // m * m].reshape(-1, m, samples.shape[1]).mean(axis=1)
    return np.sqrt(0.5 * np.mean(np.diff(clusters, axis=0) ** 2))


def only(**errors):
    """Return sensors whose IMU has only these errors."""
    gyro, accel = replace(IDEAL.imu.gyro, **errors), replace(IDEAL.imu.accel, **errors)
    return suite_of(replace(IDEAL, imu=Imu(gyro=gyro, accel=accel)))


def test_the_allan_deviation_of_noise_is_its_density():
    """D / sqrt(2 τ) from 4 ms to 4 s, within five standard deviations (1.25 / sqrt(2 · clusters))."""
    count, density = 1 << 17, 0.003
    got = sense(only(noise_density=density), at_rest(count))
    samples = np.hstack([got["accel_m_s2"] + [0.0, 0.0, GRAVITY_M_S2], got["gyro_rad_s"]])
    for m in (1, 10, 100, 1_000):
        expected = density / np.sqrt(2.0 * m * DT_S)
        tolerance = 5.0 * 1.25 / np.sqrt(2.0 * 6 * count / m)
        assert allan_deviation(samples, m) == pytest.approx(expected, rel=tolerance), m


def test_the_allan_deviation_of_the_bias_is_its_random_walk():
    """K sqrt(τ / 3), within five standard deviations; clusters of at least ten, where single steps do not show."""
    count, walk = 1 << 17, 0.002
    got = sense(only(bias_walk=walk), at_rest(count))
    samples = np.hstack([got["accel_m_s2"] + [0.0, 0.0, GRAVITY_M_S2], got["gyro_rad_s"]])
    for m in (10, 100, 1_000):
        expected = walk * np.sqrt(m * DT_S / 3.0)
        tolerance = 5.0 * 1.25 / np.sqrt(2.0 * 6 * count / m) + 0.5 / m**2
        assert allan_deviation(samples, m) == pytest.approx(expected, rel=tolerance), m


def test_the_random_walk_starts_at_zero():
    """The first sample has only the turn-on bias."""
    got = sense(only(bias_walk=0.002), at_rest(2))["gyro_rad_s"]
    assert got[0].tolist() == [0.0, 0.0, 0.0]
    assert np.all(got[1] != 0.0)


def test_errors_of_a_run_are_drawn_once_from_its_seed():
    """z = (1 + scale + misalignment) x + bias, with the numbers of their lanes."""
    errors = {"bias_sigma": 0.01, "scale_sigma": 0.02, "misalignment_sigma_rad": 0.03}
    config = replace(IDEAL, imu=replace(IDEAL.imu, gyro=replace(IDEAL.imu.gyro, **errors)))
    omega = np.array([0.5, -1.0, 2.0])
    readings = []
    for seed in (5, 6):
        key = stream_key(seed, "sensors.gyro")
        bias, scale, first, second = (
            np.array(normal3(key, np.int64(0), np.int64(lane), np.int64(0))) for lane in (3, 4, 5, 6)
        )
        expected = (1.0 + 0.02 * scale) * omega + 0.01 * bias
        expected[0] += 0.03 * (first[0] * omega[1] + second[0] * omega[2])
        expected[1] += 0.03 * (first[1] * omega[0] + second[1] * omega[2])
        expected[2] += 0.03 * (first[2] * omega[0] + second[2] * omega[1])
        out = sensed(suite_of(config, seed=seed), [state(omega_body=omega)])
        np.testing.assert_allclose(out.gyro_rad_s, expected, rtol=1e-14)
        readings.append(out.gyro_rad_s.copy())
    assert np.abs(readings[0] - readings[1]).min() > 1e-3


def vibrating(rotor_speeds, ticks, **options):
    """Return the samples of an IMU at rest with unbalanced rotors, and its period."""
    config = replace(IDEAL, imu=replace(IDEAL.imu, vibration=Vibration(imbalance_m=1e-5, gyration_m=0.2)))
    got = sense(suite_of(config, **options), at_rest(ticks), rotor_speeds=rotor_speeds)
    return got["accel_m_s2"] + [0.0, 0.0, GRAVITY_M_S2], got["gyro_rad_s"]


def test_an_unbalanced_rotor_shakes_at_its_frequency():
    """Amplitude ε Ω² in the plane of the rotor; at 200 rad/s and 8 kHz averaging attenuates it by 0.003 %."""
    accel, gyro = vibrating((200.0,), 2_000, period_us=125, rotor_pos_body_m=((0.16, 0.0, 0.0),))
    assert accel[1:, :2].max(axis=0) == pytest.approx(0.4, rel=1e-3)
    spectrum = np.abs(np.fft.rfft(accel[1:, 0] * np.hanning(1_999)))
    peak_rad_s = 2.0 * np.pi * np.fft.rfftfreq(1_999, 125e-6)[spectrum.argmax()]
    assert peak_rad_s == pytest.approx(200.0, abs=2.0 * np.pi / 0.25)
    assert np.all(accel[1:, 2] == 0.0)
    # r × a / k², integrated: a rotor in front yaws the vehicle with ε Ω r / k².
    assert gyro[1:, 2].max() == pytest.approx(1e-5 * 200.0 * 0.16 / 0.04, rel=1e-2)
    assert np.all(gyro[1:, :2] == 0.0)


def test_vibration_turns_the_vehicle():
    """ω̇ = r × a / k² for rotors beside, ahead and above; a is the mean of two steps, exact to (Ω dt)² / 12 = 5e-5."""
    arm = (0.16, -0.22, -0.05)
    accel, gyro = vibrating((200.0,), 400, period_us=125, rotor_pos_body_m=(arm,))
    turning = np.diff(gyro[1:], axis=0) / 125e-6
    pushed = np.cross(arm, 0.5 * (accel[1:-1] + accel[2:])) / 0.04
    np.testing.assert_allclose(turning, pushed, atol=1e-3 * np.abs(pushed).max())


def test_rotors_at_rest_do_not_vibrate():
    """Nor do balanced rotors."""
    accel, gyro = vibrating((0.0,) * 4, 10, rotor_pos_body_m=((0.2, 0.2, 0.0),) * 4)
    assert not accel.any()
    assert not gyro.any()
    out = sensed(suite_of(), at_rest(10), rotor_speeds=(800.0,) * 4)
    assert out.accel_m_s2.tolist() == [0.0, 0.0, -GRAVITY_M_S2]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gyro(noise_density=-1.0), r"sensors\.imu\.gyro\.noise_density = -1\.0 is out of range"),
        (lambda: Accelerometer(limit=0.0), r"sensors\.imu\.accel\.limit = 0\.0 is out of range"),
        (lambda: Gyro(on_fault="smoke"), r"sensors\.imu\.gyro\.on_fault = 'smoke' is unknown; allowed: 'dropout'"),
        (
            lambda: Gyro(on_fault="bias", fault_size=(0.0, 0.0, 0.0)),
            r"has no effect with on_fault = 'bias'; set",
        ),
        (lambda: Imu(pos_body_m=(1.0,)), r"sensors\.imu\.pos_body_m = \[1\.0\] is not a vector"),
        (
            lambda: Vibration(imbalance_m=float("nan")),
            r"imbalance_m = nan is not allowed; it must be a finite number, at least 0",
        ),
    ],
)
def test_invalid_values_are_rejected(make, message):
    with pytest.raises(InputError, match=message):
        make()
