"""Shared by all tests: the compile cache of this checkout, fresh interpreters, and the double of stock PX4."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Set before anything imports Numba, and inherited by the interpreters that tests start.
os.environ.setdefault("PX4LOCKSTEP_CACHE_DIR", str(ROOT / ".cache" / "px4lockstep"))
os.environ.setdefault("PX4LOCKSTEP_QUIET", "1")


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


@pytest.fixture(scope="session")
def sitl_build(tmp_path_factory):
    """A build of stock PX4 whose program is the double."""
    from px4_sitl_double import make_build  # few tests need it

    return make_build(tmp_path_factory.mktemp("px4") / "build")


@pytest.fixture(scope="session")
def sitl_instance():
    """A number of stock PX4 that this process of the tests has for itself."""
    from sitl_instances import own_instance

    with own_instance() as number:
        yield number
