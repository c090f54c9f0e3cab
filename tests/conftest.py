"""Shared by all tests: tiers, the compile cache of this checkout, fresh interpreters, and the double of stock PX4.

Every test belongs to one tier. A marker of that name on a test or a file selects it; otherwise it follows from the
folder. A fixture that starts processes raises the tier. Tests of the tiers fast and long must not start processes.
"""

import gc
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# Set before anything imports Numba; inherited by interpreters that tests start.
os.environ.setdefault("PX4LOCKSTEP_CACHE_DIR", str(ROOT / ".cache" / "px4lockstep"))
os.environ.setdefault("PX4LOCKSTEP_QUIET", "1")
# Spec and campaign files of tests name doubles of PX4 and metrics in Python; the fixture `untrusted` undoes this.
os.environ["PX4LOCKSTEP_TRUST"] = os.pathsep.join([os.path.realpath(tempfile.gettempdir()), str(ROOT)])

# The machine may be busy, and the first call may compile.
settings.register_profile("px4lockstep", deadline=None)
settings.load_profile("px4lockstep")

# Commands keep ignoring signals that were ignored at their start, as under `nohup`; tests need to send them.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def _process_state():
    """Restore signal handlers and environment: a command that runs in this process may change both for its life."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    environment = dict(os.environ)
    yield
    for number, handler in handlers.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)
    for name in [name for name in os.environ if name not in environment and name != "PYTEST_CURRENT_TEST"]:
        del os.environ[name]
    os.environ.update({name: value for name, value in environment.items() if name != "PYTEST_CURRENT_TEST"})


TIERS = ("fast", "long", "process", "sitl", "doubles", "slow")
FOLDERS = {
    "doubles": "doubles",
    "cli": "process",
    "against": "long",
    "experiments": "long",
    "fuzz": "long",
    "plots": "long",
}
FIXTURES = dict.fromkeys(("sitl_build", "sitl_instance"), "sitl")
FIXTURES |= dict.fromkeys(("python", "browser", "forked_interpreters"), "process")
UNNOTICED = ("px4lockstep.engine.compilation", "uname", "lscpu", "fc-list")
"""Processes that tests do not start themselves: compilation without a cache, and libraries that query CPU and fonts."""


NOT_FAST = re.compile(r"^pytestmark = \[?pytest\.mark\.(?:long|process|sitl|doubles|slow)\b", re.MULTILINE)
TIER = pytest.StashKey()


def pytest_ignore_collect(collection_path, config):
    """With `-m fast`, do not import files in which no test is fast; it takes as long as a tenth of the tests."""
    if config.option.markexpr != "fast" or collection_path.suffix != ".py":
        return None
    text = collection_path.read_text("utf-8")
    is_elsewhere = any(folder in FOLDERS for folder in collection_path.relative_to(ROOT / "tests").parts)
    return True if NOT_FAST.search(text) or (is_elsewhere and "pytest.mark.fast" not in text) else None


def tier_of(item):
    """Return the tier of a test."""
    found = [tier for tier in TIERS if item.get_closest_marker(tier) is not None]
    if not found:
        folders = Path(item.path).relative_to(ROOT / "tests").parts
        found = [tier for folder, tier in FOLDERS.items() if folder in folders]
    found += [tier for name, tier in FIXTURES.items() if name in item.fixturenames]
    return max(found, key=TIERS.index, default="fast")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark every test with its tier, before `-m` chooses among them."""
    for item in items:
        tier = item.stash[TIER] = tier_of(item)
        if item.get_closest_marker(tier) is None:
            item.add_marker(tier)


def pytest_collection_finish():
    """Exempt modules and collected tests from garbage collection, which then takes half of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _no_processes_in_this_process(request, monkeypatch):
    """Fail a test of the tiers fast and long that starts a process."""
    if request.node.stash[TIER] not in ("fast", "long"):
        return
    start = subprocess.Popen.__init__

    def refuse(self, arguments, *rest, **options):
        if any(name in arguments for name in UNNOTICED):
            return start(self, arguments, *rest, **options)
        pytest.fail(f"a test of the fast or long tier starts {arguments}; mark it: pytest.mark.process")

    monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
    monkeypatch.setattr(
        os, "fork", lambda: pytest.fail("a test of the fast or long tier forks; mark it: pytest.mark.process")
    )


@pytest.fixture
def forked_interpreters(monkeypatch):
    """Fork the workers of campaigns and determinism checks from this process instead of starting interpreters."""
    from forked_interpreters import start  # few tests need it

    monkeypatch.setattr("px4lockstep.processes.Interpreter.start", start)


@pytest.fixture
def untrusted(tmp_path, monkeypatch):
    """Trust no folder, with an empty list of trusted folders; return the configuration folder."""
    monkeypatch.delenv("PX4LOCKSTEP_TRUST")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config"


@pytest.fixture
def python():
    """Run code or a script in a fresh interpreter, with extra environment, and return what it printed."""

    def run(*arguments, check=True, **environment):
        finished = subprocess.run(
            [sys.executable, *map(str, arguments)],
            env={**os.environ, **{name: str(value) for name, value in environment.items()}},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if check:
            assert finished.returncode == 0, finished.stderr
        return finished

    return run


@pytest.fixture(scope="module")
def browser():
    """Start Chromium, one for all tests of a file; skip them where there is none."""
    from browser import chromium  # few tests need it

    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def sitl_build(tmp_path_factory):
    """Create a build of stock PX4 whose program is the double."""
    from px4_sitl_double import make_build  # few tests need it

    return make_build(tmp_path_factory.mktemp("px4") / "build")


@pytest.fixture(scope="session")
def sitl_instance():
    """Reserve an instance number of stock PX4 for this test process."""
    from sitl_instances import own_instance

    with own_instance() as number:
        yield number
