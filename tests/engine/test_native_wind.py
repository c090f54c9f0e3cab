"""Wind and gusts inside the loop."""

import numpy as np
import pytest

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.environment.gust import Gust
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError
from px4lockstep.math.philox import normal4, stream_key
from px4lockstep.plant.models import Oscillator

GUST = Gust(start_s=0.123456, end_s=0.200001, vel_ned=(1.0, -2.0, 0.5))
TIMELINE = Timeline(400_000, wind=Periodic(1_000), log=Periodic(500), scenario=Explicit((GUST.start_us, GUST.end_us)))
OU = Wind("ou", wind_mean_ned=(3.0, 0.0, 0.0), wind_sigma_ned=(1.5, 1.5, 0.5), wind_tau_s=3.0)


def held(**options):
    sim = Simulation(Oscillator(), TIMELINE, seed=5, **options).run()
    return sim, sim.log["time_us"].astype(int), sim.log["inputs"]["wind_ned"]


def test_the_wind_steps_on_its_axis_and_is_held_between():
    """The first sample is one step of the recurrence from rest, with counter-based noise."""
    _sim, _time_us, wind = held(wind=OU)
    assert (wind[0::2][:-1] == wind[1::2]).all()
    assert len(np.unique(wind[:, 0])) == 401
    decay = np.exp(-0.001 / 3.0)
    noise = normal4(stream_key(5, "wind"), np.int64(0), np.int64(0), np.int64(0))
    assert wind[0] == pytest.approx(
        np.array([3.0, 0.0, 0.0]) + np.sqrt(1 - decay**2) * np.array([1.5, 1.5, 0.5]) * noise[:3], rel=1e-12
    )


@pytest.mark.parametrize("wind", [None, OU, Wind("constant", wind_mean_ned=(2.0, 0.0, 0.0)), Wind("dryden")])
def test_a_gust_is_added_to_any_wind_on_a_half_open_interval(wind):
    """It is exact to the microsecond and does not change the wind that it is added to."""
    _, time_us, without = held(wind=wind)
    _, _, with_gust = held(wind=wind, gusts=[GUST])
    is_on = (time_us >= GUST.start_us) & (time_us < GUST.end_us)
    assert is_on.any()
    assert not is_on.all()
    assert (with_gust[~is_on] == without[~is_on]).all()
    assert (with_gust[is_on] == without[is_on] + np.array(GUST.vel_ned)).all()


def test_a_gust_takes_effect_at_its_edges_not_at_the_next_wind_tick():
    """Both edges are between ticks; a hook on the scenario axis observes the change there."""
    seen = []

    class Look:
        def step(self, time_us, inputs):
            seen.append((time_us, inputs.held.wind_ned[1]))

    held(wind=None, gusts=[GUST], hooks=[Look()], hook_axes=("scenario",))
    assert seen == [(123_456, -2.0), (200_001, 0.0)]


def test_replay_of_wind_and_gusts_is_bit_identical():
    """Wind and gusts are part of the streams; giving gusts again is an error, as for any replayed source."""
    sim, _, _ = held(wind=OU, gusts=[GUST], record=True)
    assert Simulation(Oscillator(), TIMELINE, replay=sim.streams).run().digest() == sim.digest()
    with pytest.raises(InputError, match="gusts are given, but the replay provides them too"):
        Simulation(Oscillator(), TIMELINE, replay=sim.streams, gusts=[GUST])


def test_a_wind_needs_a_periodic_axis():
    """Its exact discretization assumes equal steps."""
    with pytest.raises(InputError, match="a Wind needs a periodic wind axis"):
        Simulation(Oscillator(), Timeline(100, wind=Explicit((10, 30))), wind=OU)
