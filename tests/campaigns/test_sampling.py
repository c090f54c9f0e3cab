"""The inputs of a run: a function of seed and index; by Latin hypercube and Sobol' better spread than at random."""

import subprocess
import sys

import numpy as np
import pytest

from px4lockstep.campaigns.file_tables import Vary
from px4lockstep.campaigns.sampling import Sampler, combination, full_length, seed_of_run

KINDS = ("random", "latin_hypercube", "sobol")
UNIFORM = tuple(Vary(key=f"a.b{i}", distribution="uniform", low=0.0, high=1.0) for i in range(4))


def points(kind, seed=1, runs=64, vary=UNIFORM):
    sampler = Sampler(vary, kind, seed, runs)
    return np.array([sampler.point(i) for i in range(runs)])


@pytest.mark.process
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_has_its_inputs_whoever_asks_and_in_whatever_order(kind):
    """Backwards, one alone, and in another process."""
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
def test_another_seed_gives_other_inputs(kind):
    """All of them."""
    assert not np.any(points(kind, 1) == points(kind, 2))


@pytest.mark.parametrize("kind", ["random", "sobol"])
def test_more_runs_leave_the_first_as_they_are(kind):
    """Beyond a block of Sobol's, too; a Latin hypercube depends on how many there are."""
    assert np.array_equal(points(kind, runs=64), points(kind, runs=1_100)[:64])
    assert len(np.unique(points("sobol", runs=1_100), axis=0)) == 1_100


def test_a_latin_hypercube_has_one_run_in_each_slice_of_each_input():
    """That is what it is."""
    slices = np.floor(points("latin_hypercube") * 64).astype(int)
    assert all(sorted(column) == list(range(64)) for column in slices.T)


def test_every_block_of_sobol_has_as_many_runs_in_each_slice():
    """64 points: one in each of 64 slices of each input; also after the first block of the sampler."""
    late = points("sobol", runs=2_048)[1_024:1_088]
    for sample in (points("sobol"), late):
        slices = np.floor(sample * 64).astype(int)
        assert all(sorted(column) == list(range(64)) for column in slices.T)


def test_sobol_and_latin_hypercube_beat_random_on_a_known_answer():
    """The mean of x_0 + x_1**2 + x_2 x_3, 1/2 + 1/3 + 1/4, of 256 runs, root of the mean square error of 40 seeds.

    At random it is std / sqrt(256) = 0.030. A hypercube takes out what is a sum of functions of one input each: left is
    the interaction, with std 1/12, so 0.0052. Sobol' does better on smooth functions.
    """

    def error(kind):
        estimates = []
        for seed in range(40):
            x = points(kind, seed, 256)
            estimates.append(np.mean(x[:, 0] + x[:, 1] ** 2 + x[:, 2] * x[:, 3]))
        return np.sqrt(np.mean((np.array(estimates) - (1 / 2 + 1 / 3 + 1 / 4)) ** 2))

    at_random, hypercube, sobol = (error(kind) for kind in KINDS)
    assert at_random == pytest.approx(0.030, rel=0.35)  # the error of an error of 40: 1 / sqrt(80), thrice
    assert hypercube == pytest.approx(0.0052, rel=0.35)
    assert sobol < hypercube


def test_grids_show_all_combinations_and_lists_go_along():
    """The last grid fastest; from the start again after the last."""
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


def test_grids_leave_what_is_sampled_as_it_is():
    """An input that is added changes no other."""
    grid = Vary(key="a.x", distribution="grid", values=(1, 2))
    alone, beside = Sampler(UNIFORM, "random", 1, 8), Sampler((grid, *UNIFORM), "random", 1, 8)
    for i in range(8):
        inputs = beside.inputs(i)
        del inputs["a.x"]
        assert inputs == alone.inputs(i)


def test_each_run_has_a_seed_of_its_own():
    """Within what JSON and Parquet hold exactly, and none twice."""
    seeds = [seed_of_run(1, i) for i in range(2_000)]
    assert len(dict.fromkeys(seeds)) == 2_000
    assert all(0 <= seed < 1 << 48 for seed in seeds)
    assert seeds[7] == seed_of_run(1, 7) != seed_of_run(2, 7)
