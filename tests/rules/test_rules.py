"""The "do not" rules of CONTRIBUTING, enforced on the sources.

Each rule is a function from a syntax tree to the lines that violate it, with an example that it must catch.
"""

import ast
import functools
import re
import threading
import tomllib
from pathlib import Path

import pytest

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import StateError
from px4lockstep.plant.models import Oscillator

SOURCE = Path(__file__).resolve().parents[2] / "src" / "px4lockstep"
MODULES = sorted(SOURCE.rglob("*.py"))

ALLOWED_IN_KERNELS = {"sqrt", "floor", "isfinite", "isnan", "pi", "nan", "inf"}
"""Members of the math module that round identically on every platform. The rest comes from px4lockstep.math."""
ALLOWED_CASTS = {"int8", "int16", "int32", "int64", "uint64", "float32", "float64"}


@functools.cache
def tree_of(path):
    """Return the syntax tree of a module; tests must not change it."""
    return ast.parse(path.read_text("utf-8"))


@functools.cache
def nodes(tree):
    """Return all nodes of a tree: each rule reads all of them."""
    return tuple(ast.walk(tree))


def dotted(node):
    """Return `a.b.c` for a name or attribute, otherwise an empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def kernels(tree):
    functions = [node for node in nodes(tree) if isinstance(node, ast.FunctionDef)]
    decorators = {"kernel", "inlined_kernel"}
    return [node for node in functions if decorators & {dotted(item) for item in node.decorator_list}]


def float_time_for_cadence(tree):
    """Yield comparisons and sums of times in seconds: schedules must use microseconds."""
    for node in nodes(tree):
        if isinstance(node, ast.Compare) and not all(isinstance(sign, ast.Is | ast.IsNot) for sign in node.ops):
            names = [dotted(part).rpartition(".")[2] for part in (node.left, *node.comparators)]
            if any(name.endswith("_s") and name.startswith(("t_", "time", "dt_")) for name in names):
                yield node.lineno
        if isinstance(node, ast.AugAssign) and dotted(node.target).rpartition(".")[2] in ("t_s", "time_s", "sim_time"):
            yield node.lineno


def global_randomness(tree):
    """Yield uses of any random generator other than `philox`."""
    for node in nodes(tree):
        if isinstance(node, ast.Import) and any(alias.name in ("random", "secrets") for alias in node.names):
            yield node.lineno
        if isinstance(node, ast.ImportFrom) and node.module in ("random", "secrets", "numpy.random"):
            yield node.lineno
        if isinstance(node, ast.Attribute) and dotted(node).startswith(("np.random", "numpy.random", "uuid.")):
            yield node.lineno


def unordered_iteration(tree):
    """Yield loops, comprehensions, sums and joins over a set."""

    def is_set(node):
        if isinstance(node, ast.BinOp):
            return is_set(node.left) or is_set(node.right)
        return isinstance(node, ast.Set | ast.SetComp) or (
            isinstance(node, ast.Call) and dotted(node.func) in ("set", "frozenset")
        )

    set_names = {
        target.id
        for node in nodes(tree)
        if isinstance(node, ast.Assign) and is_set(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    def is_unordered(node):
        return is_set(node) or (isinstance(node, ast.Name) and node.id in set_names)

    for node in nodes(tree):
        if isinstance(node, ast.For | ast.comprehension) and is_unordered(node.iter):
            yield node.iter.lineno
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in (
            "list",
            "tuple",
            "sum",
            "join",
            "array",
        ):
            yield from (argument.lineno for argument in node.args if is_unordered(argument))


def implicit_closing(tree):
    """Yield finalizers: handles must be closed explicitly or in a with block."""
    for node in nodes(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "__del__":
            yield node.lineno
        if isinstance(node, ast.Attribute) and dotted(node) in ("weakref.finalize", "atexit.register"):
            yield node.lineno
        if isinstance(node, ast.Call) and dotted(node.func) == "open":
            yield node.lineno  # use Path.read_bytes or `with path.open()`


def more_than_one_thread(tree):
    """Yield threads, and kernels that run in several threads."""
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and dotted(node) in ("threading.Thread", "threading.Timer", "numba.prange"):
            yield node.lineno
        if isinstance(node, ast.ImportFrom) and node.module in ("concurrent.futures", "multiprocessing.pool"):
            yield from (node.lineno for alias in node.names if "Thread" in alias.name)
        if isinstance(node, ast.keyword) and node.arg in ("parallel", "nogil"):
            yield node.value.lineno


def rounding_that_depends_on_the_platform(tree):
    """Yield powers and library functions in kernels, and fastmath anywhere."""
    for function in kernels(tree):
        for node in ast.walk(function):
            if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Pow):
                yield node.lineno
            if isinstance(node, ast.Attribute) and dotted(node).startswith(("math.", "np.")):
                allowed = ALLOWED_IN_KERNELS if dotted(node).startswith("math.") else ALLOWED_CASTS
                if node.attr not in allowed:
                    yield node.lineno
    for node in nodes(tree):
        if (
            isinstance(node, ast.keyword)
            and node.arg == "fastmath"
            and not (isinstance(node.value, ast.Constant) and node.value.value is False)
        ):
            yield node.value.lineno


def the_clock_of_the_machine(tree):
    """Yield uses of the wall clock, except `perf_counter`, which only measures durations."""
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and dotted(node) in (
            "time.time",
            "time.time_ns",
            "datetime.now",
            "time.sleep",
        ):
            yield node.lineno


def sums_that_depend_on_the_version(tree):
    """Yield sum() over computed numbers: since Python 3.12 it is compensated for floats and rounds differently."""
    for node in nodes(tree):
        if isinstance(node, ast.Call) and dotted(node.func) in ("sum", "math.fsum", "np.sum"):
            parts = [part for argument in node.args for part in ast.walk(argument)]
            if any(isinstance(part, ast.BinOp) or isinstance(getattr(part, "value", None), float) for part in parts):
                yield node.lineno


PARAMETERS_ON_THE_PATH = ("environment", "estimation", "integrators", "plants", "vehicle", "math")

RULES = {
    sums_that_depend_on_the_version: "x = sum(1.0 / r for r in resistances)",
    float_time_for_cadence: "if t_s >= next_s:\n    pass",
    global_randomness: "import numpy as np\nx = np.random.normal()",
    unordered_iteration: "names = {1, 2} | {3}\nfor n in names:\n    pass",
    implicit_closing: "class Handle:\n    def __del__(self):\n        self.close()",
    more_than_one_thread: "import threading\nthreading.Thread(target=print).start()",
    rounding_that_depends_on_the_platform: "@kernel\ndef f(x):\n    return math.sin(x)",
    the_clock_of_the_machine: "import time\nx = time.time()",
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no_source_breaks_the_rule(rule):
    """It covers all modules of the package, with three exceptions."""
    assert len(MODULES) > 30
    modules = MODULES
    if rule is sums_that_depend_on_the_version:
        modules = [path for path in MODULES if path.relative_to(SOURCE).parts[0] in PARAMETERS_ON_THE_PATH]
    if rule is the_clock_of_the_machine:  # the compile cache compares ages of files; a pace sleeps between two calls
        modules = [path for path in MODULES if path not in (SOURCE / "jit" / "cache.py", SOURCE / "engine" / "pace.py")]
    # A thread prints a sign of life during compilation; none exists in a run. The viewer's threads are those of viser:
    # its callbacks only put actions into a queue, and the thread that created the view runs them.
    if rule is more_than_one_thread:
        modules = [path for path in MODULES if path != SOURCE / "jit" / "progress.py"]
    broken = {f"{path.relative_to(SOURCE)}:{line}" for path in modules for line in rule(tree_of(path))}
    assert sorted(broken) == []


@pytest.mark.parametrize(("rule", "bad"), RULES.items(), ids=lambda item: getattr(item, "__name__", ""))
def test_the_rule_catches_its_example(rule, bad):
    """Otherwise the test above could not fail."""
    assert list(rule(ast.parse(bad)))


def test_a_simulation_runs_only_in_the_thread_that_created_it():
    """Another thread gets an error instead of a race."""
    sim = Simulation(Oscillator(), Timeline(100, log=Periodic(10)))
    caught = []

    def run_elsewhere():
        try:
            sim.run()
        except StateError as error:
            caught.append(str(error))

    thread = threading.Thread(target=run_elsewhere)
    thread.start()
    thread.join()
    assert caught == ["a simulation must run in the thread that created it; create one per thread or process"]


ORDER = (
    "reprs",
    "constants",
    "stop_signals",
    "errors",
    "reading",
    "timebase",
    "io",
    "trust",
    "checks",
    "user_code",
    "part",
    "jit",
    "math",
    "px4",
    "processes",
    "aside",
    "plant",
    "environment",
    "vehicle",
    "integrators",
    "sensors",
    "estimation",
    "scenario",
    "autopilots",
    "engine",
    "log",
    "spec",
    "verification",
    "plots",
    "flights",
    "campaigns",
    "entry_points",
    "experiments",
    "bench",
    "view",
    "reports",
    "service",
    "cli",
    "__main__",
)
"""All packages and modules below `px4lockstep`, from the bottom up: each imports only from those before it."""


def imported(path: Path) -> set[str]:
    """Return the names below `px4lockstep` that a module imports anywhere."""
    found = set()
    for node in nodes(tree_of(path)):
        names = [node.module] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found |= {name.split(".")[1] for name in names if name and name.startswith("px4lockstep.")}
    return found


def test_every_package_is_in_the_dependency_order():
    """This ensures that the next test covers all of them."""
    there = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if path.suffix in ("", ".py")}
    assert there - {"__init__", "__pycache__"} == set(ORDER)


@pytest.mark.parametrize("package", ORDER)
def test_dependencies_point_one_way(package):
    """Mathematics and models do not import the engine, the engine does not import spec or flights; no cycles."""
    below = {package, *ORDER[: ORDER.index(package)]}
    folder = SOURCE / package
    for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [SOURCE / f"{package}.py"]:
        assert imported(path) <= below, path


def test_px4_does_not_depend_on_other_packages():
    """The wrapper of PX4's library and its file formats import only `errors` and `reading`."""
    for path in sorted((SOURCE / "px4").rglob("*.py")):
        assert imported(path) <= {"px4", "errors", "reading"}, path


