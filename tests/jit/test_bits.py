"""Every kernel gives bit-identical results compiled, interpreted, and for any processor.

Each family is a module of `tests/support` whose `digest_lines` runs its kernels and yields hashes of the results.
"""

import ast
import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "px4lockstep"
SUPPORT = ROOT / "tests" / "support"
FAMILIES = (
    "math_bits",
    "environment_bits",
    "estimation_bits",
    "vehicle_bits",
    "sensor_suites",
    "scenario_flight",
    "builtin_flight",
    "failsafe_flights",
    "setpoint_flight",
    "command_flight",
    "flown",
    "px4_flight",
)
SETTINGS = {"interpreted": {"NUMBA_DISABLE_JIT": "1"}, "generic CPU": {"NUMBA_CPU_NAME": "generic"}}
QUICK = [(family, "interpreted") for family in FAMILIES if family != "failsafe_flights"] + [
    ("math_bits", "generic CPU")
]
"""Those of `make test`. The failsafe flights take a third of the time of all, and use the controllers of
`builtin_flight`; for another CPU, everything is compiled again."""
PRINTS = f"""
import sys
sys.path.insert(0, {str(SUPPORT)!r})
import {{0}}
for line in {{0}}.digest_lines():
    print("bits:", line, flush=True)  # PX4 prints too
"""
WATCHES = f"""
import json, sys
sys.path.insert(0, {str(SUPPORT)!r})
import {{0}}
run = set()
def watch(frame, event, argument):
    if event == "call":
        run.add(frame.f_code)
sys.setprofile(watch)
for _ in {{0}}.digest_lines():
    pass
sys.setprofile(None)
print(end="\\n", flush=True)
print(json.dumps(sorted({{{{f"{{{{code.co_filename}}}}:{{{{code.co_name}}}}" for code in run}}}})))
"""


@pytest.mark.parametrize(
    ("family", "setting"),
    [
        pytest.param(family, setting, marks=[] if (family, setting) in QUICK else [pytest.mark.slow])
        for family in FAMILIES
        for setting in SETTINGS
    ],
)
def test_kernels_give_the_same_bits(python, family, setting):
    """A process with other Numba settings computes the same results as this one, without a warning."""
    expected = list(importlib.import_module(family).digest_lines())
    printed = python("-W", "error", "-c", PRINTS.format(family), **SETTINGS[setting]).stdout.splitlines()
    assert [line.removeprefix("bits: ") for line in printed if line.startswith("bits: ")] == expected
    assert expected


def kernels_of(path):
    """Return the names of the kernels in a file."""
    decorators = ("kernel", "inlined_kernel")
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and any(getattr(d, "id", "") in decorators for d in node.decorator_list):
            yield node.name


@pytest.mark.slow
def test_the_families_run_every_kernel(python):
    """Otherwise a kernel could round differently without being noticed."""
    run = set()
    for family in FAMILIES:
        run |= set(json.loads(python("-c", WATCHES.format(family), NUMBA_DISABLE_JIT="1").stdout.splitlines()[-1]))
    missing = [
        f"{path.relative_to(SOURCE)}:{name}"
        for path in sorted(SOURCE.rglob("*.py"))
        for name in kernels_of(path)
        if f"{path}:{name}" not in run
    ]
    assert missing == []
