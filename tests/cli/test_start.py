"""What a command imports, and how its process begins and ends: the structure that makes a start fast."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

SHORT = ("run", "x500", "--set", "timeline.t_end_s=1.0", "--out", "out", "--json")
REPORT = """
import gc, json, sys
from px4lockstep.cli import main
found = {}
def note(name):
    found[name] = {"modules": sorted(sys.modules), "collects": gc.isenabled(), "frozen": gc.get_freeze_count()}
place, *sys.argv = sys.argv[1:]
if place:
    import px4lockstep.cli.run as command
    fly = command.fly
    def noted(*arguments):
        note("in flight")
        return fly(*arguments)
    command.fly = noted
try:
    main()
except SystemExit as end:
    found["code"] = end.code
note("at the end")
print(json.dumps(found), file=sys.stderr)
"""
"""Runs a command and reports what the process has imported, before the flight and at the end."""


def report_of(folder, *words, in_flight=False):
    """Return what a fresh interpreter has imported after a command."""
    command = [sys.executable, "-c", REPORT, "1" if in_flight else "", "px4lockstep", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stderr.splitlines()[-1])


def imported(report, *packages):
    """Return which packages, or modules of them, were imported."""
    return [name for name in packages if any(f"{each}.".startswith(f"{name}.") for each in report["modules"])]


@pytest.fixture(scope="module")
def short_run(tmp_path_factory):
    """Return the report of a short run without a figure."""
    return report_of(tmp_path_factory.mktemp("run"), *SHORT, "--no-plots", in_flight=True)


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("run", "--help")])
def test_help_imports_no_library_of_the_simulator(tmp_path, words):
    """Nor what starts processes. Typer needs pydantic for the options of a command."""
    report = report_of(tmp_path, *words)
    assert report["code"] == 0
    heavy = ("numba", "numpy", "h5py", "pyarrow", "matplotlib", "scipy", "px4lockstep.processes")
    heavy += ("pydantic",) if len(words) == 1 else ()
    assert imported(report["at the end"], *heavy) == []


def test_a_run_without_a_figure_imports_only_what_it_uses(short_run):
    """Numba imports the package `scipy`, but none of its parts; pyarrow would import pandas where it is installed."""
    assert short_run["code"] in (0, 1)  # a second is too short for the mission
    found = short_run["at the end"]
    assert imported(found, "h5py", "pyarrow") == ["h5py", "pyarrow"]
    unused = ("matplotlib", "pandas", "scipy.linalg", "scipy.signal", "scipy.optimize", "scipy.stats", "scipy.io")
    assert imported(found, *unused, "numpy.ma", "rich.progress", "pymavlink", "pyulog") == []
    own = ("plots.flight", "flights.figure", "flights.replay", "log.ulog", "log.maps", "cli.replay", "cli.crash")
    own += ("autopilots.px4_library.autopilot", "px4.uorb", "px4.handle")
    assert imported(found, *(f"px4lockstep.{name}" for name in own)) == []


def test_files_are_written_by_libraries_that_a_flight_does_not_wait_for(short_run):
    """They are imported after the flight."""
    assert imported(short_run["in flight"], "h5py", "pyarrow") == []


def test_imports_are_not_garbage_collected(short_run):
    """The collector starts with the command, and does not visit what was imported."""
    assert short_run["in flight"]["collects"]
    assert short_run["in flight"]["frozen"] > 10_000


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="no list of threads")
def test_a_command_starts_no_threads_of_blas(python):
    """They wait actively, on every core, while the command starts; a variable of the user counts."""
    code = "import os, sys\nfrom px4lockstep.cli import main\nsys.argv[1:] = ['--version']\n"
    code += "try:\n    main()\nexcept SystemExit:\n    import numpy\n    print(len(os.listdir('/proc/self/task')))\n"
    assert python("-c", code, OPENBLAS_NUM_THREADS="2").stdout.splitlines()[-1] == "2"
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "1"


def test_the_figure_is_drawn_by_another_process(tmp_path):
    """So this one never imports Matplotlib."""
    report = report_of(tmp_path, *SHORT)
    assert (tmp_path / "out" / "plots.png").read_bytes().startswith(b"\x89PNG")
    if len(os.sched_getaffinity(0)) > 1:
        assert imported(report["at the end"], "matplotlib") == []


def test_importing_a_name_leaves_the_garbage_collector_as_it_was(python):
    """On or off; what the user has frozen stays frozen, and nothing else is."""
    code = (
        "import gc, px4lockstep\n"
        "px4lockstep.InputError; assert gc.isenabled() and gc.get_freeze_count() == 0\n"
        "gc.disable(); gc.freeze(); frozen = gc.get_freeze_count()\n"
        "px4lockstep.Timeline; assert not gc.isenabled() and frozen / 2 < gc.get_freeze_count() <= frozen\n"
    )
    python("-c", code)


@pytest.mark.parametrize(("words", "code"), [(["--version"], 0), (["no-such-command"], 2)])
def test_the_program_ends_at_once_with_its_exit_code(tmp_path, words, code):
    """Output is complete and functions registered with atexit are called, but no module is freed."""
    script = tmp_path / "program.py"
    script.write_text(
        "import atexit, sys\nfrom px4lockstep.cli import program\n"
        "class Freed:\n    def __del__(self):\n        print('freed')\n"
        "kept = Freed()\natexit.register(lambda: print('at exit', file=sys.stderr))\nprogram()\n"
    )
    done = subprocess.run([sys.executable, script, *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code
    assert done.stderr.endswith("at exit\n")
    assert "freed" not in done.stdout
    assert bool(done.stdout) == (code == 0)


def test_the_viewer_serves_its_page_before_it_imports_the_simulator(python):
    """The browser loads the page meanwhile."""
    code = "import json, sys, px4lockstep.cli.view; print(json.dumps(sorted(sys.modules)))"
    modules = {"modules": json.loads(python("-c", code).stdout)}
    assert (
        imported(modules, "numba", "pyarrow", "px4lockstep.spec", "px4lockstep.campaigns", "px4lockstep.engine") == []
    )


def test_a_log_is_read_without_pandas(python, tmp_path):
    """pyarrow would import it, where it is installed, to convert a column."""
    fly = 'px4lockstep.simulate("x500", overrides={"timeline.t_end_s": 1.0}).save("out", plots=False)'
    code = f'import sys, px4lockstep; {fly}; px4lockstep.read_log("out"); print("pandas" in sys.modules)'
    assert python("-c", f"import os; os.chdir({str(tmp_path)!r}); {code}").stdout.strip() == "False"
