"""The battery status that the autopilot receives: lag, noise, delay and sampling time."""

import numpy as np
import pytest
from fleet import iris

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import InputError
from px4lockstep.integrators.solver import Integrator
from px4lockstep.vehicle.battery import Battery
from px4lockstep.vehicle.contact import Contact

TICK_US = 4_000


class Step:
    """Motors off, then on from a given tick; stores its inputs."""

    def __init__(self, from_us=40_000):
        self.from_us = from_us
        self.told = []
        self.true = []

    def step(self, time_us, inputs, outputs):
        told, true = inputs.bus.battery[0], inputs.bus.outputs.battery[0]
        self.told.append((told.voltage_v, told.current_a, told.remaining, told.warning))
        self.true.append((true.voltage_v, true.current_a, true.remaining, true.warning))
        outputs.motors[:4] = 0.5 if time_us >= self.from_us else 0.0


def fly(end_us=200_000, seed=1, **battery):
    aircraft = iris(batteries=(Battery(**battery),), contact=Contact("no_contact"))
    autopilot = Step()
    timeline = Timeline(end_us, autopilot=Periodic(TICK_US), log=Periodic(TICK_US), physics=Periodic(1_000))
    Simulation(aircraft, timeline, integrator=Integrator("RK4"), autopilot=autopilot, seed=seed).run()
    return np.array(autopilot.told), np.array(autopilot.true)


def test_without_errors_the_sensor_reports_the_truth():
    """Of the same boundary, with the command held until then: the sag of a command shows one tick later."""
    told, true = fly()
    assert told.tolist() == true.tolist()
    assert (true[:11, 1] == 0.0).all()  # the command of tick 10 is given after its sample
    assert true[11, 1] > 1.0
    assert true[11, 0] < true[10, 0]


def test_the_lag_is_first_order_and_exact():
    """y += (1 − exp(−dt/τ)) (truth − y), against the recurrence in NumPy, to 1e-13 V."""
    told, true = fly(sense_tau_s=0.05)
    expected = true[0, :2].copy()
    gain = 1.0 - np.exp(-0.004 / 0.05)
    for k in range(1, len(true)):
        expected += gain * (true[k, :2] - expected)
        assert told[k, :2] == pytest.approx(expected, abs=1e-13)
    assert abs(told[12, 1] - true[12, 1]) > 0.5


@pytest.mark.parametrize("ticks", [1, 3, 64])
def test_the_delay_is_a_whole_number_of_ticks(ticks):
    """Bit-identical to the sample of that many ticks before; at first the current sample."""
    told, true = fly(end_us=TICK_US * 100, sense_delay_s=ticks * TICK_US / 1e6)
    assert told[ticks:].tolist() == true[:-ticks].tolist()
    assert told[:ticks].tolist() == true[:ticks].tolist()


def test_the_noise_has_its_sigma_and_its_seed():
    """Standard deviations within 5 % over 2,500 ticks (1.4 % expected), zero mean, other values for another seed."""
    settings = {"sense_voltage_sigma_v": 0.1, "sense_current_sigma_a": 0.3}
    told, true = fly(end_us=10_000_000, **settings)
    noise = (told - true)[:, :2]
    assert noise.std(axis=0) == pytest.approx([0.1, 0.3], rel=0.05)
    assert np.abs(noise.mean(axis=0)).max() < 4 * 0.3 / 50
    assert abs(np.corrcoef(noise.T)[0, 1]) < 0.08
    again, _ = fly(end_us=10_000_000, **settings)
    other, _ = fly(end_us=10_000_000, seed=2, **settings)
    assert again.tolist() == told.tolist()
    assert other[5, 0] != told[5, 0]


def test_charge_and_warning_are_reported():
    """An almost empty battery: the warning rises from low to emergency at the thresholds of the file."""
    told, _true = fly(end_us=4_000_000, soc0=0.151, capacity_ah=0.05, low_thr=0.15, crit_thr=0.1, emerg_thr=0.05)
    for remaining, warning in told[:, 2:]:
        assert warning == sum(remaining < threshold for threshold in (0.15, 0.1, 0.05))
    assert sorted(set(told[:, 3].tolist())) == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("delay_s", "message"),
    [
        (0.005, r"sense_delay_s = 0\.005 is not a whole number of ticks of 0\.004 s; use 0\.004 or"),
        (0.0000015, "whole number of microseconds"),
        (0.4, "is too long; at most 64 ticks"),
    ],
)
def test_a_delay_that_is_not_whole_ticks_is_an_error(delay_s, message):
    """The message suggests valid delays."""
    with pytest.raises(InputError, match=message):
        fly(sense_delay_s=delay_s)


class Keep:
    """Estimator that stores the battery status it sees."""

    def __init__(self):
        self.seen = []

    def step(self, time_us, inputs, outputs):
        self.seen.append((inputs.bus.battery[0].voltage_v, inputs.bus.outputs.bus_voltage_v[0]))


def test_in_a_replay_the_sensor_runs_only_if_it_is_used():
    """With an estimator, the values are those of the live run; without one NaN, not a zero that looks like data."""
    aircraft = iris(batteries=(Battery(sense_tau_s=0.05, sense_voltage_sigma_v=0.1),), contact=Contact("no_contact"))
    timeline = Timeline(200_000, autopilot=Periodic(TICK_US), log=Periodic(50_000))
    live, again = Keep(), Keep()
    flown = Simulation(aircraft, timeline, autopilot=Step(), estimator=live, record=True).run()
    replayed = Simulation(aircraft, timeline, replay=flown.streams, estimator=again).run()
    assert again.seen == live.seen
    assert replayed.log["bus"]["battery"].tobytes() == flown.log["bus"]["battery"].tobytes()
    unwatched = Simulation(aircraft, timeline, replay=flown.streams).run()
    assert np.isnan(unwatched.log["bus"]["battery"]["voltage_v"][:, 0]).all()
    assert unwatched.digest() == replayed.digest() == flown.digest()
    assert unwatched.log["bus"]["outputs"].tobytes() == flown.log["bus"]["outputs"].tobytes()


def test_each_battery_has_independent_noise():
    """Three equal batteries with equal true values: the measurements differ by independent noise."""
    told = []

    class Watch:
        def step(self, time_us, inputs, outputs):
            told.append([inputs.bus.battery[j].voltage_v for j in range(3)])

    battery = Battery(sense_voltage_sigma_v=0.1)
    timeline = Timeline(40 * TICK_US, autopilot=Periodic(TICK_US), log=Periodic(TICK_US), physics=Periodic(TICK_US))
    aircraft = iris(batteries=(battery,) * 3, contact=Contact("no_contact"))
    Simulation(aircraft, timeline, integrator=Integrator("RK4"), autopilot=Watch()).run()
    noise = np.array(told) - np.mean(told)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert abs(np.corrcoef(noise[:, i], noise[:, j])[0, 1]) < 0.5  # 41 samples: three standard deviations
