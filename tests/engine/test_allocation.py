"""The loop does not allocate memory: a long run needs as much as a short one."""

import tracemalloc

import pytest
from fleet import iris
from numba.core.runtime import _nrt_python, rtsys

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.environment.wind import Wind
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.integrators.solver import Integrator


def simulation(end_us, kind):
    timeline = Timeline(end_us, autopilot=Periodic(4_000), wind=Periodic(1_000), log=Periodic(100_000))
    estimator = Estimator("noisy_delayed")
    return Simulation(iris(), timeline, integrator=Integrator(kind), wind=Wind("ou"), estimator=estimator, seed=1)


@pytest.mark.parametrize("kind", ["RK4", "RK45"])
def test_compiled_code_allocates_nothing_per_step(kind):
    """Compare Numba's allocation counts, and limit Python's traced memory, over 100 and 4,000 boundaries."""
    _nrt_python.memsys_enable_stats()
    counts = []
    for end_us in (100_000, 4_000_000):
        sim = simulation(end_us, kind)
        before = rtsys.get_allocation_stats()
        tracemalloc.start()
        sim.run()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        after = rtsys.get_allocation_stats()
        counts.append((after.alloc - before.alloc, after.mi_alloc - before.mi_alloc))
        assert peak < 20_000
    assert counts[0] == counts[1]
