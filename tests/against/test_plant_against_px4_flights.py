"""The Iris against two flights of real PX4 with an independent plant: see golden/README.md."""

from pathlib import Path

import numpy as np
import pytest
from fleet import iris
from plant_probe import Batch

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.integrators.solver import Integrator

GOLDEN = Path(__file__).parent / "golden"
TICK_US = 4_000
STEP_US = 1_000
GROUND_TRUTH = slice(1, 20)  # the columns of the state, in this package's order


class Replay:
    """An autopilot that repeats PX4's motor commands."""

    def __init__(self, duties):
        self._duties = duties

    def step(self, time_us, inputs, outputs):
        outputs.motors[:4] = self._duties[time_us // TICK_US]


@pytest.fixture(scope="module", params=["mission", "yaw"])
def flight(request):
    """Return the true states and the duties, one row per tick."""
    with np.load(GOLDEN / f"px4_iris_{request.param}.npz") as recording:
        columns, data = recording["columns"].tolist(), recording["data"]
    assert columns[GROUND_TRUTH] == [
        *(
            f"truth_{name}"
            for name in [
                "pos_n",
                "pos_e",
                "pos_d",
                "vel_n",
                "vel_e",
                "vel_d",
                "q_w",
                "q_x",
                "q_y",
                "q_z",
                "p",
                "q",
                "r",
            ]
        ),
        *(f"truth_rotor{i}" for i in range(1, 5)),
        "soc",
        "v1",
    ]
    assert np.array_equal(data[:, 0], TICK_US * np.arange(len(data)))
    return data[:, GROUND_TRUTH], data[:, 20:24] * data[:, 24:]


def test_four_steps_from_each_row_lead_to_the_next(flight):
    """Within 1e-10 in the unit of each state: sums in another order, 1e-13 of rotor speeds near 1e3 rad/s."""
    states, duties = flight
    batch = Batch([iris()], len(states) - 1)
    batch.x[:, :19] = states[:-1]
    batch.inputs["command"]["motors"][:, :4] = duties[:-1]
    batch.advance("RK4", TICK_US // STEP_US, STEP_US)
    assert np.abs(batch.x[:, :19] - states[1:]).max() < 1e-10
    assert np.abs(states[1:] - states[:-1]).max() > 10.0


def test_the_whole_flight_is_reproduced_in_open_loop(flight):
    """Within 1e-6 m at every row, from the motor commands alone."""
    states, duties = flight
    ticks = len(states)
    timeline = Timeline(
        (ticks - 1) * TICK_US, autopilot=Periodic(TICK_US), log=Periodic(TICK_US), physics=Periodic(STEP_US)
    )
    sim = Simulation(iris(), timeline, integrator=Integrator("RK4"), autopilot=Replay(duties)).run()
    off_m = np.linalg.norm(sim.log_state[:, :3] - states[:, :3], axis=1)
    assert len(off_m) == ticks
    assert off_m.max() < 1e-6
    assert np.abs(sim.log_state[:, 6:10] - states[:, 6:10]).max() < 1e-6
    assert np.ptp(states[:, 2]) > 10.0
