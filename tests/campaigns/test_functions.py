"""Metrics in Python: loading, calling and sending them to other processes, and their errors."""

import math
import pickle
import sys
from textwrap import dedent

import pytest
from campaign_runs import made_run

from px4lockstep import simulate
from px4lockstep.campaigns.metrics import MetricTable, metric_of
from px4lockstep.errors import InputError, LockstepError, MetricError

RUN = made_run([0, 1_000_000], armed=[0, 1])


@pytest.fixture
def metric(tmp_path):
    """Return a function that writes a file with this text and returns the metric of its function `f`."""

    def made(text, name="f", **options):
        (tmp_path / "my_metrics.py").write_text(dedent(text), "utf-8")
        return metric_of(MetricTable(name="m", function=f"my_metrics.py:{name}", **options), tmp_path)

    return made


def test_a_function_is_called_with_the_run(metric):
    """Relative to the campaign file; the first line of the docstring is the description."""
    found = metric(
        '''
        """Metrics."""
        import math

        LIMIT = math.pi


        def f(run):
            """Return how often it was armed.

            In rows.
            """
            return run.log["armed"].sum() + LIMIT
        ''',
        unit="rows",
    )
    assert found(RUN) == 1.0 + math.pi
    assert (found.unit, found.description, found.is_bool) == ("rows", "Return how often it was armed.", False)


def test_a_function_of_a_flight(metric):
    """With access to log, summary and spec."""
    found = metric("def f(run):\n    return run.summary.duration_s * run.spec.aircraft.seed + len(run.log['armed'])\n")
    assert found(simulate("iris", overrides={"timeline.t_end_s": 0.5, "aircraft.seed": 3})) == 1.5 + 51.0


@pytest.mark.parametrize("heading", ["", "from __future__ import annotations\n"])
def test_a_function_annotated_with_bool_is_a_boolean_metric(metric, heading):
    """Also if the annotation is a string."""
    found = metric(heading + "def f(run) -> bool:\n    return run.log['armed'][-1] == 1\n")
    assert found.is_bool
    assert found(RUN) is True


@pytest.mark.parametrize("value", ["1", "1.0", "np.float32(1)", "np.int64(1)", "np.float64(1)", "1 - 0.0"])
def test_any_real_number_is_converted_to_float(metric, value):
    found = metric(f"import numpy as np\ndef f(run):\n    return {value}\n")(RUN)
    assert found == 1.0
    assert type(found) is float


def test_nan_is_a_value(metric):
    """For a flight without a value."""
    assert math.isnan(metric("import numpy as np\ndef f(run):\n    return -np.float32('nan')\n")(RUN))


def test_a_metric_is_sent_to_another_process_with_its_source(metric, python, tmp_path):
    """Editing or removing the file after the campaign has started has no effect."""
    found = metric(
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: 'float' = 4.0\ndef f(run):\n    return A().x\n"
    )
    (tmp_path / "metric.pickle").write_bytes(pickle.dumps(found))
    (tmp_path / "my_metrics.py").unlink()
    code = (
        "import pickle, sys; from types import SimpleNamespace; import numpy as np;"
        "from px4lockstep.log.log import Log; metric = pickle.load(open(sys.argv[1], 'rb'));"
        "run = SimpleNamespace(log=Log({'time_us': np.zeros(1, np.uint64)})); print(metric(run))"
    )
    assert python("-c", code, tmp_path / "metric.pickle").stdout == "4.0\n"


def test_an_edited_file_is_reloaded(metric):
    """In the same process, even within a second."""
    first = metric("def f(run):\n    return 1\n")
    second = metric("def f(run):\n    return 2\n")
    assert (first(RUN), second(RUN)) == (1.0, 2.0)


def test_loading_leaves_only_the_module_behind(metric, tmp_path):
    """Under a unique name, without a new import path and without a compiled file next to the user's."""
    (tmp_path / "beside_it.py").write_text("SIX = 6\n", "utf-8")
    path, modules = list(sys.path), set(sys.modules)
    try:
        assert metric("import beside_it\ndef f(run):\n    return beside_it.SIX\n")(RUN) == 6.0
        assert sys.path == path
        assert list(tmp_path.rglob("my_metrics*.pyc")) == []
        added = set(sys.modules) - modules
        assert {name.rpartition("_")[0] for name in added} == {"px4lockstep_user", "beside"}
    finally:
        sys.modules.pop("beside_it", None)


def test_installed_modules_take_precedence_over_files_next_to_the_metric(metric, tmp_path):
    """A file with the name of a standard module does not replace it."""
    (tmp_path / "colorsys.py").write_text("raise RuntimeError\n", "utf-8")
    sys.modules.pop("colorsys", None)
    assert metric("import colorsys\ndef f(run):\n    return colorsys.ONE_THIRD\n")(RUN) == 1.0 / 3.0


