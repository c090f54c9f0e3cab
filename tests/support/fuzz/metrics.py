"""Files with user metrics, and the keys that name them. The code is harmless: it consists of a few fixed lines."""

import functools

import px4lockstep
from fuzz.mutations import mutated_bytes
from px4lockstep.campaigns.metrics import MetricTable, measure, metrics_of
from px4lockstep.flights.run import Run

FUNCTIONS = (
    "metric.py:f",
    "metric.py:g",
    "metric.py",
    ":f",
    "metric.py:",
    "nosuch.py:f",
    "~nosuch/metric.py:f",
    "a\0b.py:f",
    ".:f",
)
FUNCTIONS += ("/dev/null:f", "metric.py:__name__", "metric.py:f.g", "metric.py:é", "x" * 5_000 + ".py:f", "\ud800.py:f")
LINES = (
    *(
        "def f(run):\n    return 1.0",
        "def f(run) -> bool:\n    return True",
        "def f():\n    return 1",
        "f = 3",
        "import os",
    ),
    *("def f(run):\n    return float('nan')", "def f(run):\n    return 'a'", "def f(run):\n    raise KeyError(1)"),
    *(
        "raise SystemExit(3)",
        "raise KeyboardInterrupt",
        "raise BaseException('x')",
        "1 / 0",
        "import nosuch",
        "def f(:",
    ),
    *(
        "def f(run):\n    raise SystemExit",
        "def f(run):\n    raise KeyboardInterrupt",
        "def f(run):\n    return run.log['x']",
    ),
    *(
        "f = max",
        "class f:\n    pass",
        "f = lambda run: run",
        "def f(run):\n    return [1]",
        "def f(run):\n    return 10**400",
    ),
    *("def f(run):\n    return f(run)", "from metric import f", "def f(run):\n    return -run.log['pos_ned'][-1, 2]"),
    *(
        "x = " + "(" * 300 + ")" * 300,
        "x = " + "-" * 3_000 + "1",
        "# coding: utf-7",
        "\ufeffx = 1",
        "async def f(run):\n    return 1",
    ),
)
GOOD = "def f(run):\n    return -run.log['pos_ned'][-1, 2]\n"


@functools.cache
def flown():
    """Return a short flight."""
    flight = px4lockstep.build(px4lockstep.load_spec("iris", {"timeline.t_end_s": 0.1}))
    flight.simulation.run()
    return Run(flight, None)


def write(folder, rng):
    """Write a metric's file, and where it is."""
    text, function = GOOD.encode(), FUNCTIONS[0]
    if rng is not None:
        lines = [rng.choice(LINES) for _ in range(rng.choice((1, 1, 2, 3)))]
        text = "\n".join(lines).encode(errors="surrogatepass")
        if rng.random() < 0.4:
            text = mutated_bytes(text, rng, tokens=(b"\0", b"\xff", b"(", b"\t", b":", b"'''", b"return"))
        function = FUNCTIONS[0] if rng.random() < 0.7 else rng.choice(FUNCTIONS)
    (folder / "metric.py").write_bytes(text)
    (folder / "function").write_bytes(function.encode(errors="surrogatepass"))


def use(folder):
    """Load the metric, and apply it to a flight."""
    function = (folder / "function").read_bytes().decode(errors="surrogatepass")
    table = MetricTable(name="own", function=function)
    measure(metrics_of((table,), folder), flown())