def test_models_engine_logs_and_plots_load_no_spec_files():
    """Code there receives flights as arguments."""
    may = (
        "spec",
        "verification",
        "flights",
        "campaigns",
        "experiments",
        "bench",
        "view",
        "reports",
        "service",
        "cli",
        "__init__.py",
    )
    for path in MODULES:
        if path.relative_to(SOURCE).parts[0] not in may:
            assert "px4lockstep.spec" not in path.read_text("utf-8"), path


AUTOPILOT_KINDS = re.compile(
    r"""["'](builtin|px4-sitl)["']|==\s*["']px4["']|\b(Builtin|Px4Library|Px4Sitl|Px4Session)\b"""
)


def test_only_autopilots_depend_on_the_kind_of_autopilot():
    """Other packages use capabilities; only benchmarks, the package's API and messages of `px4` name autopilots."""
    assert AUTOPILOT_KINDS.search('if spec.autopilot.kind == "px4":')
    assert AUTOPILOT_KINDS.search("if isinstance(autopilot, Builtin):")
    for path in MODULES:
        if path.relative_to(SOURCE).parts[0] not in ("autopilots", "bench", "px4", "__init__.py"):
            text = path.read_text("utf-8")
            if AUTOPILOT_KINDS.search(text):  # in code, or in a docstring
                assert not AUTOPILOT_KINDS.search(ast.unparse(_without_docstrings(ast.parse(text)))), path