def test_a_file_that_fails_leaves_nothing_behind(metric, tmp_path, monkeypatch):
    """Neither a module nor an import path, even if the folder was already on the path."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    path, modules = list(sys.path), set(sys.modules)
    with pytest.raises(InputError):
        metric("raise RuntimeError")
    assert sys.path == path
    assert set(sys.modules) == modules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n\ndef f(run:\n", "can't load my_metrics.py: my_metrics.py, line 3: SyntaxError: '[(]' was never"),
        ("\nimport no_such", "can't load my_metrics.py: .*, line 2: ModuleNotFoundError: No module named 'no_such'$"),
        ("def g():\n    1 / 0\ng()", "can't load my_metrics.py: .*, line 2: ZeroDivisionError: division by zero$"),
        ("raise SystemExit(3)", "can't load my_metrics.py: my_metrics.py, line 1: SystemExit: 3$"),
        ("assert False", "can't load my_metrics.py: my_metrics.py, line 1: AssertionError$"),
        ("x = '\0'", "can't load my_metrics.py: my_metrics.py.*: (SyntaxError|ValueError): source code .*null bytes"),
        (
            "def F(run):\n    return 1\ndef g(run):\n    return 1\n",
            r"has no function 'f'; did you mean 'F'\? Functions in the file: F, g$",
        ),
        ("", "my_metrics.py has no function 'f'; functions in the file: none$"),
        ("f = 3", "f in my_metrics.py is 3; it must be a function of the run$"),
        (
            "def f():\n    return 1",
            r"f\(\) in my_metrics.py can't be called with the run as its only argument; define it as `def f\(run\)`$",
        ),
        ("def f(run, log):\n    return 1", r"f\(run, log\) in my_metrics.py can't be called with the run as its only"),
    ],
)
def test_a_function_that_can_not_be_loaded_is_refused(metric, text, message):
    """Before any flight, with metric, file, line and remedy."""
    with pytest.raises(InputError, match=f"^metric 'm', function = 'my_metrics.py:f': .*{message}"):
        metric(text)


def test_a_missing_file_is_refused(tmp_path):
    """With its path; so is a folder."""
    table = MetricTable(name="m", function="other.py:f")
    with pytest.raises(InputError, match=r"^metric 'm', function = 'other.py:f': file not found: .*other.py$"):
        metric_of(table, tmp_path)
    (tmp_path / "other.py").mkdir()
    with pytest.raises(InputError, match=r"^metric 'm', .*: .*other.py is a folder; give the path of a Python file"):
        metric_of(table, tmp_path)


def test_a_function_that_raises_is_an_error_with_its_line(metric):
    """The line is that of the user's file, even if a library raised it; every exception is a MetricError."""
    found = metric("import json\ndef f(run):\n    return g('{')\ndef g(text):\n    return json.loads(text)\n")
    with pytest.raises(MetricError, match=r"^metric 'm': my_metrics.py, line 5: JSONDecodeError: Expecting property"):
        found(RUN)
    assert issubclass(MetricError, LockstepError)
    with pytest.raises(MetricError, match=r"^metric 'm': my_metrics.py, line 2: InputError: there is no column 'arm'"):
        metric("def f(run):\n    return run.log['arm'][0]\n")(RUN)
    with pytest.raises(MetricError, match=r"^metric 'm': my_metrics.py, line 3: SystemExit: 1$"):
        metric("import sys\ndef f(run):\n    sys.exit(1)\n")(RUN)


def test_a_metric_can_not_modify_the_log(metric):
    """Other metrics use it, too."""
    with pytest.raises(MetricError, match="line 2: ValueError: assignment destination is read-only"):
        metric("def f(run):\n    run.log['armed'][0] = 5\n    return 1\n")(
            simulate("iris", overrides={"timeline.t_end_s": 0.1})
        )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("None", "the value is None, a NoneType; it must be a number"),
        ("'3'", "the value is '3', a str; it must be a number"),
        ("1j", "the value is 1j, a complex; it must be a number"),
        (
            "run.log['armed']",
            r"the value is an array of shape \(2,\), a ndarray; it must be a number; use float\(...\)",
        ),
        ("True", "the value is True, a bool; it must be a number; annotate a boolean function with `-> bool`"),
        ("math.inf", "the value is inf, a float; it must be a finite number, or nan if the flight has no value"),
        ("-math.inf", "the value is -inf, a float; it must be a finite number"),
        ("10**400", "the value is 1000.*, an int; it must be a finite number"),
    ],
)
def test_an_invalid_value_is_an_error(metric, value, message):
    """With the value, its type, and what to return."""
    found = metric(f"import math\ndef f(run):\n    return {value}\n")
    with pytest.raises(MetricError, match=rf"^metric 'm': my_metrics.py, line 2: f: {message}"):
        found(RUN)


def test_a_number_from_a_boolean_metric_is_an_error(metric):
    """A column of the results has one type."""
    with pytest.raises(MetricError, match="the value is 1, an int; it must be True or False, because the metric is b"):
        metric("def f(run) -> bool:\n    return 1\n")(RUN)


def test_an_error_can_be_pickled(metric):
    """To be sent from a worker to its parent."""
    with pytest.raises(MetricError) as raised:
        metric("def f(run):\n    return 1 / 0\n")(RUN)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_a_numpy_bool_is_accepted(metric):
    """Comparisons of NumPy numbers return one."""
    found = metric("import numpy as np\ndef f(run) -> bool:\n    return np.float64(1) > 0\n")
    assert found(RUN) is True
