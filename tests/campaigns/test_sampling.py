"""The inputs of a run depend on seed and index; Latin hypercube and Sobol' sampling spread them more evenly."""

import subprocess
import sys

import numpy as np
import pytest

from px4lockstep.campaigns.file_tables import Vary
from px4lockstep.campaigns.sampling import Sampler, combination, full_length, seed_of_run
from px4lockstep.jit import interpreted
from px4lockstep.math.philox import stream_key, uniform2

KINDS = ("random", "latin_hypercube", "sobol")
UNIFORM = tuple(Vary(key=f"a.b{i}", distribution="uniform", low=0.0, high=1.0) for i in range(4))


def points(kind, seed=1, runs=64, vary=UNIFORM):
    sampler = Sampler(vary, kind, seed, runs)
    return np.array([sampler.point(i) for i in range(runs)])


@pytest.mark.process
@pytest.mark.parametrize("kind", KINDS)
def test_the_inputs_of_a_run_do_not_depend_on_order_or_process(kind):
    """In reverse order, a single run, and in another process."""
    forward = points(kind)
    sampler = Sampler(UNIFORM, kind, 1, 64)
    assert [sampler.point(i) for i in reversed(range(64))] == forward[::-1].tolist()
    assert Sampler(UNIFORM, kind, 1, 64).point(37) == forward[37].tolist()
    code = (
        "from px4lockstep.campaigns.sampling import Sampler; from px4lockstep.campaigns.file_tables import Vary; "
        "vary = [Vary(key=f'a.b{i}', distribution='uniform', low=0.0, high=1.0) for i in range(4)]; "
        f"print(Sampler(vary, {kind!r}, 1, 64).point(37))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == str(forward[37].tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_another_seed_changes_all_inputs(kind):
    assert not np.any(points(kind, 1) == points(kind, 2))


@pytest.mark.parametrize("kind", ["random", "sobol"])
def test_more_runs_leave_the_first_ones_unchanged(kind):
    """Beyond a block of the Sobol' sequence, too; a Latin hypercube depends on the number of runs."""
    assert np.array_equal(points(kind, runs=64), points(kind, runs=1_100)[:64])
    assert len(np.unique(points("sobol", runs=1_100), axis=0)) == 1_100


def test_random_points_drawn_together_are_those_of_each_run():
    """At both ends of a block, and with a number of runs beyond 32 bits."""
    sampler = Sampler(UNIFORM, "random", 1, 8)
    for index in (0, 1, 1_023, 1_024, 2**40 + 5):
        alone = [interpreted(uniform2)(stream_key(1, "campaign"), index, lane, 0)[0] for lane in range(4)]
        assert sampler.point(index) == alone


def test_a_latin_hypercube_has_one_run_in_each_slice_of_each_input():
    slices = np.floor(points("latin_hypercube") * 64).astype(int)
    assert all(sorted(column) == list(range(64)) for column in slices.T)


def test_every_block_of_the_sobol_sequence_is_balanced():
    """64 points have one in each of 64 slices of each input, also after the first block of the sampler."""
    late = points("sobol", runs=2_048)[1_024:1_088]
    for sample in (points("sobol"), late):
        slices = np.floor(sample * 64).astype(int)
        assert all(sorted(column) == list(range(64)) for column in slices.T)


def test_sobol_and_latin_hypercube_beat_random_on_a_known_answer():
    """RMS error over 40 seeds of the mean of x_0 + x_1**2 + x_2 x_3 from 256 runs; the truth is 1/2 + 1/3 + 1/4.

    With random sampling it is std / sqrt(256) = 0.030. A Latin hypercube removes the variance of additive effects and
    leaves the interaction, with std 1/12, so 0.0052. Sobol' sampling is better on smooth functions.
    """

    def error(kind):
        estimates = []
        for seed in range(40):
            x = points(kind, seed, 256)
            estimates.append(np.mean(x[:, 0] + x[:, 1] ** 2 + x[:, 2] * x[:, 3]))
        return np.sqrt(np.mean((np.array(estimates) - (1 / 2 + 1 / 3 + 1 / 4)) ** 2))

    at_random, hypercube, sobol = (error(kind) for kind in KINDS)
    assert at_random == pytest.approx(0.030, rel=0.35)  # three standard errors of an RMS of 40: 3 / sqrt(80)
    assert hypercube == pytest.approx(0.0052, rel=0.35)
    assert sobol < hypercube


def test_grids_cover_all_combinations_and_lists_advance_with_each_run():
    """The last grid varies fastest; both start over after the last value."""
    vary = (
        Vary(key="a.x", distribution="grid", values=(1, 2)),
        Vary(key="a.y", distribution="list", values=("p", "q", "r")),
        Vary(key="a.z", distribution="grid", values=(10, 20, 30)),
    )
    sampler = Sampler(vary, "random", 1, 7)
    found = [tuple(sampler.inputs(i).values()) for i in range(7)]
    assert found[:4] == [(1, "p", 10), (1, "q", 20), (1, "r", 30), (2, "p", 10)]
    assert found[6] == (1, "p", 10)
    assert full_length(vary) == 6
    assert full_length(UNIFORM) is None
    assert combination(5, [2, 3]) == [1, 2]


def test_a_grid_does_not_change_sampled_inputs():
    grid = Vary(key="a.x", distribution="grid", values=(1, 2))
    alone, beside = Sampler(UNIFORM, "random", 1, 8), Sampler((grid, *UNIFORM), "random", 1, 8)
    for i in range(8):
        inputs = beside.inputs(i)
        del inputs["a.x"]
        assert inputs == alone.inputs(i)


def test_each_run_has_its_own_seed():
    """Unique, and small enough for JSON and Parquet to represent exactly."""
    seeds = [seed_of_run(1, i) for i in range(2_000)]
    assert len(dict.fromkeys(seeds)) == 2_000
    assert all(0 <= seed < 1 << 48 for seed in seeds)
    assert seeds[7] == seed_of_run(1, 7) != seed_of_run(2, 7)
