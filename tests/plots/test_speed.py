"""The time to draw a figure, beside that of importing Numba in the same test."""

import json
import resource
import subprocess
import sys

import pytest

from px4lockstep import simulate

pytestmark = pytest.mark.slow

DRAW = """
import json, sys, time
import matplotlib.gridspec, matplotlib.style, PIL.Image
import px4lockstep.plots.shown
from px4lockstep import read_run, save_plot
PIL.Image.preinit()
run = read_run(sys.argv[1])
run.log.rows, run.summary, run.spec
start_s = time.process_time()
save_plot(run.plot(), sys.argv[2])
print(json.dumps(time.process_time() - start_s))
"""
LIMIT = 1.5


def cpu_s(*words):
    """Return the processor time of an interpreter, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def test_the_default_figure_takes_at_most_1_5_times_the_import_of_numba(tmp_path):
    """Drawing and saving, imports excluded, in processor time; the best of five each, taken in turn."""
    simulate("x500").save(tmp_path / "run", plots=False)
    imports, draws = [], []
    for _ in range(5):
        imports.append(cpu_s("-c", "import numba")[0])
        draws.append(json.loads(cpu_s("-c", DRAW, str(tmp_path / "run"), str(tmp_path / "figure.png"))[1]))
    assert min(draws) <= LIMIT * min(imports)