def _without_docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [item for item in node.body if not _is_text(item)] or [ast.Pass()]
    return tree


def _is_text(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def exempt_modules():
    """Return the modules in which mypy accepts functions without types."""
    settings = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]["overrides"]
    (names,) = [table["module"] for table in settings if "disallow_untyped_defs" in table]
    return names


@pytest.mark.parametrize("name", exempt_modules())
def test_only_kernels_have_no_types(name):
    """An exempt module has kernels, and all its other functions have types."""
    tree = tree_of(SOURCE.parent / f"{name.replace('.', '/')}.py")
    untyped = kernels(tree)
    assert untyped
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node not in untyped:
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            bare = [item.arg for item in arguments if item.annotation is None and item.arg not in ("self", "cls")]
            assert node.returns is not None, node.name
            assert bare == [], node.name


def test_only_the_command_line_prints():
    """No other package writes to standard output."""
    for path in MODULES:
        text = path.read_text("utf-8")
        if "cli" not in path.parts:
            assert not re.search(r"\bprint\(", text), path
            assert not re.search(r"sys\.stdout(?!\.flush|\.fileno| is)", text), path


def test_no_two_classes_have_the_same_name():
    """A class name in a message, a traceback or the documentation is unambiguous."""
    homes: dict[str, list[str]] = {}
    for path in MODULES:
        for node in nodes(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_no_two_modules_of_a_package_differ_by_an_s():
    """`table.py` and `tables.py` would be confused."""
    names = {(path.parent, path.stem) for path in MODULES} | {
        (path.parent.parent, path.parent.name) for path in MODULES
    }
    assert sorted(str(folder / name) for folder, name in names if (folder, f"{name}s") in names) == []


@pytest.mark.parametrize("path", [path for path in MODULES if "sys.executable" in path.read_text("utf-8")])
def test_started_interpreters_ignore_the_working_directory(path):
    """Without `-P`, `python -m` imports a `numpy.py` that happens to be in the user's folder."""
    for call in re.findall(r"(?<!join\()\[(?:sys\.executable|python), [^\]]*", path.read_text("utf-8")):
        assert '"-P"' in call, call
